//! Exactly once, as far as a forge allows: faults of the forge, several deployments, order.

use std::sync::Arc;
use std::time::Duration;

use expect_test::expect;
use testkit::forge::{Fault, Lag, Limit, Often, On, Outage};
use testkit::world::{Options, REPO};
use testkit::{HandClock, World};

/// A world on each database that is at hand.
async fn worlds() -> Vec<World> {
    let mut worlds = vec![World::start().await];
    if let Some(place) = testkit::world::postgres() {
        worlds.push(World::with(Options { place: Some(place), ..Options::default() }).await);
    }
    worlds
}

/// The comments of the bot on a subject.
fn answers(world: &World, number: u64) -> Vec<String> {
    let said = world.forge.conversation(REPO, number);
    said.into_iter()
        .filter(|comment| comment.author.login == "bot")
        .map(|comment| comment.body)
        .collect()
}

#[tokio::test]
async fn e1_a_marker_that_somebody_else_wrote_is_not_taken_for_ours() {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    world.comments("alice", issue, "@bot help").await;
    world.settle().await;
    let ours = answers(&world, issue).remove(0);
    // Somebody copies our comment, marker and all, for a question that is asked later.
    let question = world.forge.comments("alice", REPO, issue, "@bot help");
    let copied = ours.replace("reply:c1700001", &format!("reply:c{}", question.comment_id()));
    world.forge.comments("mallory", REPO, issue, &copied);
    world.forge.faults().lose_answers(Often::Next(1));
    world.deliver(&question).await;
    world.settle().await;
    assert_eq!(answers(&world, issue).len(), 2, "{}", world.thread(issue));
    world.close().await;
}

#[tokio::test]
async fn e2_an_answer_lost_after_the_write_is_found_and_not_repeated() {
    for lag in [Lag::None, Lag::Milliseconds(20_000)] {
        let world = World::start().await;
        world.forge.lags(lag);
        world.forge.faults().lose_answers(Often::Next(2));
        let issue = world.opens_issue("alice", "It crashes", "On start.").await;
        world.comments("alice", issue, "@bot help").await;
        world.settle().await;
        assert_eq!(answers(&world, issue).len(), 1, "{lag:?}: {}", world.thread(issue));
        world.close().await;
    }
}

#[tokio::test]
async fn e2_a_request_that_never_arrived_is_repeated_after_the_looks() {
    let world = World::start().await;
    world.forge.faults().cut_writes(Often::Next(2));
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    world.comments("alice", issue, "@bot help").await;
    world.settle().await;
    assert_eq!(answers(&world, issue).len(), 1, "{}", world.thread(issue));
    world.close().await;
}

#[tokio::test]
async fn e4_answers_on_a_subject_come_in_the_order_of_the_questions() {
    for world in worlds().await {
        world.forge.faults().seed(7);
        world.forge.faults().lose_answers(Often::InThousand(300));
        world.forge.faults().break_answers(Often::InThousand(100));
        let issue = world.opens_issue("alice", "It crashes", "On start.").await;
        let mut asked = Vec::new();
        for _ in 0..12 {
            let question = world.forge.comments("alice", REPO, issue, "@bot help");
            asked.push(format!("reply:c{}", question.comment_id()));
            world.deliver(&question).await;
        }
        world.settle().await;
        let answered: Vec<String> = answers(&world, issue)
            .iter()
            .filter_map(|body| {
                body.split_whitespace()
                    .find_map(|word| word.strip_prefix("slot="))
                    .map(str::to_owned)
            })
            .collect();
        assert_eq!(answered, asked);
        world.close().await;
    }
}

#[tokio::test]
async fn e5_an_orderly_shutdown_leaves_nothing_half_done() {
    let mut world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    world.comments("alice", issue, "@bot help").await;
    world.stop_workers().await;
    world.comments("alice", issue, "@bot help").await;
    world.start_workers().await;
    world.settle().await;
    assert_eq!(answers(&world, issue).len(), 2, "{}", world.thread(issue));
    world.close().await;
}

/// A sender that stands still while it settles its claim wakes up without a lease: it must not speak
/// for the lane any more, and whoever has the lane finds what was sent.
#[tokio::test]
async fn e5_a_sender_without_its_lease_speaks_no_more() {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    world.forge.faults().add(Fault::HoldAfter, On::NewComments, Often::Next(1));
    world.comments("alice", issue, "@bot help").await;
    world.forge.faults().until_held(1).await;
    // No heartbeat comes while it stands still.
    world.clock.advance(Duration::from_secs(31));
    world.forge.faults().release();
    world.settle().await;
    assert_eq!(answers(&world, issue).len(), 1, "{}", world.thread(issue));
    let created = world
        .forge
        .requests()
        .iter()
        .filter(|r| r.method == "POST" && r.path.ends_with("/comments"))
        .count();
    assert_eq!(created, 1, "what was sent is found, not sent again");
    world.close().await;
}

#[tokio::test]
async fn e7_two_deployments_on_one_issue_converge_to_one_answer() {
    let first = World::start().await;
    let second =
        World::beside(Arc::clone(&first.forge), Arc::clone(&first.clock), Options::default()).await;
    for lag in [Lag::None, Lag::Milliseconds(2_000)] {
        first.forge.lags(lag);
        let issue = first.opens_issue("alice", "It crashes", "On start.").await;
        let question = first.forge.comments("alice", REPO, issue, "@bot help");
        let delivery = first.forge.delivery(&question);
        tokio::join!(first.send(&delivery), second.send(&delivery));
        tokio::join!(first.settle(), second.settle());
        assert_eq!(answers(&first, issue).len(), 1, "{lag:?}: {}", first.thread(issue));
    }
    second.close().await;
    first.close().await;
}

#[tokio::test]
async fn j4_a_redelivery_gives_the_first_answer_and_no_second_job() {
    for world in worlds().await {
        let issue = world.opens_issue("alice", "It crashes", "On start.").await;
        let question = world.forge.comments("alice", REPO, issue, "@bot help");
        let delivery = world.forge.delivery(&question);
        let first = world.send(&delivery).await;
        world.settle().await;
        let again = world.send(&delivery).await;
        let replayed = world.deliver(&question).await;
        assert_eq!(first.json()["job_id"], again.json()["job_id"]);
        assert_eq!(
            first.json()["job_id"],
            replayed.json()["job_id"],
            "the same meaning under another delivery id"
        );
        assert_eq!((again.status.as_u16(), world.jobs().await.len()), (202, 1));
        assert_eq!(answers(&world, issue).len(), 1);
        world.close().await;
    }
}

#[tokio::test]
async fn j6_limits_are_waited_out_and_use_no_attempt() {
    for limit in [Limit::Primary, Limit::Secondary, Limit::TooMany, Limit::SecondaryWithoutHint] {
        let world = World::start().await;
        let issue = world.opens_issue("alice", "It crashes", "On start.").await;
        let until = domain::Clock::now(&*world.clock) + Duration::from_mins(10);
        world.forge.faults().limit(limit, until);
        world.comments("alice", issue, "@bot help").await;
        world.settle().await;
        assert_eq!(answers(&world, issue).len(), 1, "{limit:?}");
        let job = world.jobs().await.remove(0);
        assert_eq!((job.state.as_str(), job.attempt), ("done", 1), "{limit:?}");
        world.close().await;
    }
}

#[tokio::test]
async fn j6_an_hour_without_the_forge_loses_nothing_and_is_fair_afterwards() {
    let mut options = Options::default();
    // The budgets of a day are another story.
    options.tempo.budget = domain::budget::Budget { repository: 0, stranger: 0 };
    let world = World::with(options).await;
    world.forge.repo("acme/small");
    world.forge.grants("acme/small", "bot", forge::Permission::Write);
    world.forge.faults().outage(Outage::Refusing).await;
    let mut deliveries = Vec::new();
    for n in 0..5_000 {
        let issue = world.forge.opens_issue("alice", REPO, &format!("Issue {n}"), "@bot help");
        deliveries.push(world.forge.delivery(&issue));
    }
    for n in 0..10 {
        let issue =
            world.forge.opens_issue("alice", "acme/small", &format!("Issue {n}"), "@bot help");
        deliveries.push(world.forge.delivery(&issue));
    }
    for chunk in deliveries.chunks(64) {
        let answers =
            futures_util::future::join_all(chunk.iter().map(|delivery| world.send(delivery))).await;
        assert!(answers.iter().all(|answer| answer.status == 202));
    }
    let outage = Duration::from_hours(1);
    let began = domain::Clock::now(&*world.clock);
    while domain::Clock::now(&*world.clock).since(began) < outage {
        pass_time(&world).await;
    }
    world.forge.faults().outage(Outage::None).await;
    world.settle().await;

    let jobs = world.jobs().await;
    assert_eq!(jobs.iter().filter(|job| job.state.as_str() == "done").count(), 5_010);
    assert!(jobs.iter().all(|job| job.attempt == 1), "an outage uses no attempt");
    let order = world.forge.requests();
    let created: Vec<&str> = order
        .iter()
        .filter(|request| request.method == "POST" && request.path.ends_with("/comments"))
        .map(|request| if request.path.contains("acme/small") { "small" } else { "large" })
        .collect();
    assert_eq!(created.len(), 5_010, "one comment each, none doubled");
    let last_small = created.iter().rposition(|repo| *repo == "small").unwrap();
    let large_before = created[..last_small].iter().filter(|repo| **repo == "large").count();
    assert!(large_before < 50, "{large_before} of the 5,000 were served before the last of the 10");
    world.close().await;
}

/// Lets the world do what it can, and moves the clock on.
async fn pass_time(world: &World) {
    use store::sweep::Rest;
    let mut quiet = 0;
    for _ in 0..3_000 {
        match world.store.rest().await.unwrap() {
            Rest::Until(at) => {
                let clock: &HandClock = &world.clock;
                clock.advance(at.since(domain::Clock::now(clock)));
                return;
            }
            Rest::Settled => return,
            Rest::Busy => {
                let mut changes = world.store.changes();
                let changed =
                    tokio::time::timeout(Duration::from_millis(20), changes.changed()).await;
                quiet = if changed.is_ok() { 0 } else { quiet + 1 };
                // Who looked just before the clock moved waits for it to move once more.
                if quiet >= 5 {
                    world.clock.advance_to_next_wake();
                    quiet = 0;
                }
            }
        }
    }
    panic!("nothing happens, though something could:\n{}", world.describe().await);
}

#[tokio::test]
async fn h4_a_job_that_is_given_up_leaves_its_attempts_and_an_apology() {
    let mut options = Options::default();
    options.patience.give_up_after = Duration::from_mins(30);
    let world = World::with(options).await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    world.forge.faults().outage(Outage::Unavailable).await;
    world.comments("alice", issue, "@bot help").await;
    while world.count(domain::job::State::Dead).await == 0 {
        pass_time(&world).await;
    }
    world.forge.faults().outage(Outage::None).await;
    world.settle().await;
    let job = world.jobs().await.remove(0);
    let attempts = world.store.detail(&job.id).await.unwrap().unwrap().attempts;
    assert!(attempts.len() > 5 && attempts.iter().all(|attempt| attempt.ended_at.is_some()));
    let thread = world.thread(issue).replace(&job.id.0, "JOB");
    expect![[r#"
        issue #1: It crashes

        --- alice
        On start.

        --- alice
        @bot help

        --- bot
        [marker kind=apology slot=apology:JOB rev=1]
        I am sorry: I could not finish this and have given up. The operator finds the reason under job `JOB`.
    "#]].assert_eq(&thread);
    world.close().await;
}

/// Kills the workers while each request of the journey in turn is under way, before it is done and
/// after it is done.
#[tokio::test]
async fn e2_a_death_at_any_request_neither_loses_nor_doubles_the_answer() {
    for fault in [Fault::HoldBefore, Fault::HoldAfter] {
        for nth in 1.. {
            let mut world = World::start().await;
            let issue = world.opens_issue("alice", "It crashes", "On start.").await;
            let done = world.forge.requests().len();
            world.forge.faults().add(fault, On::All, Often::Every(nth));
            world.comments("alice", issue, "@bot help").await;
            let held = tokio::select! {
                () = world.forge.faults().until_held(1) => true,
                () = world.settle() => false,
            };
            world.kill_workers().await;
            world.forge.faults().clear_rules();
            world.forge.faults().release();
            world.start_workers().await;
            world.settle().await;
            let requests = world.forge.requests().len() - done;
            assert_eq!(answers(&world, issue).len(), 1, "{fault:?} {nth}: {}", world.thread(issue));
            world.close().await;
            if !held {
                assert!(requests >= 4, "the journey has {requests} requests");
                assert!(nth > 4, "every request of the journey was held once");
                break;
            }
        }
    }
}
