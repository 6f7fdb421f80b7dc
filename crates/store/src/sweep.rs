//! What must happen although nobody asks: leases that ran out, memory that nobody needs any more.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::job::State;
use domain::{JobId, Time};

use crate::breaker;
use crate::claim::find;
use crate::db::Db;
use crate::error::Error;
use crate::journal::note;
use crate::lane::settle_front;
use crate::owner::Owner;
use crate::settle::{Apology, Counted, Patience, close_attempt, end, failed_attempt, release};
use crate::values;

/// Ends the leases that ran out, and puts their jobs back. Returns how many.
pub fn expired(db: &mut dyn Db, patience: &Patience, apology: Apology<'_>) -> Result<usize, Error> {
    let now = db.now()?;
    let rows = db.query(
        "SELECT id FROM jobs WHERE state = 'running' AND lease_until < $1 ORDER BY seq LIMIT 200",
        &values![now],
    )?;
    let ids: Vec<JobId> =
        rows.into_iter().map(|mut row| row.text().map(JobId)).collect::<Result<_, Error>>()?;
    for id in &ids {
        died(db, id, &Death::Expired, now, patience, apology)?;
    }
    if !ids.is_empty() {
        breaker::abandoned(db, now)?;
    }
    Ok(ids.len())
}

/// Takes back, at start, the leases of processes on this host that are known to be dead (J2).
/// Returns how many jobs and lanes were freed.
pub fn take_back(
    db: &mut dyn Db,
    patience: &Patience,
    apology: Apology<'_>,
) -> Result<usize, Error> {
    let now = db.now()?;
    let mut dead = BTreeSet::new();
    let rows = db.query(
        "SELECT DISTINCT lease_owner FROM jobs WHERE state = 'running' AND lease_owner IS NOT NULL
         UNION SELECT DISTINCT lease_owner FROM lanes WHERE lease_owner IS NOT NULL",
        &[],
    )?;
    for mut row in rows {
        let name = row.text()?;
        if Owner::parse(&name).is_some_and(|owner| owner.is_known_dead()) {
            dead.insert(name);
        }
    }
    let mut freed = 0;
    for name in dead {
        let rows = db.query(
            "SELECT id FROM jobs WHERE state = 'running' AND lease_owner = $1",
            &values![&name],
        )?;
        for mut row in rows {
            died(db, &JobId(row.text()?), &Death::Of(name.clone()), now, patience, apology)?;
            freed += 1;
        }
        freed += usize::try_from(db.execute(
            "UPDATE lanes SET lease_owner = NULL, lease_until = NULL WHERE lease_owner = $1",
            &values![&name],
        )?)
        .unwrap_or(0);
    }
    if freed > 0 {
        breaker::abandoned(db, now)?;
        db.wake();
    }
    Ok(freed)
}

/// Forgets what has lost its use: expired keys, old finished jobs with all that belongs to them,
/// budgets of past days. What a job left on the forge (receipts) is never forgotten.
pub fn forget(db: &mut dyn Db, retention: Duration) -> Result<usize, Error> {
    let now = db.now()?;
    db.execute("DELETE FROM taken WHERE until IS NOT NULL AND until < $1", &values![now])?;
    db.execute("DELETE FROM budgets WHERE day < $1", &values![domain::budget::day(now) - 1])?;
    let rows = db.query(
        "SELECT id FROM jobs j WHERE state NOT IN ('queued', 'running') AND updated_at < $1
           AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.job_id = j.id AND o.state IN ('waiting', 'trying'))
         ORDER BY updated_at LIMIT 500",
        &values![now - retention],
    )?;
    let mut forgotten = 0;
    for mut row in rows {
        let id = row.text()?;
        for sql in [
            "DELETE FROM deliveries WHERE job_id = $1",
            "DELETE FROM attempts WHERE job_id = $1",
            "DELETE FROM checkpoints WHERE job_id = $1",
            "DELETE FROM journal WHERE job_id = $1",
            "DELETE FROM records WHERE job_id = $1",
            "DELETE FROM outbox WHERE job_id = $1",
            "DELETE FROM artifacts WHERE job_id = $1",
            "DELETE FROM jobs WHERE id = $1",
        ] {
            db.execute(sql, &values![&id])?;
        }
        forgotten += 1;
    }
    Ok(forgotten)
}

/// Returns the next moment at which something becomes due by itself. What is due already is not
/// counted: whoever can take it is woken by a change, not by time.
///
/// `now` is the moment at which nothing was found: what became due since then must be counted, or
/// whoever asks would sleep over it.
pub fn next_due(db: &mut dyn Db, now: Time) -> Result<Option<Time>, Error> {
    let row = db.find(
        "SELECT min(at) FROM (
           SELECT min(run_at) AS at FROM jobs WHERE front = 1 AND state = 'queued' AND run_at > $1
           UNION ALL SELECT min(lease_until) + 1 FROM jobs WHERE state = 'running'
           UNION ALL SELECT min(next_at) FROM lanes WHERE lease_owner IS NULL AND next_at > $1
           UNION ALL SELECT min(lease_until) + 1 FROM lanes WHERE lease_owner IS NOT NULL
           UNION ALL SELECT min(until) FROM breakers WHERE until > $1
         ) AS due",
        &values![now],
    )?;
    Ok(row.map(|mut row| row.maybe_time()).transpose()?.flatten())
}

/// How much there is left to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// Somebody works, or could begin at once.
    Busy,
    /// Nothing can be done before this moment.
    Until(Time),
    /// Every job is final and every row is sent, given up or withdrawn.
    Settled,
}

/// Says whether everything is done.
pub fn rest(db: &mut dyn Db) -> Result<Rest, Error> {
    let now = db.now()?;
    let open = db.find(
        "SELECT 1 FROM jobs WHERE state IN ('queued', 'running') UNION ALL SELECT 1 FROM lanes LIMIT 1",
        &[],
    )?;
    if open.is_none() {
        return Ok(Rest::Settled);
    }
    let busy = db.find(
        "SELECT 1 FROM jobs WHERE state = 'running'
         UNION ALL SELECT 1 FROM lanes WHERE lease_owner IS NOT NULL
         UNION ALL SELECT 1 FROM jobs j WHERE j.front = 1 AND j.state = 'queued' AND j.run_at <= $1
           AND NOT EXISTS (SELECT 1 FROM breakers b
             WHERE (b.endpoint = j.connection OR b.endpoint = j.waits_for) AND b.until > $1)
         UNION ALL SELECT 1 FROM lanes l WHERE l.lease_owner IS NULL AND l.next_at <= $1
           AND NOT EXISTS (SELECT 1 FROM breakers b WHERE b.endpoint = l.connection AND b.until > $1)
         LIMIT 1",
        &values![now],
    )?;
    match (busy, next_due(db, now)?) {
        (None, Some(at)) => Ok(Rest::Until(at)),
        _ => Ok(Rest::Busy),
    }
}

/// Why a running job is taken for dead.
enum Death {
    /// Its lease ran out.
    Expired,
    /// Its owner is known to be dead.
    Of(String),
}

/// A job's process died: the attempt counts, and the next one runs alone (J7).
fn died(
    db: &mut dyn Db,
    id: &JobId,
    death: &Death,
    now: Time,
    patience: &Patience,
    apology: Apology<'_>,
) -> Result<(), Error> {
    let found = match find(db, id) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(()),
        // A version that can read it will sweep it; the others must not wait for that.
        Err(Error::Corrupt { .. }) => return Ok(()),
        Err(error) => return Err(error),
    };
    db.lock(&found.lane.0)?;
    // Read again under the lock: its owner may have settled it meanwhile.
    let Some(job) = find(db, id)? else { return Ok(()) };
    if job.state != State::Running {
        return Ok(());
    }
    let mut row = db
        .find(
            "SELECT lease_token, stop, lease_until, lease_owner FROM jobs WHERE id = $1",
            &values![&id.0],
        )?
        .ok_or(Error::Absent("job"))?;
    let (token, stop) = (row.int()?, row.maybe_text()?);
    let (until, owner) = (row.maybe_time()?, row.maybe_text()?);
    // While we waited for the lane its owner may have prolonged the lease, or somebody claimed it.
    let still_dead = match death {
        Death::Expired => until.is_none_or(|until| until < now),
        Death::Of(name) => owner.as_ref() == Some(name),
    };
    if !still_dead {
        return Ok(());
    }
    let error = "the process that ran it died or lost its lease";
    close_attempt(db, id, token, "died", Some(error), now)?;
    note(db, id, &failed_attempt(&job, error, Counted::Yes), now)?;
    if let Some(stop) = stop {
        let state = if stop == "superseded" { State::Superseded } else { State::Cancelled };
        return end(db, &job, state, Some("stopped on request"), &[], now);
    }
    if job.attempt >= patience.attempts {
        return end(db, &job, State::Dead, Some(error), &apology(&job), now);
    }
    release(db, &job, now, job.attempt, Some(error))?;
    db.execute("UPDATE jobs SET alone = 1 WHERE id = $1", &values![&id.0])?;
    settle_front(db, &job.lane.0)
}
