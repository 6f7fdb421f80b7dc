//! Gitea's face: what it answers, and what it does not let pass.

use expect_test::expect;
use http::Method;
use serde_json::{Value, json};

use crate::FakeForge;
use crate::clock::HandClock;
use crate::forge::FakeChange;

const REPO: &str = "octo/widgets";
const NONE: Value = Value::Null;

struct Scene {
    forge: FakeForge,
    client: reqwest::Client,
    token: String,
}

impl Scene {
    async fn new() -> Self {
        let forge = FakeForge::gitea(std::sync::Arc::new(HandClock::default())).await.unwrap();
        forge.keeps_to(crate::description::Description::gitea());
        forge.person("ada");
        forge.bot("patchwright");
        forge.repo(REPO);
        forge.grants(REPO, "patchwright", forge::Permission::Write);
        forge.opens_issue("ada", REPO, "It breaks", "Badly.");
        let change = FakeChange::from_branch("mend");
        forge.opens_change("ada", REPO, "Mend it", "", change);
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let token = forge.token("patchwright");
        Self { forge, client, token }
    }

    async fn ask(&self, method: Method, tail: &str, body: Value) -> (u16, Value) {
        let url = format!("{}/api/v1/repos/{REPO}{tail}", self.forge.url());
        let mut request = self.client.request(method, url);
        request = request.header("authorization", format!("token {}", self.token));
        if !body.is_null() {
            request = request.body(body.to_string());
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or(NONE))
    }
}

#[tokio::test]
async fn an_inline_comment_is_there_by_its_id_and_not_shown() {
    let scene = Scene::new().await;
    let head = FakeChange::from_branch("mend").head;
    let comment = json!({"path": "src/lib.rs", "body": "why?", "new_position": 5});
    let review = json!({"event": "COMMENT", "commit_id": head, "comments": [comment]});
    let (status, made) = scene.ask(Method::POST, "/pulls/2/reviews", review).await;
    assert_eq!(
        (status, &made["state"], &made["comments_count"]),
        (200, &json!("COMMENT"), &json!(1))
    );
    let below = format!("/pulls/2/reviews/{}/comments", made["id"]);
    let (_, listed) = scene.ask(Method::GET, &below, NONE).await;
    let own = format!("/issues/comments/{}", listed[0]["id"]);
    assert_eq!(scene.ask(Method::GET, &own, NONE).await, (204, NONE));
    let (status, edited) = scene.ask(Method::PATCH, &own, json!({"body": "because"})).await;
    assert_eq!((status, &edited["body"]), (200, &json!("because")));
    assert_eq!(scene.ask(Method::DELETE, &own, NONE).await.0, 204);
    assert_eq!(scene.ask(Method::GET, &below, NONE).await.1, json!([]));
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn whatever_gitea_would_not_take_is_refused_and_remembered() {
    let scene = Scene::new().await;
    let requests = [
        (Method::GET, "/nothing", NONE),
        (Method::PUT, "/issues/1/comments", NONE),
        (Method::GET, "/pulls?head=mend", NONE),
        (Method::POST, "/issues/1/comments", json!({"text": "x"})),
        (Method::POST, "/issues/1/comments", json!({"body": " "})),
        (Method::POST, "/issues/1/reactions", json!({"content": "clap"})),
        (Method::POST, "/pulls/2/reviews", json!({"event": "APPROVE", "body": "x"})),
        (Method::POST, "/pulls/2/reviews", json!({"event": "COMMENT", "body": "x"})),
    ];
    let mut statuses = Vec::new();
    for (method, path, body) in requests {
        statuses.push(scene.ask(method, path, body).await.0);
    }
    assert_eq!(statuses, [404, 405, 422, 422, 422, 403, 422, 422]);
    let seen = |request: &str| {
        let all = scene.forge.violations();
        all.iter().filter(|violation| violation.request.ends_with(request)).count()
    };
    for request in ["/nothing", "/pulls?head=mend", "/issues/1/comments", "/issues/1/reactions"] {
        assert!(seen(request) > 0, "{request}");
    }
}

#[tokio::test]
async fn a_delivery_is_signed_over_its_indented_body() {
    let scene = Scene::new().await;
    let asked = scene.forge.comments("ada", REPO, 2, "@patchwright help");
    let delivery = scene.forge.delivery(&asked);
    let header = |name: &str| delivery.headers[name].to_str().unwrap().to_owned();
    expect![[r#"
        issue_comment pull_request_comment issue_comment"#]]
    .assert_eq(&format!(
        "{} {} {}",
        header("x-gitea-event"),
        header("x-gitea-event-type"),
        header("x-github-event")
    ));
    let signature = crate::signature::hex(scene.forge.secret(), &delivery.body);
    assert_eq!(header("x-gitea-signature"), signature);
    assert!(delivery.body.starts_with(b"{\n  \""));
}
