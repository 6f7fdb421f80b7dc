//! The state of the fake forge, in no host's words: accounts, repositories, subjects, comments.
//!
//! People's actions and the HTTP faces change it through the same functions, which refuse what
//! a forge refuses. It knows neither HTTP nor JSON nor faults; the time is an argument.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use domain::Time;
use forge::Permission;
use serde::{Deserialize, Serialize};

use super::object::{
    Account, AccountKind, CommentKind, FakeChange, FakeComment, FakeRepo, FakeSubject, Reaction,
    Spot, commit,
};

/// The longest text that a comment may have, in characters.
pub const LONGEST_BODY: usize = 65_536;

/// How long new comments stay out of listings (they can be read by their id at once).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lag {
    #[default]
    None,
    Milliseconds(u64),
    /// The comment is missing from so many listings of its subject.
    Listings(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    From(Time),
    After(u32),
}

/// What the forge does not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("there is no {0}")]
    Missing(String),
    #[error("body is too long (maximum is {LONGEST_BODY} characters)")]
    TooLong,
    #[error("{0} can't be blank")]
    Blank(&'static str),
    #[error("{login} may not {what}")]
    Forbidden { login: String, what: &'static str },
    #[error("{0} is taken")]
    Taken(String),
}

/// Whether a reaction is a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reacted {
    Now,
    Before,
}

/// What a reaction is put on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Subject(u64),
    Comment(CommentKind, u64),
}

/// What a repository's name leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Now(u64),
    /// The repository had this name once.
    Formerly(u64),
}

#[derive(Debug)]
pub(crate) struct Model {
    accounts: BTreeMap<i64, Account>,
    tokens: HashMap<String, i64>,
    repos: BTreeMap<u64, FakeRepo>,
    former_names: HashMap<String, u64>,
    subjects: BTreeMap<(u64, u64), FakeSubject>,
    comments: BTreeMap<(CommentKind, u64), FakeComment>,
    /// What was said on each subject, oldest first.
    threads: BTreeMap<(u64, u64), Vec<(CommentKind, u64)>>,
    next: Next,
    pub(crate) lag: Lag,
}

/// The next id of each kind. The ranges differ wherever a host's differ, so that an id that is taken
/// for one of another kind leads nowhere.
#[derive(Debug)]
struct Next {
    account: i64,
    repo: u64,
    subject: u64,
    conversation: u64,
    line: u64,
    reaction: u64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            accounts: BTreeMap::new(),
            tokens: HashMap::new(),
            repos: BTreeMap::new(),
            former_names: HashMap::new(),
            subjects: BTreeMap::new(),
            comments: BTreeMap::new(),
            threads: BTreeMap::new(),
            next: Next {
                account: 501,
                repo: 70_001,
                subject: 880_001,
                conversation: 1_700_001,
                line: 1_700_001,
                reaction: 33_000_001,
            },
            lag: Lag::None,
        }
    }
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

    /// Makes `token` a credential of the account.
    pub(crate) fn add_token(&mut self, login: &str, token: &str) -> Result<(), Refusal> {
        let id = self.account(login)?.id;
        self.tokens.insert(token.to_owned(), id);
        Ok(())
    }

    pub(crate) fn bearer(&self, token: &str) -> Option<&Account> {
        self.accounts.get(self.tokens.get(token)?)
    }

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
            permissions: BTreeMap::new(),
        };
        self.next.repo += 1;
        // As on GitHub, a new repository takes over a name that another one left behind.
        self.former_names.remove(&full_name.to_ascii_lowercase());
        self.repos.insert(repo.id, repo.clone());
        Ok(repo)
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

    /// Opens an issue, or with `change` a change. Both share one row of numbers.
    pub(crate) fn open(
        &mut self,
        repo: u64,
        by: &Account,
        title: &str,
        body: &str,
        change: Option<FakeChange>,
        now: Time,
    ) -> Result<FakeSubject, Refusal> {
        check_length(body)?;
        if title.trim().is_empty() {
            return Err(Refusal::Blank("title"));
        }
        self.repo(repo)?;
        let last = self.subjects.range((repo, 0)..=(repo, u64::MAX)).next_back();
        let subject = FakeSubject {
            id: self.next.subject,
            number: last.map_or(1, |((_, last), _)| last + 1),
            title: title.to_owned(),
            body: body.to_owned(),
            author: by.clone(),
            open: true,
            change,
            created_at: now,
            updated_at: now,
            comments: 0,
            reactions: Vec::new(),
        };
        self.subjects.insert((repo, subject.number), subject.clone());
        self.next.subject += 1;
        Ok(subject)
    }

    pub(crate) fn subject(&self, repo: u64, number: u64) -> Result<&FakeSubject, Refusal> {
        let found = self.subjects.get(&(repo, number));
        found.ok_or_else(|| Refusal::Missing(format!("issue or change {number}")))
    }

    pub(crate) fn close(
        &mut self,
        repo: u64,
        number: u64,
        now: Time,
    ) -> Result<FakeSubject, Refusal> {
        let subject = self.subject_mut(repo, number)?;
        subject.open = false;
        subject.updated_at = now;
        Ok(subject.clone())
    }

    /// Puts a new commit at the tip of the change's branch and returns the old one.
    pub(crate) fn push(
        &mut self,
        repo: u64,
        number: u64,
        now: Time,
    ) -> Result<(FakeSubject, String), Refusal> {
        let subject = self.subject_mut(repo, number)?;
        subject.updated_at = now;
        let Some(change) = &mut subject.change else {
            return Err(Refusal::Missing(format!("change {number}")));
        };
        let next = commit(&change.head);
        let before = std::mem::replace(&mut change.head, next);
        Ok((subject.clone(), before))
    }

    pub(crate) fn add_comment(
        &mut self,
        repo: u64,
        number: u64,
        by: &Account,
        place: Spot,
        body: &str,
        now: Time,
    ) -> Result<FakeComment, Refusal> {
        check_body(body)?;
        let listed = match self.lag {
            Lag::None => Listed::From(now),
            Lag::Milliseconds(lag) => Listed::From(now + Duration::from_millis(lag)),
            Lag::Listings(count) => Listed::After(count),
        };
        let subject = self.subject_mut(repo, number)?;
        subject.updated_at = now;
        subject.comments += u64::from(place == Spot::Conversation);
        let id = match place {
            Spot::Conversation => &mut self.next.conversation,
            Spot::Line { .. } => &mut self.next.line,
        };
        let comment = FakeComment {
            id: *id,
            repo,
            number,
            place,
            author: by.clone(),
            body: body.to_owned(),
            created_at: now,
            updated_at: now,
            written_by: by.clone(),
            reactions: Vec::new(),
            listed,
        };
        *id += 1;
        let key = (comment.kind(), comment.id);
        self.threads.entry((repo, number)).or_default().push(key);
        self.comments.insert(key, comment.clone());
        Ok(comment)
    }

    pub(crate) fn comment(
        &self,
        repo: u64,
        kind: CommentKind,
        id: u64,
    ) -> Result<&FakeComment, Refusal> {
        let found = self.comments.get(&(kind, id)).filter(|comment| comment.repo == repo);
        found.ok_or_else(|| Refusal::Missing(format!("comment {id}")))
    }

    /// Replaces the text of a comment and returns it with the text that stood there before.
    pub(crate) fn edit(
        &mut self,
        repo: u64,
        kind: CommentKind,
        id: u64,
        by: &Account,
        body: &str,
        now: Time,
    ) -> Result<(FakeComment, String), Refusal> {
        check_body(body)?;
        self.may_change(repo, kind, id, by)?;
        let comment = self.comment_mut(repo, kind, id)?;
        let before = std::mem::replace(&mut comment.body, body.to_owned());
        comment.updated_at = now;
        comment.written_by = by.clone();
        Ok((comment.clone(), before))
    }

    pub(crate) fn delete(
        &mut self,
        repo: u64,
        kind: CommentKind,
        id: u64,
        by: &Account,
    ) -> Result<FakeComment, Refusal> {
        self.may_change(repo, kind, id, by)?;
        let removed = self.comments.remove(&(kind, id));
        let comment = removed.ok_or_else(|| Refusal::Missing(format!("comment {id}")))?;
        if let Some(thread) = self.threads.get_mut(&(repo, comment.number)) {
            thread.retain(|key| *key != (kind, id));
        }
        if kind == CommentKind::Conversation {
            self.subject_mut(repo, comment.number)?.comments -= 1;
        }
        Ok(comment)
    }

    pub(crate) fn react(
        &mut self,
        repo: u64,
        target: Target,
        by: &Account,
        content: &str,
    ) -> Result<(Reaction, Reacted), Refusal> {
        let id = self.next.reaction;
        let reactions = match target {
            Target::Subject(number) => &mut self.subject_mut(repo, number)?.reactions,
            Target::Comment(kind, id) => &mut self.comment_mut(repo, kind, id)?.reactions,
        };
        let same = |reaction: &&Reaction| reaction.by.id == by.id && reaction.content == content;
        if let Some(reaction) = reactions.iter().find(same) {
            return Ok((reaction.clone(), Reacted::Before));
        }
        let reaction = Reaction { id, by: by.clone(), content: content.to_owned() };
        reactions.push(reaction.clone());
        self.next.reaction += 1;
        Ok((reaction, Reacted::Now))
    }

    /// Returns what a listing of the conversation shows at this moment, oldest first.
    pub(crate) fn listing(
        &self,
        repo: u64,
        number: u64,
        now: Time,
    ) -> Result<Vec<FakeComment>, Refusal> {
        self.subject(repo, number)?;
        let visible = |comment: &FakeComment| match comment.listed {
            _ if comment.kind() != CommentKind::Conversation => false,
            Listed::From(at) => at <= now,
            Listed::After(listings) => listings == 0,
        };
        Ok(self.said(repo, number).into_iter().filter(visible).collect())
    }

    /// Counts one more listing of the subject for the comments that are still missing from them.
    pub(crate) fn count_listing(&mut self, repo: u64, number: u64) {
        let thread = self.threads.get(&(repo, number)).into_iter().flatten();
        for key in thread {
            if let Some(FakeComment { listed: Listed::After(left), .. }) =
                self.comments.get_mut(key)
            {
                *left = left.saturating_sub(1);
            }
        }
    }

    /// Returns all that was said on the subject, whatever a listing shows, oldest first.
    pub(crate) fn said(&self, repo: u64, number: u64) -> Vec<FakeComment> {
        let thread = self.threads.get(&(repo, number)).into_iter().flatten();
        thread.filter_map(|key| self.comments.get(key)).cloned().collect()
    }

    /// Returns the newest comment of the account in any conversation.
    pub(crate) fn newest_of(&self, account: i64) -> Option<&FakeComment> {
        let newest_first = self.comments.values().rev();
        let mut said = newest_first.filter(|comment| comment.kind() == CommentKind::Conversation);
        said.find(|comment| comment.author.id == account)
    }

    fn comment_mut(
        &mut self,
        repo: u64,
        kind: CommentKind,
        id: u64,
    ) -> Result<&mut FakeComment, Refusal> {
        let found = self.comments.get_mut(&(kind, id)).filter(|comment| comment.repo == repo);
        found.ok_or_else(|| Refusal::Missing(format!("comment {id}")))
    }

    /// One's own comments, and everybody's for those who may write.
    fn may_change(
        &self,
        repo: u64,
        kind: CommentKind,
        id: u64,
        by: &Account,
    ) -> Result<(), Refusal> {
        let comment = self.comment(repo, kind, id)?;
        if comment.author.id == by.id || self.repo(repo)?.permission(by).may_write() {
            return Ok(());
        }
        Err(Refusal::Forbidden { login: by.login.clone(), what: "change the comments of others" })
    }

    fn repo_mut(&mut self, id: u64) -> Result<&mut FakeRepo, Refusal> {
        self.repos.get_mut(&id).ok_or_else(|| Refusal::Missing(format!("repository {id}")))
    }

    fn subject_mut(&mut self, repo: u64, number: u64) -> Result<&mut FakeSubject, Refusal> {
        let found = self.subjects.get_mut(&(repo, number));
        found.ok_or_else(|| Refusal::Missing(format!("issue or change {number}")))
    }
}

fn check_body(body: &str) -> Result<(), Refusal> {
    if body.trim().is_empty() { Err(Refusal::Blank("body")) } else { check_length(body) }
}

fn check_length(body: &str) -> Result<(), Refusal> {
    if body.chars().count() > LONGEST_BODY { Err(Refusal::TooLong) } else { Ok(()) }
}
