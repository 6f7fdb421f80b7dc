//! Takes deliveries: the one way in from the forges.
//!
//! The order of answers is a promise to integrations: too large, not authentic, not readable, not
//! used, not allowed, accepted. A signature is checked before anything is said about the content,
//! and only a wrong one is ever counted against its address.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Json;
use axum::extract::{ConnectInfo, Request, State};
use axum::response::{IntoResponse, Response};
use engine::Answer;
use engine::ingest::Belief;
use forge::Host;
use http::StatusCode;

use crate::answer::{Acceptance, Disregard, Refusal};
use crate::app::Gateway;
use crate::error::Error;

type Peer = ConnectInfo<SocketAddr>;

/// Describes a route that takes deliveries: they differ in their address alone.
macro_rules! takes_deliveries {
    ($(#[$doc:meta])* $name:ident, $path:literal, $host:expr) => {
        $(#[$doc])*
        #[utoipa::path(
            post,
            path = $path,
            tag = "gateway",
            request_body(content = Object, description = "The forge's own payload, with its own headers."),
            responses(
                (status = 202, description = "It became a job, which is durable.", body = Acceptance),
                (status = 200, description = "It is authentic and leads to nothing.", body = Disregard),
                (status = 400, description = "It is not JSON, or something is missing in it.", body = Refusal),
                (status = 401, description = "No configured secret fits its signature.", body = Refusal),
                (status = 403, description = "The operator's lists forbid it.", body = Refusal),
                (status = 408, description = "Its body took too long.", body = Refusal),
                (status = 413, description = "It is larger than 25 MiB.", body = Refusal),
                (status = 429, description = "Its address sent too many wrong signatures.", body = Refusal),
                (status = 500, description = "The fault is ours; it was not taken.", body = Refusal),
                (status = 503, description = "There are too many large deliveries at once.", body = Refusal),
            )
        )]
        pub(crate) async fn $name(gateway: State<Arc<Gateway>>, peer: Peer, request: Request) -> Response {
            take(gateway, peer, request, $host).await
        }
    };
}

takes_deliveries!(
    /// Takes a delivery of any forge; its headers say which.
    any, "/api/webhook", None
);
takes_deliveries!(
    /// Takes a delivery of GitHub.
    github, "/api/github/webhook", Some(Host::GitHub)
);
takes_deliveries!(
    /// Takes a delivery of GitLab.
    gitlab, "/api/gitlab/webhook", Some(Host::GitLab)
);
takes_deliveries!(
    /// Takes a delivery of GitCode.
    gitcode, "/api/gitcode/webhook", Some(Host::GitCode)
);
takes_deliveries!(
    /// Takes a delivery of Gitea or Forgejo.
    gitea, "/api/gitea/webhook", Some(Host::Gitea)
);

async fn take(
    State(gateway): State<Arc<Gateway>>,
    ConnectInfo(peer): Peer,
    request: Request,
    expected: Option<Host>,
) -> Response {
    let (parts, body) = request.into_parts();
    let named = forge::webhook::detect(&parts.headers);
    let arrived = match gateway.bodies.read(&parts.headers, body, &*gateway.clock).await {
        Ok(arrived) => arrived,
        Err(error) => {
            gateway.metrics.count_delivery(named, unread(&error));
            return error.into_response();
        }
    };
    let answer =
        gateway.ingest.take(parts.headers, arrived.bytes.clone(), expected, gateway.belief).await;
    let (word, response) = match answer {
        Ok(answer) => gateway.answer(answer, peer.ip()),
        Err(error) => ("failed", Error::Internal(Box::new(error)).into_response()),
    };
    gateway.metrics.count_delivery(named, word);
    response
}

/// Returns the metric's word for a delivery whose body was not read.
fn unread(error: &Error) -> &'static str {
    match error {
        Error::TooLarge { .. } => "too-large",
        Error::TooSlow => "too-slow",
        Error::Cut => "cut",
        Error::Busy(_) => "busy",
        _ => "failed",
    }
}

impl Gateway {
    /// Returns what a delivery is answered, with the metric's word for it.
    fn answer(&self, answer: Answer, peer: IpAddr) -> (&'static str, Response) {
        match answer {
            Answer::Accepted { job, repeated } => {
                let word = if repeated { "repeated" } else { "accepted" };
                (word, (StatusCode::ACCEPTED, Json(Acceptance::of(job))).into_response())
            }
            Answer::Ignored { reason } => ("ignored", ignored(reason)),
            // GitLab switches a hook off after four answers of the kind 4xx: it never gets one for
            // what is only our opinion of a delivery.
            Answer::Refused { host: Host::GitLab, reason } => {
                ("refused", ignored(format!("refused: {reason}")))
            }
            Answer::Malformed { host: Some(Host::GitLab), reason } => {
                ("malformed", ignored(reason))
            }
            Answer::Refused { reason, .. } => ("refused", Error::Forbidden(reason).into_response()),
            Answer::Malformed { reason, .. } | Answer::NotJson { reason } => {
                ("malformed", Error::BadRequest(reason).into_response())
            }
            Answer::NoConnection { host } if self.belief == Belief::Unchecked => (
                "malformed",
                Error::BadRequest(format!("no connection to {host} is configured")).into_response(),
            ),
            // Without a connection there is no secret that could fit.
            Answer::Unauthentic | Answer::NoConnection { .. } => {
                match self.flood.failed(peer, self.clock.monotonic()) {
                    None => ("unauthentic", Error::Unauthentic.into_response()),
                    Some(wait) => ("flood", Error::Flood { wait }.into_response()),
                }
            }
        }
    }
}

fn ignored(reason: String) -> Response {
    Json(Disregard::because(reason)).into_response()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::body::Body;
    use domain::Policy;
    use engine::ingest::Belief;
    use expect_test::{Expect, expect};
    use futures_util::stream;
    use http::Request;

    use crate::rig::{Rig, as_operator, from_gitlab, from_peer, help, shown, signed};

    async fn check(rig: &Rig, request: Request<Body>, expected: Expect) {
        expected.assert_eq(&shown(rig.send(request).await).await);
    }

    fn unsigned(body: &str) -> Request<Body> {
        from_peer("POST", "/api/webhook")
            .header("x-github-event", "issue_comment")
            .header("x-hub-signature-256", "sha256=00")
            .body(Body::from(body.to_owned()))
            .unwrap()
    }

    fn for_bob_only() -> Policy {
        Policy { allowed_users: vec!["bob".to_owned()], ..Policy::for_bot("bot") }
    }

    async fn jobs(rig: &Rig) -> usize {
        rig.operate("GET", "/api/jobs").await.1["jobs"].as_array().unwrap().len()
    }

    #[tokio::test]
    async fn t1_a_signed_delivery_is_durable_and_answered_without_any_forge() {
        let rig = Rig::new().await;
        let first = rig.ask_for_help(1).await;
        let again = rig.ask_for_help(1).await;
        assert_eq!(first, again);
        assert_eq!(jobs(&rig).await, 1);
        let at_its_own_address =
            rig.send(signed("/api/github/webhook", "issue_comment", &help(2))).await;
        assert_eq!(at_its_own_address.status(), 202);
    }

    #[tokio::test]
    async fn what_leads_to_nothing_is_ignored_with_a_reason() {
        let rig = Rig::new().await;
        check(
            &rig,
            signed("/api/webhook", "ping", "{}"),
            expect![[r#"
            200
            {"status":"ignored","reason":"ping"}"#]],
        )
        .await;
        check(
            &rig,
            signed("/api/webhook", "issue_comment", &help(1).replace("@bot help", "hello")),
            expect![[r#"
            200
            {"status":"ignored","reason":"the comment does not mention the bot"}"#]],
        )
        .await;
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_refused_and_named() {
        let rig = Rig::new().await;
        check(&rig, signed("/api/webhook", "issue_comment", "not json"), expect![[r#"
            400
            {"status":"error","error":"the body is not JSON: expected ident at line 1 column 2"}"#]]).await;
        check(
            &rig,
            signed("/api/webhook", "issue_comment", r#"{"action":"created"}"#),
            expect![[r#"
            400
            {"status":"error","error":"`comment` is missing"}"#]],
        )
        .await;
        check(
            &rig,
            signed("/api/gitlab/webhook", "issue_comment", &help(1)),
            expect![[r#"
            400
            {"status":"error","error":"this address is for gitlab, the headers are github's"}"#]],
        )
        .await;
        let mut headless = signed("/api/webhook", "issue_comment", &help(1));
        headless.headers_mut().remove("x-github-event");
        check(
            &rig,
            headless,
            expect![[r#"
            400
            {"status":"error","error":"no known event header"}"#]],
        )
        .await;
        assert_eq!(jobs(&rig).await, 0);
    }

    #[tokio::test]
    async fn gitlab_is_never_told_400_or_403_for_what_is_json() {
        let rig = Rig::under(for_bob_only()).await;
        check(
            &rig,
            from_gitlab("Note Hook", r#"{"object_kind":"note"}"#),
            expect![[r#"
            200
            {"status":"ignored","reason":"`object_attributes` is missing"}"#]],
        )
        .await;
        let by_alice = r#"{"object_kind":"note","event_type":"note","user":{"id":7,"username":"alice"},
            "project":{"id":1,"path_with_namespace":"acme/demo","default_branch":"main"},
            "object_attributes":{"id":5,"note":"@bot help","noteable_type":"Issue","action":"create",
            "updated_at":"2026-01-01"},"issue":{"iid":3,"title":"Bug","description":""}}"#;
        check(
            &rig,
            from_gitlab("Note Hook", by_alice),
            expect![[r#"
            200
            {"status":"ignored","reason":"refused: alice is not in the list of allowed users"}"#]],
        )
        .await;
        check(&rig, from_gitlab("Note Hook", "not json"), expect![[r#"
            400
            {"status":"error","error":"the body is not JSON: expected ident at line 1 column 2"}"#]]).await;
    }

    #[tokio::test]
    async fn the_operators_lists_are_asked_last() {
        let rig = Rig::under(for_bob_only()).await;
        assert_eq!(rig.send(unsigned(&help(1))).await.status(), 401);
        assert_eq!(rig.send(signed("/api/webhook", "issue_comment", "{}")).await.status(), 400);
        let idle_talk = help(1).replace("@bot help", "hello");
        assert_eq!(
            rig.send(signed("/api/webhook", "issue_comment", &idle_talk)).await.status(),
            200
        );
        check(
            &rig,
            signed("/api/webhook", "issue_comment", &help(1)),
            expect![[r#"
            403
            {"status":"error","error":"alice is not in the list of allowed users"}"#]],
        )
        .await;
        assert_eq!(jobs(&rig).await, 0);
    }

    #[tokio::test]
    async fn t1_a_wrong_signature_becomes_no_job_and_is_told_nothing_more() {
        let rig = Rig::new().await;
        check(
            &rig,
            unsigned(&help(1)),
            expect![[r#"
            401
            {"status":"error","error":"the signature is missing or wrong"}"#]],
        )
        .await;
        check(
            &rig,
            unsigned("not json"),
            expect![[r#"
            401
            {"status":"error","error":"the signature is missing or wrong"}"#]],
        )
        .await;
        let unserved = from_peer("POST", "/api/webhook")
            .header("x-gitea-event", "push")
            .body(Body::from("{}"))
            .unwrap();
        assert_eq!(rig.send(unserved).await.status(), 401);
        let elsewhere =
            from_peer("POST", "/api/github/webhook").header("x-gitlab-event", "Note Hook");
        assert_eq!(rig.send(elsewhere.body(Body::from("{}")).unwrap()).await.status(), 401);
        assert_eq!(jobs(&rig).await, 0);
    }

    #[tokio::test]
    async fn an_address_that_guesses_is_slowed_down_and_a_right_signature_still_passes() {
        let rig = Rig::new().await;
        for _ in 0..60 {
            assert_eq!(rig.send(unsigned("{}")).await.status(), 401);
        }
        check(
            &rig,
            unsigned("{}"),
            expect![[r#"
            429
            retry-after: 60
            {"status":"error","error":"too many wrong signatures from this address"}"#]],
        )
        .await;
        assert_eq!(rig.send(signed("/api/webhook", "issue_comment", &help(1))).await.status(), 202);
        rig.clock.advance(Duration::from_mins(1));
        assert_eq!(rig.send(unsigned("{}")).await.status(), 401);
    }

    #[tokio::test]
    async fn a_body_over_25_mib_is_refused_before_its_signature_is_looked_at() {
        let rig = Rig::new().await;
        let announced =
            from_peer("POST", "/api/webhook").header("content-length", 25 * 1024 * 1024 + 1);
        check(
            &rig,
            announced.body(Body::empty()).unwrap(),
            expect![[r#"
            413
            connection: close
            {"status":"error","error":"the body is larger than 26214400 bytes"}"#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_becomes_no_job() {
        let rig = Rig::new().await;
        let mut broken = signed("/api/webhook", "issue_comment", &help(1));
        let pieces = [Ok(help(1)), Err(std::io::Error::other("reset"))];
        *broken.body_mut() = Body::from_stream(stream::iter(pieces));
        assert_eq!(rig.send(broken).await.status(), 400);
        assert_eq!(jobs(&rig).await, 0);
    }

    #[tokio::test]
    async fn test_mode_takes_what_nobody_signed() {
        let rig = Rig::with(|app| app.belief = Belief::Unchecked).await;
        assert_eq!(rig.send(unsigned(&help(1))).await.status(), 202);
        let unserved = from_peer("POST", "/api/webhook")
            .header("x-gitea-event", "push")
            .body(Body::from("{}"))
            .unwrap();
        check(
            &rig,
            unserved,
            expect![[r#"
            400
            {"status":"error","error":"no connection to gitea is configured"}"#]],
        )
        .await;
    }

    #[tokio::test]
    async fn deliveries_are_counted_by_forge_and_answer() {
        let rig = Rig::new().await;
        rig.ask_for_help(1).await;
        rig.ask_for_help(1).await;
        rig.send(unsigned("{}")).await;
        let request = as_operator("GET", "/metrics").body(Body::empty()).unwrap();
        let text = shown(rig.send(request).await).await;
        let mut counted: Vec<_> =
            text.lines().filter(|line| line.starts_with("patchwright_deliveries_total")).collect();
        counted.sort_unstable();
        expect![[r#"
            patchwright_deliveries_total{host="github",answer="accepted"} 1
            patchwright_deliveries_total{host="github",answer="repeated"} 1
            patchwright_deliveries_total{host="github",answer="unauthentic"} 1"#]]
        .assert_eq(&counted.join("\n"));
        assert!(text.contains(r#"patchwright_jobs{task="help",state="queued"} 1"#), "{text}");
        assert!(!text.contains("acme"), "{text}");
    }
}
