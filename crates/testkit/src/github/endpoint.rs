//! The endpoints of a repository: which paths exist, and what each method does there.

use super::call::Call;
use super::not_found;
use crate::forge::{Answer, CommentKind};

/// A path below a repository that exists.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Repository,
    Issue(u64),
    Comments(u64),
    Comment(u64),
    LineComment(u64),
    Reactions(On),
    Permission(String),
}

/// What a reaction is put on, by GitHub's numbers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum On {
    Subject(u64),
    Comment(CommentKind, u64),
}

impl Endpoint {
    pub(super) fn at(path: &[&str]) -> Option<Self> {
        let endpoint = match path {
            [] => Self::Repository,
            ["issues", "comments", id] => Self::Comment(id.parse().ok()?),
            ["issues", "comments", id, "reactions"] => {
                Self::Reactions(On::Comment(CommentKind::Conversation, id.parse().ok()?))
            }
            ["pulls", "comments", id] => Self::LineComment(id.parse().ok()?),
            ["pulls", "comments", id, "reactions"] => {
                Self::Reactions(On::Comment(CommentKind::Line, id.parse().ok()?))
            }
            ["issues", number] => Self::Issue(number.parse().ok()?),
            ["issues", number, "comments"] => Self::Comments(number.parse().ok()?),
            ["issues", number, "reactions"] => Self::Reactions(On::Subject(number.parse().ok()?)),
            ["collaborators", login, "permission"] => Self::Permission((*login).to_owned()),
            _ => return None,
        };
        Some(endpoint)
    }

    /// Answers; `Err` is an answer too, one that refuses.
    pub(super) fn answer(self, mut call: Call<'_>) -> Result<Answer, Answer> {
        match (self, call.asked.method.as_str()) {
            (Self::Repository, "GET") => call.repository(),
            (Self::Issue(number), "GET") => call.issue(number),
            (Self::Comments(number), "GET") => call.list(number),
            (Self::Comments(number), "POST") => call.create(number),
            (Self::Comment(id), "GET") => call.comment(CommentKind::Conversation, id),
            (Self::LineComment(id), "GET") => call.comment(CommentKind::Line, id),
            (Self::Comment(id), "PATCH") => call.edit(CommentKind::Conversation, id),
            (Self::Comment(id), "DELETE") => call.delete(CommentKind::Conversation, id),
            (Self::Reactions(on), "POST") => call.react(&on),
            (Self::Permission(login), "GET") => call.permission(&login),
            (_, method) => Err(not_found().violating(format!("{method} is not answered here"))),
        }
    }
}
