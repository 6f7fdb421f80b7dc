//! The adapter against a server that answers as GitHub does. Slots have their own stories in
//! `slot`.

use std::sync::Mutex;

use domain::event::Place;
use domain::publication::{CommentBody, Effect, ReactionTarget, Sign};
use domain::{AccountId, Actor, Origin, Publication, Receipt, Slot, Time};
use report::redact::Redactor;
use secrecy::SecretString;
use serde_json::json;

use super::*;
use crate::port::{Permission, Write};
use crate::rig::{LeapingClock, Reply, Seen, Server, TOKEN, connection};

struct Rig {
    server: Server,
    github: GitHub,
    subject: Subject,
}

async fn rig(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Rig {
    rig_below("", reply).await
}

async fn rig_below(path: &str, reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Rig {
    let server = Server::start(reply).await;
    let ours = Arc::new(Ours::new("server", None));
    let connection = connection(&format!("{}{path}", server.url), LeapingClock::new());
    let github = GitHub::new(connection, ours).unwrap();
    let subject = Subject::issue(repo(&server), 3);
    Rig { server, github, subject }
}

fn repo(server: &Server) -> Repo {
    Repo {
        origin: Origin::new(&server.url),
        key: RepoKey::Id(7),
        full_name: "o/r".to_owned(),
        default_branch: None,
    }
}

impl Rig {
    async fn send(&self, effect: Effect) -> Result<Receipt, Error> {
        let subject = self.subject.clone();
        self.github.send(&Publication { subject, slot: Slot::status(), effect }, None).await
    }

    async fn says(&self, text: &str) -> Result<Receipt, Error> {
        let (kind, markdown) = ("answer".to_owned(), text.to_owned());
        self.send(Effect::Comment(CommentBody { kind, markdown, claim: None, closing: None })).await
    }
}

fn comment(id: u64, body: &str) -> serde_json::Value {
    json!({"id": id, "body": body, "user": {"id": 41, "login": "bot", "type": "Bot"}})
}

#[tokio::test]
async fn requests_carry_the_headers_that_github_wants() {
    let rig = rig_below("/api/v3", |_| Reply::json(200, json!({"id": 41, "login": "bot"}))).await;
    let account = rig.github.own_account().await.unwrap();
    assert_eq!(account, Actor { id: Some(AccountId(41)), login: "bot".to_owned(), bot: false });
    assert_eq!(rig.server.asked(), ["GET /api/v3/user"]);
    let head = &rig.server.seen()[0].head;
    for header in [
        "accept: application/vnd.github+json",
        "x-github-api-version: 2022-11-28",
        "user-agent: patchwright/",
        &format!("authorization: bearer {TOKEN}"),
    ] {
        assert!(head.contains(header), "{header} in {head}");
    }
}

#[tokio::test]
async fn a_repository_is_its_number_under_its_name_of_today() {
    let rig = rig(|seen| match seen.path.as_str() {
        "/repositories/7" => {
            Reply::json(200, json!({"id": 7, "full_name": "o/new", "default_branch": "main"}))
        }
        _ => Reply::json(301, "").with("location", "/repositories/7"),
    })
    .await;
    let repo = rig.github.repository("o/r").await.unwrap();
    assert_eq!((repo.key, repo.full_name.as_str()), (RepoKey::Id(7), "o/new"));
    assert_eq!(repo.origin.as_str(), rig.server.url);
    for wrong in ["o", "o/r/x", "../..", "o/", ""] {
        assert!(matches!(rig.github.repository(wrong).await, Err(Error::Gone { .. })), "{wrong}");
    }
}

#[tokio::test]
async fn an_opening_tells_whether_its_subject_is_open() {
    let rig = rig(|_| {
        Reply::json(
            200,
            json!({"number": 3, "body": null, "user": null, "state": "closed", "comments": 0,
                   "created_at": "2023-11-14T22:13:20Z", "updated_at": "2023-11-14T22:13:21Z"}),
        )
    })
    .await;
    let said = rig.github.opening(&rig.subject).await.unwrap();
    assert_eq!((said.id, said.body.as_str(), said.open), (0, "", Some(false)));
    assert_eq!(said.author, Actor::named("ghost"));
    assert_eq!(said.updated_at, Some(Time(1_700_000_001_000)));
}

#[tokio::test]
async fn comments_are_read_where_they_stand() {
    let rig = rig(|seen| match seen.path.as_str() {
        "/repos/o/r/issues/comments/5" => Reply::json(200, comment(5, "in the conversation")),
        "/repos/o/r/pulls/comments/5" => Reply::json(200, comment(5, "inline")),
        "/repos/o/r/pulls/3/reviews/9" => Reply::json(200, comment(9, "a review")),
        _ => Reply::json(404, "{}"),
    })
    .await;
    let inline = Place::Thread { thread: None, reply: None, path: None };
    for (id, place, body) in [
        (5, Place::Conversation, "in the conversation"),
        (5, inline, "inline"),
        (5, Place::Review { review: Some(9) }, "a review"),
    ] {
        let said = rig.github.comment(&rig.subject, id, &place).await.unwrap();
        assert_eq!(said.body, body);
        assert_eq!(said.author.id, Some(AccountId(41)));
        assert!(said.author.bot);
    }
    let gone = rig.github.comment(&rig.subject, 6, &Place::Conversation).await;
    assert!(matches!(gone, Err(Error::Gone { .. })));
}

#[tokio::test]
async fn t9_a_comment_that_stands_on_another_issue_is_not_taken() {
    let rig = rig(|_| {
        let mut comment = comment(5, "moved");
        comment["issue_url"] = json!("https://git.example/repos/o/r/issues/4");
        Reply::json(200, comment)
    })
    .await;
    let said = rig.github.comment(&rig.subject, 5, &Place::Conversation).await;
    assert!(matches!(said, Err(Error::Gone { .. })), "{said:?}");
    let elsewhere = Subject { number: 4, ..rig.subject.clone() };
    assert!(rig.github.comment(&elsewhere, 5, &Place::Conversation).await.is_ok());
}

#[tokio::test]
async fn permission_is_asked_for_the_login_as_one_path_segment() {
    let rig = rig(|seen| match seen.path.as_str() {
        "/repos/o/r/collaborators/ann/permission" => {
            Reply::json(200, json!({"permission": "write", "role_name": "write"}))
        }
        _ => Reply::json(404, "{}"),
    })
    .await;
    let permission = async |login: &str| {
        rig.github.permission(&rig.subject.repo, &Actor::named(login)).await.unwrap()
    };
    assert_eq!(permission("ann").await, Permission::Write);
    assert_eq!(permission("bob").await, Permission::None);
    assert_eq!(permission("x/../ann").await, Permission::None);
    assert_eq!(rig.server.asked()[2], "GET /repos/o/r/collaborators/x%2F..%2Fann/permission");
}

#[tokio::test]
async fn reactions_go_to_what_triggered_us() {
    let rig = rig(|_| Reply::json(200, "{}")).await;
    let inline = Place::Thread { thread: None, reply: None, path: None };
    for (on, sign) in [
        (ReactionTarget::Subject, Sign::Eyes),
        (ReactionTarget::Comment { id: 5, place: Place::Conversation }, Sign::ThumbsUp),
        (ReactionTarget::Comment { id: 6, place: inline }, Sign::Confused),
    ] {
        assert_eq!(rig.send(Effect::Reaction { on, sign }).await.unwrap(), Receipt::Done);
    }
    let on = ReactionTarget::Comment { id: 7, place: Place::Review { review: Some(7) } };
    let refused = rig.send(Effect::Reaction { on, sign: Sign::Eyes }).await;
    assert!(matches!(refused, Err(Error::Refused { .. })));
    let sent: Vec<_> =
        rig.server.seen().iter().map(|seen| format!("{} {}", seen.path, seen.body)).collect();
    assert_eq!(
        sent,
        [
            r#"/repos/o/r/issues/3/reactions {"content":"eyes"}"#,
            r#"/repos/o/r/issues/comments/5/reactions {"content":"+1"}"#,
            r#"/repos/o/r/pulls/comments/6/reactions {"content":"confused"}"#,
        ]
    );
}

#[tokio::test]
async fn a_write_finds_a_renamed_repository() {
    let rig = rig(|seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("POST", "/repos/o/new/issues/3/comments") => Reply::json(201, comment(5, "")),
        ("GET", "/repositories/7") => Reply::json(200, json!({"id": 7, "full_name": "o/new"})),
        ("GET", _) => Reply::json(301, "").with("location", "/repositories/7"),
        _ => Reply::json(307, "").with("location", "/repositories/7/issues/3/comments"),
    })
    .await;
    assert!(matches!(rig.says("text").await.unwrap(), Receipt::Comment { id: 5, .. }));
    assert_eq!(
        rig.server.asked(),
        [
            "POST /repos/o/r/issues/3/comments",
            "GET /repos/o/r",
            "GET /repositories/7",
            "POST /repos/o/new/issues/3/comments"
        ]
    );
}

#[tokio::test]
async fn t9_a_name_that_leads_to_another_repository_gets_nothing() {
    let rig = rig(|seen| match seen.method.as_str() {
        "GET" => Reply::json(200, json!({"id": 8, "full_name": "o/r"})),
        _ => Reply::json(307, "").with("location", "/repositories/8/issues/3/comments"),
    })
    .await;
    assert!(matches!(rig.says("text").await, Err(Error::Gone { .. })));
    assert_eq!(rig.server.asked(), ["POST /repos/o/r/issues/3/comments", "GET /repos/o/r"]);
}

#[tokio::test]
async fn a_text_that_is_too_long_says_so() {
    let rig = rig(|_| {
        Reply::json(
            422,
            json!({"message": "Validation Failed", "errors": [{"message": "body is too long"}]}),
        )
    })
    .await;
    assert!(matches!(rig.says("text").await, Err(Error::TooLong)));
}

#[tokio::test]
async fn a_branch_has_no_conversation() {
    let rig = rig(|_| Reply::json(200, "[]")).await;
    let branch = Subject::branch(rig.subject.repo.clone(), "main");
    assert!(matches!(rig.github.conversation(&branch).await, Err(Error::Gone { .. })));
    assert!(rig.server.asked().is_empty());
}

/// Two pages of comments whose count is what `counts` gives, one after the other.
fn moving(counts: Vec<u64>) -> impl Fn(&Seen) -> Reply {
    let counts = Mutex::new(counts.into_iter());
    move |seen| match seen.path.as_str() {
        "/repos/o/r/issues/3" => {
            Reply::json(200, json!({"comments": counts.lock().unwrap().next()}))
        }
        path if path.contains("&page=2") => Reply::json(200, json!([comment(2, "b")])),
        path => Reply::json(200, json!([comment(1, "a")]))
            .with("link", &format!("<{path}&page=2>; rel=\"next\"")),
    }
}

#[tokio::test]
async fn e2_a_conversation_that_changed_while_it_was_read_is_read_anew() {
    let rig = rig(moving(vec![2, 3, 3, 3])).await;
    let said = rig.github.conversation(&rig.subject).await.unwrap();
    assert_eq!(said.iter().map(|said| said.id).collect::<Vec<_>>(), [1, 2]);
    let counts = rig.server.asked().iter().filter(|asked| asked.ends_with("/issues/3")).count();
    assert_eq!(counts, 4);
}

#[tokio::test]
async fn e2_a_conversation_that_never_rests_is_unknown() {
    let rig = rig(moving((0..6).collect())).await;
    let error = rig.github.conversation(&rig.subject).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
}

#[tokio::test]
async fn t6_no_secret_leaves_in_a_comment() {
    let server = Server::start(|_| Reply::json(201, comment(5, ""))).await;
    let redactor = Arc::new(Redactor::new([&SecretString::from("another-secret-value")]));
    let connection = Connection { redactor, ..connection(&server.url, LeapingClock::new()) };
    let github = GitHub::new(connection, Arc::new(Ours::new("server", None))).unwrap();
    let markdown = format!("the token is {TOKEN}, the other is another-secret-value");
    let effect = Effect::Comment(CommentBody {
        kind: "answer".to_owned(),
        markdown,
        claim: None,
        closing: None,
    });
    let publication =
        Publication { subject: Subject::issue(repo(&server), 3), slot: Slot::status(), effect };
    github.send(&publication, None).await.unwrap();
    let body = server.seen()[0].body.clone();
    assert!(!body.contains(TOKEN) && !body.contains("another-secret-value"), "{body}");
    assert!(body.contains("the token is [redacted]"), "{body}");
}

#[tokio::test]
async fn t6_a_token_that_no_header_can_carry_is_refused_without_repeating_it() {
    let mut connection = connection("https://git.example", LeapingClock::new());
    connection.token = SecretString::from("secret\nvalue");
    let error = GitHub::new(connection, Arc::new(Ours::new("server", None))).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("secret"), "{error:?}");
}
