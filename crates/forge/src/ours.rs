//! Which comments are ours, and which of their markers we believe (E1).
//!
//! Shared by all adapters of a connection. A comment is ours by its author's numeric id, never by
//! a name; its marker is believed if the MAC is right as well. Without a configured key a random
//! one of this process stands in: then nothing that was written before is believed, here or
//! elsewhere, and whoever sets this up says so.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock};

use domain::{AccountId, Actor, Subject};
use report::marker::{self, Marker, MarkerKey};

use crate::port::Said;

/// Our accounts, our key, and the name of this deployment.
#[derive(Debug)]
pub struct Ours {
    /// Accounts that we act as now. Empty until they are configured or learned from the forge.
    present: RwLock<BTreeSet<AccountId>>,
    /// Accounts that we acted as once: their comments are still ours.
    former: BTreeSet<AccountId>,
    key: MarkerKey,
    instance: String,
}

/// What the marker of a comment of ours says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Marked {
    pub(crate) marker: Marker,
    /// Whether we really wrote it. If not, nothing in it counts but that the slot is taken.
    pub(crate) belief: Belief,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Belief {
    Believed,
    Doubted,
}

impl Ours {
    /// Makes the identity of a deployment. `instance` tells it from other deployments (E7).
    pub fn new(instance: &str, key: Option<MarkerKey>) -> Self {
        Self {
            present: RwLock::default(),
            former: BTreeSet::new(),
            key: key.unwrap_or_else(passing_key),
            instance: instance.to_owned(),
        }
    }

    /// Adds accounts that we are known to act as.
    #[must_use]
    pub fn acting_as(self, accounts: impl IntoIterator<Item = AccountId>) -> Self {
        self.present.write().unwrap_or_else(PoisonError::into_inner).extend(accounts);
        self
    }

    /// Adds accounts that we acted as once.
    #[must_use]
    pub fn formerly(mut self, accounts: impl IntoIterator<Item = AccountId>) -> Self {
        self.former.extend(accounts);
        self
    }

    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// Takes note of the account that the forge says we are.
    pub fn learn(&self, account: AccountId) {
        self.present.write().unwrap_or_else(PoisonError::into_inner).insert(account);
    }

    /// Whether an account that we act as is known: before, no comment can be told to be ours.
    pub fn knows_itself(&self) -> bool {
        !self.present.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether one of our accounts, present or former, is the author.
    pub fn wrote(&self, author: &Actor) -> bool {
        author.id.is_some_and(|id| {
            self.former.contains(&id)
                || self.present.read().unwrap_or_else(PoisonError::into_inner).contains(&id)
        })
    }

    /// Reads the marker of a comment, if the comment is ours and has one.
    pub(crate) fn marked(&self, subject: &Subject, said: &Said) -> Option<Marked> {
        if !self.wrote(&said.author) {
            return None;
        }
        let found = marker::read(&said.body)?;
        let belief = match self.key.believes(subject, &found) {
            true => Belief::Believed,
            false => Belief::Doubted,
        };
        Some(Marked { marker: found.marker, belief })
    }

    /// Puts a marker of ours in front of a text.
    pub(crate) fn sign(&self, subject: &Subject, marker: &Marker, markdown: &str) -> String {
        marker::attach(&self.key.write(subject, marker), markdown)
    }
}

#[expect(clippy::expect_used, reason = "a system without randomness cannot run TLS either")]
fn passing_key() -> MarkerKey {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the system gives random bytes");
    MarkerKey::new(&bytes)
}

#[cfg(test)]
mod tests {
    use domain::{Origin, Repo, RepoKey, Slot};

    use super::*;

    fn subject() -> Subject {
        let repo = Repo {
            origin: Origin::new("https://forge.example"),
            key: RepoKey::Id(7),
            full_name: "o/r".to_owned(),
            default_branch: None,
        };
        Subject::issue(repo, 3)
    }

    fn said(author: Option<i64>, body: &str) -> Said {
        let author = Actor { id: author.map(AccountId), login: "bot".to_owned(), bot: false };
        Said {
            id: 1,
            place: domain::event::Place::Conversation,
            author,
            body: body.to_owned(),
            created_at: None,
            updated_at: None,
            url: None,
            open: None,
        }
    }

    fn marker() -> Marker {
        Marker {
            kind: "answer".to_owned(),
            slot: Slot::status(),
            revision: 1,
            instance: None,
            head: None,
            expires: None,
        }
    }

    fn ours(key: &[u8]) -> Ours {
        Ours::new("i", Some(MarkerKey::new(key))).acting_as([AccountId(1)]).formerly([AccountId(2)])
    }

    #[test]
    fn e1_a_marker_counts_only_under_the_numeric_id_of_one_of_our_accounts() {
        let ours = ours(b"key");
        let body = ours.sign(&subject(), &marker(), "text");
        let belief =
            |author| ours.marked(&subject(), &said(author, &body)).map(|marked| marked.belief);
        assert_eq!(belief(Some(1)), Some(Belief::Believed));
        assert_eq!(belief(Some(2)), Some(Belief::Believed), "a former account");
        assert_eq!(belief(Some(3)), None, "somebody who copied it");
        assert_eq!(belief(None), None, "an author without an id, whatever the name");
    }

    #[test]
    fn e1_a_marker_with_another_key_or_on_another_subject_is_doubted() {
        let body = ours(b"key").sign(&subject(), &marker(), "text");
        let belief = |key, subject| {
            ours(key).marked(&subject, &said(Some(1), &body)).map(|marked| marked.belief)
        };
        assert_eq!(belief(b"key", subject()), Some(Belief::Believed));
        assert_eq!(belief(b"other", subject()), Some(Belief::Doubted));
        assert_eq!(belief(b"key", Subject { number: 4, ..subject() }), Some(Belief::Doubted));
    }

    #[test]
    fn e1_without_a_key_nothing_of_an_earlier_run_is_believed() {
        let run = || Ours::new("i", None).acting_as([AccountId(1)]);
        let (first, second) = (run(), run());
        let body = first.sign(&subject(), &marker(), "text");
        let belief = |ours: &Ours| {
            ours.marked(&subject(), &said(Some(1), &body)).map(|marked| marked.belief)
        };
        assert_eq!(belief(&first), Some(Belief::Believed));
        assert_eq!(belief(&second), Some(Belief::Doubted));
    }

    #[test]
    fn the_own_account_may_be_learned_later() {
        let ours = Ours::new("i", None).formerly([AccountId(2)]);
        assert!(!ours.knows_itself(), "a former account does not say who we are");
        ours.learn(AccountId(5));
        assert!(ours.knows_itself());
        assert!(ours.wrote(&said(Some(5), "").author));
    }
}
