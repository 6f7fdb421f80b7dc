//! Accounts, what they come in with, and the Apps that act through accounts of their own.

use std::collections::{BTreeMap, BTreeSet};

use domain::Time;
use serde::{Deserialize, Serialize};

/// Whoever can act on the forge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    pub id: i64,
    pub login: String,
    pub kind: AccountKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccountKind {
    Person,
    Bot,
    Organization,
}

/// What a credential is, which decides what its bearer may ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Credential {
    /// A token of the account's own.
    Personal,
    /// A token of the account's own that changes nothing.
    ReadOnly,
    /// The token of a run of the forge's own CI, for one repository. It cannot ask who it is.
    Run { repo: u64 },
    /// The token of an App's installation.
    Installation(u64),
}

/// A credential that was presented, with the account that acts through it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bearer {
    pub(crate) account: Account,
    pub(crate) credential: Credential,
    /// How far an installation's token reaches; `None` for all others.
    pub(crate) reach: Option<Reach>,
}

/// The repositories and the permissions of one token of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reach {
    pub(crate) repos: BTreeSet<u64>,
    pub(crate) permissions: BTreeMap<String, Access>,
}

/// What the forge keeps of a token.
#[derive(Clone, Debug)]
pub(in crate::forge) struct Token {
    pub(in crate::forge) account: i64,
    pub(in crate::forge) credential: Credential,
    pub(in crate::forge) reach: Option<Reach>,
    pub(in crate::forge) expires_at: Option<Time>,
}

/// A registered App.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeApp {
    pub id: u64,
    pub client_id: String,
    pub slug: String,
    /// The account that it acts as.
    pub bot: Account,
    /// The public half of its key, as DER.
    pub public_key: Vec<u8>,
}

/// An App as installed by an owner, on some of the owner's repositories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeInstallation {
    pub id: u64,
    pub app: u64,
    pub owner: Account,
    pub repos: BTreeSet<u64>,
    /// What the owner agreed to, by the host's names.
    pub permissions: BTreeMap<String, Access>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    Read,
    Write,
}

impl Bearer {
    /// Tells whether the credential reaches the repository with that permission of an App. Only
    /// installations have such permissions; for all others the account's own decide.
    pub(crate) fn reaches(&self, repo: u64, (permission, access): (&str, Access)) -> bool {
        match self.credential {
            Credential::Personal => true,
            Credential::ReadOnly => access == Access::Read,
            Credential::Run { repo: own } => own == repo,
            Credential::Installation(_) => self.reach.as_ref().is_some_and(|reach| {
                reach.repos.contains(&repo)
                    && reach.permissions.get(permission).is_some_and(|has| *has >= access)
            }),
        }
    }
}
