//! What people and we said, as it is read from a forge.

use domain::anchor::Spot;
use domain::event::Place;
use domain::{Actor, Time};

/// A text on the forge: a comment, or the opening of an issue or change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// 0 for an opening.
    pub id: u64,
    /// Where it stands; an opening stands in the conversation.
    pub place: Place,
    pub author: Actor,
    pub body: String,
    pub created_at: Option<Time>,
    /// The time of the last edit as the forge gives it.
    pub updated_at: Option<Time>,
    pub url: Option<String>,
    /// Whether the subject that it stands on is open; `None` where this answer does not tell.
    pub open: Option<bool>,
}

impl Said {
    /// Returns the inline thread that it stands in.
    pub fn thread(&self) -> Option<&str> {
        match &self.place {
            Place::Thread { thread, .. } => thread.as_deref(),
            Place::Conversation | Place::Review { .. } => None,
        }
    }
}

/// An inline conversation on a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The forge's own name of the thread: what a reply and a resolution are sent to.
    pub id: String,
    /// Where it stands; `None` where the forge does not tell (any more).
    pub at: Option<Spot>,
    /// Whether the lines have changed since.
    pub outdated: bool,
    /// Whether it is settled; `None` where the host has no such state.
    pub resolved: Option<bool>,
    /// Who settled it, where the forge tells.
    pub resolved_by: Option<Actor>,
    /// Oldest first; never empty.
    pub comments: Vec<Said>,
}

/// A submitted review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    pub id: u64,
    pub author: Actor,
    pub state: ReviewState,
    pub body: String,
    /// The head that was reviewed, where the forge tells.
    pub commit: Option<String>,
    pub submitted_at: Option<Time>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewState {
    Commented,
    Approved,
    ChangesRequested,
    Dismissed,
}
