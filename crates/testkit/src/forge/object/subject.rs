//! Issues and changes, and what only a change has.

use std::sync::Arc;

use domain::{SubjectKind, Time};

use super::account::Account;
use super::commit;
use super::reaction::Reaction;
use crate::forge::diff::FakeDiff;
use crate::forge::model::Listed;

/// Which issue or change of a repository is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Whatever has the number. It must be one thing, also where issues and changes are counted
    /// separately.
    Any(u64),
    Issue(u64),
    Change(u64),
}

impl From<u64> for Which {
    fn from(number: u64) -> Self {
        Self::Any(number)
    }
}

/// An issue or a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeSubject {
    /// The id of the row, which must never be taken for the number.
    pub id: u64,
    pub repo: u64,
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: Account,
    pub open: bool,
    /// What only a change has.
    pub change: Option<FakeChange>,
    pub labels: Vec<String>,
    pub assignees: Vec<Account>,
    pub created_at: Time,
    pub updated_at: Time,
    pub closed_at: Option<Time>,
    /// How many comments its conversation has, those not listed yet among them.
    pub comments: u64,
    pub reactions: Vec<Reaction>,
    pub(in crate::forge) listed: Listed,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeChange {
    pub head: String,
    pub head_branch: String,
    pub head_repo: HeadRepo,
    pub base: String,
    pub base_branch: String,
    pub draft: bool,
    pub merged_at: Option<Time>,
    pub maintainer_may_edit: bool,
    pub reviewers: Vec<Account>,
    /// Every state that its branch had since it was opened, oldest first. The last is `head`.
    pub versions: Vec<Version>,
}

/// Where a change's branch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadRepo {
    /// In the repository that it wants to go to.
    Same,
    Fork(u64),
    /// In a fork that was deleted.
    Gone,
}

/// A state of a change's branch, with the diff that comments stand on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    pub head: String,
    pub base: String,
    pub diff: Arc<FakeDiff>,
}

impl FakeSubject {
    pub fn kind(&self) -> SubjectKind {
        if self.change.is_some() { SubjectKind::Change } else { SubjectKind::Issue }
    }

    pub fn which(&self) -> Which {
        if self.change.is_some() { Which::Change(self.number) } else { Which::Issue(self.number) }
    }
}

impl FakeChange {
    /// Returns a change from `branch` to the default branch, with commits made up from the name and
    /// a small diff of `src/lib.rs` ([`FakeDiff::small`]).
    pub fn from_branch(branch: &str) -> Self {
        let (head, base) = (commit(branch), commit("main"));
        let diff = Arc::new(FakeDiff::small());
        Self {
            versions: vec![Version { head: head.clone(), base: base.clone(), diff }],
            head,
            head_branch: branch.to_owned(),
            head_repo: HeadRepo::Same,
            base,
            base_branch: "main".to_owned(),
            draft: false,
            merged_at: None,
            maintainer_may_edit: false,
            reviewers: Vec::new(),
        }
    }

    pub fn draft(self) -> Self {
        Self { draft: true, ..self }
    }

    /// Gives the lines that comments may stand on.
    pub fn with_diff(mut self, diff: FakeDiff) -> Self {
        let diff = Arc::new(diff);
        self.versions.iter_mut().for_each(|version| version.diff = Arc::clone(&diff));
        self
    }

    /// Puts the branch into a fork, whose owner lets maintainers edit it or not.
    pub fn from_fork(self, fork: u64, maintainers: Maintainers) -> Self {
        let maintainer_may_edit = maintainers == Maintainers::MayEdit;
        Self { head_repo: HeadRepo::Fork(fork), maintainer_may_edit, ..self }
    }

    /// Returns the diff of today's head.
    pub fn diff(&self) -> Arc<FakeDiff> {
        self.versions.last().map(|version| Arc::clone(&version.diff)).unwrap_or_default()
    }
}

/// What maintainers may do with the branch of a fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maintainers {
    MayEdit,
    MayNotEdit,
}
