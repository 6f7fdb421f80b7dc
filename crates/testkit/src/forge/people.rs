//! What people do on the fake forge, and what is read of it without its HTTP face.
//!
//! Each action returns what a webhook would carry. A mistake in a story (an unknown login, a number
//! that does not exist) panics with a sentence: it is a mistake of the test.

use domain::Time;
use forge::Permission;

use super::FakeForge;
use super::happened::{Happened, What};
use super::model::{Lag, Model, Refusal};
use super::object::{
    Account, AccountKind, CommentKind, FakeChange, FakeComment, FakeRepo, FakeSubject, Spot,
};
use crate::thread;

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

    /// Returns a new credential of the account.
    #[track_caller]
    pub fn token(&self, login: &str) -> String {
        let token = format!("ghp_{}", self.random_hex(36));
        told(self.shared.model().add_token(login, &token));
        token
    }

    /// Makes a text of the test's own choice a credential of the account.
    #[track_caller]
    pub fn accepts_token(&self, login: &str, token: &str) {
        told(self.shared.model().add_token(login, token));
    }

    /// Creates a repository `owner/name`; an unknown owner becomes an organisation.
    #[track_caller]
    pub fn repo(&self, full_name: &str) -> FakeRepo {
        told(self.shared.model().add_repo(full_name))
    }

    #[track_caller]
    pub fn opens_issue(&self, actor: &str, repo: &str, title: &str, body: &str) -> Happened {
        told(self.try_opens(actor, repo, title, body, None))
    }

    #[track_caller]
    pub fn opens_change(
        &self,
        actor: &str,
        repo: &str,
        title: &str,
        body: &str,
        change: FakeChange,
    ) -> Happened {
        told(self.try_opens(actor, repo, title, body, Some(change)))
    }

    #[track_caller]
    pub fn closes(&self, actor: &str, repo: &str, number: u64) -> Happened {
        told(self.act(actor, repo, |model, repo, _, now| {
            Ok(What::Closed(model.close(repo, number, now)?))
        }))
    }

    /// Pushes one more commit to the branch of a change.
    #[track_caller]
    pub fn pushes(&self, actor: &str, repo: &str, number: u64) -> Happened {
        told(self.act(actor, repo, |model, repo, _, now| {
            let (change, before) = model.push(repo, number, now)?;
            Ok(What::Pushed { change, before })
        }))
    }

    /// Writes a comment in the conversation.
    #[track_caller]
    pub fn comments(&self, actor: &str, repo: &str, number: u64, body: &str) -> Happened {
        told(self.try_comments(actor, repo, number, Spot::Conversation, body))
    }

    /// Writes a comment on a line of a change.
    #[track_caller]
    pub fn comments_on_line(
        &self,
        actor: &str,
        repo: &str,
        number: u64,
        (path, line): (&str, u64),
        body: &str,
    ) -> Happened {
        let spot = Spot::Line { path: path.to_owned(), line, reply_to: None };
        told(self.try_comments(actor, repo, number, spot, body))
    }

    /// Edits a comment of the conversation.
    #[track_caller]
    pub fn edits(&self, actor: &str, repo: &str, comment: u64, body: &str) -> Happened {
        told(self.try_edits(actor, repo, comment, body))
    }

    /// Deletes a comment of the conversation.
    #[track_caller]
    pub fn deletes(&self, actor: &str, repo: &str, comment: u64) -> Happened {
        told(self.try_deletes(actor, repo, comment))
    }

    /// Gives the account a permission, as the owner of the repository.
    #[track_caller]
    pub fn grants(&self, repo: &str, login: &str, permission: Permission) -> Happened {
        told(self.try_grants(repo, login, permission))
    }

    /// Gives the repository another name, as its owner. The old name leads to it from then on.
    #[track_caller]
    pub fn renames(&self, repo: &str, full_name: &str) -> Happened {
        let owner = told(self.shared.model().repo_named(repo).map(|repo| repo.owner.login.clone()));
        told(self.act(&owner, repo, |model, id, _, _| {
            model.rename(id, full_name)?;
            Ok(What::Renamed { before: repo.to_owned() })
        }))
    }

    /// Lets new comments be listed later than they are written.
    pub fn lags(&self, lag: Lag) {
        self.shared.model().lag = lag;
    }

    /// Returns the subject as it stands now.
    #[track_caller]
    pub fn subject(&self, repo: &str, number: u64) -> FakeSubject {
        told(self.try_subject(repo, number))
    }

    /// Returns every comment on the subject, whatever a listing shows, oldest first.
    #[track_caller]
    pub fn conversation(&self, repo: &str, number: u64) -> Vec<FakeComment> {
        told(self.try_conversation(repo, number))
    }

    /// Prints the conversation as a person sees it: see [`crate::thread`].
    #[track_caller]
    pub fn thread(&self, repo: &str, number: u64) -> String {
        thread::print(&self.subject(repo, number), &self.conversation(repo, number))
    }

    pub(super) fn try_opens(
        &self,
        actor: &str,
        repo: &str,
        title: &str,
        body: &str,
        change: Option<FakeChange>,
    ) -> Result<Happened, Refusal> {
        self.act(actor, repo, |model, repo, by, now| {
            Ok(What::Opened(model.open(repo, by, title, body, change, now)?))
        })
    }

    pub(super) fn try_comments(
        &self,
        actor: &str,
        repo: &str,
        number: u64,
        spot: Spot,
        body: &str,
    ) -> Result<Happened, Refusal> {
        self.act(actor, repo, |model, repo, by, now| {
            let comment = model.add_comment(repo, number, by, spot, body, now)?;
            Ok(What::Commented { on: model.subject(repo, number)?.clone(), comment })
        })
    }

    pub(super) fn try_edits(
        &self,
        actor: &str,
        repo: &str,
        comment: u64,
        body: &str,
    ) -> Result<Happened, Refusal> {
        self.act(actor, repo, |model, repo, by, now| {
            let (comment, before) =
                model.edit(repo, CommentKind::Conversation, comment, by, body, now)?;
            let on = model.subject(repo, comment.number)?.clone();
            Ok(What::CommentEdited { on, comment, before })
        })
    }

    pub(super) fn try_deletes(
        &self,
        actor: &str,
        repo: &str,
        comment: u64,
    ) -> Result<Happened, Refusal> {
        self.act(actor, repo, |model, repo, by, _| {
            let comment = model.delete(repo, CommentKind::Conversation, comment, by)?;
            let on = model.subject(repo, comment.number)?.clone();
            Ok(What::CommentDeleted { on, comment })
        })
    }

    pub(super) fn try_grants(
        &self,
        repo: &str,
        login: &str,
        permission: Permission,
    ) -> Result<Happened, Refusal> {
        let owner = self.shared.model().repo_named(repo)?.owner.login.clone();
        self.act(&owner, repo, |model, repo, _, _| {
            model.grant(repo, login, permission)?;
            Ok(What::Granted { to: model.account(login)?.clone(), permission })
        })
    }

    pub(super) fn try_subject(&self, repo: &str, number: u64) -> Result<FakeSubject, Refusal> {
        let model = self.shared.model();
        model.subject(model.repo_named(repo)?.id, number).cloned()
    }

    pub(super) fn try_conversation(
        &self,
        repo: &str,
        number: u64,
    ) -> Result<Vec<FakeComment>, Refusal> {
        let model = self.shared.model();
        let id = model.repo_named(repo)?.id;
        model.subject(id, number)?;
        Ok(model.said(id, number))
    }

    /// Does something as `actor` and takes down how everything stood right after it.
    fn act(
        &self,
        actor: &str,
        repo: &str,
        change: impl FnOnce(&mut Model, u64, &Account, Time) -> Result<What, Refusal>,
    ) -> Result<Happened, Refusal> {
        let model = &mut *self.shared.model();
        let by = model.account(actor)?.clone();
        let id = model.repo_named(repo)?.id;
        let what = change(model, id, &by, self.shared.clock.now())?;
        Ok(Happened { by, repo: model.repo(id)?.clone(), what })
    }
}

#[track_caller]
fn told<T>(result: Result<T, Refusal>) -> T {
    match result {
        Ok(value) => value,
        Err(refusal) => panic!("the story does not fit the fake forge: {refusal}"),
    }
}
