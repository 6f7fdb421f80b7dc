//! What an operator sees and orders, and that nobody else does.

use std::fmt::Write as _;

use expect_test::expect;
use serde_json::Value;
use testkit::World;
use testkit::world::{ADMIN_TOKEN, Options};

use super::delivery::{comment, github};
use super::{gateway, policy};
use crate::story::call::{Answer, Call};
use crate::story::mask::{ids, times};

async fn operate(world: &World, call: Call) -> Answer {
    call.by_operator(ADMIN_TOKEN).send(world.gateway()).await
}

/// Delivers an order for help and returns the job that it became.
async fn ask(world: &World, comment_id: u64) -> String {
    let call = github("issue_comment", comment(comment_id, "alice", "@bot help"));
    call.send(world.gateway()).await.job()
}

#[tokio::test]
async fn t10_the_admin_api_opens_to_its_token_under_our_own_name_and_to_nothing_else() {
    let world = gateway(policy()).await;
    let job = ask(&world, 1).await;
    let mut table = String::new();
    for (method, path) in [
        ("GET", "/api/jobs".to_owned()),
        ("GET", format!("/api/jobs/{job}")),
        ("GET", "/metrics".to_owned()),
        ("GET", format!("/api/jobs/{job}/events")),
        ("POST", format!("/api/jobs/{job}/cancel")),
        ("POST", format!("/api/jobs/{job}/retry")),
    ] {
        let call = || if method == "GET" { Call::get(&path) } else { Call::post(&path, "") };
        let mut row = format!("{method} {}:", ids(&path));
        for (name, call) in [
            ("no token", call()),
            ("wrong token", call().by_operator("guess")),
            ("a token in the address", call().at(&format!("{path}?token={ADMIN_TOKEN}"))),
            ("a token as password", call().with("authorization", format!("Basic {ADMIN_TOKEN}"))),
            ("another host", call().by_operator(ADMIN_TOKEN).with("host", "evil.example")),
        ] {
            let answer = call.send(world.gateway()).await;
            assert!(answer.header("access-control-allow-origin").is_none());
            if answer.status == 401 {
                assert!(answer.header("www-authenticate").is_some(), "{path}");
            }
            write!(row, " {name} {},", answer.status).unwrap();
        }
        table.push_str(row.trim_end_matches(','));
        table.push('\n');
    }
    expect![[r#"
        GET /api/jobs: no token 401, wrong token 401, a token in the address 401, a token as password 401, another host 421
        GET /api/jobs/ID: no token 401, wrong token 401, a token in the address 401, a token as password 401, another host 421
        GET /metrics: no token 401, wrong token 401, a token in the address 401, a token as password 401, another host 421
        GET /api/jobs/ID/events: no token 401, wrong token 401, a token in the address 401, a token as password 401, another host 421
        POST /api/jobs/ID/cancel: no token 401, wrong token 401, a token in the address 401, a token as password 401, another host 421
        POST /api/jobs/ID/retry: no token 401, wrong token 401, a token in the address 401, a token as password 401, another host 421
    "#]].assert_eq(&table);
    assert_eq!(
        operate(&world, Call::get(&format!("/api/jobs/{job}"))).await.json()["state"],
        "queued"
    );
    world.abandon();
}

#[tokio::test]
async fn t10_without_a_token_the_admin_api_is_off() {
    let world = World::with(Options { admin_token: None, ..Options::default() }).await;
    let off =
        r#"403 {"status":"error","error":"the admin API is off: no ADMIN_TOKEN is configured"}"#;
    for call in
        [Call::get("/api/jobs"), Call::get("/metrics"), Call::post("/api/jobs/x/cancel", "")]
    {
        assert_eq!(operate(&world, call).await.to_string(), off);
    }
    world.close().await;
}

#[tokio::test]
async fn orders_are_taken_in_the_right_state_only() {
    let mut world = World::start().await;
    world.stop_workers().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    let job = world.comments("alice", issue, "@bot help").await.json()["job_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut told = String::new();
    let mut order = async |world: &World, order: &str| {
        let answer = operate(world, Call::post(&format!("/api/jobs/{job}/{order}"), "")).await;
        let state =
            operate(world, Call::get(&format!("/api/jobs/{job}"))).await.json()["state"].clone();
        writeln!(told, "{order}: {answer}, it is {state}").unwrap();
    };
    order(&world, "retry").await;
    order(&world, "cancel").await;
    order(&world, "cancel").await;
    order(&world, "retry").await;
    world.start_workers().await;
    world.settle().await;
    order(&world, "cancel").await;
    order(&world, "retry").await;
    expect![[r#"
        retry: 409 {"status":"error","error":"a queued job cannot be retried"}, it is "queued"
        cancel: 202 {"status":"accepted","job_id":"ID"}, it is "cancelled"
        cancel: 409 {"status":"error","error":"a cancelled job cannot be cancelled"}, it is "cancelled"
        retry: 202 {"status":"accepted","job_id":"ID"}, it is "queued"
        cancel: 409 {"status":"error","error":"a done job cannot be cancelled"}, it is "done"
        retry: 409 {"status":"error","error":"a done job cannot be retried"}, it is "done"
    "#]].assert_eq(&told);
    for call in [Call::get("/api/jobs/none"), Call::post("/api/jobs/none/retry", "")] {
        let answer = operate(&world, call).await.to_string();
        assert_eq!(answer, r#"404 {"status":"error","error":"there is no job"}"#);
    }
    world.close().await;
}

#[tokio::test]
async fn a_job_is_followed_live_to_its_end_and_from_where_one_was() {
    let mut world = World::start().await;
    world.stop_workers().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    let job = world.comments("alice", issue, "@bot help").await.json()["job_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let follow = Call::get(&format!("/api/jobs/{job}/events")).by_operator(ADMIN_TOKEN);

    let live = follow.open(world.gateway()).await;
    assert_eq!(live.headers()["content-type"], "text/event-stream");
    let read = tokio::spawn(live.text());
    world.start_workers().await;
    world.settle().await;
    let live = read.await.unwrap().unwrap();
    let events: Vec<&str> =
        live.split_terminator("\n\n").filter(|event| !event.starts_with(':')).collect();
    let names: Vec<&str> = events
        .iter()
        .filter_map(|event| event.lines().find(|line| line.starts_with("event:")))
        .collect();
    expect![[r#"
        event: state
        event: stage
        event: stage
        event: stage
        event: stage
        event: state
        event: publication
        event: publication"#]]
    .assert_eq(&names.join("\n"));

    let id =
        |event: &str| event.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    let numbers: Vec<i64> = events.iter().map(|event| id(event).parse().unwrap()).collect();
    assert!(numbers.is_sorted_by(|one, next| one < next), "{numbers:?}");

    let again = follow.send(world.gateway()).await;
    assert_eq!(again.body, live, "a job that has ended is told whole, and the stream closes");
    let rest = follow.clone().with("last-event-id", id(events[1])).send(world.gateway()).await;
    assert_eq!(
        rest.body,
        events[2..].iter().map(|event| format!("{event}\n\n")).collect::<String>()
    );
    let nothing =
        follow.with("last-event-id", id(events[events.len() - 1])).send(world.gateway()).await;
    assert_eq!((nothing.status, nothing.body.as_str()), (204, ""));
    world.close().await;
}

#[tokio::test]
async fn a_finished_job_is_shown_as_integrations_know_it() {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    let answer = world.comments("alice", issue, "@bot help").await;
    world.settle().await;
    let job = answer.json()["job_id"].as_str().unwrap().to_owned();
    let mut shown = operate(&world, Call::get(&format!("/api/jobs/{job}"))).await.json();
    assert_eq!(shown["webhook_payload"]["comment"]["body"], "@bot help");
    shown["webhook_payload"] = Value::from("…");
    shown["subject"]["connection"] = Value::from("…");
    let shown = serde_json::to_string_pretty(&shown).unwrap();
    expect![[r#"
        {
          "actor": "alice",
          "attempts": [
            {
              "attempt": 1,
              "began_at": "TIME",
              "ended_at": "TIME",
              "error": null,
              "outcome": "done",
              "stage": "acknowledge"
            }
          ],
          "branch": null,
          "created_at": "TIME",
          "default_branch": "main",
          "display_issue_number": 1,
          "error": null,
          "event_type": "issue_comment",
          "head": null,
          "issue_number": 1,
          "issue_title": "It crashes",
          "job_id": "ID",
          "owner": "acme",
          "platform": "github",
          "repo": "demo",
          "stage": "answer",
          "stages": [
            {
              "stage": "acknowledge",
              "success": true
            },
            {
              "stage": "answer",
              "success": true
            }
          ],
          "state": "done",
          "subject": {
            "branch": null,
            "connection": "…",
            "kind": "issue",
            "name": "acme/demo#1",
            "number": 1
          },
          "task": "help",
          "triggered_by_assignment": false,
          "updated_at": "TIME",
          "webhook_payload": "…"
        }"#]]
    .assert_eq(&times(&ids(&shown)));
    world.close().await;
}

#[tokio::test]
async fn t10_metrics_name_no_repository_and_no_person() {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    let job = world.comments("alice", issue, "@bot help").await.json()["job_id"]
        .as_str()
        .unwrap()
        .to_owned();
    world.settle().await;
    operate(&world, Call::get(&format!("/api/jobs/{job}?repo=acme/demo"))).await;
    operate(&world, Call::get("/acme/demo/alice")).await;
    let metrics = operate(&world, Call::get("/metrics")).await;
    assert_eq!(metrics.status, 200);
    assert!(
        metrics.body.contains(r#"patchwright_jobs{task="help",state="done"} 1"#),
        "{}",
        metrics.body
    );
    assert!(metrics.body.contains(r#"answer="accepted""#), "{}", metrics.body);
    for name in ["acme", "demo", "alice", "127.0.0.1", &job] {
        assert!(!metrics.body.contains(name), "{name} is in\n{}", metrics.body);
    }
    world.close().await;
}

#[tokio::test]
async fn the_description_of_the_interface_is_open_and_every_route_in_it_exists() {
    let world = World::start().await;
    let description = Call::get("/api/openapi.json").send(world.gateway()).await.json();
    let mut routes = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for method in item.as_object().unwrap().keys() {
            let address = path.replace("{id}", "none");
            let call = if method == "get" { Call::get(&address) } else { Call::post(&address, "") };
            let status = call.send(world.gateway()).await.status;
            routes.push(format!("{method} {path}: {status}"));
        }
    }
    routes.sort_unstable();
    expect![[r#"
        get /: 200
        get /api/jobs/{id}/events: 401
        get /api/jobs/{id}: 401
        get /api/jobs: 401
        get /api/openapi.json: 200
        get /api/status: 200
        get /health: 200
        get /metrics: 401
        get /ready: 200
        post /api/gitcode/webhook: 401
        post /api/gitea/webhook: 401
        post /api/github/webhook: 401
        post /api/gitlab/webhook: 401
        post /api/jobs/{id}/cancel: 401
        post /api/jobs/{id}/retry: 401
        post /api/webhook: 401"#]]
    .assert_eq(&routes.join("\n"));
    world.close().await;
}
