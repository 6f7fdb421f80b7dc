//! Everything that can happen, in forge-neutral words.
//!
//! Decoders of the crate `forge` make an [`Event`] of a delivery; [`crate::route::route`] decides
//! what it means. A happening that no row of the routing table uses does not get a variant: the
//! decoder answers `Ignored` with its name.

use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::repo::Repo;
use crate::subject::{Subject, SubjectKind};

/// One thing that happened on a forge, by its own account. Nothing in it is trusted beyond that
/// (T1): a task that writes reads the object again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    pub repo: Repo,
    /// Who did it (the sender, not necessarily the author of the object).
    pub actor: Actor,
    pub happening: Happening,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "happening", rename_all = "kebab-case")]
pub enum Happening {
    ChangeOpened(Change),
    ChangeReopened(Change),
    /// A draft was made ready for review.
    ChangeReady(Change),
    /// New commits on the change's branch.
    ChangePushed(Change),
    /// The change's target branch is another one now.
    BaseChanged(Change),
    ReviewRequested {
        change: Change,
        /// Those just asked.
        of: Vec<Actor>,
    },
    ChangeClosed {
        change: Change,
        merged: bool,
    },
    IssueOpened(Issue),
    IssueAssigned {
        issue: Issue,
        /// Those just assigned; where the forge does not say, everyone who is assigned now.
        to: Vec<Actor>,
    },
    /// A comment, a reply in a thread, or the text of a submitted review.
    Commented(Comment),
    CommentEdited {
        comment: Comment,
        /// The text before the edit, where the payload carries it.
        before: Option<String>,
    },
    /// Commits arrived on a branch.
    Pushed(Push),
    /// Somebody pressed a button or called an API: a task named outright.
    Asked(Asked),
}

/// A pull or merge request as a payload shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub author: Actor,
    pub draft: bool,
    /// The commit at the tip of the change's branch, where the payload has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head_branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_branch: Option<String>,
    /// The forge's own time stamp of the object, as it was written: compared for equality only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issue {
    pub number: u64,
    /// What people see where it differs from `number` (seed 001's `display_issue_number`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_number: Option<u64>,
    pub title: String,
    pub body: String,
    pub author: Actor,
    /// Those assigned while it was opened, where one delivery tells both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assignees: Vec<Actor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

/// A comment and the subject that it stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// Missing only in payloads that do not carry it (seed 001's examples).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    pub place: Place,
    pub author: Actor,
    pub body: String,
    /// `issue` or `change`.
    pub on: SubjectKind,
    pub number: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub display_number: Option<u64>,
    /// The title of the subject.
    pub title: String,
    /// Who opened the subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject_author: Option<Actor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

impl Comment {
    pub fn subject(&self, repo: &Repo) -> Subject {
        Subject { repo: repo.clone(), kind: self.on, number: self.number, branch: None }
    }
}

/// Where a comment stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "place", rename_all = "kebab-case")]
pub enum Place {
    /// In the conversation of the subject.
    Conversation,
    /// In an inline thread of a change.
    Thread {
        /// The thread: id of its first comment, or the forge's discussion id, where known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<String>,
        /// Whether it answers an earlier comment; `None` where the forge does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reply: Option<bool>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
    },
    /// The text of a review. Gitea's carry no id: the review must be looked up.
    Review {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        review: Option<u64>,
    },
}

/// Commits arrived on a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Push {
    pub branch: String,
    pub before: String,
    pub after: String,
    pub created: bool,
    pub deleted: bool,
    /// How many commits; zero for a push that only created a branch.
    pub commits: u64,
}

/// A task named outright, without a comment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The command as it would be written after a mention.
    pub text: String,
    pub on: SubjectKind,
    pub number: u64,
}

impl Happening {
    /// Returns the name used in records, metrics and reasons.
    pub fn name(&self) -> &'static str {
        match self {
            Self::ChangeOpened(_) => "change-opened",
            Self::ChangeReopened(_) => "change-reopened",
            Self::ChangeReady(_) => "change-ready",
            Self::ChangePushed(_) => "change-pushed",
            Self::BaseChanged(_) => "base-changed",
            Self::ReviewRequested { .. } => "review-requested",
            Self::ChangeClosed { .. } => "change-closed",
            Self::IssueOpened(_) => "issue-opened",
            Self::IssueAssigned { .. } => "issue-assigned",
            Self::Commented(_) => "commented",
            Self::CommentEdited { .. } => "comment-edited",
            Self::Pushed(_) => "pushed",
            Self::Asked(_) => "asked",
        }
    }
}

impl Event {
    /// Returns what the event is about.
    pub fn subject(&self) -> Subject {
        let repo = self.repo.clone();
        match &self.happening {
            Happening::ChangeOpened(change)
            | Happening::ChangeReopened(change)
            | Happening::ChangeReady(change)
            | Happening::ChangePushed(change)
            | Happening::BaseChanged(change)
            | Happening::ReviewRequested { change, .. }
            | Happening::ChangeClosed { change, .. } => Subject::change(repo, change.number),
            Happening::IssueOpened(issue) | Happening::IssueAssigned { issue, .. } => {
                Subject::issue(repo, issue.number)
            }
            Happening::Commented(comment) | Happening::CommentEdited { comment, .. } => {
                comment.subject(&self.repo)
            }
            Happening::Pushed(push) => Subject::branch(repo, &push.branch),
            Happening::Asked(asked) => {
                Subject { repo, kind: asked.on, number: asked.number, branch: None }
            }
        }
    }

    /// Returns the meaning of the event as text: equal for two deliveries that say the same (J4).
    ///
    /// It is (connection, repository, kind, object, action, the object's time stamp or head); a
    /// comment is its own object. `None` where the payload has nothing that tells two happenings
    /// apart: such a delivery is only known by its delivery id.
    pub fn meaning(&self) -> Option<String> {
        let repo = self.repo.id();
        let action = self.happening.name();
        let detail = match &self.happening {
            Happening::ChangeOpened(change)
            | Happening::ChangeReopened(change)
            | Happening::ChangeReady(change)
            | Happening::ChangePushed(change)
            | Happening::BaseChanged(change)
            | Happening::ReviewRequested { change, .. }
            | Happening::ChangeClosed { change, .. } => {
                let state = match &self.happening {
                    // A push means its head: two pushes within a second share a time stamp.
                    Happening::ChangePushed(_) => change.head.as_ref()?,
                    _ => change.updated_at.as_ref().or(change.head.as_ref())?,
                };
                format!("change/{}/{state}", change.number)
            }
            Happening::IssueOpened(issue) | Happening::IssueAssigned { issue, .. } => {
                format!("issue/{}/{}", issue.number, issue.updated_at.as_ref()?)
            }
            Happening::Commented(comment) => format!("comment/{}", comment.own_name()?),
            Happening::CommentEdited { comment, .. } => {
                format!("comment/{}/{}", comment.own_name()?, comment.updated_at.as_ref()?)
            }
            Happening::Pushed(push) => format!("branch/{}/{}", push.branch, push.after),
            Happening::Asked(_) => return None,
        };
        Some(format!("{repo}/{action}/{detail}"))
    }
}

impl Comment {
    /// Returns the comment's own name; see [`Place::name`].
    pub fn own_name(&self) -> Option<String> {
        self.place.name(self.id)
    }
}

impl Place {
    /// Names a comment at this place as no other comment of the repository is named: conversation,
    /// threads and reviews have separate id spaces on some forges.
    pub fn name(&self, id: Option<u64>) -> Option<String> {
        match self {
            Self::Conversation => id.map(|id| format!("c{id}")),
            Self::Thread { .. } => id.map(|id| format!("t{id}")),
            Self::Review { review } => review.or(id).map(|id| format!("r{id}")),
        }
    }
}
