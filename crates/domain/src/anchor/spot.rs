//! A place as forges take it.

use serde::{Deserialize, Serialize};

use crate::diff::LineKind;

/// A place in the diff of a change: one line or a range of lines of one file. Made from the diff,
/// so that it names only lines that can carry a comment.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Spot {
    /// The path of the file, after the change; for a removed file, before it.
    pub path: String,
    /// The path before the change, where the file was renamed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_path: Option<String>,
    pub side: Side,
    /// The first line of a range; `None` for a single line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start: Option<Line>,
    /// The line, or the last line of a range.
    pub line: Line,
    /// The head of the change that was looked at.
    pub commit: String,
}

/// A line of a diff with its numbers on both sides, counted from 1. On the side where it does not
/// exist, the number is the one that the next line there has; where the whole file does not exist,
/// it is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Line {
    pub kind: LineKind,
    pub old: u64,
    pub new: u64,
}

/// Which version of the file a line belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Before the change: removed lines, and those around them.
    Old,
    /// After the change: added lines, and those around them.
    New,
}

impl Line {
    /// Returns the side on which a comment on this line stands, if nothing else is said.
    pub fn side(self) -> Side {
        match self.kind {
            LineKind::Removed => Side::Old,
            LineKind::Added | LineKind::Context => Side::New,
        }
    }

    /// Returns its number on a side.
    pub fn number(self, side: Side) -> u64 {
        match side {
            Side::Old => self.old,
            Side::New => self.new,
        }
    }
}

impl Spot {
    /// Returns the first and the last line, which are the same for a single line.
    pub fn span(&self) -> (u64, u64) {
        let last = self.line.number(self.side);
        (self.start.map_or(last, |start| start.number(self.side)), last)
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
