//! What the operator decided. Repository policy (`.patchwright.toml`) is read by a job's first
//! stage, never here (T3).

use serde::{Deserialize, Serialize};

use crate::actor::{AccountId, Actor};

/// The operator's policy, as far as routing by payload alone needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The account whose mention and assignment count, and its aliases. Never empty.
    pub bot_names: Vec<String>,
    /// Numeric ids of our own accounts, present and former: what they write never triggers.
    pub own_accounts: Vec<AccountId>,
    /// Logins that may cause jobs; empty = everyone.
    pub allowed_users: Vec<String>,
    /// Full names of repositories that may cause jobs; empty = all.
    pub allowed_repos: Vec<String>,
    /// Whether a change opened as a draft is reviewed without being asked.
    pub review_drafts: Toggle,
    /// Whether changes by other bots are reviewed. Their comments never command.
    pub review_bots: Toggle,
    /// A new issue that contains this phrase is taken as a request to fix it.
    pub trigger_phrase: Option<String>,
    /// Whether a push to a branch that no change is known for is looked at.
    pub detect_on_push: Toggle,
    /// Which replies are answered without a mention.
    pub respond: Respond,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Toggle {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Respond {
    /// Outside our own threads a mention is wanted.
    Mentioned,
    /// Seed 000's way: every comment by a writer where findings are open.
    All,
}

impl Policy {
    /// The defaults for a bot called `name`.
    pub fn for_bot(name: &str) -> Self {
        Self {
            bot_names: vec![name.to_owned()],
            own_accounts: Vec::new(),
            allowed_users: Vec::new(),
            allowed_repos: Vec::new(),
            review_drafts: Toggle::Off,
            review_bots: Toggle::On,
            trigger_phrase: None,
            detect_on_push: Toggle::On,
            respond: Respond::Mentioned,
        }
    }

    /// Whether the actor is one of our own accounts: by numeric id where there is one, else by
    /// name (a GitHub App's account is called `<name>[bot]`).
    pub fn is_own(&self, actor: &Actor) -> bool {
        if let Some(id) = actor.id
            && self.own_accounts.contains(&id)
        {
            return true;
        }
        self.bot_names.iter().any(|name| {
            actor.is_called(name)
                || actor
                    .login
                    .strip_suffix("[bot]")
                    .is_some_and(|login| login.eq_ignore_ascii_case(name))
        })
    }
}
