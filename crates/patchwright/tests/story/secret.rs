//! No secret leaves the program (T6): every credential variable of the real binary holds a canary,
//! and nothing that it writes anywhere contains one, plain, base64, hex or percent-encoded.

mod canary;
mod evidence;

use std::sync::Arc;

use forge::Permission;
use secrecy::ExposeSecret;
use testkit::forge::{Fault, Often, On, Options};
use testkit::world::{BOT, REPO};
use testkit::{FakeForge, SignedDelivery, WallClock};

use super::call::Call;
use super::program::{Program, Running};
use canary::{canary, pasted, percent, planted};
use evidence::Evidence;

/// A forge that knows the bot by the canary of its token, and signs with the canary of the secret.
async fn forge() -> FakeForge {
    let options = Options { secret: canary("WEBHOOK_SECRET"), ..Options::default() };
    let forge = FakeForge::start(Arc::new(WallClock::default()), options).await.unwrap();
    forge.bot(BOT);
    forge.person("alice");
    forge.person("mallory");
    forge.repo(REPO);
    forge.grants(REPO, BOT, Permission::Write);
    forge.accepts_token(BOT, &canary("GITHUB_TOKEN"));
    forge
}

/// The variables of the program below: all but the database's, which would keep it from starting and
/// has a story of its own.
fn names() -> Vec<&'static str> {
    canary::names().into_iter().filter(|name| *name != "DATABASE_URL").collect()
}

/// The program with a canary in every secret variable that it knows.
fn program(forge: &FakeForge) -> Program {
    let program = Program::new();
    // The forge fails in this story, and nobody wants to wait for a minute.
    let config = program.file("patchwright.toml", "[publish]\nlook-for = \"1s\"\n");
    planted(program)
        .without("DATABASE_URL")
        .with("PATCHWRIGHT_CONFIG", config.display().to_string())
        .with("LOG_LEVEL", "trace")
        .with("GITHUB_API_URL", forge.url())
        .with("GITLAB_URL", "http://127.0.0.1:1")
        .with("GITCODE_API_URL", "http://127.0.0.1:2")
        .with("GITEA_URL", "http://127.0.0.1:3")
        .with("BOT_USERNAME", BOT)
        .with("ALLOWED_USERS", "alice")
}

/// Delivers, and reads what is told of the job until it has ended.
async fn deliver(running: &Running, delivery: &SignedDelivery, evidence: &mut Evidence) -> String {
    let url = format!("{}/api/webhook", running.gateway());
    let answer = delivery.send_to(&url).await.unwrap();
    assert_eq!(answer.status, 202, "{answer:?}");
    let job = answer.json()["job_id"].as_str().unwrap().to_owned();
    operate(running, &format!("/api/jobs/{job}/events"), evidence).await;
    job
}

/// Asks as the operator and keeps the answer.
async fn operate(running: &Running, path: &str, evidence: &mut Evidence) -> u16 {
    let call = Call::get(path).by_operator(&canary("ADMIN_TOKEN"));
    keep(running, call, &format!("the answer to GET {path}"), evidence).await
}

async fn keep(running: &Running, call: Call, what: &str, evidence: &mut Evidence) -> u16 {
    let answer = call.send(running.gateway()).await;
    evidence.add(what, format!("{:?}", answer.headers));
    evidence.add(what, &answer.body);
    answer.status
}

/// Runs commands and keeps what they print.
async fn run(program: &Program, commands: &[&[&str]], evidence: &mut Evidence) {
    for arguments in commands {
        let ran = program.run(arguments).await;
        evidence.add(&format!("the output of {arguments:?}"), ran.stdout);
        evidence.add(&format!("the complaints of {arguments:?}"), ran.stderr);
    }
}

#[tokio::test]
async fn t6_no_secret_leaves_a_server_whatever_is_sent_to_it() {
    let forge = forge().await;
    let program = program(&forge);
    let mut evidence = Evidence::default();
    let running = program.serve().await;
    evidence
        .add("its arguments", std::fs::read(format!("/proc/{}/cmdline", running.pid())).unwrap());

    // People ask, and paste secrets in every form into titles and comments.
    let title = pasted("GITHUB_TOKEN");
    forge.opens_issue("alice", REPO, &title, "On start.");
    let everything: String = names().iter().map(|name| pasted(name) + "\n").collect();
    let mut jobs = Vec::new();
    for order in ["help", "status", "fix", "cancel", "do as it says:"] {
        let asked = forge.comments("alice", REPO, 1, &format!("@bot {order} {everything}"));
        let mut delivery = forge.delivery(&asked);
        let id = canary("WEBHOOK_SECRET") + order.split(' ').next().unwrap_or_default();
        delivery.headers.insert("x-github-delivery", id.parse().unwrap());
        jobs.push(deliver(&running, &delivery, &mut evidence).await);
    }
    // The forge fails in all ways meanwhile.
    forge.faults().add(Fault::CutBefore, On::Reads, Often::Next(1));
    forge.faults().add(Fault::FailBefore, On::Writes, Often::Next(1));
    let asked = forge.comments("alice", REPO, 1, "@bot help");
    jobs.push(deliver(&running, &forge.delivery(&asked), &mut evidence).await);

    for (n, call) in refused(&forge, &everything).into_iter().enumerate() {
        let status =
            keep(&running, call, &format!("the answer to refused delivery {n}"), &mut evidence)
                .await;
        assert_ne!(status, 202, "delivery {n}");
    }
    for job in &jobs {
        assert_eq!(operate(&running, &format!("/api/jobs/{job}"), &mut evidence).await, 200);
    }
    for name in names() {
        let path = format!("/api/jobs/{}", percent(&canary(name)));
        assert_eq!(operate(&running, &path, &mut evidence).await, 404);
        let path = format!("/api/jobs?state={}", percent(&canary(name)));
        assert_eq!(operate(&running, &path, &mut evidence).await, 400);
        let wrong = Call::get("/metrics").by_operator(&format!("{}x", canary(name)));
        assert_eq!(keep(&running, wrong, "the answer to a wrong token", &mut evidence).await, 401);
    }
    for path in ["/api/jobs", "/metrics", "/api/openapi.json", "/api/status", "/ready"] {
        assert_eq!(operate(&running, path, &mut evidence).await, 200, "{path}");
    }

    evidence.add_folder(program.folder());
    let (said, code) = running.stop().await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("DEBUG"), "{said}");
    evidence.add("the log", said);
    for comment in forge.conversation(REPO, 1) {
        if comment.author.login == BOT {
            evidence.add("a comment of the bot", comment.body);
        }
    }
    let shown = ["jobs", "show", &jobs[0]];
    run(
        &program,
        &[&shown, &["jobs", "list"], &["config", "show"], &["config", "check"]],
        &mut evidence,
    )
    .await;
    evidence.add_folder(program.folder());
    evidence.assert_clean();
}

/// Deliveries that are refused, ignored or cannot be read, with secrets wherever a sender can put
/// them.
fn refused(forge: &FakeForge, everything: &str) -> Vec<Call> {
    let signed = |event: &str, body: String| {
        let signature = testkit::signature::hex(forge.secret(), body.as_bytes());
        Call::post("/api/webhook", body)
            .with("x-github-event", event)
            .with("x-hub-signature-256", format!("sha256={signature}"))
    };
    let mallory =
        forge.delivery(&forge.comments("mallory", REPO, 1, &format!("@bot help {everything}")));
    let mallory = String::from_utf8(mallory.body.to_vec()).unwrap();
    let text = serde_json::to_string(everything).unwrap();
    let mut calls = vec![
        signed("issue_comment", mallory.clone()),
        signed("issue_comment", mallory.clone()).without("x-hub-signature-256"),
        signed("issue_comment", mallory.clone())
            .with("x-hub-signature-256", canary("WEBHOOK_SECRET")),
        signed("issue_comment", everything.to_owned()),
        signed("issue_comment", format!(r#"{{"action":{text}}}"#)),
        signed("issues", format!(r#"{{"action":"opened","issue":{{"number":{text}}}}}"#)),
        Call::post("/api/webhook", mallory)
            .with("x-gitlab-event", "Note Hook")
            .with("x-gitlab-token", canary("GITLAB_TOKEN")),
    ];
    for name in names() {
        let value = canary(name);
        calls.push(signed(&value, "{}".to_owned()));
        calls.push(signed("ping", "{}".to_owned()).at(&format!("/{}", percent(&value))));
        calls.push(
            Call::post(&format!("/api/webhook?secret={}", percent(&value)), "{}")
                .with("x-gitea-event", value),
        );
    }
    calls
}

#[tokio::test]
async fn t6_a_token_that_the_forge_does_not_know_is_not_told() {
    let forge = forge().await;
    let program = program(&forge).with("GITHUB_TOKEN", canary("GITHUB_TOKEN") + "-revoked");
    let mut evidence = Evidence::default();
    let running = program.serve().await;
    running.until_said("our own account could not be read yet").await;
    run(&program, &[&["doctor"]], &mut evidence).await;
    evidence.add_folder(program.folder());
    evidence.add("the log", running.stop().await.0);
    evidence.assert_clean();
}

#[tokio::test]
async fn t6_no_secret_leaves_a_command_not_even_one_that_was_typed_into_it() {
    let forge = forge().await;
    let program = program(&forge);
    let mut evidence = Evidence::default();
    forge.opens_issue("alice", REPO, "It crashes", "On start.");
    let delivery = forge.delivery(&forge.comments(
        "alice",
        REPO,
        1,
        &format!("@bot help {}", pasted("GITHUB_TOKEN")),
    ));
    let body = String::from_utf8(delivery.body.to_vec()).unwrap();
    let file = format!(r#"{{"headers": {{"X-GitHub-Event": "issue_comment"}}, "body": {body}}}"#);
    program.file("delivery.json", file);
    let token = canary("GITHUB_TOKEN");
    program
        .file("wrong.toml", format!("[server]\nlisten = {token:?}\n{token:?} = 1\n[{token:?}]\n"));
    let listen = format!("--listen={token}");
    run(
        &program,
        &[
            &["doctor"],
            &["config", "show"],
            &["config", "check"],
            &["config", "check", "--config", "wrong.toml"],
            &["config", "check", "--config", &token],
            &["replay", "delivery.json", "--dry-run"],
            &["replay", "delivery.json"],
            &["run", "--event", "delivery.json"],
            &["replay", &token],
            &["replay", "delivery.json", "--event", &token, "--forge", &token],
            &["jobs", "list", "--state", &token],
            &["jobs", "show", &token],
            &["jobs", "cancel", &token],
            &["serve", &listen],
            &["demo"],
            &["migrate", "--data", &token],
            &[&token],
            &["serve", "--token", &token],
        ],
        &mut evidence,
    )
    .await;
    // The folder that was named by a secret is not ours to hide.
    std::fs::remove_file(program.folder().join("wrong.toml")).unwrap();
    std::fs::remove_file(program.folder().join("delivery.json")).unwrap();
    evidence.add_folder(program.folder());
    evidence.assert_clean();
}

#[tokio::test]
async fn t6_the_password_of_a_database_or_a_proxy_that_is_away_is_not_told() {
    let mut evidence = Evidence::default();
    let program = planted(Program::new())
        .with("LOG_LEVEL", "trace")
        .with("GITHUB_API_URL", "https://forge.invalid")
        .with("GITEA_URL", "http://forge.invalid");
    let commands: [&[&str]; 6] = [
        &["doctor"],
        &["migrate"],
        &["jobs", "list"],
        &["serve"],
        &["config", "show"],
        &["config", "check"],
    ];
    run(&program, &commands, &mut evidence).await;
    let program = program.with("DATABASE_URL", canary("DATABASE_URL"));
    run(&program, &commands, &mut evidence).await;
    evidence.assert_clean();
}

#[tokio::test]
async fn t6_the_password_of_a_database_that_is_used_is_not_told() {
    let Some(store::Place::Postgres { url, .. }) = testkit::world::postgres() else { return };
    let url = url.expose_secret();
    // A server that asks for none has none to tell.
    let Some(password) = url::Url::parse(url).unwrap().password().map(str::to_owned) else {
        return;
    };
    let program = Program::new().with("DATABASE_URL", url).with("LOG_LEVEL", "trace");
    for arguments in [["migrate"].as_slice(), &["doctor"], &["jobs", "list"], &["config", "show"]] {
        let ran = program.run(arguments).await;
        assert!(!ran.stdout.contains(&password), "the output of {arguments:?}");
        assert!(!ran.stderr.contains(&password), "the complaints of {arguments:?}");
        assert!(ran.stdout.len() > 5, "{arguments:?} says something");
    }
}
