//! Reactions.

use super::account::Account;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reaction {
    pub id: u64,
    pub by: Account,
    pub content: String,
}
