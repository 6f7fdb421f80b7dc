//! Rows on their way to the forge: tried before sending, fenced, healed (E2, E5).

use std::time::Duration;

use domain::{Receipt, Slot, Subject};
use store::Error;
use store::claim::LEASE;
use store::outbox::{Begun, Try};

use super::bench::{Bench, comment, fix, over_both, repo, text_of};

over_both!(
    e2_a_row_is_trying_before_its_request_leaves_and_stays_in_doubt_until_its_fate_is_known,
    e5_a_successor_waits_for_the_old_lease,
    e5_a_sender_that_lost_its_lane_can_write_nothing_down,
    e6_the_receipt_of_a_slot_comes_back_with_the_next_row_of_it,
    a_row_that_was_withdrawn_meanwhile_does_not_leave,
    a_row_that_was_given_up_leaves_a_receipt_that_says_so,
);

async fn one_row(bench: &Bench, text: &str) -> domain::JobId {
    let subject = Subject::issue(repo(1), 1);
    let id = bench.accept(fix(1, 1, 10 + bench.now().0.unsigned_abs() % 1_000_000)).await;
    let claimed = bench.claim().await.unwrap();
    bench.end(&claimed, vec![comment(&subject, &Slot::summary(), text)]).await;
    id
}

async fn e2_a_row_is_trying_before_its_request_leaves_and_stays_in_doubt_until_its_fate_is_known(
    bench: Bench,
) {
    one_row(&bench, "one").await;
    let sending = bench.lane().await.unwrap();
    let due = bench.due(&sending).await.unwrap();
    assert_eq!(due.doubt, None);
    let began = bench.now();
    bench.store.begin_row(&sending, due.seq).await.unwrap();
    // The process dies here. Another one takes the lane over after the lease.
    bench.advance(LEASE + Duration::from_secs(1));
    let sending = bench.lane().await.unwrap();
    let due = bench.due(&sending).await.unwrap();
    let doubt = due.doubt.expect("its request may have left");
    assert_eq!((doubt.since, doubt.looks), (began, 0));
    let look_at = bench.now() + Duration::from_secs(1);
    bench
        .store
        .settle_row(&sending, &due, Try::Doubtful { look_at, why: "absent".to_owned() })
        .await
        .unwrap();
    assert!(bench.due(&sending).await.is_none());
    bench.advance(Duration::from_secs(1));
    let due = bench.due(&sending).await.unwrap();
    assert_eq!(due.doubt.map(|doubt| (doubt.since, doubt.looks)), Some((began, 1)));
    let found = Receipt::comment(5, 1);
    bench.store.settle_row(&sending, &due, Try::Sent(found)).await.unwrap();
    bench.store.release_lane(&sending).await.unwrap();
    assert!(bench.lane().await.is_none());
}

async fn e5_a_successor_waits_for_the_old_lease(bench: Bench) {
    one_row(&bench, "one").await;
    let first = bench.lane().await.unwrap();
    assert!(bench.lane().await.is_none());
    bench.advance(LEASE);
    assert!(bench.lane().await.is_none(), "the lease has not passed yet");
    bench.advance(Duration::from_millis(1));
    let second = bench.lane().await.unwrap();
    assert!(second.token > first.token);
}

async fn e5_a_sender_that_lost_its_lane_can_write_nothing_down(bench: Bench) {
    one_row(&bench, "one").await;
    let first = bench.lane().await.unwrap();
    let due = bench.due(&first).await.unwrap();
    let left = bench.store.begin_row(&first, due.seq).await.unwrap();
    assert_eq!(left, Begun::Leave(LEASE));
    bench.advance(LEASE + Duration::from_secs(1));
    bench.lane().await.unwrap();
    let begin = bench.store.begin_row(&first, due.seq).await;
    let settle = bench.store.settle_row(&first, &due, Try::Sent(Receipt::Done)).await;
    let release = bench.store.release_lane(&first).await;
    assert!(matches!(
        (begin, settle, release),
        (Err(Error::Fenced), Err(Error::Fenced), Err(Error::Fenced))
    ));
}

async fn e6_the_receipt_of_a_slot_comes_back_with_the_next_row_of_it(bench: Bench) {
    one_row(&bench, "one").await;
    bench.send_all().await;
    bench.advance(Duration::from_secs(1));
    one_row(&bench, "two").await;
    let sending = bench.lane().await.unwrap();
    let due = bench.due(&sending).await.unwrap();
    assert_eq!(text_of(&due.publication), "two");
    assert_eq!(due.earlier, Some(Receipt::comment(7, 1)));
}

async fn a_row_that_was_withdrawn_meanwhile_does_not_leave(bench: Bench) {
    let subject = Subject::issue(repo(1), 1);
    let id = bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    let row = comment(&subject, &Slot::summary(), "one");
    bench
        .store
        .settle(&id, claimed.token, super::bench::next_stage("fix", vec![row]))
        .await
        .unwrap();
    let sending = bench.lane().await.unwrap();
    let due = bench.due(&sending).await.unwrap();
    bench.store.cancel(&id).await.unwrap();
    assert_eq!(bench.store.begin_row(&sending, due.seq).await.unwrap(), Begun::Withdrawn);
    bench.store.release_lane(&sending).await.unwrap();
}

async fn a_row_that_was_given_up_leaves_a_receipt_that_says_so(bench: Bench) {
    let id = one_row(&bench, "one").await;
    let sending = bench.lane().await.unwrap();
    let due = bench.due(&sending).await.unwrap();
    bench.store.settle_row(&sending, &due, Try::GivenUp("422".to_owned())).await.unwrap();
    let receipts = bench.store.receipts_of(&id).await.unwrap();
    assert_eq!(receipts, [(Slot::summary(), Receipt::Refused { why: "422".to_owned() })]);
}
