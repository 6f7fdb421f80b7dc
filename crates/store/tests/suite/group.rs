//! Deliveries that arrive together are taken together, as if they had come one by one (J1, J3, J4).

use domain::job::State;
use domain::task::Work;
use domain::{JobId, Slot, Subject};
use store::Error;
use store::intake::{self, Accepted, Intake};

use super::bench::{Bench, asked, comment, fix, help, over_both, pushed, repo};

over_both!(
    j1_deliveries_that_arrive_together_share_their_syncs,
    j3_a_group_keeps_the_order_of_every_lane,
    j3_the_last_look_of_a_group_takes_the_place_of_those_before_it,
    j4_repeats_within_a_group_collapse_onto_the_first,
    e4_a_group_waits_for_what_its_lane_has_not_sent,
    a_delivery_that_the_database_refuses_takes_nobody_with_it,
);

/// Takes deliveries as one transaction.
async fn together(bench: &Bench, group: Vec<Intake>) -> Vec<Accepted> {
    bench.store.write(move |db| intake::accept(db, &group)).await.unwrap()
}

async fn together_new(bench: &Bench, group: Vec<Intake>) -> Vec<JobId> {
    let answers = together(bench, group).await;
    let new = |answer| match answer {
        Accepted::New(id) => id,
        other => panic!("{other:?}"),
    };
    answers.into_iter().map(new).collect()
}

async fn j1_deliveries_that_arrive_together_share_their_syncs(bench: Bench) {
    /// More than are written at a time.
    const COUNT: u64 = 600;
    let before = bench.store.commits();
    let mut arriving = tokio::task::JoinSet::new();
    for n in 0..COUNT {
        let (store, intake) = (bench.store.clone(), help(1 + n % 3, n, 1000 + n));
        arriving.spawn(async move { store.accept(intake).await });
    }
    let answers = arriving.join_all().await;
    let commits = bench.store.commits() - before;
    assert!(commits < COUNT, "{commits} commits for {COUNT} deliveries");
    let other = bench.reopen().await.unwrap();
    for answer in answers {
        let Accepted::New(id) = answer.unwrap() else { panic!("none is a repeat") };
        assert!(other.job(&id).await.unwrap().is_some());
    }
}

async fn j3_a_group_keeps_the_order_of_every_lane(bench: Bench) {
    let before = bench.accept(fix(1, 3, 9)).await;
    let jobs = together_new(
        &bench,
        vec![fix(1, 1, 10), fix(1, 1, 11), fix(1, 2, 12), fix(1, 3, 13), fix(1, 1, 14)],
    )
    .await;
    let mut claimed = Vec::new();
    while let Some(one) = bench.claim().await {
        claimed.push(one);
    }
    let mut ids: Vec<_> = claimed.iter().map(|one| one.job.id.clone()).collect();
    ids.sort();
    let mut expected = vec![before, jobs[0].clone(), jobs[2].clone()];
    expected.sort();
    assert_eq!(ids, expected, "one job of each lane, and of each the oldest");
    let first = claimed.iter().find(|one| one.job.id == jobs[0]).unwrap();
    bench.end(first, Vec::new()).await;
    let second = bench.claim().await.unwrap();
    assert_eq!(second.job.id, jobs[1]);
    bench.end(&second, Vec::new()).await;
    assert_eq!(bench.claim().await.unwrap().job.id, jobs[4]);
}

async fn j3_the_last_look_of_a_group_takes_the_place_of_those_before_it(bench: Bench) {
    let waiting = bench.accept(pushed(1, 1, "aaa")).await;
    let command = asked(Work::Repair, Subject::change(repo(1), 1), 5);
    let jobs = together_new(
        &bench,
        vec![pushed(1, 1, "bbb"), command, pushed(1, 1, "ccc"), pushed(1, 2, "ddd")],
    )
    .await;
    let mut states = vec![bench.state(&waiting).await];
    for id in &jobs {
        states.push(bench.state(id).await);
    }
    use State::{Queued, Superseded};
    assert_eq!(states, [Superseded, Superseded, Queued, Queued, Queued]);
    assert_eq!(bench.claim().await.unwrap().job.id, jobs[1], "the lane goes on");
}

async fn j4_repeats_within_a_group_collapse_onto_the_first(bench: Bench) {
    let first = help(1, 1, 10);
    let mut redelivered = first.clone();
    redelivered.id = help(1, 1, 99).id;
    let mut same_meaning = redelivered.clone();
    same_meaning.id = help(1, 1, 98).id;
    same_meaning.delivery.as_mut().unwrap().id = Some("another".to_owned());
    let other = help(1, 1, 11);
    let (id, other_id) = (first.id.clone(), other.id.clone());
    let answers = together(&bench, vec![first, redelivered, other, same_meaning]).await;
    assert_eq!(
        answers,
        [
            Accepted::New(id.clone()),
            Accepted::Repeated(id.clone()),
            Accepted::New(other_id),
            Accepted::Repeated(id)
        ]
    );
}

async fn e4_a_group_waits_for_what_its_lane_has_not_sent(bench: Bench) {
    let subject = Subject::issue(repo(1), 1);
    let first = bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    let answer = comment(&subject, &Slot::reply("c10"), "done");
    bench.end(&claimed, vec![answer]).await;
    assert_eq!(bench.state(&first).await, State::Done);
    let jobs = together_new(&bench, vec![fix(1, 1, 11), fix(1, 1, 12)]).await;
    assert!(bench.claim().await.is_none(), "the answer is not sent yet");
    assert_eq!(bench.send_all().await, ["done"]);
    assert_eq!(bench.claim().await.unwrap().job.id, jobs[0]);
}

async fn a_delivery_that_the_database_refuses_takes_nobody_with_it(bench: Bench) {
    let first = bench.accept(help(1, 1, 10)).await;
    let mut arriving = tokio::task::JoinSet::new();
    for n in 0..20 {
        let (store, mut intake) = (bench.store.clone(), help(1, n, 100 + n));
        if n == 7 {
            intake.id = first.clone();
        }
        arriving.spawn(async move { (n, store.accept(intake).await) });
    }
    for (n, answer) in arriving.join_all().await {
        match answer {
            Err(Error::Refused(_)) if n == 7 => {}
            Ok(Accepted::New(_)) if n != 7 => {}
            other => panic!("delivery {n}: {other:?}"),
        }
    }
}
