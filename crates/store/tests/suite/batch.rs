//! Rows that travel together (E3): each keeps its own fate.

use std::time::Duration;

use domain::anchor::{Line, LineKind, Side, Spot};
use domain::publication::{CommentBody, Effect, Inline};
use domain::{Publication, Receipt, Slot, Subject};
use store::claim::{Held, LEASE};
use store::outbox::{Begun, Due, Sending, Try};

use super::bench::{Bench, comment, fix, over_both, repo};

over_both!(
    e3_rows_of_a_batch_travel_together_up_to_what_stands_in_between,
    e3_a_refused_batch_is_divided_until_each_stands_alone,
    e3_whoever_dies_with_a_batch_under_way_leaves_each_row_in_doubt,
    e3_a_batch_of_which_one_was_withdrawn_does_not_leave,
    e5_a_lease_that_was_stretched_is_not_shortened_by_a_heartbeat,
);

fn inline(n: u64, batch: &str) -> Publication {
    Publication {
        subject: Subject::issue(repo(1), 1),
        slot: Slot::reply(&format!("f{n}")),
        effect: Effect::Inline(Inline {
            body: CommentBody {
                kind: "finding".to_owned(),
                markdown: format!("finding {n}"),
                claim: None,
                closing: None,
            },
            at: Spot {
                path: "a.rs".to_owned(),
                old_path: None,
                side: Side::New,
                start: None,
                line: Line { kind: LineKind::Added, old: n, new: n },
                commit: "c0".to_owned(),
            },
            suggestion: None,
            batch: Some(batch.to_owned()),
        }),
    }
}

async fn published(bench: &Bench, publications: Vec<Publication>) -> Sending {
    bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    bench.end(&claimed, publications).await;
    bench.lane().await.unwrap()
}

/// The rows that go out together next, by the slot of each.
async fn next(bench: &Bench, sending: &Sending) -> Vec<Due> {
    let Some(first) = bench.due(sending).await else { return Vec::new() };
    let mut rows = vec![first.clone()];
    if first.may_travel() {
        rows.extend(bench.store.company(sending, &first, 50).await.unwrap());
    }
    rows
}

fn slots(rows: &[Due]) -> Vec<String> {
    rows.iter().map(|row| row.publication.slot.to_string()).collect()
}

fn seqs(rows: &[Due]) -> Vec<i64> {
    rows.iter().map(|row| row.seq).collect()
}

async fn e3_rows_of_a_batch_travel_together_up_to_what_stands_in_between(bench: Bench) {
    let summary = comment(&Subject::issue(repo(1), 1), &Slot::summary(), "text");
    let sending = published(
        &bench,
        vec![inline(1, "a"), inline(2, "a"), inline(3, "b"), summary, inline(4, "b")],
    )
    .await;
    let mut order = Vec::new();
    loop {
        let rows = next(&bench, &sending).await;
        if rows.is_empty() {
            break;
        }
        order.push(slots(&rows).join(" "));
        for row in &rows {
            bench.store.settle_row(&sending, row, Try::Sent(Receipt::Done)).await.unwrap();
        }
    }
    assert_eq!(order, ["reply:f1 reply:f2", "reply:f3", "summary", "reply:f4"]);
}

async fn e3_a_refused_batch_is_divided_until_each_stands_alone(bench: Bench) {
    let sending = published(&bench, (1..=5).map(|n| inline(n, "a")).collect()).await;
    let (mut asked, mut sent) = (Vec::new(), Vec::new());
    loop {
        let rows = next(&bench, &sending).await;
        if rows.is_empty() {
            break;
        }
        asked.push(slots(&rows).join(" "));
        bench.store.begin_together(&sending, seqs(&rows)).await.unwrap();
        // The forge takes no batch with the fourth comment in it.
        if rows.len() > 1 && slots(&rows).contains(&"reply:f4".to_owned()) {
            bench.store.divide_batch(&sending, seqs(&rows)).await.unwrap();
            continue;
        }
        for row in &rows {
            sent.push(row.publication.slot.to_string());
            bench.store.settle_row(&sending, row, Try::Sent(Receipt::Done)).await.unwrap();
        }
    }
    assert_eq!(sent, ["reply:f1", "reply:f2", "reply:f3", "reply:f4", "reply:f5"]);
    assert_eq!(
        asked,
        [
            "reply:f1 reply:f2 reply:f3 reply:f4 reply:f5",
            "reply:f1 reply:f2",
            "reply:f3 reply:f4 reply:f5",
            "reply:f3",
            "reply:f4 reply:f5",
            "reply:f4",
            "reply:f5",
        ]
    );
}

async fn e3_whoever_dies_with_a_batch_under_way_leaves_each_row_in_doubt(bench: Bench) {
    let sending = published(&bench, vec![inline(1, "a"), inline(2, "a")]).await;
    let rows = next(&bench, &sending).await;
    let begun = bench.store.begin_together(&sending, seqs(&rows)).await.unwrap();
    assert_eq!(begun, Begun::Leave(LEASE));
    bench.advance(LEASE + Duration::from_secs(1));
    let sending = bench.lane().await.unwrap();
    let first = bench.due(&sending).await.unwrap();
    assert!(first.doubt.is_some() && !first.may_travel(), "it is looked up, not sent again");
    bench.store.settle_row(&sending, &first, Try::Sent(Receipt::Done)).await.unwrap();
    let second = bench.due(&sending).await.unwrap();
    assert!(second.doubt.is_some());
}

async fn e3_a_batch_of_which_one_was_withdrawn_does_not_leave(bench: Bench) {
    let id = bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    let rows = vec![inline(1, "a"), inline(2, "a")];
    bench.store.settle(&id, claimed.token, super::bench::next_stage("fix", rows)).await.unwrap();
    let sending = bench.lane().await.unwrap();
    let rows = next(&bench, &sending).await;
    bench.store.cancel(&id).await.unwrap();
    let begun = bench.store.begin_together(&sending, seqs(&rows)).await.unwrap();
    assert_eq!(begun, Begun::Withdrawn);
    assert!(next(&bench, &sending).await.is_empty());
}

async fn e5_a_lease_that_was_stretched_is_not_shortened_by_a_heartbeat(bench: Bench) {
    let sending = published(&bench, vec![inline(1, "a")]).await;
    let long = LEASE * 4;
    assert_eq!(bench.store.stretch_lane(&sending, long).await.unwrap(), long);
    assert_eq!(bench.store.stretch_lane(&sending, LEASE).await.unwrap(), long);
    let (store, owner) = (bench.store.clone(), bench.owner.clone());
    let held = Held { jobs: Vec::new(), lanes: vec![sending.lane.clone()] };
    let beat = tokio::task::spawn_blocking(move || store.heartbeat_blocking(&owner, held));
    beat.await.unwrap().unwrap();
    assert_eq!(bench.store.lane_left(&sending).await.unwrap(), long);
    bench.advance(LEASE * 2);
    assert!(bench.lane().await.is_none(), "nobody else may send meanwhile");
}
