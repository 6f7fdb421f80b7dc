//! The two ports of a forge: what may be asked, and what may be sent.

use async_trait::async_trait;
use domain::event::Place;
use domain::{Actor, Publication, Receipt, Repo, Slot, Subject, Time};

use crate::error::Error;
use crate::host::Host;

/// The conversation and the facts. Never answered from a cache where a look needs the truth (E2).
#[async_trait]
pub trait Read: Send + Sync {
    fn host(&self) -> Host;

    /// Returns the account that we act as.
    async fn own_account(&self) -> Result<Actor, Error>;

    /// Reads the repository anew: its id and its name of today.
    async fn repository(&self, full_name: &str) -> Result<Repo, Error>;

    /// Reads one comment by its id, as it stands now.
    async fn comment(&self, subject: &Subject, id: u64, place: &Place) -> Result<Said, Error>;

    /// Reads the text of the subject itself, as it stands now.
    async fn opening(&self, subject: &Subject) -> Result<Said, Error>;

    /// Reads the whole conversation, oldest first.
    async fn conversation(&self, subject: &Subject) -> Result<Vec<Said>, Error>;

    /// Asks what the actor may do on the repository at this moment.
    async fn permission(&self, repo: &Repo, actor: &Actor) -> Result<Permission, Error>;
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

    /// Looks for a comment of ours in the slot: all pages, oldest first, from no cache (E2). If it
    /// stands there more than once, the copies are removed and the lowest id stays.
    async fn find(&self, subject: &Subject, slot: &Slot) -> Look;

    /// After the first comment of a run was created: settles which deployment speaks (E7). Looks
    /// until our own comment is listed; the lowest id wins; the loser removes its own.
    async fn settle_claim(
        &self,
        subject: &Subject,
        slot: &Slot,
        own: &Receipt,
    ) -> Result<Receipt, Error>;
}

/// A text on the forge: a comment, or the opening of an issue or change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// 0 for an opening.
    pub id: u64,
    pub author: Actor,
    pub body: String,
    pub created_at: Option<Time>,
    /// The time of the last edit as the forge gives it.
    pub updated_at: Option<Time>,
    pub url: Option<String>,
    /// Whether the subject that it stands on is open; `None` where this answer does not tell.
    pub open: Option<bool>,
}

/// What a look for one of our comments found.
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

/// What an actor may do on a repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    None,
    Read,
    Triage,
    Write,
    Maintain,
    Admin,
}

impl Permission {
    pub fn may_write(self) -> bool {
        self >= Self::Write
    }
}
