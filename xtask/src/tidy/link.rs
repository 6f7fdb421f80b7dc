//! Links between the Markdown files of the project.
//!
//! Only links inside the repository are followed; addresses on the network are left alone.

use std::collections::BTreeSet;

use super::Complaint;
use super::file::File;

/// Checks that every relative link leads to a file or folder, and every anchor to a heading.
pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    let places: BTreeSet<&str> = files.iter().flat_map(|file| ancestors(&file.path)).collect();
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.path.ends_with(".md")) {
        for link in links(&file.text).filter(|link| is_inside(link)) {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = resolve(&file.path, target);
            if !path.is_empty() && !places.contains(path.as_str()) {
                complaints.push(format!("{}: `{link}` leads nowhere", file.path));
                continue;
            }
            let goal = files.iter().find(|goal| goal.path == path && path.ends_with(".md"));
            if let Some(goal) = goal
                && !anchor.is_empty()
                && !anchors(&goal.text).contains(anchor)
            {
                complaints.push(format!("{}: `{link}` names no heading", file.path));
            }
        }
    }
    complaints
}

/// Lists a path and every folder above it.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at]).chain([path])
}

fn is_inside(link: &str) -> bool {
    !link.is_empty() && !link.contains(':') && !link.starts_with("//") && !link.contains(' ')
}

/// Finds the targets of inline links and of link definitions, outside code.
fn links(text: &str) -> impl Iterator<Item = &str> {
    prose(text).flat_map(|line| {
        let definition = line
            .strip_prefix('[')
            .and_then(|rest| rest.split_once("]: "))
            .map(|(_, target)| target.trim());
        let inline = line.match_indices("](").filter(|(at, _)| !in_code(line, *at)).filter_map(
            |(at, opening)| {
                let target = &line[at + opening.len()..];
                target.split_once(')').map(|(target, _)| target.trim_matches(['<', '>']))
            },
        );
        definition.into_iter().chain(inline)
    })
}

fn in_code(line: &str, at: usize) -> bool {
    line[..at].matches('`').count() % 2 == 1
}

/// Leaves fenced code out.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut fenced = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        fenced ^= is_fence;
        !fenced && !is_fence
    })
}

/// Follows a link from the folder of the file in which it stands.
fn resolve(from: &str, target: &str) -> String {
    if target.is_empty() {
        return from.to_owned();
    }
    let mut parts: Vec<&str> = match target.strip_prefix('/') {
        Some(_) => Vec::new(),
        None => from.split('/').rev().skip(1).collect::<Vec<_>>().into_iter().rev().collect(),
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => _ = parts.pop(),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Computes the anchors of all headings as forges do.
fn anchors(text: &str) -> BTreeSet<String> {
    prose(text)
        .filter(|line| line.starts_with('#'))
        .map(|line| {
            line.trim_start_matches('#')
                .trim()
                .to_lowercase()
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
                .map(|c| if c == ' ' { '-' } else { c })
                .collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_text(text: &str, expected: &[&str]) {
        let file = |path: &str, text: &str| File::new(path.to_owned(), text.to_owned());
        let files = [
            file("README.md", "# Top\n"),
            file("docs/guide.md", text),
            file("docs/other.md", "# Other\n## What it `does`, really\n"),
            file("crates/domain/src/lib.rs", "//! Domain.\n"),
        ];
        let complaints = check(&files);
        assert_eq!(complaints.len(), expected.len(), "{complaints:#?}");
        for (complaint, expected) in complaints.iter().zip(expected) {
            assert!(complaint.contains(expected), "{complaint}");
        }
    }

    #[test]
    fn links_to_files_folders_and_headings_resolve() {
        check_text(
            "[a](other.md) [b](../README.md#top) [c](/crates/domain) [d](#here)\n# Here\n",
            &[],
        );
        check_text("[a](other.md#what-it-does-really)\n\n[b]: ../crates/domain/src/lib.rs\n", &[]);
    }

    #[test]
    fn links_that_lead_nowhere_are_named() {
        check_text("[a](missing.md)", &["`missing.md` leads nowhere"]);
        check_text("[a](other.md#missing)", &["`other.md#missing` names no heading"]);
        check_text("[a]: ../missing.md", &["`../missing.md` leads nowhere"]);
    }

    #[test]
    fn code_and_the_network_are_left_alone() {
        check_text("```\n[a](missing.md)\n```\n`[b](missing.md)` [c](https://example.org/x)", &[]);
        check_text("[a](mailto:someone@example.org)", &[]);
    }
}
