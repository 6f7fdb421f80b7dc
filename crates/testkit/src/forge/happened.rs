//! What somebody did on the fake forge, as it stood at that moment: what a webhook would carry.
//!
//! A face makes a delivery of it. A test may send it late, twice or never: the value does not
//! change when the forge goes on.

use forge::Permission;

use super::object::{Account, FakeComment, FakeRepo, FakeSubject};

/// One action of one account on one repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    pub by: Account,
    pub repo: FakeRepo,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Opened(FakeSubject),
    Closed(FakeSubject),
    /// A new commit on the change's branch.
    Pushed {
        change: FakeSubject,
        before: String,
    },
    Commented {
        on: FakeSubject,
        comment: FakeComment,
    },
    CommentEdited {
        on: FakeSubject,
        comment: FakeComment,
        before: String,
    },
    CommentDeleted {
        on: FakeSubject,
        comment: FakeComment,
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

    pub fn subject(&self) -> Option<&FakeSubject> {
        match &self.what {
            What::Opened(subject) | What::Closed(subject) => Some(subject),
            What::Pushed { change, .. } => Some(change),
            What::Commented { on, .. }
            | What::CommentEdited { on, .. }
            | What::CommentDeleted { on, .. } => Some(on),
            What::Granted { .. } | What::Renamed { .. } => None,
        }
    }
}
