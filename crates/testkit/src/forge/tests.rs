//! The faults, seen from a client's side.

use std::collections::BTreeMap;
use std::time::Duration;

use expect_test::expect;
use http::Method;
use serde_json::{Value, json};

use super::*;
use crate::HandClock;

/// A forge with one person, one bot, one repository and one issue, and a client with its token.
pub(crate) struct Scene {
    pub(crate) forge: FakeForge,
    pub(crate) clock: Arc<HandClock>,
    pub(crate) client: reqwest::Client,
    pub(crate) token: String,
}

pub(crate) const REPO: &str = "octo/widgets";
pub(crate) const COMMENTS: &str = "/repos/octo/widgets/issues/1/comments";

impl Scene {
    pub(crate) async fn new() -> Self {
        let clock = Arc::new(HandClock::default());
        let forge = FakeForge::github(clock.clone()).await.unwrap();
        forge.person("ada");
        forge.bot("patchwright[bot]");
        forge.repo(REPO);
        forge.grants(REPO, "patchwright[bot]", ::forge::Permission::Write);
        forge.opens_issue("ada", REPO, "It breaks", "Badly.");
        let token = forge.token("patchwright[bot]");
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        Self { forge, clock, client, token }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("{}{path}", self.forge.url());
        let request = self.client.request(method, url).bearer_auth(&self.token);
        request.header("user-agent", "test/1").header("accept", "application/vnd.github+json")
    }

    pub(crate) async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let mut request = self.request(method, path);
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let text = response.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    pub(crate) async fn write(&self, body: &str) -> Result<u16, reqwest::Error> {
        let request = self.request(Method::POST, COMMENTS).json(&json!({"body": body}));
        request.send().await.map(|response| response.status().as_u16())
    }

    pub(crate) async fn listed(&self) -> Vec<String> {
        let (status, list) = self.ask(Method::GET, COMMENTS, Value::Null).await;
        assert_eq!(status, 200);
        let list = list.as_array().unwrap().iter();
        list.map(|comment| comment["body"].as_str().unwrap().to_owned()).collect()
    }

    fn bodies(&self) -> Vec<String> {
        self.forge.conversation(REPO, 1).into_iter().map(|comment| comment.body).collect()
    }
}

#[tokio::test]
async fn an_answer_is_lost_though_the_comment_was_written() {
    let scene = Scene::new().await;
    scene.forge.faults().lose_answers(Often::Every(2));
    assert_eq!(scene.write("one").await.unwrap(), 201);
    let lost = scene.write("two").await.unwrap_err();
    assert!(!lost.is_connect() && !lost.is_status(), "{lost:?}");
    assert_eq!(scene.bodies(), ["one", "two"]);
    assert_eq!(scene.forge.faults().counts(), BTreeMap::from([("lose-answer".to_owned(), 1)]));
    assert_eq!(scene.forge.requests().last().unwrap().status, None);
}

#[tokio::test]
async fn a_cut_before_writing_leaves_nothing_behind() {
    let scene = Scene::new().await;
    scene.forge.faults().cut_writes(Often::Next(1));
    scene.write("one").await.unwrap_err();
    assert_eq!(scene.write("two").await.unwrap(), 201);
    assert_eq!(scene.bodies(), ["two"]);
}

#[tokio::test]
async fn a_5xx_may_come_with_or_without_the_write() {
    let scene = Scene::new().await;
    scene.forge.faults().break_answers(Often::Next(1));
    assert_eq!(scene.write("written").await.unwrap(), 502);
    scene.forge.faults().fail_requests(Often::Next(1));
    assert_eq!(scene.write("not written").await.unwrap(), 503);
    assert_eq!(scene.bodies(), ["written"]);
}

#[tokio::test]
async fn a_new_comment_is_listed_only_after_the_lag_but_read_by_its_id_at_once() {
    let scene = Scene::new().await;
    scene.forge.lags(Lag::Milliseconds(5_000));
    let (_, comment) = scene.ask(Method::POST, COMMENTS, json!({"body": "hello"})).await;
    let own = format!("/repos/octo/widgets/issues/comments/{}", comment["id"]);
    assert_eq!(scene.ask(Method::GET, &own, Value::Null).await.0, 200);
    assert_eq!(scene.listed().await, [""; 0]);
    scene.clock.advance(Duration::from_secs(5));
    assert_eq!(scene.listed().await, ["hello"]);
}

#[tokio::test]
async fn a_lag_can_be_counted_in_listings() {
    let scene = Scene::new().await;
    scene.forge.lags(Lag::Listings(2));
    scene.write("hello").await.unwrap();
    assert_eq!(scene.listed().await, [""; 0]);
    assert_eq!(scene.listed().await, [""; 0]);
    assert_eq!(scene.listed().await, ["hello"]);
}

#[tokio::test]
async fn an_outage_refuses_connections_and_ends_at_the_same_address() {
    let scene = Scene::new().await;
    assert_eq!(scene.write("before").await.unwrap(), 201);
    scene.forge.faults().outage(Outage::Refusing).await;
    let refused = scene.write("during").await.unwrap_err();
    assert!(refused.is_connect(), "{refused:?}");
    scene.forge.faults().outage(Outage::None).await;
    assert_eq!(scene.write("after").await.unwrap(), 201);
    scene.forge.faults().outage(Outage::Unavailable).await;
    assert_eq!(scene.write("unavailable").await.unwrap(), 503);
    assert_eq!(scene.bodies(), ["before", "after"]);
}

#[tokio::test]
async fn a_held_request_is_done_after_its_release_even_if_the_client_is_gone() {
    let scene = Scene::new().await;
    let mut moments = scene.forge.watch_writes();
    scene.forge.faults().hold_writes(Often::Next(1));
    let request = scene.request(Method::POST, COMMENTS).json(&json!({"body": "late"}));
    let client = tokio::spawn(request.send());
    scene.forge.faults().until_held(1).await;
    assert!(matches!(moments.recv().await, Some(Moment::Arrived { .. })));
    client.abort();
    assert!(client.await.unwrap_err().is_cancelled());
    assert_eq!(scene.bodies(), [""; 0]);
    scene.forge.faults().release();
    assert!(matches!(moments.recv().await, Some(Moment::Done { .. })));
    assert_eq!(scene.bodies(), ["late"]);
}

#[tokio::test]
async fn an_answer_can_be_held_when_the_write_is_done() {
    let scene = Scene::new().await;
    scene.forge.faults().hold_answers(Often::Next(1));
    let request = scene.request(Method::POST, COMMENTS).json(&json!({"body": "done"}));
    let client = tokio::spawn(request.send());
    scene.forge.faults().until_held(1).await;
    assert_eq!(scene.bodies(), ["done"]);
    scene.forge.faults().release();
    assert_eq!(client.await.unwrap().unwrap().status(), 201);
}

#[tokio::test]
async fn limits_are_said_in_each_of_githubs_ways() {
    let scene = Scene::new().await;
    let now = scene.clock.now();
    let until = now + Duration::from_millis(90_500);
    let mut said = String::new();
    for limit in [Limit::Primary, Limit::TooMany, Limit::Secondary, Limit::SecondaryWithoutHint] {
        scene.forge.faults().limit(limit, until);
        let response = scene.request(Method::GET, "/user").send().await.unwrap();
        let header = |name| {
            response.headers().get(name).map_or("-", |value| value.to_str().unwrap()).to_owned()
        };
        let headers =
            ["retry-after", "x-ratelimit-remaining", "x-ratelimit-reset"].map(header).join(" ");
        let status = response.status().as_u16();
        let message = response.json::<Value>().await.unwrap()["message"].clone();
        said.push_str(&format!("{limit:?}: {status} {headers} {message}\n"));
    }
    expect![[r#"
        Primary: 403 - 0 1767225691 "API rate limit exceeded for user ID 1."
        TooMany: 429 91 - - "API rate limit exceeded for user ID 1."
        Secondary: 403 91 - - "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
        SecondaryWithoutHint: 403 - - - "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    "#]]
    .assert_eq(&said);
    scene.clock.advance(Duration::from_millis(90_500));
    let response = scene.request(Method::GET, "/user").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(!response.headers().contains_key("x-ratelimit-remaining"));
    scene.forge.faults().limit_headers(LimitHeaders::Sent);
    let response = scene.request(Method::GET, "/user").send().await.unwrap();
    assert_eq!(response.headers()["x-ratelimit-remaining"], "4999");
}

#[tokio::test]
async fn others_edit_and_delete_between_two_requests() {
    let scene = Scene::new().await;
    scene.write("ours").await.unwrap();
    scene.forge.faults().add(Fault::OthersEdit, On::Reads, Often::Next(1));
    assert_eq!(scene.listed().await, ["Somebody else wrote this."]);
    assert_eq!(scene.forge.conversation(REPO, 1)[0].written_by.login, "meddler");
    scene.forge.faults().add(Fault::OthersDelete, On::Reads, Often::Next(1));
    assert_eq!(scene.listed().await, [""; 0]);
}

#[tokio::test]
async fn a_slow_answer_waits_for_the_clock() {
    let scene = Scene::new().await;
    scene.forge.faults().slow(Duration::from_secs(20));
    let client = tokio::spawn(scene.request(Method::GET, "/user").send());
    scene.clock.until_sleepers(1).await;
    assert!(!client.is_finished());
    scene.clock.advance(Duration::from_secs(20));
    assert_eq!(client.await.unwrap().unwrap().status(), 200);
}

#[tokio::test]
async fn what_the_bot_writes_is_told_to_webhooks_too() {
    let scene = Scene::new().await;
    scene.write("ours").await.unwrap();
    let echoes = scene.forge.echoes();
    assert_eq!(echoes.len(), 1);
    assert_eq!(echoes[0].by.login, "patchwright[bot]");
    assert_eq!(scene.forge.echoes(), []);
}

#[tokio::test]
async fn a_thread_reads_as_a_person_sees_it() {
    let scene = Scene::new().await;
    let asked = scene.forge.comments("ada", REPO, 1, "@patchwright help\n\nPlease.");
    scene
        .write("<!-- patchwright:1 kind=answer slot=reply:c1700001 rev=1 mac=00 -->\nHere you are.")
        .await
        .unwrap();
    let path = format!("/repos/octo/widgets/issues/comments/{}/reactions", asked.comment_id());
    scene.ask(Method::POST, &path, json!({"content": "eyes"})).await;
    scene.forge.closes("ada", REPO, 1);
    expect![[r#"
        issue #1: It breaks (closed)

        --- ada
        Badly.

        --- ada [eyes by patchwright[bot]]
        @patchwright help

        Please.

        --- patchwright[bot]
        [marker kind=answer slot=reply:c1700001 rev=1]
        Here you are.
    "#]]
    .assert_eq(&scene.forge.thread(REPO, 1));
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn another_process_steers_people_and_faults_through_the_control_endpoints() {
    let scene = Scene::new().await;
    let order = async |order: Value| {
        let url = format!("{}/do", scene.forge.control_url());
        let response = scene.client.post(url).json(&order).send().await.unwrap();
        (response.status().as_u16(), response.json::<Value>().await.unwrap())
    };
    let (status, said) = order(json!({
        "do": "comment", "actor": "ada", "repo": REPO, "number": 1, "body": "@patchwright status",
    }))
    .await;
    assert_eq!(
        (status, &said["delivery"]["headers"]["x-github-event"]),
        (200, &json!("issue_comment"))
    );
    let fault =
        json!({"do": "fault", "fault": "break-answer", "on": "writes", "often": {"next": 1}});
    assert_eq!(order(fault).await.0, 200);
    assert_eq!(scene.write("one").await.unwrap(), 502);
    assert_eq!(order(json!({"do": "outage", "outage": "refusing"})).await.0, 200);
    assert!(scene.write("two").await.unwrap_err().is_connect());
    assert_eq!(order(json!({"do": "outage", "outage": "none"})).await.0, 200);
    let unknown =
        json!({"do": "comment", "actor": "nobody", "repo": REPO, "number": 1, "body": "x"});
    assert_eq!(order(unknown).await, (422, json!({"error": "there is no account nobody"})));

    let read = async |path: &str| {
        let url = format!("{}{path}", scene.forge.control_url());
        scene.client.get(url).send().await.unwrap().text().await.unwrap()
    };
    assert!(read("/thread/octo/widgets/1").await.contains("@patchwright status"));
    let state: Value = serde_json::from_str(&read("/state").await).unwrap();
    assert_eq!(
        state,
        json!({"violations": [], "faults": {"break-answer": 1}, "held": 0, "requests": 1})
    );
}
