//! The JSON that GitHub's REST API speaks, as far as we use it. Nothing of it leaves this module
//! but in the words of the domain.

use domain::publication::Sign;
use domain::{AccountId, Actor, Origin, Repo, RepoKey, Subject, Time};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::port::{Permission, Said};

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
}

#[derive(Debug, Deserialize)]
pub(super) struct Review {
    id: u64,
    body: Option<String>,
    user: Option<User>,
    submitted_at: Option<String>,
    html_url: Option<String>,
}

/// An issue, or a change seen as one.
#[derive(Debug, Deserialize)]
pub(super) struct Issue {
    body: Option<String>,
    user: Option<User>,
    state: Option<String>,
    /// How many comments the conversation has.
    pub(super) comments: Option<u64>,
    created_at: Option<String>,
    updated_at: Option<String>,
    html_url: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Collaborator {
    permission: String,
    role_name: Option<String>,
    user: Option<User>,
}

/// The body of a request.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(super) enum Outgoing<'a> {
    Comment { body: &'a str },
    Reaction { content: &'static str },
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
        Said {
            id: self.id,
            author: author(self.user),
            body: self.body.unwrap_or_default(),
            created_at: self.created_at.as_deref().and_then(time),
            updated_at: self.updated_at.as_deref().and_then(time),
            url: self.html_url,
            open: None,
        }
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
            author: author(self.user),
            body: self.body.unwrap_or_default(),
            created_at: at,
            // GitHub does not tell when the text of a review was edited.
            updated_at: None,
            url: self.html_url,
            open: None,
        }
    }
}

impl Issue {
    pub(super) fn into_said(self) -> Said {
        Said {
            id: 0,
            author: author(self.user),
            body: self.body.unwrap_or_default(),
            created_at: self.created_at.as_deref().and_then(time),
            updated_at: self.updated_at.as_deref().and_then(time),
            url: self.html_url,
            open: self.state.map(|state| state == "open"),
        }
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
