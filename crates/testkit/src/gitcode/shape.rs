//! GitCode's JSON of what the model holds.

use domain::Time;
use serde_json::{Value, json};

use crate::forge::{
    Account, FakeComment, FakeRepo, FakeSubject, FakeThread, HeadRepo, Lines, Side, Spot, commit,
};

/// How GitCode shows things of one repository.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) url: &'a str,
    pub(super) repo: &'a FakeRepo,
    /// The fork that a change comes from.
    pub(super) fork: Option<&'a FakeRepo>,
}

/// An account as the fifth version shows it: its id is a text.
pub(super) fn account(url: &str, account: &Account) -> Value {
    json!({
        "id": account.id.to_string(),
        "login": account.login,
        "name": account.login,
        "type": "User",
        "html_url": format!("{url}/{}", account.login),
        "avatar_url": "",
    })
}

/// An account as deliveries and the fourth version show it.
pub(super) fn person(account: &Account) -> Value {
    json!({
        "id": account.id,
        "name": account.login,
        "username": account.login,
        "email": "",
        "avatar_url": "",
    })
}

/// Returns the name of the discussion that a comment stands in.
pub(super) fn discussion(comment: &FakeComment) -> String {
    match comment.place {
        Spot::Conversation => commit(format!("discussion {}", comment.id)),
        Spot::Under(first) => commit(format!("discussion {first}")),
        Spot::Inline { thread, .. } => commit(format!("thread {thread}")),
    }
}

pub(super) fn issue_comment(url: &str, comment: &FakeComment, on: &FakeSubject) -> Value {
    json!({
        "id": comment.id,
        "body": comment.body,
        "user": account(url, &comment.author),
        "created_at": time(comment.created_at),
        "updated_at": time(comment.updated_at),
        // The spelling is GitCode's.
        "target": {"issue": {"id": on.id, "title": on.title, "nubmer": on.number}},
    })
}

/// A comment of a change in a list, with its replies inside.
pub(super) fn listed_comment(
    url: &str,
    comment: &FakeComment,
    thread: Option<&FakeThread>,
    replies: &[&FakeComment],
) -> Value {
    let mut shown = plain(url, comment);
    shown["comment_type"] = json!(if thread.is_some() { "diff_comment" } else { "pr_comment" });
    shown["reply"] = replies.iter().map(|reply| plain(url, reply)).collect();
    if let Some(thread) = thread {
        shown["resolved"] = json!(thread.resolved_by.is_some());
        shown["diff_file"] = json!(thread.anchor.path);
        let line = |side| match thread.anchor.lines {
            Some(lines) if lines.side == side => Some(lines),
            Some(_) | None => None,
        };
        let start = |lines: Lines| lines.start.map_or(lines.line, |(_, start)| start);
        shown["diff_position"] = json!({
            "start_new_line": line(Side::New).map(start),
            "end_new_line": line(Side::New).map(|lines| lines.line),
            "start_old_line": line(Side::Old).map(start),
            "end_old_line": line(Side::Old).map(|lines| lines.line),
        });
    }
    shown
}

/// A comment of a change by itself.
pub(super) fn lone_comment(
    url: &str,
    comment: &FakeComment,
    thread: Option<&FakeThread>,
    on: &FakeSubject,
) -> Value {
    let mut shown = plain(url, comment);
    shown["comment_type"] = json!(if thread.is_some() { "DiffNote" } else { "DiscussionNote" });
    if let Some(thread) = thread {
        let line = |side| match thread.anchor.lines {
            Some(lines) if lines.side == side => Some(lines.line),
            Some(_) | None => None,
        };
        let base = on.change.as_ref().map(|change| change.base.clone());
        shown["resolved"] = json!(thread.resolved_by.is_some());
        shown["is_outdated"] = json!(thread.outdated);
        shown["position"] = json!({
            "base_sha": base,
            "start_sha": base,
            "head_sha": thread.commit,
            "old_path": thread.anchor.path,
            "new_path": thread.anchor.path,
            "old_line": line(Side::Old),
            "new_line": line(Side::New),
        });
    }
    shown
}

fn plain(url: &str, comment: &FakeComment) -> Value {
    json!({
        "id": comment.id,
        "discussion_id": discussion(comment),
        "body": comment.body,
        "user": account(url, &comment.author),
        "created_at": time(comment.created_at),
        "updated_at": time(comment.updated_at),
    })
}

impl View<'_> {
    pub(super) fn repository(self) -> Value {
        repository(self.url, self.repo)
    }

    pub(super) fn issue(self, issue: &FakeSubject) -> Value {
        let people: Vec<Value> =
            issue.assignees.iter().map(|assignee| account(self.url, assignee)).collect();
        json!({
            "id": issue.id,
            // A text, of all things.
            "number": issue.number.to_string(),
            "html_url": format!("{}/{}/issues/{}", self.url, self.repo.full_name, issue.number),
            "title": issue.title,
            "body": issue.body,
            "state": if issue.open { "open" } else { "closed" },
            "user": account(self.url, &issue.author),
            "assignee": people.first(),
            "assignees": people,
            "labels": labels(issue),
            "comments": issue.comments,
            "repository": self.repository(),
            "created_at": time(issue.created_at),
            "updated_at": time(issue.updated_at),
            "finished_at": issue.closed_at.map(time).unwrap_or_default(),
        })
    }

    /// A change by itself.
    pub(super) fn pull(self, pull: &FakeSubject) -> Value {
        let Some(change) = &pull.change else { return Value::Null };
        let merged = change.merged_at.is_some();
        let state = match (merged, pull.open) {
            (true, _) => "merged",
            (false, true) => "open",
            (false, false) => "closed",
        };
        let source = match change.head_repo {
            HeadRepo::Same => Some(self.repo),
            HeadRepo::Fork(_) => self.fork,
            HeadRepo::Gone => None,
        };
        let reviewers: Vec<Value> =
            change.reviewers.iter().map(|reviewer| account(self.url, reviewer)).collect();
        let page = format!("{}/{}/pull/{}", self.url, self.repo.full_name, pull.number);
        json!({
            "id": pull.id,
            "number": pull.number,
            "html_url": page,
            "title": pull.title,
            "body": pull.body,
            "state": state,
            "draft": change.draft,
            "merged": null,
            "merged_at": change.merged_at.map(time),
            "user": account(self.url, &pull.author),
            "assignees": reviewers,
            "labels": labels(pull),
            "head": {
                "label": change.head_branch,
                "ref": change.head_branch,
                "sha": change.head,
                "repo": source.map(|repo| repository(self.url, repo)),
            },
            "base": {
                "label": change.base_branch,
                "ref": change.base_branch,
                "sha": change.base,
                "repo": self.repository(),
            },
            "created_at": time(pull.created_at),
            "updated_at": time(pull.updated_at),
        })
    }

    /// A change in a list, or just opened: it tells more.
    pub(super) fn listed_pull(self, pull: &FakeSubject) -> Value {
        let mut shown = self.pull(pull);
        if let Some(change) = &pull.change {
            shown["diff_refs"] = json!({
                "base_sha": change.base, "start_sha": change.base, "head_sha": change.head,
            });
            shown["source_branch"] = json!(change.head_branch);
            shown["target_branch"] = json!(change.base_branch);
            shown["work_in_progress"] = json!(change.draft);
            shown["notes"] = json!(pull.comments);
        }
        shown
    }
}

fn repository(url: &str, repo: &FakeRepo) -> Value {
    json!({
        "id": repo.id,
        "full_name": repo.full_name,
        "human_name": repo.full_name,
        "path": repo.name(),
        "name": repo.name(),
        "owner": account(url, &repo.owner),
        "default_branch": repo.default_branch,
        "html_url": format!("{url}/{}", repo.full_name),
        "fork": repo.fork_of.is_some(),
    })
}

fn labels(subject: &FakeSubject) -> Vec<Value> {
    let label = |(id, name): (u64, &String)| json!({"id": id, "name": name, "color": "#009926"});
    (12_739_501..).zip(&subject.labels).map(label).collect()
}

/// A moment as GitCode writes it: in the time of Beijing.
pub(super) fn time(at: Time) -> String {
    let beijing = jiff::tz::Offset::constant(8).to_time_zone();
    jiff::Timestamp::from_millisecond(at.0)
        .map(|at| at.to_zoned(beijing).strftime("%Y-%m-%dT%H:%M:%S%:z").to_string())
        .unwrap_or_default()
}
