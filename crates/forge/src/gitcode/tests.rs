//! The adapter against a server that answers as GitCode does. Slots have their own stories in
//! `slot`.

use std::sync::Mutex;

use domain::anchor::{Line, LineKind, Side, Spot};
use domain::event::Place;
use domain::publication::{
    Branch, CommentBody, Dispatch, Effect, FileWrite, Inline, NewChange, ReactionTarget,
    Reply as Answering, Settling, Sign, Status, Verdict,
};
use domain::{AccountId, Actor, Origin, Publication, Receipt, Slot, Time};
use secrecy::ExposeSecret;
use serde_json::json;

use super::*;
use crate::capability::Ability;
use crate::port::{Permission, Write};
use crate::rig::{LeapingClock, Reply, Seen, Server, TOKEN, connection};

const HASH: &str = "71e9657489bcddbed4c0a9d2b1e29eb7c8ab26c3";

struct Rig {
    server: Server,
    gitcode: GitCode,
    repo: Repo,
}

async fn rig(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Rig {
    let server = Server::start(reply).await;
    let connection = connection(&format!("{}/api/v5", server.url), LeapingClock::new());
    let gitcode = GitCode::new(connection, Arc::new(Ours::new("server", None))).unwrap();
    let repo = Repo {
        origin: Origin::new(&server.url),
        key: RepoKey::Id(7),
        full_name: "o/r".to_owned(),
        default_branch: None,
    };
    Rig { server, gitcode, repo }
}

impl Rig {
    fn issue(&self) -> Subject {
        Subject::issue(self.repo.clone(), 3)
    }

    fn change(&self) -> Subject {
        Subject::change(self.repo.clone(), 4)
    }

    async fn send(&self, effect: Effect) -> Result<Receipt, Error> {
        let publication = Publication { subject: self.change(), slot: Slot::status(), effect };
        self.gitcode.send(&publication, None).await
    }

    async fn says_inline(&self, line: u64) -> Result<Receipt, Error> {
        let line = Line { kind: LineKind::Added, old: line, new: line };
        let at = Spot {
            path: "src/a.rs".to_owned(),
            old_path: None,
            side: line.side(),
            start: None,
            line,
            commit: "aa".to_owned(),
        };
        self.send(Effect::Inline(Inline {
            body: body("a finding"),
            at,
            suggestion: None,
            batch: None,
        }))
        .await
    }

    /// What was sent, without the API's path and the markers.
    fn sent(&self) -> Vec<String> {
        let strip = |body: &str| match body.find("<!--").zip(body.find("-->\\n")) {
            Some((from, to)) => format!("{}{}", &body[..from], &body[to + 5..]),
            None => body.to_owned(),
        };
        let line = |seen: Seen| {
            let path = seen.path.trim_start_matches("/api/").to_owned();
            format!("{} {path} {}", seen.method, strip(&seen.body)).trim_end().to_owned()
        };
        self.server.seen().into_iter().map(line).collect()
    }
}

fn body(markdown: &str) -> CommentBody {
    let (kind, markdown) = ("answer".to_owned(), markdown.to_owned());
    CommentBody { kind, markdown, claim: None, closing: None }
}

fn comment(id: u64, body: &str) -> serde_json::Value {
    json!({"id": id, "body": body, "user": {"id": "41", "login": "bot"}})
}

#[tokio::test]
async fn the_credential_goes_in_a_header_and_never_in_an_address() {
    let rig = rig(|_| Reply::json(200, json!({"id": "41", "login": "bot"}))).await;
    let account = rig.gitcode.own_account().await.unwrap();
    assert_eq!(account, Actor { id: Some(AccountId(41)), login: "bot".to_owned(), bot: false });
    assert_eq!(rig.server.asked(), ["GET /api/v5/user"]);
    assert!(rig.server.seen()[0].head.contains(&format!("authorization: bearer {TOKEN}")));
}

#[tokio::test]
async fn e1_our_account_is_known_by_its_text_and_by_its_number() {
    let rig = rig(|seen| match seen.path.as_str() {
        "/api/v5/user" => {
            Reply::json(200, json!({"id": "64e5ed8f7e20aa73efcbc302", "login": "bot"}))
        }
        _ => Reply::json(200, json!({"id": 41, "username": "bot"})),
    })
    .await;
    let account = rig.gitcode.own_account().await.unwrap();
    assert_eq!(account.id, Some(AccountId(41)), "as deliveries name it");
    assert_eq!(rig.server.asked(), ["GET /api/v5/user", "GET /api/v4/user"]);
    assert!(rig.server.seen()[1].head.contains(&format!("private-token: {TOKEN}")));
    let comment: wire::Comment = serde_json::from_value(
        json!({"id": 5, "user": {"id": "64e5ed8f7e20aa73efcbc302", "login": "bot"}}),
    )
    .unwrap();
    let said = comment.into_said(Place::Conversation, "a comment").unwrap();
    assert!(rig.gitcode.ours.wrote(&said.author), "as the API names it");
    assert!(rig.gitcode.ours.wrote(&account));
}

#[tokio::test]
async fn e1_our_account_is_known_by_its_text_alone_where_the_older_api_is_closed() {
    let rig = rig(|seen| match seen.path.as_str() {
        "/api/v5/user" => {
            Reply::json(200, json!({"id": "64e5ed8f7e20aa73efcbc302", "login": "bot"}))
        }
        _ => Reply::json(403, json!({"message": "use v5"})),
    })
    .await;
    let account = rig.gitcode.own_account().await.unwrap();
    assert!(rig.gitcode.ours.wrote(&account));
}

#[tokio::test]
async fn a_refusal_under_a_status_of_success_is_a_refusal() {
    let rig = rig(|seen| match seen.method.as_str() {
        "GET" => Reply::json(200, json!({"error_code": 404, "error_message": "404 Not Found"})),
        _ => Reply::json(
            200,
            json!({"error_code": 400, "error_code_name": "BAD_REQUEST", "error_message": "no body"}),
        ),
    })
    .await;
    assert!(matches!(rig.gitcode.repository("o/r").await, Err(Error::Gone { .. })));
    let refused = rig.send(Effect::Comment(body("text"))).await;
    assert!(
        matches!(&refused, Err(Error::Refused { status: 400, why, .. }) if why == "no body"),
        "{refused:?}"
    );
}

#[tokio::test]
async fn a_text_that_the_firewall_refuses_goes_without_its_code_and_says_so() {
    let rig = rig(|seen| match seen.body.contains("rm -rf") {
        true => Reply::json(418, "<html>suspected unsafe content</html>"),
        false => Reply::json(201, json!({"id": HASH, "note_id": 5, "body": ""})),
    })
    .await;
    let sent = rig.send(Effect::Comment(body("Do not run\n```sh\nrm -rf /\n```\nthis."))).await;
    assert!(matches!(sent.unwrap(), Receipt::Comment { id: 5, .. }));
    let seen = rig.server.seen();
    assert_eq!(seen.len(), 2);
    assert!(seen[1].body.contains("firewall refused it") && seen[1].body.contains("Do not run"));
    assert!(seen[1].body.contains("<!--"), "the marker stays");
    let refused = rig.send(Effect::Comment(body("rm -rf / in one line"))).await;
    assert!(matches!(refused, Err(Error::Refused { status: 418, .. })), "{refused:?}");
}

#[tokio::test]
async fn issues_and_changes_have_conversations_of_their_own() {
    let rig = rig(|seen| match seen.path.as_str() {
        "/api/v5/repos/o/r/issues/3/comments?per_page=100" => {
            Reply::json(200, json!([comment(2, "second"), comment(1, "first")]))
        }
        "/api/v5/repos/o/r/pulls/4/comments?comment_type=pr_comment&direction=asc&per_page=100" => {
            let mut root = comment(3, "on the change");
            root["discussion_id"] = json!(HASH);
            root["reply"] = json!([comment(9, "an answer")]);
            let mut code = comment(6, "on code, although it was not asked for");
            code["comment_type"] = json!("diff_comment");
            Reply::json(200, json!([root, comment(5, "later"), code]))
        }
        _ => Reply::json(404, "{}"),
    })
    .await;
    let bodies = async |subject: &Subject| {
        let said = rig.gitcode.conversation(subject).await.unwrap();
        assert!(said.iter().all(|said| said.place == Place::Conversation));
        said.into_iter().map(|said| said.body).collect::<Vec<_>>()
    };
    assert_eq!(bodies(&rig.issue()).await, ["first", "second"]);
    assert_eq!(bodies(&rig.change()).await, ["on the change", "later", "an answer"]);
    let branch = Subject::branch(rig.repo.clone(), "main");
    assert!(matches!(rig.gitcode.conversation(&branch).await, Err(Error::Gone { .. })));
}

#[tokio::test]
async fn threads_are_read_with_nested_and_with_flat_replies() {
    let rig = rig(|_| {
        let mut nested = comment(1, "a");
        nested["discussion_id"] = json!(HASH);
        nested["resolved"] = json!(1);
        nested["diff_file"] = json!("src/a.rs");
        nested["diff_position"] = json!({"start_new_line": 3, "end_new_line": 3});
        nested["reply"] = json!([comment(4, "b")]);
        let (mut flat, mut behind) = (comment(2, "c"), comment(3, "d"));
        flat["discussion_id"] = json!("x");
        behind["discussion_id"] = json!("x");
        let mut talk = comment(8, "talk, although it was not asked for");
        talk["comment_type"] = json!("pr_comment");
        Reply::json(200, json!([nested, flat, behind, talk]))
    })
    .await;
    let threads = rig.gitcode.threads(&rig.change()).await.unwrap();
    let told: Vec<_> = threads
        .iter()
        .map(|thread| {
            let comments: Vec<_> = thread.comments.iter().map(|said| said.id).collect();
            (thread.id.as_str(), thread.resolved, comments)
        })
        .collect();
    assert_eq!(told, [(HASH, Some(true), vec![1, 4]), ("x", None, vec![2, 3])]);
    assert_eq!(threads[0].at.as_ref().unwrap().line.new, 3);
    assert_eq!(threads[0].comments[1].thread(), Some(HASH));
    assert!(matches!(rig.gitcode.threads(&rig.issue()).await, Err(Error::Gone { .. })));
}

fn page(from: u64, to: u64) -> serde_json::Value {
    (from..to).map(|id| comment(id, "text")).collect()
}

#[tokio::test]
async fn e2_the_first_page_again_past_the_end_is_the_end() {
    let rig = rig(|_| Reply::json(200, page(0, 100))).await;
    assert_eq!(rig.gitcode.conversation(&rig.issue()).await.unwrap().len(), 100);
    assert_eq!(rig.server.asked().len(), 2);
}

#[tokio::test]
async fn e2_the_count_of_pages_spares_a_question() {
    let rig = rig(|_| Reply::json(200, page(0, 100)).with("total_page", "1")).await;
    assert_eq!(rig.gitcode.conversation(&rig.issue()).await.unwrap().len(), 100);
    assert_eq!(rig.server.asked().len(), 1);
}

#[tokio::test]
async fn e2_a_list_whose_count_changed_is_read_anew_and_one_that_never_rests_is_unknown() {
    let counts = Mutex::new([101, 100, 100, 100].into_iter());
    let moving = rig(move |seen| {
        let count = counts.lock().unwrap().next().unwrap_or(100);
        let items = if seen.path.contains("&page=2") { page(100, 101) } else { page(0, 100) };
        Reply::json(200, items).with("total_count", &count.to_string())
    })
    .await;
    assert_eq!(moving.gitcode.conversation(&moving.issue()).await.unwrap().len(), 101);
    assert_eq!(moving.server.asked().len(), 4);
    let clock = Mutex::new(0..);
    let restless = rig(move |_| {
        let count = clock.lock().unwrap().next().unwrap_or(0);
        Reply::json(200, page(0, 100)).with("total_count", &count.to_string())
    })
    .await;
    let error = restless.gitcode.conversation(&restless.issue()).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
}

/// A server that takes inline comments and says of the new one what `alone` tells.
async fn landing(alone: serde_json::Value, listed: serde_json::Value) -> Rig {
    rig(move |seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("POST", _) => Reply::json(201, json!({"id": HASH, "note_id": 5, "body": ""})),
        ("GET", "/api/v5/repos/o/r/pulls/comments/5") => Reply::json(200, &alone),
        ("GET", path) if path.contains("comment_type=diff_comment") => Reply::json(200, &listed),
        ("DELETE", "/api/v5/repos/o/r/pulls/comments/5") => Reply::json(204, ""),
        _ => Reply::json(404, "{}"),
    })
    .await
}

const INLINE: &str = r#"POST v5/repos/o/r/pulls/4/comments {"body":"a finding","path":"src/a.rs","position":3,"line":3,"new_line":3}"#;
const TALK: &str = r#"POST v5/repos/o/r/pulls/4/comments {"body":"`src/a.rs:3`\n\na finding"}"#;
const BACK: &str = "GET v5/repos/o/r/pulls/comments/5";
const LIST: &str =
    "GET v5/repos/o/r/pulls/4/comments?comment_type=diff_comment&direction=asc&per_page=100";
const GONE: &str = "DELETE v5/repos/o/r/pulls/comments/5";

#[tokio::test]
async fn an_inline_comment_is_read_back_and_stands_on_its_line() {
    let alone = json!({"id": 5, "comment_type": "DiffNote",
                       "position": {"new_path": "src/a.rs", "new_line": 3}});
    let rig = landing(alone, json!([])).await;
    let receipt = rig.says_inline(3).await.unwrap();
    let Receipt::Comment { id: 5, thread, moved: None, .. } = receipt else {
        panic!("{receipt:?}");
    };
    assert_eq!(thread.as_deref(), Some(HASH));
    assert_eq!(rig.sent(), [INLINE, BACK]);
}

#[tokio::test]
async fn an_inline_comment_whose_place_is_not_told_is_looked_for_among_the_threads() {
    let listed =
        json!([{"id": 5, "discussion_id": HASH, "body": "", "comment_type": "diff_comment"}]);
    let rig = landing(json!({"id": 5, "body": ""}), listed).await;
    assert!(matches!(rig.says_inline(3).await.unwrap(), Receipt::Comment { moved: None, .. }));
    assert_eq!(rig.sent(), [INLINE, BACK, LIST]);
}

#[tokio::test]
async fn e3_an_inline_comment_that_landed_elsewhere_is_removed_and_finds_its_next_best_place() {
    for alone in [
        json!({"id": 5, "comment_type": "DiffNote",
               "position": {"new_path": "src/a.rs", "new_line": 9}}),
        json!({"id": 5, "comment_type": "DiscussionNote"}),
    ] {
        let rig = landing(alone, json!([])).await;
        let receipt = rig.says_inline(3).await.unwrap();
        let Receipt::Comment { thread: None, moved: Some(_), .. } = receipt else {
            panic!("{receipt:?}");
        };
        assert_eq!(rig.sent(), [INLINE, BACK, GONE, TALK]);
    }
    let rig = landing(json!({"id": 5}), json!([])).await;
    assert!(matches!(rig.says_inline(3).await.unwrap(), Receipt::Comment { moved: Some(_), .. }));
    assert_eq!(rig.sent(), [INLINE, BACK, LIST, GONE, TALK]);
}

#[tokio::test]
async fn e2_a_stray_that_cannot_be_removed_or_read_back_is_looked_for_and_not_posted_again() {
    let keeps = rig(|seen| match seen.method.as_str() {
        "POST" => Reply::json(201, json!({"id": HASH, "noteId": "5"})),
        "GET" => Reply::json(200, json!({"id": 5, "comment_type": "DiscussionNote"})),
        _ => Reply::json(405, "{}"),
    })
    .await;
    assert!(matches!(keeps.says_inline(3).await, Err(Error::Lost { .. })));
    let silent = rig(|seen| match seen.method.as_str() {
        "POST" => Reply::json(201, json!({"id": HASH, "note_id": 5})),
        _ => Reply::json(500, ""),
    })
    .await;
    assert!(matches!(silent.says_inline(3).await, Err(Error::Lost { .. })));
    let nameless = rig(|_| Reply::json(201, json!({"id": HASH}))).await;
    assert!(matches!(nameless.says_inline(3).await, Err(Error::Lost { .. })));
    assert_eq!(nameless.server.asked().len(), 1);
}

#[tokio::test]
async fn removed_lines_and_ranges_stand_where_they_can() {
    let rig = landing(json!({"id": 5, "comment_type": "DiffNote"}), json!([])).await;
    let line = |kind, number| Line { kind, old: number, new: number };
    let mut inline = Inline {
        body: body("a finding"),
        at: Spot {
            path: "src/a.rs".to_owned(),
            old_path: None,
            side: Side::Old,
            start: None,
            line: line(LineKind::Removed, 3),
            commit: "aa".to_owned(),
        },
        suggestion: None,
        batch: None,
    };
    let receipt = rig.send(Effect::Inline(inline.clone())).await.unwrap();
    assert!(matches!(receipt, Receipt::Comment { thread: None, moved: Some(_), .. }));
    inline.at.start = Some(line(LineKind::Added, 1));
    inline.at.line = line(LineKind::Added, 3);
    inline.at.side = Side::New;
    let receipt = rig.send(Effect::Inline(inline)).await.unwrap();
    assert!(matches!(receipt, Receipt::Comment { thread: Some(_), moved: None, .. }));
    let sent = rig.sent();
    assert_eq!(sent[0], TALK);
    assert!(
        sent[1].contains(r#""line":3,"new_line":3"#) && sent[1].contains("src/a.rs:1-3"),
        "{}",
        sent[1]
    );
}

#[tokio::test]
async fn comments_travel_one_at_a_time() {
    let rig = rig(|_| Reply::json(404, "{}")).await;
    assert_eq!(rig.gitcode.together().most, 1);
}

#[tokio::test]
async fn replies_and_resolutions_go_to_the_thread_by_its_name() {
    let rig = rig(|seen| match seen.method.as_str() {
        "PUT" => Reply::json(200, "{}"),
        _ => Reply::json(201, json!({"id": HASH, "note_id": 6, "body": ""})),
    })
    .await;
    let reply = Answering { body: body("thanks"), thread: HASH.to_owned() };
    let receipt = rig.send(Effect::Reply(reply)).await.unwrap();
    let Receipt::Comment { id: 6, thread, .. } = receipt else { panic!("{receipt:?}") };
    assert_eq!(thread.as_deref(), Some(HASH));
    for settling in [Settling::Resolve, Settling::Unresolve] {
        let effect = Effect::Settle { thread: HASH.to_owned(), settling };
        assert_eq!(rig.send(effect).await.unwrap(), Receipt::Done);
    }
    assert_eq!(
        rig.sent(),
        [
            format!(r#"POST v5/repos/o/r/pulls/4/discussions/{HASH}/comments {{"body":"thanks"}}"#),
            format!(r#"PUT v5/repos/o/r/pulls/4/comments/{HASH} {{"resolved":true}}"#),
            format!(r#"PUT v5/repos/o/r/pulls/4/comments/{HASH} {{"resolved":false}}"#),
        ]
    );
}

#[tokio::test]
async fn a_thread_that_only_its_author_may_resolve_says_so() {
    let rig = rig(|_| Reply::json(403, json!({"message": "no scopes: resolve"}))).await;
    let effect = Effect::Settle { thread: HASH.to_owned(), settling: Settling::Resolve };
    assert!(matches!(rig.send(effect).await, Err(Error::Forbidden { .. })));
}

#[tokio::test]
async fn what_gitcode_lacks_is_refused_with_the_reason_and_without_a_request() {
    let rig = rig(|_| Reply::json(200, "{}")).await;
    let on = ReactionTarget::Comment { id: 5, place: Place::Conversation };
    let dispatch = Dispatch {
        workflow: None,
        on_branch: "main".to_owned(),
        variables: Vec::new(),
        identity: "job".to_owned(),
    };
    for effect in [Effect::Reaction { on, sign: Sign::Eyes }, Effect::Dispatch(dispatch)] {
        let refused = rig.send(effect).await;
        assert!(
            matches!(&refused, Err(Error::Refused { why, .. }) if why.contains("GitCode")),
            "{refused:?}"
        );
    }
    assert!(rig.server.asked().is_empty());
    assert!(matches!(rig.gitcode.capabilities().await.unwrap().reactions, Ability::No(_)));
}

#[tokio::test]
async fn t9_a_comment_that_stands_on_another_issue_is_not_taken() {
    let rig = rig(|_| {
        let mut comment = comment(5, "moved");
        comment["target"] = json!({"issue": {"id": 1, "nubmer": 9}});
        Reply::json(200, comment)
    })
    .await;
    let said = rig.gitcode.comment(&rig.issue(), 5, &Place::Conversation).await;
    assert!(matches!(said, Err(Error::Gone { .. })), "{said:?}");
    let elsewhere = Subject { number: 9, ..rig.issue() };
    assert!(rig.gitcode.comment(&elsewhere, 5, &Place::Conversation).await.is_ok());
}

#[tokio::test]
async fn t9_a_permission_belongs_to_the_number_and_not_to_the_login() {
    let rig = rig(|seen| match seen.path.as_str() {
        "/api/v5/repos/o/r/collaborators/ann/permission" => {
            Reply::json(200, json!({"id": "5", "login": "ann", "permission": "write"}))
        }
        "/api/v5/repos/o/r/collaborators/eve/permission" => Reply::json(
            200,
            json!({"id": "64e5ed8f7e20aa73efcbc302", "login": "eve", "permission": "admin"}),
        ),
        "/api/v4/users?username=eve" => Reply::json(200, json!([{"id": 8, "username": "eve"}])),
        _ => Reply::json(404, "{}"),
    })
    .await;
    let ask = async |id, login: &str| {
        let actor = Actor { id: Some(AccountId(id)), login: login.to_owned(), bot: false };
        rig.gitcode.permission(&rig.repo, &actor).await.unwrap()
    };
    assert_eq!(ask(5, "ann").await, Permission::Write);
    assert_eq!(ask(6, "ann").await, Permission::None);
    assert_eq!(ask(8, "eve").await, Permission::Admin);
    assert_eq!(ask(9, "eve").await, Permission::None);
    assert_eq!(ask(7, "bob").await, Permission::None);
    assert_eq!(ask(7, "").await, Permission::None);
    assert_eq!(ask(7, "x/../ann").await, Permission::None);
}

#[tokio::test]
async fn t9_a_number_that_cannot_be_compared_has_no_permission() {
    let rig = rig(|seen| match seen.path.contains("/api/v5/") {
        true => Reply::json(200, json!({"id": "64e5ed8f7e20aa73efcbc302", "permission": "admin"})),
        false => Reply::json(403, json!({"message": "use v5"})),
    })
    .await;
    let eve = Actor { id: Some(AccountId(8)), login: "eve".to_owned(), bot: false };
    let refused = rig.gitcode.permission(&rig.repo, &eve).await;
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_draft_is_opened_described_and_made_ready() {
    let rig = rig(|seen| {
        let title = if seen.method == "GET" { "[WIP] Speak" } else { "Speak" };
        let head = json!({"sha": "aa", "ref": "b", "repo": {"id": 7, "full_name": "o/r"}});
        match (seen.method.as_str(), seen.path.contains("/pulls?")) {
            ("GET", true) => Reply::json(200, "[]"),
            _ => Reply::json(
                200,
                json!({"number": "4", "title": title, "state": "open", "head": head, "body": "before",
                       "base": {"ref": "main", "sha": "bb"}}),
            ),
        }
    })
    .await;
    let change = NewChange {
        title: "Speak".to_owned(),
        body: body("because"),
        head_branch: "b".to_owned(),
        base_branch: "main".to_owned(),
    };
    let receipt = rig.send(Effect::Change(change)).await.unwrap();
    assert!(matches!(receipt, Receipt::Change { number: 4, .. }), "{receipt:?}");
    assert_eq!(rig.send(Effect::Ready).await.unwrap(), Receipt::Done);
    let sent = rig.sent();
    assert_eq!(
        sent[1],
        r#"POST v5/repos/o/r/pulls {"title":"Speak","head":"b","base":"main","body":"because","draft":true}"#
    );
    assert_eq!(sent[2], r#"PATCH v5/repos/o/r/pulls/4 {"draft":false}"#);
    assert_eq!(sent[4], r#"PATCH v5/repos/o/r/pulls/4 {"title":"Speak"}"#);
}

#[tokio::test]
async fn a_change_that_is_open_for_the_branch_is_continued_and_a_forks_is_not() {
    let rig = rig(|_| {
        let pull = |number: u64, branch: &str, repo: u64, name: &str| {
            json!({"number": number, "title": "x", "state": "open", "base": {"ref": "main"},
                   "head": {"sha": "aa", "ref": branch, "repo": {"id": repo, "full_name": name}}})
        };
        Reply::json(
            200,
            json!([pull(9, "b", 8, "fork/r"), pull(6, "c", 7, "o/r"), pull(5, "b", 7, "o/r")]),
        )
    })
    .await;
    let changes = rig.gitcode.changes_of_branch(&rig.repo, "b").await.unwrap();
    assert_eq!(changes.iter().map(|change| change.number).collect::<Vec<_>>(), [5]);
    assert_eq!(
        rig.sent(),
        ["GET v5/repos/o/r/pulls?state=open&order_by=created_at&direction=desc&per_page=100"]
    );
}

#[tokio::test]
async fn what_was_touched_is_asked_for_in_each_familys_words_and_checked() {
    let rig = rig(|seen| match seen.path.as_str() {
        "/api/v5/repos/o/r/pulls?state=open&order_by=updated_at&direction=desc&per_page=100" => {
            let pull = |number: u64, at: &str| {
                json!({"number": number, "state": "open", "updated_at": at, "head": {"sha": "aa"}})
            };
            let old = pull(1, "2023-11-14T22:13:19Z");
            Reply::json(200, json!([pull(2, "2023-11-15T06:13:21+08:00"), old]))
        }
        "/api/v5/repos/o/r/issues?state=open&order_by=updated_at&sort=desc&per_page=100" => {
            let issue = |number: &str, assignee: &str| {
                json!({"number": number, "state": "open", "updated_at": "2023-11-14T22:13:21Z",
                       "assignee": {"id": assignee, "login": "x"}})
            };
            Reply::json(200, json!([issue("7", "41"), issue("8", "5")]))
        }
        "/api/v5/user" => Reply::json(200, json!({"id": "41", "login": "bot"})),
        _ => Reply::json(400, json!({"error_message": "direction is required"})),
    })
    .await;
    let touched = rig.gitcode.touched_since(&rig.repo, Time(1_700_000_000_000)).await.unwrap();
    assert_eq!(touched.changes.iter().map(|change| change.number).collect::<Vec<_>>(), [2]);
    assert_eq!(touched.issues.iter().map(|issue| issue.number).collect::<Vec<_>>(), [7]);
}

#[tokio::test]
async fn a_branch_is_read_and_created() {
    let rig = rig(|seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/api/v5/repos/o/r/branches/a%2Fb") => {
            Reply::json(200, json!({"name": "a/b", "commit": {"id": "aa"}, "protected": 1}))
        }
        ("GET", _) => Reply::json(404, json!({"error_code": 404, "error_message": "404"})),
        _ => Reply::json(400, json!({"error_code": 400, "error_message": "Branch already exists"})),
    })
    .await;
    let branch = rig.gitcode.branch(&rig.repo, "a/b").await.unwrap().unwrap();
    assert_eq!((branch.head.as_str(), branch.protected), ("aa", true));
    assert_eq!(rig.gitcode.branch(&rig.repo, "c").await.unwrap(), None);
    let create = async |name: &str, at: &str| {
        let (name, at) = (name.to_owned(), at.to_owned());
        rig.send(Effect::Branch(Branch { name, at })).await
    };
    assert!(matches!(create("a/b", "aa").await, Ok(Receipt::Commit { .. })));
    assert!(matches!(create("a/b", "bb").await, Ok(Receipt::Refused { .. })));
    assert!(
        rig.sent().contains(
            &r#"POST v5/repos/o/r/branches {"branch_name":"a/b","refs":"aa"}"#.to_owned()
        )
    );
}

#[tokio::test]
async fn a_file_is_created_by_post_and_replaced_by_put() {
    let rig = rig(|_| Reply::json(200, "{}")).await;
    for replaces in [None, Some("ab".to_owned())] {
        let file = FileWrite {
            branch: "b".to_owned(),
            path: "d/a.txt".to_owned(),
            content: "x".to_owned(),
            message: "m".to_owned(),
            replaces,
        };
        assert_eq!(rig.send(Effect::File(file)).await.unwrap(), Receipt::Done);
    }
    assert_eq!(
        rig.sent(),
        [
            r#"POST v5/repos/o/r/contents/d/a.txt {"message":"m","content":"eA==","branch":"b"}"#,
            r#"PUT v5/repos/o/r/contents/d/a.txt {"message":"m","content":"eA==","branch":"b","sha":"ab"}"#,
        ]
    );
}

fn status(verdict: Verdict) -> Effect {
    Effect::Status(Status {
        commit: "aa".to_owned(),
        context: "patchwright".to_owned(),
        verdict,
        title: "done".to_owned(),
        summary: String::new(),
        url: None,
        annotations: Vec::new(),
        closing: None,
    })
}

#[tokio::test]
async fn a_status_goes_to_the_older_api() {
    let rig = rig(|_| Reply::json(201, "{}")).await;
    for verdict in [Verdict::Pending, Verdict::Success, Verdict::Neutral, Verdict::Failure] {
        assert_eq!(rig.send(status(verdict)).await.unwrap(), Receipt::Done);
    }
    let states = ["pending", "success", "canceled", "failed"];
    let sent = states.map(|state| {
        format!(
            r#"POST v4/projects/7/statuses/aa {{"state":"{state}","name":"patchwright","description":"done"}}"#
        )
    });
    assert_eq!(rig.sent(), sent);
    assert!(rig.server.seen()[0].head.contains("private-token: "));
}

#[tokio::test]
async fn a_server_without_statuses_is_asked_once_and_says_why() {
    for refusal in [403, 404, 405, 401] {
        let rig = rig(move |_| Reply::json(refusal, json!({"message": "use v5"}))).await;
        assert_eq!(rig.gitcode.capabilities().await.unwrap().statuses, Ability::Yes);
        for _ in 0..2 {
            let refused = rig.send(status(Verdict::Success)).await;
            assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
        }
        assert_eq!(rig.server.asked().len(), 1);
        assert!(matches!(rig.gitcode.capabilities().await.unwrap().statuses, Ability::No(_)));
    }
}

#[tokio::test]
async fn a_status_that_wants_more_fields_is_refused_and_the_next_is_tried() {
    let rig = rig(|_| Reply::json(400, json!({"message": "ref is missing"}))).await;
    for _ in 0..2 {
        assert!(matches!(
            rig.send(status(Verdict::Success)).await,
            Err(Error::Refused { status: 400, .. })
        ));
    }
    assert_eq!(rig.server.asked().len(), 2);
}

#[tokio::test]
async fn a_limit_without_a_time_waits_a_minute() {
    let rig = rig(|_| Reply::json(429, "")).await;
    let limited = rig.send(Effect::Comment(body("text"))).await;
    assert!(matches!(limited, Err(Error::Limited { .. })), "{limited:?}");
}

#[tokio::test]
async fn t5_git_reaches_the_public_hosts_and_our_own() {
    for (api, git) in [
        ("https://api.gitcode.com/api/v5", "https://gitcode.com/o/r.git"),
        ("https://api.atomgit.com/api/v5/", "https://atomgit.com/o/r.git"),
        ("https://gitcode.com/api/v5", "https://gitcode.com/o/r.git"),
        ("https://api.code.example/git/api/v5", "https://api.code.example/git/o/r.git"),
    ] {
        let ours = Arc::new(Ours::new("server", None));
        let gitcode = GitCode::new(connection(api, LeapingClock::new()), ours).unwrap();
        let repo = Repo {
            origin: Origin::new(api),
            key: RepoKey::Id(7),
            full_name: "o/r".to_owned(),
            default_branch: None,
        };
        let access = gitcode.git_access(&repo).await.unwrap();
        assert_eq!((access.url.as_str(), access.username.as_str()), (git, "oauth2"));
        assert_eq!(access.token.unwrap().expose_secret(), TOKEN);
    }
}

#[tokio::test]
async fn a_write_finds_a_renamed_repository_and_never_another_one() {
    let renamed = |id: u64| {
        move |seen: &Seen| match (seen.method.as_str(), seen.path.as_str()) {
            ("POST", "/api/v5/repos/o/new/pulls/4/comments") => {
                Reply::json(201, json!({"id": HASH, "note_id": 5}))
            }
            ("GET", _) => Reply::json(200, json!({"id": id, "full_name": "o/new"})),
            _ => Reply::json(307, "").with("location", "/api/v5/repos/o/new"),
        }
    };
    let same = rig(renamed(7)).await;
    let sent = same.send(Effect::Comment(body("text"))).await.unwrap();
    assert!(matches!(sent, Receipt::Comment { id: 5, .. }));
    let other = rig(renamed(8)).await;
    let sent = other.send(Effect::Comment(body("text"))).await;
    assert!(matches!(sent, Err(Error::Gone { .. })), "{sent:?}");
}
