//! What the forge did and never delivered (J9).

use testkit::World;
use testkit::forge::{FakeChange, Outage};
use testkit::world::{BOT, REPO};

/// The jobs of changes and assigned issues, one a line.
async fn jobs(world: &World) -> Vec<String> {
    let jobs = world.jobs().await;
    jobs.iter().map(|job| format!("{} {}", job.task.work.name(), job.task.subject)).collect()
}

/// A world whose repository is known from an earlier job.
async fn world() -> World {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "Bug", "details").await;
    world.comments("alice", issue, "@bot help").await;
    world.settle().await;
    world
}

#[tokio::test]
async fn j9_a_change_whose_delivery_was_lost_gets_its_job_once() {
    let world = world().await;
    let change = FakeChange::from_branch("mend");
    let opened = world.forge.opens_change("alice", REPO, "Mend it", "So.", change);
    assert_eq!(world.reconciles().await.taken, 1);
    world.settle().await;
    assert_eq!(jobs(&world).await, ["help acme/demo#1", "review acme/demo!2"]);
    assert_eq!(world.reconciles().await.taken, 0, "its head has a job");

    // The delivery comes after all: there is nothing more to do.
    world.deliver(&opened).await;
    world.settle().await;
    assert_eq!(world.reconciles().await.taken, 0);

    world.forge.pushes("alice", REPO, 2);
    assert_eq!(world.reconciles().await.taken, 1, "another head is another matter");
    world.settle().await;
    world.close().await;
}

#[tokio::test]
async fn j9_an_issue_that_was_assigned_to_us_unheard_gets_its_job_once() {
    let world = world().await;
    world.forge.opens_issue("alice", REPO, "Crash", "On start.");
    world.forge.assigns("alice", REPO, 2, BOT);
    assert_eq!(world.reconciles().await.taken, 1);
    assert_eq!(world.reconciles().await.taken, 0);
    world.settle().await;
    assert_eq!(jobs(&world).await, ["help acme/demo#1", "fix acme/demo#2"]);
    world.close().await;
}

#[tokio::test]
async fn j9_a_forge_that_is_away_is_asked_again_from_where_it_was() {
    let world = world().await;
    world.forge.opens_change("alice", REPO, "Mend it", "So.", FakeChange::from_branch("mend"));
    world.forge.faults().outage(Outage::Unavailable).await;
    assert_eq!(world.reconciles().await.failed, 1);
    world.forge.faults().outage(Outage::None).await;
    assert_eq!(world.reconciles().await.taken, 1);
    world.settle().await;
    world.close().await;
}

#[tokio::test]
async fn t9_a_repository_that_took_over_a_name_is_not_reconciled() {
    let world = world().await;
    world.forge.renames(REPO, "acme/moved");
    world.forge.repo(REPO);
    world.forge.opens_change("alice", REPO, "Not ours", "So.", FakeChange::from_branch("mend"));
    let round = world.reconciles().await;
    assert_eq!((round.taken, round.failed), (0, 1));
    world.close().await;
}
