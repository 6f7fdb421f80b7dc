//! The end of a stage: checkpoint, publications and the job's next state in one transaction.

use std::time::Duration;

use domain::job::{Checkpoint, State};
use domain::record::{Record, StageResult};
use domain::{Job, JobId, Publication, Time};

use crate::breaker;
use crate::claim::{fence, find};
use crate::db::{Db, to_json};
use crate::error::Error;
use crate::journal::note;
use crate::lane::{LaneOf, publish, settle_front, withdraw};
use crate::values;

/// What became of a stage.
#[derive(Clone, Debug)]
pub enum Settlement {
    /// The stage is done and another follows at once, under the same lease.
    Next {
        stage: String,
        checkpoint: Checkpoint,
        result: StageResult,
        publications: Vec<Publication>,
    },
    /// The stage is done; the next one starts from the receipts, when all of it is sent.
    NextWhenSent {
        stage: String,
        checkpoint: Checkpoint,
        result: StageResult,
        publications: Vec<Publication>,
    },
    /// The job is over.
    End {
        state: State,
        why: Option<String>,
        result: Option<StageResult>,
        publications: Vec<Publication>,
        cancels: Cancels,
    },
    /// The attempt failed and counts; another one follows after a while.
    Again { after: Duration, error: String },
    /// Something shared is away: the attempt does not count, the job waits for it (J6).
    Wait { endpoint: String, until: Option<Time>, error: String },
    /// The process is going down: the job goes back as it was.
    Release,
}

/// Which other jobs an ending job stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cancels {
    Nobody,
    /// All other unfinished jobs of its subject.
    Subject,
}

/// What the caller should do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Go on with the next stage under the same lease.
    GoOn,
    /// The job is out of this worker's hands, in this state.
    Over(State),
}

/// How often a job is tried and how long it may wait.
#[derive(Clone, Debug)]
pub struct Patience {
    pub attempts: u32,
    pub give_up_after: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { attempts: 5, give_up_after: Duration::from_hours(24) }
    }
}

/// Makes the apology of a job that is given up. Written in the transaction that makes it dead (J7).
pub type Apology<'a> = &'a dyn Fn(&Job) -> Vec<Publication>;

/// Settles a stage of a claimed job.
pub fn settle(
    db: &mut dyn Db,
    id: &JobId,
    token: i64,
    settlement: &Settlement,
    patience: &Patience,
    apology: Apology<'_>,
) -> Result<Settled, Error> {
    let now = db.now()?;
    let job = find(db, id)?.ok_or(Error::Absent("job"))?;
    db.lock(&job.lane.0)?;
    fence(db, id, token, now)?;
    if let Some(state) = wanted_stop(db, id)? {
        // What the stage found is not wanted any more, whatever it was.
        end(db, &job, state, Some("stopped on request"), &[], now)?;
        close_attempt(db, id, token, state.as_str(), None, now)?;
        return Ok(Settled::Over(state));
    }
    let mut endpoints = vec![job.task.subject.repo.origin.to_string()];
    endpoints.extend(waits_for(db, id)?);
    match settlement {
        Settlement::Next { .. } | Settlement::NextWhenSent { .. } | Settlement::End { .. } => {
            for endpoint in &endpoints {
                breaker::answered(db, endpoint)?;
            }
        }
        Settlement::Again { .. } | Settlement::Release => {
            for endpoint in &endpoints {
                breaker::undecided(db, endpoint, now)?;
            }
        }
        // It opens the breaker anew, below.
        Settlement::Wait { .. } => {}
    }
    match settlement {
        Settlement::Next { stage, checkpoint, result, publications } => {
            advance(db, &job, stage, checkpoint, result, publications, now)?;
            db.execute(
                "UPDATE jobs SET stage = $2, updated_at = $3, waiting_since = NULL, waits_for = NULL WHERE id = $1",
                &values![&id.0, stage, now],
            )?;
            Ok(Settled::GoOn)
        }
        Settlement::NextWhenSent { stage, checkpoint, result, publications } => {
            advance(db, &job, stage, checkpoint, result, publications, now)?;
            // The next stage is a fresh attempt of its own: the one that ends here succeeded.
            release(db, &job, now, 0, None)?;
            db.execute(
                "UPDATE jobs SET stage = $2, waiting_since = NULL, waits_for = NULL WHERE id = $1",
                &values![&id.0, stage],
            )?;
            close_attempt(db, id, token, "done", None, now)?;
            settle_front(db, &job.lane.0)?;
            Ok(Settled::Over(State::Queued))
        }
        Settlement::End { state, why, result, publications, cancels } => {
            if let Some(result) = result {
                let ended = Record::StageEnded {
                    stage: job.stage.clone(),
                    attempt: job.attempt,
                    result: result.clone(),
                };
                note(db, id, &ended, now)?;
            }
            if *cancels == Cancels::Subject {
                crate::job::cancel_subject(db, &job.task.subject.id().0, id)?;
            }
            end(db, &job, *state, why.as_deref(), publications, now)?;
            close_attempt(db, id, token, state.as_str(), None, now)?;
            Ok(Settled::Over(*state))
        }
        Settlement::Again { after, error } => {
            close_attempt(db, id, token, "failed", Some(error), now)?;
            note(db, id, &failed_attempt(&job, error, Counted::Yes), now)?;
            if job.attempt >= patience.attempts {
                end(db, &job, State::Dead, Some(error), &apology(&job), now)?;
                return Ok(Settled::Over(State::Dead));
            }
            release(db, &job, now + *after, job.attempt, Some(error))?;
            settle_front(db, &job.lane.0)?;
            Ok(Settled::Over(State::Queued))
        }
        Settlement::Wait { endpoint, until, error } => {
            close_attempt(db, id, token, "waited", Some(error), now)?;
            note(db, id, &failed_attempt(&job, error, Counted::No), now)?;
            breaker::open(db, endpoint, error, *until, now)?;
            let since = job.waiting_since.unwrap_or(now);
            if now.since(since) >= patience.give_up_after {
                end(db, &job, State::Dead, Some(error), &apology(&job), now)?;
                return Ok(Settled::Over(State::Dead));
            }
            release(db, &job, now, job.attempt.saturating_sub(1), Some(error))?;
            db.execute(
                "UPDATE jobs SET waiting_since = $2, waits_for = $3 WHERE id = $1",
                &values![&id.0, since, endpoint],
            )?;
            settle_front(db, &job.lane.0)?;
            Ok(Settled::Over(State::Queued))
        }
        Settlement::Release => {
            close_attempt(db, id, token, "released", None, now)?;
            release(db, &job, now, job.attempt.saturating_sub(1), None)?;
            settle_front(db, &job.lane.0)?;
            Ok(Settled::Over(State::Queued))
        }
    }
}

/// Makes a job dead whose settlement the database refused (J7): the same words would be refused
/// again.
pub fn bury(
    db: &mut dyn Db,
    id: &JobId,
    token: i64,
    error: &str,
    apology: Apology<'_>,
) -> Result<(), Error> {
    let now = db.now()?;
    let job = find(db, id)?.ok_or(Error::Absent("job"))?;
    db.lock(&job.lane.0)?;
    fence(db, id, token, now)?;
    close_attempt(db, id, token, "failed", Some(error), now)?;
    end(db, &job, State::Dead, Some(error), &apology(&job), now)
}

/// Ends a job that nobody holds: queued, or running under a lease that is over.
pub fn end_unclaimed(
    db: &mut dyn Db,
    id: &JobId,
    state: State,
    why: &str,
    now: Time,
) -> Result<(), Error> {
    let job = find(db, id)?.ok_or(Error::Absent("job"))?;
    end(db, &job, state, Some(why), &[], now)
}

/// Ends a job: its final state, its last publications, and the lane goes on.
pub fn end(
    db: &mut dyn Db,
    job: &Job,
    state: State,
    why: Option<&str>,
    publications: &[Publication],
    now: Time,
) -> Result<(), Error> {
    if !job.state.may_become(state) {
        return Err(Error::WrongState { found: job.state, wanted: state.as_str() });
    }
    let connection = job.task.subject.repo.origin.to_string();
    let of = LaneOf { lane: &job.lane.0, connection: &connection, job_id: &job.id.0 };
    if matches!(state, State::Cancelled | State::Superseded) {
        withdraw(db, &of, why.unwrap_or(state.as_str()), now)?;
    }
    db.execute(
        "UPDATE jobs SET state = $2, error = $3, front = 0, lease_owner = NULL, lease_until = NULL, stop = NULL,
           waits_for = NULL, updated_at = $4 WHERE id = $1",
        &values![&job.id.0, state.as_str(), why.map(str::to_owned), now],
    )?;
    publish(db, &of, publications, now)?;
    let changed = Record::State {
        from: job.state.to_string(),
        to: state.to_string(),
        why: why.map(str::to_owned),
    };
    note(db, &job.id, &changed, now)?;
    settle_front(db, &job.lane.0)
}

/// Puts a job back into the queue.
pub fn release(
    db: &mut dyn Db,
    job: &Job,
    run_at: Time,
    attempt: u32,
    error: Option<&str>,
) -> Result<(), Error> {
    db.execute(
        "UPDATE jobs SET state = 'queued', front = 0, run_at = $2, attempt = $3, error = $4, alone = 0,
           lease_owner = NULL, lease_until = NULL WHERE id = $1",
        &values![&job.id.0, run_at, attempt, error.map(str::to_owned)],
    )?;
    let changed = Record::State {
        from: job.state.to_string(),
        to: State::Queued.to_string(),
        why: error.map(str::to_owned),
    };
    let now = db.now()?;
    note(db, &job.id, &changed, now)?;
    db.wake();
    Ok(())
}

/// Closes the record of an attempt: every one leaves its end (H4).
pub fn close_attempt(
    db: &mut dyn Db,
    id: &JobId,
    token: i64,
    outcome: &str,
    error: Option<&str>,
    now: Time,
) -> Result<(), Error> {
    db.execute(
        "UPDATE attempts SET ended_at = $3, outcome = $4, error = $5 WHERE job_id = $1 AND token = $2",
        &values![&id.0, token, now, outcome, error.map(str::to_owned)],
    )?;
    Ok(())
}

/// Whether an attempt that ended early was counted against the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Yes,
    No,
}

/// Returns the record of an attempt that ended early.
pub fn failed_attempt(job: &Job, error: &str, counted: Counted) -> Record {
    Record::AttemptFailed {
        stage: job.stage.clone(),
        attempt: job.attempt,
        error: error.to_owned(),
        counted: counted == Counted::Yes,
    }
}

fn advance(
    db: &mut dyn Db,
    job: &Job,
    stage: &str,
    checkpoint: &Checkpoint,
    result: &StageResult,
    publications: &[Publication],
    now: Time,
) -> Result<(), Error> {
    db.execute(
        "INSERT INTO checkpoints (job_id, n, body, at)
         SELECT CAST($1 AS TEXT), coalesce(max(n), 0) + 1, CAST($2 AS TEXT), CAST($3 AS BIGINT)
         FROM checkpoints WHERE job_id = $1",
        &values![&job.id.0, to_json("checkpoint", checkpoint)?, now],
    )?;
    let ended = Record::StageEnded {
        stage: job.stage.clone(),
        attempt: job.attempt,
        result: result.clone(),
    };
    note(db, &job.id, &ended, now)?;
    note(db, &job.id, &Record::StageBegan { stage: stage.to_owned(), attempt: job.attempt }, now)?;
    let connection = job.task.subject.repo.origin.to_string();
    let of = LaneOf { lane: &job.lane.0, connection: &connection, job_id: &job.id.0 };
    publish(db, &of, publications, now)
}

fn waits_for(db: &mut dyn Db, id: &JobId) -> Result<Option<String>, Error> {
    let row = db.find("SELECT waits_for FROM jobs WHERE id = $1", &values![&id.0])?;
    Ok(row.map(|mut row| row.maybe_text()).transpose()?.flatten())
}

fn wanted_stop(db: &mut dyn Db, id: &JobId) -> Result<Option<State>, Error> {
    let row = db.find("SELECT stop FROM jobs WHERE id = $1", &values![&id.0])?;
    let stop = row.map(|mut row| row.maybe_text()).transpose()?.flatten();
    Ok(stop.map(|stop| if stop == "superseded" { State::Superseded } else { State::Cancelled }))
}
