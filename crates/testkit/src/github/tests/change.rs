//! Changes, branches, files, statuses and runs.

use std::time::Duration;

use expect_test::expect;
use http::Method;
use serde_json::{Value, json};

use super::{NONE, REPO, Room};
use crate::forge::{FakeChange, FakeDiff, Maintainers, commit};

const PULLS: &str = "/repos/octo/widgets/pulls";

#[tokio::test]
async fn a_change_is_opened_from_a_branch_that_has_something_new() {
    let room = Room::new().await;
    let main = room.forge.branch(REPO, "main").head;
    let refs = "/repos/octo/widgets/git/refs";
    let branch = json!({"ref": "refs/heads/fix/one", "sha": main});
    assert_eq!(room.ask(Method::POST, refs, branch.clone()).await.0, 201);
    assert_eq!(
        room.ask(Method::POST, refs, branch).await.1["message"],
        json!("Reference already exists")
    );
    let unknown = json!({"ref": "refs/heads/fix/two", "sha": "c0ffee"});
    assert_eq!(
        room.ask(Method::POST, refs, unknown).await.1["message"],
        json!("Object does not exist")
    );

    let change = json!({"title": "Fix one", "head": "fix/one", "base": "main", "body": "Closes it.", "draft": true});
    let (status, refused) = room.ask(Method::POST, PULLS, change.clone()).await;
    assert_eq!(
        (status, &refused["errors"][0]["message"]),
        (422, &json!("No commits between main and fix/one"))
    );
    room.forge.moves_branch("ada", REPO, "fix/one", &commit("new"), Some(FakeDiff::small()));
    let (status, made) = room.ask(Method::POST, PULLS, change.clone()).await;
    assert_eq!((status, &made["number"], &made["draft"]), (201, &json!(3), &json!(true)));
    assert_eq!(room.ask(Method::POST, PULLS, change).await.0, 422);
    for (head, base) in [("nowhere", "main"), ("fix/one", "nowhere"), ("stranger:fix/one", "main")]
    {
        let change = json!({"title": "x", "head": head, "base": base});
        let (status, refused) = room.ask(Method::POST, PULLS, change).await;
        assert_eq!(
            (status, &refused["errors"][0]["code"]),
            (422, &json!("invalid")),
            "{head} {base}"
        );
    }
    let (_, found) =
        room.ask(Method::GET, &format!("{PULLS}?head=octo:fix/one&state=all"), NONE).await;
    assert_eq!((found.as_array().unwrap().len(), &found[0]["number"]), (1, &json!(3)));
    assert!(found[0].get("mergeable").is_none(), "a listing has less than the change itself");

    let ready = "mutation($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) { pullRequest { isDraft } } }";
    let body = json!({"query": ready, "variables": {"id": made["node_id"]}});
    let (_, answer) = room.ask(Method::POST, "/graphql", body).await;
    assert_eq!(
        answer["data"]["markPullRequestReadyForReview"],
        json!({"pullRequest": {"isDraft": false}})
    );
    let edit = json!({"body": "Closes #1.", "title": "Fix it"});
    let (status, edited) = room.ask(Method::PATCH, &format!("{PULLS}/3"), edit).await;
    assert_eq!((status, &edited["body"]), (200, &json!("Closes #1.")));
    let draft = "mutation($id: ID!) { convertPullRequestToDraft(input: {pullRequestId: $id}) { pullRequest { isDraft } } }";
    room.ask(
        Method::POST,
        "/graphql",
        json!({"query": draft, "variables": {"id": made["node_id"]}}),
    )
    .await;
    room.ask(Method::PATCH, &format!("{PULLS}/3"), json!({"state": "closed"})).await;
    let events: Vec<_> = room.forge.echoes().iter().map(|it| room.event(it)).collect();
    assert_eq!(
        events,
        [
            "push ",
            "pull_request opened",
            "pull_request ready_for_review",
            "pull_request edited",
            "pull_request converted_to_draft",
            "pull_request closed",
        ]
    );
    room.nothing_wrong();
    assert_eq!(
        room.ask(Method::PATCH, &format!("{PULLS}/3"), json!({"draft": false})).await.0,
        422
    );
    assert_eq!(room.ask(Method::GET, &format!("{PULLS}?head=fix/one"), NONE).await.0, 422);
    let why: Vec<_> = room.forge.violations().into_iter().map(|it| it.why).collect();
    assert_eq!(why[1..], ["the description has no field /draft", "head must be owner:branch"]);
}

#[tokio::test]
async fn listings_find_what_was_touched_since() {
    let room = Room::new().await;
    room.clock.advance(Duration::from_secs(60));
    room.forge.opens_issue("ada", REPO, "Another", "");
    room.forge.assigns("ada", REPO, 3, "patchwright[bot]");
    room.clock.advance(Duration::from_secs(60));
    room.forge.pushes("ada", REPO, 2);
    let numbers = async |path: &str| {
        let (_, list) = room.ask(Method::GET, &format!("/repos/octo/widgets/{path}"), NONE).await;
        list.as_array().unwrap().iter().map(|it| it["number"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(
        numbers("issues?since=2026-01-01T00:00:30Z&sort=updated&direction=asc").await,
        [3, 2]
    );
    assert_eq!(numbers("issues?assignee=patchwright%5Bbot%5D").await, [3]);
    assert_eq!(numbers("pulls?sort=updated&direction=desc").await, [2]);
    room.forge.closes("ada", REPO, 2);
    assert_eq!(numbers("pulls").await, Vec::<u64>::new());
    assert_eq!(numbers("issues?state=all&per_page=2&page=2").await, [1]);
    room.nothing_wrong();
}

#[tokio::test]
async fn a_change_from_a_fork_names_both_repositories_until_the_fork_is_gone() {
    let room = Room::new().await;
    room.forge.person("eve");
    let fork = room.forge.forks(REPO, "eve/widgets");
    let change = FakeChange::from_branch("theirs").from_fork(fork.id, Maintainers::MayEdit);
    room.forge.opens_change("eve", REPO, "From afar", "", change);
    let (_, read) = room.ask(Method::GET, &format!("{PULLS}/3"), NONE).await;
    assert_eq!(
        (&read["head"]["repo"]["full_name"], &read["head"]["label"]),
        (&json!("eve/widgets"), &json!("eve:theirs"))
    );
    assert_eq!(
        (&read["base"]["repo"]["full_name"], &read["maintainer_can_modify"]),
        (&json!(REPO), &json!(true))
    );
    let moved = room.forge.moves_branch("eve", "eve/widgets", "theirs", &commit("more"), None);
    assert_eq!(moved.len(), 2);
    assert_eq!(
        room.ask(Method::GET, &format!("{PULLS}/3"), NONE).await.1["head"]["sha"],
        json!(commit("more"))
    );
    room.nothing_wrong();
    room.forge.loses_fork(REPO, 3);
    assert_eq!(room.ask(Method::GET, &format!("{PULLS}/3"), NONE).await.1["head"]["repo"], NONE);
}

#[tokio::test]
async fn reviewers_are_collaborators_and_not_the_author() {
    let room = Room::new().await;
    room.forge.person("grace");
    room.forge.grants(REPO, "grace", forge::Permission::Write);
    let path = format!("{PULLS}/2/requested_reviewers");
    let ask =
        async |login: &str| room.ask(Method::POST, &path, json!({"reviewers": [login]})).await;
    let (status, change) = ask("grace").await;
    assert_eq!((status, &change["requested_reviewers"][0]["login"]), (201, &json!("grace")));
    assert_eq!([ask("ada").await.0, ask("nobody").await.0], [422, 422]);
    assert_eq!(room.ask(Method::GET, "/repos/octo/widgets/collaborators/grace", NONE).await.0, 204);
    assert_eq!(room.ask(Method::GET, "/repos/octo/widgets/collaborators/ada", NONE).await.0, 404);
    room.nothing_wrong();
}

#[tokio::test]
async fn files_are_written_over_what_was_read_and_never_to_a_protected_branch() {
    let room = Room::new().await;
    let path = "/repos/octo/widgets/contents/docs/a%20file.md";
    let file = |content: &str, sha: Option<&Value>| {
        let mut file = json!({"message": "Write", "content": content, "branch": "mend"});
        if let Some(sha) = sha {
            file["sha"] = sha.clone();
        }
        file
    };
    let (status, made) = room.ask(Method::PUT, path, file("b25l", None)).await;
    assert_eq!((status, &made["content"]["path"]), (201, &json!("docs/a file.md")));
    let blob = &made["content"]["sha"];
    assert_eq!(room.ask(Method::PUT, path, file("dHdv", None)).await.0, 422);
    assert_eq!(room.ask(Method::PUT, path, file("dHdv", Some(&json!("0")))).await.0, 409);
    assert_eq!(room.ask(Method::PUT, path, file("dHdv", Some(blob))).await.0, 200);
    let (_, read) = room.ask(Method::GET, &format!("{path}?ref=mend"), NONE).await;
    assert_eq!(read["content"], json!("dHdv"));
    assert_eq!(room.ask(Method::GET, path, NONE).await.0, 404);
    let (_, head) = room.ask(Method::GET, "/repos/octo/widgets/git/ref/heads/mend", NONE).await;
    let (_, change) = room.ask(Method::GET, &format!("{PULLS}/2"), NONE).await;
    assert_eq!(head["object"]["sha"], change["head"]["sha"]);
    room.forge.protects(REPO, "mend");
    let (_, branch) = room.ask(Method::GET, "/repos/octo/widgets/branches/mend", NONE).await;
    assert_eq!(branch["protected"], json!(true));
    assert_eq!(room.ask(Method::PUT, path, file("b25l", Some(&read["sha"]))).await.0, 409);
    let move_back = json!({"sha": room.forge.branch(REPO, "main").head, "force": true});
    assert_eq!(
        room.ask(Method::PATCH, "/repos/octo/widgets/git/refs/heads/mend", move_back).await.0,
        422
    );
    room.nothing_wrong();
}

#[tokio::test]
async fn a_branch_moves_forward_unless_forced_and_can_be_deleted() {
    let room = Room::new().await;
    let (before, own) = (room.head(), "/repos/octo/widgets/git/refs/heads/mend");
    room.forge.pushes("ada", REPO, 2);
    let back = |force: bool| json!({"sha": before, "force": force});
    let (status, refused) = room.ask(Method::PATCH, own, back(false)).await;
    assert_eq!((status, &refused["message"]), (422, &json!("Update is not a fast forward")));
    assert_eq!(room.ask(Method::PATCH, own, back(true)).await.0, 200);
    assert_eq!(room.head(), before);
    assert_eq!(room.ask(Method::DELETE, own, NONE).await.0, 204);
    assert_eq!(room.ask(Method::DELETE, own, NONE).await.0, 422);
    let main = "/repos/octo/widgets/git/refs/heads/main";
    assert_eq!(room.ask(Method::DELETE, main, NONE).await.0, 422);
    room.nothing_wrong();
}

#[tokio::test]
async fn statuses_are_said_of_commits_that_exist() {
    let room = Room::new().await;
    let path = format!("/repos/octo/widgets/statuses/{}", room.head());
    for (state, description) in [("pending", "Looking"), ("success", "Nothing found")] {
        let status = json!({"state": state, "description": description, "context": "patchwright"});
        assert_eq!(room.ask(Method::POST, &path, status).await.0, 201);
    }
    let unknown = json!({"state": "success"});
    let (status, refused) =
        room.ask(Method::POST, "/repos/octo/widgets/statuses/c0ffee", unknown).await;
    assert_eq!((status, &refused["message"]), (422, &json!("No commit found for SHA: c0ffee")));
    let (_, all) = room
        .ask(Method::GET, &format!("/repos/octo/widgets/commits/{}/statuses", room.head()), NONE)
        .await;
    assert_eq!((all.as_array().unwrap().len(), &all[0]["state"]), (2, &json!("success")));
    let (_, combined) = room
        .ask(Method::GET, &format!("/repos/octo/widgets/commits/{}/status", room.head()), NONE)
        .await;
    assert_eq!((&combined["state"], &combined["total_count"]), (&json!("success"), &json!(1)));
    assert!(
        room.forge.thread(REPO, 2).ends_with("\nstatus patchwright: success (Nothing found)\n")
    );
    let check = json!({"name": "patchwright", "head_sha": room.head()});
    let (status, refused) = room.ask(Method::POST, "/repos/octo/widgets/check-runs", check).await;
    assert_eq!(
        (status, &refused["message"]),
        (403, &json!("You must authenticate via a GitHub App."))
    );
    room.nothing_wrong();
}

#[tokio::test]
async fn runs_are_asked_for_with_their_inputs() {
    let room = Room::new().await;
    let path = "/repos/octo/widgets/actions/workflows/ci.yml/dispatches";
    let run = |branch: &str| json!({"ref": branch, "inputs": {"depth": "2"}});
    assert_eq!(room.ask(Method::POST, path, run("main")).await.0, 204);
    let (status, refused) = room.ask(Method::POST, path, run("nowhere")).await;
    assert_eq!((status, &refused["message"]), (422, &json!("No ref found for: nowhere")));
    let event = json!({"event_type": "patched", "client_payload": {"number": 2}});
    assert_eq!(room.ask(Method::POST, "/repos/octo/widgets/dispatches", event).await.0, 204);
    let path = "/repos/octo/widgets/actions/runs?event=workflow_dispatch&branch=main&per_page=100";
    let (_, listed) = room.ask(Method::GET, path, NONE).await;
    assert_eq!(
        (&listed["total_count"], &listed["workflow_runs"][0]["display_title"]),
        (&json!(1), &json!("ci.yml 2"))
    );
    let runs: String = room
        .forge
        .runs(REPO)
        .iter()
        .map(|run| format!("{} {} {:?}\n", run.workflow, run.branch, run.variables))
        .collect();
    expect![[r#"
        ci.yml main {"depth": "2"}
        patched main {"number": "2"}
    "#]]
    .assert_eq(&runs);
    room.nothing_wrong();
}

#[tokio::test]
async fn deliveries_tell_what_happens_to_a_change() {
    let room = Room::new().await;
    let forge = &room.forge;
    let mut told = vec![
        forge.marks_draft("ada", REPO, 2),
        forge.marks_ready("ada", REPO, 2),
        forge.rewrites("ada", REPO, 2, ("Mend it all", "More.")),
        forge.labels("ada", REPO, 2, "bug"),
        forge.requests_review("ada", REPO, 2, "patchwright[bot]"),
        forge.assigns("ada", REPO, 1, "patchwright[bot]"),
    ];
    let thread = forge.comments_on_line("ada", REPO, 2, ("src/lib.rs", 3), "why?").thread_id();
    told.push(forge.replies("ada", REPO, thread, "oh"));
    told.push(forge.resolves("ada", REPO, thread));
    told.push(forge.unresolves("ada", REPO, thread));
    told.extend(forge.moves_branch("ada", REPO, "mend", &commit("next"), None));
    told.push(forge.closes("ada", REPO, 2));
    told.push(forge.reopens("ada", REPO, 2));
    forge.grants(REPO, "ada", forge::Permission::Write);
    told.push(forge.merges("ada", REPO, 2));
    let events: Vec<String> = told.iter().map(|it| room.event(it)).collect();
    assert_eq!(
        events,
        [
            "pull_request converted_to_draft",
            "pull_request ready_for_review",
            "pull_request edited",
            "pull_request labeled",
            "pull_request review_requested",
            "issues assigned",
            "pull_request_review_comment created",
            "pull_request_review_thread resolved",
            "pull_request_review_thread unresolved",
            "push ",
            "pull_request synchronize",
            "pull_request closed",
            "pull_request reopened",
            "pull_request closed",
        ]
    );
    let payload = |it| serde_json::from_slice::<Value>(&room.forge.delivery(it).body).unwrap();
    assert_eq!(payload(&told[2])["changes"]["title"]["from"], json!("Mend it"));
    assert_eq!(payload(&told[4])["requested_reviewer"]["login"], json!("patchwright[bot]"));
    assert_eq!(payload(&told[5])["assignee"]["login"], json!("patchwright[bot]"));
    assert_eq!(payload(&told[9])["after"], json!(commit("next")));
    assert_eq!(payload(&told[13])["pull_request"]["merged"], json!(true));
}
