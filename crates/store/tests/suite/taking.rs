//! Deliveries are taken once, durably, and any text can be stored (J1, J4, J8, T9).

use std::time::Duration;

use domain::job::State;
use domain::task::Work;
use domain::{RepoKey, Subject};
use store::Settlement;
use store::intake::{Accepted, Pin};
use store::settle::Cancels;

use super::bench::{Bench, asked, done, fix, help, over_both, pushed, repo};

over_both!(
    j1_what_was_accepted_is_there_for_a_process_that_opens_the_place_anew,
    j1_every_commit_is_synced,
    j4_the_same_delivery_gives_the_first_answer_again,
    j4_the_same_meaning_collapses_for_ten_minutes_whatever_its_delivery_id,
    j4_a_repeat_starts_again_when_the_first_did_not_succeed,
    j4_a_redelivered_command_runs_again_only_if_it_was_given_up,
    j4_a_command_runs_once_per_comment_for_ever,
    j3_a_newer_look_takes_the_place_of_those_that_wait,
    j8_nul_surrogate_escapes_and_four_byte_characters_come_back,
    t9_an_allowed_name_belongs_to_the_repository_first_seen_under_it,
    t9_a_job_keyed_by_name_moves_to_the_lane_of_the_id,
);

async fn j1_what_was_accepted_is_there_for_a_process_that_opens_the_place_anew(bench: Bench) {
    let id = bench.accept(help(1, 1, 10)).await;
    let other = bench.reopen().await.unwrap();
    let detail = other.detail(&id).await.unwrap().unwrap();
    assert_eq!(detail.job.state, State::Queued);
    assert_eq!(detail.delivery.unwrap().body, b"{}");
}

async fn j1_every_commit_is_synced(bench: Bench) {
    let setting = match &bench.place {
        store::Place::Sqlite(_) => "SELECT CAST(synchronous AS TEXT) FROM pragma_synchronous",
        store::Place::Postgres { .. } => "SELECT current_setting('synchronous_commit')",
    };
    let mut row = bench.store.write(move |db| db.find(setting, &[])).await.unwrap().unwrap();
    let synced = row.text().unwrap();
    assert!(["2", "on"].contains(&synced.as_str()), "{synced}");
}

async fn j4_the_same_delivery_gives_the_first_answer_again(bench: Bench) {
    let first = help(1, 1, 10);
    let mut again = first.clone();
    again.id = help(1, 1, 11).id;
    again.meaning = None;
    let id = bench.accept(first).await;
    assert_eq!(bench.store.accept(again).await.unwrap(), Accepted::Repeated(id));
}

async fn j4_the_same_meaning_collapses_for_ten_minutes_whatever_its_delivery_id(bench: Bench) {
    let first = pushed(1, 1, "aaa");
    let again = |n: u32| {
        let mut again = pushed(1, 1, "aaa");
        again.delivery.as_mut().unwrap().id = Some(format!("other-{n}"));
        again
    };
    let id = bench.accept(first).await;
    let claimed = bench.claim().await.unwrap();
    bench.end(&claimed, Vec::new()).await;
    bench.advance(Duration::from_secs(599));
    assert_eq!(bench.store.accept(again(1)).await.unwrap(), Accepted::Repeated(id));
    bench.advance(Duration::from_secs(2));
    assert!(matches!(bench.store.accept(again(2)).await.unwrap(), Accepted::New(_)));
}

async fn j4_a_repeat_starts_again_when_the_first_did_not_succeed(bench: Bench) {
    for (n, state) in [State::Failed, State::Dead, State::Skipped].into_iter().enumerate() {
        let head = format!("head-{n}");
        let id = bench.accept(pushed(1, 1, &head)).await;
        let claimed = bench.claim().await.unwrap();
        assert_eq!(claimed.job.id, id);
        bench.store.settle(&id, claimed.token, ended(state)).await.unwrap();
        let mut again = pushed(1, 1, &head);
        again.delivery.as_mut().unwrap().id = Some(format!("other-{n}"));
        let again = bench.accept(again).await;
        assert_ne!(again, id, "{state}");
        let claimed = bench.claim().await.unwrap();
        bench.store.settle(&again, claimed.token, done(Vec::new())).await.unwrap();
    }
}

async fn j4_a_redelivered_command_runs_again_only_if_it_was_given_up(bench: Bench) {
    for (n, state) in [State::Failed, State::Skipped, State::Dead].into_iter().enumerate() {
        let comment = 100 + n as u64;
        let id = bench.accept(help(1, 1, comment)).await;
        let claimed = bench.claim().await.unwrap();
        bench.store.settle(&id, claimed.token, ended(state)).await.unwrap();
        let again = bench.store.accept(help(1, 1, comment)).await.unwrap();
        match state {
            State::Dead => assert!(matches!(again, Accepted::New(_)), "{again:?}"),
            _ => assert_eq!(again, Accepted::Repeated(id), "{state}"),
        }
    }
}

fn ended(state: State) -> Settlement {
    Settlement::End {
        state,
        why: Some("no".to_owned()),
        result: None,
        publications: Vec::new(),
        cancels: Cancels::Nobody,
    }
}

async fn j4_a_command_runs_once_per_comment_for_ever(bench: Bench) {
    let id = bench.accept(help(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    bench.end(&claimed, Vec::new()).await;
    bench.advance(Duration::from_hours(24 * 365));
    bench.store.forget(Duration::from_hours(24)).await.unwrap();
    assert!(bench.store.job(&id).await.unwrap().is_none(), "retention has removed the job");
    let mut edited = help(1, 1, 10);
    edited.meaning = Some("the comment was edited".to_owned());
    edited.delivery.as_mut().unwrap().id = Some("another".to_owned());
    assert_eq!(bench.store.accept(edited).await.unwrap(), Accepted::Repeated(id));
}

async fn j3_a_newer_look_takes_the_place_of_those_that_wait(bench: Bench) {
    let first = bench.accept(pushed(1, 1, "aaa")).await;
    let claimed = bench.claim().await.unwrap();
    let second = bench.accept(pushed(1, 1, "bbb")).await;
    let command = bench.accept(asked(Work::Repair, Subject::change(repo(1), 1), 5)).await;
    let third = bench.accept(pushed(1, 1, "ccc")).await;
    assert_eq!(bench.state(&first).await, State::Running, "what runs is not touched by an arrival");
    assert_eq!(bench.state(&second).await, State::Superseded);
    assert_eq!(
        bench.state(&command).await,
        State::Queued,
        "a push supersedes only review and detect"
    );
    assert_eq!(bench.state(&third).await, State::Queued);
    bench.end(&claimed, Vec::new()).await;
    assert_eq!(bench.claim().await.unwrap().job.id, command);
}

async fn j8_nul_surrogate_escapes_and_four_byte_characters_come_back(bench: Bench) {
    let strange = "a\0b \u{e000} \u{1f980} \\ud800 \u{202e} \u{feff}";
    let mut intake = fix(1, 1, 10);
    intake.task.title = strange.to_owned();
    intake.task.work = Work::Fix { text: strange.to_owned() };
    intake.event_type = strange.to_owned();
    intake.delivery.as_mut().unwrap().id = Some(strange.to_owned());
    intake.delivery.as_mut().unwrap().body = strange.as_bytes().to_vec().into();
    let id = bench.accept(intake).await;
    let detail = bench.store.detail(&id).await.unwrap().unwrap();
    assert_eq!(detail.job.task.title, strange);
    assert_eq!(detail.job.task.work, Work::Fix { text: strange.to_owned() });
    assert_eq!(detail.job.event_type, strange);
    let delivery = detail.delivery.unwrap();
    assert_eq!(delivery.id.as_deref(), Some(strange));
    assert_eq!(delivery.body, strange.as_bytes());

    let claimed = bench.claim().await.unwrap();
    let value = serde_json::json!({ strange: [strange, null, 1.5] });
    bench.store.keep(&id, claimed.token, strange, value.clone()).await.unwrap();
    bench
        .store
        .keep(&id, claimed.token, strange, serde_json::json!("a second value"))
        .await
        .unwrap();
    assert_eq!(
        bench.store.recall(&id, strange).await.unwrap(),
        Some(value),
        "a key keeps its first value"
    );
    bench
        .store
        .keep_artifact(&id, claimed.token, strange, "text/plain", strange.as_bytes().to_vec())
        .await
        .unwrap();
    let (media_type, body) = bench.store.artifact(&id, strange).await.unwrap().unwrap();
    assert_eq!((media_type.as_str(), body.as_slice()), ("text/plain", strange.as_bytes()));
}

async fn t9_an_allowed_name_belongs_to_the_repository_first_seen_under_it(bench: Bench) {
    let mut first = help(1, 1, 10);
    first.pin = Pin::Name;
    bench.accept(first).await;
    let mut impostor = help(2, 1, 11);
    impostor.task.subject.repo.full_name = "ACME/repo-1".to_owned();
    impostor.pin = Pin::Name;
    let answer = bench.store.accept(impostor).await.unwrap();
    assert_eq!(answer, Accepted::Impostor { pinned: "1".to_owned() });
}

async fn t9_a_job_keyed_by_name_moves_to_the_lane_of_the_id(bench: Bench) {
    let mut named = fix(1, 1, 10);
    named.task.subject.repo.key = RepoKey::Name("acme/repo-1".to_owned());
    let named = bench.accept(named).await;
    let claimed = bench.claim().await.unwrap();
    let known = bench.accept(fix(1, 1, 11)).await;
    bench.store.identify(&named, claimed.token, repo(1)).await.unwrap();
    let job = bench.store.job(&named).await.unwrap().unwrap();
    assert_eq!(job.lane, bench.store.job(&known).await.unwrap().unwrap().lane);
    assert_eq!((job.state, job.attempt), (State::Queued, 0));
    assert_eq!(bench.claim().await.unwrap().job.id, named, "the older one goes first");
    assert!(bench.claim().await.is_none());
}
