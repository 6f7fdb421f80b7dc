//! The objects of the fake forge, in no host's words. [`super::model`] keeps and changes them.

mod account;
mod comment;
mod reaction;
mod repo;
mod review;
mod status;
mod subject;

use sha2::{Digest, Sha256};

pub(super) use account::Token;
pub use account::{Access, Account, AccountKind, Credential, FakeApp, FakeInstallation};
pub(crate) use account::{Bearer, Reach};
pub use comment::{Anchor, CommentKind, FakeComment, FakeThread, Lines, Side, Spot};
pub use reaction::Reaction;
pub use repo::{FakeBranch, FakeRepo, FakeRun};
pub use review::{DraftTarget, FakeDraft, FakeReview, Inline, ReviewState, Verdict};
pub use status::{Annotation, FakeCheck, FakeStatus, StatusState};
pub use subject::{FakeChange, FakeSubject, HeadRepo, Maintainers, Version, Which};

/// Makes up the id of a commit or blob that follows from `seed`.
pub(crate) fn commit(seed: impl AsRef<[u8]>) -> String {
    let mut id = hex::encode(Sha256::digest(seed.as_ref()));
    id.truncate(40);
    id
}
