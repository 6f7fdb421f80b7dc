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

    /// Whether the account is a bot's: by the forge's mark, or by a name that only bots have.
    pub fn is_bot(&self) -> bool {
        // `[bot]` is GitHub's suffix for Apps; the two others are reserved on Gitea and Forgejo.
        let reserved = ["gitea-actions", "forgejo-actions"];
        self.bot
            || self.login.ends_with("[bot]")
            || reserved.iter().any(|name| self.is_called(name))
            || has_access_token_name(&self.login)
    }
}

/// Whether a login is one that GitLab gives to access tokens: `project_7_bot`, `group_7_bot_0a1b`.
fn has_access_token_name(login: &str) -> bool {
    let numbered = login.strip_prefix("project_").or_else(|| login.strip_prefix("group_"));
    let Some((number, rest)) = numbered.and_then(|rest| rest.split_once('_')) else { return false };
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number && (rest == "bot" || rest.starts_with("bot_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bots_are_known_by_the_mark_or_by_their_name() {
        assert!(Actor { bot: true, ..Actor::named("renovate") }.is_bot());
        for login in ["dependabot[bot]", "project_7_bot", "group_12_bot_0a1b", "gitea-actions"] {
            assert!(Actor::named(login).is_bot(), "{login}");
        }
        for login in ["alice", "bot", "robot", "project_x_bot", "project__bot", "project_7_bottle"]
        {
            assert!(!Actor::named(login).is_bot(), "{login}");
        }
    }
}
