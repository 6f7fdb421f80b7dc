//! The JSON that GitCode's API speaks, as far as we use it. Nothing of it leaves this module but
//! in the words of the domain.
//!
//! It is read leniently ([`loose`]): what is documented and what is seen differ.

mod comment;
mod loose;
mod outgoing;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use domain::{AccountId, Actor, Origin, Repo, RepoKey, Time};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::port::{self, BranchNow, ChangeNow, IssueNow, Permission, ReviewState, SourceOfChange};

pub(super) use comment::{Comment, Landing};
pub(super) use outgoing::{ChangeEdit, NewBranch, NewPull, Remark, Resolution, State, Upload};

/// What stands before the title of a draft.
const DRAFT: &str = "[WIP]";

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct User {
    #[serde(deserialize_with = "loose::text")]
    id: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    login: Option<String>,
    /// The login, in some answers.
    #[serde(deserialize_with = "loose::text")]
    username: Option<String>,
    /// What an approver has said.
    #[serde(deserialize_with = "loose::text")]
    state: Option<String>,
    updated_at: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Repository {
    #[serde(deserialize_with = "loose::number")]
    id: Option<u64>,
    #[serde(deserialize_with = "loose::text")]
    full_name: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    default_branch: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Issue {
    #[serde(deserialize_with = "loose::number")]
    number: Option<u64>,
    #[serde(deserialize_with = "loose::text")]
    title: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    body: Option<String>,
    #[serde(deserialize_with = "loose::object")]
    user: Option<User>,
    #[serde(deserialize_with = "loose::text")]
    state: Option<String>,
    #[serde(deserialize_with = "loose::list")]
    labels: Vec<Label>,
    #[serde(deserialize_with = "loose::object")]
    assignee: Option<User>,
    #[serde(deserialize_with = "loose::list")]
    assignees: Vec<User>,
    created_at: Option<String>,
    updated_at: Option<String>,
    html_url: Option<String>,
}

/// A label is an object or its name.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Label {
    Object { name: Option<String> },
    Name(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pull {
    #[serde(deserialize_with = "loose::number")]
    number: Option<u64>,
    #[serde(deserialize_with = "loose::number")]
    iid: Option<u64>,
    #[serde(deserialize_with = "loose::text")]
    title: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    body: Option<String>,
    #[serde(deserialize_with = "loose::object")]
    user: Option<User>,
    #[serde(deserialize_with = "loose::text")]
    state: Option<String>,
    #[serde(deserialize_with = "loose::flag")]
    draft: Option<bool>,
    #[serde(deserialize_with = "loose::flag")]
    work_in_progress: Option<bool>,
    #[serde(deserialize_with = "loose::text")]
    merged_at: Option<String>,
    #[serde(deserialize_with = "loose::object")]
    head: Option<Tip>,
    #[serde(deserialize_with = "loose::object")]
    base: Option<Tip>,
    #[serde(deserialize_with = "loose::object")]
    diff_refs: Option<DiffRefs>,
    #[serde(deserialize_with = "loose::text")]
    source_branch: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    target_branch: Option<String>,
    #[serde(deserialize_with = "loose::list")]
    labels: Vec<Label>,
    #[serde(deserialize_with = "loose::list")]
    assignees: Vec<User>,
    #[serde(deserialize_with = "loose::list")]
    approval_merge_request_approvers: Vec<User>,
    created_at: Option<String>,
    updated_at: Option<String>,
    html_url: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tip {
    #[serde(deserialize_with = "loose::text")]
    sha: Option<String>,
    #[serde(rename = "ref", deserialize_with = "loose::text")]
    branch: Option<String>,
    #[serde(deserialize_with = "loose::object")]
    repo: Option<Repository>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DiffRefs {
    #[serde(deserialize_with = "loose::text")]
    base_sha: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    head_sha: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Branch {
    name: String,
    commit: Commit,
    #[serde(default, deserialize_with = "loose::flag")]
    protected: Option<bool>,
}

/// A commit's name is `id` where a branch is read alone, `sha` where it is listed or created.
#[derive(Debug, Deserialize)]
struct Commit {
    id: Option<String>,
    sha: Option<String>,
}

/// A file as the contents API gives it.
#[derive(Debug, Deserialize)]
pub(super) struct Content {
    content: Option<String>,
    encoding: Option<String>,
}

/// What somebody may do on a repository.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Collaborator {
    #[serde(deserialize_with = "loose::text")]
    id: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    permission: Option<String>,
    #[serde(deserialize_with = "loose::number")]
    access_level: Option<u64>,
}

/// Whether an account is the one that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Identity {
    Same,
    Other,
    /// One is a number and the other is none: they cannot be compared.
    Incomparable,
}

impl User {
    pub(super) fn into_actor(self) -> Actor {
        let id = self.id.as_deref().and_then(account);
        Actor { id, login: self.login.or(self.username).unwrap_or_default(), bot: false }
    }
}

/// An account that is not told any more has no name.
fn author(user: Option<User>) -> Actor {
    user.map_or_else(|| Actor::named("ghost"), User::into_actor)
}

/// Reads an account's id. Deliveries give numbers, the API numbers or other texts: a text becomes
/// a negative number that no other text has. Negative ones of GitCode itself (-9999) and 0 stand
/// for "unknown" and are nobody's.
fn account(id: &str) -> Option<AccountId> {
    if let Ok(number) = id.parse::<i64>() {
        return (number > 0).then_some(AccountId(number));
    }
    let digest = Sha256::digest(id.as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(digest.get(..8)?);
    Some(AccountId(i64::from_be_bytes(bytes) | i64::MIN))
}

/// Whether an account's id is one that deliveries give too.
pub(super) fn is_numeric(id: AccountId) -> bool {
    id.0 > 0
}

impl Repository {
    /// Returns the repository; `asked` is the name under which it was asked for.
    pub(super) fn into_repo(self, origin: Origin, asked: &str) -> Repo {
        let full_name = self.full_name.unwrap_or_else(|| asked.to_owned());
        let key = self.id.map_or_else(|| RepoKey::Name(full_name.to_lowercase()), RepoKey::Id);
        Repo { origin, key, full_name, default_branch: self.default_branch }
    }
}

impl Issue {
    pub(super) fn key(&self) -> String {
        self.number.unwrap_or_default().to_string()
    }

    pub(super) fn was_touched_before(&self, since: Time) -> bool {
        self.updated_at.as_deref().and_then(time).is_some_and(|at| at < since)
    }

    pub(super) fn into_now(self) -> IssueNow {
        let mut assignees: Vec<_> = self.assignees.into_iter().map(User::into_actor).collect();
        let first = self.assignee.map(User::into_actor);
        assignees.extend(first.filter(|first| !assignees.contains(first)));
        IssueNow {
            number: self.number.unwrap_or_default(),
            title: self.title.unwrap_or_default(),
            body: self.body.unwrap_or_default(),
            author: author(self.user),
            open: is_open(self.state.as_deref()),
            labels: self.labels.into_iter().filter_map(Label::into_name).collect(),
            assignees,
            created_at: self.created_at.as_deref().and_then(time),
            updated_at: self.updated_at.as_deref().and_then(time),
            url: self.html_url,
        }
    }
}

/// Whether a state is one of those that mean "open".
fn is_open(state: Option<&str>) -> bool {
    matches!(state, Some("open" | "opened" | "reopened" | "progressing"))
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
    pub(super) fn key(&self) -> String {
        self.number.or(self.iid).unwrap_or_default().to_string()
    }

    pub(super) fn was_touched_before(&self, since: Time) -> bool {
        self.updated_at.as_deref().and_then(time).is_some_and(|at| at < since)
    }

    /// Returns the title without the mark of a draft, if it has one.
    pub(super) fn title_of_draft(&self) -> Option<&str> {
        self.title.as_deref()?.strip_prefix(DRAFT).map(str::trim_start)
    }

    /// Returns those who approved; GitCode has no other reviews.
    pub(super) fn into_reviews(self) -> Vec<port::Review> {
        let approvers = self.approval_merge_request_approvers.into_iter();
        let approved = approvers.filter(|approver| {
            matches!(approver.state.as_deref(), Some("approved" | "approve" | "passed"))
        });
        let review = |(place, approver): (u64, User)| port::Review {
            id: place,
            state: ReviewState::Approved,
            body: String::new(),
            commit: None,
            submitted_at: approver.updated_at.as_deref().and_then(time),
            author: approver.into_actor(),
        };
        (1..).zip(approved).map(review).collect()
    }

    pub(super) fn into_now(self, origin: &Origin, what: &str) -> Result<ChangeNow, Error> {
        let garbled = |why: &str| Error::Garbled { what: what.to_owned(), why: why.to_owned() };
        let number = self.number.or(self.iid).ok_or_else(|| garbled("it has no number"))?;
        let (head, base) = (self.head.unwrap_or_default(), self.base.unwrap_or_default());
        let refs = self.diff_refs.unwrap_or_default();
        let untitled = self.title.as_deref().and_then(|title| title.strip_prefix(DRAFT));
        let draft =
            self.draft == Some(true) || self.work_in_progress == Some(true) || untitled.is_some();
        let title = untitled.map(|title| title.trim_start().to_owned());
        let mut reviewers: Vec<Actor> = Vec::new();
        for user in self.assignees.into_iter().chain(self.approval_merge_request_approvers) {
            let actor = user.into_actor();
            if !reviewers.iter().any(|known| known.is_called(&actor.login)) {
                reviewers.push(actor);
            }
        }
        Ok(ChangeNow {
            number,
            title: title.or(self.title).unwrap_or_default(),
            body: self.body.unwrap_or_default(),
            author: author(self.user),
            open: is_open(self.state.as_deref()),
            merged: self.state.as_deref() == Some("merged") || self.merged_at.is_some(),
            draft,
            head: head.sha.or(refs.head_sha).ok_or_else(|| garbled("it has no head"))?,
            source: SourceOfChange {
                repo: head
                    .repo
                    .filter(|repo| repo.full_name.is_some())
                    .map(|repo| repo.into_repo(origin.clone(), "")),
                branch: head.branch.or(self.source_branch).unwrap_or_default(),
                maintainers_may_push: None,
            },
            base_branch: base.branch.or(self.target_branch).unwrap_or_default(),
            base: base.sha.or(refs.base_sha),
            labels: self.labels.into_iter().filter_map(Label::into_name).collect(),
            reviewers,
            created_at: self.created_at.as_deref().and_then(time),
            updated_at: self.updated_at.as_deref().and_then(time),
            url: self.html_url,
            head_ref: format!("refs/merge-requests/{number}/head"),
        })
    }
}

impl Branch {
    pub(super) fn into_now(self, what: &str) -> Result<BranchNow, Error> {
        let Some(head) = self.commit.id.or(self.commit.sha) else {
            let why = "the branch has no commit".to_owned();
            return Err(Error::Garbled { what: what.to_owned(), why });
        };
        Ok(BranchNow { name: self.name, head, protected: self.protected.unwrap_or_default() })
    }
}

impl Content {
    /// Whether the file holds exactly this text.
    pub(super) fn is(&self, text: &str) -> bool {
        let (Some(content), None | Some("base64")) = (&self.content, self.encoding.as_deref())
        else {
            return false;
        };
        let packed: String = content.split_whitespace().collect();
        BASE64.decode(packed).is_ok_and(|bytes| bytes == text.as_bytes())
    }
}

impl Collaborator {
    /// Whether the account that GitCode means is the one that was asked for: a login can pass to
    /// somebody else (T9).
    pub(super) fn identity(&self, actor: &Actor) -> Identity {
        match (actor.id, self.id.as_deref().and_then(account)) {
            (Some(asked), Some(told)) if asked == told => Identity::Same,
            (Some(asked), Some(told)) if is_numeric(asked) == is_numeric(told) => Identity::Other,
            (Some(_), Some(_)) => Identity::Incomparable,
            (None, _) | (_, None) => Identity::Same,
        }
    }

    /// Returns the permission. It is told by a word, by a level, or by both: then the lower one
    /// counts.
    pub(super) fn permission(&self) -> Permission {
        let named = match self.permission.as_deref() {
            Some("admin" | "owner") => Some(Permission::Admin),
            Some("maintain" | "maintainer" | "master") => Some(Permission::Maintain),
            Some("write" | "push" | "developer") => Some(Permission::Write),
            Some("triage" | "reporter") => Some(Permission::Triage),
            Some("read" | "pull" | "guest") => Some(Permission::Read),
            Some("none") => Some(Permission::None),
            Some(_) | None => None,
        };
        let level = self.access_level.map(|level| match level {
            50.. => Permission::Admin,
            40.. => Permission::Maintain,
            30.. => Permission::Write,
            20.. => Permission::Triage,
            10.. => Permission::Read,
            _ => Permission::None,
        });
        named.into_iter().chain(level).min().unwrap_or(Permission::None)
    }
}

fn time(text: &str) -> Option<Time> {
    text.parse::<jiff::Timestamp>().ok().map(|at| Time(at.as_millisecond()))
}

#[cfg(test)]
mod tests;
