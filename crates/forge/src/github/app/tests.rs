//! The App against a server that checks its signature as GitHub does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::engine::general_purpose::STANDARD;
use domain::{Origin, Repo, RepoKey, Subject};
use serde_json::{Value, json};

use super::*;
use crate::github::GitHub;
use crate::ours::Ours;
use crate::port::Read;
use crate::rig::{LeapingClock, Reply, Seen, Server, connection};

/// A GitHub with two installations: of `acme` (11) and of `beta` (22).
struct Rig {
    github: GitHub,
    server: Server,
    clock: Arc<LeapingClock>,
}

/// One key for all tests: making one takes a while.
fn key() -> &'static KeyPair {
    static KEY: std::sync::OnceLock<KeyPair> = std::sync::OnceLock::new();
    KEY.get_or_init(|| KeyPair::generate(KeySize::Rsa2048).unwrap())
}

fn pem() -> SecretString {
    let der = AsDer::<aws_lc_rs::encoding::Pkcs8V1Der<'_>>::as_der(key()).unwrap();
    let body = STANDARD.encode(der.as_ref());
    SecretString::from(format!("-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----\n"))
}

async fn rig() -> Rig {
    let clock = LeapingClock::new();
    let (time, minted) = (Arc::clone(&clock), AtomicU64::new(0));
    let server = Server::start(move |seen| answer(seen, &time, &minted)).await;
    let connection = http_connection(&server, &clock);
    let ours = Arc::new(Ours::new("server", None));
    Rig { github: GitHub::as_app(connection, "77", ours).unwrap(), server, clock }
}

fn http_connection(server: &Server, clock: &Arc<LeapingClock>) -> crate::http::Connection {
    crate::http::Connection { token: pem(), ..connection(&server.url, Arc::clone(clock)) }
}

fn answer(seen: &Seen, clock: &LeapingClock, minted: &AtomicU64) -> Reply {
    use domain::Clock as _;
    let bearer = seen.header("authorization").unwrap_or_default();
    let bearer = bearer.strip_prefix("Bearer ").unwrap_or_default().to_owned();
    let path = seen.path.split('?').next().unwrap_or_default().to_owned();
    let app = || assert_eq!(issuer(&bearer, clock.now()), "77", "{path}");
    match path.as_str() {
        "/app" => {
            app();
            Reply::json(200, json!({ "id": 77, "slug": "patchy" }))
        }
        "/users/patchy[bot]" if bearer.is_empty() => {
            Reply::json(200, json!({ "id": 4711, "login": "patchy[bot]", "type": "Bot" }))
        }
        "/repos/acme/one/installation" | "/repos/acme/two/installation" => {
            app();
            Reply::json(200, json!({ "id": 11 }))
        }
        "/repos/beta/one/installation" => {
            app();
            Reply::json(200, json!({ "id": 22 }))
        }
        "/app/installations/11/access_tokens" | "/app/installations/22/access_tokens" => {
            app();
            let n = minted.fetch_add(1, Ordering::SeqCst) + 1;
            let end = clock.now() + Duration::from_secs(3600);
            let end = jiff::Timestamp::from_millisecond(end.0).unwrap().to_string();
            Reply::json(201, json!({ "token": format!("ghs_minted_{n}"), "expires_at": end }))
        }
        _ if path.starts_with("/repos/") && bearer == "ghs_minted_1" && path.ends_with("/13") => {
            Reply::json(401, json!({ "message": "Bad credentials" }))
        }
        _ if path.starts_with("/repos/") && bearer.starts_with("ghs_minted_") => Reply::json(
            200,
            json!({ "number": 3, "state": "open", "title": bearer, "user": null, "labels": [] }),
        ),
        _ => Reply::json(401, json!({ "message": "Bad credentials" })),
    }
}

/// Checks the word as GitHub does, and returns who it says it is.
fn issuer(word: &str, now: Time) -> String {
    let (message, signature) = word.rsplit_once('.').expect("a JSON web token");
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key().public_key());
    public.verify(message.as_bytes(), &BASE64.decode(signature).unwrap()).expect("our signature");
    let (_, claims) = message.split_once('.').unwrap();
    let claims: Value = serde_json::from_slice(&BASE64.decode(claims).unwrap()).unwrap();
    let (now, issued, ends) =
        (now.0 / 1000, claims["iat"].as_i64().unwrap(), claims["exp"].as_i64().unwrap());
    assert!(issued <= now - 30, "a clock that is behind must not refuse it");
    assert!(ends > now && ends - issued <= 600, "ten minutes at most");
    claims["iss"].as_str().unwrap().to_owned()
}

impl Rig {
    /// Reads an issue and returns the token that was used.
    async fn token_for(&self, full_name: &str, number: u64) -> Result<String, Error> {
        let repo = Repo {
            origin: Origin::new(&self.server.url),
            key: RepoKey::Id(1),
            full_name: full_name.to_owned(),
            default_branch: None,
        };
        Ok(self.github.issue(&Subject::issue(repo, number)).await?.title)
    }
}

#[tokio::test]
async fn each_installation_has_a_token_of_its_own_that_is_minted_once() {
    let rig = rig().await;
    assert_eq!(rig.token_for("acme/one", 3).await.unwrap(), "ghs_minted_1");
    assert_eq!(rig.token_for("acme/two", 3).await.unwrap(), "ghs_minted_1");
    assert_eq!(rig.token_for("beta/one", 3).await.unwrap(), "ghs_minted_2");
    assert_eq!(rig.token_for("ACME/one", 3).await.unwrap(), "ghs_minted_1");
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let rig = rig().await;
    assert_eq!(rig.token_for("acme/one", 3).await.unwrap(), "ghs_minted_1");
    rig.clock.advance(Duration::from_secs(54 * 60));
    assert_eq!(rig.token_for("acme/one", 3).await.unwrap(), "ghs_minted_1");
    rig.clock.advance(Duration::from_secs(2 * 60));
    assert_eq!(rig.token_for("acme/one", 3).await.unwrap(), "ghs_minted_2");
}

#[tokio::test]
async fn a_token_that_is_not_accepted_is_forgotten() {
    let rig = rig().await;
    let refused = rig.token_for("acme/one", 13).await.unwrap_err();
    assert!(matches!(refused, Error::Unauthenticated { .. }), "{refused}");
    assert_eq!(rig.token_for("acme/one", 13).await.unwrap(), "ghs_minted_2");
}

#[tokio::test]
async fn the_app_knows_its_own_account_by_its_numeric_id() {
    let rig = rig().await;
    let account = rig.github.own_account().await.unwrap();
    assert_eq!((account.id, account.login.as_str()), (Some(AccountId(4711)), "patchy[bot]"));
    assert!(account.bot);
}

#[tokio::test]
async fn git_gets_the_token_of_the_installation() {
    let rig = rig().await;
    let repo = Repo {
        origin: Origin::new(&rig.server.url),
        key: RepoKey::Id(1),
        full_name: "beta/one".to_owned(),
        default_branch: None,
    };
    let access = rig.github.git_access(&repo).await.unwrap();
    assert_eq!(access.token.unwrap().expose_secret(), "ghs_minted_1");
    assert_eq!(access.url.as_str(), format!("{}/beta/one.git", rig.server.url));
}

#[tokio::test]
async fn t6_a_minted_token_is_known_to_the_redactor() {
    let clock = LeapingClock::new();
    let (time, minted) = (Arc::clone(&clock), AtomicU64::new(0));
    let server = Server::start(move |seen| answer(seen, &time, &minted)).await;
    let connection = http_connection(&server, &clock);
    let redactor = Arc::clone(&connection.redactor);
    let github = GitHub::as_app(connection, "77", Arc::new(Ours::new("server", None))).unwrap();
    let rig = Rig { github, server, clock };
    rig.token_for("acme/one", 3).await.unwrap();
    assert_eq!(redactor.clean("with ghs_minted_1."), "with [redacted].");
}

#[test]
fn a_key_that_is_none_is_refused_without_repeating_it() {
    for wrong in
        ["canary-in-the-key", "-----BEGIN PRIVATE KEY-----\nY2FuYXJ5\n-----END PRIVATE KEY-----\n"]
    {
        let error = App::new("77", &SecretString::from(wrong)).unwrap_err();
        assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
    }
}
