//! What is to be seen on the forge, as a value. A workflow returns publications; `engine` saves
//! them with the checkpoint and sends them. Sending leaves a [`Receipt`] under (subject, slot).

mod effect;
mod receipt;
mod slot;

use serde::{Deserialize, Serialize};

use crate::subject::Subject;

pub use effect::{
    Annotation, AnnotationLevel, Branch, Claim, CommentBody, Dispatch, Effect, FileWrite, Inline,
    NewChange, Push, ReactionTarget, Reply, Settling, Sign, Status, Suggestion, Target, Verdict,
};
pub use receipt::Receipt;
pub use slot::Slot;

/// One effect on the forge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    pub subject: Subject,
    pub slot: Slot,
    pub effect: Effect,
}
