//! Comments, and the inline threads that some of them stand in.

use std::fmt;

use domain::Time;

use super::account::Account;
use super::reaction::Reaction;
use crate::forge::model::Listed;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeComment {
    pub id: u64,
    pub repo: u64,
    /// The id of the or change's row.
    pub subject: u64,
    pub number: u64,
    pub place: Spot,
    pub author: Account,
    pub body: String,
    pub created_at: Time,
    pub updated_at: Time,
    /// Who wrote the body that stands there now.
    pub written_by: Account,
    pub reactions: Vec<Reaction>,
    pub(in crate::forge) listed: Listed,
}

/// Where a comment stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    Conversation,
    /// In the conversation, under the first comment of a discussion. Not every host has those.
    Under(u64),
    Inline {
        thread: u64,
        /// The first comment of the thread, unless this is it.
        reply_to: Option<u64>,
        /// The review that it was submitted with.
        review: Option<u64>,
    },
}

/// Which of the two kinds of comments: on GitHub their ids are counted separately and overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommentKind {
    Conversation,
    Line,
}

/// An inline conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeThread {
    pub id: u64,
    pub repo: u64,
    pub subject: u64,
    pub number: u64,
    /// Where it stands in today's diff; where it last stood if it is outdated.
    pub anchor: Anchor,
    /// Where it was put.
    pub original: Anchor,
    /// The commit that it was put on.
    pub commit: String,
    /// Its comments, the first one first.
    pub comments: Vec<u64>,
    pub resolved_by: Option<Account>,
    /// Whether its lines are no longer part of the diff.
    pub outdated: bool,
}

/// A place in a diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// The file's path after the change; before it, for a file that was removed.
    pub path: String,
    /// `None` for the file as a whole.
    pub lines: Option<Lines>,
}

/// A line of a diff, or a range that ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    pub start: Option<(Side, u64)>,
    pub side: Side,
    pub line: u64,
}

/// Whether a line number counts in the file before or after the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Old,
    New,
}

impl FakeComment {
    pub fn kind(&self) -> CommentKind {
        match self.place {
            Spot::Conversation | Spot::Under(_) => CommentKind::Conversation,
            Spot::Inline { .. } => CommentKind::Line,
        }
    }

    /// Returns the inline thread that it stands in.
    pub fn thread(&self) -> Option<u64> {
        match self.place {
            Spot::Inline { thread, .. } => Some(thread),
            Spot::Conversation | Spot::Under(_) => None,
        }
    }

    /// Returns the review that it was submitted with, or waits in.
    pub fn review(&self) -> Option<u64> {
        match self.place {
            Spot::Inline { review, .. } => review,
            Spot::Conversation | Spot::Under(_) => None,
        }
    }
}

impl Anchor {
    /// Returns a line of the file after the change.
    pub fn new_line(path: &str, line: u64) -> Self {
        Self::line(path, Side::New, line)
    }

    /// Returns a line of the file before the change.
    pub fn old_line(path: &str, line: u64) -> Self {
        Self::line(path, Side::Old, line)
    }

    /// Returns a range of lines of the file after the change.
    pub fn new_lines(path: &str, first: u64, last: u64) -> Self {
        let lines = Lines { start: Some((Side::New, first)), side: Side::New, line: last };
        Self { path: path.to_owned(), lines: Some(lines) }
    }

    pub fn file(path: &str) -> Self {
        Self { path: path.to_owned(), lines: None }
    }

    fn line(path: &str, side: Side, line: u64) -> Self {
        Self { path: path.to_owned(), lines: Some(Lines { start: None, side, line }) }
    }
}

/// Prints `path:line`, `path:first-last`, or the path alone; a minus marks the old side.
impl fmt::Display for Anchor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = |side| if side == Side::Old { "-" } else { "" };
        out.write_str(&self.path)?;
        let Some(Lines { start, side, line }) = self.lines else { return Ok(()) };
        write!(out, ":")?;
        if let Some((side, start)) = start {
            write!(out, "{}{start}..", sign(side))?;
        }
        write!(out, "{}{line}", sign(side))
    }
}
