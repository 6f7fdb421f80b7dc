//! Where a comment on code sits.

use serde::{Deserialize, Serialize};

/// A place in the diff of a change: one line or a range of lines of one file. Made from the diff,
/// so that it names only lines that can carry a comment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Spot {
    /// The path of the file, after the change; for a removed file, before it.
    pub path: String,
    /// The path before the change, where the file was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    /// The first line of a range, on the same side; `None` for a single line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Line>,
    /// The line, or the last line of a range.
    pub line: Line,
    /// The head of the change that was looked at.
    pub commit: String,
}

/// A line of a diff with its numbers on both sides, counted from 1. On the side where it does not
/// exist, the number is the one that the next line there has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Line {
    pub kind: LineKind,
    pub old: u64,
    pub new: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    Added,
    Removed,
    Unchanged,
}

/// Which version of the file a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Before the change: removed lines.
    Old,
    /// After the change: added and unchanged lines.
    New,
}

impl Line {
    pub fn side(self) -> Side {
        match self.kind {
            LineKind::Removed => Side::Old,
            LineKind::Added | LineKind::Unchanged => Side::New,
        }
    }

    /// Returns the number on its own side.
    pub fn number(self) -> u64 {
        match self.side() {
            Side::Old => self.old,
            Side::New => self.new,
        }
    }
}

impl Spot {
    pub fn side(&self) -> Side {
        self.line.side()
    }

    /// Returns the first and the last line, which are the same for a single line.
    pub fn span(&self) -> (u64, u64) {
        let last = self.line.number();
        (self.start.map_or(last, Line::number), last)
    }

    /// Returns the path on the old side.
    pub fn path_before(&self) -> &str {
        self.old_path.as_deref().unwrap_or(&self.path)
    }

    /// Returns the last line alone.
    #[must_use]
    pub fn last_line(&self) -> Self {
        Self { start: None, ..self.clone() }
    }
}
