//! Slots: the stable names under which publications stand on their subject.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

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
