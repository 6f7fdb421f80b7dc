//! The JSON that Gitea and Forgejo speak, as far as we use it. Nothing of it leaves this module
//! but in the words of the domain. Lists that are empty often come as null here.

mod outgoing;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use domain::event::Place;
use domain::publication::Sign;
use domain::{AccountId, Actor, Origin, Repo, RepoKey, Subject, Time};
use serde::Deserialize;

use crate::error::Error;
use crate::port::{
    self, BranchNow, ChangeNow, IssueNow, Permission, ReviewState, Said, SourceOfChange,
};

pub(super) use outgoing::{ChangeEdit, NewComment, NewPull, NewReview, Outgoing, State, Upload};

/// The prefixes that mark a draft, unless a server's administrator chose others.
const DRAFT_PREFIXES: [&str; 4] = ["WIP:", "[WIP]", "Draft:", "[Draft]"];

#[derive(Clone, Debug, Deserialize)]
pub(super) struct User {
    id: i64,
    login: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Repository {
    id: u64,
    full_name: String,
    default_branch: Option<String>,
}

/// A comment of a conversation.
#[derive(Debug, Deserialize)]
pub(super) struct Comment {
    pub(super) id: u64,
    body: Option<String>,
    user: Option<User>,
    created_at: Option<String>,
    updated_at: Option<String>,
    html_url: Option<String>,
    /// The address of the issue; empty on a change.
    issue_url: Option<String>,
    /// The address of the change; empty on an issue.
    pull_request_url: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Review {
    pub(super) id: u64,
    body: Option<String>,
    user: Option<User>,
    state: Option<String>,
    pub(super) commit_id: Option<String>,
    submitted_at: Option<String>,
    html_url: Option<String>,
    comments_count: Option<u64>,
    dismissed: Option<bool>,
}

/// An inline comment.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ReviewComment {
    pub(super) id: u64,
    body: Option<String>,
    user: Option<User>,
    pub(super) resolver: Option<User>,
    pub(super) pull_request_review_id: Option<u64>,
    created_at: Option<String>,
    updated_at: Option<String>,
    pub(super) path: String,
    /// The commit that last touched the line.
    pub(super) commit_id: Option<String>,
    /// The line in the new version, or 0.
    #[serde(default)]
    pub(super) position: u64,
    /// The line in the old version, or 0.
    #[serde(default)]
    pub(super) original_position: u64,
    /// How many lines follow that the comment stands on as well (Forgejo).
    #[serde(default)]
    pub(super) extra_lines_count: u64,
    html_url: Option<String>,
}

/// An issue, or a change seen as one.
#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    pub(super) number: u64,
    title: Option<String>,
    body: Option<String>,
    user: Option<User>,
    state: Option<String>,
    labels: Option<Vec<Label>>,
    assignees: Option<Vec<User>>,
    created_at: Option<String>,
    updated_at: Option<String>,
    html_url: Option<String>,
    /// There if it is a change.
    pub(super) pull_request: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct Label {
    name: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pull {
    pub(super) number: u64,
    pub(super) title: String,
    body: Option<String>,
    user: Option<User>,
    state: String,
    /// Not told before 1.22.
    draft: Option<bool>,
    #[serde(default)]
    merged: bool,
    head: Tip,
    base: Tip,
    merge_base: Option<String>,
    labels: Option<Vec<Label>>,
    requested_reviewers: Option<Vec<User>>,
    allow_maintainer_edit: Option<bool>,
    created_at: Option<String>,
    updated_at: Option<String>,
    html_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Tip {
    sha: String,
    #[serde(rename = "ref")]
    branch: String,
    /// Null once the fork is gone.
    repo: Option<Repository>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Branch {
    name: String,
    commit: Commit,
    #[serde(default)]
    protected: bool,
}

#[derive(Debug, Deserialize)]
struct Commit {
    id: String,
}

/// A file as the contents API gives it.
#[derive(Debug, Deserialize)]
pub(super) struct Content {
    content: Option<String>,
    encoding: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Runs {
    workflow_runs: Option<Vec<Run>>,
}

#[derive(Debug, Deserialize)]
struct Run {
    display_title: Option<String>,
    /// Forgejo's word for it.
    title: Option<String>,
    /// What started the run, as JSON in a text (Forgejo).
    event_payload: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Collaborator {
    permission: String,
    user: Option<User>,
}

impl Runs {
    /// Whether one of the runs carries a text, in its name or in what it was told.
    pub(super) fn any_carries(&self, text: &str) -> bool {
        let is_word =
            |hay: &str| hay.split(|c: char| c.is_whitespace() || c == '"').any(|word| word == text);
        self.workflow_runs.iter().flatten().any(|run| {
            [&run.display_title, &run.title, &run.event_payload]
                .into_iter()
                .flatten()
                .any(|hay| is_word(hay))
        })
    }
}

/// Returns the name of a sign.
pub(super) fn reaction(sign: Sign) -> &'static str {
    match sign {
        Sign::Eyes => "eyes",
        Sign::ThumbsUp => "+1",
        Sign::Confused => "confused",
    }
}

impl User {
    pub(super) fn into_actor(self) -> Actor {
        Actor { id: Some(AccountId(self.id)), login: self.login, bot: false }
    }

    pub(super) fn is(&self, actor: &Actor) -> bool {
        match actor.id {
            Some(id) => id == AccountId(self.id),
            None => actor.is_called(&self.login),
        }
    }
}

/// What deleted accounts wrote is shown as written by `Ghost`.
fn author(user: Option<User>) -> Actor {
    user.map_or_else(|| Actor::named("Ghost"), User::into_actor)
}

impl Repository {
    pub(super) fn into_repo(self, origin: Origin) -> Repo {
        let Self { id, full_name, default_branch } = self;
        Repo { origin, key: RepoKey::Id(id), full_name, default_branch }
    }
}

impl Comment {
    pub(super) fn into_said(self) -> Said {
        Said {
            id: self.id,
            place: Place::Conversation,
            author: author(self.user),
            body: self.body.unwrap_or_default(),
            created_at: self.created_at.as_deref().and_then(time),
            updated_at: self.updated_at.as_deref().and_then(time),
            url: self.html_url,
            open: None,
        }
    }

    /// Takes the comment only if it stands on this subject: ids are the server's, and a
    /// remembered one may have moved with its issue (T9).
    pub(super) fn on(self, subject: &Subject, what: &str) -> Result<Said, Error> {
        let homes = [&self.issue_url, &self.pull_request_url];
        let number = homes
            .into_iter()
            .flatten()
            .filter_map(|url| url.rsplit('/').next())
            .find_map(|text| text.parse::<u64>().ok());
        match number {
            Some(number) if number != subject.number => Err(Error::Gone { what: what.to_owned() }),
            Some(_) | None => Ok(self.into_said()),
        }
    }
}

impl Review {
    pub(super) fn is_pending(&self) -> bool {
        self.state.as_deref() == Some("PENDING")
    }

    pub(super) fn is_by(&self, account: AccountId) -> bool {
        self.user.as_ref().is_some_and(|user| AccountId(user.id) == account)
    }

    /// Whether it may have inline comments: versions that do not count them are asked.
    pub(super) fn may_have_comments(&self) -> bool {
        self.comments_count != Some(0)
    }

    pub(super) fn into_said(self) -> Said {
        let at = self.submitted_at.as_deref().and_then(time);
        Said {
            id: self.id,
            place: Place::Review { review: Some(self.id) },
            author: author(self.user),
            body: self.body.unwrap_or_default(),
            created_at: at,
            // Told for the review with all its comments, not for its text.
            updated_at: None,
            url: self.html_url,
            open: None,
        }
    }

    /// Returns the review; one that is not submitted yet, or only asked for, is none.
    pub(super) fn into_review(self) -> Option<port::Review> {
        let state = match self.state.as_deref()? {
            "PENDING" | "REQUEST_REVIEW" => return None,
            _ if self.dismissed == Some(true) => ReviewState::Dismissed,
            "APPROVED" => ReviewState::Approved,
            "REQUEST_CHANGES" => ReviewState::ChangesRequested,
            "COMMENT" => ReviewState::Commented,
            _ => return None,
        };
        Some(port::Review {
            id: self.id,
            author: author(self.user),
            state,
            body: self.body.unwrap_or_default(),
            commit: self.commit_id.filter(|commit| !commit.is_empty()),
            submitted_at: self.submitted_at.as_deref().and_then(time),
        })
    }
}

impl ReviewComment {
    /// Returns the comment in the thread with this name; `reply` tells whether it began it.
    pub(super) fn into_said(self, thread: String, reply: Option<bool>) -> Said {
        Said {
            id: self.id,
            place: Place::Thread { thread: Some(thread), reply, path: Some(self.path) },
            author: author(self.user),
            body: self.body.unwrap_or_default(),
            created_at: self.created_at.as_deref().and_then(time),
            updated_at: self.updated_at.as_deref().and_then(time),
            url: self.html_url,
            open: None,
        }
    }
}

impl Issue {
    pub(super) fn into_now(self) -> IssueNow {
        IssueNow {
            number: self.number,
            title: self.title.unwrap_or_default(),
            body: self.body.unwrap_or_default(),
            author: author(self.user),
            open: self.state.as_deref() == Some("open"),
            labels: names(self.labels),
            assignees: actors(self.assignees),
            created_at: self.created_at.as_deref().and_then(time),
            updated_at: self.updated_at.as_deref().and_then(time),
            url: self.html_url,
        }
    }

    pub(super) fn into_said(self) -> Said {
        Said {
            id: 0,
            place: Place::Conversation,
            author: author(self.user),
            body: self.body.unwrap_or_default(),
            created_at: self.created_at.as_deref().and_then(time),
            updated_at: self.updated_at.as_deref().and_then(time),
            url: self.html_url,
            open: self.state.map(|state| state == "open"),
        }
    }
}

fn names(labels: Option<Vec<Label>>) -> Vec<String> {
    labels.unwrap_or_default().into_iter().map(|label| label.name).collect()
}

fn actors(users: Option<Vec<User>>) -> Vec<Actor> {
    users.unwrap_or_default().into_iter().map(User::into_actor).collect()
}

impl Pull {
    pub(super) fn is_draft(&self) -> bool {
        self.draft.unwrap_or_else(|| without_draft_prefix(&self.title).is_some())
    }

    pub(super) fn into_now(self, origin: &Origin) -> ChangeNow {
        let draft = self.is_draft();
        let title = match without_draft_prefix(&self.title) {
            Some(bare) if draft => bare.to_owned(),
            Some(_) | None => self.title,
        };
        ChangeNow {
            head_ref: format!("refs/pull/{}/head", self.number),
            number: self.number,
            title,
            body: self.body.unwrap_or_default(),
            author: author(self.user),
            open: self.state == "open",
            merged: self.merged,
            draft,
            head: self.head.sha,
            source: SourceOfChange {
                repo: self.head.repo.map(|repo| repo.into_repo(origin.clone())),
                branch: self.head.branch,
                maintainers_may_push: self.allow_maintainer_edit,
            },
            base_branch: self.base.branch,
            base: [self.merge_base, Some(self.base.sha)]
                .into_iter()
                .flatten()
                .find(|commit| !commit.is_empty()),
            labels: names(self.labels),
            reviewers: actors(self.requested_reviewers),
            created_at: self.created_at.as_deref().and_then(time),
            updated_at: self.updated_at.as_deref().and_then(time),
            url: self.html_url,
        }
    }

    /// Whether its commits are on this branch of this repository: a fork may have the same branch.
    pub(super) fn comes_from(&self, repo: &Repo, branch: &str) -> bool {
        let source = self.head.repo.as_ref().is_some_and(|source| match repo.key {
            RepoKey::Id(id) => source.id == id,
            RepoKey::Name(_) => source.full_name.eq_ignore_ascii_case(&repo.full_name),
        });
        source && self.head.branch == branch
    }

    pub(super) fn was_touched_before(&self, since: Time) -> bool {
        self.updated_at.as_deref().and_then(time).is_some_and(|at| at < since)
    }
}

/// Takes the draft's prefix off a title; `None` if there is none that we know.
pub(super) fn without_draft_prefix(title: &str) -> Option<&str> {
    let title = title.trim_start();
    DRAFT_PREFIXES.iter().find_map(|prefix| {
        let start = title.get(..prefix.len())?;
        start.eq_ignore_ascii_case(prefix).then(|| title[prefix.len()..].trim_start())
    })
}

impl Branch {
    pub(super) fn into_now(self) -> BranchNow {
        BranchNow { name: self.name, head: self.commit.id, protected: self.protected }
    }
}

impl Content {
    /// Whether the file holds exactly this text.
    pub(super) fn is(&self, text: &str) -> bool {
        let (Some(content), Some("base64")) = (&self.content, self.encoding.as_deref()) else {
            return false;
        };
        let packed: String = content.split_whitespace().collect();
        BASE64.decode(packed).is_ok_and(|bytes| bytes == text.as_bytes())
    }
}

impl Collaborator {
    /// Returns the permission, if the account that the forge means is the one that was asked for:
    /// a login can pass to somebody else, a numeric id cannot (T9).
    pub(super) fn permission_of(&self, actor: &Actor) -> Permission {
        match &self.user {
            Some(user) if !user.is(actor) => Permission::None,
            // Without an account in the answer the login alone would count.
            None if actor.id.is_some() => Permission::None,
            Some(_) | None => match self.permission.as_str() {
                "owner" | "admin" => Permission::Admin,
                "write" => Permission::Write,
                "read" => Permission::Read,
                _ => Permission::None,
            },
        }
    }
}

/// Writes a moment as Gitea reads it.
pub(super) fn stamp(at: Time) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_default()
}

fn time(text: &str) -> Option<Time> {
    text.parse::<jiff::Timestamp>().ok().map(|at| Time(at.as_millisecond()))
}
