//! The endpoints of a repository: which paths exist, and what each method does there.

use super::call::Call;
use super::not_found;
use crate::forge::{Answer, CommentKind};

/// A path below a repository that exists.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Repository,
    Issues,
    Issue(u64),
    Comments(u64),
    Comment(CommentKind, u64),
    Reactions(On),
    Permission(String),
    Collaborator(String),
    Changes,
    Change(u64),
    Reviewers(u64),
    InlineComments(u64),
    Replies {
        change: u64,
        comment: u64,
    },
    Reviews(u64),
    Review {
        change: u64,
        review: u64,
    },
    ReviewComments {
        change: u64,
        review: u64,
    },
    ReviewEvents {
        change: u64,
        review: u64,
    },
    Dismissal {
        change: u64,
        review: u64,
    },
    Refs,
    Ref(String),
    /// The same branch under the path that reads it.
    ReadRef(String),
    Branch(String),
    Contents(String),
    Statuses(String),
    CombinedStatus(String),
    CommitStatuses(String),
    CommitChecks(String),
    Checks,
    Check(u64),
    Dispatches,
    WorkflowDispatches(String),
    Runs,
}

/// What a reaction is put on, by GitHub's numbers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum On {
    Subject(u64),
    Comment(CommentKind, u64),
}

impl Endpoint {
    pub(super) fn at(path: &[&str]) -> Option<Self> {
        let number = |text: &str| text.parse::<u64>().ok();
        let named = |parts: &[&str]| (!parts.is_empty()).then(|| parts.join("/"));
        let endpoint = match path {
            [] => Self::Repository,
            ["issues", rest @ ..] => return Self::at_issue(rest),
            ["pulls", rest @ ..] => return Self::at_change(rest),
            ["collaborators", login] => Self::Collaborator((*login).to_owned()),
            ["collaborators", login, "permission"] => Self::Permission((*login).to_owned()),
            ["git", "refs"] => Self::Refs,
            ["git", "refs", "heads", name @ ..] => Self::Ref(named(name)?),
            ["git", "ref", "heads", name @ ..] => Self::ReadRef(named(name)?),
            ["branches", name @ ..] => Self::Branch(named(name)?),
            ["contents", name @ ..] => Self::Contents(named(name)?),
            ["statuses", commit] => Self::Statuses((*commit).to_owned()),
            ["commits", commit, "status"] => Self::CombinedStatus((*commit).to_owned()),
            ["commits", commit, "statuses"] => Self::CommitStatuses((*commit).to_owned()),
            ["commits", commit, "check-runs"] => Self::CommitChecks((*commit).to_owned()),
            ["check-runs"] => Self::Checks,
            ["check-runs", id] => Self::Check(number(id)?),
            ["dispatches"] => Self::Dispatches,
            ["actions", "runs"] => Self::Runs,
            ["actions", "workflows", workflow, "dispatches"] => {
                Self::WorkflowDispatches((*workflow).to_owned())
            }
            _ => return None,
        };
        Some(endpoint)
    }

    fn at_issue(path: &[&str]) -> Option<Self> {
        let number = |text: &str| text.parse::<u64>().ok();
        let endpoint = match path {
            [] => Self::Issues,
            ["comments", id] => Self::Comment(CommentKind::Conversation, number(id)?),
            ["comments", id, "reactions"] => {
                Self::Reactions(On::Comment(CommentKind::Conversation, number(id)?))
            }
            [issue] => Self::Issue(number(issue)?),
            [issue, "comments"] => Self::Comments(number(issue)?),
            [issue, "reactions"] => Self::Reactions(On::Subject(number(issue)?)),
            _ => return None,
        };
        Some(endpoint)
    }

    fn at_change(path: &[&str]) -> Option<Self> {
        let number = |text: &str| text.parse::<u64>().ok();
        let endpoint = match path {
            [] => Self::Changes,
            ["comments", id] => Self::Comment(CommentKind::Line, number(id)?),
            ["comments", id, "reactions"] => {
                Self::Reactions(On::Comment(CommentKind::Line, number(id)?))
            }
            [change] => Self::Change(number(change)?),
            [change, "requested_reviewers"] => Self::Reviewers(number(change)?),
            [change, "comments"] => Self::InlineComments(number(change)?),
            [change, "comments", comment, "replies"] => {
                Self::Replies { change: number(change)?, comment: number(comment)? }
            }
            [change, "reviews"] => Self::Reviews(number(change)?),
            [change, "reviews", review, rest @ ..] => {
                let (change, review) = (number(change)?, number(review)?);
                match rest {
                    [] => Self::Review { change, review },
                    ["comments"] => Self::ReviewComments { change, review },
                    ["events"] => Self::ReviewEvents { change, review },
                    ["dismissals"] => Self::Dismissal { change, review },
                    _ => return None,
                }
            }
            _ => return None,
        };
        Some(endpoint)
    }

    /// Answers; `Err` is an answer too, one that refuses.
    pub(super) fn answer(self, mut call: Call<'_>) -> Result<Answer, Answer> {
        match (self, call.asked.method.as_str()) {
            (Self::Repository, "GET") => call.repository(),
            (Self::Issues, "GET") => call.issues(),
            (Self::Issue(number), "GET") => call.issue(number),
            (Self::Issue(number), "PATCH") => call.edit_issue(number),
            (Self::Comments(number), "GET") => call.list(number),
            (Self::Comments(number), "POST") => call.create(number),
            (Self::Comment(kind, id), "GET") => call.comment(kind, id),
            (Self::Comment(kind, id), "PATCH") => call.edit(kind, id),
            (Self::Comment(kind, id), "DELETE") => call.delete(kind, id),
            (Self::Reactions(on), "POST") => call.react(&on),
            (Self::Permission(login), "GET") => call.permission(&login),
            (Self::Collaborator(login), "GET") => call.collaborator(&login),
            (Self::Changes, "GET") => call.changes(),
            (Self::Changes, "POST") => call.create_change(),
            (Self::Change(number), "GET") => call.read_change(number),
            (Self::Change(number), "PATCH") => call.edit_change(number),
            (Self::Reviewers(number), "POST") => call.request_reviewers(number),
            (Self::InlineComments(number), "GET") => call.inline_comments(number),
            (Self::InlineComments(number), "POST") => call.create_inline(number),
            (Self::Replies { change, comment }, "POST") => call.create_reply(change, comment),
            (Self::Reviews(number), "GET") => call.list_reviews(number),
            (Self::Reviews(number), "POST") => call.create_review(number),
            (Self::Review { change, review }, "GET") => call.read_review(change, review),
            (Self::Review { change, review }, "PUT") => call.edit_review(change, review),
            (Self::Review { change, review }, "DELETE") => call.delete_review(change, review),
            (Self::ReviewComments { change, review }, "GET") => call.of_review(change, review),
            (Self::ReviewEvents { change, review }, "POST") => call.submit(change, review),
            (Self::Dismissal { change, review }, "PUT") => call.dismiss(change, review),
            (Self::Refs, "POST") => call.create_ref(),
            (Self::ReadRef(name), "GET") => call.read_ref(&name),
            (Self::Ref(name), "PATCH") => call.move_ref(&name),
            (Self::Ref(name), "DELETE") => call.delete_ref(&name),
            (Self::Branch(name), "GET") => call.read_branch(&name),
            (Self::Contents(path), "GET") => call.read_file(&path),
            (Self::Contents(path), "PUT") => call.write_file(&path),
            (Self::Statuses(commit), "POST") => call.create_status(&commit),
            (Self::CombinedStatus(commit), "GET") => call.combined_status(&commit),
            (Self::CommitStatuses(commit), "GET") => call.list_statuses(&commit),
            (Self::CommitChecks(commit), "GET") => call.list_checks(&commit),
            (Self::Checks, "POST") => call.create_check(),
            (Self::Check(id), "GET") => call.read_check(id),
            (Self::Check(id), "PATCH") => call.update_check(id),
            (Self::Dispatches, "POST") => call.dispatch(),
            (Self::WorkflowDispatches(workflow), "POST") => call.dispatch_workflow(&workflow),
            (Self::Runs, "GET") => call.runs(),
            (_, method) => Err(not_found().violating(format!("{method} is not answered here"))),
        }
    }
}
