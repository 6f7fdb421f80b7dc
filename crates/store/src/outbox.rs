//! Publications on their way to the forge.
//!
//! A sender claims a *lane*, not a row: rows of a lane go in order (E4) and one process at a time
//! sends them (E5). A row is `trying` before its request leaves and stays so until its fate is known
//! (E2); only a row found `trying` is looked up before it is repeated.

mod batch;

use std::time::Duration;

use domain::record::Record;
use domain::{JobId, Lane, Publication, Receipt, Slot, Subject, Time};

use crate::breaker;
use crate::claim::{LEASE, next_token};
use crate::db::{Db, Row, to_json};
use crate::error::Error;
use crate::journal::note;
use crate::lane::{closing_of, settle_front};
use crate::owner::Owner;
use crate::values;
use crate::{schema, sweep};

pub use batch::{begin_together, company, divide};

/// A lane that this process may send for.
#[derive(Clone, Debug)]
pub struct Sending {
    pub lane: Lane,
    pub connection: String,
    pub token: i64,
    /// The moment until which the lease holds, by the store's clock, and the moment of the claim.
    pub claimed_at: Time,
    pub until: Time,
}

/// A row that may be sent now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    pub seq: i64,
    pub job: JobId,
    pub publication: Publication,
    /// What stands in the slot by our own account.
    pub earlier: Option<Receipt>,
    pub tries: u32,
    /// Set when an earlier send of this row has an unknown fate: since when, and how often we have
    /// looked.
    pub doubt: Option<Doubt>,
    pub created_at: Time,
    /// When the row was read, by the store's clock.
    pub read_at: Time,
    /// Rows of one job with the same name here travel together (E3).
    pub batch: Option<String>,
}

impl Due {
    /// Whether the row may travel with others: nothing of it stands anywhere, by all that we know.
    pub fn may_travel(&self) -> bool {
        self.batch.is_some() && self.doubt.is_none() && self.earlier.is_none()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doubt {
    pub since: Time,
    pub looks: u32,
}

/// Which rows of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Those that go in order.
    Main,
    /// Those that nothing waits for.
    Aside,
}

/// What became of a try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Try {
    Sent(Receipt),
    /// The forge will not have it; the lane goes on.
    GivenUp(String),
    /// It surely had no effect; try again.
    Later {
        at: Time,
        why: String,
    },
    /// It may have had its effect; look again before anything is created.
    Doubtful {
        look_at: Time,
        why: String,
    },
}

/// The answer to a claim of a lane.
#[derive(Clone, Debug)]
pub enum LaneClaim {
    Send(Sending),
    /// Nothing is due; by itself something becomes due at `next`.
    Nothing {
        next: Option<Time>,
    },
}

/// Claims the lane that has been due for longest.
pub fn claim(db: &mut dyn Db, owner: &Owner) -> Result<LaneClaim, Error> {
    db.lock("patchwright-send")?;
    schema::check(db)?;
    let now = db.now()?;
    let row = db.find(
        "SELECT l.lane, l.connection, l.lease_token FROM lanes l
         WHERE l.next_at <= $1 AND (l.lease_owner IS NULL OR l.lease_until < $1)
           AND NOT EXISTS (SELECT 1 FROM breakers b WHERE b.endpoint = l.connection AND b.until > $1)
         ORDER BY l.next_at, l.lane LIMIT 1",
        &values![now],
    )?;
    let Some(mut row) = row else {
        return Ok(LaneClaim::Nothing { next: sweep::next_due(db, now)? });
    };
    let (lane, connection, token) = (row.text()?, row.text()?, next_token(row.int()?)?);
    let until = now + LEASE;
    db.execute(
        "UPDATE lanes SET lease_owner = $2, lease_token = $3, lease_until = $4 WHERE lane = $1",
        &values![&lane, owner.to_string(), token, until],
    )?;
    breaker::probe(db, &connection, now)?;
    Ok(LaneClaim::Send(Sending { lane: Lane(lane), connection, token, claimed_at: now, until }))
}

/// Returns the row that comes next, if it is due.
pub fn next(db: &mut dyn Db, sending: &Sending, queue: Queue) -> Result<Option<Due>, Error> {
    let now = db.now()?;
    hold(db, sending, now)?;
    let sql = match queue {
        // Only the first may go: if it is not due, those behind it wait.
        Queue::Main => {
            "SELECT seq, job_id, body, tries, state, tried_at, looks, created_at, try_at, batch FROM outbox
             WHERE lane = $1 AND state IN ('waiting', 'trying') AND aside = 0 ORDER BY seq LIMIT 1"
        }
        Queue::Aside => {
            "SELECT seq, job_id, body, tries, state, tried_at, looks, created_at, try_at, batch FROM outbox
             WHERE lane = $1 AND state IN ('waiting', 'trying') AND aside = 1 ORDER BY try_at, seq LIMIT 1"
        }
    };
    let Some(row) = db.find(sql, &values![&sending.lane.0])? else { return Ok(None) };
    due(db, row, now)
}

/// Reads a row if it is due.
fn due(db: &mut dyn Db, mut row: Row, now: Time) -> Result<Option<Due>, Error> {
    let (seq, job) = (row.int()?, JobId(row.text()?));
    let publication: Publication = row.json("publication")?;
    let (tries, state) = (row.int()?, row.text()?);
    let (tried_at, looks) = (row.maybe_time()?, row.int()?);
    let (created_at, try_at) = (row.time()?, row.time()?);
    let batch = row.maybe_text()?;
    if try_at > now {
        return Ok(None);
    }
    let doubt = (state == "trying").then(|| Doubt {
        since: tried_at.unwrap_or(created_at),
        looks: u32::try_from(looks).unwrap_or(u32::MAX),
    });
    let earlier = receipt(db, &publication.subject, &publication.slot)?;
    let tries = u32::try_from(tries).unwrap_or(u32::MAX);
    Ok(Some(Due { seq, job, publication, earlier, tries, doubt, created_at, read_at: now, batch }))
}

/// Whether a row may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is marked; the lease still lasts for so long (E5).
    Leave(Duration),
    /// Its job was stopped meanwhile: it must not leave.
    Withdrawn,
}

/// Marks a row as being sent, before its request leaves (E2).
pub fn begin(db: &mut dyn Db, sending: &Sending, seq: i64) -> Result<Begun, Error> {
    let now = db.now()?;
    let until = hold(db, sending, now)?;
    let touched = db.execute(
        "UPDATE outbox SET state = 'trying', tries = tries + 1, tried_at = $2, looks = 0
         WHERE seq = $1 AND state IN ('waiting', 'trying')",
        &values![seq, now],
    )?;
    Ok(if touched == 0 { Begun::Withdrawn } else { Begun::Leave(until.since(now)) })
}

/// Returns how long the lease of a lane still lasts.
pub fn left(db: &mut dyn Db, sending: &Sending) -> Result<Duration, Error> {
    let now = db.now()?;
    Ok(hold(db, sending, now)?.since(now))
}

/// Sets the lease of a lane to the deadline of something that takes longer than a request (E5), and
/// returns how long it lasts now.
pub fn stretch(db: &mut dyn Db, sending: &Sending, lasting: Duration) -> Result<Duration, Error> {
    let now = db.now()?;
    let until = hold(db, sending, now)?.max(now + lasting);
    db.execute(
        "UPDATE lanes SET lease_until = $2 WHERE lane = $1",
        &values![&sending.lane.0, until],
    )?;
    Ok(until.since(now))
}

/// Writes down what became of a row.
pub fn settle(
    db: &mut dyn Db,
    sending: &Sending,
    due: &Due,
    outcome: &Try,
    give_up_after: Duration,
) -> Result<(), Error> {
    let now = db.now()?;
    db.lock(&sending.lane.0)?;
    hold(db, sending, now)?;
    let overdue = now.since(due.created_at) >= give_up_after;
    match outcome {
        Try::Sent(receipt) => {
            db.execute(
                "UPDATE outbox SET state = 'sent', sent_at = $2 WHERE seq = $1",
                &values![due.seq, now],
            )?;
            keep_receipt(db, sending, due, receipt, now)?;
            breaker::answered(db, &sending.connection)?;
            told(db, due, &sent_words(receipt), now)?;
        }
        Try::GivenUp(why) => {
            breaker::answered(db, &sending.connection)?;
            give_up(db, sending, due, why, now)?;
        }
        Try::Later { why, .. } if overdue => give_up(db, sending, due, why, now)?,
        Try::Doubtful { why, .. } if overdue => give_up(db, sending, due, why, now)?,
        Try::Later { at, why } => {
            db.execute(
                "UPDATE outbox SET state = 'waiting', try_at = $2, reason = $3 WHERE seq = $1",
                &values![due.seq, *at, why],
            )?;
        }
        Try::Doubtful { look_at, why } => {
            db.execute(
                "UPDATE outbox SET state = 'trying', try_at = $2, looks = looks + 1, reason = $3 WHERE seq = $1",
                &values![due.seq, *look_at, why],
            )?;
        }
    }
    // Whoever found the forge away has opened its breaker anew, and is no probe any more.
    breaker::undecided(db, &sending.connection, now)?;
    settle_front(db, &sending.lane.0)
}

/// Gives the lane back, due when its next row is.
pub fn release(db: &mut dyn Db, sending: &Sending) -> Result<(), Error> {
    let now = db.now()?;
    db.lock(&sending.lane.0)?;
    hold(db, sending, now)?;
    let main = db.find(
        "SELECT try_at FROM outbox WHERE lane = $1 AND state IN ('waiting', 'trying') AND aside = 0 ORDER BY seq LIMIT 1",
        &values![&sending.lane.0],
    )?;
    let aside = db.find(
        "SELECT try_at FROM outbox WHERE lane = $1 AND state IN ('waiting', 'trying') AND aside = 1 ORDER BY try_at LIMIT 1",
        &values![&sending.lane.0],
    )?;
    let mut next: Option<Time> = None;
    for row in [main, aside] {
        let Some(mut row) = row else { continue };
        let at = row.time()?;
        next = Some(next.map_or(at, |known: Time| known.min(at)));
    }
    match next {
        None => db.execute("DELETE FROM lanes WHERE lane = $1", &values![&sending.lane.0])?,
        Some(at) => db.execute(
            "UPDATE lanes SET lease_owner = NULL, lease_until = NULL, next_at = $2 WHERE lane = $1",
            &values![&sending.lane.0, at],
        )?,
    };
    settle_front(db, &sending.lane.0)?;
    db.wake();
    Ok(())
}

/// Returns what stands in a slot by our own account.
pub fn receipt(db: &mut dyn Db, subject: &Subject, slot: &Slot) -> Result<Option<Receipt>, Error> {
    let row = db.find(
        "SELECT body FROM receipts WHERE subject = $1 AND slot = $2",
        &values![subject.id().0, slot.as_str()],
    )?;
    row.map(|mut row| row.json("receipt")).transpose()
}

/// Returns all receipts that a job left, by slot.
pub fn receipts_of(db: &mut dyn Db, job: &JobId) -> Result<Vec<(Slot, Receipt)>, Error> {
    let rows = db.query(
        "SELECT slot, body FROM receipts WHERE job_id = $1 ORDER BY slot",
        &values![&job.0],
    )?;
    let mut receipts = Vec::new();
    for mut row in rows {
        let slot = row.text()?;
        let slot = Slot::parse(&slot).ok_or(Error::Corrupt { what: "slot", why: slot })?;
        receipts.push((slot, row.json("receipt")?));
    }
    Ok(receipts)
}

/// Returns how many publications of a job are still on their way.
pub fn unsent_of(db: &mut dyn Db, job: &JobId) -> Result<i64, Error> {
    let sql = "SELECT count(*) FROM outbox WHERE job_id = $1 AND state IN ('waiting', 'trying')";
    db.find(sql, &values![&job.0])?.ok_or(Error::Absent("count"))?.int()
}

/// Returns why publications of a job that somebody was to see were given up.
pub fn given_up_of(db: &mut dyn Db, job: &JobId) -> Result<Vec<String>, Error> {
    let sql = "SELECT coalesce(reason, '') FROM outbox WHERE job_id = $1 AND state = 'given-up' AND aside = 0 ORDER BY seq";
    db.query(sql, &values![&job.0])?.into_iter().map(|mut row| row.text()).collect()
}

/// Fails with [`Error::Fenced`] unless this process still sends for the lane; returns until when.
fn hold(db: &mut dyn Db, sending: &Sending, now: Time) -> Result<Time, Error> {
    let row = db.find(
        "SELECT lease_until FROM lanes WHERE lane = $1 AND lease_token = $2 AND lease_until >= $3",
        &values![&sending.lane.0, sending.token, now],
    )?;
    row.ok_or(Error::Fenced)?.time()
}

fn keep_receipt(
    db: &mut dyn Db,
    sending: &Sending,
    due: &Due,
    receipt: &Receipt,
    now: Time,
) -> Result<(), Error> {
    let closing = closing_of(&due.publication);
    let closing = closing.map(|closing| to_json("closing", &closing)).transpose()?;
    db.execute(
        "INSERT INTO receipts (subject, slot, job_id, lane, body, closing, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (subject, slot) DO UPDATE SET job_id = excluded.job_id, lane = excluded.lane,
           body = excluded.body, closing = excluded.closing, at = excluded.at",
        &values![
            due.publication.subject.id().0,
            due.publication.slot.as_str(),
            &due.job.0,
            &sending.lane.0,
            to_json("receipt", receipt)?,
            closing,
            now
        ],
    )?;
    Ok(())
}

fn give_up(
    db: &mut dyn Db,
    sending: &Sending,
    due: &Due,
    why: &str,
    now: Time,
) -> Result<(), Error> {
    db.execute(
        "UPDATE outbox SET state = 'given-up', reason = $2, sent_at = $3 WHERE seq = $1",
        &values![due.seq, why, now],
    )?;
    // A stage that waits for what was published must learn of it. What stood there before still does.
    if due.earlier.is_none() && !due.publication.effect.is_aside() {
        keep_receipt(db, sending, due, &Receipt::Refused { why: why.to_owned() }, now)?;
    }
    told(db, due, &format!("given up: {why}"), now)
}

fn told(db: &mut dyn Db, due: &Due, outcome: &str, now: Time) -> Result<(), Error> {
    let record = Record::Publication {
        slot: due.publication.slot.to_string(),
        effect: due.publication.effect.name().to_owned(),
        outcome: outcome.to_owned(),
    };
    note(db, &due.job, &record, now)
}

fn sent_words(receipt: &Receipt) -> String {
    match receipt {
        Receipt::Comment { id, moved: None, .. } => format!("sent as comment {id}"),
        Receipt::Comment { id, moved: Some(why), .. } => {
            format!("sent as comment {id}, not where it was to stand: {why}")
        }
        Receipt::Change { number, .. } => format!("opened as change {number}"),
        Receipt::Commit { id } => format!("stands at {id}"),
        Receipt::Done => "sent".to_owned(),
        Receipt::Refused { why } => format!("refused: {why}"),
        Receipt::Yielded { why } => format!("yielded: {why}"),
    }
}
