//! The order of a lane: which job may run, and which rows may be sent.
//!
//! Two rules meet here. Only the oldest unfinished job of a lane may be claimed (J3), and only when
//! every row that the lane published is sent or given up (E4). [`settle_front`] restores both after
//! anything in the lane changed. Whoever adds jobs asks [`occupied`] instead, once for many lanes: a
//! new job is the youngest of its lane, so it is in front only where nothing is before it.

use std::collections::HashSet;

use domain::publication::Effect;
use domain::{Publication, SubjectKind, Time};

use crate::db::{Db, to_json};
use crate::error::Error;
use crate::values;

/// A lane as the store addresses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneOf<'a> {
    pub lane: &'a str,
    pub connection: &'a str,
    pub job_id: &'a str,
}

/// Marks the job that may run next, if one may. Callers hold the lane's lock.
pub fn settle_front(db: &mut dyn Db, lane: &str) -> Result<(), Error> {
    let pending = db
        .find(
            "SELECT 1 FROM outbox WHERE lane = $1 AND state IN ('waiting', 'trying') AND aside = 0 LIMIT 1",
            &values![lane],
        )?
        .is_some();
    let oldest = db.find(
        "SELECT seq, state, front FROM jobs WHERE lane = $1 AND state IN ('queued', 'running') ORDER BY seq LIMIT 1",
        &values![lane],
    )?;
    let Some(mut row) = oldest else { return Ok(()) };
    let (seq, state, front) = (row.int()?, row.text()?, row.int()?);
    // A job that an operator queued again may be older than the one that was in front.
    db.execute("UPDATE jobs SET front = 0 WHERE lane = $1 AND state = 'queued' AND front = 1 AND seq <> $2", &values![
        lane, seq
    ])?;
    let running = state == "running"
        || db
            .find(
                "SELECT 1 FROM jobs WHERE lane = $1 AND state = 'running' LIMIT 1",
                &values![lane],
            )?
            .is_some();
    let wanted = i64::from(!pending && !running);
    if state == "queued" && front != wanted {
        db.execute("UPDATE jobs SET front = $2 WHERE seq = $1", &values![seq, wanted])?;
        if wanted == 1 {
            db.wake();
        }
    }
    Ok(())
}

/// Returns those of the lanes in which a new job would have to wait. Callers hold the lanes' locks.
pub fn occupied(db: &mut dyn Db, lanes: Vec<String>) -> Result<HashSet<String>, Error> {
    // With a limit each lane is looked up by itself: PostgreSQL would rather list all lanes first.
    let rows = db.query(
        "SELECT value FROM {each $1}
         WHERE (SELECT 1 FROM jobs WHERE lane = value AND state IN ('queued', 'running') LIMIT 1) IS NOT NULL
            OR (SELECT 1 FROM outbox WHERE lane = value AND state IN ('waiting', 'trying') AND aside = 0 LIMIT 1)
               IS NOT NULL",
        &values![lanes],
    )?;
    rows.into_iter().map(|mut row| row.text()).collect()
}

/// Adds publications to the outbox of a lane, in order, and makes the lane known to senders.
pub fn publish(
    db: &mut dyn Db,
    of: &LaneOf<'_>,
    publications: &[Publication],
    now: Time,
) -> Result<(), Error> {
    // A branch has no conversation: what was to be said there has nowhere to stand.
    let publications: Vec<_> = publications
        .iter()
        .filter(|publication| {
            publication.subject.kind != SubjectKind::Branch
                || !publication.effect.needs_conversation()
        })
        .collect();
    for publication in &publications {
        db.execute(
            "INSERT INTO outbox (job_id, lane, subject, slot, aside, state, body, try_at, created_at, batch)
             VALUES ($1, $2, $3, $4, $5, 'waiting', $6, $7, $7, $8)",
            &values![
                of.job_id,
                of.lane,
                publication.subject.id().0,
                publication.slot.as_str(),
                i64::from(publication.effect.is_aside()),
                to_json("publication", publication)?,
                now,
                batch_of(publication)
            ],
        )?;
    }
    if !publications.is_empty() {
        announce(db, of, now)?;
    }
    Ok(())
}

/// Makes a lane known to senders, due at `at` or when it already was.
pub fn announce(db: &mut dyn Db, of: &LaneOf<'_>, at: Time) -> Result<(), Error> {
    db.execute(
        "INSERT INTO lanes (lane, connection, next_at) VALUES ($1, $2, $3)
         ON CONFLICT (lane) DO UPDATE SET next_at = CASE WHEN lanes.next_at < excluded.next_at
           THEN lanes.next_at ELSE excluded.next_at END",
        &values![of.lane, of.connection, at],
    )?;
    db.wake();
    Ok(())
}

/// Withdraws the unsent rows of a job, and closes what it left visible and unfinished (E4). A row
/// whose send is under way cannot be taken back; it is closed like one that was sent.
pub fn withdraw(db: &mut dyn Db, of: &LaneOf<'_>, why: &str, now: Time) -> Result<(), Error> {
    db.execute(
        "UPDATE outbox SET state = 'withdrawn', reason = $2 WHERE job_id = $1 AND state = 'waiting'",
        &values![of.job_id, why],
    )?;
    let mut closings = Vec::new();
    for mut row in db.query(
        "SELECT closing FROM receipts WHERE job_id = $1 AND closing IS NOT NULL ORDER BY at, slot",
        &values![of.job_id],
    )? {
        closings.push(row.json::<Publication>("closing")?);
    }
    db.execute("UPDATE receipts SET closing = NULL WHERE job_id = $1", &values![of.job_id])?;
    for mut row in db.query(
        "SELECT body FROM outbox WHERE job_id = $1 AND state = 'trying' ORDER BY seq",
        &values![of.job_id],
    )? {
        let under_way: Publication = row.json("publication")?;
        closings.extend(closing_of(&under_way));
    }
    publish(db, of, &closings, now)
}

/// Returns the publication that closes an unfinished one.
pub fn closing_of(publication: &Publication) -> Option<Publication> {
    let effect = publication.effect.closing()?;
    Some(Publication { effect, ..publication.clone() })
}

/// Returns the name under which the row travels with others of its job.
fn batch_of(publication: &Publication) -> Option<String> {
    match &publication.effect {
        Effect::Inline(inline) => inline.batch.clone(),
        _ => None,
    }
}
