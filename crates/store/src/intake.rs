//! Taking deliveries: once each, however often they come (J1, J4).

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use bytes::Bytes;
use domain::job::State;
use domain::task::Trigger;
use domain::{JobId, Origin, RepoKey, Task, Time};
use sha2::{Digest, Sha256};

use crate::db::{Db, Insert, Kind, to_json};
use crate::error::Error;
use crate::job::remember_repos;
use crate::lane::occupied;
use crate::settle::end_unclaimed;
use crate::values;

/// How long two deliveries of the same meaning are one (J4).
pub const SAME_MEANING: Duration = Duration::from_mins(10);

/// How long a delivery id is remembered: forges offer a redelivery for days.
pub const SAME_DELIVERY: Duration = Duration::from_hours(24 * 30);

/// Something that is to become a job.
#[derive(Clone, Debug)]
pub struct Intake {
    pub id: JobId,
    pub task: Task,
    /// See [`domain::Event::meaning`].
    pub meaning: Option<String>,
    pub delivery: Option<Delivery>,
    /// The forge's own name of the event.
    pub event_type: String,
    /// The stage that the job begins with.
    pub stage: String,
    pub pin: Pin,
}

/// Whether the operator allowed the repository by its name, which then belongs to the id first seen
/// under it (T9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pin {
    Name,
    Nothing,
}

/// A delivery as it came, with secrets already masked.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub connection: Origin,
    pub host: String,
    pub id: Option<String>,
    pub body: Bytes,
}

/// What became of an [`Intake`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accepted {
    New(JobId),
    /// It was taken before: the first answer again.
    Repeated(JobId),
    /// The repository's name is allowed, but it belonged to another repository when it was first
    /// seen (T9).
    Impostor {
        pinned: String,
    },
}

const JOBS: Insert = Insert {
    table: "jobs",
    columns: &[
        ("id", Kind::Text),
        ("connection", Kind::Text),
        ("repo", Kind::Text),
        ("subject", Kind::Text),
        ("lane", Kind::Text),
        ("priority", Kind::Int),
        ("task", Kind::Text),
        ("state", Kind::Text),
        ("stage", Kind::Text),
        ("front", Kind::Int),
        ("run_at", Kind::Int),
        ("body", Kind::Text),
        ("event_type", Kind::Text),
        ("created_at", Kind::Int),
        ("updated_at", Kind::Int),
    ],
    conflict: "",
};

const DELIVERIES: Insert = Insert {
    table: "deliveries",
    columns: &[
        ("job_id", Kind::Text),
        ("connection", Kind::Text),
        ("host", Kind::Text),
        ("delivery_id", Kind::Text),
        ("event_type", Kind::Text),
        ("received_at", Kind::Int),
        ("body", Kind::Bytes),
    ],
    conflict: "",
};

const TAKEN: Insert = Insert {
    table: "taken",
    columns: &[("key", Kind::Text), ("job_id", Kind::Text), ("until", Kind::Int)],
    conflict: "ON CONFLICT (key) DO UPDATE SET job_id = excluded.job_id, until = excluded.until",
};

/// Takes deliveries that came at the same time, in this order, and says what became of each. They
/// are durable when the transaction is.
///
/// The number of statements does not grow with their number: what all of them ask the database is
/// asked once, and a repeat within the group is found without asking.
pub fn accept(db: &mut dyn Db, intakes: &[Intake]) -> Result<Vec<Accepted>, Error> {
    if intakes.is_empty() {
        return Ok(Vec::new());
    }
    let now = db.now()?;
    let arrivals: Vec<Arrival<'_>> = intakes.iter().map(Arrival::of).collect();
    db.lock_all(distinct_lanes(&arrivals))?;

    let mut taken = Taken::read(db, &arrivals, now)?;
    let mut pins = Pins::default();
    let mut answers = Vec::with_capacity(arrivals.len());
    let mut fresh = Vec::with_capacity(arrivals.len());
    for arrival in arrivals {
        answers.push(if let Some(job) = taken.job_of(&arrival.keys) {
            Accepted::Repeated(job.clone())
        } else if let Some(pinned) = pins.elsewhere(db, arrival.intake)? {
            Accepted::Impostor { pinned }
        } else {
            let id = arrival.intake.id.clone();
            taken.take(&arrival.keys, &id);
            fresh.push(arrival);
            Accepted::New(id)
        });
    }
    if !fresh.is_empty() {
        remember_repos(db, fresh.iter().map(|arrival| &arrival.intake.task.subject.repo))?;
        write(db, &fresh, now)?;
        absorb_waiting(db, &fresh, now)?;
    }
    Ok(answers)
}

/// An intake with what is asked about it.
struct Arrival<'a> {
    intake: &'a Intake,
    lane: String,
    keys: Keys,
}

impl<'a> Arrival<'a> {
    fn of(intake: &'a Intake) -> Self {
        let task = &intake.task;
        let lane = task.subject.lane(task.work.pace()).0;
        Self { intake, lane, keys: Keys::of(intake) }
    }
}

fn distinct_lanes(arrivals: &[Arrival<'_>]) -> Vec<String> {
    let lanes: BTreeSet<&str> = arrivals.iter().map(|arrival| arrival.lane.as_str()).collect();
    lanes.into_iter().map(str::to_owned).collect()
}

/// Writes the rows of new jobs.
fn write(db: &mut dyn Db, fresh: &[Arrival<'_>], now: Time) -> Result<(), Error> {
    let mut occupied = occupied(db, distinct_lanes(fresh))?;
    let (mut jobs, mut deliveries, mut taken) = (Vec::new(), Vec::new(), Vec::new());
    for Arrival { intake, lane, keys } in fresh {
        let task = &intake.task;
        let front = occupied.insert(lane.clone());
        if front {
            // Behind another job it is nobody's business until that one has ended.
            db.wake();
        }
        jobs.push(
            values![
                &intake.id.0,
                task.subject.repo.origin.as_str(),
                task.subject.repo.id().0,
                task.subject.id().0,
                lane,
                task.priority().rank(),
                task.work.name(),
                State::Queued.as_str(),
                &intake.stage,
                i64::from(front),
                now,
                to_json("task", task)?,
                &intake.event_type,
                now,
                now
            ]
            .into(),
        );
        if let Some(delivery) = &intake.delivery {
            deliveries.push(
                values![
                    &intake.id.0,
                    delivery.connection.as_str(),
                    &delivery.host,
                    delivery.id.clone(),
                    &intake.event_type,
                    now,
                    &delivery.body
                ]
                .into(),
            );
        }
        taken
            .extend(keys.lasting(now).map(|(key, until)| values![key, &intake.id.0, until].into()));
    }
    db.insert(&JOBS, &jobs)?;
    db.insert(&DELIVERIES, &deliveries)?;
    db.insert(&TAKEN, &taken)
}

/// An automatic look at a subject takes the place of those that still wait in its lane (J3): each
/// reads the head when it is claimed, so the last one does for all, whatever the order of arrival.
fn absorb_waiting(db: &mut dyn Db, fresh: &[Arrival<'_>], now: Time) -> Result<(), Error> {
    let mut last = BTreeMap::new();
    for arrival in fresh {
        let task = &arrival.intake.task;
        if task.work.is_superseded_by_push() && task.trigger == Trigger::Subject {
            last.insert((arrival.lane.as_str(), task.work.name()), &arrival.intake.id);
        }
    }
    last.into_iter().try_for_each(|((lane, name), id)| absorb(db, lane, name, id, now))
}

/// Ends the waiting jobs of a lane whose place `by` takes.
fn absorb(db: &mut dyn Db, lane: &str, name: &str, by: &JobId, now: Time) -> Result<(), Error> {
    // Asked in the words of the index of lanes; a job that runs has an attempt.
    let waiting = db.query(
        "SELECT id, body FROM jobs WHERE lane = $1 AND state IN ('queued', 'running') AND attempt = 0
           AND task = $2 AND id <> $3 ORDER BY seq",
        &values![lane, name, &by.0],
    )?;
    for mut row in waiting {
        let id = row.text()?;
        let older: Task = row.json("task")?;
        if older.trigger == Trigger::Subject {
            let why = format!("job {by} looks at the newest state");
            end_unclaimed(db, &JobId(id), State::Superseded, &why, now)?;
        }
    }
    Ok(())
}

/// The allowed names that were asked about, and the ids that they are pinned to.
#[derive(Default)]
struct Pins(HashMap<String, String>);

impl Pins {
    /// Pins an allowed name to the id first seen under it; returns that id if it is another one.
    fn elsewhere(&mut self, db: &mut dyn Db, intake: &Intake) -> Result<Option<String>, Error> {
        let repo = &intake.task.subject.repo;
        let RepoKey::Id(id) = &repo.key else { return Ok(None) };
        if intake.pin == Pin::Nothing {
            return Ok(None);
        }
        let (id, name) = (id.to_string(), repo.full_name.to_lowercase());
        let pin = key("pin", &[repo.origin.as_str(), &name]);
        let pinned = match self.0.entry(pin) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let pinned = pinned(db, new.key(), &id)?;
                new.insert(pinned)
            }
        };
        Ok((*pinned != id).then(|| pinned.clone()))
    }
}

fn pinned(db: &mut dyn Db, pin: &str, id: &str) -> Result<String, Error> {
    db.execute(
        "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING",
        &values![pin, id],
    )?;
    let mut row = db
        .find("SELECT value FROM meta WHERE key = $1", &values![pin])?
        .ok_or(Error::Absent("pin"))?;
    row.text()
}

/// The keys under which an intake is known. Hashed: ids and names of forges may be any text (J8).
struct Keys {
    delivery: Option<String>,
    meaning: Option<String>,
    command: Option<String>,
}

impl Keys {
    fn of(intake: &Intake) -> Self {
        let delivery = intake.delivery.as_ref().and_then(|delivery| {
            let id = delivery.id.as_ref()?;
            Some(key("delivery", &[delivery.connection.as_str(), id]))
        });
        let meaning = intake.meaning.as_ref().map(|meaning| key("meaning", &[meaning]));
        let command = intake.task.command_key().map(|command| key("command", &[&command]));
        Self { delivery, meaning, command }
    }

    fn all(&self) -> impl Iterator<Item = &String> {
        [&self.delivery, &self.meaning, &self.command].into_iter().flatten()
    }

    /// Returns each key with the moment until which it counts.
    fn lasting(&self, now: Time) -> impl Iterator<Item = (&String, Option<Time>)> {
        let until = [Some(now + SAME_DELIVERY), Some(now + SAME_MEANING), None];
        let keys = [&self.delivery, &self.meaning, &self.command];
        keys.into_iter().zip(until).filter_map(|(key, until)| Some((key.as_ref()?, until)))
    }
}

/// The jobs that keys stand for.
struct Taken(HashMap<String, Holder>);

/// A job that a repeat collapses onto, with its place in the order of jobs.
struct Holder {
    seq: i64,
    job: JobId,
}

impl Taken {
    /// Reads who holds the keys of all arrivals, but for jobs that ended in a way that lets a repeat
    /// start again.
    fn read(db: &mut dyn Db, arrivals: &[Arrival<'_>], now: Time) -> Result<Self, Error> {
        let keys: Vec<String> =
            arrivals.iter().flat_map(|arrival| arrival.keys.all()).cloned().collect();
        let rows = db.query(
            "SELECT t.key, t.job_id, j.state, j.seq FROM taken t LEFT JOIN jobs j ON j.id = t.job_id
             WHERE t.key {any $1} AND (t.until IS NULL OR t.until > $2)",
            &values![keys, now],
        )?;
        let meanings: HashSet<&String> =
            arrivals.iter().filter_map(|arrival| arrival.keys.meaning.as_ref()).collect();
        let mut taken = HashMap::new();
        for mut row in rows {
            let (key, job, state, seq) =
                (row.text()?, JobId(row.text()?), row.maybe_text()?, row.maybe_int()?);
            // A job that retention has removed had ended long ago: a command does not run again.
            let state = state.map(|state| state.parse::<State>());
            let absorbs = match state {
                None => true,
                Some(Err(_)) => false,
                Some(Ok(state)) if meanings.contains(&key) => state.absorbs_repeats(),
                Some(Ok(state)) => state.absorbs_redelivery(),
            };
            if absorbs {
                taken.insert(key, Holder { seq: seq.unwrap_or(i64::MAX), job });
            }
        }
        Ok(Self(taken))
    }

    /// Returns the oldest job that one of the keys stands for.
    fn job_of(&self, keys: &Keys) -> Option<&JobId> {
        let holders = keys.all().filter_map(|key| self.0.get(key));
        holders.min_by_key(|holder| holder.seq).map(|holder| &holder.job)
    }

    fn take(&mut self, keys: &Keys, job: &JobId) {
        for key in keys.all() {
            self.0.insert(key.clone(), Holder { seq: i64::MAX, job: job.clone() });
        }
    }
}

/// Hashes parts so that no two lists of parts share a key.
fn key(kind: &str, parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in [kind].iter().chain(parts) {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    hex::encode(&hash.finalize()[..16])
}
