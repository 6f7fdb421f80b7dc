//! What GitHub tells its webhooks, and how it signs it.

use bytes::Bytes;
use serde_json::{Value, json};

use super::shape::{self, View};
use crate::forge::{
    FakeComment, FakeDiff, FakeSubject, FakeThread, Happened, Sender, SignedDelivery, What,
};
use crate::signature;

/// What stands for a commit where there is none.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// Makes the delivery that GitHub would send for what happened.
pub(super) fn delivery(happened: &Happened, sender: Sender<'_>) -> SignedDelivery {
    let (event, payload) = payload(happened, sender.url);
    SignedDelivery::sign(event, &payload, sender.secret, sender.guid, happened.repo.id)
}

impl SignedDelivery {
    /// Signs any payload as GitHub's delivery of `event`.
    pub fn sign(event: &str, payload: &Value, secret: &str, guid: &str, repo: u64) -> Self {
        let body = Bytes::from(payload.to_string());
        let fields = [
            ("accept", "*/*".to_owned()),
            ("content-type", "application/json".to_owned()),
            ("user-agent", "GitHub-Hookshot/044aadd".to_owned()),
            ("x-github-event", event.to_owned()),
            ("x-github-delivery", guid.to_owned()),
            ("x-github-hook-id", "292430182".to_owned()),
            ("x-github-hook-installation-target-type", "repository".to_owned()),
            ("x-github-hook-installation-target-id", repo.to_string()),
            ("x-hub-signature-256", format!("sha256={}", signature::hex(secret, &body))),
        ];
        Self::new(fields, body)
    }
}

/// Returns the event's name and its payload.
fn payload(happened: &Happened, url: &str) -> (&'static str, Value) {
    let view = View { url, repo: &happened.repo, fork: happened.fork.as_ref() };
    let (event, mut payload) = match &happened.what {
        What::Opened(subject) => about_subject(view, subject, "opened"),
        What::Closed(subject) => about_subject(view, subject, "closed"),
        What::Reopened(subject) => about_subject(view, subject, "reopened"),
        What::Readied(subject) => about_subject(view, subject, "ready_for_review"),
        What::Drafted(subject) => about_subject(view, subject, "converted_to_draft"),
        What::Edited { subject, before } => {
            let (event, mut payload) = about_subject(view, subject, "edited");
            payload["changes"] = changes(subject, before);
            (event, payload)
        }
        What::Assigned { subject, assignee } => {
            let (event, mut payload) = about_subject(view, subject, "assigned");
            payload["assignee"] = shape::account(assignee);
            (event, payload)
        }
        What::Labeled { subject, label } => {
            let (event, mut payload) = about_subject(view, subject, "labeled");
            payload["label"] = json!({"id": 208_045, "name": label, "color": "ededed"});
            (event, payload)
        }
        What::ReviewRequested { change, reviewer } => {
            let (event, mut payload) = about_subject(view, change, "review_requested");
            payload["requested_reviewer"] = shape::account(reviewer);
            (event, payload)
        }
        What::Pushed { change, before } => {
            let (event, mut payload) = about_subject(view, change, "synchronize");
            payload["before"] = json!(before);
            payload["after"] = payload["pull_request"]["head"]["sha"].clone();
            (event, payload)
        }
        What::BranchMoved { branch, before, after } => {
            ("push", push(happened, view, branch, (before.as_deref(), after.as_deref())))
        }
        What::Commented { on, comment, thread } => {
            about_comment(view, on, comment, thread.as_ref(), "created")
        }
        What::CommentEdited { on, comment, thread, before } => {
            let (event, mut payload) = about_comment(view, on, comment, thread.as_ref(), "edited");
            payload["changes"] = json!({"body": {"from": before}});
            (event, payload)
        }
        What::CommentDeleted { on, comment, thread } => {
            about_comment(view, on, comment, thread.as_ref(), "deleted")
        }
        What::ReviewSubmitted { on, review } => {
            about_review(view, on, view.review(review), "submitted")
        }
        What::ReviewEdited { on, review } => about_review(view, on, view.review(review), "edited"),
        What::ReviewDismissed { on, review } => {
            about_review(view, on, view.review(review), "dismissed")
        }
        What::ThreadSettled { on, thread, comments } => about_thread(view, on, thread, comments),
        What::Granted { to, permission } => {
            let change = json!({"permission": {"to": shape::role(*permission)}});
            ("member", json!({"action": "added", "member": shape::account(to), "changes": change}))
        }
        What::Renamed { before } => {
            let name = before.split_once('/').map_or(before.as_str(), |(_, name)| name);
            let change = json!({"repository": {"name": {"from": name}}});
            ("repository", json!({"action": "renamed", "changes": change}))
        }
    };
    payload["repository"] = view.repository();
    payload["sender"] = shape::account(&happened.by);
    (event, payload)
}

fn about_subject(view: View<'_>, subject: &FakeSubject, action: &str) -> (&'static str, Value) {
    if subject.change.is_some() {
        let change = view.pull_request(subject);
        (
            "pull_request",
            json!({"action": action, "number": subject.number, "pull_request": change}),
        )
    } else {
        ("issues", json!({"action": action, "issue": view.issue(subject)}))
    }
}

fn about_comment(
    view: View<'_>,
    on: &FakeSubject,
    comment: &FakeComment,
    thread: Option<&FakeThread>,
    action: &str,
) -> (&'static str, Value) {
    let Some(thread) = thread else {
        let (issue, shown) = (view.issue(on), view.comment(comment, None));
        return ("issue_comment", json!({"action": action, "issue": issue, "comment": shown}));
    };
    let shown = view.comment(comment, Some((thread, &diff_of(on))));
    let change = view.pull_request(on);
    let payload = json!({"action": action, "pull_request": change, "comment": shown});
    ("pull_request_review_comment", payload)
}

fn about_review(
    view: View<'_>,
    on: &FakeSubject,
    mut review: Value,
    action: &str,
) -> (&'static str, Value) {
    // Deliveries have the state in small letters, and null where nothing was written.
    let state = review["state"].as_str().unwrap_or_default().to_lowercase();
    review["state"] = json!(state);
    if review["body"] == json!("") {
        review["body"] = Value::Null;
    }
    let change = view.pull_request(on);
    ("pull_request_review", json!({"action": action, "review": review, "pull_request": change}))
}

fn about_thread(
    view: View<'_>,
    on: &FakeSubject,
    thread: &FakeThread,
    comments: &[FakeComment],
) -> (&'static str, Value) {
    let action = if thread.resolved_by.is_some() { "resolved" } else { "unresolved" };
    let diff = diff_of(on);
    let comments: Vec<Value> =
        comments.iter().map(|comment| view.comment(comment, Some((thread, &diff)))).collect();
    let thread = json!({"node_id": format!("PRRT_{}", thread.id), "comments": comments});
    let change = view.pull_request(on);
    (
        "pull_request_review_thread",
        json!({"action": action, "thread": thread, "pull_request": change}),
    )
}

fn push(
    happened: &Happened,
    view: View<'_>,
    branch: &str,
    (before, after): (Option<&str>, Option<&str>),
) -> Value {
    let commit = |id: &str| {
        json!({
            "id": id,
            "tree_id": id,
            "distinct": true,
            "message": format!("A commit on {branch}"),
            "author": {"name": happened.by.login, "email": null},
            "added": [], "removed": [], "modified": [],
        })
    };
    json!({
        "ref": format!("refs/heads/{branch}"),
        "before": before.unwrap_or(NO_COMMIT),
        "after": after.unwrap_or(NO_COMMIT),
        "created": before.is_none(),
        "deleted": after.is_none(),
        "forced": false,
        "base_ref": null,
        "compare": format!("https://github.example/{}/compare", view.repo.full_name),
        "commits": after.map(commit).into_iter().collect::<Vec<_>>(),
        "head_commit": after.map(commit),
        "pusher": {"name": happened.by.login, "email": null},
    })
}

/// Tells what an edit changed, and from what.
fn changes(subject: &FakeSubject, before: &FakeSubject) -> Value {
    let mut changes = json!({});
    if subject.title != before.title {
        changes["title"] = json!({"from": before.title});
    }
    if subject.body != before.body {
        changes["body"] = json!({"from": before.body});
    }
    if let (Some(now), Some(before)) = (&subject.change, &before.change)
        && now.base_branch != before.base_branch
    {
        changes["base"] =
            json!({"ref": {"from": before.base_branch}, "sha": {"from": before.base}});
    }
    changes
}

fn diff_of(on: &FakeSubject) -> FakeDiff {
    on.change.as_ref().map(|change| (*change.diff()).clone()).unwrap_or_default()
}
