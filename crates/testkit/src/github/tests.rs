//! GitHub's face: what it answers, and what it does not let pass.

mod app;
mod change;
mod review;

use std::sync::Arc;

use expect_test::expect;
use http::Method;
use serde_json::{Value, json};

use crate::HandClock;
use crate::description::Description;
use crate::forge::tests::{COMMENTS, REPO, Scene};
use crate::forge::{FakeChange, FakeForge, Happened, LONGEST_BODY};

const NONE: Value = Value::Null;

/// A scene with a change, `#2` of ada's from the branch `mend`, held to GitHub's description.
struct Room {
    forge: Arc<FakeForge>,
    clock: Arc<HandClock>,
    client: reqwest::Client,
    token: String,
}

impl Room {
    async fn new() -> Self {
        let Scene { forge, clock, client, token } = Scene::new().await;
        forge.keeps_to(Description::github());
        forge.opens_change("ada", REPO, "Mend it", "", FakeChange::from_branch("mend"));
        Self { forge: Arc::new(forge), clock, client, token }
    }

    /// The same room for somebody else.
    fn with_token(&self, token: String) -> Self {
        let Self { forge, clock, client, .. } = self;
        Self { forge: forge.clone(), clock: clock.clone(), client: client.clone(), token }
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let url = format!("{}{path}", self.forge.url());
        let mut request = self.client.request(method, url).bearer_auth(&self.token);
        request =
            request.header("user-agent", "test/1").header("accept", "application/vnd.github+json");
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or(NONE))
    }

    /// The head of the change.
    fn head(&self) -> String {
        self.forge.subject(REPO, 2).change.unwrap().head
    }

    /// The name and action of a delivery.
    fn event(&self, happened: &Happened) -> String {
        let delivery = self.forge.delivery(happened);
        let payload: Value = serde_json::from_slice(&delivery.body).unwrap();
        let event = delivery.headers["x-github-event"].to_str().unwrap();
        format!("{event} {}", payload["action"].as_str().unwrap_or_default())
    }

    #[track_caller]
    fn nothing_wrong(&self) {
        assert_eq!(self.forge.violations(), []);
    }
}

#[tokio::test]
async fn a_comment_is_created_read_edited_and_deleted() {
    let scene = Scene::new().await;
    let (status, made) = scene.ask(Method::POST, COMMENTS, json!({"body": "hello"})).await;
    assert_eq!((status, &made["user"]["type"]), (201, &json!("Bot")));
    let own = format!("/repos/octo/widgets/issues/comments/{}", made["id"]);
    let (status, read) = scene.ask(Method::GET, &own, NONE).await;
    assert_eq!((status, &read), (200, &made));
    scene.clock.advance(std::time::Duration::from_secs(60));
    let (status, edited) = scene.ask(Method::PATCH, &own, json!({"body": "bye"})).await;
    assert_eq!((status, &edited["body"], &edited["id"]), (200, &json!("bye"), &made["id"]));
    assert_eq!(edited["created_at"], json!("2026-01-01T00:00:00Z"));
    assert_eq!(edited["updated_at"], json!("2026-01-01T00:01:00Z"));
    assert_eq!(scene.ask(Method::DELETE, &own, NONE).await, (204, NONE));
    assert_eq!(scene.ask(Method::GET, &own, NONE).await.0, 404);
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn listings_come_in_pages_that_are_linked() {
    let scene = Scene::new().await;
    for number in 1..=5 {
        scene.forge.comments("ada", REPO, 1, &format!("comment {number}"));
    }
    let mut seen = String::new();
    for page in 1..=4 {
        let path = format!("{COMMENTS}?per_page=2&page={page}");
        let response = scene.request(Method::GET, &path).send().await.unwrap();
        let link = response.headers().get("link").unwrap().to_str().unwrap().to_owned();
        let list: Value = response.json().await.unwrap();
        let bodies: Vec<_> =
            list.as_array().unwrap().iter().map(|comment| comment["body"].to_string()).collect();
        seen.push_str(&format!(
            "{bodies:?}\n{}\n",
            link.replace(scene.forge.url(), "").replace(", ", "\n")
        ));
    }
    expect![[r#"
        ["\"comment 1\"", "\"comment 2\""]
        </repositories/70001/issues/1/comments?page=2&per_page=2>; rel="next"
        </repositories/70001/issues/1/comments?page=3&per_page=2>; rel="last"
        ["\"comment 3\"", "\"comment 4\""]
        </repositories/70001/issues/1/comments?page=1&per_page=2>; rel="prev"
        </repositories/70001/issues/1/comments?page=3&per_page=2>; rel="next"
        </repositories/70001/issues/1/comments?page=3&per_page=2>; rel="last"
        </repositories/70001/issues/1/comments?page=1&per_page=2>; rel="first"
        ["\"comment 5\""]
        </repositories/70001/issues/1/comments?page=2&per_page=2>; rel="prev"
        </repositories/70001/issues/1/comments?page=1&per_page=2>; rel="first"
        []
        </repositories/70001/issues/1/comments?page=3&per_page=2>; rel="prev"
        </repositories/70001/issues/1/comments?page=1&per_page=2>; rel="first"
    "#]]
    .assert_eq(&seen);
    let response =
        scene.request(Method::GET, &format!("{COMMENTS}?per_page=500")).send().await.unwrap();
    assert!(!response.headers().contains_key("link"));
    let linked = scene
        .ask(Method::GET, "/repositories/70001/issues/1/comments?page=2&per_page=2", NONE)
        .await;
    assert_eq!(linked.1.as_array().unwrap().len(), 2);
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn whatever_github_would_not_take_is_refused_and_remembered() {
    let scene = Scene::new().await;
    let long = "ä".repeat(LONGEST_BODY + 1);
    let requests = [
        (Method::GET, "/nothing", NONE),
        (Method::GET, "/repos/octo/widgets/pulls/1/threads", NONE),
        (Method::PUT, "/repos/octo/widgets/issues/comments/1700001", NONE),
        (Method::GET, "/repos/octo/widgets/issues/comments/1700001/reactions", NONE),
        (Method::GET, "/repos/octo/widgets/issues/1/comments?sort=asc", NONE),
        (Method::GET, "/repos/octo/widgets/issues/1/comments?page=0", NONE),
        (Method::POST, COMMENTS, json!({})),
        (Method::POST, COMMENTS, json!({"body": 7})),
        (Method::POST, COMMENTS, json!({"body": "x", "text": "y"})),
        (Method::POST, COMMENTS, json!(["body"])),
        (Method::POST, COMMENTS, json!({"body": " "})),
        (Method::POST, COMMENTS, json!({"body": long})),
        (Method::POST, "/repos/octo/widgets/issues/1/reactions", json!({"content": "clap"})),
    ];
    let mut statuses = Vec::new();
    for (method, path, body) in requests {
        statuses.push(scene.ask(method, path, body).await.0);
    }
    let not_json = scene.request(Method::POST, COMMENTS).body("{").send().await.unwrap();
    statuses.push(not_json.status().as_u16());
    assert_eq!(statuses, [404, 404, 404, 404, 422, 422, 422, 422, 422, 400, 422, 422, 422, 400]);
    let why: String =
        scene.forge.violations().iter().map(|it| format!("{}: {}\n", it.request, it.why)).collect();
    expect![[r#"
        GET /nothing: no such path
        GET /repos/octo/widgets/pulls/1/threads: no such path
        PUT /repos/octo/widgets/issues/comments/1700001: PUT is not answered here
        GET /repos/octo/widgets/issues/comments/1700001/reactions: GET is not answered here
        GET /repos/octo/widgets/issues/1/comments?sort=asc: the query sort=asc means nothing here
        GET /repos/octo/widgets/issues/1/comments?page=0: the query page=0 means nothing here
        POST /repos/octo/widgets/issues/1/comments: the fields of the body are wrong: missing field `body`
        POST /repos/octo/widgets/issues/1/comments: the fields of the body are wrong: invalid type: integer `7`, expected a string
        POST /repos/octo/widgets/issues/1/comments: the fields of the body are wrong: unknown field `text`, expected `body`
        POST /repos/octo/widgets/issues/1/comments: the body is no JSON object
        POST /repos/octo/widgets/issues/1/comments: a blank body
        POST /repos/octo/widgets/issues/1/comments: the body is too long
        POST /repos/octo/widgets/issues/1/reactions: the reaction 'clap' does not exist
        POST /repos/octo/widgets/issues/1/comments: the body is not JSON
    "#]].assert_eq(&why);
}

#[tokio::test]
async fn a_body_of_exactly_the_limit_is_taken_whatever_its_bytes() {
    let scene = Scene::new().await;
    assert_eq!(scene.write(&"語".repeat(LONGEST_BODY)).await.unwrap(), 201);
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn a_request_needs_its_headers_and_a_token_that_is_known() {
    let scene = Scene::new().await;
    let url = format!("{}/user", scene.forge.url());
    let accept = "application/vnd.github+json";
    let get = || scene.client.get(&url);
    let requests = [
        get().header("accept", accept).bearer_auth(&scene.token),
        get().header("user-agent", "x").header("accept", "text/html").bearer_auth(&scene.token),
        get().header("user-agent", "x").header("accept", accept),
        get().header("user-agent", "x").header("accept", accept).bearer_auth("wrong"),
        scene.request(Method::GET, "/user").header("x-github-api-version", "1999-01-01"),
        scene.request(Method::GET, "/user").header("x-github-api-version", "2022-11-28"),
    ];
    let mut statuses = Vec::new();
    for request in requests {
        statuses.push(request.send().await.unwrap().status().as_u16());
    }
    assert_eq!(statuses, [403, 415, 401, 401, 410, 200]);
    let why: Vec<_> = scene.forge.violations().into_iter().map(|it| it.why).collect();
    assert_eq!(
        why,
        [
            "no User-Agent header",
            "the Accept header is 'text/html'",
            "no Authorization header",
            "the token is unknown",
            "unknown API version"
        ]
    );
}

#[tokio::test]
async fn what_does_not_exist_is_no_violation() {
    let scene = Scene::new().await;
    for path in [
        "/repos/octo/gadgets",
        "/repos/octo/widgets/issues/99",
        "/repos/octo/widgets/issues/99/comments",
        "/repos/octo/widgets/issues/comments/5",
        "/repositories/1",
        "/repos/octo/widgets/collaborators/nobody/permission",
    ] {
        assert_eq!(scene.ask(Method::GET, path, NONE).await.0, 404, "{path}");
    }
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn a_renamed_repository_is_found_by_its_old_name_through_a_redirect() {
    let scene = Scene::new().await;
    scene.forge.renames(REPO, "octo/gadgets");
    let client = reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none());
    let scene = Scene { client: client.build().unwrap(), ..scene };
    let located = async |method: Method, path: &str, body: Value| {
        let response = scene.request(method, path).json(&body).send().await.unwrap();
        let location =
            response.headers()["location"].to_str().unwrap().replace(scene.forge.url(), "");
        (response.status().as_u16(), location)
    };
    let comments = "/repositories/70001/issues/1/comments";
    assert_eq!(
        located(Method::GET, REPO_PATH, NONE).await,
        (301, "/repositories/70001".to_owned())
    );
    let paged = format!("{COMMENTS}?page=2");
    assert_eq!(located(Method::GET, &paged, NONE).await, (301, format!("{comments}?page=2")));
    assert_eq!(
        located(Method::POST, COMMENTS, json!({"body": "x"})).await,
        (307, comments.to_owned())
    );
    assert_eq!(scene.forge.conversation("octo/gadgets", 1), []);
    let (status, repo) = scene.ask(Method::GET, "/repositories/70001", NONE).await;
    assert_eq!((status, &repo["full_name"]), (200, &json!("octo/gadgets")));
    scene.forge.repo(REPO);
    let (status, repo) = scene.ask(Method::GET, REPO_PATH, NONE).await;
    assert_eq!((status, &repo["id"]), (200, &json!(70_002)));
}

const REPO_PATH: &str = "/repos/octo/widgets";

#[tokio::test]
async fn a_reaction_is_new_only_once() {
    let scene = Scene::new().await;
    scene.forge.opens_change("ada", REPO, "Mend it", "", FakeChange::from_branch("mend"));
    let said = scene.forge.comments("ada", REPO, 1, "hello").comment_id();
    let inline =
        scene.forge.comments_on_line("ada", REPO, 2, ("src/lib.rs", 3), "why?").comment_id();
    assert_eq!(said, inline, "the ids of the two kinds of comments overlap");
    for path in [
        "/repos/octo/widgets/issues/1/reactions".to_owned(),
        format!("/repos/octo/widgets/issues/comments/{said}/reactions"),
        format!("/repos/octo/widgets/pulls/comments/{inline}/reactions"),
    ] {
        let (first, made) = scene.ask(Method::POST, &path, json!({"content": "eyes"})).await;
        let (second, found) = scene.ask(Method::POST, &path, json!({"content": "eyes"})).await;
        assert_eq!((first, second, &made), (201, 200, &found), "{path}");
    }
    let (status, read) =
        scene.ask(Method::GET, &format!("/repos/octo/widgets/pulls/comments/{inline}"), NONE).await;
    assert_eq!(
        (status, &read["path"], &read["reactions"]["eyes"]),
        (200, &json!("src/lib.rs"), &json!(1))
    );
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn permissions_are_told_coarsely_and_by_role_to_those_who_may_write() {
    use forge::Permission::*;
    let scene = Scene::new().await;
    let mut told = Vec::new();
    for permission in [None, Read, Triage, Write, Maintain, Admin] {
        scene.forge.grants(REPO, "ada", permission);
        let (_, answer) =
            scene.ask(Method::GET, "/repos/octo/widgets/collaborators/ada/permission", NONE).await;
        told.push(format!("{}/{}", answer["permission"], answer["role_name"]).replace('"', ""));
    }
    assert_eq!(
        told,
        ["none/none", "read/read", "read/triage", "write/write", "write/maintain", "admin/admin"]
    );
    scene.forge.grants(REPO, "patchwright[bot]", Read);
    let (status, _) =
        scene.ask(Method::GET, "/repos/octo/widgets/collaborators/ada/permission", NONE).await;
    assert_eq!(status, 403);
}

#[tokio::test]
async fn a_comment_of_somebody_else_is_changed_only_by_those_who_may_write() {
    let scene = Scene::new().await;
    let id = scene.forge.comments("ada", REPO, 1, "mine").comment_id();
    let path = format!("/repos/octo/widgets/issues/comments/{id}");
    scene.forge.grants(REPO, "patchwright[bot]", forge::Permission::Triage);
    assert_eq!(scene.ask(Method::PATCH, &path, json!({"body": "yours"})).await.0, 403);
    assert_eq!(scene.ask(Method::DELETE, &path, NONE).await.0, 403);
    assert_eq!(scene.forge.conversation(REPO, 1)[0].body, "mine");
}

#[tokio::test]
async fn a_change_is_an_issue_with_a_pull_request() {
    let scene = Scene::new().await;
    scene.forge.opens_change("ada", REPO, "Mend it", "", FakeChange::from_branch("mend").draft());
    let (_, change) = scene.ask(Method::GET, "/repos/octo/widgets/issues/2", NONE).await;
    assert_eq!((&change["draft"], &change["body"]), (&json!(true), &NONE));
    assert!(change["pull_request"].is_object());
    let (_, issue) = scene.ask(Method::GET, "/repos/octo/widgets/issues/1", NONE).await;
    assert!(issue.get("pull_request").is_none());
}

#[tokio::test]
async fn deliveries_carry_the_moment_of_their_making_and_an_id_each() {
    let scene = Scene::new().await;
    let asked = scene.forge.comments("ada", REPO, 1, "@patchwright help");
    let edited = scene.forge.edits("ada", REPO, asked.comment_id(), "@patchwright status");
    let opened =
        scene.forge.opens_change("ada", REPO, "Mend it", "", FakeChange::from_branch("mend"));
    let pushed = scene.forge.pushes("ada", REPO, 2);
    let inline = scene.forge.comments_on_line("ada", REPO, 2, ("src/lib.rs", 3), "why?");
    let closed = scene.forge.closes("ada", REPO, 2);
    let deleted = scene.forge.deletes("ada", REPO, asked.comment_id());
    let renamed = scene.forge.renames(REPO, "octo/gadgets");
    let mut seen = String::new();
    let mut ids = std::collections::BTreeSet::new();
    for happened in [&asked, &edited, &opened, &pushed, &inline, &closed, &deleted, &renamed] {
        let delivery = scene.forge.delivery(happened);
        let payload: Value = serde_json::from_slice(&delivery.body).unwrap();
        let event = delivery.headers["x-github-event"].to_str().unwrap();
        let body = payload.pointer("/comment/body").unwrap_or(&NONE);
        let repo = &payload["repository"]["full_name"];
        seen.push_str(&format!(
            "{event} {} {body} {} {repo}\n",
            payload["action"], payload["changes"]
        ));
        assert_eq!(payload["repository"]["id"], json!(70_001));
        assert!(ids.insert(delivery.id().to_owned()), "two deliveries share an id");
    }
    expect![[r#"
        issue_comment "created" "@patchwright help" null "octo/widgets"
        issue_comment "edited" "@patchwright status" {"body":{"from":"@patchwright help"}} "octo/widgets"
        pull_request "opened" null null "octo/widgets"
        pull_request "synchronize" null null "octo/widgets"
        pull_request_review_comment "created" "why?" null "octo/widgets"
        pull_request "closed" null null "octo/widgets"
        issue_comment "deleted" "@patchwright status" null "octo/widgets"
        repository "renamed" null {"repository":{"name":{"from":"widgets"}}} "octo/gadgets"
    "#]].assert_eq(&seen);
    let payload: Value = serde_json::from_slice(&scene.forge.delivery(&pushed).body).unwrap();
    assert_eq!(payload["after"], payload["pull_request"]["head"]["sha"]);
    assert_ne!(payload["after"], payload["before"]);
}
