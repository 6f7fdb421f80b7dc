//! What a host can do, one move at a time. The adapters supply these; everything that makes them
//! safe stands once, around them.

use std::time::Duration;

use async_trait::async_trait;
use domain::anchor::Spot;
use domain::event::Place;
use domain::publication::{
    Branch, Dispatch, FileWrite, NewChange, ReactionTarget, Settling, Sign, Status,
};
use domain::{Clock, Receipt, Repo, Subject};
use report::redact::Redactor;

use crate::error::Error;
use crate::http::Deadline;
use crate::ours::Ours;
use crate::port::{ChangeNow, Look, Read, Said, Together};

/// Where a comment of ours stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Home<'a> {
    Conversation,
    /// In the inline thread with this name.
    Thread(&'a str),
}

impl<'a> Home<'a> {
    pub(crate) fn of(receipt: &'a Receipt) -> Self {
        match receipt {
            Receipt::Comment { thread: Some(thread), .. } => Self::Thread(thread),
            _ => Self::Conversation,
        }
    }

    pub(crate) fn of_said(said: &'a Said) -> Self {
        said.thread().map_or(Self::Conversation, Self::Thread)
    }

    /// Returns the same as the words of events say it.
    pub(crate) fn place(self) -> Place {
        match self {
            Self::Conversation => Place::Conversation,
            Self::Thread(thread) => {
                Place::Thread { thread: Some(thread.to_owned()), reply: None, path: None }
            }
        }
    }
}

/// Where a new inline comment is to stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seat<'a> {
    /// On the line or the range of lines.
    Lines(&'a Spot),
    /// On the file as a whole.
    File(&'a Spot),
}

/// The moves. Each is one effect, done by the deadline or not at all as far as the host allows.
#[async_trait]
pub(crate) trait Moves: Read {
    fn ours(&self) -> &Ours;
    fn redactor(&self) -> &Redactor;
    fn clock(&self) -> &dyn Clock;

    /// Returns how inline comments travel; one at a time unless the host has batches.
    fn batches(&self) -> Together {
        Together { most: 1, each: Duration::ZERO }
    }

    /// Reads a comment if it stands on this subject.
    async fn one(
        &self,
        subject: &Subject,
        home: Home<'_>,
        id: u64,
        by: Deadline,
    ) -> Result<Said, Error>;

    async fn create(&self, subject: &Subject, body: &str, by: Deadline) -> Result<Said, Error>;

    async fn edit(
        &self,
        subject: &Subject,
        (home, id): (Home<'_>, u64),
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error>;

    async fn delete(
        &self,
        subject: &Subject,
        home: Home<'_>,
        id: u64,
        by: Deadline,
    ) -> Result<(), Error>;

    /// Starts a thread. [`Error::Refused`] means that it cannot stand there.
    async fn create_inline(
        &self,
        subject: &Subject,
        seat: Seat<'_>,
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error>;

    /// Starts several threads as one review, on hosts that have that. Returns those that were
    /// listed afterwards. Leftovers of ours from an earlier try are reused or removed, a person's
    /// never.
    async fn create_review(
        &self,
        subject: &Subject,
        comments: &[(Spot, String)],
        by: Deadline,
    ) -> Result<Vec<Said>, Error>;

    async fn reply(
        &self,
        subject: &Subject,
        thread: &str,
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error>;

    async fn settle_thread(
        &self,
        subject: &Subject,
        thread: &str,
        settling: Settling,
        by: Deadline,
    ) -> Result<(), Error>;

    async fn react(
        &self,
        subject: &Subject,
        on: &ReactionTarget,
        sign: Sign,
        by: Deadline,
    ) -> Result<(), Error>;

    /// Opens a change as a draft, or as the next best thing where there are no drafts.
    async fn open_change(
        &self,
        repo: &Repo,
        change: &NewChange,
        body: &str,
        by: Deadline,
    ) -> Result<ChangeNow, Error>;

    /// Replaces the whole description of a change.
    async fn describe(&self, subject: &Subject, body: &str, by: Deadline) -> Result<(), Error>;

    async fn make_ready(&self, subject: &Subject, by: Deadline) -> Result<(), Error>;

    async fn set_status(&self, repo: &Repo, status: &Status, by: Deadline) -> Result<(), Error>;

    /// Creates a branch. One that exists already is [`Error::Refused`] or [`Error::Conflict`].
    async fn create_branch(&self, repo: &Repo, branch: &Branch, by: Deadline) -> Result<(), Error>;

    async fn write_file(&self, repo: &Repo, file: &FileWrite, by: Deadline) -> Result<(), Error>;

    /// Whether the file stands on the branch with exactly this content.
    async fn file_stands(&self, repo: &Repo, file: &FileWrite) -> Result<bool, Error>;

    async fn dispatch(&self, repo: &Repo, dispatch: &Dispatch, by: Deadline) -> Result<(), Error>;

    /// Looks for a run that was started with the dispatch's identity.
    async fn find_dispatch(&self, repo: &Repo, dispatch: &Dispatch) -> Look;
}
