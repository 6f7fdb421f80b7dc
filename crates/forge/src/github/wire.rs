//! The JSON that GitHub's REST API speaks, as far as we use it. Nothing of it leaves this module
//! but in the words of the domain.

mod outgoing;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use domain::anchor::{Line, LineKind, Side, Spot};
use domain::event::Place;
use domain::publication::Sign;
use domain::{AccountId, Actor, Origin, Repo, RepoKey, Subject, Time};
use serde::Deserialize;

use crate::error::Error;
use crate::port::{
    self, BranchNow, ChangeNow, IssueNow, Permission, ReviewState, Said, SourceOfChange,
};

pub(super) use outgoing::{ChangeEdit, NewPull, NewReview, NewThread, Outgoing, State, Upload};

#[derive(Debug, Deserialize)]
pub(super) struct User {
    id: i64,
    login: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Repository {
    id: u64,
    full_name: String,
    default_branch: Option<String>,
}

/// A comment of a conversation or of an inline thread.
#[derive(Debug, Deserialize)]
pub(super) struct Comment {
    pub(super) id: u64,
    body: Option<String>,
    user: Option<User>,
    created_at: Option<String>,
    updated_at: Option<String>,
    html_url: Option<String>,
    issue_url: Option<String>,
    pull_request_url: Option<String>,
    /// The first comment of the thread, on replies.
    pub(super) in_reply_to_id: Option<u64>,
    path: Option<String>,
    line: Option<u64>,
    original_line: Option<u64>,
    start_line: Option<u64>,
    side: Option<String>,
    commit_id: Option<String>,
    subject_type: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Review {
    pub(super) id: u64,
    body: Option<String>,
    user: Option<User>,
    state: Option<String>,
    commit_id: Option<String>,
    submitted_at: Option<String>,
    html_url: Option<String>,
}

/// An issue, or a change seen as one.
#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    pub(super) number: Option<u64>,
    title: Option<String>,
    body: Option<String>,
    user: Option<User>,
    state: Option<String>,
    #[serde(default)]
    labels: Vec<Label>,
    #[serde(default)]
    assignees: Vec<User>,
    /// How many comments the conversation has.
    pub(super) comments: Option<u64>,
    created_at: Option<String>,
    updated_at: Option<String>,
    html_url: Option<String>,
    /// There if it is a change.
    pub(super) pull_request: Option<serde_json::Value>,
}

/// A label is an object, or on old servers its name.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Label {
    Object { name: Option<String> },
    Name(String),
}

#[derive(Debug, Deserialize)]
pub(super) struct Pull {
    pub(super) number: u64,
    pub(super) node_id: Option<String>,
    title: String,
    body: Option<String>,
    user: Option<User>,
    state: String,
    #[serde(default)]
    pub(super) draft: bool,
    merged: Option<bool>,
    merged_at: Option<String>,
    head: Tip,
    base: Tip,
    #[serde(default)]
    labels: Vec<Label>,
    #[serde(default)]
    requested_reviewers: Vec<User>,
    maintainer_can_modify: Option<bool>,
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
    sha: String,
}

/// A file as the contents API gives it.
#[derive(Debug, Deserialize)]
pub(super) struct Content {
    content: Option<String>,
    encoding: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Runs {
    pub(super) workflow_runs: Vec<Run>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Run {
    display_title: Option<String>,
    name: Option<String>,
}

impl Run {
    /// Whether the run's name carries a text, as its `run-name` should.
    pub(super) fn is_named_after(&self, text: &str) -> bool {
        [&self.display_title, &self.name]
            .into_iter()
            .flatten()
            .any(|name| name.split_whitespace().any(|word| word == text))
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Collaborator {
    permission: String,
    role_name: Option<String>,
    user: Option<User>,
}

/// Returns GitHub's name of a sign.
pub(super) fn reaction(sign: Sign) -> &'static str {
    match sign {
        Sign::Eyes => "eyes",
        Sign::ThumbsUp => "+1",
        Sign::Confused => "confused",
    }
}

impl User {
    pub(super) fn into_actor(self) -> Actor {
        let bot = self.kind.as_deref() == Some("Bot");
        Actor { id: Some(AccountId(self.id)), login: self.login, bot }
    }
}

/// An account that was deleted is shown as `ghost`.
fn author(user: Option<User>) -> Actor {
    user.map_or_else(|| Actor::named("ghost"), User::into_actor)
}

impl Repository {
    pub(super) fn into_repo(self, origin: Origin) -> Repo {
        let Self { id, full_name, default_branch } = self;
        Repo { origin, key: RepoKey::Id(id), full_name, default_branch }
    }
}

impl Comment {
    pub(super) fn into_said(self) -> Said {
        let place = match &self.path {
            Some(path) => Place::Thread {
                thread: Some(self.root().to_string()),
                reply: Some(self.in_reply_to_id.is_some()),
                path: Some(path.clone()),
            },
            None => Place::Conversation,
        };
        Said {
            id: self.id,
            place,
            author: author(self.user),
            body: self.body.unwrap_or_default(),
            created_at: self.created_at.as_deref().and_then(time),
            updated_at: self.updated_at.as_deref().and_then(time),
            url: self.html_url,
            open: None,
        }
    }

    /// Returns the id of the first comment of the thread, by which the thread is known.
    pub(super) fn root(&self) -> u64 {
        self.in_reply_to_id.unwrap_or(self.id)
    }

    /// Whether the lines that it stood on are no longer part of the change.
    pub(super) fn is_outdated(&self) -> bool {
        self.line.is_none() && self.original_line.is_some()
    }

    /// Returns where the comment stands, as far as GitHub tells: lines that only moved are told by
    /// their number of today.
    pub(super) fn spot(&self) -> Option<Spot> {
        if self.subject_type.as_deref() == Some("file") {
            return None;
        }
        // Whether a line changed or is only near is not told; its number on its side counts.
        let (side, kind) = match self.side.as_deref() {
            Some("LEFT") => (Side::Old, LineKind::Removed),
            _ => (Side::New, LineKind::Added),
        };
        let line = |number| Line { kind, old: number, new: number };
        Some(Spot {
            path: self.path.clone()?,
            old_path: None,
            side,
            start: self.start_line.map(line),
            line: line(self.line.or(self.original_line)?),
            commit: self.commit_id.clone()?,
        })
    }

    /// Takes the comment only if it stands on this subject: ids are per repository, and a
    /// remembered one may have moved with its issue (T9).
    pub(super) fn on(self, subject: &Subject, what: &str) -> Result<Said, Error> {
        let home = self.issue_url.as_deref().or(self.pull_request_url.as_deref());
        let number =
            home.and_then(|url| url.rsplit('/').next()).and_then(|text| text.parse::<u64>().ok());
        match number {
            Some(number) if number != subject.number => Err(Error::Gone { what: what.to_owned() }),
            Some(_) | None => Ok(self.into_said()),
        }
    }
}

impl Review {
    pub(super) fn into_said(self) -> Said {
        let at = self.submitted_at.as_deref().and_then(time);
        Said {
            id: self.id,
            place: Place::Review { review: Some(self.id) },
            author: author(self.user),
            body: self.body.unwrap_or_default(),
            created_at: at,
            // GitHub does not tell when the text of a review was edited.
            updated_at: None,
            url: self.html_url,
            open: None,
        }
    }

    /// Returns the review; one that is not submitted yet is nobody's business.
    pub(super) fn into_review(self) -> Option<port::Review> {
        let state = match self.state.as_deref()? {
            "APPROVED" => ReviewState::Approved,
            "CHANGES_REQUESTED" => ReviewState::ChangesRequested,
            "DISMISSED" => ReviewState::Dismissed,
            "COMMENTED" => ReviewState::Commented,
            _ => return None,
        };
        Some(port::Review {
            id: self.id,
            author: author(self.user),
            state,
            body: self.body.unwrap_or_default(),
            commit: self.commit_id,
            submitted_at: self.submitted_at.as_deref().and_then(time),
        })
    }
}

impl Issue {
    pub(super) fn into_now(self) -> IssueNow {
        IssueNow {
            number: self.number.unwrap_or_default(),
            title: self.title.unwrap_or_default(),
            body: self.body.unwrap_or_default(),
            author: author(self.user),
            open: self.state.as_deref() == Some("open"),
            labels: self.labels.into_iter().filter_map(Label::into_name).collect(),
            assignees: self.assignees.into_iter().map(User::into_actor).collect(),
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

impl Label {
    fn into_name(self) -> Option<String> {
        match self {
            Self::Object { name } => name,
            Self::Name(name) => Some(name),
        }
    }
}

impl Pull {
    pub(super) fn into_now(self, origin: &Origin) -> ChangeNow {
        ChangeNow {
            head_ref: format!("refs/pull/{}/head", self.number),
            number: self.number,
            title: self.title,
            body: self.body.unwrap_or_default(),
            author: author(self.user),
            open: self.state == "open",
            merged: self.merged.unwrap_or(self.merged_at.is_some()),
            draft: self.draft,
            head: self.head.sha,
            source: SourceOfChange {
                repo: self.head.repo.map(|repo| repo.into_repo(origin.clone())),
                branch: self.head.branch,
                maintainers_may_push: self.maintainer_can_modify,
            },
            base_branch: self.base.branch,
            base: Some(self.base.sha),
            labels: self.labels.into_iter().filter_map(Label::into_name).collect(),
            reviewers: self.requested_reviewers.into_iter().map(User::into_actor).collect(),
            created_at: self.created_at.as_deref().and_then(time),
            updated_at: self.updated_at.as_deref().and_then(time),
            url: self.html_url,
        }
    }

    pub(super) fn was_touched_before(&self, since: Time) -> bool {
        self.updated_at.as_deref().and_then(time).is_some_and(|at| at < since)
    }
}

impl Branch {
    pub(super) fn into_now(self) -> BranchNow {
        BranchNow { name: self.name, head: self.commit.sha, protected: self.protected }
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
    /// Returns the permission, if the account that GitHub means is the one that was asked for:
    /// a login can pass to somebody else, a numeric id cannot.
    pub(super) fn permission_of(&self, actor: &Actor) -> Permission {
        if let (Some(asked), Some(user)) = (actor.id, &self.user)
            && asked != AccountId(user.id)
        {
            return Permission::None;
        }
        // An organisation may have roles with names of its own: those are only told by the
        // coarse permission.
        self.role_name
            .as_deref()
            .and_then(permission)
            .or_else(|| permission(&self.permission))
            .unwrap_or(Permission::None)
    }
}

fn permission(name: &str) -> Option<Permission> {
    match name {
        "admin" => Some(Permission::Admin),
        "maintain" => Some(Permission::Maintain),
        "write" => Some(Permission::Write),
        "triage" => Some(Permission::Triage),
        "read" => Some(Permission::Read),
        "none" => Some(Permission::None),
        _ => None,
    }
}

/// Writes a moment as GitHub reads it.
pub(super) fn stamp(at: Time) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_default()
}

fn time(text: &str) -> Option<Time> {
    text.parse::<jiff::Timestamp>().ok().map(|at| Time(at.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, actor: &Actor, expected: Permission) {
        let collaborator: Collaborator = serde_json::from_str(json).unwrap();
        assert_eq!(collaborator.permission_of(actor), expected);
    }

    #[test]
    fn the_role_is_more_exact_than_the_permission() {
        let ann = Actor { id: Some(AccountId(5)), login: "ann".to_owned(), bot: false };
        check(
            r#"{"permission":"write","role_name":"maintain","user":{"id":5,"login":"ann"}}"#,
            &ann,
            Permission::Maintain,
        );
        check(
            r#"{"permission":"read","role_name":"triage","user":{"id":5,"login":"ann"}}"#,
            &ann,
            Permission::Triage,
        );
        check(
            r#"{"permission":"write","role_name":"release-captain","user":null}"#,
            &ann,
            Permission::Write,
        );
        check(r#"{"permission":"owner-ish"}"#, &ann, Permission::None);
    }

    #[test]
    fn t9_a_login_that_passed_to_somebody_else_has_no_permission() {
        let ann = Actor { id: Some(AccountId(5)), login: "ann".to_owned(), bot: false };
        check(r#"{"permission":"admin","user":{"id":6,"login":"ann"}}"#, &ann, Permission::None);
        check(
            r#"{"permission":"admin","user":{"id":6,"login":"ann"}}"#,
            &Actor::named("ann"),
            Permission::Admin,
        );
    }
}
