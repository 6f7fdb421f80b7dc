//! A forge that is a folder: conversations kept as files, for the demo and the command line.
//!
//! It has the same ports and the same slots as every other host. People act through
//! [`Local::opens_issue`] and [`Local::comments`], which return the event that a host would have
//! sent. It sends no deliveries by itself and knows only issues.

mod shelf;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use domain::anchor::Spot;
use domain::event::{Comment, Happening, Issue, Place};
use domain::publication::{
    Branch, Dispatch, FileWrite, NewChange, ReactionTarget, Settling, Sign, Status,
};
use domain::{AccountId, Actor, Clock, Event, Origin, Repo, RepoKey, Subject, SubjectKind, Time};
use report::marker;
use report::redact::Redactor;
use sha2::{Digest, Sha256};

use crate::capability::{Ability, Capabilities, FileComments, Ranges, Sides, Suggestions};
use crate::error::Error;
use crate::host::Host;
use crate::http::Deadline;
use crate::ours::Ours;
use crate::port::{
    BranchNow, ChangeNow, GitAccess, IssueNow, Look, Permission, Read, Review, Said, Thread,
    Touched,
};
use crate::write::moves::{Home, Moves, Seat};
use shelf::{Opening, Shelf, Text};

/// The login that we have in every folder.
pub const LOGIN: &str = "patchwright";
/// The account that we have in every folder.
pub const ACCOUNT: AccountId = AccountId(1);

/// A folder of conversations.
#[derive(Debug)]
pub struct Local {
    shelf: Shelf,
    repo: Repo,
    ours: Arc<Ours>,
    redactor: Arc<Redactor>,
    clock: Arc<dyn Clock>,
}

impl Local {
    /// Uses a folder, which is made when something is first written. `full_name` (`owner/name`)
    /// names the repository that the conversations are about.
    pub fn new(
        dir: impl Into<PathBuf>,
        full_name: &str,
        ours: Arc<Ours>,
        redactor: Arc<Redactor>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        ours.learn(ACCOUNT);
        let repo = Repo {
            origin: Origin::new("local://folder"),
            key: RepoKey::Id(stable_number(full_name)),
            full_name: full_name.to_owned(),
            default_branch: None,
        };
        Self { shelf: Shelf::new(dir.into()), repo, ours, redactor, clock }
    }

    pub fn repo(&self) -> &Repo {
        &self.repo
    }

    /// Opens an issue as a person, and returns what a host would have reported.
    pub async fn opens_issue(&self, login: &str, title: &str, body: &str) -> Result<Event, Error> {
        let (actor, now) = (person(login), self.clock.now());
        let text = Text::new(actor.clone(), body, now);
        let opening = Opening { title: title.to_owned(), open: true, text };
        let number = self.on_disk(move |shelf| shelf.open(&opening)).await?;
        let issue = Issue {
            assignees: Vec::new(),
            number,
            display_number: None,
            title: title.to_owned(),
            body: body.to_owned(),
            author: actor.clone(),
            updated_at: Some(stamp(now)),
        };
        Ok(Event { repo: self.repo.clone(), actor, happening: Happening::IssueOpened(issue) })
    }

    /// Comments on an issue as a person, and returns what a host would have reported.
    pub async fn comments(&self, number: u64, login: &str, body: &str) -> Result<Event, Error> {
        let (actor, now) = (person(login), self.clock.now());
        let text = Text::new(actor.clone(), body, now);
        let (opening, id) = self
            .on_disk(move |shelf| Ok((shelf.opening(number)?, shelf.add(number, &text)?)))
            .await?;
        let comment = Comment {
            id: Some(id),
            place: Place::Conversation,
            author: actor.clone(),
            body: body.to_owned(),
            on: SubjectKind::Issue,
            number,
            display_number: None,
            title: opening.title,
            subject_author: Some(opening.text.author),
            updated_at: Some(stamp(now)),
        };
        Ok(Event { repo: self.repo.clone(), actor, happening: Happening::Commented(comment) })
    }

    /// Prints a conversation as a person sees it: authors, texts without markers, reactions.
    pub async fn thread(&self, number: u64) -> Result<String, Error> {
        let (opening, comments) = self
            .on_disk(move |shelf| Ok((shelf.opening(number)?, shelf.comments(number)?)))
            .await?;
        let state = if opening.open { "open" } else { "closed" };
        let mut thread = format!("#{number} {} ({state})\n", visible(&opening.title));
        for text in std::iter::once(&opening.text).chain(comments.iter().map(|(_, text)| text)) {
            let body = visible(marker::strip(&text.body));
            let _infallible = write!(thread, "\n{}:\n{}\n", text.author.login, body.trim_end());
            for (sign, by) in &text.reactions {
                let _infallible = writeln!(thread, "  {} {by}", picture(*sign));
            }
        }
        Ok(thread)
    }

    /// Runs file work where it blocks nobody.
    async fn on_disk<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Shelf) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let shelf = self.shelf.clone();
        match tokio::task::spawn_blocking(move || work(&shelf)).await {
            Ok(result) => result,
            Err(error) => Err(Error::Unreachable { why: error.to_string() }),
        }
    }
}

#[async_trait]
impl Read for Local {
    fn host(&self) -> Host {
        Host::Local
    }

    async fn own_account(&self) -> Result<Actor, Error> {
        Ok(ourselves())
    }

    async fn repository(&self, full_name: &str) -> Result<Repo, Error> {
        match full_name == self.repo.full_name {
            true => Ok(self.repo.clone()),
            false => Err(Error::Gone { what: format!("the repository {full_name}") }),
        }
    }

    async fn comment(&self, subject: &Subject, id: u64, place: &Place) -> Result<Said, Error> {
        match place {
            Place::Conversation => {
                let number = issue_number(subject)?;
                Ok(said(id, self.on_disk(move |shelf| shelf.comment(number, id)).await?))
            }
            Place::Thread { .. } | Place::Review { .. } => {
                Err(Error::Gone { what: format!("an inline comment on {subject}") })
            }
        }
    }

    async fn opening(&self, subject: &Subject) -> Result<Said, Error> {
        let number = issue_number(subject)?;
        let opening = self.on_disk(move |shelf| shelf.opening(number)).await?;
        Ok(Said { open: Some(opening.open), ..said(0, opening.text) })
    }

    async fn conversation(&self, subject: &Subject) -> Result<Vec<Said>, Error> {
        let number = issue_number(subject)?;
        let comments = self.on_disk(move |shelf| shelf.comments(number)).await?;
        Ok(comments.into_iter().map(|(id, text)| said(id, text)).collect())
    }

    async fn capabilities(&self) -> Result<Capabilities, Error> {
        let no = |what: &str| Ability::No(format!("a folder of conversations has no {what}"));
        Ok(Capabilities {
            version: None,
            ranges: Ranges::Yes,
            sides: Sides::Both,
            files: FileComments::No,
            suggestions: Suggestions::Shown,
            replies: no("threads"),
            resolving: no("threads"),
            reactions: Ability::Yes,
            drafts: no("changes"),
            statuses: no("commits"),
        })
    }

    async fn issue(&self, subject: &Subject) -> Result<IssueNow, Error> {
        let number = issue_number(subject)?;
        let opening = self.on_disk(move |shelf| shelf.opening(number)).await?;
        Ok(IssueNow {
            number,
            title: opening.title,
            body: opening.text.body,
            author: opening.text.author,
            open: opening.open,
            labels: Vec::new(),
            assignees: Vec::new(),
            created_at: Some(opening.text.created_at),
            updated_at: Some(opening.text.updated_at),
            url: None,
        })
    }

    async fn change(&self, subject: &Subject) -> Result<ChangeNow, Error> {
        Err(no_changes(subject))
    }

    async fn threads(&self, _subject: &Subject) -> Result<Vec<Thread>, Error> {
        Ok(Vec::new())
    }

    async fn reviews(&self, _subject: &Subject) -> Result<Vec<Review>, Error> {
        Ok(Vec::new())
    }

    async fn branch(&self, _repo: &Repo, _name: &str) -> Result<Option<BranchNow>, Error> {
        Ok(None)
    }

    async fn changes_of_branch(
        &self,
        _repo: &Repo,
        _branch: &str,
    ) -> Result<Vec<ChangeNow>, Error> {
        Ok(Vec::new())
    }

    /// Nothing is ever missed here: events come from whoever acts.
    async fn touched_since(&self, _repo: &Repo, _since: Time) -> Result<Touched, Error> {
        Ok(Touched::default())
    }

    async fn git_access(&self, repo: &Repo) -> Result<GitAccess, Error> {
        Err(Error::Gone { what: format!("a remote of {}", repo.full_name) })
    }

    /// Everyone is an owner: whoever is here can write into the folder anyway.
    async fn permission(&self, _repo: &Repo, _actor: &Actor) -> Result<Permission, Error> {
        Ok(Permission::Admin)
    }
}

#[async_trait]
impl Moves for Local {
    fn ours(&self) -> &Ours {
        &self.ours
    }

    fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    fn clock(&self) -> &dyn Clock {
        &*self.clock
    }

    async fn one(
        &self,
        subject: &Subject,
        home: Home<'_>,
        id: u64,
        _by: Deadline,
    ) -> Result<Said, Error> {
        self.comment(subject, id, &home.place()).await
    }

    async fn create(&self, subject: &Subject, body: &str, _by: Deadline) -> Result<Said, Error> {
        let number = issue_number(subject)?;
        let text = Text::new(ourselves(), body, self.clock.now());
        self.on_disk(move |shelf| Ok(said(shelf.add(number, &text)?, text))).await
    }

    async fn edit(
        &self,
        subject: &Subject,
        (_home, id): (Home<'_>, u64),
        body: &str,
        _by: Deadline,
    ) -> Result<Said, Error> {
        let (number, now, body) = (issue_number(subject)?, self.clock.now(), body.to_owned());
        self.on_disk(move |shelf| {
            let text = Text { body, updated_at: now, ..shelf.comment(number, id)? };
            shelf.replace(number, id, &text)?;
            Ok(said(id, text))
        })
        .await
    }

    async fn delete(
        &self,
        subject: &Subject,
        _home: Home<'_>,
        id: u64,
        _by: Deadline,
    ) -> Result<(), Error> {
        let number = issue_number(subject)?;
        self.on_disk(move |shelf| shelf.remove(number, id)).await
    }

    async fn create_inline(
        &self,
        subject: &Subject,
        _seat: Seat<'_>,
        _body: &str,
        _by: Deadline,
    ) -> Result<Said, Error> {
        Err(no_changes(subject))
    }

    async fn create_review(
        &self,
        subject: &Subject,
        _comments: &[(Spot, String)],
        _by: Deadline,
    ) -> Result<Vec<Said>, Error> {
        Err(no_changes(subject))
    }

    async fn reply(
        &self,
        subject: &Subject,
        _thread: &str,
        _body: &str,
        _by: Deadline,
    ) -> Result<Said, Error> {
        Err(no_changes(subject))
    }

    async fn settle_thread(
        &self,
        subject: &Subject,
        _thread: &str,
        _settling: Settling,
        _by: Deadline,
    ) -> Result<(), Error> {
        Err(no_changes(subject))
    }

    async fn react(
        &self,
        subject: &Subject,
        on: &ReactionTarget,
        sign: Sign,
        _by: Deadline,
    ) -> Result<(), Error> {
        let number = issue_number(subject)?;
        let comment = match on {
            ReactionTarget::Subject => None,
            ReactionTarget::Comment { id, .. } => Some(*id),
        };
        self.on_disk(move |shelf| match comment {
            None => {
                let mut opening = shelf.opening(number)?;
                opening.text.react(sign, LOGIN);
                shelf.replace_opening(number, &opening)
            }
            Some(id) => {
                let mut text = shelf.comment(number, id)?;
                text.react(sign, LOGIN);
                shelf.replace(number, id, &text)
            }
        })
        .await
    }

    async fn open_change(
        &self,
        _repo: &Repo,
        change: &NewChange,
        _body: &str,
        _by: Deadline,
    ) -> Result<ChangeNow, Error> {
        Err(Error::Gone { what: format!("a change from {}", change.head_branch) })
    }

    async fn describe(&self, subject: &Subject, _body: &str, _by: Deadline) -> Result<(), Error> {
        Err(no_changes(subject))
    }

    async fn make_ready(&self, subject: &Subject, _by: Deadline) -> Result<(), Error> {
        Err(no_changes(subject))
    }

    async fn set_status(&self, _repo: &Repo, status: &Status, _by: Deadline) -> Result<(), Error> {
        Err(Error::Gone { what: format!("a status of {}", status.commit) })
    }

    async fn create_branch(
        &self,
        _repo: &Repo,
        branch: &Branch,
        _by: Deadline,
    ) -> Result<(), Error> {
        Err(Error::Gone { what: format!("the branch {}", branch.name) })
    }

    async fn write_file(&self, _repo: &Repo, file: &FileWrite, _by: Deadline) -> Result<(), Error> {
        Err(Error::Gone { what: format!("the branch {}", file.branch) })
    }

    async fn file_stands(&self, _repo: &Repo, _file: &FileWrite) -> Result<bool, Error> {
        Ok(false)
    }

    async fn dispatch(
        &self,
        repo: &Repo,
        _dispatch: &Dispatch,
        _by: Deadline,
    ) -> Result<(), Error> {
        Err(Error::Gone { what: format!("an engine of {}", repo.full_name) })
    }

    async fn find_dispatch(&self, _repo: &Repo, _dispatch: &Dispatch) -> Look {
        Look::Absent
    }
}

fn no_changes(subject: &Subject) -> Error {
    Error::Gone { what: format!("a change at {subject}") }
}

fn ourselves() -> Actor {
    Actor { id: Some(ACCOUNT), login: LOGIN.to_owned(), bot: true }
}

fn person(login: &str) -> Actor {
    // Far from our own number, which is one.
    let id = i64::try_from(stable_number(&login.to_ascii_lowercase())).unwrap_or(i64::MAX);
    Actor { id: Some(AccountId(id)), login: login.to_owned(), bot: false }
}

/// Makes a number of a name, the same one in every process; at least 2³¹.
fn stable_number(name: &str) -> u64 {
    let digest = Sha256::digest(name.as_bytes());
    let number = digest.iter().take(7).fold(0, |number, byte| (number << 8) | u64::from(*byte));
    number | (1 << 31)
}

fn issue_number(subject: &Subject) -> Result<u64, Error> {
    match subject.kind {
        SubjectKind::Issue => Ok(subject.number),
        SubjectKind::Change | SubjectKind::Branch => Err(Error::Gone { what: subject.to_string() }),
    }
}

fn said(id: u64, text: Text) -> Said {
    Said {
        id,
        place: Place::Conversation,
        author: text.author,
        body: text.body,
        created_at: Some(text.created_at),
        updated_at: Some(text.updated_at),
        url: None,
        open: None,
    }
}

fn stamp(at: Time) -> String {
    at.0.to_string()
}

fn picture(sign: Sign) -> &'static str {
    match sign {
        Sign::Eyes => "👀",
        Sign::ThumbsUp => "👍",
        Sign::Confused => "😕",
    }
}

/// Shows control characters as escapes: a terminal would obey them.
fn visible(text: &str) -> String {
    let escaped = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if escaped(c) { shown.extend(c.escape_default()) } else { shown.push(c) }
    }
    shown
}

#[cfg(test)]
mod tests;
