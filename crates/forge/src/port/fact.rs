//! The facts about repositories, changes and people, as they are read from a forge.

use domain::{Actor, Repo, Time};
use secrecy::SecretString;
use url::Url;

/// An issue as it stands now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueNow {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: Actor,
    pub open: bool,
    pub labels: Vec<String>,
    pub assignees: Vec<Actor>,
    pub created_at: Option<Time>,
    pub updated_at: Option<Time>,
    pub url: Option<String>,
}

/// A change as it stands now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeNow {
    pub number: u64,
    /// Without the host's prefix of drafts.
    pub title: String,
    pub body: String,
    pub author: Actor,
    pub open: bool,
    pub merged: bool,
    pub draft: bool,
    /// The commit at the tip of the change's branch.
    pub head: String,
    pub source: SourceOfChange,
    pub base_branch: String,
    /// The tip of the base branch, or the merge base, as the forge gives it; `None` where it does
    /// not. The truth about it comes from git.
    pub base: Option<String>,
    pub labels: Vec<String>,
    pub reviewers: Vec<Actor>,
    pub created_at: Option<Time>,
    pub updated_at: Option<Time>,
    pub url: Option<String>,
    /// The ref of the repository under which git finds the head, forks' heads too.
    pub head_ref: String,
}

/// Where the commits of a change live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceOfChange {
    /// `None` once the fork is gone.
    pub repo: Option<Repo>,
    pub branch: String,
    /// Whether those who may write to the target may push to the branch; `None` where the host
    /// does not tell.
    pub maintainers_may_push: Option<bool>,
}

/// A branch as it stands now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchNow {
    pub name: String,
    pub head: String,
    pub protected: bool,
}

/// What was touched lately.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    pub changes: Vec<ChangeNow>,
    pub issues: Vec<IssueNow>,
}

/// How git reaches a repository. The credential goes to this origin only (T5).
#[derive(Clone, Debug)]
pub struct GitAccess {
    /// Without a credential in it.
    pub url: Url,
    pub username: String,
    /// `None` for a repository that everybody may read.
    pub token: Option<SecretString>,
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
