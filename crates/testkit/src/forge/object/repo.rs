//! A repository: its name, who may do what, and its branches.

use std::collections::BTreeMap;

use forge::Permission;

use super::account::Account;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeRepo {
    pub id: u64,
    pub full_name: String,
    pub default_branch: String,
    pub owner: Account,
    /// The repository that this one is a fork of.
    pub fork_of: Option<u64>,
    pub(in crate::forge) permissions: BTreeMap<i64, Permission>,
}

/// A branch with the files that stand on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeBranch {
    pub head: String,
    pub protected: bool,
    pub files: BTreeMap<String, Vec<u8>>,
}

/// A run of a pipeline or workflow that somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeRun {
    pub id: u64,
    pub repo: u64,
    /// The workflow's file or id; empty where a host has one pipeline only.
    pub workflow: String,
    pub branch: String,
    pub variables: BTreeMap<String, String>,
    pub by: Account,
}

impl FakeRepo {
    /// Returns what the account may do here: the owner everything, others read unless granted more.
    pub fn permission(&self, account: &Account) -> Permission {
        if account.id == self.owner.id {
            return Permission::Admin;
        }
        self.permissions.get(&account.id).copied().unwrap_or(Permission::Read)
    }

    /// Tells whether the account was granted something, as a collaborator is.
    pub fn has_collaborator(&self, account: &Account) -> bool {
        account.id == self.owner.id
            || self.permissions.get(&account.id).is_some_and(|granted| *granted != Permission::None)
    }

    pub fn name(&self) -> &str {
        self.full_name.rsplit_once('/').map_or(self.full_name.as_str(), |(_, name)| name)
    }
}
