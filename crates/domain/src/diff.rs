//! Unified diffs as `git diff` prints them, read from bytes that stay where they are.
//!
//! `git` produces them; review, anchors and forges ask them which lines there are and which may
//! carry a comment ([`LineMap`]). [`Files`] reads one file at a time and keeps nothing of it but
//! the paths and the place of each hunk; lines are found again in the input when they are asked
//! for. Written by hand, because `diffy` passes over what it does not know and keeps every line.
//! It reads complete diffs only: whatever does not fit is an [`Error`], never a shorter diff.

mod binary;
mod cursor;
mod error;
mod header;
mod hunk;
mod map;

use std::fmt;

pub use self::error::Error;
pub use self::hunk::{Hunk, Line, LineKind, LineSpan, Lines};
pub use self::map::{Counters, LineMap, Located, Uncommentable};

use self::cursor::Cursor;
use crate::path::FilePath;

/// Reads a diff of any number of files, none included.
pub fn files(diff: &[u8]) -> Files<'_> {
    Files { cursor: Cursor::new(diff), failed: false }
}

/// The files of a diff, one after the other. An error is the last item.
#[derive(Clone, Debug)]
pub struct Files<'a> {
    cursor: Cursor<'a>,
    failed: bool,
}

impl<'a> Iterator for Files<'a> {
    type Item = Result<File<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.cursor.is_at_end() {
            return None;
        }
        let file = header::file(&mut self.cursor);
        self.failed = file.is_err();
        Some(file)
    }
}

/// What a diff says about one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File<'a> {
    pub status: Status,
    /// The path before the change; of an added file, its only one.
    pub old_path: FilePath,
    /// The path after the change; of a deleted file, its only one.
    pub new_path: FilePath,
    /// The mode before the change, where the diff says it.
    pub old_mode: Option<Mode>,
    pub new_mode: Option<Mode>,
    /// How alike both sides are, in percent, where git measured it.
    pub similarity: Option<u8>,
    /// The ids of both contents as far as the diff gives them; none when the content is the same.
    pub blobs: Option<Blobs<'a>>,
    pub content: Content<'a>,
}

impl<'a> File<'a> {
    /// The name under which the file is known after the change, or was last known.
    pub fn path(&self) -> &FilePath {
        &self.new_path
    }

    /// Whether both sides have their own path: it was renamed or copied.
    pub fn is_moved(&self) -> bool {
        self.old_path != self.new_path
    }

    pub fn is_binary(&self) -> bool {
        matches!(self.content, Content::Binary)
    }

    /// The changed places in order; none in a binary file.
    pub fn hunks(&self) -> &[Hunk<'a>] {
        match &self.content {
            Content::Text(hunks) => hunks,
            Content::Binary => &[],
        }
    }
}

/// What happened to a file as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    Added,
    Deleted,
    /// Its content, its mode, or both.
    Modified,
    Renamed,
    Copied,
}

/// What a diff shows of a file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// Hunks of lines; none when the content is the same, or empty.
    Text(Vec<Hunk<'a>>),
    /// It differs, in bytes that are no lines.
    Binary,
}

/// The object ids of the two contents, abbreviated or whole; all zeros stand for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Blobs<'a> {
    pub old: &'a str,
    pub new: &'a str,
}

/// The mode of a file as git keeps it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mode(u32);

impl Mode {
    /// Reads the six octal digits of a mode.
    fn parse(digits: &[u8]) -> Option<Self> {
        let octal = |digit: &u8| matches!(digit, b'0'..=b'7');
        (digits.len() == 6 && digits.iter().all(octal)).then(|| {
            Self(digits.iter().fold(0, |value, digit| value * 8 + u32::from(digit - b'0')))
        })
    }

    pub fn is_executable(self) -> bool {
        self.kind() == 0o100_000 && self.0 & 0o111 != 0
    }

    /// Whether the content is the target of a symbolic link.
    pub fn is_symlink(self) -> bool {
        self.kind() == 0o120_000
    }

    /// Whether the content is a commit of another repository: a submodule.
    pub fn is_gitlink(self) -> bool {
        self.kind() == 0o160_000
    }

    fn kind(self) -> u32 {
        self.0 & 0o170_000
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:06o}", self.0)
    }
}

impl fmt::Debug for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mode({self})")
    }
}

#[cfg(test)]
mod edit;
#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;
