//! The endpoints of a repository: which paths exist, and what each method does there.

use http::Method;

use super::call::Call;
use super::refuse;
use crate::forge::Answer;

/// A path below a repository that exists.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Repository,
    Issues,
    Issue(u64),
    Comments(u64),
    Comment(u64),
    Reactions(On),
    Permission(String),
    Teams,
    Assignees,
    Changes,
    Change(u64),
    Reviews(u64),
    Review { change: u64, review: u64 },
    ReviewComments { change: u64, review: u64 },
    Settle { comment: u64, settling: Settling },
    Branches,
    Branch(String),
    Contents(String),
    Statuses(String),
    Dispatches(String),
    Runs,
}

/// What a reaction is put on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum On {
    Subject(u64),
    Comment(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settling {
    Resolve,
    Unresolve,
}

impl Endpoint {
    pub(super) fn at(path: &[&str]) -> Option<Self> {
        let number = |text: &str| text.parse::<u64>().ok();
        let named = |parts: &[&str]| (!parts.is_empty()).then(|| parts.join("/"));
        Some(match path {
            [] => Self::Repository,
            ["issues"] => Self::Issues,
            ["issues", "comments", id] => Self::Comment(number(id)?),
            ["issues", "comments", id, "reactions"] => Self::Reactions(On::Comment(number(id)?)),
            ["issues", issue] => Self::Issue(number(issue)?),
            ["issues", issue, "comments"] => Self::Comments(number(issue)?),
            ["issues", issue, "reactions"] => Self::Reactions(On::Subject(number(issue)?)),
            ["collaborators", login, "permission"] => Self::Permission((*login).to_owned()),
            ["teams"] => Self::Teams,
            ["assignees"] => Self::Assignees,
            ["pulls"] => Self::Changes,
            ["pulls", "comments", id, word] => {
                let settling = match *word {
                    "resolve" => Settling::Resolve,
                    "unresolve" => Settling::Unresolve,
                    _ => return None,
                };
                Self::Settle { comment: number(id)?, settling }
            }
            ["pulls", change] => Self::Change(number(change)?),
            ["pulls", change, "reviews"] => Self::Reviews(number(change)?),
            ["pulls", change, "reviews", review] => {
                Self::Review { change: number(change)?, review: number(review)? }
            }
            ["pulls", change, "reviews", review, "comments"] => {
                Self::ReviewComments { change: number(change)?, review: number(review)? }
            }
            ["branches"] => Self::Branches,
            ["branches", name @ ..] => Self::Branch(named(name)?),
            ["contents", name @ ..] => Self::Contents(named(name)?),
            ["statuses", commit] => Self::Statuses((*commit).to_owned()),
            ["actions", "workflows", workflow, "dispatches"] => {
                Self::Dispatches((*workflow).to_owned())
            }
            ["actions", "runs"] => Self::Runs,
            _ => return None,
        })
    }

    pub(super) fn answer(&self, mut call: Call<'_>) -> Result<Answer, Answer> {
        let method = &call.asked.method;
        match (self, method) {
            (Self::Repository, &Method::GET) => call.repository(),
            (Self::Issues, &Method::GET) => call.issues(),
            (Self::Issue(number), &Method::GET) => call.issue(*number),
            (Self::Comments(number), &Method::GET) => call.comments(*number),
            (Self::Comments(number), &Method::POST) => call.create_comment(*number),
            (Self::Comment(id), &Method::GET) => call.comment(*id),
            (Self::Comment(id), &Method::PATCH) => call.edit_comment(*id),
            (Self::Comment(id), &Method::DELETE) => call.delete_comment(*id),
            (Self::Reactions(on), &Method::POST) => call.react(on),
            (Self::Permission(login), &Method::GET) => call.permission(login),
            (Self::Teams, &Method::GET) => call.teams(),
            (Self::Assignees, &Method::GET) => call.assignees(),
            (Self::Changes, &Method::GET) => call.changes(),
            (Self::Changes, &Method::POST) => call.create_change(),
            (Self::Change(number), &Method::GET) => call.read_change(*number),
            (Self::Change(number), &Method::PATCH) => call.edit_change(*number),
            (Self::Reviews(number), &Method::GET) => call.reviews(*number),
            (Self::Reviews(number), &Method::POST) => call.create_review(*number),
            (Self::Review { change, review }, &Method::GET) => call.read_review(*change, *review),
            (Self::Review { change, review }, &Method::DELETE) => {
                call.delete_review(*change, *review)
            }
            (Self::ReviewComments { change, review }, &Method::GET) => {
                call.review_comments(*change, *review)
            }
            (Self::Settle { comment, settling }, &Method::POST) => call.settle(*comment, *settling),
            (Self::Branches, &Method::POST) => call.create_branch(),
            (Self::Branch(name), &Method::GET) => call.branch(name),
            (Self::Contents(path), &Method::GET) => call.read_file(path),
            (Self::Contents(path), &Method::POST) => call.create_file(path),
            (Self::Contents(path), &Method::PUT) => call.update_file(path),
            (Self::Statuses(commit), &Method::POST) => call.create_status(commit),
            (Self::Dispatches(workflow), &Method::POST) => call.dispatch(workflow),
            (Self::Runs, &Method::GET) => call.runs(),
            _ => {
                let why = format!("{method} is not answered here");
                Err(refuse(405, "Method Not Allowed").violating(why))
            }
        }
    }
}
