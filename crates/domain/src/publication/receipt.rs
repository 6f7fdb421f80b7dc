//! What sending left behind.

use serde::{Deserialize, Serialize};

/// What sending a publication left behind, kept under (subject, slot).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "receipt", rename_all = "kebab-case")]
pub enum Receipt {
    /// A comment of ours stands there.
    Comment {
        id: u64,
        revision: u32,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// The inline thread that it stands in; none in the conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        thread: Option<String>,
        /// Why it does not stand where it was to stand.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        moved: Option<String>,
    },
    /// A change of ours is open.
    Change {
        number: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
        /// The commit at the tip of its branch, where the forge tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        head: Option<String>,
    },
    /// A branch stands at this commit.
    Commit { id: String },
    /// Done, and there is nothing to point at.
    Done,
    /// The forge will not have it, for good.
    Refused { why: String },
    /// Another deployment of ours speaks in this slot (E7), or a newer revision stands there (E6).
    Yielded { why: String },
}

impl Receipt {
    /// Makes the receipt of a comment in a conversation.
    pub fn comment(id: u64, revision: u32) -> Self {
        Self::Comment { id, revision, url: None, thread: None, moved: None }
    }
}
