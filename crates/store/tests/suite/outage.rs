//! Outages use no attempt; one probe goes through (J6).

use std::time::Duration;

use domain::job::State;
use domain::{Slot, Subject};
use store::Settlement;
use store::claim::LEASE;
use store::outbox::Try;

use super::bench::{Bench, comment, done, fix, help, over_both, repo};

over_both!(
    j6_an_outage_uses_no_attempt_and_one_probe_goes_through,
    j6_an_endpoint_that_names_a_moment_is_left_alone_until_then,
    whoever_finds_nothing_is_told_when_to_look_again,
    j6_a_probe_that_finds_nothing_out_lets_the_next_one_through,
    j6_a_probe_that_dies_lets_the_next_one_through,
    j6_a_job_is_dead_only_after_it_waited_for_a_day,
);

fn away(until: Option<domain::Time>) -> Settlement {
    Settlement::Wait {
        endpoint: "https://forge.example".to_owned(),
        until,
        error: "refused".to_owned(),
    }
}

async fn j6_an_outage_uses_no_attempt_and_one_probe_goes_through(bench: Bench) {
    for n in 0..20 {
        bench.accept(fix(1, n + 1, 10 + n)).await;
    }
    let mut probes = 0;
    for _ in 0..40 {
        while let Some(claimed) = bench.claim().await {
            probes += 1;
            assert_eq!(claimed.job.attempt, 1);
            bench.store.settle(&claimed.job.id, claimed.token, away(None)).await.unwrap();
        }
        bench.advance(Duration::from_secs(90));
    }
    assert!(probes <= 41, "one probe per opening of the breaker, not one per job: {probes}");
    bench.advance(Duration::from_mins(5));
    let probe = bench.claim().await.unwrap();
    assert!(bench.claim().await.is_none(), "while the probe runs nobody joins it");
    bench.store.settle(&probe.job.id, probe.token, done(Vec::new())).await.unwrap();
    let mut served = 1;
    while let Some(claimed) = bench.claim().await {
        served += 1;
        bench.end(&claimed, Vec::new()).await;
    }
    assert_eq!(served, 20);
}

async fn j6_an_endpoint_that_names_a_moment_is_left_alone_until_then(bench: Bench) {
    let id = bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    let until = bench.now() + Duration::from_mins(30);
    bench.store.settle(&id, claimed.token, away(Some(until))).await.unwrap();
    bench.advance(Duration::from_mins(29));
    assert!(bench.claim().await.is_none());
    bench.advance(Duration::from_mins(2));
    assert!(bench.claim().await.is_some());
}

async fn j6_a_probe_that_finds_nothing_out_lets_the_next_one_through(bench: Bench) {
    for number in [1, 2] {
        bench.accept(help(1, number, 10 + number)).await;
        let claimed = bench.claim().await.unwrap();
        let subject = Subject::issue(repo(1), number);
        bench.end(&claimed, vec![comment(&subject, &Slot::reply("c"), "hello")]).await;
    }
    bench.store.open_breaker("https://forge.example", "refused", None).await.unwrap();
    bench.advance(Duration::from_secs(5));
    let probe = bench.lane().await.unwrap();
    assert!(bench.lane().await.is_none(), "while the probe runs nobody joins it");
    let due = bench.due(&probe).await.unwrap();
    bench.store.begin_row(&probe, due.seq).await.unwrap();
    let look_at = bench.now() + Duration::from_secs(1);
    let unlisted = Try::Doubtful { look_at, why: "not listed yet".to_owned() };
    bench.store.settle_row(&probe, &due, unlisted).await.unwrap();
    assert!(bench.lane().await.is_some(), "the next probe goes through at once");
    assert!(bench.lane().await.is_none(), "and it is one");
}

async fn j6_a_probe_that_dies_lets_the_next_one_through(bench: Bench) {
    let id = bench.accept(fix(1, 1, 10)).await;
    bench.accept(fix(1, 2, 11)).await;
    let claimed = bench.claim().await.unwrap();
    bench.store.settle(&id, claimed.token, away(None)).await.unwrap();
    bench.advance(Duration::from_secs(5));
    bench.claim().await.unwrap();
    bench.advance(LEASE + Duration::from_secs(1));
    assert!(LEASE + Duration::from_secs(1) < store::breaker::PROBE);
    assert!(bench.claim().await.is_none(), "nobody knows yet that it died");
    assert_eq!(bench.store.sweep_expired().await.unwrap(), 1);
    assert!(bench.claim().await.is_some());
}

async fn j6_a_job_is_dead_only_after_it_waited_for_a_day(bench: Bench) {
    let id = bench.accept(fix(1, 1, 10)).await;
    let mut waited = Duration::ZERO;
    while bench.state(&id).await == State::Queued {
        assert!(waited <= Duration::from_hours(25));
        if let Some(claimed) = bench.claim().await {
            bench.store.settle(&id, claimed.token, away(None)).await.unwrap();
        }
        bench.advance(Duration::from_mins(10));
        waited += Duration::from_mins(10);
    }
    assert!(waited > Duration::from_hours(23));
    assert_eq!(bench.state(&id).await, State::Dead);
    assert_eq!(bench.apologies.lock().unwrap().len(), 1);
    assert!(LEASE < Duration::from_mins(10));
}

async fn whoever_finds_nothing_is_told_when_to_look_again(bench: Bench) {
    use store::claim::Claim;
    let id = bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    let until = bench.now() + Duration::from_mins(30);
    bench.store.settle(&id, claimed.token, away(Some(until))).await.unwrap();
    let Claim::Nothing { next: Some(next) } = bench.store.claim(bench.hands()).await.unwrap()
    else {
        panic!("something is claimed, or nothing ever becomes due");
    };
    assert!(next >= until);
    bench.advance(next.since(bench.now()));
    assert!(bench.claim().await.is_some(), "at that moment there is something");
}
