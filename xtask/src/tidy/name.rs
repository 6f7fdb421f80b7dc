//! Names that say nothing, found where something is given its name.
//!
//! Suffixes such as `Manager` hide what a thing is, and `get_` hides what a function does.

use super::Complaint;
use super::file::File;
use crate::code::tokens;

/// Endings of type names that explain nothing.
const EMPTY_SUFFIXES: [&str; 8] =
    ["Manager", "Handler", "Helper", "Service", "Provider", "Util", "Data", "Info"];

/// Checks the names that one file gives.
pub(super) fn check(file: &File) -> Vec<Complaint> {
    if !file.is_rust() {
        return Vec::new();
    }
    let words: Vec<&str> = tokens(&file.code).collect();
    words
        .windows(2)
        .filter_map(|pair| match pair {
            ["struct" | "enum" | "trait" | "type" | "union", name] => judge_type(name),
            ["fn", name] if name.starts_with("get_") => Some(format!("`{name}`: leave `get_` out")),
            _ => None,
        })
        .map(|complaint| format!("{}: {complaint}", file.path))
        .collect()
}

fn judge_type(name: &str) -> Option<Complaint> {
    let suffix = EMPTY_SUFFIXES.iter().find(|suffix| {
        name.strip_suffix(**suffix).or_else(|| name.strip_suffix(&format!("{suffix}s"))).is_some()
    })?;
    Some(format!("`{name}`: `{suffix}` says nothing, name the thing itself"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_code(code: &str, expected: usize) {
        let complaints = check(&File::new("src/a.rs".to_owned(), code.to_owned()));
        assert_eq!(complaints.len(), expected, "{complaints:#?}");
    }

    #[test]
    fn empty_names_are_found_where_they_are_given() {
        check_code("pub struct JobManager;", 1);
        check_code("enum Data { A }", 1);
        check_code("trait StringUtils {}", 1);
        check_code("async fn get_job() {}", 1);
    }

    #[test]
    fn uses_comments_and_honest_names_are_fine() {
        check_code("use other::JobManager; // struct JobManager\n", 0);
        check_code("struct Metadata; struct Information; fn get(&self) {} fn target_get_() {}", 0);
    }
}
