//! What people do on the fake forge, and what is read of it without its HTTP face.
//!
//! Each action returns what a webhook would carry. A mistake in a story (an unknown login, a number
//! that does not exist) panics with a sentence: it is a mistake of the test. Accounts, code and
//! reviews have files of their own below.

mod account;
mod code;
mod review;

pub(crate) use code::told_of;
pub(crate) use review::{settled, submitted};

use forge::Permission;

use super::FakeForge;
use super::happened::{Happened, What};
use super::model::{Act, Edit, Lag, Model, Refusal};
use super::object::{
    CommentKind, FakeChange, FakeComment, FakeRepo, FakeSubject, FakeThread, Spot, Which,
};
use crate::thread::{self, Transcript};

impl FakeForge {
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
    pub fn closes(&self, actor: &str, repo: &str, which: impl Into<Which>) -> Happened {
        let edit = Edit { open: Some(false), ..Edit::default() };
        self.sets(actor, repo, which, edit, |subject, _| What::Closed(subject))
    }

    #[track_caller]
    pub fn reopens(&self, actor: &str, repo: &str, which: impl Into<Which>) -> Happened {
        let edit = Edit { open: Some(true), ..Edit::default() };
        self.sets(actor, repo, which, edit, |subject, _| What::Reopened(subject))
    }

    /// Gives a subject another title and text.
    #[track_caller]
    pub fn rewrites(
        &self,
        actor: &str,
        repo: &str,
        which: impl Into<Which>,
        (title, body): (&str, &str),
    ) -> Happened {
        let (title, body) = (Some(title.to_owned()), Some(body.to_owned()));
        let edit = Edit { title, body, ..Edit::default() };
        self.sets(actor, repo, which, edit, |subject, before| What::Edited {
            subject,
            before: Box::new(before),
        })
    }

    /// Assigns one more account.
    #[track_caller]
    pub fn assigns(
        &self,
        actor: &str,
        repo: &str,
        which: impl Into<Which>,
        assignee: &str,
    ) -> Happened {
        let which = which.into();
        let assignee = told(self.shared.model().account(assignee).cloned());
        let mut assignees = self.subject(repo, which).assignees;
        assignees.push(assignee.clone());
        let edit = Edit { assignees: Some(assignees), ..Edit::default() };
        self.sets(actor, repo, which, edit, |subject, _| What::Assigned { subject, assignee })
    }

    /// Puts one more label on a subject.
    #[track_caller]
    pub fn labels(
        &self,
        actor: &str,
        repo: &str,
        which: impl Into<Which>,
        label: &str,
    ) -> Happened {
        let which = which.into();
        let mut labels = self.subject(repo, which).labels;
        labels.push(label.to_owned());
        let edit = Edit { labels: Some(labels), ..Edit::default() };
        let label = label.to_owned();
        self.sets(actor, repo, which, edit, |subject, _| What::Labeled { subject, label })
    }

    /// Writes a comment in the conversation.
    #[track_caller]
    pub fn comments(
        &self,
        actor: &str,
        repo: &str,
        which: impl Into<Which>,
        body: &str,
    ) -> Happened {
        told(self.try_comments(actor, repo, which.into(), Spot::Conversation, body))
    }

    /// Writes a comment under another one of the conversation.
    #[track_caller]
    pub fn comments_under(
        &self,
        actor: &str,
        repo: &str,
        which: impl Into<Which>,
        first: u64,
        body: &str,
    ) -> Happened {
        told(self.try_comments(actor, repo, which.into(), Spot::Under(first), body))
    }

    /// Edits a comment of the conversation.
    #[track_caller]
    pub fn edits(&self, actor: &str, repo: &str, comment: u64, body: &str) -> Happened {
        told(self.try_edits(actor, repo, CommentKind::Conversation, comment, body))
    }

    /// Deletes a comment of the conversation.
    #[track_caller]
    pub fn deletes(&self, actor: &str, repo: &str, comment: u64) -> Happened {
        told(self.try_deletes(actor, repo, CommentKind::Conversation, comment))
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
        told(self.act(&owner, repo, |model, id, _| {
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
    pub fn subject(&self, repo: &str, which: impl Into<Which>) -> FakeSubject {
        told(self.try_subject(repo, which.into()))
    }

    /// Returns every comment on the subject, whatever a listing shows, oldest first.
    #[track_caller]
    pub fn conversation(&self, repo: &str, which: impl Into<Which>) -> Vec<FakeComment> {
        told(self.try_transcript(repo, which.into())).said
    }

    /// Returns everything that stands on the subject, whatever a listing shows.
    #[track_caller]
    pub fn transcript(&self, repo: &str, which: impl Into<Which>) -> Transcript {
        told(self.try_transcript(repo, which.into()))
    }

    /// Prints the conversation as a person sees it: see [`crate::thread`].
    #[track_caller]
    pub fn thread(&self, repo: &str, which: impl Into<Which>) -> String {
        thread::print(&self.transcript(repo, which))
    }

    pub(super) fn try_opens(
        &self,
        actor: &str,
        repo: &str,
        title: &str,
        body: &str,
        change: Option<FakeChange>,
    ) -> Result<Happened, Refusal> {
        self.act(actor, repo, |model, repo, act| {
            Ok(What::Opened(model.open(repo, title, body, change, act)?))
        })
    }

    pub(super) fn try_comments(
        &self,
        actor: &str,
        repo: &str,
        which: Which,
        spot: Spot,
        body: &str,
    ) -> Result<Happened, Refusal> {
        self.act(actor, repo, |model, repo, act| {
            let subject = model.find(repo, which)?.id;
            let comment = model.add_comment(subject, spot, body, act)?;
            Ok(What::Commented { on: model.subject(subject)?.clone(), comment, thread: None })
        })
    }

    pub(super) fn try_edits(
        &self,
        actor: &str,
        repo: &str,
        kind: CommentKind,
        comment: u64,
        body: &str,
    ) -> Result<Happened, Refusal> {
        self.act(actor, repo, |model, repo, act| {
            let (comment, before) = model.edit(repo, kind, comment, body, act)?;
            let on = model.subject(comment.subject)?.clone();
            let thread = thread_of(model, &comment);
            Ok(What::CommentEdited { on, comment, thread, before })
        })
    }

    pub(super) fn try_deletes(
        &self,
        actor: &str,
        repo: &str,
        kind: CommentKind,
        comment: u64,
    ) -> Result<Happened, Refusal> {
        self.act(actor, repo, |model, repo, act| {
            let thread = thread_of(model, model.comment(repo, kind, comment)?);
            let comment = model.delete(repo, kind, comment, act.by)?;
            let on = model.subject(comment.subject)?.clone();
            Ok(What::CommentDeleted { on, comment, thread })
        })
    }

    pub(super) fn try_grants(
        &self,
        repo: &str,
        login: &str,
        permission: Permission,
    ) -> Result<Happened, Refusal> {
        let owner = self.shared.model().repo_named(repo)?.owner.login.clone();
        self.act(&owner, repo, |model, repo, _| {
            model.grant(repo, login, permission)?;
            Ok(What::Granted { to: model.account(login)?.clone(), permission })
        })
    }

    pub(super) fn try_subject(&self, repo: &str, which: Which) -> Result<FakeSubject, Refusal> {
        let model = self.shared.model();
        model.find(model.repo_named(repo)?.id, which).cloned()
    }

    pub(super) fn try_transcript(&self, repo: &str, which: Which) -> Result<Transcript, Refusal> {
        let model = self.shared.model();
        let subject = model.find(model.repo_named(repo)?.id, which)?;
        let cloned = |change: &FakeChange| {
            let statuses = model.current_statuses(subject.repo, &change.head);
            let checks = model.checks(subject.repo, &change.head);
            (statuses.into_iter().cloned().collect(), checks.into_iter().cloned().collect())
        };
        let (statuses, checks) = subject.change.as_ref().map(cloned).unwrap_or_default();
        Ok(Transcript {
            subject: subject.clone(),
            said: model.said(subject.id),
            reviews: model.reviews(subject.id).into_iter().cloned().collect(),
            threads: model.threads(subject.id).into_iter().cloned().collect(),
            drafts: model.all_drafts(subject.id).into_iter().cloned().collect(),
            statuses,
            checks,
        })
    }

    /// Sets something on a subject and tells it.
    #[track_caller]
    fn sets(
        &self,
        actor: &str,
        repo: &str,
        which: impl Into<Which>,
        edit: Edit,
        what: impl FnOnce(FakeSubject, FakeSubject) -> What,
    ) -> Happened {
        told(self.act(actor, repo, |model, repo, act| {
            let before = model.find(repo, which.into())?.clone();
            Ok(what(model.edit_subject(before.id, edit, act)?, before))
        }))
    }

    /// Does something as `actor` and takes down how everything stood right after it.
    pub(super) fn act(
        &self,
        actor: &str,
        repo: &str,
        change: impl FnOnce(&mut Model, u64, Act<'_>) -> Result<What, Refusal>,
    ) -> Result<Happened, Refusal> {
        let all = self
            .act_at_length(actor, repo, |model, repo, act| Ok(vec![change(model, repo, act)?]))?;
        let what = all.into_iter().next();
        what.ok_or_else(|| Refusal::Missing("happening".to_owned()))
    }

    /// Does something that a forge tells in several deliveries.
    pub(super) fn act_at_length(
        &self,
        actor: &str,
        repo: &str,
        change: impl FnOnce(&mut Model, u64, Act<'_>) -> Result<Vec<What>, Refusal>,
    ) -> Result<Vec<Happened>, Refusal> {
        let model = &mut *self.shared.model();
        let by = model.account(actor)?.clone();
        let id = model.repo_named(repo)?.id;
        let all = change(model, id, Act { by: &by, now: self.shared.clock.now() })?;
        all.into_iter().map(|what| Happened::now(model, &by, id, what)).collect()
    }
}

/// Returns the thread of an inline comment.
pub(crate) fn thread_of(model: &Model, comment: &FakeComment) -> Option<FakeThread> {
    model.thread(comment.thread()?).ok().cloned()
}

#[track_caller]
fn told<T>(result: Result<T, Refusal>) -> T {
    match result {
        Ok(value) => value,
        Err(refusal) => panic!("the story does not fit the fake forge: {refusal}"),
    }
}
