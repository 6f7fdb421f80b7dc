//! `@bot help` and `@bot status` are acknowledged and answered, once.

use expect_test::expect;
use testkit::World;

#[tokio::test]
async fn help_is_acknowledged_and_answered_in_the_thread() {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    let answer = world.comments("alice", issue, "@bot help").await;
    assert_eq!(answer.status, 202);
    world.settle().await;
    expect![[""]].assert_eq(&world.thread(issue));
    world.close().await;
}
