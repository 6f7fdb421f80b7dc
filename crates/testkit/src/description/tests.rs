//! GitHub's description finds what is invented, and lets pass what is right.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use serde_json::json;

use super::*;

const REVIEWS: &str = "/repos/octo/widgets/pulls/1/reviews";

fn asked(method: Method, path: &str, body: &Value) -> Asked {
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    Asked { method, uri: path.parse().unwrap(), headers: HeaderMap::new(), body }
}

#[track_caller]
fn check(method: Method, path: &str, body: Value, expected: &[&str]) {
    let complaints = Description::github().complaints_of(&asked(method, path, &body));
    assert_eq!(complaints, expected, "{path} {body}");
}

#[test]
fn what_is_described_passes() {
    let comment = json!({"path": "a.rs", "body": "x", "line": 3, "side": "RIGHT"});
    let review =
        json!({"commit_id": "c0ffee", "event": "COMMENT", "body": "x", "comments": [comment]});
    check(Method::POST, REVIEWS, review, &[]);
    check(Method::GET, "/repos/octo/widgets/pulls?state=all&per_page=100&page=2", Value::Null, &[]);
    check(
        Method::GET,
        "/repositories/7/issues/1/comments?since=2026-01-01T00:00:00Z",
        Value::Null,
        &[],
    );
    check(Method::GET, "/repos/octo/widgets/contents/src/lib.rs?ref=main", Value::Null, &[]);
    check(Method::GET, "/repos/octo/widgets/git/ref/heads/a/b", Value::Null, &[]);
    check(
        Method::PUT,
        "/repos/octo/widgets/contents/a",
        json!({"message": "m", "content": "", "sha": "0"}),
        &[],
    );
    check(
        Method::POST,
        "/repos/octo/widgets/actions/workflows/ci.yml/dispatches",
        json!({"ref": "main", "inputs": {"a": "b"}}),
        &[],
    );
}

#[test]
fn an_invented_path_method_query_or_field_is_found() {
    check(
        Method::GET,
        "/repos/octo/widgets/threads",
        Value::Null,
        &["the description has no GET /repos/octo/widgets/threads"],
    );
    check(
        Method::DELETE,
        REVIEWS,
        Value::Null,
        &[&format!("the description has no DELETE {REVIEWS}")],
    );
    check(
        Method::GET,
        &format!("{REVIEWS}?sort=up"),
        Value::Null,
        &["the description has no query sort"],
    );
    check(
        Method::GET,
        "/repos/octo/widgets/pulls?state=merged",
        Value::Null,
        &[r#"the query state: the whole: "merged" is none of ["open","closed","all"]"#],
    );
    check(Method::POST, REVIEWS, json!({"draft": true}), &["the description has no field /draft"]);
    let comment = json!({"path": "a.rs", "body": "x", "line": 3, "colour": "red"});
    check(
        Method::POST,
        REVIEWS,
        json!({"comments": [comment]}),
        &["the description has no field /comments/0/colour"],
    );
}

#[test]
fn a_missing_or_wrong_field_is_found() {
    check(
        Method::POST,
        "/repos/octo/widgets/issues/1/comments",
        json!({}),
        &["the whole: it lacks body"],
    );
    check(
        Method::POST,
        "/repos/octo/widgets/issues/1/comments",
        Value::Null,
        &["the body is missing"],
    );
    check(
        Method::POST,
        "/repos/octo/widgets/statuses/c0ffee",
        json!({"state": "failed"}),
        &[r#"/state: "failed" is none of ["error","failure","pending","success"]"#],
    );
    check(
        Method::POST,
        REVIEWS,
        json!({"comments": [{"path": "a", "body": 7}]}),
        &[r#"/comments/0/body: 7 is not of type "string""#],
    );
}

#[test]
fn an_answer_that_github_would_not_give_is_found() {
    let asked = asked(Method::POST, "/repos/octo/widgets/issues/1/comments", &json!({"body": "x"}));
    let complaints = |status, body| {
        Description::github().complaints_of_answer(&asked, &Answer::new(status, body))
    };
    assert_eq!(
        complaints(StatusCode::CREATED, json!({"id": 1})),
        ["the whole: it lacks node_id, html_url, issue_url, user, url, created_at, updated_at"]
    );
    assert_eq!(complaints(StatusCode::OK, json!({})), ["the description has no answer 200 OK"]);
    assert_eq!(complaints(StatusCode::BAD_GATEWAY, json!({})), Vec::<String>::new());
}

#[track_caller]
fn check_gitea(method: Method, path: &str, body: Value, expected: &[&str]) {
    let complaints = Description::gitea().complaints_of(&asked(method, path, &body));
    assert_eq!(complaints, expected, "{path} {body}");
}

#[test]
fn giteas_older_description_finds_what_is_invented_too() {
    const BELOW: &str = "/api/v1/repos/octo/widgets";
    let comment = json!({"path": "a.rs", "body": "x", "new_position": 3, "old_position": 0});
    let review =
        |comment: &Value| json!({"event": "COMMENT", "commit_id": "0", "comments": [comment]});
    let reviews = format!("{BELOW}/pulls/1/reviews");
    check_gitea(Method::POST, &reviews, review(&comment), &[]);
    let mut invented = comment;
    invented["line"] = json!(3);
    check_gitea(
        Method::POST,
        &reviews,
        review(&invented),
        &["the description has no field /comments/0/line"],
    );
    check_gitea(
        Method::GET,
        &format!("{BELOW}/pulls?per_page=100"),
        Value::Null,
        &["the description has no query per_page"],
    );
    check_gitea(
        Method::GET,
        &format!("{BELOW}/threads"),
        Value::Null,
        &["the description has no GET /api/v1/repos/octo/widgets/threads"],
    );
    check_gitea(Method::GET, &format!("{BELOW}/contents/docs/a.md?ref=main"), Value::Null, &[]);
}
