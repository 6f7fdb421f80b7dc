//! What Gitea tells its webhooks, and how it signs it.

use bytes::Bytes;
use serde_json::{Value, json};

use super::shape::{self, View};
use crate::forge::{
    FakeComment, FakeReview, FakeSubject, Happened, ReviewState, Sender, SignedDelivery, Spot, What,
};
use crate::signature;

/// What stands for a commit where there is none.
const NO_COMMIT: &str = "0000000000000000000000000000000000000000";

/// The coarse event, the fine type, and the payload.
type Told = (&'static str, &'static str, Value);

/// Makes the delivery that Gitea would send for what happened.
pub(super) fn delivery(happened: &Happened, sender: Sender<'_>) -> SignedDelivery {
    let (event, event_type, payload) = payload(happened, sender.url);
    // Its bodies are indented: whoever writes them anew before checking finds a wrong signature.
    let body = Bytes::from(format!("{payload:#}"));
    let signature = signature::hex(sender.secret, &body);
    let fields = [
        ("content-type", "application/json".to_owned()),
        ("user-agent", "Go-http-client/1.1".to_owned()),
        ("x-gitea-delivery", sender.guid.to_owned()),
        ("x-gitea-event", event.to_owned()),
        ("x-gitea-event-type", event_type.to_owned()),
        ("x-gitea-hook-installation-target-type", "repository".to_owned()),
        ("x-gitea-signature", signature.clone()),
        ("x-gogs-delivery", sender.guid.to_owned()),
        ("x-gogs-event", event.to_owned()),
        ("x-gogs-event-type", event_type.to_owned()),
        ("x-gogs-signature", signature.clone()),
        // It borrows GitHub's headers, too.
        ("x-github-delivery", sender.guid.to_owned()),
        ("x-github-event", event.to_owned()),
        ("x-github-event-type", event_type.to_owned()),
        ("x-hub-signature-256", format!("sha256={signature}")),
    ];
    SignedDelivery::new(fields, body)
}

fn payload(happened: &Happened, url: &str) -> Told {
    let view = View { url, repo: &happened.repo, fork: happened.fork.as_ref() };
    let (event, event_type, mut payload) = match &happened.what {
        What::Opened(subject) => about_subject(view, subject, "opened"),
        What::Closed(subject) => about_subject(view, subject, "closed"),
        What::Reopened(subject) => about_subject(view, subject, "reopened"),
        // Both are edits of the title, and nothing else tells.
        What::Readied(subject) => {
            let before = format!("{}{}", shape::DRAFT, subject.title);
            with_changes(about_subject(view, subject, "edited"), json!({"title": {"from": before}}))
        }
        What::Drafted(subject) => {
            let before = subject.title.clone();
            with_changes(about_subject(view, subject, "edited"), json!({"title": {"from": before}}))
        }
        What::Edited { subject, before } => {
            with_changes(about_subject(view, subject, "edited"), changes(subject, before))
        }
        What::Assigned { subject, .. } => {
            let (event, _, payload) = about_subject(view, subject, "assigned");
            let event_type =
                if subject.change.is_some() { "pull_request_assign" } else { "issue_assign" };
            (event, event_type, payload)
        }
        What::Labeled { subject, .. } => {
            let (event, _, payload) = about_subject(view, subject, "label_updated");
            let event_type =
                if subject.change.is_some() { "pull_request_label" } else { "issue_label" };
            (event, event_type, payload)
        }
        What::ReviewRequested { change, reviewer } => {
            let (event, _, mut payload) = about_subject(view, change, "review_requested");
            payload["requested_reviewer"] = shape::account(reviewer);
            (event, "pull_request_review_request", payload)
        }
        What::Pushed { change, .. } => {
            let (event, _, payload) = about_subject(view, change, "synchronized");
            (event, "pull_request_sync", payload)
        }
        What::BranchMoved { branch, before, after } => {
            let told = push(happened, branch, (before.as_deref(), after.as_deref()));
            ("push", "push", told)
        }
        What::Commented { on, comment, .. } => about_comment(view, on, comment, "created"),
        What::CommentEdited { on, comment, before, .. } => with_changes(
            about_comment(view, on, comment, "edited"),
            json!({"body": {"from": before}}),
        ),
        What::CommentDeleted { on, comment, .. } => about_comment(view, on, comment, "deleted"),
        What::ReviewSubmitted { on, review } | What::ReviewEdited { on, review } => {
            about_review(view, on, review)
        }
        // Nothing is sent for these: a receiver has no use for what it gets instead.
        What::ReviewDismissed { .. } | What::ThreadSettled { .. } | What::Granted { .. } => {
            ("repository", "repository", json!({"action": "unknown"}))
        }
        What::Renamed { .. } => ("repository", "repository", json!({"action": "renamed"})),
    };
    payload["repository"] = view.repository();
    payload["sender"] = shape::account(&happened.by);
    (event, event_type, payload)
}

fn about_subject(view: View<'_>, subject: &FakeSubject, action: &str) -> Told {
    let number = subject.number;
    if subject.change.is_some() {
        let change = view.change(subject);
        let payload = json!({
            "action": action, "number": number, "pull_request": change,
            "requested_reviewer": null, "commit_id": "", "review": null,
        });
        ("pull_request", "pull_request", payload)
    } else {
        let payload = json!({
            "action": action, "number": number, "issue": view.issue(subject), "commit_id": "",
        });
        ("issues", "issues", payload)
    }
}

/// A comment by itself. The first of a conversation on a line comes as the review that it is, and
/// a reply to it as if it stood in the conversation of the change.
fn about_comment(view: View<'_>, on: &FakeSubject, comment: &FakeComment, action: &str) -> Told {
    if action == "created" && matches!(comment.place, Spot::Inline { reply_to: None, .. }) {
        return reviewed(view, on, ReviewState::Commented, "");
    }
    let is_pull = on.change.is_some();
    let mut payload = json!({
        "action": action,
        "issue": view.issue(on),
        "comment": view.comment(comment, on),
        "is_pull": is_pull,
    });
    if is_pull {
        payload["pull_request"] = view.change(on);
    }
    let event_type = if is_pull { "pull_request_comment" } else { "issue_comment" };
    ("issue_comment", event_type, payload)
}

fn about_review(view: View<'_>, on: &FakeSubject, review: &FakeReview) -> Told {
    reviewed(view, on, review.state, &review.body)
}

/// A review: neither its id nor its comments are told.
fn reviewed(view: View<'_>, on: &FakeSubject, state: ReviewState, text: &str) -> Told {
    let (event, event_type) = match state {
        ReviewState::Approved => ("pull_request_approved", "pull_request_review_approved"),
        ReviewState::ChangesRequested | ReviewState::Dismissed => {
            ("pull_request_rejected", "pull_request_review_rejected")
        }
        ReviewState::Commented | ReviewState::Pending => {
            ("pull_request_comment", "pull_request_review_comment")
        }
    };
    let payload = json!({
        "action": "reviewed",
        "number": on.number,
        "pull_request": view.change(on),
        "requested_reviewer": null,
        "commit_id": "",
        "review": {"type": event_type, "content": text},
    });
    (event, event_type, payload)
}

fn push(happened: &Happened, branch: &str, (before, after): (Option<&str>, Option<&str>)) -> Value {
    let commit = |id: &str| {
        json!({
            "id": id,
            "message": format!("A commit on {branch}"),
            "author": {"name": happened.by.login, "email": "", "username": happened.by.login},
            "added": [], "removed": [], "modified": [],
        })
    };
    json!({
        "ref": format!("refs/heads/{branch}"),
        "before": before.unwrap_or(NO_COMMIT),
        "after": after.unwrap_or(NO_COMMIT),
        "compare_url": "",
        "commits": after.map(commit).into_iter().collect::<Vec<_>>(),
        "total_commits": after.iter().count(),
        "head_commit": after.map(commit),
        "pusher": shape::account(&happened.by),
    })
}

fn with_changes((event, event_type, mut payload): Told, changes: Value) -> Told {
    payload["changes"] = changes;
    (event, event_type, payload)
}

/// Tells what an edit changed, and from what.
fn changes(subject: &FakeSubject, before: &FakeSubject) -> Value {
    let mut changes = json!({});
    if shape::title(subject) != shape::title(before) {
        changes["title"] = json!({"from": shape::title(before)});
    }
    if subject.body != before.body {
        changes["body"] = json!({"from": before.body});
    }
    if let (Some(now), Some(before)) = (&subject.change, &before.change)
        && now.base_branch != before.base_branch
    {
        changes["ref"] = json!({"from": before.base_branch});
    }
    changes
}
