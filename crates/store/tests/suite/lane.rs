//! The order of a lane, and fairness between lanes (E4, J3, J5).

use std::collections::BTreeMap;

use domain::job::State;
use domain::subject::Pace;
use domain::task::Work;
use domain::{JobId, Slot, Subject};
use store::claim::{Claim, Held};
use store::outbox::Try;

use super::bench::{
    Bench, asked, comment, done, fix, help, next_stage, over_both, pushed, reaction, repo, text_of,
    unfinished,
};

over_both!(
    j3_only_the_oldest_unfinished_job_of_a_lane_is_claimed,
    j3_a_job_that_waits_for_a_retry_holds_its_lane,
    j3_answers_never_wait_behind_work,
    e4_the_next_job_waits_until_everything_is_sent,
    e4_rows_of_a_lane_go_in_order_and_a_refused_one_lets_the_lane_go_on,
    e4_cancelling_withdraws_unsent_rows_and_closes_what_is_visible,
    e4_cancelling_a_running_job_wins_over_what_its_stage_found,
    an_answer_does_not_wait_for_its_reaction,
    j5_repositories_take_turns,
    j5_commands_go_before_automatic_work,
    j5_a_repository_has_a_cap_of_running_jobs,
    no_order_of_events_breaks_a_lane,
);

async fn j3_only_the_oldest_unfinished_job_of_a_lane_is_claimed(bench: Bench) {
    let first = bench.accept(fix(1, 1, 10)).await;
    let second = bench.accept(fix(1, 1, 11)).await;
    let claimed = bench.claim().await.unwrap();
    assert_eq!(claimed.job.id, first);
    assert!(bench.claim().await.is_none());
    bench.end(&claimed, Vec::new()).await;
    assert_eq!(bench.claim().await.unwrap().job.id, second);
}

async fn j3_a_job_that_waits_for_a_retry_holds_its_lane(bench: Bench) {
    let first = bench.accept(fix(1, 1, 10)).await;
    bench.accept(fix(1, 1, 11)).await;
    let claimed = bench.claim().await.unwrap();
    let again = store::Settlement::Again {
        after: std::time::Duration::from_mins(1),
        error: "flaky".to_owned(),
    };
    bench.store.settle(&first, claimed.token, again).await.unwrap();
    assert!(bench.claim().await.is_none());
    bench.advance(std::time::Duration::from_mins(1));
    assert_eq!(bench.claim().await.unwrap().job.id, first);
}

async fn j3_answers_never_wait_behind_work(bench: Bench) {
    bench.accept(fix(1, 1, 10)).await;
    bench.claim().await.unwrap();
    let answer = bench.accept(help(1, 1, 11)).await;
    assert_eq!(bench.claim().await.unwrap().job.id, answer);
}

async fn e4_the_next_job_waits_until_everything_is_sent(bench: Bench) {
    let subject = Subject::issue(repo(1), 1);
    bench.accept(fix(1, 1, 10)).await;
    let second = bench.accept(fix(1, 1, 11)).await;
    let claimed = bench.claim().await.unwrap();
    bench.end(&claimed, vec![comment(&subject, &Slot::summary(), "one")]).await;
    assert!(bench.claim().await.is_none(), "a row of the lane waits to be sent");
    assert_eq!(bench.send_all().await, ["one"]);
    assert_eq!(bench.claim().await.unwrap().job.id, second);
}

async fn e4_rows_of_a_lane_go_in_order_and_a_refused_one_lets_the_lane_go_on(bench: Bench) {
    let subject = Subject::issue(repo(1), 1);
    bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    let rows = ["one", "two", "three"].map(|text| comment(&subject, &Slot::reply(text), text));
    bench.end(&claimed, rows.to_vec()).await;
    let sending = bench.lane().await.unwrap();
    let due = bench.due(&sending).await.unwrap();
    assert_eq!(text_of(&due.publication), "one");
    bench.store.begin_row(&sending, due.seq).await.unwrap();
    let later =
        Try::Later { at: bench.now() + std::time::Duration::from_secs(9), why: "busy".to_owned() };
    bench.store.settle_row(&sending, &due, later).await.unwrap();
    assert!(bench.due(&sending).await.is_none(), "the second does not overtake the first");
    bench.advance(std::time::Duration::from_secs(9));
    let due = bench.due(&sending).await.unwrap();
    bench.store.begin_row(&sending, due.seq).await.unwrap();
    bench.store.settle_row(&sending, &due, Try::GivenUp("422".to_owned())).await.unwrap();
    bench.store.release_lane(&sending).await.unwrap();
    assert_eq!(bench.send_all().await, ["two", "three"]);
    let records = bench.store.records(&claimed.job.id, 0, 100).await.unwrap();
    assert!(format!("{records:?}").contains("given up: 422"), "the reason is on record");
}

async fn e4_cancelling_withdraws_unsent_rows_and_closes_what_is_visible(bench: Bench) {
    let subject = Subject::issue(repo(1), 1);
    let id = bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    let progress = unfinished(&subject, &Slot::panel(), "in progress", "stopped");
    bench.store.settle(&id, claimed.token, next_stage("fix", vec![progress])).await.unwrap();
    assert_eq!(bench.send_all().await, ["in progress"]);
    let more = comment(&subject, &Slot::summary(), "never seen");
    bench.store.settle(&id, claimed.token, next_stage("verify", vec![more])).await.unwrap();
    assert_eq!(bench.store.cancel(&id).await.unwrap(), State::Running, "its worker must notice");
    assert_eq!(bench.send_all().await, ["stopped"]);
    let stops = tokio::task::spawn_blocking({
        let (store, owner) = (bench.store.clone(), bench.owner.clone());
        let held = Held { jobs: vec![id.clone()], lanes: Vec::new() };
        move || store.heartbeat_blocking(&owner, held)
    });
    assert_eq!(stops.await.unwrap().unwrap(), std::slice::from_ref(&id));
    bench.store.settle(&id, claimed.token, done(Vec::new())).await.unwrap();
    assert_eq!(bench.state(&id).await, State::Cancelled);
    assert!(bench.send_all().await.is_empty());
}

async fn e4_cancelling_a_running_job_wins_over_what_its_stage_found(bench: Bench) {
    let subject = Subject::issue(repo(1), 1);
    let id = bench.accept(fix(1, 1, 10)).await;
    let cancel = bench.accept(asked(Work::Cancel, subject.clone(), 11)).await;
    let (mut work, mut talk) = (None, None);
    for claimed in [bench.claim().await.unwrap(), bench.claim().await.unwrap()] {
        if claimed.job.id == id { work = Some(claimed) } else { talk = Some(claimed) }
    }
    let (work, talk) = (work.unwrap(), talk.unwrap());
    assert_eq!(talk.job.id, cancel);
    let end = store::Settlement::End {
        state: State::Done,
        why: None,
        result: None,
        publications: Vec::new(),
        cancels: store::settle::Cancels::Subject,
    };
    bench.store.settle(&cancel, talk.token, end).await.unwrap();
    bench.end(&work, vec![comment(&subject, &Slot::summary(), "too late")]).await;
    assert_eq!(bench.state(&id).await, State::Cancelled);
    assert!(bench.send_all().await.is_empty());
}

async fn an_answer_does_not_wait_for_its_reaction(bench: Bench) {
    let subject = Subject::issue(repo(1), 1);
    bench.accept(help(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    bench
        .end(&claimed, vec![reaction(&subject), comment(&subject, &Slot::reply("c10"), "here")])
        .await;
    let sending = bench.lane().await.unwrap();
    assert_eq!(text_of(&bench.due(&sending).await.unwrap().publication), "here");
}

async fn j5_repositories_take_turns(bench: Bench) {
    for n in 0..6 {
        bench.accept(help(1, 10 + n, 100 + n)).await;
    }
    for n in 0..2 {
        bench.accept(help(2, 10 + n, 200 + n)).await;
    }
    let mut order = Vec::new();
    while let Some(claimed) = bench.claim().await {
        order.push(claimed.job.task.subject.repo.full_name.clone());
    }
    let order: String = order.iter().map(|name| name.chars().last().unwrap()).collect();
    assert_eq!(order, "12121111");
}

async fn j5_commands_go_before_automatic_work(bench: Bench) {
    let automatic = bench.accept(pushed(1, 1, "aaa")).await;
    let command = bench.accept(fix(1, 2, 10)).await;
    let answer = bench.accept(help(1, 3, 11)).await;
    let mut order = Vec::new();
    while let Some(claimed) = bench.claim().await {
        order.push(claimed.job.id);
    }
    assert_eq!(order, [answer, command, automatic]);
}

async fn j5_a_repository_has_a_cap_of_running_jobs(bench: Bench) {
    for n in 0..3 {
        bench.accept(fix(1, n + 1, 10 + n)).await;
    }
    let elsewhere = bench.accept(fix(2, 1, 20)).await;
    let mut hands = bench.hands();
    hands.per_repository = 2;
    let mut running = Vec::new();
    while let Claim::Job(claimed) = bench.store.claim(hands.clone()).await.unwrap() {
        running.push(claimed.job.id);
    }
    assert_eq!(running.len(), 3);
    assert!(running.contains(&elsewhere));
}

/// Plays many random steps and checks after each that no lane is broken: at most one job of a lane
/// runs, none overtakes an older one, and none starts while rows wait.
async fn no_order_of_events_breaks_a_lane(bench: Bench) {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    let mut running: BTreeMap<JobId, store::Claimed> = BTreeMap::new();
    let mut comments = 1000;
    for _ in 0..250 {
        match dice.roll(7) {
            0 | 1 => {
                comments += 1;
                bench.accept(fix(1, 1 + dice.roll(3), comments)).await;
            }
            2 => {
                if let Some(claimed) = bench.claim().await {
                    let older = bench.store.jobs_of(&claimed.job.task.subject, 0).await.unwrap();
                    let older = older
                        .iter()
                        .filter(|job| job.lane == claimed.job.lane && job.seq < claimed.job.seq);
                    assert_eq!(older.count(), 0, "an older job of the lane is unfinished");
                    assert!(!running.values().any(|other| other.job.lane == claimed.job.lane));
                    running.insert(claimed.job.id.clone(), claimed);
                }
            }
            3 => {
                if let Some((_, claimed)) = running.pop_first() {
                    let subject = claimed.job.task.subject.clone();
                    let row = comment(&subject, &Slot::reply(&claimed.job.seq.to_string()), "x");
                    bench.end(&claimed, vec![row; dice.roll(3) as usize]).await;
                }
            }
            4 => {
                if let Some((id, claimed)) = running.pop_first() {
                    let again = store::Settlement::Again {
                        after: std::time::Duration::ZERO,
                        error: "flaky".to_owned(),
                    };
                    bench.store.settle(&id, claimed.token, again).await.unwrap();
                }
            }
            5 => {
                let open = bench.store.jobs_of(&Subject::issue(repo(1), 1), 0).await.unwrap();
                if let Some(job) = open.iter().find(|job| job.state == State::Queued) {
                    bench.store.cancel(&job.id).await.unwrap();
                }
            }
            _ => drop(bench.send_all().await),
        }
    }
    for (_, claimed) in std::mem::take(&mut running) {
        bench.end(&claimed, Vec::new()).await;
    }
    loop {
        bench.send_all().await;
        let Some(claimed) = bench.claim().await else { break };
        bench.end(&claimed, Vec::new()).await;
    }
    for number in 1..=3 {
        let subject = Subject::issue(repo(1), number);
        assert_eq!(subject.lane(Pace::Work).0, subject.id().0);
        assert!(bench.store.jobs_of(&subject, 0).await.unwrap().is_empty(), "nothing is stuck");
    }
}

/// A small generator: the same steps in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}
