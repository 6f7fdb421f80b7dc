//! Credentials: Apps, installations, tokens that end, reach less, or only read.

use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use domain::Clock;
use http::Method;
use serde_json::{Value, json};

use super::{NONE, REPO, Room};
use crate::forge::{Access, RegisteredApp};

/// Signs a token as an App does.
fn sign(app: &RegisteredApp, claims: &Value) -> String {
    let body: String = app.private_pem.lines().filter(|line| !line.starts_with("---")).collect();
    let key = KeyPair::from_der(&STANDARD.decode(body).unwrap()).unwrap();
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(&json!({"alg": "RS256", "typ": "JWT"})), encode(claims));
    let mut signature = vec![0; key.public_modulus_len()];
    key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

impl Room {
    fn as_app(&self, app: &RegisteredApp) -> Self {
        let now = self.clock.now().0 / 1000;
        let claims = json!({"iat": now - 60, "exp": now + 540, "iss": app.app.client_id});
        self.with_token(sign(app, &claims))
    }

    async fn minted(&self, app: &RegisteredApp, installation: u64, wanted: Value) -> (u16, Value) {
        let path = format!("/app/installations/{installation}/access_tokens");
        self.as_app(app).ask(Method::POST, &path, wanted).await
    }
}

#[tokio::test]
async fn an_app_finds_its_installation_and_acts_through_tokens_that_end() {
    let room = Room::new().await;
    let app = room.forge.app("mender");
    let installation = room.forge.installs(&app, &[REPO]);
    let own = room.as_app(&app);
    assert_eq!(own.ask(Method::GET, "/app", NONE).await.1["slug"], json!("mender"));
    let (_, found) = own.ask(Method::GET, "/repos/octo/widgets/installation", NONE).await;
    assert_eq!(found["id"], json!(installation.id));
    assert_eq!(
        own.ask(Method::GET, "/app/installations", NONE).await.1.as_array().unwrap().len(),
        1
    );
    let (status, minted) = room.minted(&app, installation.id, NONE).await;
    assert_eq!((status, &minted["expires_at"]), (201, &json!("2026-01-01T01:00:00Z")));
    let token = minted["token"].as_str().unwrap().to_owned();
    assert!(token.starts_with("ghs_") && token.len() > 300);
    let acting = room.with_token(token);
    let (status, said) = acting
        .ask(Method::POST, "/repos/octo/widgets/issues/1/comments", json!({"body": "Hello."}))
        .await;
    assert_eq!((status, &said["user"]["login"]), (201, &json!("mender[bot]")));
    assert_eq!(acting.ask(Method::GET, "/user", NONE).await.0, 403);
    let (_, account) = acting.ask(Method::GET, "/users/mender%5Bbot%5D", NONE).await;
    assert_eq!(account["id"], json!(app.app.bot.id));
    let (_, reached) = acting.ask(Method::GET, "/installation/repositories", NONE).await;
    assert_eq!(reached["repositories"][0]["full_name"], json!(REPO));
    room.clock.advance(Duration::from_secs(3600));
    assert_eq!(acting.ask(Method::GET, "/repos/octo/widgets/issues/1", NONE).await.0, 401);
    room.nothing_wrong();
}

#[tokio::test]
async fn an_apps_own_token_is_checked_to_the_letter() {
    let room = Room::new().await;
    let (app, other) = (room.forge.app("mender"), room.forge.app("other"));
    let now = room.clock.now().0 / 1000;
    let claims =
        |iat: i64, exp: i64, iss: Value| json!({"iat": now + iat, "exp": now + exp, "iss": iss});
    let id = json!(app.app.id);
    let tokens = [
        (sign(&app, &claims(-60, 540, id.clone())), 200),
        (sign(&app, &claims(-60, 540, json!(app.app.id.to_string()))), 200),
        (sign(&app, &claims(60, 540, id.clone())), 401),
        (sign(&app, &claims(-60, 700, id.clone())), 401),
        (sign(&app, &claims(-600, -1, id.clone())), 401),
        (sign(&other, &claims(-60, 540, id)), 401),
        (sign(&app, &claims(-60, 540, json!("Iv1.nobody"))), 401),
        (room.token.clone(), 401),
    ];
    for (place, (token, expected)) in tokens.into_iter().enumerate() {
        let (status, _) = room.with_token(token).ask(Method::GET, "/app", NONE).await;
        assert_eq!(status, expected, "{place}");
    }
    assert_eq!(room.forge.violations().len(), 6);
}

#[tokio::test]
async fn a_token_reaches_no_further_than_it_was_asked_for() {
    let room = Room::new().await;
    room.forge.repo("octo/gadgets");
    room.forge.repo("acme/else");
    let app = room.forge.app("mender");
    let installation = room.forge.installs_with(
        &app,
        &[REPO, "octo/gadgets"],
        &[("issues", Access::Write), ("pull_requests", Access::Write), ("contents", Access::Read)],
    );
    let wanted = json!({"repositories": ["gadgets"], "permissions": {"issues": "write"}});
    let (_, minted) = room.minted(&app, installation.id, wanted).await;
    let acting = room.with_token(minted["token"].as_str().unwrap().to_owned());
    let comment = json!({"body": "x"});
    assert_eq!(
        acting.ask(Method::POST, "/repos/octo/widgets/issues/1/comments", comment).await.0,
        403
    );
    for beyond in [json!({"repositories": ["else"]}), json!({"permissions": {"contents": "write"}})]
    {
        assert_eq!(room.minted(&app, installation.id, beyond).await.0, 422);
    }
    let (_, whole) = room.minted(&app, installation.id, NONE).await;
    let acting = room.with_token(whole["token"].as_str().unwrap().to_owned());
    let thread = room.forge.comments_on_line("ada", REPO, 2, ("src/lib.rs", 3), "why?").thread_id();
    let resolve =
        "mutation($id: ID!) { resolveReviewThread(input: {threadId: $id}) { thread { id } } }";
    let body = json!({"query": resolve, "variables": {"id": format!("PRRT_{thread}")}});
    let (_, denied) = acting.ask(Method::POST, "/graphql", body).await;
    assert_eq!(denied["errors"][0]["message"], json!("Resource not accessible by integration"));
    room.forge.uninstalls(&installation);
    assert_eq!(room.minted(&app, installation.id, NONE).await.0, 404);
}

#[tokio::test]
async fn checks_are_made_by_apps_with_fifty_annotations_at_a_time() {
    let room = Room::new().await;
    let app = room.forge.app("mender");
    let installation = room.forge.installs(&app, &[REPO]);
    let (_, minted) = room.minted(&app, installation.id, NONE).await;
    let acting = room.with_token(minted["token"].as_str().unwrap().to_owned());
    let path = "/repos/octo/widgets/check-runs";
    let annotations = |count: u64| -> Vec<Value> {
        (1..=count).map(|line| json!({
            "path": "src/lib.rs", "start_line": line, "end_line": line, "annotation_level": "warning",
            "message": format!("finding {line}"),
        })).collect()
    };
    let output =
        |count| json!({"title": "Findings", "summary": "Some.", "annotations": annotations(count)});
    let check = json!({"name": "patchwright", "head_sha": room.head(), "status": "in_progress", "output": output(50)});
    let (status, made) = acting.ask(Method::POST, path, check).await;
    assert_eq!((status, &made["output"]["annotations_count"]), (201, &json!(50)));
    let own = format!("{path}/{}", made["id"]);
    let (status, done) = acting
        .ask(Method::PATCH, &own, json!({"conclusion": "neutral", "output": output(3)}))
        .await;
    assert_eq!(
        (status, &done["status"], &done["output"]["annotations_count"]),
        (200, &json!("completed"), &json!(53))
    );
    let (_, listed) = acting
        .ask(Method::GET, &format!("/repos/octo/widgets/commits/{}/check-runs", room.head()), NONE)
        .await;
    assert_eq!(listed["total_count"], json!(1));
    assert!(
        room.forge
            .thread(REPO, 2)
            .contains("check patchwright: neutral (Findings)\nwarning src/lib.rs:1 finding 1\n")
    );
    let run = room.with_token(room.forge.run_token("patchwright[bot]", REPO));
    assert_eq!(run.ask(Method::PATCH, &own, json!({"conclusion": "success"})).await.0, 403);
    assert_eq!(run.ask(Method::GET, "/user", NONE).await.0, 403);
    room.nothing_wrong();
    assert_eq!(acting.ask(Method::PATCH, &own, json!({"output": output(51)})).await.0, 422);
    assert_eq!(acting.ask(Method::PATCH, &own, json!({"status": "completed"})).await.0, 422);
    let why: Vec<_> = room.forge.violations().into_iter().map(|it| it.why).collect();
    assert_eq!(
        why,
        [
            "51 annotations in one request",
            "/output/annotations: its size 51 is beyond maxItems 50",
            "a check that is completed has a conclusion",
            "the whole: it is none of the choices (/status: \"completed\" is none of \
             [\"queued\",\"in_progress\"]; : it lacks conclusion)",
        ]
    );
}

#[tokio::test]
async fn a_token_that_only_reads_writes_nothing_and_a_void_one_is_unknown() {
    let room = Room::new().await;
    let reading = room.with_token(room.forge.read_only_token("patchwright[bot]"));
    let comments = "/repos/octo/widgets/issues/1/comments";
    assert_eq!(reading.ask(Method::GET, comments, NONE).await.0, 200);
    assert_eq!(reading.ask(Method::POST, comments, json!({"body": "x"})).await.0, 403);
    room.nothing_wrong();
    let said = room.ask(Method::POST, comments, json!({"body": "mine"})).await.1;
    let former = said["user"]["id"].clone();
    let account = room.forge.replaces_account("patchwright[bot]");
    assert_ne!(json!(account.id), former);
    assert_eq!(room.ask(Method::GET, "/user", NONE).await.0, 401);
    let successor = room.with_token(room.forge.token("patchwright[bot]"));
    assert_eq!(successor.ask(Method::GET, "/user", NONE).await.1["id"], json!(account.id));
    assert_eq!(successor.ask(Method::GET, comments, NONE).await.1[0]["user"]["id"], former);
}
