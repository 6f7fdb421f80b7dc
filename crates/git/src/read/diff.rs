//! What differs between two commits: as text for people and models, as a list for programs.
//!
//! The text is git's unified diff, byte for byte; `domain::diff` reads it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::tree::{Mode, garbled};
use crate::command::Limit;
use crate::error::Error;
use crate::oid::Oid;
use crate::repository::Repository;

/// How much unchanged text stands around a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    Lines(u32),
    /// The whole file.
    Whole,
}

/// A unified diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diff {
    pub text: Vec<u8>,
    /// Whether so many files changed that git looked for exact renames only.
    pub renames_skipped: bool,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Added,
    Removed,
    Modified,
    /// A file became a link or a submodule, or the other way.
    TypeChanged,
    Renamed,
    Copied,
}

/// One side of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    pub mode: Mode,
    pub oid: Oid,
    pub path: Vec<u8>,
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub status: Status,
    pub old: Option<Side>,
    pub new: Option<Side>,
}

impl Change {
    /// Returns the path that the file has now, or had last.
    pub fn path(&self) -> &[u8] {
        self.new.as_ref().or(self.old.as_ref()).map_or(b"", |side| &side.path)
    }
}

impl Repository {
    /// Returns the unified diff between two commits or trees, with renames found, of all files or
    /// of some.
    pub async fn diff(
        &self,
        old: &Oid,
        new: &Oid,
        context: Context,
        paths: &[&[u8]],
    ) -> Result<Diff, Error> {
        let lines = match context {
            Context::Lines(lines) => lines,
            // git reads a signed number.
            Context::Whole => 1_000_000_000,
        };
        let command = self
            .command("diff", Limit::Local)
            .args(["--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--full-index"])
            .args(["--src-prefix=a/", "--dst-prefix=b/", "--find-renames", "--submodule=short"])
            .args(["--ignore-submodules=none", "--diff-algorithm=myers", "--inter-hunk-context=0"])
            .arg(format!("--unified={lines}"))
            .args([old.as_str(), new.as_str(), "--"])
            .args(paths.iter().map(|path| OsStr::from_bytes(path)))
            .at_most(self.git.limits().answer);
        let output = command.run().await?;
        let renames_skipped = output.stderr.contains("rename detection was skipped");
        Ok(Diff { text: output.stdout, renames_skipped })
    }

    /// Lists the files that differ, with renames found. It needs the contents of both sides.
    pub async fn changes(&self, old: &Oid, new: &Oid) -> Result<Vec<Change>, Error> {
        self.list_changes(old, new, "--find-renames").await
    }

    /// Lists the files that differ, a rename as removal and addition. It needs no contents.
    pub async fn raw_changes(&self, old: &Oid, new: &Oid) -> Result<Vec<Change>, Error> {
        self.list_changes(old, new, "--no-renames").await
    }

    async fn list_changes(
        &self,
        old: &Oid,
        new: &Oid,
        renames: &str,
    ) -> Result<Vec<Change>, Error> {
        let command = self
            .command("diff-tree", Limit::Local)
            .args(["-r", "-z", "--raw", "--full-index", "--no-ext-diff", renames])
            .args([old.as_str(), new.as_str()])
            .at_most(self.git.limits().answer);
        parse(&command.run().await?.stdout).ok_or_else(|| garbled("diff-tree"))
    }
}

/// Reads `:mode mode oid oid status NUL path NUL [path NUL]`.
fn parse(answer: &[u8]) -> Option<Vec<Change>> {
    let mut fields = answer.split(|&byte| byte == 0);
    let mut changes = Vec::new();
    loop {
        match fields.next()? {
            b"" => return Some(changes),
            head => {
                let path = fields.next()?;
                let head = head.strip_prefix(b":")?;
                let mut words = head.split(|&byte| byte == b' ');
                let (old_mode, new_mode) = (words.next()?, words.next()?);
                let (old_oid, new_oid) = (words.next()?, words.next()?);
                let status = match words.next()?.first()? {
                    b'A' => Status::Added,
                    b'D' => Status::Removed,
                    b'M' => Status::Modified,
                    b'T' => Status::TypeChanged,
                    b'R' => Status::Renamed,
                    b'C' => Status::Copied,
                    _ => return None,
                };
                let new_path = match status {
                    Status::Renamed | Status::Copied => fields.next()?,
                    _ => path,
                };
                changes.push(Change {
                    status,
                    old: side(old_mode, old_oid, path)?,
                    new: side(new_mode, new_oid, new_path)?,
                });
            }
        }
    }
}

/// Reads one side; the outer `None` is nonsense, the inner one a side that is not there.
fn side(mode: &[u8], oid: &[u8], path: &[u8]) -> Option<Option<Side>> {
    if mode == b"000000" {
        return Some(None);
    }
    let (mode, oid) = (Mode::parse(mode)?, Oid::from_bytes(oid).ok()?);
    Some(Some(Side { mode, oid, path: path.to_vec() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_that_broke_off_is_no_listing() {
        let (a, b) = ("a".repeat(40), "b".repeat(40));
        let whole = format!(":100644 100755 {a} {b} M\0x\ny\0:100644 120000 {a} {b} R090\0o\0n\0");
        let changes = parse(whole.as_bytes()).unwrap();
        assert_eq!(changes.len(), 2);
        assert_eq!(changes[0].path(), b"x\ny");
        assert_eq!(changes[1].status, Status::Renamed);
        assert_eq!(changes[1].old.as_ref().unwrap().path, b"o");
        assert_eq!(changes[1].path(), b"n");
        assert_eq!(parse(b"").unwrap(), []);
        for end in 1..whole.len() {
            // Only the end of a record may be the end.
            let is_record = whole.as_bytes()[..end].ends_with(b"x\ny\0");
            assert_eq!(parse(&whole.as_bytes()[..end]).is_some(), is_record, "{end}");
        }
    }
}
