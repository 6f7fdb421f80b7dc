//! The adapter against a server that answers as Gitea or Forgejo does. Slots have their own
//! stories in `slot`.

mod desk;
mod review;

use domain::event::Place;
use domain::publication::{
    Branch, CommentBody, Dispatch, Effect, FileWrite, NewChange, ReactionTarget, Sign, Status,
    Verdict,
};
use domain::{Actor, Origin, Publication, Receipt, Slot, Time};
use serde_json::json;

use super::*;
use crate::capability::Ability;
use crate::port::{Look, Permission, Write};
use crate::rig::{LeapingClock, Reply, Seen, Server as Host, TOKEN, connection};

struct Rig {
    server: Host,
    gitea: Gitea,
    change: Subject,
}

async fn rig(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Rig {
    rig_of(Host::start(reply).await)
}

fn rig_of(server: Host) -> Rig {
    let ours = Arc::new(Ours::new("server", None));
    let connection = connection(&format!("{}/api/v1", server.url), LeapingClock::new());
    let gitea = Gitea::new(connection, ours).unwrap();
    let repo = Repo {
        origin: Origin::new(&server.url),
        key: RepoKey::Id(7),
        full_name: "o/r".to_owned(),
        default_branch: None,
    };
    Rig { server, gitea, change: Subject::change(repo, 3) }
}

impl Rig {
    fn repo(&self) -> &Repo {
        &self.change.repo
    }

    async fn send(&self, effect: Effect) -> Result<Receipt, Error> {
        self.gitea.send(&self.publication(effect), None).await
    }

    fn publication(&self, effect: Effect) -> Publication {
        Publication { subject: self.change.clone(), slot: Slot::status(), effect }
    }

    /// The bodies that were written, one `METHOD path body` each.
    fn written(&self) -> Vec<String> {
        let writes = self.server.seen().into_iter().filter(|seen| seen.method != "GET");
        writes
            .map(|seen| {
                format!("{} {} {}", seen.method, seen.path.replace("/api/v1", ""), seen.body)
            })
            .collect()
    }
}

fn text(markdown: &str) -> CommentBody {
    CommentBody {
        kind: "answer".to_owned(),
        markdown: markdown.to_owned(),
        claim: None,
        closing: None,
    }
}

fn pull(number: u64, title: &str) -> serde_json::Value {
    let repo = json!({"id": 7, "full_name": "o/r", "default_branch": "main"});
    json!({
        "number": number, "title": title, "body": "", "user": desk::user(52), "state": "open",
        "draft": title.starts_with("WIP:"), "merged": false,
        "head": {"ref": "fix", "sha": "abc", "repo": repo.clone()},
        "base": {"ref": "main", "sha": "def", "repo": repo}, "merge_base": "base",
        "requested_reviewers": null, "labels": null, "assignees": null,
        "updated_at": "2023-11-14T22:13:20+08:00",
    })
}

#[tokio::test]
async fn requests_carry_the_token_as_all_versions_read_it() {
    let rig = rig(|_| Reply::json(200, desk::user(41))).await;
    let account = rig.gitea.own_account().await.unwrap();
    assert_eq!((account.id, account.login.as_str()), (Some(AccountId(41)), "user41"));
    assert_eq!(rig.server.asked(), ["GET /api/v1/user"]);
    let head = &rig.server.seen()[0].head;
    assert!(head.contains(&format!("authorization: token {TOKEN}")), "{head}");
}

#[tokio::test]
async fn a_renamed_repository_is_found_by_reads_and_by_writes() {
    let rig = rig(|seen| match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/api/v1/repos/o/new") => Reply::json(200, json!({"id": 7, "full_name": "o/new"})),
        ("GET", _) => Reply::json(301, "").with("location", "/api/v1/repos/o/new"),
        ("POST", "/api/v1/repos/o/new/issues/3/comments") => {
            Reply::json(201, json!({"id": 5, "body": "", "user": desk::user(41)}))
        }
        _ => Reply::json(301, "").with("location", "/api/v1/repos/o/new/issues/3/comments"),
    })
    .await;
    assert_eq!(rig.gitea.repository("o/r").await.unwrap().full_name, "o/new");
    let receipt = rig.send(Effect::Comment(text("hello"))).await.unwrap();
    assert!(matches!(receipt, Receipt::Comment { id: 5, .. }));
    for wrong in ["o", "o/r/x", "../..", ""] {
        assert!(matches!(rig.gitea.repository(wrong).await, Err(Error::Gone { .. })), "{wrong}");
    }
}

fn review(id: u64) -> serde_json::Value {
    json!({"id": id, "state": "APPROVED", "user": null, "comments_count": 0})
}

#[tokio::test]
async fn lists_are_followed_by_links_or_by_the_count() {
    let rig = rig(|seen| match seen.path.as_str() {
        "/api/v1/repos/o/r/pulls/3/reviews?limit=50" => {
            Reply::json(200, json!([review(1), review(2)])).with("x-total-count", "4")
        }
        "/api/v1/repos/o/r/pulls/3/reviews?limit=50&page=2" => {
            Reply::json(200, json!([review(9)])).with("x-total-count", "4")
        }
        // What others have not submitted is counted, and not shown.
        path if path.contains("/reviews") => Reply::json(200, "[]").with("x-total-count", "4"),
        path if path.contains("pulls?") && !path.contains("page=2") => {
            Reply::json(200, json!([pull(1, "a")]))
                .with("x-total-count", "2")
                .with("link", &format!("<{path}&page=2>; rel=\"next\""))
        }
        path if path.contains("pulls?") => Reply::json(200, json!([pull(2, "b")]))
            .with("x-total-count", "2")
            .with("link", &format!("<{path}>; rel=\"first\"")),
        _ => Reply::json(404, ""),
    })
    .await;
    let ids: Vec<_> =
        rig.gitea.reviews(&rig.change).await.unwrap().iter().map(|review| review.id).collect();
    assert_eq!(ids, [1, 2, 9], "a server may give fewer on a page than it was asked for");
    let changes = rig.gitea.changes_of_branch(rig.repo(), "fix").await.unwrap();
    let numbers: Vec<_> = changes.iter().map(|change| change.number).collect();
    assert_eq!(numbers, [2, 1], "newest first");
}

#[tokio::test]
async fn e2_a_list_whose_count_changes_while_it_is_read_is_not_taken_as_whole() {
    let rig = rig(|seen| match seen.path.contains("page=2") {
        false => Reply::json(200, json!([review(1)])).with("x-total-count", "3"),
        true => Reply::json(200, json!([review(3)])).with("x-total-count", "2"),
    })
    .await;
    let error = rig.gitea.reviews(&rig.change).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
}

#[tokio::test]
async fn e2_a_conversation_that_does_not_come_whole_is_not_taken_as_whole() {
    let rig = rig(|_| {
        let comment = json!([{"id": 1, "body": "", "user": null}]);
        Reply::json(200, comment).with("x-total-count", "2")
    })
    .await;
    let error = rig.gitea.conversation(&rig.change).await.unwrap_err();
    assert!(matches!(error, Error::Garbled { .. }), "{error:?}");
}

#[tokio::test]
async fn t9_a_comment_that_stands_on_another_issue_is_not_taken() {
    let rig = rig(|_| {
        Reply::json(
            200,
            json!({"id": 5, "body": "moved", "user": null, "pull_request_url": "",
                   "issue_url": "https://git.example/o/r/issues/4"}),
        )
    })
    .await;
    let said = rig.gitea.comment(&rig.change, 5, &Place::Conversation).await;
    assert!(matches!(said, Err(Error::Gone { .. })), "{said:?}");
    let elsewhere = Subject::issue(rig.repo().clone(), 4);
    let said = rig.gitea.comment(&elsewhere, 5, &Place::Conversation).await.unwrap();
    assert_eq!(said.author, Actor::named("Ghost"));
}

#[tokio::test]
async fn t9_permission_belongs_to_the_account_and_not_to_its_name() {
    let rig = rig(|seen| match seen.path.as_str() {
        "/api/v1/repos/o/r/collaborators/ann/permission" => {
            Reply::json(200, json!({"permission": "owner", "user": {"id": 5, "login": "ann"}}))
        }
        "/api/v1/repos/o/r/collaborators/bob/permission" => {
            Reply::json(200, json!({"permission": "read", "user": {"id": 6, "login": "bob"}}))
        }
        _ => Reply::json(404, json!({"message": "user does not exist", "errors": null})),
    })
    .await;
    let permission = async |id: Option<i64>, login: &str| {
        let actor = Actor { id: id.map(AccountId), ..Actor::named(login) };
        rig.gitea.permission(rig.repo(), &actor).await.unwrap()
    };
    assert_eq!(permission(Some(5), "ann").await, Permission::Admin);
    assert_eq!(permission(None, "Ann").await, Permission::None, "asked for as it is written");
    assert_eq!(permission(Some(9), "ann").await, Permission::None, "the name passed to another");
    assert_eq!(permission(Some(6), "bob").await, Permission::Read);
    assert_eq!(permission(Some(1), "x/../ann").await, Permission::None);
}

/// Answers as to an account that does not administer the repository.
fn not_an_administrator(seen: &Seen, owner_is_person: bool) -> Reply {
    match seen.path.as_str() {
        "/api/v1/repos/o/r/teams" if owner_is_person => {
            Reply::json(405, json!({"message": "repo is not owned by an organization"}))
        }
        "/api/v1/repos/o/r/teams" => Reply::json(200, json!([{"id": 1, "permission": "read"}])),
        "/api/v1/repos/o/r/assignees" => Reply::json(200, json!([desk::user(5)])),
        _ => Reply::json(403, json!({"message": "Only admins can query all permissions"})),
    }
}

#[tokio::test]
async fn who_may_write_to_a_persons_repository_is_seen_without_administering_it() {
    let rig = rig(|seen| not_an_administrator(seen, true)).await;
    let permission = async |id: i64| {
        let actor = Actor { id: Some(AccountId(id)), ..Actor::named("ann") };
        rig.gitea.permission(rig.repo(), &actor).await.unwrap()
    };
    assert_eq!(permission(5).await, Permission::Write);
    assert_eq!(permission(6).await, Permission::None);
}

#[tokio::test]
async fn in_an_organization_nobody_is_taken_for_a_writer_without_proof() {
    let rig = rig(|seen| not_an_administrator(seen, false)).await;
    let actor = Actor { id: Some(AccountId(5)), ..Actor::named("ann") };
    let error = rig.gitea.permission(rig.repo(), &actor).await.unwrap_err();
    assert!(error.to_string().contains("must administer"), "{error}");
}

#[tokio::test]
async fn drafts_are_titles() {
    let rig = rig(|seen| match seen.method.as_str() {
        "GET" if seen.path.contains("pulls?") => Reply::json(200, "[]"),
        "GET" => Reply::json(200, pull(3, "WIP: a title")),
        "POST" => Reply::json(201, pull(4, "WIP: new")),
        _ => Reply::json(201, pull(3, "a title")),
    })
    .await;
    let change = rig.gitea.change(&rig.change).await.unwrap();
    assert_eq!((change.draft, change.title.as_str()), (true, "a title"));
    assert_eq!(change.head_ref, "refs/pull/3/head");
    assert_eq!(change.base.as_deref(), Some("base"), "the merge base");
    assert_eq!(change.updated_at, Some(Time(1_699_971_200_000)));
    assert_eq!(rig.send(Effect::Ready).await.unwrap(), Receipt::Done);
    let new = NewChange {
        title: "new".to_owned(),
        body: text("what it does"),
        head_branch: "fix".to_owned(),
        base_branch: "main".to_owned(),
    };
    let receipt = rig.send(Effect::Change(new)).await.unwrap();
    assert!(matches!(receipt, Receipt::Change { number: 4, .. }), "{receipt:?}");
    assert_eq!(
        rig.written(),
        [
            r#"PATCH /repos/o/r/pulls/3 {"title":"a title"}"#,
            concat!(
                r#"POST /repos/o/r/pulls {"title":"WIP: new","head":"fix","base":"main","#,
                r#""body":"what it does"}"#
            ),
        ]
    );
}

#[tokio::test]
async fn a_draft_by_a_prefix_that_we_do_not_know_is_told() {
    let rig = rig(|_| {
        let mut pull = pull(3, "In Arbeit: a title");
        pull["draft"] = json!(true);
        Reply::json(200, pull)
    })
    .await;
    let error = rig.send(Effect::Ready).await.unwrap_err();
    assert!(matches!(error, Error::Refused { .. }), "{error:?}");
    assert!(rig.written().is_empty());
}

#[tokio::test]
async fn old_servers_do_not_tell_drafts_but_by_the_title() {
    let rig = rig(|_| {
        let mut pull = pull(3, "[wip] a title");
        pull.as_object_mut().unwrap().remove("draft");
        Reply::json(200, pull)
    })
    .await;
    let change = rig.gitea.change(&rig.change).await.unwrap();
    assert_eq!((change.draft, change.title.as_str()), (true, "a title"));
}

#[tokio::test]
async fn writes_use_the_words_of_this_forge() {
    let rig = rig(|_| Reply::json(201, "{}")).await;
    let neutral = Status {
        commit: "abc".to_owned(),
        context: "patchwright".to_owned(),
        verdict: Verdict::Neutral,
        title: "half of it was looked at".to_owned(),
        summary: String::new(),
        url: Some("https://bot.example/1".to_owned()),
        annotations: Vec::new(),
        closing: None,
    };
    let branch = Branch { name: "bot/fix".to_owned(), at: "abc".to_owned() };
    let file = |replaces: Option<&str>| FileWrite {
        branch: "bot/fix".to_owned(),
        path: "docs/a b.md".to_owned(),
        content: "hi".to_owned(),
        message: "write it".to_owned(),
        replaces: replaces.map(str::to_owned),
    };
    let dispatch = Dispatch {
        workflow: Some("run.yml".to_owned()),
        on_branch: "main".to_owned(),
        variables: vec![("id".to_owned(), "x1".to_owned())],
        identity: "id".to_owned(),
    };
    let inline = Place::Thread { thread: None, reply: None, path: None };
    for effect in [
        Effect::Status(neutral),
        Effect::Branch(branch),
        Effect::File(file(None)),
        Effect::File(file(Some("blob"))),
        Effect::Dispatch(dispatch),
        Effect::Reaction { on: ReactionTarget::Subject, sign: Sign::Eyes },
        Effect::Reaction {
            on: ReactionTarget::Comment { id: 5, place: inline },
            sign: Sign::ThumbsUp,
        },
    ] {
        rig.send(effect).await.unwrap();
    }
    let on = ReactionTarget::Comment { id: 7, place: Place::Review { review: Some(7) } };
    let refused = rig.send(Effect::Reaction { on, sign: Sign::Eyes }).await;
    assert!(matches!(refused, Err(Error::Refused { .. })));
    assert_eq!(
        rig.written(),
        [
            concat!(
                r#"POST /repos/o/r/statuses/abc {"state":"warning","context":"patchwright","#,
                r#""description":"half of it was looked at","target_url":"https://bot.example/1"}"#
            ),
            r#"POST /repos/o/r/branches {"new_branch_name":"bot/fix","old_ref_name":"abc"}"#,
            concat!(
                r#"POST /repos/o/r/contents/docs/a%20b.md {"message":"write it","#,
                r#""content":"aGk=","branch":"bot/fix"}"#
            ),
            concat!(
                r#"PUT /repos/o/r/contents/docs/a%20b.md {"message":"write it","#,
                r#""content":"aGk=","branch":"bot/fix","sha":"blob"}"#
            ),
            concat!(
                r#"POST /repos/o/r/actions/workflows/run.yml/dispatches "#,
                r#"{"ref":"main","inputs":{"id":"x1"}}"#
            ),
            r#"POST /repos/o/r/issues/3/reactions {"content":"eyes"}"#,
            r#"POST /repos/o/r/issues/comments/5/reactions {"content":"+1"}"#,
        ]
    );
}

#[tokio::test]
async fn a_branch_that_stands_already_is_as_good_as_a_new_one() {
    let rig = rig(|seen| match seen.method.as_str() {
        "GET" => Reply::json(200, json!({"name": "bot/fix", "commit": {"id": "abc"}})),
        _ => Reply::json(409, json!({"message": "The branch already exists."})),
    })
    .await;
    let at = |commit: &str| Branch { name: "bot/fix".to_owned(), at: commit.to_owned() };
    let stands = rig.send(Effect::Branch(at("abc"))).await.unwrap();
    assert_eq!(stands, Receipt::Commit { id: "abc".to_owned() });
    let refused = rig.send(Effect::Branch(at("def"))).await.unwrap();
    assert!(matches!(refused, Receipt::Refused { .. }), "{refused:?}");
    assert_eq!(rig.server.asked()[1], "GET /api/v1/repos/o/r/branches/bot/fix");
}

#[tokio::test]
async fn e2_a_run_of_unknown_fate_is_found_by_its_name_or_by_what_it_was_told() {
    for (runs, expected) in [
        (json!({"workflow_runs": [{"display_title": "patchwright x1"}]}), true),
        (
            json!({"workflow_runs": [{"title": "c", "event_payload": r#"{"inputs":{"id":"x1"}}"#}]}),
            true,
        ),
        (json!({"workflow_runs": [{"display_title": "patchwright x12"}]}), false),
        (json!({"workflow_runs": null}), false),
    ] {
        let rig = rig(move |_| Reply::json(200, runs.clone())).await;
        let dispatch = Effect::Dispatch(Dispatch {
            workflow: Some("run.yml".to_owned()),
            on_branch: "main".to_owned(),
            variables: vec![("id".to_owned(), "x1".to_owned())],
            identity: "id".to_owned(),
        });
        let look = rig.gitea.find(&rig.publication(dispatch)).await;
        assert_eq!(matches!(look, Look::Found { .. }), expected, "{look:?}");
    }
}

#[tokio::test]
async fn what_was_touched_lately_is_asked_for_in_two_lists() {
    let rig = rig(|seen| match seen.path.as_str() {
        "/api/v1/user" => Reply::json(200, desk::user(41)),
        path if path.contains("/pulls?") => {
            let mut old = pull(1, "old");
            old["updated_at"] = json!("2020-01-01T00:00:00Z");
            Reply::json(200, json!([pull(2, "fresh"), old])).with("x-total-count", "100")
        }
        _ => Reply::json(200, json!([{"number": 8, "state": "open", "assignees": null}])),
    })
    .await;
    let touched = rig.gitea.touched_since(rig.repo(), Time(1_600_000_000_000)).await.unwrap();
    assert_eq!(touched.changes.iter().map(|change| change.number).collect::<Vec<_>>(), [2]);
    assert_eq!(touched.issues.iter().map(|issue| issue.number).collect::<Vec<_>>(), [8]);
    assert_eq!(
        rig.server.asked(),
        [
            "GET /api/v1/repos/o/r/pulls?state=open&sort=recentupdate&limit=50",
            "GET /api/v1/user",
            concat!(
                "GET /api/v1/repos/o/r/issues?type=issues&state=open&assigned_by=user41",
                "&since=2020-09-13T12%3A26%3A40Z&limit=50"
            ),
        ]
    );
}

#[tokio::test]
async fn t5_git_reaches_the_repository_beside_the_api() {
    let rig = rig(|_| Reply::json(404, "")).await;
    let access = rig.gitea.git_access(rig.repo()).await.unwrap();
    assert_eq!(access.url.as_str(), format!("{}/o/r.git", rig.server.url));
    let below = connection("https://git.example/forge/api/v1/", LeapingClock::new());
    let gitea = Gitea::new(below, Arc::new(Ours::new("server", None))).unwrap();
    let access = gitea.git_access(rig.repo()).await.unwrap();
    assert_eq!(access.url.as_str(), "https://git.example/forge/o/r.git");
}

#[tokio::test]
async fn a_server_that_tells_nothing_about_itself_can_do_the_least() {
    let rig = rig(|seen| match seen.path.as_str() {
        // A page for people, where the description should be.
        "/swagger.v1.json" => Reply::json(200, "<html>Sign in</html>"),
        _ => Reply::json(403, json!({"message": "token does not have the scope read:misc"})),
    })
    .await;
    let able = rig.gitea.capabilities().await.unwrap();
    assert_eq!(able.version, None);
    assert!(matches!(able.resolving, Ability::No(_)));
    rig.gitea.capabilities().await.unwrap();
    assert_eq!(rig.server.asked().len(), 2, "asked once and kept");
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_asked_again_later() {
    let rig = rig(|_| Reply::json(502, "")).await;
    let error = rig.gitea.capabilities().await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert!(rig.gitea.server.get().is_none());
}
