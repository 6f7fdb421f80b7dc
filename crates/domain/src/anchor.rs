//! Where a remark on code sits, and how a model's word for a place becomes one.
//!
//! A [`Page`] is one side of a file. It gives each line a [`Tag`] (`LINE#HASH`) to be shown to a
//! model, and resolves the [`Pointer`] that the model answers: it finds the place or refuses,
//! and never takes the nearest. [`Anchor::spot`] checks a place against the diff before a forge
//! is asked to put a comment there.

mod page;
mod pointer;
mod resolve;
mod spot;

use serde::{Deserialize, Serialize};

pub use self::page::{Page, Tag};
pub use self::pointer::Pointer;
pub use self::resolve::{Evidence, Refusal, Resolution};
pub use self::spot::{Line, Side, Spot};
pub use crate::diff::LineKind;

use crate::diff::{File, LineMap, Located, Status, Uncommentable};
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
        let (start, end) = lines.locate_range(self.side, self.start, self.end)?;
        // A side that does not exist has no next line either.
        let line = |located: Located| match file.status {
            Status::Added => Line { old: 0, ..located.line() },
            Status::Deleted => Line { new: 0, ..located.line() },
            Status::Modified | Status::Renamed | Status::Copied => located.line(),
        };
        let text =
            |path: &FilePath| path.as_str().map(str::to_owned).ok_or(Uncommentable::PathIsNoText);
        Ok(Spot {
            path: text(file.path())?,
            old_path: file.is_moved().then(|| text(&file.old_path)).transpose()?,
            side: self.side,
            start: (self.start < self.end).then(|| line(start)),
            line: line(end),
            commit: commit.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests;
