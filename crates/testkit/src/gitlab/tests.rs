//! What GitLab's face refuses that a friendlier fake would let pass.

use std::sync::Arc;

use ::forge::{Host, Permission};
use http::Method;
use serde_json::{Value, json};

use crate::forge::{FakeChange, Maintainers, Options, Which};
use crate::{FakeForge, HandClock};

const REPO: &str = "octo/tools/widgets";

struct Scene {
    forge: FakeForge,
    repo: u64,
    token: String,
}

impl Scene {
    async fn new() -> Self {
        let options = Options { host: Host::GitLab, ..Options::default() };
        let forge = FakeForge::start(Arc::new(HandClock::default()), options).await.unwrap();
        forge.person("ada");
        forge.bot("bot");
        let repo = forge.repo(REPO).id;
        forge.grants(REPO, "bot", Permission::Write);
        forge.opens_issue("ada", REPO, "It breaks", "Badly.");
        forge.opens_change("ada", REPO, "Mend it", "", FakeChange::from_branch("mend"));
        let token = forge.token("bot");
        Self { forge, repo, token }
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let url = format!("{}/api/v4{path}", self.forge.url());
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut request = client.request(method, url).bearer_auth(&self.token);
        if !body.is_null() {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or(Value::Null))
    }

    /// Asks below the project.
    async fn below(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        self.ask(method, &format!("/projects/{}{path}", self.repo), body).await
    }

    fn position(&self, more: &Value) -> Value {
        let change = self.forge.subject(REPO, Which::Change(1)).change.unwrap();
        let mut position = json!({
            "position_type": "text", "base_sha": change.base, "start_sha": change.base,
            "head_sha": change.head, "old_path": "src/lib.rs", "new_path": "src/lib.rs",
        });
        position.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"body": "look", "position": position})
    }

    fn complaints(&self) -> usize {
        self.forge.violations().len()
    }
}

#[tokio::test]
async fn projects_are_found_by_number_by_path_and_by_a_former_path() {
    let scene = Scene::new().await;
    let by_path = "/projects/octo%2Ftools%2Fwidgets";
    assert_eq!(scene.ask(Method::GET, by_path, Value::Null).await.1["id"], scene.repo);
    scene.forge.renames(REPO, "octo/gadgets");
    let (status, project) = scene.ask(Method::GET, by_path, Value::Null).await;
    assert_eq!((status, &project["path_with_namespace"]), (200, &json!("octo/gadgets")));
    let note = json!({"body": "hello"});
    let (status, _) = scene.ask(Method::POST, &format!("{by_path}/issues/1/notes"), note).await;
    assert_eq!((status, scene.complaints()), (404, 1));
}

#[tokio::test]
async fn unknown_paths_fields_and_queries_are_violations() {
    let scene = Scene::new().await;
    for (method, path, body) in [
        (Method::GET, "/issues/1/comments", Value::Null),
        (Method::PATCH, "/issues/1", json!({"title": "x"})),
        (Method::POST, "/issues/1/notes", json!({"body": "x", "text": "y"})),
        (Method::POST, "/issues/1/notes", json!({"body": 7})),
        (Method::GET, "/issues/1/notes?sort=ascending", Value::Null),
        (Method::GET, "/merge_requests?head=mend", Value::Null),
        (Method::POST, "/statuses/0", json!({"state": "failure"})),
    ] {
        let before = scene.complaints();
        let (status, _) = scene.below(method, path, body).await;
        assert!((400..500).contains(&status), "{path}: {status}");
        assert_eq!(scene.complaints(), before + 1, "{path}");
    }
}

#[tokio::test]
async fn a_position_names_exactly_the_sides_on_which_its_line_exists() {
    let scene = Scene::new().await;
    for (lines, expected) in [
        (json!({"new_line": 5}), 201),
        (json!({"old_line": 5}), 201),
        (json!({"old_line": 3, "new_line": 3}), 201),
        (json!({"new_line": 3}), 400),
        (json!({"old_line": 3}), 400),
        (json!({"old_line": 5, "new_line": 5}), 400),
        (json!({"new_line": 99}), 400),
        (json!({"position_type": "file"}), 201),
    ] {
        let body = scene.position(&lines);
        let (status, answer) =
            scene.below(Method::POST, "/merge_requests/1/discussions", body).await;
        assert_eq!(status, expected, "{lines}: {answer}");
    }
    assert_eq!(scene.complaints(), 0, "a line that is not there is nobody's mistake");
    let wrong = scene.position(&json!({"new_line": 5, "base_sha": "0"}));
    let (status, _) = scene.below(Method::POST, "/merge_requests/1/discussions", wrong).await;
    assert_eq!((status, scene.complaints()), (400, 1));
}

#[tokio::test]
async fn a_range_is_checked_down_to_its_codes() {
    let scene = Scene::new().await;
    let file = "b24749917179fb5e3e613ed2a703fcdcc6cdf9da";
    let range = |code: &str| {
        scene.position(&json!({"new_line": 5, "line_range": {
            "start": {"line_code": code, "type": null, "old_line": 3, "new_line": 3},
            "end": {"line_code": format!("{file}_6_5"), "type": "new", "new_line": 5}}}))
    };
    let path = "/merge_requests/1/discussions";
    let (status, answer) = scene.below(Method::POST, path, range(&format!("{file}_3_3"))).await;
    assert_eq!((status, scene.complaints()), (201, 0), "{answer}");
    let (status, answer) = scene.below(Method::POST, path, range(&format!("{file}_3_4"))).await;
    assert_eq!((status, scene.complaints()), (400, 1), "{answer}");
}

#[tokio::test]
async fn drafts_are_seen_by_their_author_alone() {
    let scene = Scene::new().await;
    let mut body = scene.position(&json!({"new_line": 5}));
    let draft = json!({"note": "later", "position": body["position"].take()});
    let (status, draft) = scene.below(Method::POST, "/merge_requests/1/draft_notes", draft).await;
    assert_eq!((status, &draft["note"]), (201, &json!("later")));
    let path = format!("/merge_requests/1/draft_notes/{}", draft["id"]);
    let others = Scene { token: scene.forge.token("ada"), ..scene };
    assert_eq!(others.below(Method::DELETE, &path, Value::Null).await.0, 404);
    let (_, listed) = others.below(Method::GET, "/merge_requests/1/draft_notes", Value::Null).await;
    assert_eq!(listed, json!([]));
}

#[tokio::test]
async fn a_reaction_or_a_state_that_stands_already_is_refused() {
    let scene = Scene::new().await;
    let eyes = json!({"name": "eyes"});
    assert_eq!(scene.below(Method::POST, "/issues/1/award_emoji", eyes.clone()).await.0, 201);
    assert_eq!(scene.below(Method::POST, "/issues/1/award_emoji", eyes).await.0, 404);
    let head = scene.forge.subject(REPO, Which::Change(1)).change.unwrap().head;
    let path = format!("/statuses/{head}");
    for (state, expected) in
        [("pending", 201), ("pending", 400), ("success", 201), ("pending", 201)]
    {
        let (status, answer) = scene.below(Method::POST, &path, json!({"state": state})).await;
        assert_eq!(status, expected, "{state}: {answer}");
    }
    assert_eq!(scene.complaints(), 0);
}

#[tokio::test]
async fn a_commit_of_a_fork_has_a_status_only_with_a_ref() {
    let scene = Scene::new().await;
    let fork = scene.forge.forks(REPO, "ada/widgets").id;
    let change = FakeChange::from_branch("far").from_fork(fork, Maintainers::MayEdit);
    let head = change.head.clone();
    scene.forge.opens_change("ada", REPO, "From afar", "", change);
    let path = format!("/statuses/{head}");
    assert_eq!(scene.below(Method::POST, &path, json!({"state": "success"})).await.0, 404);
    let body = json!({"state": "success", "ref": "far"});
    assert_eq!(scene.below(Method::POST, &path, body).await.0, 201);
}

#[tokio::test]
async fn who_was_granted_nothing_is_no_member() {
    let scene = Scene::new().await;
    let (ada, bot) = (501, 502);
    let path = |id: i64| format!("/members/all/{id}");
    assert_eq!(scene.below(Method::GET, &path(ada), Value::Null).await.0, 404);
    let (_, member) = scene.below(Method::GET, &path(bot), Value::Null).await;
    assert_eq!((&member["username"], &member["access_level"]), (&json!("bot"), &json!(30)));
}
