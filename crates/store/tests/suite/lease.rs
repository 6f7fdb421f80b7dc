//! Leases, fencing, poison and the record that every attempt leaves (J2, J7, H4, H5).

use std::time::Duration;

use domain::job::State;
use domain::record::Record;
use domain::{Slot, Subject};
use store::claim::{Claim, Held, LEASE};
use store::settle::Settled;
use store::{Error, Settlement};

use super::bench::{Bench, checkpoint, comment, done, fix, help, next_stage, over_both, repo};

over_both!(
    j2_a_lease_that_ran_out_is_fenced_even_before_anybody_sweeps,
    j2_a_heartbeat_keeps_the_lease_and_does_not_revive_an_old_one,
    j2_a_lease_that_nobody_works_under_runs_out,
    j2_tokens_grow,
    j2_a_second_process_on_the_same_place_sees_what_the_first_did,
    j7_a_job_that_died_with_its_process_runs_alone_the_next_time,
    j7_attempts_count_at_claim_and_the_apology_comes_with_death,
    j7_a_settlement_that_is_refused_ends_the_job,
    j8_a_job_that_this_version_cannot_read_keeps_nobody_else_waiting,
    h4_every_attempt_leaves_a_record,
    h5_an_operation_that_panics_leaves_no_transaction_behind,
    a_checkpoint_is_where_the_next_attempt_goes_on,
    an_operator_tries_a_dead_job_again,
);

async fn j2_a_lease_that_ran_out_is_fenced_even_before_anybody_sweeps(bench: Bench) {
    let id = bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    bench.advance(LEASE + Duration::from_millis(1));
    let late = bench.store.settle(&id, claimed.token, done(Vec::new())).await;
    assert!(matches!(late, Err(Error::Fenced)));
    let kept = bench.store.keep(&id, claimed.token, "k", serde_json::json!(1)).await;
    assert!(matches!(kept, Err(Error::Fenced)));
    assert_eq!(bench.store.sweep_expired().await.unwrap(), 1);
    let second = bench.claim().await.unwrap();
    let late = bench.store.settle(&id, claimed.token, done(Vec::new())).await;
    assert!(matches!(late, Err(Error::Fenced)), "the job has another owner");
    bench.end(&second, Vec::new()).await;
}

async fn j2_a_heartbeat_keeps_the_lease_and_does_not_revive_an_old_one(bench: Bench) {
    bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    let beat = || {
        let (store, owner) = (bench.store.clone(), bench.owner.clone());
        let held = Held { jobs: vec![claimed.job.id.clone()], lanes: Vec::new() };
        tokio::task::spawn_blocking(move || store.heartbeat_blocking(&owner, held))
    };
    for _ in 0..5 {
        bench.advance(Duration::from_secs(20));
        beat().await.unwrap().unwrap();
        assert_eq!(bench.store.sweep_expired().await.unwrap(), 0);
    }
    bench.advance(LEASE + Duration::from_secs(1));
    beat().await.unwrap().unwrap();
    let late = bench.store.settle(&claimed.job.id, claimed.token, done(Vec::new())).await;
    assert!(matches!(late, Err(Error::Fenced)));
}

#[tokio::test]
async fn j2_a_process_that_stands_still_in_a_transaction_keeps_nobody_waiting_for_long() {
    let Some(bench) = Bench::postgres().await else { return };
    let setting = "SELECT current_setting('idle_in_transaction_session_timeout')";
    let row = bench.store.write(move |db| db.find(setting, &[])).await.unwrap();
    assert_eq!(row.unwrap().text().unwrap(), "5s");
}

async fn j2_a_lease_that_nobody_works_under_runs_out(bench: Bench) {
    bench.accept(fix(1, 1, 10)).await;
    bench.claim().await.unwrap();
    for _ in 0..4 {
        bench.advance(Duration::from_secs(10));
        let (store, owner) = (bench.store.clone(), bench.owner.clone());
        let beat =
            tokio::task::spawn_blocking(move || store.heartbeat_blocking(&owner, Held::default()));
        beat.await.unwrap().unwrap();
    }
    assert_eq!(bench.store.sweep_expired().await.unwrap(), 1, "its worker could not settle it");
}

async fn j2_tokens_grow(bench: Bench) {
    let id = bench.accept(fix(1, 1, 10)).await;
    let mut last = 0;
    for _ in 0..3 {
        let claimed = bench.claim().await.unwrap();
        assert!(claimed.token > last);
        last = claimed.token;
        bench.store.settle(&id, claimed.token, Settlement::Release).await.unwrap();
    }
}

async fn j2_a_second_process_on_the_same_place_sees_what_the_first_did(bench: Bench) {
    let other = bench.reopen().await.unwrap();
    let mut changes = other.changes();
    changes.borrow_and_update();
    let id = bench.accept(fix(1, 1, 10)).await;
    changes.changed().await.unwrap();
    let Claim::Job(claimed) = other.claim(bench.hands()).await.unwrap() else {
        panic!("nothing to claim")
    };
    assert_eq!(claimed.job.id, id);
    assert!(bench.claim().await.is_none());
}

async fn j7_a_job_that_died_with_its_process_runs_alone_the_next_time(bench: Bench) {
    let id = bench.accept(fix(1, 1, 10)).await;
    bench.claim().await.unwrap();
    bench.advance(LEASE + Duration::from_secs(1));
    bench.store.sweep_expired().await.unwrap();
    let mut hands = bench.hands();
    hands.busy = 1;
    assert!(matches!(bench.store.claim(hands).await.unwrap(), Claim::WaitToBeAlone));
    let claimed = bench.claim().await.unwrap();
    assert_eq!((claimed.job.id.clone(), claimed.alone, claimed.job.attempt), (id, true, 2));
}

async fn j7_attempts_count_at_claim_and_the_apology_comes_with_death(bench: Bench) {
    let id = bench.accept(fix(1, 1, 10)).await;
    for attempt in 1..=5 {
        let claimed = bench.claim().await.unwrap();
        assert_eq!(claimed.job.attempt, attempt);
        bench.advance(LEASE + Duration::from_secs(1));
        bench.store.sweep_expired().await.unwrap();
    }
    assert_eq!(bench.state(&id).await, State::Dead);
    assert_eq!(*bench.apologies.lock().unwrap(), [id]);
    assert_eq!(bench.send_all().await, ["sorry"]);
}

async fn j7_a_settlement_that_is_refused_ends_the_job(bench: Bench) {
    let id = bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    // A state that a running job cannot take stands for whatever a database may refuse.
    let wrong = Settlement::End {
        state: State::Running,
        why: None,
        result: None,
        publications: Vec::new(),
        cancels: store::settle::Cancels::Nobody,
    };
    let refused = bench.store.settle(&id, claimed.token, wrong).await.unwrap_err();
    assert!(!refused.is_passing());
    bench.store.bury(&id, claimed.token, refused.to_string()).await.unwrap();
    assert_eq!(bench.state(&id).await, State::Dead);
    assert_eq!(bench.send_all().await, ["sorry"]);
}

async fn j8_a_job_that_this_version_cannot_read_keeps_nobody_else_waiting(bench: Bench) {
    let strange = bench.accept(fix(1, 1, 10)).await;
    let other = bench.accept(fix(2, 1, 11)).await;
    let id = strange.0.clone();
    let future = bench.store.write(move |db| {
        let sql = "UPDATE jobs SET body = replace(body, '\"task\":\"fix\"', '\"task\":\"dream\"') WHERE id = $1";
        db.execute(sql, &[store::db::Value::from(id.as_str())])
    });
    assert_eq!(future.await.unwrap(), 1);
    let claim = bench.store.claim(bench.hands()).await.unwrap();
    assert!(matches!(claim, Claim::Unreadable { id, .. } if id == strange));
    assert_eq!(bench.claim().await.unwrap().job.id, other);
    assert!(bench.claim().await.is_none(), "it waits for a version that knows it");
    bench.advance(Duration::from_mins(1));
    let claim = bench.store.claim(bench.hands()).await.unwrap();
    assert!(matches!(claim, Claim::Unreadable { .. }));
}

async fn h4_every_attempt_leaves_a_record(bench: Bench) {
    let id = bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    let again = Settlement::Again { after: Duration::ZERO, error: "flaky".to_owned() };
    bench.store.settle(&id, claimed.token, again).await.unwrap();
    bench.claim().await.unwrap();
    bench.advance(LEASE + Duration::from_secs(1));
    bench.store.sweep_expired().await.unwrap();
    let claimed = bench.claim().await.unwrap();
    bench.end(&claimed, Vec::new()).await;
    let detail = bench.store.detail(&id).await.unwrap().unwrap();
    let outcomes: Vec<_> =
        detail.attempts.iter().map(|attempt| attempt.outcome.clone().unwrap()).collect();
    assert_eq!(outcomes, ["failed", "died", "done"]);
    let records = bench.store.records(&id, 0, 100).await.unwrap();
    let failed =
        records.iter().filter(|entry| matches!(entry.record, Record::AttemptFailed { .. })).count();
    assert_eq!(failed, 2);
}

async fn h5_an_operation_that_panics_leaves_no_transaction_behind(bench: Bench) {
    let broken = bench.store.write(|db| -> Result<(), Error> {
        db.execute("INSERT INTO meta (key, value) VALUES ('x', 'y')", &[])?;
        panic!("in the middle")
    });
    assert!(broken.await.is_err());
    let left = bench
        .store
        .read(|db| db.query("SELECT value FROM meta WHERE key = 'x'", &[]))
        .await
        .unwrap();
    assert!(left.is_empty());
    bench.accept(help(1, 1, 10)).await;
}

async fn a_checkpoint_is_where_the_next_attempt_goes_on(bench: Bench) {
    let subject = Subject::issue(repo(1), 1);
    let id = bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    let settled =
        bench.store.settle(&id, claimed.token, next_stage("locate", Vec::new())).await.unwrap();
    assert_eq!(settled, Settled::GoOn);
    let row = comment(&subject, &Slot::panel(), "located");
    let when_sent = Settlement::NextWhenSent {
        stage: "propose".to_owned(),
        checkpoint: checkpoint("propose"),
        result: domain::record::StageResult::success(),
        publications: vec![row],
    };
    bench.store.settle(&id, claimed.token, when_sent).await.unwrap();
    assert!(bench.claim().await.is_none(), "the stage waits for what was published before it");
    bench.send_all().await;
    let claimed = bench.claim().await.unwrap();
    assert_eq!(claimed.checkpoint, Some(checkpoint("propose")));
    assert_eq!(claimed.job.stage, "propose");
    assert_eq!(bench.store.receipts_of(&id).await.unwrap().len(), 1);
}

async fn an_operator_tries_a_dead_job_again(bench: Bench) {
    let id = bench.accept(fix(1, 1, 10)).await;
    let newer = bench.accept(fix(1, 1, 11)).await;
    let claimed = bench.claim().await.unwrap();
    bench.store.bury(&id, claimed.token, "broken".to_owned()).await.unwrap();
    assert!(matches!(bench.store.retry(&newer).await, Err(Error::WrongState { .. })));
    bench.send_all().await;
    bench.store.retry(&id).await.unwrap();
    let claimed = bench.claim().await.unwrap();
    assert_eq!(
        (claimed.job.id.clone(), claimed.job.attempt),
        (id, 1),
        "the older job is in front again"
    );
    bench.end(&claimed, Vec::new()).await;
    assert_eq!(bench.claim().await.unwrap().job.id, newer);
    assert!(matches!(
        bench.store.cancel(&domain::JobId("none".to_owned())).await,
        Err(Error::Absent(_))
    ));
}
