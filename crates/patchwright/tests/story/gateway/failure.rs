//! What the gateway says when the fault is ours.

use testkit::World;
use testkit::world::Options;

use crate::story::call::{Answer, Call};

/// Runs a statement on the store's database, as an accident would.
fn meddle(file: &std::path::Path, statement: &str) {
    let database = rusqlite::Connection::open(file).unwrap();
    database.execute_batch(statement).unwrap();
}

#[tokio::test]
async fn a_failure_is_answered_with_an_id_and_no_internals_and_nothing_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("store.db");
    let place = Some(store::Place::Sqlite(file.clone()));
    let world = World::with(Options { place, ..Options::default() }).await;
    world.expect_error("a request failed");
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    let happened = world.forge.comments("alice", testkit::world::REPO, issue, "@bot help");
    let delivery = world.forge.delivery(&happened);

    meddle(
        &file,
        "CREATE TRIGGER broken BEFORE INSERT ON jobs BEGIN SELECT RAISE(ABORT, 'inside of the database'); END",
    );
    let failed = world.send(&delivery).await;
    let answer = Answer {
        status: failed.status.as_u16(),
        headers: failed.headers.clone(),
        body: String::from_utf8(failed.body.to_vec()).unwrap(),
    };
    assert_eq!(
        answer.to_string(),
        r#"500 {"status":"error","error":"something went wrong here; the log has it under this id","id":"ID"}"#
    );
    assert!(world.jobs().await.is_empty());
    assert_eq!(Call::get("/health").send(world.gateway()).await.status, 200);

    meddle(&file, "DROP TRIGGER broken");
    assert_eq!(world.send(&delivery).await.status, 202, "a redelivery is not taken for a repeat");
    world.settle().await;
    world.close().await;
}
