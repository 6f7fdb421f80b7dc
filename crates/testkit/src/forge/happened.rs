//! What somebody did on the fake forge, as it stood at that moment: what a webhook would carry.
//!
//! A face makes a delivery of it. A test may send it late, twice or never: the value does not
//! change when the forge goes on. What a forge tells in several deliveries is several of these.

use forge::Permission;

use super::model::{Model, Refusal};
use super::object::{
    Account, FakeComment, FakeRepo, FakeReview, FakeSubject, FakeThread, HeadRepo,
};

/// One action of one account on one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    pub by: Account,
    pub repo: FakeRepo,
    /// The fork that the change comes from, if it is about such a change.
    pub fork: Option<FakeRepo>,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Opened(FakeSubject),
    Closed(FakeSubject),
    Reopened(FakeSubject),
    /// Title, text or target branch.
    Edited {
        subject: FakeSubject,
        before: Box<FakeSubject>,
    },
    Assigned {
        subject: FakeSubject,
        assignee: Account,
    },
    Labeled {
        subject: FakeSubject,
        label: String,
    },
    ReviewRequested {
        change: FakeSubject,
        reviewer: Account,
    },
    /// A draft became ready for review.
    Readied(FakeSubject),
    Drafted(FakeSubject),
    /// A new commit on the change's branch.
    Pushed {
        change: FakeSubject,
        before: String,
    },
    /// A branch was made, moved or deleted: what a push event tells.
    BranchMoved {
        branch: String,
        before: Option<String>,
        after: Option<String>,
    },
    Commented {
        on: FakeSubject,
        comment: FakeComment,
        /// The thread of an inline comment.
        thread: Option<FakeThread>,
    },
    CommentEdited {
        on: FakeSubject,
        comment: FakeComment,
        thread: Option<FakeThread>,
        before: String,
    },
    CommentDeleted {
        on: FakeSubject,
        comment: FakeComment,
        thread: Option<FakeThread>,
    },
    ReviewSubmitted {
        on: FakeSubject,
        review: FakeReview,
    },
    ReviewEdited {
        on: FakeSubject,
        review: FakeReview,
    },
    ReviewDismissed {
        on: FakeSubject,
        review: FakeReview,
    },
    /// Resolved or not any more: the thread tells.
    ThreadSettled {
        on: FakeSubject,
        thread: FakeThread,
        comments: Vec<FakeComment>,
    },
    Granted {
        to: Account,
        permission: Permission,
    },
    Renamed {
        before: String,
    },
}

impl Happened {
    /// Takes down what was just done, with everything as it stands now.
    pub(crate) fn now(model: &Model, by: &Account, repo: u64, what: What) -> Result<Self, Refusal> {
        let mut happened =
            Self { by: by.clone(), repo: model.repo(repo)?.clone(), fork: None, what };
        let change = happened.subject().and_then(|subject| subject.change.as_ref());
        if let Some(HeadRepo::Fork(fork)) = change.map(|change| change.head_repo) {
            happened.fork = model.repo(fork).ok().cloned();
        }
        Ok(happened)
    }

    /// Returns the number of the issue or change, 0 if it is about the repository itself.
    pub fn number(&self) -> u64 {
        self.subject().map_or(0, |subject| subject.number)
    }

    /// Returns the id of the comment, 0 if it is about none.
    pub fn comment_id(&self) -> u64 {
        match &self.what {
            What::Commented { comment, .. }
            | What::CommentEdited { comment, .. }
            | What::CommentDeleted { comment, .. } => comment.id,
            _ => 0,
        }
    }

    /// Returns the id of the inline thread, 0 if it is about none.
    pub fn thread_id(&self) -> u64 {
        match &self.what {
            What::Commented { thread: Some(thread), .. }
            | What::CommentEdited { thread: Some(thread), .. }
            | What::CommentDeleted { thread: Some(thread), .. }
            | What::ThreadSettled { thread, .. } => thread.id,
            _ => 0,
        }
    }

    /// Returns the id of the review, 0 if it is about none.
    pub fn review_id(&self) -> u64 {
        match &self.what {
            What::ReviewSubmitted { review, .. }
            | What::ReviewEdited { review, .. }
            | What::ReviewDismissed { review, .. } => review.id,
            _ => 0,
        }
    }

    pub fn subject(&self) -> Option<&FakeSubject> {
        match &self.what {
            What::Opened(subject)
            | What::Closed(subject)
            | What::Reopened(subject)
            | What::Readied(subject)
            | What::Drafted(subject)
            | What::Edited { subject, .. }
            | What::Assigned { subject, .. }
            | What::Labeled { subject, .. } => Some(subject),
            What::Pushed { change, .. } | What::ReviewRequested { change, .. } => Some(change),
            What::Commented { on, .. }
            | What::CommentEdited { on, .. }
            | What::CommentDeleted { on, .. }
            | What::ReviewSubmitted { on, .. }
            | What::ReviewEdited { on, .. }
            | What::ReviewDismissed { on, .. }
            | What::ThreadSettled { on, .. } => Some(on),
            What::Granted { .. } | What::Renamed { .. } | What::BranchMoved { .. } => None,
        }
    }
}
