//! Repositories: names, forks, and who may do what.

use std::collections::BTreeMap;

use forge::Permission;

use super::code::Code;
use super::{Model, Refusal};
use crate::forge::object::{AccountKind, FakeRepo};

/// What a repository's name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Now(u64),
    /// The repository had this name once.
    Formerly(u64),
}

impl Model {
    /// Adds a repository; an owner that does not exist yet becomes an organisation.
    pub(crate) fn add_repo(&mut self, full_name: &str) -> Result<FakeRepo, Refusal> {
        let Some((owner, _)) = full_name.split_once('/') else {
            return Err(Refusal::Missing(format!("owner in the name {full_name}")));
        };
        if let Some(Named::Now(_)) = self.named(full_name) {
            return Err(Refusal::Taken(format!("the name {full_name}")));
        }
        let owner = match self.account(owner) {
            Ok(account) => account.clone(),
            Err(_) => self.add_account(owner, AccountKind::Organization)?,
        };
        let repo = FakeRepo {
            id: self.next.repo,
            full_name: full_name.to_owned(),
            default_branch: "main".to_owned(),
            owner,
            fork_of: None,
            permissions: BTreeMap::new(),
        };
        self.next.repo += 1;
        // As on GitHub, a new repository takes over a name that another one left behind.
        self.former_names.remove(&full_name.to_ascii_lowercase());
        self.repos.insert(repo.id, repo.clone());
        self.code.insert(repo.id, Code::starting_with(&repo.default_branch));
        Ok(repo)
    }

    /// Adds a repository with the branches of another one.
    pub(crate) fn fork(&mut self, origin: u64, full_name: &str) -> Result<FakeRepo, Refusal> {
        let code = self.code(origin)?.clone();
        let id = self.add_repo(full_name)?.id;
        self.code.insert(id, code);
        let repo = self.repo_mut(id)?;
        repo.fork_of = Some(origin);
        Ok(repo.clone())
    }

    /// Returns the fork of a repository that belongs to the account.
    pub(crate) fn fork_of(&self, origin: u64, owner: &str) -> Option<&FakeRepo> {
        self.repos.values().find(|repo| {
            repo.fork_of == Some(origin) && repo.owner.login.eq_ignore_ascii_case(owner)
        })
    }

    pub(crate) fn named(&self, full_name: &str) -> Option<Named> {
        let now = self.repos.values().find(|repo| repo.full_name.eq_ignore_ascii_case(full_name));
        let formerly = || self.former_names.get(&full_name.to_ascii_lowercase()).copied();
        now.map(|repo| Named::Now(repo.id)).or_else(|| formerly().map(Named::Formerly))
    }

    pub(crate) fn repo(&self, id: u64) -> Result<&FakeRepo, Refusal> {
        self.repos.get(&id).ok_or_else(|| Refusal::Missing(format!("repository {id}")))
    }

    /// Returns the repository that has this name today.
    pub(crate) fn repo_named(&self, full_name: &str) -> Result<&FakeRepo, Refusal> {
        match self.named(full_name) {
            Some(Named::Now(id)) => self.repo(id),
            _ => Err(Refusal::Missing(format!("repository {full_name}"))),
        }
    }

    pub(crate) fn rename(&mut self, id: u64, full_name: &str) -> Result<(), Refusal> {
        if let Some(Named::Now(_)) = self.named(full_name) {
            return Err(Refusal::Taken(format!("the name {full_name}")));
        }
        let repo = self.repo_mut(id)?;
        let before = std::mem::replace(&mut repo.full_name, full_name.to_owned());
        self.former_names.remove(&full_name.to_ascii_lowercase());
        self.former_names.insert(before.to_ascii_lowercase(), id);
        Ok(())
    }

    pub(crate) fn grant(
        &mut self,
        repo: u64,
        login: &str,
        permission: Permission,
    ) -> Result<(), Refusal> {
        let account = self.account(login)?.id;
        self.repo_mut(repo)?.permissions.insert(account, permission);
        Ok(())
    }

    /// Refuses whoever may not write to the repository.
    pub(crate) fn require_write(
        &self,
        repo: u64,
        by: &super::Account,
        what: &'static str,
    ) -> Result<(), Refusal> {
        if self.repo(repo)?.permission(by).may_write() {
            return Ok(());
        }
        Err(Refusal::Forbidden { login: by.login.clone(), what })
    }

    pub(super) fn repo_mut(&mut self, id: u64) -> Result<&mut FakeRepo, Refusal> {
        self.repos.get_mut(&id).ok_or_else(|| Refusal::Missing(format!("repository {id}")))
    }
}
