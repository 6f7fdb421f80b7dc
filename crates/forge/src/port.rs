//! The two ports of a forge: what may be asked, and what may be sent.
//!
//! Code is not asked for here: it comes from git. What a host lacks is told by its
//! [`Capabilities`], and the next best thing is found in one place, [`crate::write`].

use std::time::Duration;

use async_trait::async_trait;
use domain::event::Place;
use domain::{Actor, Publication, Receipt, Repo, Slot, Subject, Time};

use crate::capability::Capabilities;
use crate::error::Error;
use crate::host::Host;
use crate::http::REQUEST_DEADLINE;

mod conversation;
mod fact;

pub use conversation::{Review, ReviewState, Said, Thread};
pub use fact::{BranchNow, ChangeNow, GitAccess, IssueNow, Permission, SourceOfChange, Touched};

/// The conversation and the facts. Never answered from a cache where a look needs the truth (E2).
#[async_trait]
pub trait Read: Send + Sync {
    fn host(&self) -> Host;

    /// Returns what this host, in the version that runs there, can do.
    async fn capabilities(&self) -> Result<Capabilities, Error>;

    /// Returns the account that we act as.
    async fn own_account(&self) -> Result<Actor, Error>;

    /// Reads the repository anew: its id and its name of today.
    async fn repository(&self, full_name: &str) -> Result<Repo, Error>;

    /// Reads one comment by its id, as it stands now.
    async fn comment(&self, subject: &Subject, id: u64, place: &Place) -> Result<Said, Error>;

    /// Reads the text of the subject itself, as it stands now.
    async fn opening(&self, subject: &Subject) -> Result<Said, Error>;

    /// Reads an issue as it stands now.
    async fn issue(&self, subject: &Subject) -> Result<IssueNow, Error>;

    /// Reads a change as it stands now.
    async fn change(&self, subject: &Subject) -> Result<ChangeNow, Error>;

    /// Reads the whole conversation, oldest first.
    async fn conversation(&self, subject: &Subject) -> Result<Vec<Said>, Error>;

    /// Reads all inline threads of a change with their replies, oldest first.
    async fn threads(&self, subject: &Subject) -> Result<Vec<Thread>, Error>;

    /// Reads the submitted reviews of a change, oldest first.
    async fn reviews(&self, subject: &Subject) -> Result<Vec<Review>, Error>;

    /// Asks what the actor may do on the repository at this moment.
    async fn permission(&self, repo: &Repo, actor: &Actor) -> Result<Permission, Error>;

    /// Reads a branch: where it stands and whether it is protected. `None` if there is none.
    async fn branch(&self, repo: &Repo, name: &str) -> Result<Option<BranchNow>, Error>;

    /// Reads the open changes whose commits are on this branch of the repository, newest first.
    async fn changes_of_branch(&self, repo: &Repo, branch: &str) -> Result<Vec<ChangeNow>, Error>;

    /// Reads what is open and was touched since a moment: changes, and issues that are assigned
    /// to us (J9).
    async fn touched_since(&self, repo: &Repo, since: Time) -> Result<Touched, Error>;

    /// Returns how git reaches the repository at this moment.
    async fn git_access(&self, repo: &Repo) -> Result<GitAccess, Error>;
}

/// Sending. A publication is the only way to change anything on a forge.
#[async_trait]
pub trait Write: Send + Sync {
    /// Sends a publication. With the receipt of an earlier one in the same slot it edits in place,
    /// and only if what stands there is ours and older (E6).
    async fn send(
        &self,
        publication: &Publication,
        earlier: Option<&Receipt>,
    ) -> Result<Receipt, Error>;

    /// Sends inline comments of one change that travel together, none of which stands there yet
    /// (E3). All of them are refused with [`Error::Refused`] if the host will not have one of
    /// them: the caller then sends fewer at once.
    async fn send_together(&self, publications: &[Publication]) -> Result<Vec<Receipt>, Error>;

    /// Returns how many inline comments may travel together, and how long that may take.
    fn together(&self) -> Together;

    /// Looks whether a publication had its effect: all pages, oldest first, from no cache (E2). If
    /// a comment of ours stands there more than once, the copies are removed and the lowest id
    /// stays.
    async fn find(&self, publication: &Publication) -> Look;

    /// After the first comment of a run was created: settles which deployment speaks (E7). Looks
    /// until our own comment is listed; the lowest id wins; the loser removes its own.
    async fn settle_claim(
        &self,
        subject: &Subject,
        slot: &Slot,
        own: &Receipt,
    ) -> Result<Receipt, Error>;
}

/// How inline comments travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Together {
    /// At most so many at once; 1 where the host has no batches.
    pub most: usize,
    /// What one more comment adds to the deadline of the whole.
    pub each: Duration,
}

impl Together {
    /// Returns the whole time that sending so many may take: what a lease must outlive (E5).
    pub fn deadline(self, comments: usize) -> Duration {
        REQUEST_DEADLINE + self.each.saturating_mul(u32::try_from(comments).unwrap_or(u32::MAX))
    }
}

/// What a look for one of our effects found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    Found {
        receipt: Receipt,
        /// Whether its marker has a right MAC. Without, nothing in it counts and its revision is 0;
        /// sending with this receipt takes the slot over once the claim in it has expired, and
        /// yields before (E1).
        authentic: bool,
    },
    Absent,
    /// An error, a cap, or pages that moved while they were read: neither found nor absent.
    Unknown {
        why: String,
    },
}
