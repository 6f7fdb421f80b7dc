//! The state of the fake forge, in no host's words.
//!
//! People's actions and the HTTP faces change it through the same functions, which refuse what
//! a forge refuses. It knows neither HTTP nor JSON nor faults; who acts and when is an argument.
//! What differs from host to host in the state itself stands in [`Habits`]; the rest is the faces'.

mod account;
mod code;
mod comment;
mod repo;
mod review;
mod status;
mod subject;
mod thread;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use domain::Time;
use serde::{Deserialize, Serialize};

use super::diff::Misplaced;
use super::object::{
    Account, CommentKind, FakeApp, FakeCheck, FakeComment, FakeDraft, FakeInstallation, FakeRepo,
    FakeReview, FakeRun, FakeStatus, FakeSubject, FakeThread, Token,
};

pub(crate) use account::Denied;
pub(crate) use code::Moved;
pub(crate) use comment::{Reacted, Target};
pub(crate) use repo::Named;
pub(crate) use review::NewReview;
pub(crate) use subject::{Edit, Proposal};

use code::Code;
use subject::Row;

/// The longest text that a comment may have, in characters.
pub const LONGEST_BODY: usize = 65_536;

/// How long new comments stay out of listings (they can be read by their id at once).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lag {
    #[default]
    None,
    Milliseconds(u64),
    /// The comment is missing from so many listings of its subject.
    Listings(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    From(Time),
    After(u32),
}

/// What a host's state has of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Habits {
    pub numbering: Numbering,
    pub comment_ids: CommentIds,
    pub anchors: Anchors,
    pub lone_comments: LoneComments,
    /// In characters.
    pub longest_body: usize,
}

/// How issues and changes are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbering {
    /// Both share one row.
    One,
    /// `#1` and `!1` both exist.
    Separate,
}

/// How comments of the conversation and inline comments are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommentIds {
    One,
    /// Separately, and the ids overlap.
    Overlapping,
}

/// Whether an inline comment must stand on a line of the diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchors {
    Checked,
    Unchecked,
}

/// What becomes of an inline comment that somebody writes by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoneComments {
    /// It stands in no review.
    Alone,
    /// It gets a review of its own, and replies to it stand in that.
    Reviewed,
}

/// What the forge does not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no {0}")]
    Missing(String),
    #[error("body is too long (maximum is {0} characters)")]
    TooLong(usize),
    #[error("{0} can't be blank")]
    Blank(&'static str),
    #[error("{login} may not {what}")]
    Forbidden { login: String, what: &'static str },
    #[error("{0} is taken")]
    Taken(String),
    #[error("both an issue and a change have the number {0}")]
    Ambiguous(u64),
    #[error("a comment cannot stand there: {0}")]
    Misplaced(#[from] Misplaced),
    #[error("{0} is protected")]
    Protected(String),
    #[error("{0} is not what it was expected to be")]
    Stale(String),
    #[error("there are no commits between {base} and {head}")]
    NoCommits { base: String, head: String },
    #[error("change {0} exists for this branch")]
    Exists(u64),
    #[error("{0}")]
    Impossible(&'static str),
    /// A batch that is not atomic ended before all of it was done.
    #[error("the forge broke down midway")]
    Broken,
}

/// Who does something, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Act<'a> {
    pub(crate) by: &'a Account,
    pub(crate) now: Time,
}

/// Something that stands on a subject, in the order in which it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Comment(CommentKind, u64),
    Review(u64),
}

#[derive(Debug)]
pub(crate) struct Model {
    habits: Habits,
    accounts: BTreeMap<i64, Account>,
    tokens: HashMap<String, Token>,
    apps: BTreeMap<u64, FakeApp>,
    installations: BTreeMap<u64, FakeInstallation>,
    repos: BTreeMap<u64, FakeRepo>,
    former_names: HashMap<String, u64>,
    code: BTreeMap<u64, Code>,
    subjects: BTreeMap<u64, FakeSubject>,
    /// The row of each number of each repository.
    numbers: BTreeMap<(u64, Row, u64), u64>,
    comments: BTreeMap<(CommentKind, u64), FakeComment>,
    threads: BTreeMap<u64, FakeThread>,
    reviews: BTreeMap<u64, FakeReview>,
    drafts: BTreeMap<u64, FakeDraft>,
    timelines: BTreeMap<u64, Vec<Entry>>,
    statuses: Vec<FakeStatus>,
    checks: BTreeMap<u64, FakeCheck>,
    runs: Vec<FakeRun>,
    next: Next,
    pub(crate) lag: Lag,
    /// After how many entries of a batch that is not atomic the forge breaks down.
    pub(super) breaks_after: Option<u32>,
}

/// The next id of each kind. The ranges differ wherever a host's differ, so that an id that is taken
/// for one of another kind leads nowhere.
#[derive(Debug)]
struct Next {
    account: i64,
    repo: u64,
    subject: u64,
    conversation: u64,
    line: u64,
    thread: u64,
    review: u64,
    reaction: u64,
    other: u64,
}

impl Model {
    pub(super) fn new(habits: Habits) -> Self {
        Self {
            habits,
            accounts: BTreeMap::new(),
            tokens: HashMap::new(),
            apps: BTreeMap::new(),
            installations: BTreeMap::new(),
            repos: BTreeMap::new(),
            former_names: HashMap::new(),
            code: BTreeMap::new(),
            subjects: BTreeMap::new(),
            numbers: BTreeMap::new(),
            comments: BTreeMap::new(),
            threads: BTreeMap::new(),
            reviews: BTreeMap::new(),
            drafts: BTreeMap::new(),
            timelines: BTreeMap::new(),
            statuses: Vec::new(),
            checks: BTreeMap::new(),
            runs: Vec::new(),
            next: Next {
                account: 501,
                repo: 70_001,
                subject: 880_001,
                conversation: 1_700_001,
                line: 1_700_001,
                thread: 5_200_001,
                review: 2_900_001,
                reaction: 33_000_001,
                other: 61_000_001,
            },
            lag: Lag::None,
            breaks_after: None,
        }
    }

    /// Returns from when on something new is listed.
    fn listed(&self, now: Time) -> Listed {
        match self.lag {
            Lag::None => Listed::From(now),
            Lag::Milliseconds(lag) => Listed::From(now + Duration::from_millis(lag)),
            Lag::Listings(count) => Listed::After(count),
        }
    }

    /// Returns a number that it never returned before.
    pub(crate) fn serial(&mut self) -> u64 {
        take(&mut self.next.other)
    }

    /// Takes one more entry of a batch that is not atomic.
    pub(crate) fn step(&mut self) -> Result<(), Refusal> {
        match &mut self.breaks_after {
            None => Ok(()),
            Some(0) => Err(Refusal::Broken),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
        }
    }

    fn check_body(&self, body: &str) -> Result<(), Refusal> {
        if body.trim().is_empty() { Err(Refusal::Blank("body")) } else { self.check_length(body) }
    }

    fn check_length(&self, body: &str) -> Result<(), Refusal> {
        let longest = self.habits.longest_body;
        if body.chars().count() > longest { Err(Refusal::TooLong(longest)) } else { Ok(()) }
    }
}

impl Listed {
    fn is_listed(self, now: Time) -> bool {
        match self {
            Self::From(at) => at <= now,
            Self::After(listings) => listings == 0,
        }
    }

    /// Counts a listing.
    fn count(&mut self) {
        if let Self::After(left) = self {
            *left = left.saturating_sub(1);
        }
    }
}

/// Takes the next number of a row.
fn take(next: &mut u64) -> u64 {
    let id = *next;
    *next += 1;
    id
}

#[cfg(test)]
mod tests;
