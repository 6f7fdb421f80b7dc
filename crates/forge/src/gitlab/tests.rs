//! The adapter against a server that answers as GitLab does. Slots have their own stories in
//! `slot`.

mod batch;
mod move_by_move;

use domain::event::Place;
use domain::publication::{CommentBody, Effect};
use domain::{AccountId, Actor, Origin, Publication, Receipt, Slot, Time};
use serde_json::{Value, json};

use super::*;
use crate::capability::FileComments;
use crate::port::{Permission, Read, ReviewState, Write};
use crate::rig::{LeapingClock, Reply, Seen, Server, TOKEN, connection};

struct Rig {
    server: Server,
    gitlab: GitLab,
    issue: Subject,
    change: Subject,
}

/// A server whose answers are chosen by `METHOD path`, without the query.
async fn rig(reply: impl Fn(&str, &Seen) -> Reply + Send + Sync + 'static) -> Rig {
    let server = Server::start(move |seen| {
        let path = seen.path.split('?').next().unwrap_or_default();
        let path = path.strip_prefix("/gitlab/api/v4").unwrap_or("outside");
        let path = path.strip_prefix("/projects/7").unwrap_or(path);
        match (seen.method.as_str(), path) {
            ("GET", "/user") => Reply::json(200, ourselves()),
            ("GET", "/version") => Reply::json(200, json!({"version": "17.3.1-ee"})),
            (method, path) => reply(&format!("{method} {path}"), seen),
        }
    })
    .await;
    let ours = Arc::new(Ours::new("server", None));
    let api = format!("{}/gitlab/api/v4", server.url);
    let gitlab = GitLab::new(connection(&api, LeapingClock::new()), ours).unwrap();
    let repo = Repo {
        origin: Origin::new(&server.url),
        key: RepoKey::Id(7),
        full_name: "g/sub/r".to_owned(),
        default_branch: None,
    };
    let (issue, change) = (Subject::issue(repo.clone(), 3), Subject::change(repo, 4));
    Rig { server, gitlab, issue, change }
}

impl Rig {
    async fn send(&self, subject: &Subject, effect: Effect) -> Result<Receipt, Error> {
        let (subject, slot) = (subject.clone(), Slot::status());
        self.gitlab.send(&Publication { subject, slot, effect }, None).await
    }

    async fn says(&self, subject: &Subject, text: &str) -> Result<Receipt, Error> {
        self.send(subject, Effect::Comment(body(text))).await
    }

    /// What was asked below the project, without probes and queries.
    fn asked(&self) -> Vec<String> {
        let asked = self.server.asked().into_iter();
        let short = asked.filter_map(|asked| {
            let (method, path) = asked.split_once(' ')?;
            let path = path.split('?').next()?.strip_prefix("/gitlab/api/v4/projects/7")?;
            Some(format!("{method} {path}"))
        });
        short.collect()
    }
}

fn body(text: &str) -> CommentBody {
    let (kind, markdown) = ("answer".to_owned(), text.to_owned());
    CommentBody { kind, markdown, claim: None, closing: None }
}

fn ourselves() -> Value {
    json!({"id": 41, "username": "bot"})
}

fn note(id: u64, text: &str) -> Value {
    json!({"id": id, "type": null, "body": text, "author": ourselves(), "system": false,
           "internal": false, "created_at": "2023-11-14T22:13:20.000Z",
           "updated_at": "2023-11-14T22:13:21.000Z"})
}

fn with(mut value: Value, more: &Value) -> Value {
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}

fn on_code(id: u64, text: &str) -> Value {
    with(
        note(id, text),
        &json!({"type": "DiffNote", "resolvable": true, "resolved": false,
                "position": {"base_sha": "b", "start_sha": "s", "head_sha": "h",
                             "position_type": "text", "old_path": "a.rs", "new_path": "a.rs",
                             "old_line": null, "new_line": 5}}),
    )
}

fn merge_request(more: &Value) -> Value {
    let change = json!({
        "id": 900, "iid": 4, "title": "Draft: fix it", "description": "why",
        "author": {"id": 5, "username": "ann"}, "state": "opened", "draft": true,
        "work_in_progress": true, "sha": "h", "source_branch": "fix", "target_branch": "main",
        "source_project_id": 7, "target_project_id": 7, "labels": ["bug"],
        "reviewers": [ourselves()], "diff_refs": {"base_sha": "b", "start_sha": "s", "head_sha": "h"},
        "created_at": "2023-11-14T22:13:20.000Z", "updated_at": "2023-11-14T22:13:21.000Z",
        "web_url": "https://git.example/g/sub/r/-/merge_requests/4",
    });
    with(change, more)
}

#[tokio::test]
async fn t6_the_token_goes_in_a_header_and_nowhere_else() {
    let rig = rig(|_, _| Reply::json(404, "{}")).await;
    let account = rig.gitlab.own_account().await.unwrap();
    assert_eq!(account, Actor { id: Some(AccountId(41)), login: "bot".to_owned(), bot: false });
    assert_eq!(rig.server.asked(), ["GET /gitlab/api/v4/user"]);
    let head = &rig.server.seen()[0].head;
    assert!(head.contains(&format!("authorization: bearer {TOKEN}").to_lowercase()), "{head}");
    assert!(!format!("{:?}", rig.gitlab).contains(TOKEN));
}

#[tokio::test]
async fn a_bot_is_known_where_the_server_tells_it_and_where_not() {
    for (flag, name, expected) in [
        (json!(true), "helper", true),
        (Value::Null, "project_7_bot_0a1b", true),
        (Value::Null, "ann", false),
    ] {
        let user: wire::User =
            serde_json::from_value(json!({"id": 41, "username": name, "bot": flag})).unwrap();
        assert_eq!(user.into_actor().is_bot(), expected, "{name}");
    }
    let user: wire::User = serde_json::from_value(json!({"id": 1, "username": "x"})).unwrap();
    assert!(!user.into_actor().is_bot(), "not told at all");
}

#[tokio::test]
async fn a_repository_is_found_by_its_whole_path_as_one_segment() {
    let rig = rig(|asked, _| match asked {
        "GET /projects/g%2Fsub%2Fold" => {
            Reply::json(301, "").with("location", "/gitlab/api/v4/projects/7")
        }
        "GET " => Reply::json(
            200,
            json!({"id": 7, "path_with_namespace": "g/sub/r", "default_branch": "main"}),
        ),
        _ => Reply::json(404, json!({"message": "404 Project Not Found"})),
    })
    .await;
    let repo = rig.gitlab.repository("g/sub/old").await.unwrap();
    assert_eq!((repo.key, repo.full_name.as_str()), (RepoKey::Id(7), "g/sub/r"));
    for wrong in ["7", "", "../..", "g/gone"] {
        let found = rig.gitlab.repository(wrong).await;
        assert!(matches!(found, Err(Error::Gone { .. })), "{wrong}: {found:?}");
    }
    assert!(!rig.server.asked().iter().any(|asked| asked.ends_with("/projects/")));
}

#[tokio::test]
async fn t9_paths_go_by_the_number_of_the_project_where_it_is_known() {
    let rig = rig(|asked, _| match asked {
        "POST /issues/3/notes" => Reply::json(201, note(5, "text")),
        "POST /merge_requests/4/notes" => Reply::json(201, note(6, "text")),
        "POST /projects/g%2Fsub%2Fr/issues/3/notes" => Reply::json(201, note(7, "text")),
        _ => Reply::json(404, "{}"),
    })
    .await;
    let url = |receipt| match receipt {
        Receipt::Comment { url: Some(url), .. } => url,
        other => panic!("{other:?}"),
    };
    let site = format!("{}/gitlab/g/sub/r/-", rig.server.url);
    let said = rig.says(&rig.issue, "text").await.unwrap();
    assert_eq!(url(said), format!("{site}/issues/3#note_5"));
    let said = rig.says(&rig.change, "text").await.unwrap();
    assert_eq!(url(said), format!("{site}/merge_requests/4#note_6"));
    let mut nameless = rig.issue.clone();
    nameless.repo.key = RepoKey::Name("g/sub/r".to_owned());
    rig.says(&nameless, "text").await.unwrap();
}

#[tokio::test]
async fn a_conversation_is_what_people_said_to_everybody() {
    let rig = rig(|_, _| {
        Reply::json(
            200,
            json!([
                note(1, "plain"),
                with(note(2, "assigned to @bot"), &json!({"system": true})),
                with(note(3, "among members"), &json!({"internal": true})),
                with(
                    note(4, "among members, as older servers say it"),
                    &json!({"internal": null, "confidential": true})
                ),
                on_code(5, "on code"),
                with(
                    note(6, "in a thread that is not on code"),
                    &json!({"type": "DiscussionNote"})
                ),
            ]),
        )
    })
    .await;
    let said = rig.gitlab.conversation(&rig.change).await.unwrap();
    assert_eq!(said.iter().map(|said| said.id).collect::<Vec<_>>(), [1, 6]);
    assert_eq!(said[0].updated_at, Some(Time(1_700_000_001_000)));
    assert_eq!(
        rig.server.asked(),
        ["GET /gitlab/api/v4/projects/7/merge_requests/4/notes\
          ?sort=asc&order_by=created_at&per_page=100"]
    );
    let branch = Subject::branch(rig.issue.repo.clone(), "main");
    assert!(matches!(rig.gitlab.conversation(&branch).await, Err(Error::Gone { .. })));
}

#[tokio::test]
async fn a_comment_among_members_is_not_read() {
    let rig = rig(|asked, _| match asked {
        "GET /issues/3/notes/5" => Reply::json(200, with(note(5, "x"), &json!({"internal": true}))),
        "GET /merge_requests/4/discussions/d1/notes/6" => Reply::json(200, on_code(6, "inline")),
        "GET /merge_requests/4/notes/6" => Reply::json(200, on_code(6, "inline")),
        _ => Reply::json(404, "{}"),
    })
    .await;
    let secret = rig.gitlab.comment(&rig.issue, 5, &Place::Conversation).await;
    assert!(matches!(secret, Err(Error::Gone { .. })), "{secret:?}");
    let thread = |id: Option<&str>| Place::Thread {
        thread: id.map(str::to_owned),
        reply: None,
        path: Some("a.rs".to_owned()),
    };
    for place in [thread(Some("d1")), thread(None)] {
        let said = rig.gitlab.comment(&rig.change, 6, &place).await.unwrap();
        assert_eq!((said.body.as_str(), &said.place), ("inline", &place));
    }
    let review = rig.gitlab.comment(&rig.change, 6, &Place::Review { review: Some(1) }).await;
    assert!(matches!(review, Err(Error::Gone { .. })));
}

/// Two pages of notes; `totals` are the counts that come with the answers, one after the other.
fn moving(totals: &'static [Option<&'static str>]) -> impl Fn(&str, &Seen) -> Reply {
    let turn = std::sync::atomic::AtomicUsize::new(0);
    move |_, seen| {
        let turn = turn.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        let second = seen.path.contains("&page=2");
        let reply = match second {
            true => Reply::json(200, json!([note(2, "b")])).with("x-next-page", ""),
            false => Reply::json(200, json!([note(1, "a")])).with("x-next-page", "2"),
        };
        match totals.get(turn).copied().flatten() {
            Some(total) => reply.with("x-total", total),
            None => reply,
        }
    }
}

#[tokio::test]
async fn pages_follow_the_number_that_the_host_names() {
    let rig = rig(moving(&[])).await;
    assert_eq!(rig.gitlab.conversation(&rig.issue).await.unwrap().len(), 2);
    assert_eq!(rig.asked().len(), 2, "totals are left out of long lists");
}

#[tokio::test]
async fn pages_follow_links_where_no_number_is_named() {
    let rig = rig(|_, seen| match seen.path.contains("cursor=x") {
        true => Reply::json(200, json!([note(2, "b")])),
        false => Reply::json(200, json!([note(1, "a")]))
            .with("link", &format!("<{}&cursor=x>; rel=\"next\"", seen.path)),
    })
    .await;
    assert_eq!(rig.gitlab.conversation(&rig.issue).await.unwrap().len(), 2);
}

#[tokio::test]
async fn e2_a_conversation_that_changed_while_it_was_read_is_read_anew() {
    let rig = rig(moving(&[Some("3"), Some("2"), Some("2"), Some("2")])).await;
    assert_eq!(rig.gitlab.conversation(&rig.issue).await.unwrap().len(), 2);
    assert_eq!(rig.asked().len(), 4);
}

#[tokio::test]
async fn e2_a_conversation_that_never_rests_is_unknown() {
    let rig =
        rig(moving(&[Some("1"), Some("2"), Some("3"), Some("4"), Some("5"), Some("6")])).await;
    let error = rig.gitlab.conversation(&rig.issue).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
    assert_eq!(rig.asked().len(), 6);
}

#[tokio::test]
async fn t9_permission_is_asked_for_the_number_of_the_account() {
    let rig = rig(|asked, _| match asked {
        "GET /users" => {
            Reply::json(200, json!([{"id": 6, "username": "anna"}, {"id": 5, "username": "Ann"}]))
        }
        "GET /members/all/5" => {
            Reply::json(200, json!({"id": 5, "username": "ann", "access_level": 30}))
        }
        "GET /members/all/9" => {
            Reply::json(200, json!({"id": 9, "username": "root", "access_level": 50}))
        }
        _ => Reply::json(404, json!({"message": "404 Not found"})),
    })
    .await;
    let permission = async |id: Option<i64>, login: &str| {
        let actor = Actor { id: id.map(AccountId), login: login.to_owned(), bot: false };
        rig.gitlab.permission(&rig.issue.repo, &actor).await.unwrap()
    };
    assert_eq!(permission(Some(5), "ann").await, Permission::Write);
    assert_eq!(permission(Some(8), "root").await, Permission::None, "the name is somebody else's");
    assert_eq!(permission(Some(9), "").await, Permission::Admin);
    assert_eq!(permission(None, "ann").await, Permission::Write);
    assert_eq!(permission(None, "bob").await, Permission::None);
}

#[tokio::test]
async fn a_change_tells_where_its_commits_live() {
    let rig = rig(|asked, seen| match asked {
        "GET /merge_requests/4" => Reply::json(200, merge_request(&json!({}))),
        "GET /merge_requests/5" => Reply::json(
            200,
            merge_request(&json!({"iid": 5, "source_project_id": 8, "allow_collaboration": true})),
        ),
        "GET /merge_requests/6" => {
            Reply::json(200, merge_request(&json!({"source_project_id": null})))
        }
        "GET /merge_requests/7" => {
            Reply::json(200, merge_request(&json!({"sha": null, "diff_refs": null})))
        }
        "GET /projects/8" => Reply::json(
            200,
            json!({"id": 8, "path_with_namespace": "ann/r", "default_branch": "main"}),
        ),
        other => panic!("{other} {}", seen.path),
    })
    .await;
    let change = async |number| rig.gitlab.change(&Subject { number, ..rig.change.clone() }).await;
    let now = change(4).await.unwrap();
    assert_eq!(
        (now.title.as_str(), now.draft, now.open, now.head.as_str()),
        ("fix it", true, true, "h")
    );
    assert_eq!(
        (now.head_ref.as_str(), now.base.as_deref()),
        ("refs/merge-requests/4/head", Some("b"))
    );
    assert_eq!(now.source.repo.unwrap().full_name, "g/sub/r");
    let fork = change(5).await.unwrap().source;
    assert_eq!(
        fork.repo.map(|repo| (repo.key, repo.full_name)),
        Some((RepoKey::Id(8), "ann/r".to_owned()))
    );
    assert_eq!(fork.maintainers_may_push, Some(true));
    assert_eq!(change(6).await.unwrap().source.repo, None, "the fork is gone");
    let early = change(7).await;
    assert!(
        matches!(early, Err(Error::Conflict { .. })),
        "its difference is not computed: {early:?}"
    );
}

#[tokio::test]
async fn changes_of_a_branch_leave_out_the_same_branch_of_a_fork() {
    let rig = rig(|_, _| {
        Reply::json(
            200,
            json!([
                merge_request(&json!({"iid": 9, "source_project_id": 8})),
                merge_request(&json!({"iid": 4, "diff_refs": null})),
            ]),
        )
    })
    .await;
    let changes = rig.gitlab.changes_of_branch(&rig.change.repo, "fix").await.unwrap();
    assert_eq!(changes.iter().map(|change| change.number).collect::<Vec<_>>(), [4]);
    assert!(rig.server.asked()[0].contains("state=opened&source_branch=fix"));
}

#[tokio::test]
async fn j9_what_was_touched_is_asked_for_by_time_and_by_our_number() {
    let rig = rig(|asked, _| match asked {
        "GET /merge_requests" => Reply::json(200, json!([merge_request(&json!({}))])),
        _ => Reply::json(200, json!([{"iid": 3, "title": "t", "state": "opened", "author": null}])),
    })
    .await;
    let touched = rig.gitlab.touched_since(&rig.issue.repo, Time(1_700_000_000_000)).await.unwrap();
    assert_eq!((touched.changes.len(), touched.issues.len()), (1, 1));
    assert_eq!(touched.issues[0].author, Actor::named("ghost"));
    let asked = rig.server.asked();
    assert!(asked[0].contains("state=opened&updated_after=2023-11-14T22%3A13%3A20Z"), "{asked:?}");
    assert!(asked[2].contains("assignee_id=41&updated_after="), "{asked:?}");
}

#[tokio::test]
async fn threads_are_the_discussions_on_code() {
    let rig = rig(|asked, _| match asked {
        "GET /merge_requests/4/discussions" => Reply::json(200, json!([
            {"id": "d1", "individual_note": true, "notes": [note(1, "plain")]},
            {"id": "d2", "individual_note": false, "notes": [on_code(2, "root"), on_code(3, "reply")]},
            {"id": "d3", "individual_note": false, "notes": [with(note(4, "plain thread"), &json!({"type": "DiscussionNote"}))]},
        ])),
        "GET /merge_requests/4" => Reply::json(200, merge_request(&json!({"sha": "later"}))),
        _ => Reply::json(404, "{}"),
    })
    .await;
    let threads = rig.gitlab.threads(&rig.change).await.unwrap();
    assert_eq!(threads.len(), 1);
    assert_eq!(
        (threads[0].id.as_str(), threads[0].outdated, threads[0].resolved),
        ("d2", true, Some(false))
    );
    let replies: Vec<_> =
        threads[0].comments.iter().map(|said| (said.thread(), &said.place)).collect();
    assert!(replies.iter().all(|(thread, _)| *thread == Some("d2")));
    assert!(matches!(replies[1].1, Place::Thread { reply: Some(true), .. }));
}

#[tokio::test]
async fn reviews_are_approvals_and_what_reviewers_said() {
    let ann = json!({"id": 5, "username": "ann"});
    let reply = move |asked: &str, _: &Seen| match asked {
        "GET /merge_requests/4/approvals" => Reply::json(
            200,
            json!({"approved_by":
            [{"user": ann, "approved_at": "2023-11-14T22:13:21.000Z"}]}),
        ),
        "GET /merge_requests/4/reviewers" => Reply::json(
            200,
            json!([
            {"user": {"id": 6, "username": "bob"}, "state": "requested_changes", "created_at": "2023-11-14T22:13:20.000Z"},
            {"user": {"id": 7, "username": "cy"}, "state": "unreviewed", "created_at": null}]),
        ),
        _ => Reply::json(404, "{}"),
    };
    let rig = rig(reply).await;
    let reviews = rig.gitlab.reviews(&rig.change).await.unwrap();
    let told: Vec<_> =
        reviews.iter().map(|review| (review.author.login.as_str(), review.state)).collect();
    assert_eq!(told, [("bob", ReviewState::ChangesRequested), ("ann", ReviewState::Approved)]);
}

#[tokio::test]
async fn older_servers_tell_approvals_only() {
    let rig = rig(|asked, _| match asked {
        "GET /merge_requests/4/approvals" => Reply::json(200, json!({"approved_by": []})),
        _ => Reply::json(404, "{}"),
    })
    .await;
    assert!(rig.gitlab.reviews(&rig.change).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_version_is_asked_once_and_decides_about_files() {
    let rig = rig(|_, _| Reply::json(404, "{}")).await;
    for _ in 0..3 {
        let able = rig.gitlab.capabilities().await.unwrap();
        assert_eq!((able.version.as_deref(), able.files), (Some("17.3.1-ee"), FileComments::Yes));
    }
    assert_eq!(rig.server.asked(), ["GET /gitlab/api/v4/version"]);
    for (status, answer, files) in [
        (200, json!({"version": "16.3.9"}), FileComments::No),
        (200, json!({"version": "16.4.0-pre"}), FileComments::Yes),
        (200, json!({"version": "9.5"}), FileComments::No),
        (403, json!({"message": "403 Forbidden"}), FileComments::Yes),
    ] {
        let server = Server::start(move |_| Reply::json(status, answer.clone())).await;
        let connection = connection(&server.url, LeapingClock::new());
        let gitlab = GitLab::new(connection, Arc::new(Ours::new("server", None))).unwrap();
        assert_eq!(gitlab.capabilities().await.unwrap().files, files);
    }
}

#[tokio::test]
async fn t5_git_reaches_the_instance_in_its_folder_without_a_credential_in_the_address() {
    let rig = rig(|_, _| Reply::json(404, "{}")).await;
    let access = rig.gitlab.git_access(&rig.issue.repo).await.unwrap();
    assert_eq!(access.url.as_str(), format!("{}/gitlab/g/sub/r.git", rig.server.url));
    assert_eq!(access.username, "oauth2");
    let connection = connection("https://gitlab.example/api/v4/", LeapingClock::new());
    let gitlab = GitLab::new(connection, Arc::new(Ours::new("server", None))).unwrap();
    let access = gitlab.git_access(&rig.issue.repo).await.unwrap();
    assert_eq!(access.url.as_str(), "https://gitlab.example/g/sub/r.git");
}
