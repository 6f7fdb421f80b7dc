//! Accounts, their tokens, and Apps.

use std::collections::{BTreeMap, BTreeSet};

use super::told;
use crate::forge::FakeForge;
use crate::forge::app::{AppKey, RegisteredApp};
use crate::forge::object::{Access, Account, AccountKind, Credential, FakeInstallation};

/// What an App is usually given, by GitHub's names.
const USUAL: [&str; 7] =
    ["metadata", "contents", "issues", "pull_requests", "checks", "statuses", "actions"];

impl FakeForge {
    /// Creates the account of a person.
    #[track_caller]
    pub fn person(&self, login: &str) -> Account {
        told(self.shared.model().add_account(login, AccountKind::Person))
    }

    /// Creates an account that the forge marks as a bot.
    #[track_caller]
    pub fn bot(&self, login: &str) -> Account {
        told(self.shared.model().add_account(login, AccountKind::Bot))
    }

    /// Lets a new account take over the login. The former one keeps its id and its comments; its
    /// tokens are void.
    #[track_caller]
    pub fn replaces_account(&self, login: &str) -> Account {
        told(self.shared.model().replace_account(login))
    }

    /// Returns a new credential of the account.
    #[track_caller]
    pub fn token(&self, login: &str) -> String {
        self.token_for(login, Credential::Personal)
    }

    /// Returns a new credential of the account that changes nothing.
    #[track_caller]
    pub fn read_only_token(&self, login: &str) -> String {
        self.token_for(login, Credential::ReadOnly)
    }

    /// Returns the credential of a CI run in the repository, as the account that such runs act as.
    #[track_caller]
    pub fn run_token(&self, login: &str, repo: &str) -> String {
        let repo = told(self.shared.model().repo_named(repo).map(|repo| repo.id));
        self.token_for(login, Credential::Run { repo })
    }

    /// Makes a text of the test's own choice a credential of the account.
    #[track_caller]
    pub fn accepts_token(&self, login: &str, token: &str) {
        told(self.shared.model().add_token(login, token, Credential::Personal));
    }

    /// Makes all credentials of the account void.
    #[track_caller]
    pub fn revokes_tokens(&self, login: &str) {
        let model = &mut *self.shared.model();
        let id = told(model.account(login)).id;
        model.revoke(id);
    }

    /// Registers an App with a key of its own.
    #[track_caller]
    pub fn app(&self, slug: &str) -> RegisteredApp {
        let AppKey { private_pem, public } = AppKey::generate();
        let app = told(self.shared.model().add_app(slug, public));
        RegisteredApp { app, private_pem }
    }

    /// Installs an App on repositories of one owner, with everything that it usually needs.
    #[track_caller]
    pub fn installs(&self, app: &RegisteredApp, repos: &[&str]) -> FakeInstallation {
        self.installs_with(app, repos, &USUAL.map(|name| (name, Access::Write)))
    }

    /// Installs an App with the permissions that its owner agreed to.
    #[track_caller]
    pub fn installs_with(
        &self,
        app: &RegisteredApp,
        repos: &[&str],
        permissions: &[(&str, Access)],
    ) -> FakeInstallation {
        let model = &mut *self.shared.model();
        let ids: BTreeSet<u64> = repos.iter().map(|repo| told(model.repo_named(repo)).id).collect();
        let permissions: BTreeMap<_, _> =
            permissions.iter().map(|(name, access)| ((*name).to_owned(), *access)).collect();
        told(model.install(app.app.id, &ids, permissions))
    }

    /// Takes an installation back, and with it its tokens.
    #[track_caller]
    pub fn uninstalls(&self, installation: &FakeInstallation) {
        told(self.shared.model().uninstall(installation.id));
    }

    #[track_caller]
    fn token_for(&self, login: &str, credential: Credential) -> String {
        let token = format!("ghp_{}", self.random_hex(36));
        told(self.shared.model().add_token(login, &token, credential));
        token
    }
}
