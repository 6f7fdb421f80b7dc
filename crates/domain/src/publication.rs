//! What is to be seen on the forge, as a value. A workflow returns publications; `engine` saves
//! them with the checkpoint and sends them. Sending leaves a [`Receipt`] under (subject, slot).

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::event::Place;
use crate::subject::Subject;
use crate::time::Time;

/// One effect on the forge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    pub subject: Subject,
    pub slot: Slot,
    pub effect: Effect,
}

/// The closed list of effects. Each host sends all of them, or the next best thing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "kebab-case")]
pub enum Effect {
    /// A comment of ours in the conversation; publishing the slot again edits it in place.
    Comment(CommentBody),
    /// Removes the comment that we have in this slot.
    Withdraw,
    /// A small sign on what triggered us that it was seen.
    Reaction { on: ReactionTarget, sign: Sign },
}

/// The text of a comment of ours, without its marker: the engine adds that when it sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentBody {
    /// What the comment is, for readers of markers: `answer`, `status`, `apology` …
    pub kind: String,
    /// Markdown made by the crate `report`: whatever is not ours in it has been quoted (T4).
    pub markdown: String,
    /// Set on the first comment of a run: several deployments on one subject settle by it which of
    /// them speaks (E7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Set while the comment shows something unfinished: what it becomes if the job is stopped
    /// before it publishes the slot again (E4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<String>,
}

/// Which run a first comment belongs to (E7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Commit that the run is about; empty where there is none.
    #[serde(default)]
    pub head: String,
    /// From this moment on another deployment may take the slot over.
    pub expires: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "kebab-case")]
pub enum ReactionTarget {
    Subject,
    Comment { id: u64, place: Place },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// Seen, working on it.
    Eyes,
    ThumbsUp,
    Confused,
}

impl Effect {
    /// Whether sending it twice does no harm: it is repeated instead of looked up (E2).
    pub fn is_harmless_twice(&self) -> bool {
        match self {
            Self::Reaction { .. } | Self::Withdraw => true,
            Self::Comment(_) => false,
        }
    }

    /// Whether nothing waits for it: it has no place in the order of its lane, and giving it up is
    /// not worth a word. An answer never waits for its reaction.
    pub fn is_aside(&self) -> bool {
        matches!(self, Self::Reaction { .. })
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Comment(_) => "comment",
            Self::Withdraw => "withdraw",
            Self::Reaction { .. } => "reaction",
        }
    }
}

/// A stable name of a publication on its subject. Publishing the same slot again edits in place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Slot(String);

impl Slot {
    pub fn ack(trigger: &str) -> Self {
        Self::plain(format!("ack:{trigger}"))
    }

    pub fn summary() -> Self {
        Self("summary".to_owned())
    }

    pub fn status() -> Self {
        Self("status".to_owned())
    }

    pub fn panel() -> Self {
        Self("panel".to_owned())
    }

    /// The answer to one comment (by its own name, see [`crate::event::Comment::own_name`]) or to
    /// the subject's own text.
    pub fn reply(to: &str) -> Self {
        Self::plain(format!("reply:{to}"))
    }

    /// The word that a job was given up, or could not be done.
    pub fn apology(job: &str) -> Self {
        Self::plain(format!("apology:{job}"))
    }

    /// Takes a slot as a marker carries it. Only these characters ever stand in one.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '_' | '.');
        (!text.is_empty() && text.len() <= 120 && text.chars().all(plain))
            .then(|| Self(text.to_owned()))
    }

    /// Makes a slot of a name that may hold anything: a marker must be able to carry it, and two
    /// names must not share one.
    fn plain(text: String) -> Self {
        Self::parse(&text)
            .unwrap_or_else(|| Self(format!("x:{}", hex::encode(Sha256::digest(text.as_bytes())))))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What sending a publication left behind, kept under (subject, slot).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "receipt", rename_all = "kebab-case")]
pub enum Receipt {
    /// A comment of ours stands there.
    Comment {
        id: u64,
        revision: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
    /// Done, and there is nothing to point at.
    Done,
    /// The forge will not have it, for good.
    Refused { why: String },
    /// Another deployment of ours speaks in this slot (E7), or a newer revision stands there (E6).
    Yielded { why: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_slot_is_named_after_a_marker_can_carry_it() {
        for name in ["c17", "a b", "-->", "", "é", &"x".repeat(500)] {
            for slot in [Slot::reply(name), Slot::ack(name), Slot::apology(name)] {
                assert_eq!(Slot::parse(slot.as_str()).as_ref(), Some(&slot), "{name}");
            }
        }
        assert_ne!(Slot::reply("a b"), Slot::reply("a c"));
    }
}
