//! Whole journeys that start from unusual places: payloads without ids, days that are used up, a
//! database from the future.

use domain::budget::Budget;
use expect_test::expect;
use testkit::World;
use testkit::forge::Often;
use testkit::github::SignedDelivery;
use testkit::world::{Options, REPO};

#[tokio::test]
async fn t9_a_payload_without_ids_is_answered_once_its_repository_is_known() {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "Bug", "details").await;
    // The example of the earlier system, as it stands: no repository id, no comment id.
    let payload = serde_json::json!({
        "action": "created",
        "issue": {"number": issue, "title": "Bug", "body": "details"},
        "comment": {"body": "@bot help", "user": {"login": "alice"}},
        "repository": {"owner": {"login": "acme"}, "name": "demo", "default_branch": "main"},
        "sender": {"login": "alice"}
    });
    let delivery = SignedDelivery::sign("issue_comment", &payload, world.forge.secret(), "8e3c", 1);
    assert_eq!(world.send(&delivery).await.status, 202);
    world.settle().await;
    let job = world.jobs().await.remove(0);
    assert!(matches!(job.task.subject.repo.key, domain::RepoKey::Id(_)), "{:?}", job.task.subject);
    assert_eq!(world.thread(issue).matches("--- bot").count(), 1, "{}", world.thread(issue));
    world.close().await;
}

#[tokio::test]
async fn t9_a_renamed_repository_is_still_the_same() {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "Bug", "details").await;
    let question = world.forge.comments("alice", REPO, issue, "@bot help");
    let delivery = world.forge.delivery(&question);
    world.forge.renames(REPO, "acme/renamed");
    world.send(&delivery).await;
    world.settle().await;
    let thread = world.forge.thread("acme/renamed", issue);
    assert_eq!(thread.matches("--- bot").count(), 1, "{thread}");
    world.close().await;
}

#[tokio::test]
async fn j5_the_day_of_somebody_who_may_not_write_has_an_end_that_is_told_once() {
    let mut options = Options::default();
    options.tempo.budget = Budget { repository: 0, stranger: 2 };
    let world = World::with(options).await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    for actor in ["mallory", "alice"] {
        for _ in 0..4 {
            world.comments(actor, issue, "@bot status").await;
        }
    }
    world.settle().await;
    expect![[r#"
        status acme/demo#1 done
        status acme/demo#1 done
        status acme/demo#1 skipped: the budget of the day is used up
        status acme/demo#1 skipped: the budget of the day is used up
        status acme/demo#1 done
        status acme/demo#1 done
        status acme/demo#1 done
        status acme/demo#1 done
    "#]]
    .assert_eq(&world.describe().await);
    let thread = world.thread(issue);
    assert_eq!(thread.matches("kind=budget").count(), 1, "{thread}");
    assert_eq!(thread.matches("kind=status").count(), 6, "{thread}");
    world.clock.advance(std::time::Duration::from_hours(24));
    world.comments("mallory", issue, "@bot status").await;
    world.settle().await;
    assert_eq!(world.thread(issue).matches("kind=status").count(), 7, "a new day");
    world.close().await;
}

#[tokio::test]
async fn j8_workers_that_meet_a_newer_schema_stop_and_say_so() {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    world.expect_error("no more jobs are claimed");
    world.expect_error("nothing more is sent");
    let newer = store::schema::KNOWN + 1;
    let future = world.store.write(move |db| {
        let sql = "INSERT INTO migrations (version, name, at) VALUES ($1, 'from the future', 0)";
        db.execute(sql, &[store::db::Value::from(newer)])
    });
    future.await.unwrap();
    let answer = world.comments("alice", issue, "@bot help").await;
    assert_eq!(answer.status, 202, "deliveries are still taken");
    world.until_error("no more jobs are claimed").await;
    assert_eq!(world.count(domain::job::State::Queued).await, 1);
    world.abandon();
}

#[tokio::test]
async fn j8_a_checkpoint_of_a_newer_version_is_left_to_that_version() {
    let mut world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    world.stop_workers().await;
    world.comments("alice", issue, "@bot help").await;
    let newer = world.store.write(|db| {
        let body = r#"{"stage":"answer","version":99,"value":{}}"#;
        let sql = "INSERT INTO checkpoints (job_id, n, body, at) SELECT id, 1, $1, 0 FROM jobs";
        db.execute(sql, &[store::db::Value::from(body)])
    });
    newer.await.unwrap();
    world.expect_error("no more jobs are claimed");
    world.start_workers().await;
    world.until_error("no more jobs are claimed").await;
    world.stop_workers().await;
    let job = world.jobs().await.remove(0);
    assert_eq!((job.state.as_str(), job.attempt), ("queued", 0), "it is as it was");
    world.abandon();
}

#[tokio::test]
async fn h5_no_transaction_is_open_while_a_stage_waits_for_the_forge() {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    world.forge.faults().add(
        testkit::forge::Fault::HoldBefore,
        testkit::forge::On::All,
        Often::Always,
    );
    world.comments("alice", issue, "@bot help").await;
    world.forge.faults().until_held(1).await;
    // Were one open, the single writer of SQLite could not take this.
    assert_eq!(world.comments("alice", issue, "@bot status").await.status, 202);
    world.forge.faults().clear_rules();
    world.forge.faults().release();
    world.settle().await;
    assert_eq!(world.count(domain::job::State::Done).await, 2);
    world.close().await;
}

#[tokio::test]
async fn an_issue_assigned_to_the_bot_gets_an_honest_word() {
    let world = World::start().await;
    let opened = world.forge.opens_issue("alice", REPO, "It crashes", "On start.");
    let issue = opened.number();
    let payload = serde_json::json!({
        "action": "assigned",
        "assignee": {"login": "bot", "id": 1},
        "issue": {"number": issue, "title": "It crashes", "body": "On start.", "user": {"login": "alice", "id": 7},
            "updated_at": "2026-01-01T00:00:01Z"},
        "repository": {"id": opened.repo.id, "full_name": REPO,
            "owner": {"login": "acme"}, "name": "demo", "default_branch": "main"},
        "sender": {"login": "alice", "id": 7}
    });
    let delivery = SignedDelivery::sign("issues", &payload, world.forge.secret(), "a-1", 1);
    assert_eq!(world.send(&delivery).await.status, 202);
    world.settle().await;
    assert!(world.thread(issue).contains("I cannot do `fix` yet"), "{}", world.thread(issue));
    world.close().await;
}
