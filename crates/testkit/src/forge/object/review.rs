//! Reviews, and the drafts of hosts that have drafts instead of pending reviews.

use domain::Time;

use super::account::Account;
use super::comment::Anchor;
use crate::forge::model::Listed;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeReview {
    pub id: u64,
    pub repo: u64,
    pub subject: u64,
    pub number: u64,
    pub author: Account,
    pub state: ReviewState,
    pub body: String,
    /// The commit that was reviewed.
    pub commit: String,
    pub submitted_at: Option<Time>,
    pub(in crate::forge) listed: Listed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewState {
    /// Not submitted: its author alone sees it.
    Pending,
    Commented,
    Approved,
    ChangesRequested,
    Dismissed,
}

/// What a submitted review says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Comment,
    Approve,
    RequestChanges,
}

/// A text that its author alone sees until it is published as a comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeDraft {
    pub id: u64,
    pub repo: u64,
    pub subject: u64,
    pub author: Account,
    pub body: String,
    pub target: DraftTarget,
    pub created_at: Time,
}

/// Where a draft goes once it is published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DraftTarget {
    Conversation,
    Anchor { anchor: Anchor, commit: String },
    Thread(u64),
}

/// An inline comment that is about to be put somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inline {
    pub anchor: Anchor,
    pub body: String,
}

impl ReviewState {
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Commented => "commented",
            Self::Approved => "approved",
            Self::ChangesRequested => "changes requested",
            Self::Dismissed => "dismissed",
        }
    }
}

impl From<Verdict> for ReviewState {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Comment => Self::Commented,
            Verdict::Approve => Self::Approved,
            Verdict::RequestChanges => Self::ChangesRequested,
        }
    }
}
