//! What GitCode tells its webhooks, and how it signs it.

use bytes::Bytes;
use serde_json::{Value, json};

use super::shape::{self, person};
use crate::forge::{
    FakeComment, FakeRepo, FakeSubject, FakeThread, Happened, HeadRepo, Sender, Side,
    SignedDelivery, What, commit,
};
use crate::signature;

/// What stands for a commit where there is none.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// Makes the delivery that GitCode would send for what happened.
pub(super) fn delivery(happened: &Happened, sender: Sender<'_>) -> SignedDelivery {
    let (event, mut payload) = payload(happened, sender.url);
    payload["user"] = person(&happened.by);
    payload["project_id"] = json!(happened.repo.id);
    payload["project"] = project(sender.url, &happened.repo);
    // Sparse, and without the full name.
    payload["repository"] = json!({"name": happened.repo.name(), "visibility_level": 20});
    payload["uuid"] = json!(sender.guid);
    payload["produce_random_id"] = json!(commit(sender.guid));
    payload["manual_build"] = json!(false);
    payload["extend_attributes"] = Value::Null;
    let body = Bytes::from(payload.to_string());
    let fields = [
        ("content-type", "application/json".to_owned()),
        ("user-agent", "git-gitcode-hook".to_owned()),
        ("x-gitcode-event", event.to_owned()),
        ("x-gitcode-delivery", sender.guid.to_owned()),
        ("x-gitcode-signature-256", format!("sha256={}", signature::hex(sender.secret, &body))),
    ];
    SignedDelivery::new(fields, body)
}

/// Returns the event's name and its payload.
fn payload(happened: &Happened, url: &str) -> (&'static str, Value) {
    let about = |subject, action| about_subject(happened, url, subject, action);
    let updated = |subject, changes: Value| {
        let (event, mut payload) = about(subject, "update");
        payload["changes"] = changes;
        (event, payload)
    };
    match &happened.what {
        What::Opened(subject) => {
            let (event, mut payload) = about(subject, "open");
            // Every field is there, as if it had been edited.
            payload["changes"] = json!({"title": {"previous": null, "current": subject.title}});
            (event, payload)
        }
        What::Closed(subject) => {
            let merged = subject.change.as_ref().is_some_and(|change| change.merged_at.is_some());
            about(subject, if merged { "merge" } else { "close" })
        }
        What::Reopened(subject) => about(subject, "reopen"),
        What::Readied(subject) => updated(subject, readied(true)),
        What::Drafted(subject) => updated(subject, readied(false)),
        What::Edited { subject, before } => {
            let mut changes = json!({});
            let target =
                |of: &FakeSubject| of.change.as_ref().map(|change| change.base_branch.clone());
            for (field, was, is) in [
                ("title", Some(&before.title).cloned(), Some(&subject.title).cloned()),
                ("description", Some(&before.body).cloned(), Some(&subject.body).cloned()),
                ("target_branch", target(before), target(subject)),
            ] {
                if was != is {
                    changes[field] = json!({"previous": was, "current": is});
                }
            }
            updated(subject, changes)
        }
        What::Assigned { subject, assignee } => {
            let current: Vec<Value> = subject.assignees.iter().map(person).collect();
            let others = subject.assignees.iter().filter(|other| other.id != assignee.id);
            let previous: Vec<Value> = others.map(person).collect();
            updated(subject, json!({"assignees": {"previous": previous, "current": current}}))
        }
        What::Labeled { subject, label } => {
            updated(subject, json!({"labels": {"previous": null, "current": [label]}}))
        }
        What::ReviewRequested { change, reviewer } => {
            let current = json!([person(reviewer)]);
            updated(change, json!({"reviewer_list": {"previous": [], "current": current}}))
        }
        What::Pushed { change, before } => {
            let (event, mut payload) = about(change, "update");
            payload["object_attributes"]["oldrev"] = json!(before);
            payload["object_attributes"]["update_reason"] = json!("source update");
            (event, payload)
        }
        What::BranchMoved { branch, before, after } => {
            let commit =
                |commit: &Option<String>| commit.clone().unwrap_or_else(|| NO_COMMIT.to_owned());
            let payload = json!({
                "object_kind": "push", "event_name": "push", "event_type": "push",
                "ref": format!("refs/heads/{branch}"), "before": commit(before),
                "after": commit(after), "checkout_sha": after, "commits": [],
                "total_commits_count": 1, "user_id": happened.by.id,
                "user_username": happened.by.login, "user_name": happened.by.login,
            });
            ("Push Hook", payload)
        }
        What::Commented { on, comment, thread } => {
            noted(happened, url, on, (comment, thread.as_ref()), "create")
        }
        What::CommentEdited { on, comment, thread, .. } => {
            noted(happened, url, on, (comment, thread.as_ref()), "update")
        }
        What::CommentDeleted { on, comment, thread } => {
            noted(happened, url, on, (comment, thread.as_ref()), "delete")
        }
        What::ReviewSubmitted { on, .. }
        | What::ReviewEdited { on, .. }
        | What::ReviewDismissed { on, .. }
        | What::ThreadSettled { on, .. } => updated(on, json!({})),
        What::Granted { .. } => ("Member Hook", json!({"object_kind": "member"})),
        What::Renamed { .. } => ("Repository Hook", json!({"object_kind": "repository"})),
    }
}

fn readied(ready: bool) -> Value {
    json!({"work_in_progress": {"previous": ready, "current": !ready}})
}

fn about_subject(
    happened: &Happened,
    url: &str,
    subject: &FakeSubject,
    action: &str,
) -> (&'static str, Value) {
    let mut attributes = attributes(happened, url, subject);
    attributes["action"] = json!(action);
    let (event, kind) = match subject.change.is_some() {
        true => ("Merge Request Hook", "merge_request"),
        false => ("Issue Hook", "issue"),
    };
    let payload = json!({
        "object_kind": kind, "event_type": kind, "object_attributes": attributes,
        "labels": [], "changes": {},
    });
    (event, payload)
}

fn attributes(happened: &Happened, url: &str, subject: &FakeSubject) -> Value {
    let state = if subject.open { "opened" } else { "closed" };
    let mut attributes = json!({
        "id": subject.id,
        "iid": subject.number,
        "title": subject.title,
        "description": subject.body,
        "state": state,
        "author": person(&subject.author),
        "author_id": subject.author.id,
        "assignee_ids": subject.assignees.iter().map(|account| account.id).collect::<Vec<_>>(),
        "created_at": shape::time(subject.created_at),
        "updated_at": shape::time(subject.updated_at),
    });
    let Some(change) = &subject.change else {
        attributes["url"] =
            json!(format!("{url}/{}/issues/{}", happened.repo.full_name, subject.number));
        return attributes;
    };
    let source = match change.head_repo {
        HeadRepo::Same => Some(&happened.repo),
        HeadRepo::Fork(_) => happened.fork.as_ref(),
        HeadRepo::Gone => None,
    };
    if change.draft {
        attributes["title"] = json!(format!("[WIP]{}", subject.title));
    }
    attributes["work_in_progress"] = json!(change.draft);
    attributes["source_branch"] = json!(change.head_branch);
    attributes["target_branch"] = json!(change.base_branch);
    attributes["source"] = json!(source.map(|repo| project(url, repo)));
    attributes["target"] = project(url, &happened.repo);
    attributes["last_commit"] = json!({"id": change.head});
    attributes["target_branch_commit"] = json!({"id": change.base});
    attributes["reviewer_list"] = change.reviewers.iter().map(person).collect();
    // Empty, not absent, unless something was pushed.
    attributes["oldrev"] = json!("");
    attributes["update_reason"] = json!("");
    attributes["url"] =
        json!(format!("{url}/{}/merge_requests/{}", happened.repo.full_name, subject.number));
    attributes
}

fn noted(
    happened: &Happened,
    url: &str,
    on: &FakeSubject,
    (comment, thread): (&FakeComment, Option<&FakeThread>),
    action: &str,
) -> (&'static str, Value) {
    let mut subject = attributes(happened, url, on);
    let (kind, field) = match on.change.is_some() {
        true => ("MergeRequest", "merge_request"),
        false => ("Issue", "issue"),
    };
    if on.change.is_some() {
        // Stale, whatever happened.
        subject["action"] = json!("open");
    }
    let discussion = shape::discussion(comment);
    let mut note = json!({
        "id": comment.id,
        "note": comment.body,
        "description": comment.body,
        "discussion_id": discussion,
        "noteable_id": on.id,
        "noteable_type": kind,
        "author_id": comment.author.id,
        "type": null,
        "system": false,
        "position": {},
        "action": action,
        "created_at": shape::time(comment.created_at),
        "updated_at": shape::time(comment.updated_at),
        "url": format!("{}#note_{discussion}", subject["url"].as_str().unwrap_or_default()),
    });
    if let Some(thread) = thread {
        let line = |side| thread.anchor.lines.filter(|lines| lines.side == side);
        note["type"] = json!("DiffNote");
        note["position"] = json!({
            "new_path": thread.anchor.path,
            "old_path": thread.anchor.path,
            "new_line": line(Side::New).map(|lines| lines.line),
            "old_line": line(Side::Old).map(|lines| lines.line),
            "head_sha": thread.commit,
        });
    }
    let mut payload =
        json!({"object_kind": "note", "event_type": "note", "object_attributes": note});
    payload[field] = subject;
    ("Note Hook", payload)
}

fn project(url: &str, repo: &FakeRepo) -> Value {
    let namespace = repo.full_name.rsplit_once('/').map_or("", |(owner, _)| owner);
    json!({
        "id": repo.id,
        "name": repo.name(),
        "namespace": namespace,
        "path_with_namespace": repo.full_name,
        "default_branch": repo.default_branch,
        "web_url": format!("{url}/{}", repo.full_name),
        "git_http_url": format!("{url}/{}.git", repo.full_name),
        "visibility_level": 20,
    })
}
