//! Names that a repository gives, checked before they reach a disk or a command line: paths of
//! files and refs.
//!
//! git has the same checks; ours stand in front of what we write ourselves, and of what we hand to
//! git as an argument.

use std::fmt;

/// The full name of a ref, such as `refs/heads/main`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RefName(String);

/// Why a name is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("the name is empty or has an empty part")]
    Empty,
    #[error("the name has a part that leads elsewhere")]
    Elsewhere,
    #[error("the name is or disguises `.git`")]
    DotGit,
    #[error("the name has a character that git does not take")]
    Character,
    #[error("the name is not a full ref name")]
    NotARef,
}

impl RefName {
    /// Checks a full name by the rules of `git check-ref-format`.
    pub fn new(name: &str) -> Result<Self, Fault> {
        let rest = name.strip_prefix("refs/").ok_or(Fault::NotARef)?;
        let forbidden = |byte: u8| byte <= b' ' || byte == 0x7f || b"~^:?*[\\".contains(&byte);
        if name.bytes().any(forbidden) || name.contains("..") || name.contains("@{") {
            return Err(Fault::Character);
        }
        for part in rest.split('/') {
            if part.is_empty() {
                return Err(Fault::Empty);
            }
            if part.starts_with('.') || part.ends_with('.') || part.ends_with(".lock") {
                return Err(Fault::Character);
            }
        }
        Ok(Self(name.to_owned()))
    }

    /// Checks the name of a branch, without `refs/heads/`.
    pub fn branch(name: &str) -> Result<Self, Fault> {
        Self::new(&format!("refs/heads/{name}"))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks the path of a file in a repository: relative, without `.` and `..`, and no part of it is
/// `.git` for any file system that might see it.
pub fn check_path(path: &[u8]) -> Result<(), Fault> {
    if path.contains(&0) {
        return Err(Fault::Character);
    }
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" => return Err(Fault::Empty),
            b"." | b".." => return Err(Fault::Elsewhere),
            // A file system of Windows also splits at backslashes.
            _ if part.split(|&byte| byte == b'\\').any(is_dot_git) => return Err(Fault::DotGit),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a part of a path is `.git` on some file system: in any case, with characters that HFS+
/// ignores, with endings that NTFS ignores, as a stream, or by its short name.
fn is_dot_git(part: &[u8]) -> bool {
    let visible: String =
        String::from_utf8_lossy(part).chars().filter(|&sign| !is_ignored_by_hfs(sign)).collect();
    let name = visible.split(':').next().unwrap_or_default().trim_end_matches([' ', '.']);
    let name = name.to_ascii_lowercase();
    name == ".git"
        || name
            .strip_prefix("git~")
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn is_ignored_by_hfs(sign: char) -> bool {
    matches!(sign, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn t7_every_disguise_of_dot_git_is_refused() {
        for path in [
            ".git",
            ".GIT/config",
            "sub/.Git/hooks/x",
            "git~1",
            "GIT~1/config",
            "a/git~12",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".git ",
            ".git. .",
            ".git::$INDEX_ALLOCATION",
            "a\\.git\\config",
        ] {
            assert_eq!(check_path(path.as_bytes()), Err(Fault::DotGit), "{path:?}");
        }
        for path in [".github/x", ".gitignore", "git", "git~", "git~x", "a.git", "x/.gitattributes"]
        {
            assert_eq!(check_path(path.as_bytes()), Ok(()), "{path:?}");
        }
    }

    #[test]
    fn t7_a_path_leads_nowhere_else() {
        for (path, fault) in [
            ("", Fault::Empty),
            ("/etc/passwd", Fault::Empty),
            ("a//b", Fault::Empty),
            ("a/", Fault::Empty),
            ("../x", Fault::Elsewhere),
            ("a/../../x", Fault::Elsewhere),
            ("./x", Fault::Elsewhere),
            ("a\0b", Fault::Character),
        ] {
            assert_eq!(check_path(path.as_bytes()), Err(fault), "{path:?}");
        }
        assert_eq!(check_path(b"\xff\xfe\n\t \"x"), Ok(()));
    }

    #[test]
    fn weird_refs_are_refused() {
        for name in [
            "main",
            "refs/",
            "refs/heads/",
            "refs/heads/a..b",
            "refs/heads/a b",
            "refs/heads/a:b",
            "refs/heads/*",
            "refs/heads/.a",
            "refs/heads/a.lock",
            "refs/heads/a.",
            "refs/heads//a",
            "refs/heads/a@{1}",
            "--upload-pack=touch x",
            "refs/heads/a\nb",
        ] {
            assert!(RefName::new(name).is_err(), "{name:?}");
        }
        for name in ["refs/heads/main", "refs/pull/7/head", "refs/heads/-x", "refs/heads/ü/ñ"] {
            assert!(RefName::new(name).is_ok(), "{name:?}");
        }
    }

    proptest! {
        #[test]
        fn checking_never_panics(path in proptest::collection::vec(any::<u8>(), 0..40), name in "\\PC{0,20}") {
            check_path(&path).ok();
            RefName::branch(&name).ok();
        }
    }
}
