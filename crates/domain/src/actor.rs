//! Who did something. The numeric id is the identity; the login is a label that can be re-used.

use serde::{Deserialize, Serialize};

/// The numeric id of an account on its forge. Forges use negative ids for built-in accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountId(pub i64);

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// Missing only in payloads that do not carry it (seed 001's examples).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<AccountId>,
    pub login: String,
    /// Whether the forge marks the account as a bot (only GitHub does).
    #[serde(default)]
    pub bot: bool,
}

impl Actor {
    pub fn named(login: &str) -> Self {
        Self { id: None, login: login.to_owned(), bot: false }
    }

    /// Compares logins as forges do: without regard to ASCII case.
    pub fn is_called(&self, login: &str) -> bool {
        self.login.eq_ignore_ascii_case(login)
    }
}
