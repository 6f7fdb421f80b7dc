//! Where a remark on code sits, and how a model's word for a place becomes one.
//!
//! A [`Page`] is one side of a file. It gives each line a [`Tag`] (`LINE#HASH`) to be shown to a
//! model, and resolves the [`Pointer`] that the model answers: it finds the place or refuses,
//! and never takes the nearest. [`Anchor::spot`] checks a place against the diff before a forge
//! is asked to put a comment there.

mod page;
mod pointer;
mod resolve;

use serde::{Deserialize, Serialize};

pub use self::page::{Page, Tag};
pub use self::pointer::Pointer;
pub use self::resolve::{Evidence, Refusal, Resolution};

use crate::diff::{File, LineMap, Uncommentable};
use crate::path::FilePath;

/// Some lines of one side of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Anchor {
    pub path: FilePath,
    pub side: Side,
    /// The first line, counted from 1.
    pub start: u64,
    /// The last line; the first one again when it is alone.
    pub end: u64,
}

impl Anchor {
    /// Checks that the file's diff shows the lines, all in one hunk, and names the place as
    /// forges do.
    pub fn spot(
        &self,
        file: &File<'_>,
        lines: &LineMap,
        commit: &str,
    ) -> Result<Spot, Uncommentable> {
        lines.locate_range(self.side, self.start, self.end)?;
        let text =
            |path: &FilePath| path.as_str().map(str::to_owned).ok_or(Uncommentable::PathIsNoText);
        Ok(Spot {
            path: text(file.path())?,
            old_path: file.is_moved().then(|| text(&file.old_path)).transpose()?,
            side: self.side,
            start: (self.start < self.end).then_some(self.start),
            line: self.end,
            commit: commit.to_owned(),
        })
    }
}

/// A place in the diff of a change: one line or a range of lines of one file.
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
    pub start: Option<u64>,
    /// The line, or the last line of a range. Counted from 1.
    pub line: u64,
    /// The head of the change that was looked at.
    pub commit: String,
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

#[cfg(test)]
mod tests;
