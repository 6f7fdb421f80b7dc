//! From the lines of one side of a file to those of the other, and to places for comments.
//!
//! Built once per file, it answers by binary search and holds one entry for each run of lines of
//! one kind. Lines between hunks are the same on both sides, so every line has its place. Where a
//! file ends is not in a diff: lines behind the last hunk are taken to exist.

use super::{File, LineKind, Status};
use crate::anchor::{Line, Side};

/// The lines of one file before and after the change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineMap {
    shown: Shown,
    /// In the order of the diff, which is the order of both sides.
    runs: Vec<Run>,
}

/// Which sides have lines, and whether the diff shows any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Both,
    NewOnly,
    OldOnly,
    /// The content changed in a way that has no lines.
    Binary,
}

/// Lines of one kind that follow each other within a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    kind: LineKind,
    /// Where it begins on each side, or would begin.
    old: u64,
    new: u64,
    len: u64,
    hunk: usize,
}

/// The numbers that both sides have reached at a line. A side that lacks the line stands at the
/// number of its next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counters {
    pub old: u64,
    pub new: u64,
}

/// A line that the diff shows: it may carry a comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Located {
    pub kind: LineKind,
    pub at: Counters,
    /// Which hunk shows it, counted from 0.
    pub hunk: usize,
}

impl Located {
    /// Returns the line as a place names it.
    pub(crate) fn line(self) -> Line {
        Line { kind: self.kind, old: self.at.old, new: self.at.new }
    }
}

/// Why a place can carry no comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Uncommentable {
    #[error("the file is binary")]
    Binary,
    #[error("the file does not exist on that side of the change")]
    NoSuchSide,
    #[error("no line of the file changed")]
    NoHunks,
    #[error("line {line} is not shown by the diff")]
    Outside { line: u64 },
    #[error("the range ends before it begins")]
    Backwards,
    #[error("the range runs over more than one hunk")]
    SeveralHunks,
    #[error("the path is not text, so a forge cannot name it")]
    PathIsNoText,
}

impl LineMap {
    pub fn of(file: &File<'_>) -> Self {
        let shown = match file.status {
            _ if file.is_binary() => Shown::Binary,
            Status::Added => Shown::NewOnly,
            Status::Deleted => Shown::OldOnly,
            Status::Modified | Status::Renamed | Status::Copied => Shown::Both,
        };
        let mut runs: Vec<Run> = Vec::new();
        for (hunk, lines) in file.hunks().iter().enumerate() {
            for line in lines.lines() {
                match runs.last_mut() {
                    Some(run) if run.kind == line.kind && run.hunk == hunk => run.len += 1,
                    _ => runs.push(Run {
                        kind: line.kind,
                        old: line.old,
                        new: line.new,
                        len: 1,
                        hunk,
                    }),
                }
            }
        }
        runs.shrink_to_fit();
        Self { shown, runs }
    }

    /// Returns the number that a line of one side has on the other, if it is there too.
    pub fn across(&self, side: Side, line: u64) -> Option<u64> {
        let at = self.counters(side, line)?;
        let kind = self.find(side, line).map_or(LineKind::Context, |run| run.kind);
        (self.shown == Shown::Both && kind == LineKind::Context).then_some(match side {
            Side::Old => at.new,
            Side::New => at.old,
        })
    }

    /// Returns where both sides stand at any line, shown or not; nothing on a side without lines,
    /// and for numbers that no file reaches.
    pub fn counters(&self, side: Side, line: u64) -> Option<Counters> {
        if line == 0 || !self.has(side) {
            return None;
        }
        if let Some(run) = self.find(side, line) {
            return Some(run.counters(side, line));
        }
        // Between hunks both sides advance together, from where the last run left them.
        let (old, new) = self.last_before(side, line).map_or((1, 1), |run| {
            (run.old + run.len_on(Side::Old), run.new + run.len_on(Side::New))
        });
        Some(match side {
            Side::Old => Counters { old: line, new: new.checked_add(line - old)? },
            Side::New => Counters { old: old.checked_add(line - new)?, new: line },
        })
    }

    /// Finds a line in the hunks, or says why it cannot carry a comment.
    pub fn locate(&self, side: Side, line: u64) -> Result<Located, Uncommentable> {
        if self.shown == Shown::Binary {
            return Err(Uncommentable::Binary);
        }
        if !self.has(side) {
            return Err(Uncommentable::NoSuchSide);
        }
        if self.runs.is_empty() {
            return Err(Uncommentable::NoHunks);
        }
        let run = self.find(side, line).ok_or(Uncommentable::Outside { line })?;
        Ok(Located { kind: run.kind, at: run.counters(side, line), hunk: run.hunk })
    }

    /// Finds the ends of a range in one hunk, or says why it cannot carry a comment.
    pub fn locate_range(
        &self,
        side: Side,
        start: u64,
        end: u64,
    ) -> Result<(Located, Located), Uncommentable> {
        if start > end {
            return Err(Uncommentable::Backwards);
        }
        let (first, last) = (self.locate(side, start)?, self.locate(side, end)?);
        // Within a hunk there are no gaps, so the lines between are shown as well.
        if first.hunk == last.hunk { Ok((first, last)) } else { Err(Uncommentable::SeveralHunks) }
    }

    fn has(&self, side: Side) -> bool {
        match self.shown {
            Shown::Both => true,
            Shown::NewOnly => side == Side::New,
            Shown::OldOnly => side == Side::Old,
            Shown::Binary => false,
        }
    }

    /// Finds the run that holds a line of one side.
    fn find(&self, side: Side, line: u64) -> Option<&Run> {
        self.last_before(side, line).filter(|run| line < run.start_on(side) + run.len_on(side))
    }

    /// Returns the last run that begins at the line or before it. No earlier one can hold the line:
    /// each ends where the next begins, or before.
    fn last_before(&self, side: Side, line: u64) -> Option<&Run> {
        let behind = self.runs.partition_point(|run| run.start_on(side) <= line);
        self.runs.get(behind.checked_sub(1)?)
    }
}

impl Run {
    fn start_on(&self, side: Side) -> u64 {
        match side {
            Side::Old => self.old,
            Side::New => self.new,
        }
    }

    fn len_on(&self, side: Side) -> u64 {
        match (side, self.kind) {
            (Side::Old, LineKind::Added) | (Side::New, LineKind::Removed) => 0,
            _ => self.len,
        }
    }

    fn counters(&self, side: Side, line: u64) -> Counters {
        let behind = line - self.start_on(side);
        let on = |other: Side| match self.kind {
            LineKind::Context => self.start_on(other) + behind,
            _ if side == other => line,
            _ => self.start_on(other),
        };
        Counters { old: on(Side::Old), new: on(Side::New) }
    }
}
