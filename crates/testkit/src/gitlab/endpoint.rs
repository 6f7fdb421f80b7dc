//! The paths below a project, and which call answers each method there.

use super::call::Call;
use super::not_found;
use crate::forge::Answer;

/// Issues and merge requests have the same paths below their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Issues,
    Changes,
}

/// A subject, and one of its discussions or all of it.
#[derive(Clone, Debug)]
pub(super) struct On {
    pub(super) family: Family,
    pub(super) number: u64,
    pub(super) discussion: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Endpoint {
    Project,
    Member(i64),
    Subjects(Family),
    Subject(Family, u64),
    Notes(On),
    Note(On, u64),
    Discussions(On),
    Discussion(On),
    /// Of the subject, or of one of its notes.
    Awards(On, Option<u64>),
    Versions(u64),
    Approvals(u64),
    Reviewers(u64),
    Drafts(u64),
    Draft(u64, u64),
    PublishDraft(u64, u64),
    PublishDrafts(u64),
    Branches,
    Branch(String),
    File(String),
    Statuses(String),
    CommitStatuses(String),
    CommitChanges(String),
    NewPipeline,
    Pipelines,
    Variables(u64),
}

impl Endpoint {
    pub(super) fn at(path: &[&str]) -> Option<Self> {
        let number = |text: &str| text.parse::<u64>().ok();
        Some(match path {
            [] => Self::Project,
            ["members", "all", id] => Self::Member(id.parse().ok()?),
            ["repository", "branches"] => Self::Branches,
            ["repository", "branches", name] => Self::Branch((*name).to_owned()),
            ["repository", "files", path] => Self::File((*path).to_owned()),
            ["repository", "commits", sha, "statuses"] => Self::CommitStatuses((*sha).to_owned()),
            ["repository", "commits", sha, "merge_requests"] => {
                Self::CommitChanges((*sha).to_owned())
            }
            ["statuses", sha] => Self::Statuses((*sha).to_owned()),
            ["pipeline"] => Self::NewPipeline,
            ["pipelines"] => Self::Pipelines,
            ["pipelines", id, "variables"] => Self::Variables(number(id)?),
            ["merge_requests", iid, "versions"] => Self::Versions(number(iid)?),
            ["merge_requests", iid, "approvals"] => Self::Approvals(number(iid)?),
            ["merge_requests", iid, "reviewers"] => Self::Reviewers(number(iid)?),
            ["merge_requests", iid, "draft_notes"] => Self::Drafts(number(iid)?),
            ["merge_requests", iid, "draft_notes", "bulk_publish"] => {
                Self::PublishDrafts(number(iid)?)
            }
            ["merge_requests", iid, "draft_notes", id] => Self::Draft(number(iid)?, number(id)?),
            ["merge_requests", iid, "draft_notes", id, "publish"] => {
                Self::PublishDraft(number(iid)?, number(id)?)
            }
            [family, rest @ ..] => {
                let family = match *family {
                    "issues" => Family::Issues,
                    "merge_requests" => Family::Changes,
                    _ => return None,
                };
                return Self::below(family, rest);
            }
        })
    }

    fn below(family: Family, path: &[&str]) -> Option<Self> {
        let [iid, rest @ ..] = path else { return Some(Self::Subjects(family)) };
        let on = On { family, number: iid.parse().ok()?, discussion: None };
        let number = |text: &str| text.parse::<u64>().ok();
        let within = |id: &str| On { discussion: Some(id.to_owned()), ..on.clone() };
        Some(match rest {
            [] => Self::Subject(family, on.number),
            ["notes"] => Self::Notes(on),
            ["notes", id] => Self::Note(on, number(id)?),
            ["discussions"] => Self::Discussions(on),
            ["discussions", id] => Self::Discussion(within(id)),
            ["discussions", id, "notes"] => Self::Notes(within(id)),
            ["discussions", id, "notes", note] => Self::Note(within(id), number(note)?),
            ["award_emoji"] => Self::Awards(on, None),
            ["notes", id, "award_emoji"] => Self::Awards(on, Some(number(id)?)),
            _ => return None,
        })
    }

    pub(super) fn answer(self, mut call: Call<'_>) -> Result<Answer, Answer> {
        let method = call.asked.method.clone();
        match (self, method.as_str()) {
            (Self::Project, "GET") => call.project(),
            (Self::Member(id), "GET") => call.member(id),
            (Self::Subjects(family), "GET") => call.list_subjects(family),
            (Self::Subjects(Family::Changes), "POST") => call.open_change(),
            (Self::Subject(family, number), "GET") => call.read_subject(family, number),
            (Self::Subject(Family::Changes, number), "PUT") => call.edit_change(number),
            (Self::Notes(on), "GET") => call.list_notes(&on),
            (Self::Notes(on), "POST") => call.create_note(&on),
            (Self::Note(on, id), "GET") => call.read_note(&on, id),
            (Self::Note(on, id), "PUT") => call.edit_note(&on, id),
            (Self::Note(on, id), "DELETE") => call.delete_note(&on, id),
            (Self::Discussions(on), "GET") => call.list_discussions(&on),
            (Self::Discussions(on), "POST") => call.create_discussion(&on),
            (Self::Discussion(on), "GET") => call.read_discussion(&on),
            (Self::Discussion(on), "PUT") => call.resolve(&on),
            (Self::Awards(on, note), "GET") => call.list_awards(&on, note),
            (Self::Awards(on, note), "POST") => call.award(&on, note),
            (Self::Versions(number), "GET") => call.versions(number),
            (Self::Approvals(number), "GET") => call.approvals(number),
            (Self::Reviewers(number), "GET") => call.reviewers(number),
            (Self::Drafts(number), "GET") => call.list_drafts(number),
            (Self::Drafts(number), "POST") => call.create_draft(number),
            (Self::Draft(number, id), "DELETE") => call.delete_draft(number, id),
            (Self::PublishDraft(number, id), "PUT") => call.publish_draft(number, id),
            (Self::PublishDrafts(number), "POST") => call.publish_drafts(number),
            (Self::Branches, "POST") => call.create_branch(),
            (Self::Branch(name), "GET") => call.read_branch(&name),
            (Self::File(path), "GET") => call.read_file(&path),
            (Self::File(path), "POST" | "PUT") => call.write_file(&path),
            (Self::Statuses(sha), "POST") => call.create_status(&sha),
            (Self::CommitStatuses(sha), "GET") => call.list_statuses(&sha),
            (Self::CommitChanges(sha), "GET") => call.changes_of_commit(&sha),
            (Self::NewPipeline, "POST") => call.start_pipeline(),
            (Self::Pipelines, "GET") => call.list_pipelines(),
            (Self::Variables(id), "GET") => call.variables(id),
            (_, method) => Err(not_found("").violating(format!("{method} is not answered here"))),
        }
    }
}
