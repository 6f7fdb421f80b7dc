//! What GitLab tells its webhooks, and how it signs it.

use bytes::Bytes;
use serde_json::{Value, json};

use super::shape::{View, conversation_id, thread_id, title};
use super::{VERSION, position};
use crate::forge::{
    Account, FakeComment, FakeSubject, FakeThread, Happened, HeadRepo, Sender, SignedDelivery,
    Spot, What,
};

/// What stands for a commit where there is none.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// Makes the delivery that GitLab would send for what happened: the token in clear, as every
/// version sends it.
pub(super) fn delivery(happened: &Happened, sender: Sender<'_>) -> SignedDelivery {
    let (event, payload) = payload(happened, sender.url);
    let fields = [
        ("content-type", "application/json".to_owned()),
        ("user-agent", format!("GitLab/{VERSION}")),
        ("x-gitlab-event", event.to_owned()),
        ("x-gitlab-instance", sender.url.to_owned()),
        ("x-gitlab-token", sender.secret.to_owned()),
        ("x-gitlab-event-uuid", sender.guid.to_owned()),
        ("x-gitlab-webhook-uuid", sender.guid.to_owned()),
        ("idempotency-key", sender.guid.to_owned()),
    ];
    SignedDelivery::new(fields, Bytes::from(payload.to_string()))
}

/// Returns the event's name and its payload.
fn payload(happened: &Happened, url: &str) -> (&'static str, Value) {
    let view = View { url, repo: &happened.repo };
    let (event, mut payload) = match &happened.what {
        What::Opened(subject) => about_subject(view, happened, subject, "open", json!({})),
        What::Closed(subject) => {
            let merged = subject.change.as_ref().is_some_and(|change| change.merged_at.is_some());
            let action = if merged { "merge" } else { "close" };
            about_subject(view, happened, subject, action, json!({}))
        }
        What::Reopened(subject) => about_subject(view, happened, subject, "reopen", json!({})),
        What::Readied(subject) => {
            let changes = json!({"draft": {"previous": true, "current": false}});
            about_subject(view, happened, subject, "update", changes)
        }
        What::Drafted(subject) => {
            let changes = json!({"draft": {"previous": false, "current": true}});
            about_subject(view, happened, subject, "update", changes)
        }
        What::Edited { subject, before } => {
            about_subject(view, happened, subject, "update", edited(subject, before))
        }
        What::Assigned { subject, assignee } => {
            let (current, previous) = grown(&subject.assignees, assignee);
            let changes = json!({"assignees": {"previous": previous, "current": current}});
            about_subject(view, happened, subject, "update", changes)
        }
        What::Labeled { subject, label } => {
            let current = json!([{"title": label}]);
            let changes = json!({"labels": {"previous": [], "current": current}});
            about_subject(view, happened, subject, "update", changes)
        }
        What::ReviewRequested { change, reviewer } => {
            let asked = change.change.as_ref().map(|change| change.reviewers.as_slice());
            let (current, previous) = grown(asked.unwrap_or_default(), reviewer);
            let changes = json!({"reviewers": {"previous": previous, "current": current}});
            about_subject(view, happened, change, "update", changes)
        }
        What::Pushed { change, before } => {
            let (event, mut payload) = about_subject(view, happened, change, "update", json!({}));
            payload["object_attributes"]["oldrev"] = json!(before);
            (event, payload)
        }
        What::BranchMoved { branch, before, after } => {
            ("Push Hook", push(happened, branch, (before.as_deref(), after.as_deref())))
        }
        What::Commented { on, comment, thread } => {
            about_note(view, on, comment, thread.as_ref(), "create")
        }
        What::CommentEdited { on, comment, thread, .. } => {
            about_note(view, on, comment, thread.as_ref(), "update")
        }
        // Neither is told by a webhook of GitLab's; a system hook stands for them.
        What::CommentDeleted { .. } | What::ThreadSettled { .. } => ("System Hook", json!({})),
        What::ReviewSubmitted { on, .. } => {
            about_subject(view, happened, on, "approved", json!({}))
        }
        What::ReviewEdited { .. } => ("System Hook", json!({})),
        What::ReviewDismissed { on, .. } => {
            about_subject(view, happened, on, "unapproved", json!({}))
        }
        What::Granted { to, permission } => {
            let level = super::shape::access_level(*permission);
            let event = json!({"event_name": "user_add_to_team", "user_id": to.id,
                               "project_access": level});
            ("System Hook", event)
        }
        What::Renamed { before } => {
            let event = json!({"event_name": "project_rename",
                               "old_path_with_namespace": before});
            ("System Hook", event)
        }
    };
    payload["project"] = json!({
        "id": happened.repo.id,
        "name": happened.repo.name(),
        "path_with_namespace": happened.repo.full_name,
        "default_branch": happened.repo.default_branch,
        "web_url": view.site(),
        "git_http_url": format!("{}.git", view.site()),
        "visibility_level": 20,
    });
    if payload["object_kind"] != "push" {
        payload["user"] = person(&happened.by);
    }
    (event, payload)
}

fn about_subject(
    view: View<'_>,
    happened: &Happened,
    subject: &FakeSubject,
    action: &str,
    changes: Value,
) -> (&'static str, Value) {
    let people = |accounts: &[Account]| accounts.iter().map(person).collect::<Vec<_>>();
    let mut attributes = attributes(view, subject);
    attributes["action"] = json!(action);
    attributes["updated_at"] = json!(stamp(subject));
    let mut payload = json!({
        "object_attributes": attributes,
        "changes": changes,
        "labels": [],
        "assignees": people(&subject.assignees),
    });
    match &subject.change {
        None => {
            payload["object_kind"] = json!("issue");
            payload["event_type"] = json!("issue");
            ("Issue Hook", payload)
        }
        Some(change) => {
            payload["object_kind"] = json!("merge_request");
            payload["event_type"] = json!("merge_request");
            payload["reviewers"] = json!(people(&change.reviewers));
            let source = happened.fork.as_ref().unwrap_or(&happened.repo);
            payload["object_attributes"]["source"] =
                json!({"path_with_namespace": source.full_name});
            ("Merge Request Hook", payload)
        }
    }
}

/// The subject as deliveries show it: its author by the number only.
fn attributes(view: View<'_>, subject: &FakeSubject) -> Value {
    let mut shown = json!({
        "id": subject.id,
        "iid": subject.number,
        "title": title(subject),
        "description": subject.body,
        "state": view.state(subject),
        "author_id": subject.author.id,
        "assignee_ids": subject.assignees.iter().map(|user| user.id).collect::<Vec<_>>(),
        "created_at": super::shape::time(subject.created_at),
        "updated_at": stamp(subject),
        "url": view.page(subject),
    });
    if let (Some(change), Value::Object(fields)) = (&subject.change, &mut shown) {
        let source = match change.head_repo {
            HeadRepo::Same => Some(view.repo.id),
            HeadRepo::Fork(fork) => Some(fork),
            HeadRepo::Gone => None,
        };
        let more = json!({
            "draft": change.draft,
            "work_in_progress": change.draft,
            "source_branch": change.head_branch,
            "target_branch": change.base_branch,
            "source_project_id": source,
            "target_project_id": view.repo.id,
            "target": {"path_with_namespace": view.repo.full_name},
            "last_commit": {"id": change.head},
        });
        fields.extend(more.as_object().cloned().unwrap_or_default());
    }
    shown
}

fn about_note(
    view: View<'_>,
    on: &FakeSubject,
    note: &FakeComment,
    thread: Option<&FakeThread>,
    action: &str,
) -> (&'static str, Value) {
    let (kind, discussion) = match note.place {
        Spot::Conversation => (None, conversation_id(note.id)),
        Spot::Under(first) => (Some("DiscussionNote"), conversation_id(first)),
        Spot::Inline { thread, .. } => (Some("DiffNote"), thread_id(thread)),
    };
    let (noteable, key) = match on.change {
        Some(_) => ("MergeRequest", "merge_request"),
        None => ("Issue", "issue"),
    };
    let place = thread.zip(on.change.as_ref());
    let mut payload = json!({
        "object_kind": "note",
        "event_type": "note",
        "object_attributes": {
            "id": note.id,
            "note": note.body,
            "type": kind,
            "discussion_id": discussion,
            "noteable_type": noteable,
            "noteable_id": on.id,
            "author_id": note.author.id,
            "system": false,
            "internal": false,
            "action": action,
            "position": place.map(|(thread, change)| position::shown(thread, change)),
            "created_at": super::shape::time(note.created_at),
            "updated_at": super::shape::time(note.updated_at),
            "url": format!("{}#note_{}", view.page(on), note.id),
        },
    });
    payload[key] = attributes(view, on);
    ("Note Hook", payload)
}

/// The actor of a push is told in flat fields.
fn push(happened: &Happened, branch: &str, (before, after): (Option<&str>, Option<&str>)) -> Value {
    let commit = |id: &str| json!({"id": id, "message": format!("A commit on {branch}")});
    let commits: Vec<Value> = after.map(commit).into_iter().collect();
    json!({
        "object_kind": "push",
        "event_name": "push",
        "ref": format!("refs/heads/{branch}"),
        "before": before.unwrap_or(NO_COMMIT),
        "after": after.unwrap_or(NO_COMMIT),
        "checkout_sha": after,
        "user_id": happened.by.id,
        "user_username": happened.by.login,
        "user_name": happened.by.login,
        "project_id": happened.repo.id,
        "total_commits_count": commits.len(),
        "commits": commits,
    })
}

fn edited(subject: &FakeSubject, before: &FakeSubject) -> Value {
    let mut changes = json!({});
    if subject.title != before.title {
        changes["title"] = json!({"previous": before.title, "current": subject.title});
    }
    if subject.body != before.body {
        changes["description"] = json!({"previous": before.body, "current": subject.body});
    }
    if let (Some(now), Some(before)) = (&subject.change, &before.change)
        && now.base_branch != before.base_branch
    {
        changes["target_branch"] =
            json!({"previous": before.base_branch, "current": now.base_branch});
    }
    changes
}

/// Returns a list of people as it is, and as it was before somebody came.
fn grown(now: &[Account], came: &Account) -> (Vec<Value>, Vec<Value>) {
    let before = now.iter().filter(|account| account.id != came.id).map(person).collect();
    (now.iter().map(person).collect(), before)
}

fn person(account: &Account) -> Value {
    json!({"id": account.id, "name": account.login, "username": account.login,
           "avatar_url": null, "email": "[REDACTED]"})
}

/// Deliveries write moments in another way than the API.
fn stamp(subject: &FakeSubject) -> String {
    jiff::Timestamp::from_millisecond(subject.updated_at.0)
        .map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
        .unwrap_or_default()
}
