//! Accounts and their credentials, Apps and their installations.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::Time;
use forge::Permission;

use super::{Model, Refusal, take};
use crate::forge::object::{
    Access, Account, AccountKind, Bearer, Credential, FakeApp, FakeInstallation, Reach, Token,
};

/// How long the token of an installation lasts.
const INSTALLATION_TOKEN: Duration = Duration::from_hours(1);

/// Why a token lets nobody in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    Unknown,
    Expired,
}

impl Model {
    /// Adds an account. Logins are unique without regard to case.
    pub(crate) fn add_account(
        &mut self,
        login: &str,
        kind: AccountKind,
    ) -> Result<Account, Refusal> {
        if self.account(login).is_ok() {
            return Err(Refusal::Taken(format!("the login {login}")));
        }
        let account = Account { id: self.next.account, login: login.to_owned(), kind };
        self.next.account += 1;
        self.accounts.insert(account.id, account.clone());
        Ok(account)
    }

    pub(crate) fn account(&self, login: &str) -> Result<&Account, Refusal> {
        let found =
            self.accounts.values().find(|account| account.login.eq_ignore_ascii_case(login));
        found.ok_or_else(|| Refusal::Missing(format!("account {login}")))
    }

    pub(crate) fn account_with(&self, id: i64) -> Result<&Account, Refusal> {
        self.accounts.get(&id).ok_or_else(|| Refusal::Missing(format!("account {id}")))
    }

    pub(crate) fn accounts(&self) -> impl Iterator<Item = &Account> {
        self.accounts.values()
    }

    /// Lets a new account take the login; its former holder goes by another one and its tokens are
    /// void.
    pub(crate) fn replace_account(&mut self, login: &str) -> Result<Account, Refusal> {
        let Account { id, kind, .. } = *self.account(login)?;
        self.revoke(id);
        if let Some(former) = self.accounts.get_mut(&id) {
            former.login = format!("{login}-{id}");
        }
        self.add_account(login, kind)
    }

    /// Makes `token` a credential of the account.
    pub(crate) fn add_token(
        &mut self,
        login: &str,
        token: &str,
        credential: Credential,
    ) -> Result<(), Refusal> {
        let account = self.account(login)?.id;
        let token_of = Token { account, credential, reach: None, expires_at: None };
        self.tokens.insert(token.to_owned(), token_of);
        Ok(())
    }

    /// Makes all tokens of the account void.
    pub(crate) fn revoke(&mut self, account: i64) {
        self.tokens.retain(|_, token| token.account != account);
    }

    pub(crate) fn bearer(&self, token: &str, now: Time) -> Result<Bearer, Denied> {
        let Token { account, credential, reach, expires_at } =
            self.tokens.get(token).ok_or(Denied::Unknown)?;
        if expires_at.is_some_and(|end| end <= now) {
            return Err(Denied::Expired);
        }
        let account = self.accounts.get(account).ok_or(Denied::Unknown)?.clone();
        Ok(Bearer { account, credential: *credential, reach: reach.clone() })
    }

    /// Registers an App, which acts as the bot `slug[bot]`.
    pub(crate) fn add_app(&mut self, slug: &str, public_key: Vec<u8>) -> Result<FakeApp, Refusal> {
        let bot = self.add_account(&format!("{slug}[bot]"), AccountKind::Bot)?;
        let id = take(&mut self.next.other);
        let client_id = format!("Iv23li{id:014}");
        let app = FakeApp { id, client_id, slug: slug.to_owned(), bot, public_key };
        self.apps.insert(id, app.clone());
        Ok(app)
    }

    /// Returns the App that goes by this id or client id.
    pub(crate) fn app(&self, issuer: &str) -> Result<&FakeApp, Refusal> {
        let mut apps = self.apps.values();
        let found = apps.find(|app| app.client_id == issuer || app.id.to_string() == issuer);
        found.ok_or_else(|| Refusal::Missing(format!("App {issuer}")))
    }

    /// Installs an App on repositories of one owner, where its bot may write from then on.
    pub(crate) fn install(
        &mut self,
        app: u64,
        repos: &BTreeSet<u64>,
        permissions: BTreeMap<String, Access>,
    ) -> Result<FakeInstallation, Refusal> {
        let bot = self.app(&app.to_string())?.bot.id;
        let Some(first) = repos.first() else {
            return Err(Refusal::Missing("repository to install it on".to_owned()));
        };
        let owner = self.repo(*first)?.owner.clone();
        for repo in repos {
            self.repo_mut(*repo)?.permissions.insert(bot, Permission::Write);
        }
        let id = take(&mut self.next.other);
        let installation = FakeInstallation { id, app, owner, repos: repos.clone(), permissions };
        self.installations.insert(id, installation.clone());
        Ok(installation)
    }

    /// Takes an installation back: its tokens are void, and its bot may do what others may.
    pub(crate) fn uninstall(&mut self, id: u64) -> Result<(), Refusal> {
        let removed = self.installations.remove(&id);
        let FakeInstallation { app, repos, .. } =
            removed.ok_or_else(|| Refusal::Missing(format!("installation {id}")))?;
        let bot = self.app(&app.to_string())?.bot.id;
        for repo in repos {
            self.repo_mut(repo)?.permissions.remove(&bot);
        }
        self.tokens.retain(|_, token| token.credential != Credential::Installation(id));
        Ok(())
    }

    pub(crate) fn installation(&self, id: u64) -> Result<&FakeInstallation, Refusal> {
        self.installations.get(&id).ok_or_else(|| Refusal::Missing(format!("installation {id}")))
    }

    pub(crate) fn installations_of(&self, app: u64) -> Vec<&FakeInstallation> {
        self.installations.values().filter(|installation| installation.app == app).collect()
    }

    /// Makes `token` a credential of the installation, and returns when it ends.
    pub(crate) fn mint(
        &mut self,
        installation: u64,
        token: &str,
        reach: Reach,
        now: Time,
    ) -> Result<Time, Refusal> {
        let app = self.installation(installation)?.app;
        let account = self.app(&app.to_string())?.bot.id;
        let (credential, end) = (Credential::Installation(installation), now + INSTALLATION_TOKEN);
        let token_of = Token { account, credential, reach: Some(reach), expires_at: Some(end) };
        self.tokens.insert(token.to_owned(), token_of);
        Ok(end)
    }
}
