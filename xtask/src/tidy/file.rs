//! The files of the project, and what each of them must look like.
//!
//! Fixtures are other people's words and are left alone.

use std::fs;

use anyhow::{Context, Result};

use super::Complaint;
use crate::code::{blank_text, tokens};
use crate::command::Workspace;

/// A file that grows past this many lines of production code is split.
const LONGEST_FILE: usize = 600;

/// Words that postpone work, in pieces so that this file does not contain them.
const POSTPONED: [&str; 2] = [concat!("FIX", "ME"), concat!("XX", "X:")];

/// The homes of people and machines, in pieces for the same reason.
const HOMES: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/"), concat!("/wo", "rk/")];

/// A text file of the project, with its path from the root.
#[derive(Debug)]
pub(super) struct File {
    pub(super) path: String,
    pub(super) text: String,
    /// The text without comments and strings, for Rust; the text itself for everything else.
    pub(super) code: String,
}

impl File {
    /// Reads all files of the project that are text.
    pub(super) fn read_all(workspace: &Workspace) -> Result<Vec<Self>> {
        let mut files = Vec::new();
        for path in workspace.files()? {
            let bytes = fs::read(workspace.path(&path))
                .with_context(|| format!("cannot read {}", path.display()))?;
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(Self::new(path.to_string_lossy().into_owned(), text));
            }
        }
        Ok(files)
    }

    pub(super) fn new(path: String, text: String) -> Self {
        let code = if path.ends_with(".rs") { blank_text(&text) } else { text.clone() };
        Self { path, text, code }
    }

    pub(super) fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name)
    }

    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Tells whether the file holds inputs of tests rather than something that we wrote.
    fn is_fixture(&self) -> bool {
        self.path.split('/').any(|part| matches!(part, "fixtures" | "corpus" | "golden"))
    }

    fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests") || self.name() == "tests.rs"
    }
}

/// Checks one file.
pub(super) fn check(file: &File) -> Vec<Complaint> {
    if file.is_fixture() {
        return Vec::new();
    }
    let mut complaints = Vec::new();
    let mut complain = |what: &str| complaints.push(format!("{}: {what}", file.path));
    if file.is_rust() {
        check_rust(file, &mut complain);
    }
    for word in POSTPONED.iter().filter(|word| file.text.contains(**word)) {
        complain(&format!("`{word}` postpones work: do it, or open an issue"));
    }
    // Generated locks carry hashes and names only.
    for home in HOMES.iter().filter(|home| names_home(&file.text, home)) {
        complain(&format!("names a path under `{home}` of some machine"));
    }
    complaints
}

fn check_rust(file: &File, complain: &mut impl FnMut(&str)) {
    if !file.text.starts_with("//!") {
        complain("does not begin with `//!` and what the module is");
    }
    if file.name() == "mod.rs" {
        complain("is a `mod.rs`: name it after its module");
    }
    let lines = production_lines(&file.code);
    if !file.is_test() && lines > LONGEST_FILE {
        complain(&format!(
            "has {lines} lines of production code, more than {LONGEST_FILE}: split it"
        ));
    }
    let words: Vec<&str> = tokens(&file.code).collect();
    for window in words.windows(3) {
        match window {
            ["todo" | "unimplemented", "!", _] => complain("has unfinished code"),
            ["#", "[", "ignore"] => complain("ignores a test: mend it or remove it"),
            _ => {}
        }
    }
}

/// Counts the lines before the tests at the end of a file.
fn production_lines(code: &str) -> usize {
    code.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).count()
}

/// Tells whether the text has a path that begins with `home` and goes on into it.
fn names_home(text: &str, home: &str) -> bool {
    text.match_indices(home).any(|(at, _)| {
        let starts_here =
            !text[..at].ends_with(|c: char| c.is_alphanumeric() || "._-/~}>)".contains(c));
        let goes_on =
            text[at + home.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '.');
        starts_here && goes_on
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_one(path: &str, text: &str, expected: &[&str]) {
        let complaints = check(&File::new(path.to_owned(), text.to_owned()));
        assert_eq!(complaints.len(), expected.len(), "{complaints:#?}");
        for (complaint, expected) in complaints.iter().zip(expected) {
            assert!(complaint.contains(expected), "{complaint}");
        }
    }

    #[test]
    fn a_module_says_what_it_is() {
        check_one("src/a.rs", "//! A.\nfn a() {}\n", &[]);
        check_one("src/a.rs", "fn a() {}\n", &["does not begin with `//!`"]);
        check_one("src/a/mod.rs", "//! A.\n", &["is a `mod.rs`"]);
    }

    #[test]
    fn only_production_code_counts_towards_the_length() {
        let long = format!("//! A.\n{}", "fn a() {}\n".repeat(LONGEST_FILE));
        check_one("src/a.rs", &long, &["has 601 lines"]);
        check_one("tests/a.rs", &long, &[]);
        let tested =
            format!("//! A.\n#[cfg(test)]\nmod tests {{\n{}}}\n", "fn a() {}\n".repeat(700));
        check_one("src/a.rs", &tested, &[]);
    }

    #[test]
    fn unfinished_work_is_named_in_code_and_not_in_strings() {
        check_one("src/a.rs", "//! A.\nfn a() { todo!() }\n", &["unfinished"]);
        check_one("src/a.rs", "//! A.\n#[ignore = \"slow\"]\nfn a() {}\n", &["ignores a test"]);
        check_one("src/a.rs", "//! A.\nconst A: &str = \"todo!() #[ignore]\";\n", &[]);
        check_one("notes.md", &format!("{}: later\n", POSTPONED[0]), &["postpones work"]);
    }

    #[test]
    fn paths_of_a_machine_are_named_and_addresses_are_not() {
        let home = HOMES[0];
        check_one("notes.md", &format!("see {home}ann/notes"), &["names a path"]);
        check_one("notes.md", &format!("see https://example.org{home}ann"), &[]);
        check_one("notes.md", &format!("in `$BASE{home}ann`"), &[]);
        check_one("crates/a/fixtures/b.json", &format!("{home}ann/notes"), &[]);
    }
}
