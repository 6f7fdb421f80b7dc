//! The JSON that GitLab speaks, as far as we use it. Nothing of it leaves this module but in the
//! words of the domain.

mod note;
mod outgoing;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use domain::event::Place;
use domain::publication::Sign;
use domain::{AccountId, Actor, Origin, Repo, RepoKey, Time};
use serde::Deserialize;

use crate::port::{
    self, BranchNow, ChangeNow, IssueNow, Permission, ReviewState, Said, SourceOfChange,
};

pub(super) use note::{Discussion, Draft, Note, Version};
pub(super) use outgoing::{
    NewChange, NewDraft, NewThread, Outgoing, Position, State, Upload, Variable,
};

/// The titles of drafts begin with one of these, in any case, once or more.
const DRAFT: [&str; 3] = ["draft:", "[draft]", "(draft)"];

#[derive(Debug, Deserialize)]
pub(super) struct User {
    pub(super) id: i64,
    username: String,
    /// Not told by older servers, and never in lists.
    #[serde(default)]
    bot: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Project {
    id: u64,
    path_with_namespace: String,
    default_branch: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Release {
    pub(super) version: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    pub(super) iid: u64,
    title: String,
    description: Option<String>,
    author: Option<User>,
    state: String,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    assignees: Vec<User>,
    created_at: Option<String>,
    updated_at: Option<String>,
    web_url: Option<String>,
}

/// A merge request.
#[derive(Debug, Deserialize)]
pub(super) struct Change {
    pub(super) iid: u64,
    pub(super) title: String,
    description: Option<String>,
    author: Option<User>,
    state: String,
    draft: Option<bool>,
    /// What older servers say instead, and newer ones as well.
    work_in_progress: Option<bool>,
    /// Null until the difference has been computed.
    sha: Option<String>,
    pub(super) source_branch: String,
    target_branch: String,
    /// Null once the fork is gone.
    pub(super) source_project_id: Option<u64>,
    pub(super) target_project_id: u64,
    /// Told for forks only.
    allow_collaboration: Option<bool>,
    #[serde(default)]
    diff_refs: Option<DiffRefs>,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    reviewers: Vec<User>,
    created_at: Option<String>,
    updated_at: Option<String>,
    web_url: Option<String>,
}

#[derive(Debug, Deserialize)]
struct DiffRefs {
    base_sha: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Approvals {
    #[serde(default)]
    approved_by: Vec<Approval>,
}

#[derive(Debug, Deserialize)]
struct Approval {
    user: User,
    approved_at: Option<String>,
}

/// How far somebody who was asked for a review has come.
#[derive(Debug, Deserialize)]
pub(super) struct Reviewer {
    pub(super) user: User,
    state: String,
    created_at: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Member {
    id: i64,
    access_level: u64,
    membership_state: Option<String>,
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

/// A file with the commit that last changed it.
#[derive(Debug, Deserialize)]
pub(super) struct File {
    content: String,
    encoding: String,
    pub(super) blob_id: String,
    pub(super) last_commit_id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Award {
    pub(super) id: u64,
    name: String,
    user: Option<User>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Pipeline {
    pub(super) id: u64,
}

#[derive(Debug, Deserialize)]
pub(super) struct RunVariable {
    key: String,
    value: Option<String>,
}

/// Returns GitLab's name of a sign.
pub(super) fn reaction(sign: Sign) -> &'static str {
    match sign {
        Sign::Eyes => "eyes",
        Sign::ThumbsUp => "thumbsup",
        Sign::Confused => "confused",
    }
}

/// Returns a title without the prefixes that make a draft of the change.
pub(super) fn without_draft(title: &str) -> &str {
    let mut rest = title.trim_start();
    while let Some(stripped) = DRAFT.iter().find_map(|prefix| {
        let begin = rest.get(..prefix.len())?;
        begin.eq_ignore_ascii_case(prefix).then(|| rest[prefix.len()..].trim_start())
    }) {
        rest = stripped;
    }
    rest
}

impl User {
    pub(super) fn into_actor(self) -> Actor {
        let bot = self.bot.unwrap_or_default();
        Actor { id: Some(AccountId(self.id)), login: self.username, bot }
    }

    /// Whether the account has this name at this moment.
    pub(super) fn is_called(&self, login: &str) -> bool {
        self.username.eq_ignore_ascii_case(login)
    }
}

/// An account that was deleted is shown as `ghost`.
fn author(user: Option<User>) -> Actor {
    user.map_or_else(|| Actor::named("ghost"), User::into_actor)
}

impl Project {
    pub(super) fn into_repo(self, origin: Origin) -> Repo {
        let Self { id, path_with_namespace, default_branch } = self;
        Repo { origin, key: RepoKey::Id(id), full_name: path_with_namespace, default_branch }
    }
}

impl Issue {
    pub(super) fn into_now(self) -> IssueNow {
        IssueNow {
            number: self.iid,
            title: self.title,
            body: self.description.unwrap_or_default(),
            author: author(self.author),
            open: self.state == "opened",
            labels: self.labels,
            assignees: self.assignees.into_iter().map(User::into_actor).collect(),
            created_at: time(self.created_at.as_deref()),
            updated_at: time(self.updated_at.as_deref()),
            url: self.web_url,
        }
    }

    pub(super) fn into_said(self) -> Said {
        let now = self.into_now();
        opening(now.author, now.body, (now.created_at, now.updated_at), now.url, now.open)
    }
}

impl Change {
    pub(super) fn is_open(&self) -> bool {
        self.state == "opened"
    }

    /// Whether it is a draft, and its title shows it.
    pub(super) fn is_draft(&self) -> bool {
        self.draft.or(self.work_in_progress).unwrap_or_default()
    }

    /// Returns the change; `None` before its difference is known.
    pub(super) fn into_now(self, source: Option<Repo>) -> Option<ChangeNow> {
        let draft = self.is_draft();
        Some(ChangeNow {
            head_ref: format!("refs/merge-requests/{}/head", self.iid),
            number: self.iid,
            title: without_draft(&self.title).to_owned(),
            body: self.description.unwrap_or_default(),
            author: author(self.author),
            open: self.state == "opened",
            merged: self.state == "merged",
            draft,
            head: self.sha?,
            source: SourceOfChange {
                repo: source,
                branch: self.source_branch,
                maintainers_may_push: self.allow_collaboration,
            },
            base_branch: self.target_branch,
            base: self.diff_refs.and_then(|refs| refs.base_sha),
            labels: self.labels,
            reviewers: self.reviewers.into_iter().map(User::into_actor).collect(),
            created_at: time(self.created_at.as_deref()),
            updated_at: time(self.updated_at.as_deref()),
            url: self.web_url,
        })
    }

    pub(super) fn into_said(self) -> Said {
        let times = (time(self.created_at.as_deref()), time(self.updated_at.as_deref()));
        let body = self.description.unwrap_or_default();
        opening(author(self.author), body, times, self.web_url, self.state == "opened")
    }

    /// Returns the commit at its tip, if its difference is known.
    pub(super) fn head(&self) -> Option<&str> {
        self.sha.as_deref()
    }
}

fn opening(
    author: Actor,
    body: String,
    (created_at, updated_at): (Option<Time>, Option<Time>),
    url: Option<String>,
    open: bool,
) -> Said {
    let place = Place::Conversation;
    Said { id: 0, place, author, body, created_at, updated_at, url, open: Some(open) }
}

impl Approvals {
    pub(super) fn into_reviews(self) -> Vec<port::Review> {
        let review = |Approval { user, approved_at }| {
            verdict(user, ReviewState::Approved, approved_at.as_deref())
        };
        self.approved_by.into_iter().map(review).collect()
    }
}

impl Reviewer {
    /// Returns the review; who approved is told elsewhere, and who has said nothing has none.
    pub(super) fn into_review(self) -> Option<port::Review> {
        let state = match self.state.as_str() {
            "requested_changes" => ReviewState::ChangesRequested,
            "reviewed" => ReviewState::Commented,
            _ => return None,
        };
        Some(verdict(self.user, state, self.created_at.as_deref()))
    }
}

/// A verdict has no id of its own: everybody has at most one, so the account's stands for it.
fn verdict(user: User, state: ReviewState, at: Option<&str>) -> port::Review {
    port::Review {
        id: u64::try_from(user.id).unwrap_or_default(),
        author: user.into_actor(),
        state,
        body: String::new(),
        commit: None,
        submitted_at: time(at),
    }
}

impl Member {
    /// Returns what a member may do. An invitation that waits for its approval gives nothing.
    pub(super) fn permission_of(&self, account: AccountId) -> Permission {
        if AccountId(self.id) != account || self.membership_state.as_deref() == Some("awaiting") {
            return Permission::None;
        }
        match self.access_level {
            50.. => Permission::Admin,
            40.. => Permission::Maintain,
            30.. => Permission::Write,
            // Planners and reporters sort issues; neither may push.
            15.. => Permission::Triage,
            10.. => Permission::Read,
            0..10 => Permission::None,
        }
    }
}

impl Award {
    /// Whether somebody put this sign there.
    pub(super) fn is(&self, name: &str, by: &Actor) -> bool {
        self.name == name
            && self.user.as_ref().is_some_and(|user| by.id == Some(AccountId(user.id)))
    }
}

impl RunVariable {
    pub(super) fn is(&self, (key, value): (&str, &str)) -> bool {
        self.key == key && self.value.as_deref() == Some(value)
    }
}

impl Branch {
    pub(super) fn into_now(self) -> BranchNow {
        BranchNow { name: self.name, head: self.commit.id, protected: self.protected }
    }
}

impl File {
    /// Whether the file holds exactly this text.
    pub(super) fn is(&self, text: &str) -> bool {
        self.encoding == "base64"
            && BASE64.decode(&self.content).is_ok_and(|bytes| bytes == text.as_bytes())
    }
}

/// Writes a moment as GitLab reads it.
pub(super) fn stamp(at: Time) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map(|at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
        .unwrap_or_default()
}

fn time(text: Option<&str>) -> Option<Time> {
    text?.parse::<jiff::Timestamp>().ok().map(|at| Time(at.as_millisecond()))
}

#[cfg(test)]
mod tests;
