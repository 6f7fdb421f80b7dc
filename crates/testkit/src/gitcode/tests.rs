//! GitCode's face: what it answers, and what it does not let pass.

use std::sync::Arc;

use forge::Permission;
use http::Method;
use serde_json::{Value, json};

use crate::HandClock;
use crate::forge::{FakeChange, FakeForge, Which};

const REPO: &str = "octo/widgets";
const NONE: Value = Value::Null;

/// A forge with issue 1, and change 1 of ada's from the branch `mend`.
struct Room {
    forge: FakeForge,
    client: reqwest::Client,
    token: String,
}

impl Room {
    async fn new() -> Self {
        let forge = FakeForge::gitcode(Arc::new(HandClock::default())).await.unwrap();
        forge.person("ada");
        forge.person("kim");
        forge.repo(REPO);
        forge.grants(REPO, "kim", Permission::Write);
        forge.opens_issue("ada", REPO, "It breaks", "Badly.");
        forge.opens_change("ada", REPO, "Mend it", "", FakeChange::from_branch("mend"));
        let token = forge.token("kim");
        Self { forge, client: reqwest::Client::new(), token }
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let url = format!("{}/api/v5{path}", self.forge.url());
        let mut request = self.client.request(method, url).bearer_auth(&self.token);
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or(NONE))
    }

    async fn in_repo(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        self.ask(method, &format!("/repos/{REPO}{path}"), body).await
    }

    fn wrongs(&self) -> Vec<String> {
        self.forge.violations().into_iter().map(|violation| violation.why).collect()
    }
}

#[tokio::test]
async fn ids_are_texts_and_errors_have_codes() {
    let room = Room::new().await;
    let (_, own) = room.ask(Method::GET, "/user", NONE).await;
    assert!(own["id"].is_string(), "{own}");
    let (_, issue) = room.in_repo(Method::GET, "/issues/1", NONE).await;
    assert_eq!((&issue["number"], &issue["state"]), (&json!("1"), &json!("open")));
    let (status, missing) = room.in_repo(Method::GET, "/issues/9", NONE).await;
    assert_eq!((status, &missing["error_code"]), (404, &json!(404)));
    assert!(room.wrongs().is_empty());
}

#[tokio::test]
async fn a_new_comment_of_a_change_is_named_by_its_discussion() {
    let room = Room::new().await;
    let (status, made) =
        room.in_repo(Method::POST, "/pulls/1/comments", json!({"body": "hello"})).await;
    assert_eq!((status, made["id"].as_str().map(str::len)), (201, Some(40)));
    let one = format!("/pulls/comments/{}", made["note_id"]);
    let (_, read) = room.in_repo(Method::GET, &one, NONE).await;
    assert_eq!((&read["id"], &read["discussion_id"]), (&made["note_id"], &made["id"]));
    assert_eq!(read["comment_type"], json!("DiscussionNote"));
    let of_issue = format!("/issues/comments/{}", made["note_id"]);
    assert_eq!(room.in_repo(Method::GET, &of_issue, NONE).await.0, 404);
    assert_eq!(room.in_repo(Method::DELETE, &one, NONE).await.0, 204);
    assert!(room.wrongs().is_empty());
}

#[tokio::test]
async fn a_comment_on_a_line_outside_of_the_diff_falls_into_the_conversation() {
    let room = Room::new().await;
    let at = |line: u64| {
        json!({"body": "why?", "path": "src/lib.rs", "position": line, "line": line,
               "new_line": line})
    };
    for line in [5, 99] {
        assert_eq!(room.in_repo(Method::POST, "/pulls/1/comments", at(line)).await.0, 201);
    }
    let list = |kind: &str| format!("/pulls/1/comments?comment_type={kind}&direction=asc");
    let (_, inline) = room.in_repo(Method::GET, &list("diff_comment"), NONE).await;
    assert_eq!(inline.as_array().map(Vec::len), Some(1));
    assert_eq!(inline[0]["diff_file"], json!("src/lib.rs"));
    assert_eq!(inline[0]["diff_position"]["end_new_line"], json!(5));
    let (_, talk) = room.in_repo(Method::GET, &list("pr_comment"), NONE).await;
    assert_eq!(talk.as_array().map(Vec::len), Some(1));
    assert!(room.wrongs().is_empty());
}

#[tokio::test]
async fn replies_stand_inside_their_first_comment_and_threads_are_resolved() {
    let room = Room::new().await;
    let inline = json!({"body": "why?", "path": "src/lib.rs", "position": 5});
    let (_, made) = room.in_repo(Method::POST, "/pulls/1/comments", inline).await;
    let thread = made["id"].as_str().unwrap().to_owned();
    let reply = format!("/pulls/1/discussions/{thread}/comments");
    let (_, replied) = room.in_repo(Method::POST, &reply, json!({"body": "because"})).await;
    assert_eq!(replied["id"], json!(thread));
    let settle = format!("/pulls/1/comments/{thread}");
    assert_eq!(
        room.in_repo(Method::PUT, &settle, json!({"resolved": true})).await,
        (200, json!({}))
    );
    let (_, listed) = room.in_repo(Method::GET, "/pulls/1/comments", NONE).await;
    assert_eq!(listed.as_array().map(Vec::len), Some(1));
    assert_eq!(
        (&listed[0]["resolved"], &listed[0]["reply"][0]["body"]),
        (&json!(true), &json!("because"))
    );
    assert!(room.wrongs().is_empty());
}

#[tokio::test]
async fn the_first_page_comes_again_past_the_end() {
    let room = Room::new().await;
    for number in 0..5 {
        room.forge.comments("ada", REPO, Which::Issue(1), &format!("comment {number}"));
    }
    let page = async |page: u64| {
        let path = format!("/issues/1/comments?per_page=2&page={page}");
        room.in_repo(Method::GET, &path, NONE).await.1
    };
    assert_eq!(page(3).await.as_array().map(Vec::len), Some(1));
    assert_eq!(page(4).await, page(1).await);
}

#[tokio::test]
async fn what_a_careful_client_does_not_do_is_remembered() {
    let room = Room::new().await;
    for (method, path, body) in [
        (Method::GET, "/pulls?sort=updated", NONE),
        (Method::GET, "/issues?direction=desc", NONE),
        (Method::POST, "/pulls/1/comments", json!({"body": "x", "side": "RIGHT"})),
        (Method::POST, "/pulls/1/comments", json!({"body": "x", "position": 1, "line": 2})),
        (Method::POST, "/pulls/1/reviews", json!({"body": "x"})),
        (Method::PUT, "/contents/a", json!({"content": "", "message": "m", "branch": "main"})),
    ] {
        let (status, _) = room.in_repo(method, path, body).await;
        assert!((400..500).contains(&status), "{path}: {status}");
    }
    assert_eq!(room.ask(Method::GET, "/user?access_token=x", NONE).await.0, 405);
    assert_eq!(room.forge.violations().len(), 7);
}

#[tokio::test]
async fn deliveries_are_those_of_gitcode() {
    let room = Room::new().await;
    let told = |happened| {
        let delivery = room.forge.delivery(&happened);
        let payload: Value = serde_json::from_slice(&delivery.body).unwrap();
        let event = delivery.headers["x-gitcode-event"].to_str().unwrap().to_owned();
        (event, payload)
    };
    let inline = room.forge.comments_on_line("ada", REPO, 1, ("src/lib.rs", 5), "why?");
    let (event, note) = told(inline);
    assert_eq!(event, "Note Hook");
    assert_eq!(note["object_attributes"]["type"], json!("DiffNote"));
    assert_eq!(note["merge_request"]["action"], json!("open"), "stale, as it is there");
    let (event, opened) = told(room.forge.opens_change(
        "ada",
        REPO,
        "More",
        "",
        FakeChange::from_branch("b").draft(),
    ));
    assert_eq!(
        (event.as_str(), &opened["object_attributes"]["oldrev"]),
        ("Merge Request Hook", &json!(""))
    );
    assert_eq!(opened["object_attributes"]["title"], json!("[WIP]More"));
    assert!(opened["repository"].get("full_name").is_none());
}
