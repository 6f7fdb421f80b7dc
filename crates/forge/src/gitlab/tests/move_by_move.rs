//! Each effect as GitLab takes it, and as it refuses it.

use domain::anchor::{Line, LineKind, Spot};
use domain::publication::{
    Branch, Dispatch, FileWrite, Inline, NewChange, ReactionTarget, Reply as Answer, Settling,
    Sign, Status, Verdict,
};

use super::*;
use crate::port::Look;
use crate::write::moves::Moves;

fn json_of(seen: &Seen) -> Value {
    serde_json::from_str(&seen.body).unwrap_or(Value::Null)
}

fn versions() -> Reply {
    Reply::json(
        200,
        json!([
            {"id": 2, "head_commit_sha": "h", "base_commit_sha": "b", "start_commit_sha": "s"},
            {"id": 1, "head_commit_sha": "old", "base_commit_sha": "b0", "start_commit_sha": "s0"},
        ]),
    )
}

fn inline(commit: &str) -> Effect {
    let line = Line { kind: LineKind::Added, old: 4, new: 5 };
    let at = Spot {
        path: "a.rs".to_owned(),
        old_path: None,
        side: line.side(),
        start: None,
        line,
        commit: commit.to_owned(),
    };
    Effect::Inline(Inline { body: body("look"), at, suggestion: None, batch: None })
}

fn status(verdict: Verdict) -> Effect {
    Effect::Status(Status {
        commit: "h".to_owned(),
        context: "patchwright".to_owned(),
        verdict,
        title: "x".repeat(300),
        summary: String::new(),
        url: None,
        annotations: Vec::new(),
        closing: None,
    })
}

#[tokio::test]
async fn an_inline_comment_names_the_version_that_was_looked_at() {
    let rig = rig(|asked, seen| match asked {
        "GET /merge_requests/4/versions" => versions(),
        "POST /merge_requests/4/discussions" => {
            let text = json_of(seen)["body"].as_str().unwrap().to_owned();
            Reply::json(201, json!({"id": "d9", "notes": [on_code(9, &text)]}))
        }
        other => panic!("{other}"),
    })
    .await;
    let receipt = rig.send(&rig.change, inline("old")).await.unwrap();
    assert!(
        matches!(&receipt, Receipt::Comment { id: 9, thread: Some(thread), moved: None, .. } if thread == "d9"),
        "{receipt:?}"
    );
    let sent = json_of(rig.server.seen().last().unwrap());
    assert_eq!(
        sent["position"],
        json!({"position_type": "text", "base_sha": "b0", "start_sha": "s0", "head_sha": "old",
               "old_path": "a.rs", "new_path": "a.rs", "new_line": 5})
    );
}

#[tokio::test]
async fn e3_a_line_that_is_refused_finds_its_next_best_place() {
    let rig = rig(|asked, seen| match asked {
        "GET /merge_requests/4/versions" => versions(),
        "POST /merge_requests/4/discussions" => Reply::json(
            400,
            json!({"message": "400 Bad request - Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"]}"}),
        ),
        "POST /merge_requests/4/notes" => {
            Reply::json(201, note(9, json_of(seen)["body"].as_str().unwrap()))
        }
        other => panic!("{other}"),
    })
    .await;
    let receipt = rig.send(&rig.change, inline("h")).await.unwrap();
    assert!(
        matches!(&receipt, Receipt::Comment { thread: None, moved: Some(_), .. }),
        "{receipt:?}"
    );
    let tried: Vec<_> = rig
        .server
        .seen()
        .iter()
        .filter(|seen| seen.method == "POST")
        .map(|seen| json_of(seen)["position"]["position_type"].clone())
        .collect();
    assert_eq!(tried, [json!("text"), json!("file"), Value::Null]);
}

#[tokio::test]
async fn a_head_that_the_change_never_had_carries_no_inline_comment() {
    let rig = rig(|asked, _| match asked {
        "GET /merge_requests/4/versions" => versions(),
        "POST /merge_requests/4/notes" => Reply::json(201, note(9, "")),
        other => panic!("{other}"),
    })
    .await;
    let receipt = rig.send(&rig.change, inline("unknown")).await.unwrap();
    assert!(matches!(receipt, Receipt::Comment { thread: None, moved: Some(_), .. }));
}

#[tokio::test]
async fn a_change_whose_difference_is_not_computed_is_asked_again_later() {
    let rig = rig(|_, _| Reply::json(200, "[]")).await;
    let error = rig.send(&rig.change, inline("h")).await.unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
}

#[tokio::test]
async fn replies_and_resolutions_go_to_the_discussion() {
    let rig = rig(|asked, _| match asked {
        "POST /merge_requests/4/discussions/d1/notes" => Reply::json(201, on_code(9, "")),
        "PUT /merge_requests/4/discussions/d1" => {
            Reply::json(200, json!({"id": "d1", "notes": []}))
        }
        other => panic!("{other}"),
    })
    .await;
    let answer = Answer { body: body("yes"), thread: "d1".to_owned() };
    let receipt = rig.send(&rig.change, Effect::Reply(answer)).await.unwrap();
    assert!(matches!(&receipt, Receipt::Comment { thread: Some(thread), .. } if thread == "d1"));
    for settling in [Settling::Resolve, Settling::Unresolve] {
        let settle = Effect::Settle { thread: "d1".to_owned(), settling };
        assert_eq!(rig.send(&rig.change, settle).await.unwrap(), Receipt::Done);
    }
    let sent: Vec<_> = rig.server.seen().iter().map(|seen| seen.body.clone()).collect();
    assert_eq!(sent[2..], [r#"{"resolved":true}"#, r#"{"resolved":false}"#]);
}

#[tokio::test]
async fn an_edit_goes_to_the_note_where_it_stands() {
    let rig = rig(|asked, seen| match asked {
        "POST /issues/3/notes" => {
            Reply::json(201, note(5, json_of(seen)["body"].as_str().unwrap()))
        }
        "PUT /issues/3/notes/5" => {
            Reply::json(200, note(5, json_of(seen)["body"].as_str().unwrap()))
        }
        "GET /issues/3/notes/5" => Reply::json(404, json!({"message": "404 Not found"})),
        other => panic!("{other}"),
    })
    .await;
    let first = rig.says(&rig.issue, "one").await.unwrap();
    let again = Publication {
        subject: rig.issue.clone(),
        slot: Slot::status(),
        effect: Effect::Comment(body("two")),
    };
    rig.gitlab.send(&again, Some(&first)).await.unwrap();
    assert_eq!(
        rig.asked(),
        ["POST /issues/3/notes", "GET /issues/3/notes/5", "POST /issues/3/notes"],
        "what is gone is said anew"
    );
    rig.gitlab
        .edit(&rig.issue, (Home::Conversation, 5), "three", rig.gitlab.client.now())
        .await
        .unwrap();
    assert_eq!(rig.asked().last().unwrap(), "PUT /issues/3/notes/5");
}

#[tokio::test]
async fn reactions_go_to_what_triggered_us() {
    let rig = rig(|_, _| Reply::json(201, json!({"id": 1, "name": "eyes"}))).await;
    let inline = Place::Thread { thread: Some("d1".to_owned()), reply: None, path: None };
    for (subject, on, sign) in [
        (&rig.issue, ReactionTarget::Subject, Sign::Eyes),
        (&rig.change, ReactionTarget::Subject, Sign::ThumbsUp),
        (&rig.issue, ReactionTarget::Comment { id: 5, place: Place::Conversation }, Sign::Confused),
        (&rig.change, ReactionTarget::Comment { id: 6, place: inline }, Sign::Eyes),
    ] {
        assert_eq!(rig.send(subject, Effect::Reaction { on, sign }).await.unwrap(), Receipt::Done);
    }
    assert_eq!(
        rig.asked(),
        [
            "POST /issues/3/award_emoji",
            "POST /merge_requests/4/award_emoji",
            "POST /issues/3/notes/5/award_emoji",
            "POST /merge_requests/4/notes/6/award_emoji"
        ]
    );
    let sent: Vec<_> = rig.server.seen().iter().map(|seen| seen.body.clone()).collect();
    assert_eq!(sent[1], r#"{"name":"thumbsup"}"#);
}

#[tokio::test]
async fn a_reaction_that_stands_already_is_done_whatever_status_says_so() {
    for status in [400, 404, 409, 422] {
        for (account, is_done) in [(41, true), (5, false)] {
            let rig = rig(move |asked, _| match asked {
                "POST /issues/3/award_emoji" => Reply::json(
                    status,
                    json!({"message": "404 Award Emoji Name has already been taken Not Found"}),
                ),
                _ => Reply::json(
                    200,
                    json!([{"id": 1, "name": "eyes", "user": {"id": account, "username": "x"}}]),
                ),
            })
            .await;
            let effect = Effect::Reaction { on: ReactionTarget::Subject, sign: Sign::Eyes };
            let sent = rig.send(&rig.issue, effect).await;
            assert_eq!(sent.is_ok(), is_done, "{status}: {sent:?}");
        }
    }
}

#[tokio::test]
async fn a_change_is_opened_as_a_draft_by_its_title() {
    let rig = rig(|asked, _| match asked {
        "GET /merge_requests" => Reply::json(200, "[]"),
        "POST /merge_requests" => Reply::json(201, merge_request(&json!({"sha": null}))),
        "GET /merge_requests/4" => Reply::json(200, merge_request(&json!({}))),
        other => panic!("{other}"),
    })
    .await;
    let change = NewChange {
        title: "fix it".to_owned(),
        body: body("why"),
        head_branch: "fix".to_owned(),
        base_branch: "main".to_owned(),
    };
    let receipt = rig.send(&rig.issue, Effect::Change(change)).await.unwrap();
    assert!(matches!(&receipt, Receipt::Change { number: 4, head: Some(head), .. } if head == "h"));
    assert_eq!(
        json_of(&rig.server.seen()[1]),
        json!({"source_branch": "fix", "target_branch": "main", "title": "Draft: fix it",
               "description": "why"})
    );
}

#[tokio::test]
async fn a_draft_becomes_ready_by_its_title() {
    for (title, draft, expected) in [
        ("Draft: fix it", true, Some("fix it")),
        ("[DRAFT] fix it", true, Some("fix it")),
        ("fix it", false, None),
    ] {
        let change = merge_request(&json!({"title": title, "draft": draft}));
        let rig = rig(move |_, _| Reply::json(200, change.clone())).await;
        assert_eq!(rig.send(&rig.change, Effect::Ready).await.unwrap(), Receipt::Done);
        let sent: Vec<_> =
            rig.server.seen().into_iter().filter(|seen| seen.method == "PUT").collect();
        let titles: Vec<_> = sent.iter().map(|seen| json_of(seen)["title"].clone()).collect();
        assert_eq!(titles, expected.into_iter().map(Value::from).collect::<Vec<_>>());
    }
    let odd = merge_request(&json!({"title": "fix it", "draft": true}));
    let rig = rig(move |_, _| Reply::json(200, odd.clone())).await;
    let refused = rig.send(&rig.change, Effect::Ready).await;
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_neutral_status_is_skipped_or_canceled_and_never_green() {
    let rig = rig(|_, seen| match json_of(seen)["state"].as_str() {
        Some("skipped") => Reply::json(400, json!({"error": "state does not have a valid value"})),
        _ => Reply::json(201, "{}"),
    })
    .await;
    assert_eq!(rig.send(&rig.change, status(Verdict::Neutral)).await.unwrap(), Receipt::Done);
    let states: Vec<_> =
        rig.server.seen().iter().map(|seen| json_of(seen)["state"].clone()).collect();
    assert_eq!(states, ["skipped", "canceled"]);
    let sent = json_of(&rig.server.seen()[0]);
    assert_eq!(sent["name"], "patchwright");
    assert!(sent["description"].as_str().unwrap().chars().count() <= 255);
}

#[tokio::test]
async fn a_state_that_stands_already_is_no_failure() {
    let why = "Cannot transition status via :enqueue from :pending (Reason(s): Status cannot \
               transition via \"enqueue\")";
    let rig = rig(move |_, _| Reply::json(400, json!({"message": why}))).await;
    assert_eq!(rig.send(&rig.change, status(Verdict::Pending)).await.unwrap(), Receipt::Done);
    let failed = rig.send(&rig.change, status(Verdict::Failure)).await;
    assert!(matches!(failed, Err(Error::Refused { .. })), "a verdict must stand: {failed:?}");
}

#[tokio::test]
async fn the_commit_of_a_fork_gets_its_status_on_the_branch_of_its_change() {
    let rig = rig(|asked, seen| match asked {
        "POST /statuses/h" if json_of(seen)["ref"] == "fix" => Reply::json(201, "{}"),
        "POST /statuses/h" => {
            Reply::json(404, json!({"message": "404 References for commit Not Found"}))
        }
        "GET /repository/commits/h/merge_requests" => Reply::json(
            200,
            json!([
                merge_request(&json!({"iid": 1, "state": "closed", "source_branch": "x"})),
                merge_request(&json!({"source_project_id": 8}))
            ]),
        ),
        other => panic!("{other}"),
    })
    .await;
    assert_eq!(rig.send(&rig.change, status(Verdict::Success)).await.unwrap(), Receipt::Done);
    assert_eq!(rig.asked().len(), 3);
}

#[tokio::test]
async fn a_status_for_a_commit_of_nobody_is_gone_after_one_look() {
    let rig = rig(|asked, _| match asked {
        "POST /statuses/h" => Reply::json(404, "{}"),
        _ => Reply::json(200, "[]"),
    })
    .await;
    let sent = rig.send(&rig.change, status(Verdict::Success)).await;
    assert!(matches!(sent, Err(Error::Gone { .. })), "{sent:?}");
    assert_eq!(rig.asked().len(), 2);
}

#[tokio::test]
async fn a_branch_with_slashes_is_one_segment() {
    let rig = rig(|asked, _| match asked {
        "POST /repository/branches" => {
            Reply::json(400, json!({"message": "Branch already exists"}))
        }
        "GET /repository/branches/fix%2Fa%20b" => {
            Reply::json(200, json!({"name": "fix/a b", "commit": {"id": "c1"}, "protected": false}))
        }
        _ => Reply::json(404, "{}"),
    })
    .await;
    let branch =
        |at: &str| Effect::Branch(Branch { name: "fix/a b".to_owned(), at: at.to_owned() });
    let receipt = rig.send(&rig.change, branch("c1")).await.unwrap();
    assert_eq!(receipt, Receipt::Commit { id: "c1".to_owned() });
    let receipt = rig.send(&rig.change, branch("c2")).await.unwrap();
    assert!(matches!(receipt, Receipt::Refused { .. }), "{receipt:?}");
    assert!(rig.gitlab.branch(&rig.change.repo, "none").await.unwrap().is_none());
}

#[tokio::test]
async fn a_file_is_replaced_only_where_nobody_changed_it() {
    let rig = rig(|asked, seen| match asked {
        "GET /repository/files/docs%2Fa.md" => Reply::json(
            200,
            json!({"content": "b25l", "encoding": "base64", "blob_id": "b1", "last_commit_id": "c1"}),
        ),
        "PUT /repository/files/docs%2Fa.md" => {
            assert_eq!(json_of(seen)["last_commit_id"], "c1");
            Reply::json(200, "{}")
        }
        "POST /repository/files/docs%2Fa.md" => {
            Reply::json(400, json!({"message": "A file with this name already exists"}))
        }
        other => panic!("{other}"),
    })
    .await;
    let file = |content: &str, replaces: Option<&str>| {
        Effect::File(FileWrite {
            branch: "fix".to_owned(),
            path: "docs/a.md".to_owned(),
            content: content.to_owned(),
            message: "say two".to_owned(),
            replaces: replaces.map(str::to_owned),
        })
    };
    assert_eq!(rig.send(&rig.change, file("two", Some("b1"))).await.unwrap(), Receipt::Done);
    let other = rig.send(&rig.change, file("two", Some("b0"))).await;
    assert!(matches!(other, Err(Error::Conflict { .. })), "{other:?}");
    assert_eq!(rig.send(&rig.change, file("one", None)).await.unwrap(), Receipt::Done, "it stands");
    let new = rig.send(&rig.change, file("two", None)).await;
    assert!(matches!(new, Err(Error::Refused { .. })), "{new:?}");
}

#[tokio::test]
async fn a_run_of_unknown_fate_is_found_by_its_variables() {
    let rig = rig(|asked, _| match asked {
        "POST /pipeline" => Reply::json(201, json!({"id": 30})),
        "GET /pipelines" => Reply::json(200, json!([{"id": 30}, {"id": 29}])),
        "GET /pipelines/30/variables" => {
            Reply::json(200, json!([{"key": "RUN", "value": "other"}]))
        }
        "GET /pipelines/29/variables" => Reply::json(200, json!([{"key": "RUN", "value": "r-1"}])),
        other => panic!("{other}"),
    })
    .await;
    let dispatch = |run: &str| {
        Effect::Dispatch(Dispatch {
            workflow: None,
            on_branch: "main".to_owned(),
            variables: vec![("RUN".to_owned(), run.to_owned())],
            identity: "RUN".to_owned(),
        })
    };
    rig.send(&rig.change, dispatch("r-1")).await.unwrap();
    assert_eq!(
        rig.server.seen()[0].body,
        r#"{"ref":"main","variables":[{"key":"RUN","value":"r-1"}]}"#
    );
    let find = async |run: &str| {
        let (subject, slot) = (rig.change.clone(), Slot::status());
        rig.gitlab.find(&Publication { subject, slot, effect: dispatch(run) }).await
    };
    assert!(matches!(find("r-1").await, Look::Found { .. }));
    assert!(matches!(find("r-2").await, Look::Absent));
}

#[tokio::test]
async fn runs_whose_variables_we_may_not_read_are_unknown() {
    let rig = rig(|asked, _| match asked {
        "GET /pipelines" => Reply::json(200, json!([{"id": 30}])),
        _ => Reply::json(403, json!({"message": "403 Forbidden"})),
    })
    .await;
    let effect = Effect::Dispatch(Dispatch {
        workflow: None,
        on_branch: "main".to_owned(),
        variables: vec![("RUN".to_owned(), "r-1".to_owned())],
        identity: "RUN".to_owned(),
    });
    let (subject, slot) = (rig.change.clone(), Slot::status());
    let look = rig.gitlab.find(&Publication { subject, slot, effect }).await;
    assert!(matches!(look, Look::Unknown { .. }), "{look:?}");
}

#[tokio::test]
async fn refusals_are_told_apart() {
    for (status, answer, check) in [
        (
            400,
            json!({"message": {"note": ["is too long (maximum is 1000000 characters)"]}}),
            "TooLong",
        ),
        (
            429,
            json!({"message": {"error": "This endpoint has been requested too many times."}}),
            "Limited",
        ),
        (403, json!({"error": "insufficient_scope"}), "Forbidden"),
        (401, json!({"message": "401 Unauthorized"}), "Unauthenticated"),
        (500, json!({"message": "500 Internal Server Error"}), "Lost"),
    ] {
        let rig = rig(move |_, _| Reply::json(status, answer.clone())).await;
        let error = rig.says(&rig.issue, "text").await.unwrap_err();
        assert!(format!("{error:?}").starts_with(check), "{error:?}");
    }
}
