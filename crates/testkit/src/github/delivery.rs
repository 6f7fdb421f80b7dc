//! GitHub's webhook deliveries as values: signed, and sent when, where and as often as a test says.

use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::{Value, json};

use super::shape;
use crate::forge::{FakeComment, FakeSubject, Happened, Spot, What};
use crate::signature;

/// A delivery, ready to be sent. Cloning it is what GitHub's redelivery does: the same id again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedDelivery {
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// What a receiver answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// No connection is kept between two deliveries: they may be sent from different runtimes.
static CLIENT: LazyLock<Result<reqwest::Client, reqwest::Error>> =
    LazyLock::new(|| reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build());

impl SignedDelivery {
    /// Makes the delivery that GitHub would send for what happened.
    pub(crate) fn of(happened: &Happened, url: &str, secret: &str, guid: &str) -> Self {
        let (event, payload) = payload(happened, url);
        Self::sign(event, &payload, secret, guid, happened.repo.id)
    }

    /// Signs any payload as a delivery of `event`.
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
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        Self { headers, body }
    }

    /// Returns the id that stays the same over redeliveries.
    pub fn id(&self) -> &str {
        let id = self.headers.get("x-github-delivery");
        id.and_then(|id| id.to_str().ok()).unwrap_or_default()
    }

    /// Sends it once.
    pub async fn send_to(&self, url: &str) -> Result<Answered, reqwest::Error> {
        let client = match &*CLIENT {
            Ok(client) => client,
            Err(why) => panic!("no HTTP client for deliveries: {why}"),
        };
        let request = client.post(url).headers(self.headers.clone()).body(self.body.clone());
        let response = request.send().await?;
        let (status, headers) = (response.status(), response.headers().clone());
        Ok(Answered { status, headers, body: response.bytes().await? })
    }
}

impl Answered {
    /// Returns the body as JSON, null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}

/// Returns the event's name and its payload.
fn payload(happened: &Happened, url: &str) -> (&'static str, Value) {
    let repo = &happened.repo;
    let (event, mut payload) = match &happened.what {
        What::Opened(subject) => about_subject(happened, url, subject, "opened"),
        What::Closed(subject) => about_subject(happened, url, subject, "closed"),
        What::Pushed { change, before } => {
            let (event, mut payload) = about_subject(happened, url, change, "synchronize");
            payload["before"] = json!(before);
            payload["after"] = payload["pull_request"]["head"]["sha"].clone();
            (event, payload)
        }
        What::Commented { on, comment } => about_comment(happened, url, on, comment, "created"),
        What::CommentEdited { on, comment, before } => {
            let (event, mut payload) = about_comment(happened, url, on, comment, "edited");
            payload["changes"] = json!({"body": {"from": before}});
            (event, payload)
        }
        What::CommentDeleted { on, comment } => {
            about_comment(happened, url, on, comment, "deleted")
        }
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
    payload["repository"] = shape::repository(url, repo);
    payload["sender"] = shape::account(&happened.by);
    (event, payload)
}

fn about_subject(
    happened: &Happened,
    url: &str,
    subject: &FakeSubject,
    action: &str,
) -> (&'static str, Value) {
    if subject.change.is_some() {
        let change = shape::pull_request(url, &happened.repo, subject);
        (
            "pull_request",
            json!({"action": action, "number": subject.number, "pull_request": change}),
        )
    } else {
        ("issues", json!({"action": action, "issue": shape::issue(url, &happened.repo, subject)}))
    }
}

fn about_comment(
    happened: &Happened,
    url: &str,
    on: &FakeSubject,
    comment: &FakeComment,
    action: &str,
) -> (&'static str, Value) {
    let shown = shape::comment(url, &happened.repo, comment);
    match comment.place {
        Spot::Conversation => {
            let issue = shape::issue(url, &happened.repo, on);
            ("issue_comment", json!({"action": action, "issue": issue, "comment": shown}))
        }
        Spot::Line { .. } => {
            let change = shape::pull_request(url, &happened.repo, on);
            let payload = json!({"action": action, "pull_request": change, "comment": shown});
            ("pull_request_review_comment", payload)
        }
    }
}
