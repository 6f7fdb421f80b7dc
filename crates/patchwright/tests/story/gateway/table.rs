//! The gateway's table of answers: what is sent, and the exact answer to it.

use domain::Policy;

use super::delivery::{comment, gitcode, gitea, github, gitlab, note};
use super::{gateway, policy};
use crate::story::call::Call;

/// What is sent, and what is answered: status and body.
type Case = (&'static str, Call, &'static str);

const ACCEPTED: &str = r#"202 {"status":"accepted","job_id":"ID"}"#;
const UNAUTHENTIC: &str = r#"401 {"status":"error","error":"the signature is missing or wrong"}"#;

/// The examples of the published interface, as they stand there.
const GITHUB_EXAMPLE: &str = r#"{
  "action": "created",
  "issue": {"number": 42, "title": "Bug", "body": "details"},
  "comment": {"body": "@app-name fix", "user": {"login": "alice"}},
  "repository": {"owner": {"login": "acme"}, "name": "demo", "default_branch": "main"},
  "sender": {"login": "alice"}
}"#;
const GITCODE_EXAMPLE: &str = r#"{
  "action": "created",
  "object_attributes": {"note": "@app-name fix"},
  "project": {"namespace": {"name": "acme"}, "name": "demo", "default_branch": "master"},
  "user": {"username": "alice"}
}"#;

/// Sends every case and tells of all that were answered otherwise.
async fn check(policy: Policy, cases: Vec<Case>) {
    let world = gateway(policy).await;
    let mut wrong = Vec::new();
    for (name, call, expected) in cases {
        let answer = call.send(world.gateway()).await.to_string();
        if answer != expected {
            wrong.push(format!("{name}\n  expected {expected}\n  answered {answer}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    world.abandon();
}

fn help(id: u64) -> String {
    comment(id, "alice", "@bot help")
}

/// A form body, as GitHub and Gitea can be told to send.
fn form(json: &str) -> String {
    let mut form = String::from("payload=");
    for byte in json.bytes() {
        form.push_str(&format!("%{byte:02x}"));
    }
    form
}

#[tokio::test]
async fn the_gateway_tells_that_it_lives() {
    let healthy = r#"200 {"status":"healthy","service":"agent-gateway"}"#;
    check(
        policy(),
        vec![
            ("health", Call::get("/health"), healthy),
            ("root", Call::get("/"), healthy),
            (
                "status",
                Call::get("/api/status"),
                r#"200 {"service":"agent-gateway","status":"running","version":"1.0.0"}"#,
            ),
            ("readiness", Call::get("/ready"), r#"200 {"status":"ready"}"#),
            (
                "an address that is not ours",
                Call::get("/api/nothing"),
                r#"404 {"status":"error","error":"there is no such address"}"#,
            ),
            (
                "a wrong method",
                Call::get("/api/webhook"),
                r#"405 {"status":"error","error":"this address is not called with that method"}"#,
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_asks_for_something_is_accepted() {
    let with_issue = GITCODE_EXAMPLE
        .replace(r#""user": {"#, r#""issue": {"iid": 42, "title": "Bug"}, "user": {"#);
    let with_text = with_issue.replace(r#"{"name": "acme"}"#, r#""acme""#);
    let form_type = "application/x-www-form-urlencoded";
    let form_of_gitea = {
        // Gitea signs the JSON, also where it travels in a form.
        let mut signed = gitea("issue_comment", help(7));
        signed.body = form(&help(7)).into_bytes();
        signed.with("content-type", form_type)
    };
    let pull_request = r#"{"action":"opened","number":5,
        "pull_request":{"number":5,"title":"Cache","user":{"id":7,"login":"alice"},"head":{"sha":"abc","ref":"cache"},"base":{"ref":"main"}},
        "repository":{"id":1,"full_name":"acme/demo","name":"demo","owner":{"login":"acme"}},
        "sender":{"id":7,"login":"alice"}}"#;
    check(
        policy(),
        vec![
            ("a comment on GitHub", github("issue_comment", help(1)), ACCEPTED),
            (
                "at GitHub's own address",
                github("issue_comment", help(2)).at("/api/github/webhook"),
                ACCEPTED,
            ),
            ("a note on GitLab", gitlab("Note Hook", note(1, "alice", "@bot help")), ACCEPTED),
            (
                "at GitLab's own address",
                gitlab("Note Hook", note(2, "alice", "@bot help")).at("/api/gitlab/webhook"),
                ACCEPTED,
            ),
            ("a note on GitCode", gitcode("Note Hook", note(1, "alice", "@bot help")), ACCEPTED),
            (
                "at GitCode's own address",
                gitcode("Note Hook", note(2, "alice", "@bot help")).at("/api/gitcode/webhook"),
                ACCEPTED,
            ),
            ("a comment on Gitea", gitea("issue_comment", help(1)), ACCEPTED),
            (
                "at Gitea's own address",
                gitea("issue_comment", help(2)).at("/api/gitea/webhook"),
                ACCEPTED,
            ),
            ("a change", github("pull_request", pull_request), ACCEPTED),
            (
                "a form of GitHub",
                github("issue_comment", form(&help(6))).with("content-type", form_type),
                ACCEPTED,
            ),
            ("a form of Gitea", form_of_gitea, ACCEPTED),
            ("the published example of GitHub", github("issue_comment", GITHUB_EXAMPLE), ACCEPTED),
            (
                "the published example of GitCode lacks an issue",
                gitcode("Note Hook", GITCODE_EXAMPLE),
                r#"400 {"status":"error","error":"`issue` is missing"}"#,
            ),
            (
                "the published example of GitCode with an issue",
                gitcode("Note Hook", with_issue),
                ACCEPTED,
            ),
            ("its namespace may be a text", gitcode("Note Hook", with_text), ACCEPTED),
            (
                "NUL and four bytes",
                github("issue_comment", comment(3, "alice", "@bot help \0 \u{1f600}")),
                ACCEPTED,
            ),
            (
                "half a surrogate",
                github("issue_comment", help(4).replace("details", r"\ud800")),
                ACCEPTED,
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_is_not_used_is_ignored_with_a_reason() {
    let deleted = help(1).replace("created", "deleted");
    let labeled = r#"{"action":"labeled","issue":{"number":42,"title":"Bug"}}"#;
    check(
        policy(),
        vec![
            ("a ping", github("ping", "{}"), r#"200 {"status":"ignored","reason":"ping"}"#),
            (
                "a star",
                github("star", r#"{"action":"created"}"#),
                r#"200 {"status":"ignored","reason":"event `star` is not used"}"#,
            ),
            (
                "a deleted comment",
                github("issue_comment", deleted),
                r#"200 {"status":"ignored","reason":"action `deleted` of `issue_comment` is not used"}"#,
            ),
            (
                "a label",
                github("issues", labeled),
                r#"200 {"status":"ignored","reason":"action `labeled` of `issues` is not used"}"#,
            ),
            (
                "a comment for somebody else",
                github("issue_comment", comment(1, "alice", "@bot2 help")),
                r#"200 {"status":"ignored","reason":"the comment does not mention the bot"}"#,
            ),
            (
                "our own comment",
                github("issue_comment", comment(1, "bot", "@bot help")),
                r#"200 {"status":"ignored","reason":"the bot did this itself"}"#,
            ),
            (
                "GitLab's job",
                gitlab("Job Hook", r#"{"object_kind":"build"}"#),
                r#"200 {"status":"ignored","reason":"event `build` is not used"}"#,
            ),
            (
                "GitCode's tag",
                gitcode("Tag Push Hook", r#"{"object_kind":"tag_push"}"#),
                r#"200 {"status":"ignored","reason":"event `tag_push` is not used"}"#,
            ),
            (
                "Gitea's release",
                gitea("release", r#"{"action":"published"}"#),
                r#"200 {"status":"ignored","reason":"event `release` is not used"}"#,
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_and_named() {
    let cut = &help(1)[..200];
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let invalid = [help(1).as_bytes(), b"\xff"].concat();
    let no_header = r#"400 {"status":"error","error":"no known event header"}"#;
    check(
        policy(),
        vec![
            (
                "no JSON",
                github("issue_comment", "hello"),
                r#"400 {"status":"error","error":"the body is not JSON: expected value at line 1 column 1"}"#,
            ),
            ("nothing", github("issue_comment", ""), r#"400 {"status":"error","error":"the body is not JSON: EOF while parsing a value at line 1 column 0"}"#),
            ("no object", github("issue_comment", "[]"), r#"400 {"status":"error","error":"`payload` is not an object"}"#),
            ("a body that breaks off", github("issue_comment", cut), r#"400 {"status":"error","error":"the body is not JSON: EOF while parsing an object at line 3 column 81"}"#),
            (
                "invalid UTF-8",
                github("issue_comment", invalid),
                r#"400 {"status":"error","error":"the body is not JSON: it is not UTF-8: invalid utf-8 sequence of 1 bytes from index 370"}"#,
            ),
            (
                "nested too deeply",
                github("issue_comment", deep),
                r#"400 {"status":"error","error":"the body is not JSON: it is nested more than 127 levels deep"}"#,
            ),
            (
                "a form without its field",
                github("issue_comment", "a=b").with("content-type", "application/x-www-form-urlencoded"),
                r#"400 {"status":"error","error":"`payload` is missing"}"#,
            ),
            (
                "no comment",
                github("issue_comment", r#"{"action":"created"}"#),
                r#"400 {"status":"error","error":"`comment` is missing"}"#,
            ),
            (
                "no repository",
                github("issue_comment", help(1).replace("repository", "depository")),
                r#"400 {"status":"error","error":"`repository` is missing"}"#,
            ),
            (
                "a number that is none",
                github("issue_comment", help(1).replace("42", r#""many""#)),
                r#"400 {"status":"error","error":"`issue.number` is not a whole number"}"#,
            ),
            ("no event header", github("issue_comment", help(1)).without("x-github-event"), no_header),
            (
                "no event header at the forge's own address",
                github("issue_comment", help(1)).without("x-github-event").at("/api/github/webhook"),
                no_header,
            ),
            (
                "at the address of another forge",
                github("issue_comment", help(1)).at("/api/gitea/webhook"),
                r#"400 {"status":"error","error":"this address is for gitea, the headers are github's"}"#,
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn gitlab_is_told_400_only_for_what_is_not_json() {
    let missing = r#"{"object_kind":"note","object_attributes":{"note":"@bot help","noteable_type":"Issue"}}"#;
    let lists = Policy { allowed_users: vec!["carol".to_owned()], ..policy() };
    check(
        lists,
        vec![
            (
                "no JSON",
                gitlab("Note Hook", "hello"),
                r#"400 {"status":"error","error":"the body is not JSON: expected value at line 1 column 1"}"#,
            ),
            (
                "a missing field",
                gitlab("Note Hook", missing),
                r#"200 {"status":"ignored","reason":"`user` is missing"}"#,
            ),
            (
                "no object",
                gitlab("Note Hook", "[]"),
                r#"200 {"status":"ignored","reason":"`payload` is not an object"}"#,
            ),
            (
                "no event header",
                gitlab("Note Hook", note(1, "alice", "@bot help")).without("x-gitlab-event").at("/api/gitlab/webhook"),
                r#"200 {"status":"ignored","reason":"no known event header"}"#,
            ),
            (
                "at the address of another forge",
                gitlab("Note Hook", note(1, "alice", "@bot help")).at("/api/github/webhook"),
                r#"200 {"status":"ignored","reason":"this address is for github, the headers are gitlab's"}"#,
            ),
            (
                "somebody who is not allowed",
                gitlab("Note Hook", note(1, "alice", "@bot help")),
                r#"200 {"status":"ignored","reason":"refused: alice is not in the list of allowed users"}"#,
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn the_lists_are_asked_only_about_what_would_become_a_job() {
    let lists = Policy {
        allowed_users: vec!["alice".to_owned()],
        allowed_repos: vec!["acme/demo".to_owned()],
        ..policy()
    };
    let elsewhere = help(1).replace("acme/demo", "acme/other").replace(r#""demo""#, r#""other""#);
    let mallory = r#"403 {"status":"error","error":"mallory is not in the list of allowed users"}"#;
    check(
        lists,
        vec![
            ("somebody allowed", github("issue_comment", help(1)), ACCEPTED),
            (
                "somebody else",
                github("issue_comment", comment(2, "mallory", "@bot help")),
                mallory,
            ),
            ("somebody else on Gitea", gitea("issue_comment", comment(2, "mallory", "@bot help")), mallory),
            ("somebody else on GitCode", gitcode("Note Hook", note(2, "mallory", "@bot help")), mallory),
            (
                "another repository",
                github("issue_comment", elsewhere),
                r#"403 {"status":"error","error":"acme/other is not in the list of allowed repositories"}"#,
            ),
            (
                "what nobody acts on",
                github("issue_comment", comment(3, "mallory", "hello")),
                r#"200 {"status":"ignored","reason":"the comment does not mention the bot"}"#,
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn the_signature_is_asked_for_before_anything_is_said_about_the_content() {
    let unsigned = |call: Call| call.without("x-hub-signature-256");
    let lists = Policy { allowed_users: vec!["carol".to_owned()], ..policy() };
    check(
        lists,
        vec![
            ("no JSON", unsigned(github("issue_comment", "hello")), UNAUTHENTIC),
            ("a missing field", unsigned(github("issue_comment", "{}")), UNAUTHENTIC),
            ("a ping", unsigned(github("ping", "{}")), UNAUTHENTIC),
            (
                "somebody who is not allowed",
                unsigned(github("issue_comment", help(1))),
                UNAUTHENTIC,
            ),
            (
                "no event header",
                unsigned(github("ping", "{}")).without("x-github-event"),
                UNAUTHENTIC,
            ),
            (
                "at the address of another forge",
                unsigned(github("ping", "{}")).at("/api/gitlab/webhook"),
                UNAUTHENTIC,
            ),
            (
                "the secret of another forge",
                gitlab("Note Hook", "{}").with("x-gitlab-token", super::GITCODE),
                UNAUTHENTIC,
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn j4_a_delivery_is_taken_once_and_answered_the_same_each_time() {
    let world = gateway(policy()).await;
    let send = async |call: Call| call.send(world.gateway()).await.job();
    let first = send(github("issue_comment", help(1)).with("x-github-delivery", "guid-1")).await;
    // The same delivery, and another delivery that means the same.
    for guid in ["guid-1", "guid-2"] {
        let again = send(github("issue_comment", help(1)).with("x-github-delivery", guid)).await;
        assert_eq!(again, first, "{guid}");
    }
    let other = send(github("issue_comment", help(2)).with("x-github-delivery", "guid-3")).await;
    assert_ne!(other, first);
    assert_eq!(world.jobs().await.len(), 2);
    world.abandon();
}
