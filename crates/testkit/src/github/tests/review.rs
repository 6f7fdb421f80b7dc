//! Inline comments, reviews and threads, as GitHub takes and refuses them.

use expect_test::expect;
use http::Method;
use serde_json::{Value, json};

use super::{NONE, Room};
use crate::forge::{Anchor, FakeDiff, Fault, Lag, Often, On, Verdict};

const PULL: &str = "/repos/octo/widgets/pulls/2";

fn comment(line: u64, body: &str) -> Value {
    json!({"path": "src/lib.rs", "line": line, "side": "RIGHT", "body": body})
}

impl Room {
    async fn review(&self, comments: Value) -> (u16, Value) {
        let review = json!({
            "commit_id": self.head(), "event": "COMMENT", "body": "See below.", "comments": comments,
        });
        self.ask(Method::POST, &format!("{PULL}/reviews"), review).await
    }

    async fn threads(&self, query: &str) -> Value {
        let query = format!(
            "{{ repository(owner: \"octo\", name: \"widgets\") {{ pullRequest(number: 2) {{ {query} }} }} }}"
        );
        let (status, answer) = self.ask(Method::POST, "/graphql", json!({"query": query})).await;
        assert_eq!((status, &answer["errors"]), (200, &NONE));
        answer["data"]["repository"]["pullRequest"].clone()
    }

    async fn mutate(&self, mutation: &str, thread: u64) -> Value {
        let query = format!(
            "mutation($id: ID!) {{ {mutation}(input: {{threadId: $id}}) {{ thread {{ isResolved }} }} }}"
        );
        let variables = json!({"id": format!("PRRT_{thread}")});
        let body = json!({"query": query, "variables": variables});
        self.ask(Method::POST, "/graphql", body).await.1
    }
}

#[tokio::test]
async fn a_review_is_taken_with_its_comments_and_told_with_each_of_them() {
    let room = Room::new().await;
    let range = json!({
        "path": "src/lib.rs", "start_line": 2, "start_side": "RIGHT", "line": 4, "side": "RIGHT",
        "body": "These three.",
    });
    let old = json!({"path": "src/lib.rs", "line": 5, "side": "LEFT", "body": "Why away?"});
    let (status, review) = room.review(json!([range, old, comment(5, "And this?")])).await;
    assert_eq!((status, &review["state"]), (200, &json!("COMMENTED")));
    let path = format!("{PULL}/reviews/{}/comments", review["id"]);
    let (_, comments) = room.ask(Method::GET, &path, NONE).await;
    let (_, listed) = room.ask(Method::GET, &format!("{PULL}/comments"), NONE).await;
    assert_eq!(comments, listed);
    let events: Vec<_> = room.forge.echoes().iter().map(|it| room.event(it)).collect();
    assert_eq!(events[0], "pull_request_review submitted");
    assert_eq!(events[1..], ["pull_request_review_comment created"; 3]);
    expect![[r#"
        change #2: Mend it

        --- ada

        --- patchwright[bot] (review: commented at 7f1f4f9)
        See below.

        === src/lib.rs:2..4

        --- patchwright[bot]
        These three.

        === src/lib.rs:-5

        --- patchwright[bot]
        Why away?

        === src/lib.rs:5

        --- patchwright[bot]
        And this?
    "#]]
    .assert_eq(&room.forge.thread(super::REPO, 2));
    room.nothing_wrong();
}

#[tokio::test]
async fn one_wrong_place_refuses_the_whole_review_without_naming_it() {
    let room = Room::new().await;
    let wrong = |fields: Value| {
        let mut comment = comment(3, "x");
        comment.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        comment
    };
    let places = [
        json!({"line": 40}),
        json!({"path": "src/main.rs"}),
        json!({"start_line": 3, "line": 3}),
        json!({"start_line": 5, "line": 2}),
        json!({"side": "LEFT", "line": 11}),
    ];
    let mut said = String::new();
    for place in places {
        let (status, answer) = room.review(json!([comment(3, "right"), wrong(place)])).await;
        said.push_str(&format!("{status} {}\n", answer["errors"]));
    }
    expect![[r#"
        422 ["Pull request review thread line must be part of the diff"]
        422 ["Path could not be resolved"]
        422 ["Pull request review thread start line must precede the end line."]
        422 ["Pull request review thread start line must precede the end line."]
        422 ["Pull request review thread line must be part of the diff"]
    "#]]
    .assert_eq(&said);
    assert_eq!(room.ask(Method::GET, &format!("{PULL}/reviews"), NONE).await.1, json!([]));
    assert_eq!(room.forge.conversation(super::REPO, 2), []);
    room.nothing_wrong();
}

#[tokio::test]
async fn a_pending_review_is_its_authors_alone_and_stands_in_the_way_until_it_is_gone() {
    let room = Room::new().await;
    let of_ada = room.forge.starts_review(
        "ada",
        super::REPO,
        2,
        "Not yet.",
        &[(Anchor::new_line("src/lib.rs", 1), "hm")],
    );
    let path = format!("{PULL}/reviews");
    assert_eq!(room.ask(Method::GET, &path, NONE).await.1, json!([]));
    assert_eq!(room.ask(Method::GET, &format!("{path}/{}", of_ada.id), NONE).await.0, 404);
    assert_eq!(room.ask(Method::DELETE, &format!("{path}/{}", of_ada.id), NONE).await.0, 404);
    assert_eq!(
        room.threads("reviewThreads(first: 9) { totalCount }").await,
        json!({"reviewThreads": {"totalCount": 0}})
    );

    let pending = json!({"commit_id": room.head(), "comments": [comment(3, "one")]});
    let (status, made) = room.ask(Method::POST, &path, pending.clone()).await;
    assert_eq!((status, &made["state"]), (200, &json!("PENDING")));
    assert_eq!(room.forge.echoes(), []);
    let (status, refused) = room.ask(Method::POST, &path, pending).await;
    assert_eq!(
        (status, &refused["errors"]),
        (422, &json!(["User can only have one pending review per pull request"]))
    );
    let single = json!({"commit_id": room.head(), "path": "src/lib.rs", "line": 3, "body": "x"});
    assert_eq!(room.ask(Method::POST, &format!("{PULL}/comments"), single).await.0, 422);

    let own = format!("{path}/{}", made["id"]);
    assert_eq!(room.ask(Method::DELETE, &own, NONE).await.0, 200);
    assert_eq!(room.ask(Method::GET, &own, NONE).await.0, 404);
    let pending = json!({"commit_id": room.head(), "comments": [comment(3, "two")]});
    let (_, made) = room.ask(Method::POST, &path, pending).await;
    let events = format!("{path}/{}/events", made["id"]);
    let event = json!({"event": "COMMENT", "body": "Now."});
    let (status, submitted) = room.ask(Method::POST, &events, event.clone()).await;
    assert_eq!((status, &submitted["state"]), (200, &json!("COMMENTED")));
    assert_eq!(room.ask(Method::POST, &events, event).await.0, 422);
    assert_eq!(room.ask(Method::GET, &path, NONE).await.1.as_array().unwrap().len(), 1);
    room.nothing_wrong();
}

#[tokio::test]
async fn verdicts_need_words_and_nobody_judges_their_own_change() {
    let room = Room::new().await;
    let path = format!("{PULL}/reviews");
    let review =
        |event: &str, body: &str| json!({"commit_id": room.head(), "event": event, "body": body});
    let (status, approved) = room.ask(Method::POST, &path, review("APPROVE", "")).await;
    assert_eq!((status, &approved["state"]), (200, &json!("APPROVED")));
    let dismissal = json!({"message": "Too soon."});
    let dismissals = format!("{path}/{}/dismissals", approved["id"]);
    assert_eq!(room.ask(Method::PUT, &dismissals, dismissal).await.1["state"], json!("DISMISSED"));
    let edit = json!({"body": "Better words."});
    let (status, edited) = room.ask(Method::PUT, &format!("{path}/{}", approved["id"]), edit).await;
    assert_eq!((status, &edited["body"]), (200, &json!("Better words.")));
    let as_ada = room.with_token(room.forge.token("ada"));
    for event in ["APPROVE", "REQUEST_CHANGES"] {
        assert_eq!(as_ada.ask(Method::POST, &path, review(event, "x")).await.0, 422);
    }
    room.nothing_wrong();
    assert_eq!(room.ask(Method::POST, &path, review("COMMENT", "")).await.0, 422);
    assert_eq!(
        room.ask(Method::POST, &path, json!({"event": "COMMENT", "body": "x"})).await.0,
        422
    );
    assert_eq!(room.forge.violations().len(), 2);
}

#[tokio::test]
async fn a_comment_by_itself_stands_on_a_line_or_a_file_and_takes_replies() {
    let room = Room::new().await;
    let path = format!("{PULL}/comments");
    let line = json!({
        "commit_id": room.head(), "path": "src/lib.rs", "line": 4, "side": "RIGHT", "start_line": 2,
        "start_side": "RIGHT", "body": "Hm.",
    });
    let (status, first) = room.ask(Method::POST, &path, line).await;
    assert_eq!((status, &first["line"], &first["start_line"]), (201, &json!(4), &json!(2)));
    let file = json!({"commit_id": room.head(), "path": "src/lib.rs", "subject_type": "file", "body": "All of it."});
    let (status, whole) = room.ask(Method::POST, &path, file).await;
    assert_eq!((status, &whole["subject_type"], &whole["line"]), (201, &json!("file"), &NONE));
    let outside = json!({"commit_id": room.head(), "path": "src/lib.rs", "line": 40, "body": "x"});
    let (status, refused) = room.ask(Method::POST, &path, outside).await;
    let why = "pull_request_review_thread.line must be part of the diff";
    assert_eq!((status, &refused["errors"][0]["message"]), (422, &json!(why)));

    let replies = format!("{path}/{}/replies", first["id"]);
    let (status, reply) = room.ask(Method::POST, &replies, json!({"body": "Yes."})).await;
    assert_eq!((status, &reply["in_reply_to_id"]), (201, &first["id"]));
    let own = format!("/repos/octo/widgets/pulls/comments/{}", first["id"]);
    let (status, edited) = room.ask(Method::PATCH, &own, json!({"body": "Ah."})).await;
    assert_eq!((status, &edited["body"]), (200, &json!("Ah.")));
    assert_eq!(room.ask(Method::DELETE, &own, NONE).await.0, 204);
    let (_, left) = room.ask(Method::GET, &path, NONE).await;
    let left: Vec<_> = left.as_array().unwrap().iter().map(|it| it["body"].clone()).collect();
    assert_eq!(left, [json!("All of it."), json!("Yes.")], "the reply outlives the first comment");
    room.nothing_wrong();

    room.ask(Method::POST, &format!("{path}/{}/replies", whole["id"]), json!({"body": "a"})).await;
    let (_, all) = room.ask(Method::GET, &path, NONE).await;
    let to_reply = format!("{path}/{}/replies", all[2]["id"]);
    assert_eq!(room.ask(Method::POST, &to_reply, json!({"body": "b"})).await.0, 422);
    assert_eq!(room.forge.violations()[0].why, "the comment is not the first of its thread");
}

#[tokio::test]
async fn threads_are_read_in_pages_resolved_and_taken_up_again() {
    let room = Room::new().await;
    room.review(json!([comment(1, "a"), comment(2, "b"), comment(3, "c")])).await;
    room.forge.echoes();
    let query = |after: &str| {
        format!(
            "reviewThreads(first: 2{after}) {{ pageInfo {{ hasNextPage endCursor }} nodes {{ id path line isResolved isOutdated diffSide \
         comments(first: 50) {{ nodes {{ databaseId body author {{ __typename login ... on Bot {{ databaseId }} }} }} }} }} }}"
        )
    };
    let first = room.threads(&query("")).await["reviewThreads"].clone();
    assert_eq!(first["nodes"].as_array().unwrap().len(), 2);
    assert_eq!(first["pageInfo"]["hasNextPage"], json!(true));
    let node = &first["nodes"][0];
    assert_eq!(
        (&node["line"], &node["isResolved"], &node["diffSide"]),
        (&json!(1), &json!(false), &json!("RIGHT"))
    );
    let author = json!({"__typename": "Bot", "login": "patchwright", "databaseId": 502});
    assert_eq!(node["comments"]["nodes"][0]["author"], author);
    let after = format!(", after: {}", first["pageInfo"]["endCursor"]);
    let second = room.threads(&query(&after)).await["reviewThreads"].clone();
    assert_eq!(second["nodes"].as_array().unwrap().len(), 1);
    assert_eq!(second["pageInfo"]["hasNextPage"], json!(false));

    let thread = room.forge.transcript(super::REPO, 2).threads[1].id;
    let resolved = json!({"data": {"resolveReviewThread": {"thread": {"isResolved": true}}}});
    assert_eq!(room.mutate("resolveReviewThread", thread).await, resolved);
    assert_eq!(room.mutate("resolveReviewThread", thread).await, resolved);
    assert!(
        room.forge.thread(super::REPO, 2).contains("src/lib.rs:2 (resolved by patchwright[bot])")
    );
    room.mutate("unresolveReviewThread", thread).await;
    let events: Vec<_> = room.forge.echoes().iter().map(|it| room.event(it)).collect();
    assert_eq!(
        events,
        ["pull_request_review_thread resolved", "pull_request_review_thread unresolved"]
    );

    let missing = room.mutate("resolveReviewThread", 7).await;
    assert_eq!(missing["errors"][0]["type"], json!("NOT_FOUND"));
    let stranger = room.forge.person("mallory").login;
    let denied =
        room.with_token(room.forge.token(&stranger)).mutate("resolveReviewThread", thread).await;
    assert_eq!(denied["errors"][0]["type"], json!("FORBIDDEN"));
    room.nothing_wrong();
}

#[tokio::test]
async fn graphql_knows_no_field_that_github_does_not_have() {
    let room = Room::new().await;
    let ask = async |query: &str| {
        let (status, answer) = room.ask(Method::POST, "/graphql", json!({"query": query})).await;
        assert_eq!(status, 200);
        answer["errors"][0]["message"].as_str().unwrap().to_owned()
    };
    let inside = |fields: &str| {
        format!("{{ repository(owner: \"octo\", name: \"widgets\") {{ {fields} }} }}")
    };
    let said = [
        ask(&inside("colour")).await,
        ask(&inside("pullRequest(number: 2) { reviewThreads { totalCount } }")).await,
        ask(&inside("pullRequest(number: 2) { reviewThreads(first: 500) { totalCount } }")).await,
        ask(&inside("pullRequest(number: 2) { author { databaseId } }")).await,
        ask(&inside("pullRequest(number: 2)")).await,
        ask("mutation { closeThread(input: {}) { id } }").await,
        ask("{ viewer { login }").await,
    ]
    .join("\n");
    expect![[r#"
        Field 'colour' doesn't exist on type 'Repository'
        You must provide a `first` value of 1 to 100 on `reviewThreads`
        You must provide a `first` value of 1 to 100 on `reviewThreads`
        Field 'databaseId' doesn't exist on type 'User'
        Field 'pullRequest' has the wrong kind of selection
        Field 'closeThread' doesn't exist on type 'Mutation'
        Expected a name, actual: None"#]]
    .assert_eq(&said);
    assert_eq!(room.forge.violations().len(), 7);
}

#[tokio::test]
async fn a_push_moves_threads_or_makes_them_outdated() {
    let room = Room::new().await;
    room.review(json!([comment(2, "moved"), comment(5, "changed")])).await;
    let diff = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,4 @@\n+fn new()\n line_1();\n line_2();\n line_3();\n";
    let diff = diff.replace(" line", "     line");
    room.forge.pushes_diff("ada", super::REPO, 2, FakeDiff::parse(&diff));
    let (_, comments) = room.ask(Method::GET, &format!("{PULL}/comments"), NONE).await;
    let lines: Vec<_> =
        comments.as_array().unwrap().iter().map(|it| (&it["line"], &it["original_line"])).collect();
    assert_eq!(lines, [(&json!(3), &json!(2)), (&NONE, &json!(5))]);
    assert!(room.forge.thread(super::REPO, 2).contains("=== src/lib.rs:5 (outdated)"));
    room.nothing_wrong();
}

#[tokio::test]
async fn listings_of_all_kinds_lag() {
    let room = Room::new().await;
    room.forge.lags(Lag::Listings(1));
    room.review(json!([comment(2, "late")])).await;
    let count = async |path: &str| {
        room.ask(Method::GET, &format!("{PULL}/{path}"), NONE).await.1.as_array().unwrap().len()
    };
    assert_eq!([count("comments").await, count("comments").await], [0, 1]);
    assert_eq!([count("reviews").await, count("reviews").await], [0, 1]);
    room.forge.reviews(
        "ada",
        super::REPO,
        2,
        (Verdict::Comment, "x"),
        &[(Anchor::new_line("src/lib.rs", 1), "y")],
    );
    let total = async || {
        room.threads("reviewThreads(first: 9) { totalCount }").await["reviewThreads"]["totalCount"]
            .clone()
    };
    assert_eq!([total().await, total().await], [json!(1), json!(2)]);
    room.nothing_wrong();
}

#[tokio::test]
async fn faults_strike_reviews_and_threads_too() {
    let room = Room::new().await;
    let faults = room.forge.faults();
    faults.break_answers(Often::Next(1));
    assert_eq!(room.review(json!([comment(1, "written")])).await.0, 502);
    let thread = room.forge.transcript(super::REPO, 2).threads[0].id;
    faults.fail_requests(Often::Next(1));
    room.mutate("resolveReviewThread", thread).await;
    assert_eq!(room.forge.transcript(super::REPO, 2).threads[0].resolved_by, None);
    faults.add(Fault::LoseAnswer, On::Writes, Often::Next(1));
    room.threads("reviewThreads(first: 9) { totalCount }").await;
    assert_eq!(faults.counts().get("lose-answer"), None, "a query is no write");
    faults.clear_rules();
    faults.add(Fault::OthersDelete, On::Reads, Often::Next(1));
    let (_, left) = room.ask(Method::GET, &format!("{PULL}/comments"), NONE).await;
    assert_eq!(left, json!([]));
    room.nothing_wrong();
}
