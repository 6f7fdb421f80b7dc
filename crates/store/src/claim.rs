//! Which job runs next: the oldest of its lane, what people wait for before automatic work, and
//! repositories in turn (J3, J5).

use std::time::Duration;

use domain::job::{Checkpoint, State};
use domain::record::Record;
use domain::task::Priority;
use domain::{Job, JobId, Lane, Task, Time};

use crate::breaker;
use crate::db::{Db, Row};
use crate::error::Error;
use crate::journal::note;
use crate::owner::Owner;
use crate::values;
use crate::{schema, sweep};

/// How long a lease lasts without a heartbeat (J2).
pub const LEASE: Duration = Duration::from_secs(30);

/// What a worker can take on right now.
#[derive(Clone, Debug)]
pub struct Hands {
    pub owner: Owner,
    /// The classes of work that the worker has a free place for, most urgent first.
    pub classes: Vec<Priority>,
    /// How many jobs of one repository may run at a time, over all processes.
    pub per_repository: u32,
    /// How many jobs this process runs already: one that must run alone waits for zero (J7).
    pub busy: usize,
}

/// A claimed job with all that its next stage starts from.
#[derive(Clone, Debug)]
pub struct Claimed {
    pub job: Job,
    /// Fences every write of this attempt.
    pub token: i64,
    pub checkpoint: Option<Checkpoint>,
    /// It died with a process before: nothing else may run beside it (J7).
    pub alone: bool,
    /// Somebody wants it stopped already.
    pub stop: bool,
}

/// The answer to a claim.
#[derive(Clone, Debug)]
pub enum Claim {
    Job(Box<Claimed>),
    /// The next job must run alone, and this process is busy: take nothing until it is not.
    WaitToBeAlone,
    /// A job was written by a version that knows more: it was put off, and others go on (J8).
    Unreadable {
        id: JobId,
        why: String,
    },
    /// There is nothing to claim; by itself something becomes due at `next`.
    Nothing {
        next: Option<Time>,
    },
}

/// Claims one job.
pub fn claim(db: &mut dyn Db, hands: &Hands) -> Result<Claim, Error> {
    db.lock("patchwright-claim")?;
    schema::check(db)?;
    let now = db.now()?;
    for class in &hands.classes {
        let Some(id) = next(db, *class, hands, now)? else { continue };
        return begin(db, &id, hands, now);
    }
    Ok(Claim::Nothing { next: sweep::next_due(db, now)? })
}

/// Finds the repository whose turn it is, and its oldest ready job of the class.
fn next(
    db: &mut dyn Db,
    class: Priority,
    hands: &Hands,
    now: Time,
) -> Result<Option<JobId>, Error> {
    // Answers are never held back by the cap: they are short, and somebody waits.
    let cap = match class {
        Priority::Talk => i64::MAX,
        Priority::Command | Priority::Automatic => i64::from(hands.per_repository),
    };
    let row = db.find(
        "SELECT r.id FROM repos r
         WHERE EXISTS (SELECT 1 FROM jobs j WHERE j.repo = r.id AND j.front = 1 AND j.state = 'queued'
             AND j.priority = $1 AND j.run_at <= $2
             AND NOT EXISTS (SELECT 1 FROM breakers w WHERE w.endpoint = j.waits_for AND w.until > $2))
           AND (SELECT count(*) FROM jobs k WHERE k.repo = r.id AND k.state = 'running') < $3
           AND NOT EXISTS (SELECT 1 FROM breakers b WHERE b.endpoint = r.connection AND b.until > $2)
         ORDER BY r.turn, r.id LIMIT 1",
        &values![class.rank(), now, cap],
    )?;
    let Some(mut row) = row else { return Ok(None) };
    let repo = row.text()?;
    let row = db.find(
        "SELECT j.id FROM jobs j WHERE j.repo = $1 AND j.front = 1 AND j.state = 'queued' AND j.priority = $2
           AND j.run_at <= $3
           AND NOT EXISTS (SELECT 1 FROM breakers w WHERE w.endpoint = j.waits_for AND w.until > $3)
         ORDER BY j.run_at, j.seq LIMIT 1",
        &values![repo, class.rank(), now],
    )?;
    row.map(|mut row| row.text().map(JobId)).transpose()
}

/// How long a job that this version cannot read is left to others.
const UNREADABLE: Duration = Duration::from_mins(1);

fn begin(db: &mut dyn Db, id: &JobId, hands: &Hands, now: Time) -> Result<Claim, Error> {
    if let Err(Error::Corrupt { why, .. }) = find(db, id).and_then(|_| checkpoint(db, id)) {
        db.execute(
            "UPDATE jobs SET run_at = $2, error = $3 WHERE id = $1",
            &values![&id.0, now + UNREADABLE, &why],
        )?;
        return Ok(Claim::Unreadable { id: id.clone(), why });
    }
    let mut row = db
        .find(
            "SELECT repo, connection, alone, lease_token, attempt, stage, waits_for, stop FROM jobs WHERE id = $1",
            &values![&id.0],
        )?
        .ok_or(Error::Absent("job"))?;
    let (repo, connection, alone) = (row.text()?, row.text()?, row.int()? != 0);
    let (old_token, attempt, stage) = (row.int()?, row.int()? + 1, row.text()?);
    let (waits_for, stop) = (row.maybe_text()?, row.maybe_text()?);
    if alone && hands.busy > 0 {
        return Ok(Claim::WaitToBeAlone);
    }
    let token = next_token(old_token)?;
    let taken = db.execute(
        "UPDATE jobs SET state = 'running', lease_owner = $2, lease_token = $3, lease_until = $4, attempt = $5,
           updated_at = $6 WHERE id = $1 AND state = 'queued'",
        &values![&id.0, hands.owner.to_string(), token, now + LEASE, attempt, now],
    )?;
    if taken == 0 {
        return Ok(Claim::Nothing { next: Some(now) });
    }
    db.execute(
        "UPDATE repos SET turn = (SELECT max(turn) + 1 FROM repos) WHERE id = $1",
        &values![&repo],
    )?;
    breaker::probe(db, &connection, now)?;
    if let Some(endpoint) = &waits_for {
        breaker::probe(db, endpoint, now)?;
    }
    db.execute(
        "INSERT INTO attempts (job_id, n, token, owner, stage, began_at) VALUES ($1, $2, $3, $4, $5, $6)",
        &values![&id.0, attempt, token, hands.owner.to_string(), &stage, now],
    )?;
    note(
        db,
        id,
        &Record::State {
            from: State::Queued.to_string(),
            to: State::Running.to_string(),
            why: None,
        },
        now,
    )?;
    let job = find(db, id)?.ok_or(Error::Absent("job"))?;
    note(db, id, &Record::StageBegan { stage: job.stage.clone(), attempt: job.attempt }, now)?;
    let checkpoint = checkpoint(db, id)?;
    Ok(Claim::Job(Box::new(Claimed { job, token, checkpoint, alone, stop: stop.is_some() })))
}

/// Returns a token that is higher than the last one by a random step: increasing, so that an old
/// holder can be told from a new one, and not to be guessed by counting.
pub fn next_token(old: i64) -> Result<i64, Error> {
    let mut random = [0u8; 2];
    getrandom::fill(&mut random)
        .map_err(|error| Error::Refused(format!("no randomness: {error}")))?;
    Ok(old + 1 + i64::from(u16::from_le_bytes(random)))
}

/// Fails with [`Error::Fenced`] unless the attempt still holds the job.
pub fn fence(db: &mut dyn Db, id: &JobId, token: i64, now: Time) -> Result<(), Error> {
    let held = db.find(
        "SELECT 1 FROM jobs WHERE id = $1 AND state = 'running' AND lease_token = $2 AND lease_until >= $3",
        &values![&id.0, token, now],
    )?;
    held.map(|_| ()).ok_or(Error::Fenced)
}

/// What a process really works on: only that is kept alive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    pub jobs: Vec<JobId>,
    pub lanes: Vec<Lane>,
}

/// Prolongs the leases of what a process works on, and returns which of its jobs somebody wants
/// stopped (J2). A lease that nobody works under any more runs out.
pub fn heartbeat(db: &mut dyn Db, owner: &Owner, held: &Held) -> Result<Vec<JobId>, Error> {
    let now = db.now()?;
    let name = owner.to_string();
    let jobs: Vec<String> = held.jobs.iter().map(|id| id.0.clone()).collect();
    let lanes: Vec<String> = held.lanes.iter().map(|lane| lane.0.clone()).collect();
    // An expired lease stays expired: somebody may already have taken the job over.
    db.execute(
        "UPDATE jobs SET lease_until = $2 WHERE id {any $4} AND lease_owner = $1 AND state = 'running'
           AND lease_until >= $3",
        &values![&name, now + LEASE, now, jobs.clone()],
    )?;
    db.execute(
        // A lease that was set to the deadline of something long is not shortened (E5).
        "UPDATE lanes SET lease_until = CASE WHEN lease_until > $2 THEN lease_until ELSE $2 END
         WHERE lane {any $4} AND lease_owner = $1 AND lease_until >= $3",
        &values![&name, now + LEASE, now, lanes],
    )?;
    let rows = db.query(
        "SELECT id FROM jobs WHERE id {any $2} AND lease_owner = $1 AND state = 'running' AND stop IS NOT NULL",
        &values![&name, jobs],
    )?;
    rows.into_iter().map(|mut row| row.text().map(JobId)).collect()
}

/// The columns of [`read`], in its order.
pub const COLUMNS: &str = "id, seq, lane, priority, state, body, stage, attempt, created_at, updated_at, run_at, \
                           waiting_since, error, event_type";

/// Reads a job from a row of [`COLUMNS`].
pub fn read(row: &mut Row) -> Result<Job, Error> {
    let corrupt = |why: String| Error::Corrupt { what: "job", why };
    Ok(Job {
        id: JobId(row.text()?),
        seq: row.int()?,
        lane: Lane(row.text()?),
        priority: {
            let rank = row.int()?;
            let known = Priority::ALL.into_iter().find(|priority| priority.rank() == rank);
            known.ok_or_else(|| corrupt(format!("priority {rank}")))?
        },
        state: row
            .text()?
            .parse()
            .map_err(|error: domain::job::UnknownState| corrupt(error.to_string()))?,
        task: row.json::<Task>("task")?,
        stage: row.text()?,
        attempt: u32::try_from(row.int()?).unwrap_or(u32::MAX),
        created_at: row.time()?,
        updated_at: row.time()?,
        run_at: row.time()?,
        waiting_since: row.maybe_time()?,
        error: row.maybe_text()?,
        event_type: row.text()?,
    })
}

/// Reads one job.
pub fn find(db: &mut dyn Db, id: &JobId) -> Result<Option<Job>, Error> {
    let sql = "SELECT id, seq, lane, priority, state, body, stage, attempt, created_at, updated_at, run_at,
                 waiting_since, error, event_type FROM jobs WHERE id = $1";
    db.find(sql, &values![&id.0])?.map(|mut row| read(&mut row)).transpose()
}

/// Reads the newest checkpoint of a job.
pub fn checkpoint(db: &mut dyn Db, id: &JobId) -> Result<Option<Checkpoint>, Error> {
    let sql = "SELECT body FROM checkpoints WHERE job_id = $1 ORDER BY n DESC LIMIT 1";
    db.find(sql, &values![&id.0])?.map(|mut row| row.json("checkpoint")).transpose()
}
