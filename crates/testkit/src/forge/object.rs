//! The objects of the fake forge, in no host's words. [`super::model`] keeps and changes them.

use std::collections::BTreeMap;

use domain::{SubjectKind, Time};
use forge::Permission;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::model::Listed;

/// Whoever can act on the forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub id: i64,
    pub login: String,
    pub kind: AccountKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccountKind {
    Person,
    Bot,
    Organization,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeRepo {
    pub id: u64,
    pub full_name: String,
    pub default_branch: String,
    pub owner: Account,
    pub(super) permissions: BTreeMap<i64, Permission>,
}

/// An issue or a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeSubject {
    /// The id of the row, which must never be taken for the number.
    pub id: u64,
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: Account,
    pub open: bool,
    /// What only a change has.
    pub change: Option<FakeChange>,
    pub created_at: Time,
    pub updated_at: Time,
    /// How many comments its conversation has, those not listed yet among them.
    pub comments: u64,
    pub reactions: Vec<Reaction>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeChange {
    pub head: String,
    pub head_branch: String,
    pub base: String,
    pub base_branch: String,
    pub draft: bool,
    pub merged: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeComment {
    pub id: u64,
    pub repo: u64,
    pub number: u64,
    pub place: Spot,
    pub author: Account,
    pub body: String,
    pub created_at: Time,
    pub updated_at: Time,
    /// Who wrote the body that stands there now.
    pub written_by: Account,
    pub reactions: Vec<Reaction>,
    pub(super) listed: Listed,
}

/// Where a comment stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spot {
    Conversation,
    /// On a line of a change. `reply_to` is the first comment of the thread.
    Line {
        path: String,
        line: u64,
        reply_to: Option<u64>,
    },
}

/// Which of the two kinds of comments: their ids are counted separately and overlap on purpose,
/// as on GitHub.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommentKind {
    Conversation,
    Line,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaction {
    pub id: u64,
    pub by: Account,
    pub content: String,
}

impl FakeRepo {
    /// Returns what the account may do here: the owner everything, others read unless granted more.
    pub fn permission(&self, account: &Account) -> Permission {
        if account.id == self.owner.id {
            return Permission::Admin;
        }
        self.permissions.get(&account.id).copied().unwrap_or(Permission::Read)
    }

    pub fn name(&self) -> &str {
        self.full_name.split_once('/').map_or(self.full_name.as_str(), |(_, name)| name)
    }
}

impl FakeSubject {
    pub fn kind(&self) -> SubjectKind {
        if self.change.is_some() { SubjectKind::Change } else { SubjectKind::Issue }
    }
}

impl FakeComment {
    pub fn kind(&self) -> CommentKind {
        match self.place {
            Spot::Conversation => CommentKind::Conversation,
            Spot::Line { .. } => CommentKind::Line,
        }
    }
}

impl FakeChange {
    /// Returns a change from `branch` to the default branch, with commits made up from the name.
    pub fn from_branch(branch: &str) -> Self {
        Self {
            head: commit(branch),
            head_branch: branch.to_owned(),
            base: commit("main"),
            base_branch: "main".to_owned(),
            draft: false,
            merged: false,
        }
    }

    pub fn draft(self) -> Self {
        Self { draft: true, ..self }
    }
}

/// Makes up a commit id that follows from `seed`.
pub(super) fn commit(seed: &str) -> String {
    let mut id = hex::encode(Sha256::digest(seed.as_bytes()));
    id.truncate(40);
    id
}
