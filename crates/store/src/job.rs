//! Questions about jobs, and an operator's orders.

use std::collections::BTreeMap;

use domain::job::State;
use domain::record::{Record, StageResult};
use domain::task::Priority;
use domain::{Job, JobId, Repo, Time};

use crate::claim::{fence, find, read};
use crate::db::{Db, Value, to_json};
use crate::error::Error;
use crate::journal::note;
use crate::lane::{LaneOf, settle_front, withdraw};
use crate::settle::{close_attempt, end, release};
use crate::values;

/// Which jobs to list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    pub state: Option<State>,
    /// A task's name.
    pub task: Option<String>,
    /// A repository's full name.
    pub repo: Option<String>,
    /// Only those before this job in the list (the cursor).
    pub before: Option<i64>,
    pub limit: u32,
}

/// A job with what it did so far.
#[derive(Clone, Debug)]
pub struct Detail {
    pub job: Job,
    pub stages: Vec<(String, StageResult)>,
    pub attempts: Vec<Attempt>,
    pub delivery: Option<Delivery>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    pub n: i64,
    pub stage: String,
    pub began_at: Time,
    pub ended_at: Option<Time>,
    pub outcome: Option<String>,
    pub error: Option<String>,
}

/// The delivery that made a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub host: String,
    pub id: Option<String>,
    pub body: Vec<u8>,
}

/// Lists jobs, newest first.
pub fn list(db: &mut dyn Db, filter: &Filter) -> Result<Vec<Job>, Error> {
    let rows = db.query(
        "SELECT j.id, j.seq, j.lane, j.priority, j.state, j.body, j.stage, j.attempt, j.created_at, j.updated_at,
           j.run_at, j.waiting_since, j.error, j.event_type
         FROM jobs j JOIN repos r ON r.id = j.repo
         WHERE ($1 = '' OR j.state = $1) AND ($2 = '' OR j.task = $2) AND ($3 = '' OR lower(r.name) = lower($3))
           AND j.seq < $4
         ORDER BY j.seq DESC LIMIT $5",
        &values![
            filter.state.map_or("", State::as_str),
            filter.task.clone().unwrap_or_default(),
            filter.repo.clone().unwrap_or_default(),
            filter.before.unwrap_or(i64::MAX),
            filter.limit
        ],
    )?;
    rows.into_iter().map(|mut row| read(&mut row)).collect()
}

/// Returns the jobs of a subject that are unfinished, oldest first, and the last few that ended.
pub fn of_subject(db: &mut dyn Db, subject: &str, ended: u32) -> Result<Vec<Job>, Error> {
    let columns =
        "id, seq, lane, priority, state, body, stage, attempt, created_at, updated_at, run_at,
                   waiting_since, error, event_type";
    let open = format!(
        "SELECT {columns} FROM jobs WHERE subject = $1 AND state IN ('queued', 'running') ORDER BY seq LIMIT 100"
    );
    let done = format!(
        "SELECT {columns} FROM jobs WHERE subject = $1 AND state NOT IN ('queued', 'running')
         ORDER BY seq DESC LIMIT $2"
    );
    let mut jobs = Vec::new();
    for mut row in db.query(&open, &values![subject])? {
        jobs.push(read(&mut row)?);
    }
    for mut row in db.query(&done, &values![subject, ended])? {
        jobs.push(read(&mut row)?);
    }
    Ok(jobs)
}

/// Returns a job with its stages, attempts and delivery.
pub fn detail(db: &mut dyn Db, id: &JobId) -> Result<Option<Detail>, Error> {
    let Some(job) = find(db, id)? else { return Ok(None) };
    let mut stages = Vec::new();
    for mut row in
        db.query("SELECT body FROM records WHERE job_id = $1 ORDER BY seq", &values![&id.0])?
    {
        if let Record::StageEnded { stage, result, .. } = row.json("record")? {
            stages.push((stage, result));
        }
    }
    let mut attempts = Vec::new();
    let sql = "SELECT n, stage, began_at, ended_at, outcome, error FROM attempts WHERE job_id = $1 ORDER BY began_at, n";
    for mut row in db.query(sql, &values![&id.0])? {
        attempts.push(Attempt {
            n: row.int()?,
            stage: row.text()?,
            began_at: row.time()?,
            ended_at: row.maybe_time()?,
            outcome: row.maybe_text()?,
            error: row.maybe_text()?,
        });
    }
    let delivery = db
        .find("SELECT host, delivery_id, body FROM deliveries WHERE job_id = $1", &values![&id.0])?
        .map(|mut row| {
            Ok::<_, Error>(Delivery {
                host: row.text()?,
                id: row.maybe_text()?,
                body: row.bytes()?,
            })
        })
        .transpose()?;
    Ok(Some(Detail { job, stages, attempts, delivery }))
}

/// Stops a job: at once if nobody runs it, else as soon as its worker notices. Its unsent rows are
/// withdrawn in the same transaction (E4).
pub fn stop(db: &mut dyn Db, id: &JobId, state: State, why: &str) -> Result<State, Error> {
    let now = db.now()?;
    let found = find(db, id)?.ok_or(Error::Absent("job"))?;
    db.lock(&found.lane.0)?;
    let job = find(db, id)?.ok_or(Error::Absent("job"))?;
    match job.state {
        State::Queued => {
            end(db, &job, state, Some(why), &[], now)?;
            Ok(state)
        }
        State::Running => {
            db.execute(
                "UPDATE jobs SET stop = $2, updated_at = $3 WHERE id = $1",
                &values![&id.0, state.as_str(), now],
            )?;
            let connection = job.task.subject.repo.origin.to_string();
            let of = LaneOf { lane: &job.lane.0, connection: &connection, job_id: &id.0 };
            withdraw(db, &of, why, now)?;
            db.wake();
            Ok(State::Running)
        }
        found => Err(Error::WrongState { found, wanted: state.as_str() }),
    }
}

/// Stops all unfinished work of a subject but `except`; returns how many. Answers are not work: they
/// are short, and somebody waits for them.
pub fn cancel_subject(db: &mut dyn Db, subject: &str, except: &JobId) -> Result<usize, Error> {
    let rows = db.query(
        "SELECT id FROM jobs WHERE subject = $1 AND state IN ('queued', 'running') AND id <> $2 AND priority <> $3
           AND stop IS NULL ORDER BY seq",
        &values![subject, &except.0, Priority::Talk.rank()],
    )?;
    let mut stopped = 0;
    for mut row in rows {
        match stop(db, &JobId(row.text()?), State::Cancelled, "cancelled by a later request") {
            Ok(_) => stopped += 1,
            // It ended while we waited for its lane.
            Err(Error::WrongState { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(stopped)
}

/// Queues a job again that ended without success. Its checkpoint is kept: it goes on where it was.
pub fn retry(db: &mut dyn Db, id: &JobId) -> Result<(), Error> {
    let now = db.now()?;
    let found = find(db, id)?.ok_or(Error::Absent("job"))?;
    db.lock(&found.lane.0)?;
    let job = find(db, id)?.ok_or(Error::Absent("job"))?;
    if !job.state.is_final() || !job.state.may_become(State::Queued) {
        return Err(Error::WrongState { found: job.state, wanted: "retried" });
    }
    db.execute(
        "UPDATE jobs SET state = 'queued', front = 0, run_at = $2, attempt = 0, alone = 0, error = NULL, stop = NULL,
           waiting_since = NULL, waits_for = NULL, updated_at = $2 WHERE id = $1",
        &values![&id.0, now],
    )?;
    let changed = Record::State {
        from: job.state.to_string(),
        to: State::Queued.to_string(),
        why: Some("an operator tries it again".to_owned()),
    };
    note(db, id, &changed, now)?;
    settle_front(db, &job.lane.0)?;
    db.wake();
    Ok(())
}

/// Writes down the repository's id for a job whose delivery carried only its name (T9), and gives
/// the job back to the lane of that id, where it takes its turn.
pub fn identify(db: &mut dyn Db, id: &JobId, token: i64, repo: &Repo) -> Result<(), Error> {
    let now = db.now()?;
    fence(db, id, token, now)?;
    let job = find(db, id)?.ok_or(Error::Absent("job"))?;
    let mut task = job.task.clone();
    task.subject.repo = repo.clone();
    let lane = task.subject.lane(task.work.pace());
    // In one order for everybody, so that two moves cannot wait for each other.
    let mut lanes = [&job.lane.0, &lane.0];
    lanes.sort();
    for lane in lanes {
        db.lock(lane)?;
    }
    remember_repo(db, repo)?;
    close_attempt(db, id, token, "identified", None, now)?;
    release(db, &job, now, job.attempt.saturating_sub(1), None)?;
    db.execute(
        "UPDATE jobs SET body = $2, repo = $3, subject = $4, lane = $5 WHERE id = $1",
        &values![&id.0, to_json("task", &task)?, repo.id().0, task.subject.id().0, &lane.0],
    )?;
    settle_front(db, &job.lane.0)?;
    settle_front(db, &lane.0)
}

/// Makes a repository known, under its name of today.
pub fn remember_repo(db: &mut dyn Db, repo: &Repo) -> Result<(), Error> {
    db.execute(
        "INSERT INTO repos (id, connection, name, turn) VALUES ($1, $2, $3, 0)
         ON CONFLICT (id) DO UPDATE SET name = excluded.name",
        &values![repo.id().0, repo.origin.as_str(), &repo.full_name],
    )?;
    Ok(())
}

/// Makes repositories known. What is known already is only read: a row that is written is held
/// until the end of the transaction, and claims rotate over these rows.
pub fn remember_repos<'a>(
    db: &mut dyn Db,
    repos: impl IntoIterator<Item = &'a Repo>,
) -> Result<(), Error> {
    // In the order of their ids, so that two transactions never wait for each other.
    let mut wanted: BTreeMap<String, &Repo> =
        repos.into_iter().map(|repo| (repo.id().0, repo)).collect();
    let ids: Vec<String> = wanted.keys().cloned().collect();
    for mut row in db.query("SELECT id, name FROM repos WHERE id {any $1}", &values![ids])? {
        let (id, name) = (row.text()?, row.text()?);
        if wanted.get(&id).is_some_and(|repo| repo.full_name == name) {
            wanted.remove(&id);
        }
    }
    wanted.into_values().try_for_each(|repo| remember_repo(db, repo))
}

/// How many jobs and rows are in each state, for `/metrics` and `doctor`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub jobs: Vec<(String, String, i64)>,
    pub outbox: Vec<(String, i64)>,
    /// The age of the oldest job that waits, in milliseconds.
    pub oldest_queued_ms: i64,
}

pub fn counts(db: &mut dyn Db) -> Result<Counts, Error> {
    let now = db.now()?;
    let mut counts = Counts::default();
    let none: &[Value] = &[];
    for mut row in db.query(
        "SELECT task, state, count(*) FROM jobs GROUP BY task, state ORDER BY task, state",
        none,
    )? {
        counts.jobs.push((row.text()?, row.text()?, row.int()?));
    }
    for mut row in
        db.query("SELECT state, count(*) FROM outbox GROUP BY state ORDER BY state", none)?
    {
        counts.outbox.push((row.text()?, row.int()?));
    }
    if let Some(mut row) =
        db.find("SELECT min(created_at) FROM jobs WHERE state = 'queued'", none)?
        && let Some(oldest) = row.maybe_int()?
    {
        counts.oldest_queued_ms = (now.0 - oldest).max(0);
    }
    Ok(counts)
}
