//! What a conversation is about, and the lane that orders the work on it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::repo::{Repo, RepoId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SubjectKind {
    Issue,
    /// A pull or merge request.
    Change,
    /// A branch by itself: a push that belongs to no change that we know of. It has no thread.
    Branch,
}

impl SubjectKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::Change => "change",
            Self::Branch => "branch",
        }
    }
}

/// A change, an issue, or a branch of one repository.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subject {
    pub repo: Repo,
    pub kind: SubjectKind,
    /// The number that people see and that URLs carry; 0 for a branch.
    pub number: u64,
    /// The branch's name, for [`SubjectKind::Branch`] only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

impl Subject {
    pub fn issue(repo: Repo, number: u64) -> Self {
        Self { repo, kind: SubjectKind::Issue, number, branch: None }
    }

    pub fn change(repo: Repo, number: u64) -> Self {
        Self { repo, kind: SubjectKind::Change, number, branch: None }
    }

    pub fn branch(repo: Repo, name: &str) -> Self {
        Self { repo, kind: SubjectKind::Branch, number: 0, branch: Some(name.to_owned()) }
    }

    /// Returns the subject's identity as text, stable over renames of the repository.
    pub fn id(&self) -> SubjectId {
        let repo = self.repo.id();
        match &self.branch {
            Some(name) => SubjectId(format!("{repo}/branch/{name}")),
            None => SubjectId(format!("{repo}/{}/{}", self.kind.as_str(), self.number)),
        }
    }

    /// Returns the lane in which work on the subject runs one job after the other.
    pub fn lane(&self, pace: Pace) -> Lane {
        match pace {
            Pace::Work => Lane(self.id().0),
            Pace::Talk => Lane(format!("{}/talk", self.id().0)),
        }
    }

    pub fn repo_id(&self) -> RepoId {
        self.repo.id()
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.branch, self.kind) {
            (Some(name), _) => write!(f, "{}@{name}", self.repo.full_name),
            (None, SubjectKind::Change) => write!(f, "{}!{}", self.repo.full_name, self.number),
            (None, _) => write!(f, "{}#{}", self.repo.full_name, self.number),
        }
    }
}

/// A [`Subject`]'s identity: `origin/repository/kind/number`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SubjectId(pub String);

/// Whether a task waits for earlier work on its subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// Takes its turn behind earlier work.
    Work,
    /// Answered from a second lane of the same subject: never waits behind work (J3).
    Talk,
}

/// The name of a queue in which at most one job is unfinished at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Lane(pub String);

impl fmt::Display for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
