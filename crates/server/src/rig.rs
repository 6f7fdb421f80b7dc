//! What the tests of this crate stand on: a real store in a temporary folder, real ingest with one
//! connection, a clock that does not move by itself, and answers as text.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::response::Response;
use domain::{Clock, Origin, Policy, Time};
use engine::ingest::Belief;
use engine::{Door, Ingest};
use forge::Host;
use hmac::{Hmac, KeyInit, Mac};
use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HOST, X_CONTENT_TYPE_OPTIONS,
};
use http::{Request, request};
use report::redact::Redactor;
use secrecy::SecretString;
use serde_json::Value;
use sha2::Sha256;
use store::settle::Patience;
use store::{Place, Store, TimeSource};
use tempfile::TempDir;
use tower::ServiceExt;

use crate::{App, Limits};

const SECRET: &str = "webhook-secret";
pub(crate) const TOKEN: &str = "admin-token";

/// A clock that stands still until a test moves it.
#[derive(Debug)]
pub(crate) struct StillClock {
    now: AtomicI64,
    sleeps_end: bool,
}

impl Default for StillClock {
    fn default() -> Self {
        Self { now: AtomicI64::new(1_767_225_600_000), sleeps_end: false }
    }
}

impl StillClock {
    /// Returns a clock for which every wait is over at once.
    pub(crate) fn whose_sleeps_end() -> Self {
        Self { sleeps_end: true, ..Self::default() }
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.now.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::Relaxed);
    }
}

#[async_trait]
impl Clock for StillClock {
    fn now(&self) -> Time {
        Time(self.now.load(Ordering::Relaxed))
    }

    fn monotonic(&self) -> Duration {
        self.now().since(Time(0))
    }

    async fn sleep_until(&self, _: Time) {
        if !self.sleeps_end {
            std::future::pending::<()>().await;
        }
    }
}

/// A gateway with GitHub and GitLab connected. There is no forge behind them.
pub(crate) struct Rig {
    pub(crate) store: Store,
    pub(crate) clock: Arc<StillClock>,
    pub(crate) router: Router,
    folder: TempDir,
}

impl Rig {
    pub(crate) async fn new() -> Self {
        Self::with(|_| {}).await
    }

    /// Returns a gateway whose settings the test changes.
    pub(crate) async fn with(change: impl FnOnce(&mut App)) -> Self {
        Self::made(Policy::for_bot("bot"), change).await
    }

    /// Returns a gateway with another policy of its operator.
    pub(crate) async fn under(policy: Policy) -> Self {
        Self::made(policy, |_| {}).await
    }

    async fn made(policy: Policy, change: impl FnOnce(&mut App)) -> Self {
        let (mut app, clock, folder) = app(policy).await;
        change(&mut app);
        Self { store: app.store.clone(), clock, router: crate::router(app), folder }
    }

    /// Takes the database away: whoever opens it from now on fails.
    pub(crate) fn lose_store(&self) {
        std::fs::remove_dir_all(self.folder.path()).unwrap();
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Response {
        self.router.clone().oneshot(request).await.unwrap()
    }

    /// Sends an operator's request and returns its status and its body.
    pub(crate) async fn operate(&self, method: &str, uri: &str) -> (u16, Value) {
        let request = as_operator(method, uri).body(Body::empty()).unwrap();
        let response = self.send(request).await;
        let status = response.status().as_u16();
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }

    /// Delivers an order for help and returns the job that it became.
    pub(crate) async fn ask_for_help(&self, comment: u64) -> String {
        let body = help(comment);
        let response = self.send(signed("/api/webhook", "issue_comment", &body)).await;
        let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
        let answer: Value = serde_json::from_slice(&body).unwrap();
        answer["job_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

/// Returns what a gateway is made of, its clock and its folder.
pub(crate) async fn app(policy: Policy) -> (App, Arc<StillClock>, TempDir) {
    let folder = TempDir::new().unwrap();
    let clock = Arc::new(StillClock::default());
    let place = Place::Sqlite(folder.path().join("store.db"));
    let time = TimeSource::Given(Arc::clone(&clock) as _);
    let store =
        Store::open(&place, time, Patience::default(), Arc::new(|_| Vec::new())).await.unwrap();
    let door = |host, origin| {
        Door::new(host, Origin::new(origin), vec![SecretString::from(SECRET)], policy.clone())
    };
    let doors = vec![
        door(Host::GitHub, "https://github.example"),
        door(Host::GitLab, "https://gitlab.example"),
    ];
    let redactor = Arc::new(Redactor::new([]));
    let app = App {
        ingest: Ingest::new(store.clone(), doors, redactor, Arc::clone(&clock) as _),
        store,
        clock: Arc::clone(&clock) as _,
        belief: Belief::Signature,
        admin_token: Some(SecretString::from(TOKEN)),
        allowed_hosts: Vec::new(),
        limits: Limits::default(),
    };
    (app, clock, folder)
}

/// Returns GitHub's delivery of a comment that asks for help.
pub(crate) fn help(comment: u64) -> String {
    format!(
        r#"{{"action":"created",
            "issue":{{"number":42,"title":"Bug","body":"details","user":{{"id":7,"login":"alice"}}}},
            "comment":{{"id":{comment},"body":"@bot help","user":{{"id":7,"login":"alice"}}}},
            "repository":{{"id":1,"full_name":"acme/demo","name":"demo","owner":{{"login":"acme"}},"default_branch":"main"}},
            "sender":{{"id":7,"login":"alice"}}}}"#
    )
}

/// Starts a request from a peer.
pub(crate) fn from_peer(method: &str, uri: &str) -> request::Builder {
    let peer: SocketAddr = "192.0.2.1:4000".parse().unwrap();
    Request::builder()
        .method(method)
        .uri(uri)
        .header(HOST, "localhost")
        .extension(ConnectInfo(peer))
}

/// Starts an operator's request.
pub(crate) fn as_operator(method: &str, uri: &str) -> request::Builder {
    from_peer(method, uri).header(AUTHORIZATION, format!("Bearer {TOKEN}"))
}

/// Makes a delivery of GitHub with the right signature.
pub(crate) fn signed(uri: &str, event: &str, body: &str) -> Request<Body> {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
    from_peer("POST", uri)
        .header("x-github-event", event)
        .header("x-hub-signature-256", signature)
        .body(Body::from(body.to_owned()))
        .unwrap()
}

/// Makes a delivery of GitLab with the right token.
pub(crate) fn from_gitlab(event: &str, body: &str) -> Request<Body> {
    from_peer("POST", "/api/webhook")
        .header("x-gitlab-event", event)
        .header("x-gitlab-token", SECRET)
        .body(Body::from(body.to_owned()))
        .unwrap()
}

/// Writes an answer down: its status, the headers that not every answer has, and its body.
pub(crate) async fn shown(response: Response) -> String {
    let (head, body) = response.into_parts();
    let mut lines = vec![head.status.as_u16().to_string()];
    for (name, value) in &head.headers {
        if ![CONTENT_TYPE, CONTENT_LENGTH, X_CONTENT_TYPE_OPTIONS, CACHE_CONTROL].contains(name) {
            lines.push(format!("{name}: {}", value.to_str().unwrap()));
        }
    }
    let body = to_bytes(body, usize::MAX).await.unwrap();
    lines.push(String::from_utf8(body.to_vec()).unwrap());
    lines.join("\n")
}
