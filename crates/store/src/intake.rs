//! Taking deliveries: once each, however often they come (J1, J4).

use std::time::Duration;

use domain::job::State;
use domain::subject::Pace;
use domain::task::{Trigger, Work};
use domain::{JobId, Origin, Repo, RepoKey, Task, Time};
use sha2::{Digest, Sha256};

use crate::db::{Db, to_json};
use crate::error::Error;
use crate::job::remember_repo;
use crate::lane::settle_front;
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
    pub body: Vec<u8>,
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

/// Takes one delivery. It is durable when the transaction is.
pub fn accept(db: &mut dyn Db, intake: &Intake) -> Result<Accepted, Error> {
    let now = db.now()?;
    let task = &intake.task;
    let lane = task.subject.lane(task.work.pace());
    db.lock(&lane.0)?;

    let keys = Keys::of(intake);
    if let Some(job) = keys.taken(db, now)? {
        return Ok(Accepted::Repeated(job));
    }

    if intake.pin == Pin::Name
        && let Some(pinned) = pinned_elsewhere(db, &task.subject.repo)?
    {
        return Ok(Accepted::Impostor { pinned });
    }
    let repo = task.subject.repo.id();
    let connection = task.subject.repo.origin.as_str();
    remember_repo(db, &task.subject.repo)?;
    db.execute(
        "INSERT INTO jobs (id, connection, repo, subject, lane, priority, task, state, stage, run_at, body,
           event_type, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, 'queued', $11, $8, $9, $10, $8, $8)",
        &values![
            &intake.id.0,
            connection,
            &repo.0,
            task.subject.id().0,
            &lane.0,
            task.priority().rank(),
            task.work.name(),
            now,
            to_json("task", task)?,
            &intake.event_type,
            &intake.stage
        ],
    )?;
    if let Some(delivery) = &intake.delivery {
        db.execute(
            "INSERT INTO deliveries (job_id, connection, host, delivery_id, event_type, received_at, body)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            &values![
                &intake.id.0,
                delivery.connection.as_str(),
                &delivery.host,
                delivery.id.clone(),
                &intake.event_type,
                now,
                delivery.body.clone()
            ],
        )?;
    }
    keys.take(db, &intake.id, now)?;
    absorb(db, intake, &lane.0, now)?;
    settle_front(db, &lane.0)?;
    db.wake();
    Ok(Accepted::New(intake.id.clone()))
}

/// An automatic look at a subject takes the place of those that still wait in its lane (J3): each
/// reads the head when it is claimed, so the last one does for all, whatever the order of arrival.
fn absorb(db: &mut dyn Db, intake: &Intake, lane: &str, now: Time) -> Result<(), Error> {
    let task = &intake.task;
    if !task.work.is_superseded_by_push()
        || task.trigger != Trigger::Subject
        || task.work.pace() == Pace::Talk
    {
        return Ok(());
    }
    let waiting = db.query(
        "SELECT id, body FROM jobs WHERE lane = $1 AND state = 'queued' AND attempt = 0 AND task IN ('review', 'detect')
           AND id <> $2 ORDER BY seq",
        &values![lane, &intake.id.0],
    )?;
    for mut row in waiting {
        let id = row.text()?;
        let older: Task = row.json("task")?;
        if older.trigger == Trigger::Subject && same_kind(&older.work, &task.work) {
            let why = format!("job {} looks at the newest state", intake.id);
            crate::settle::end_unclaimed(db, &JobId(id), State::Superseded, &why, now)?;
        }
    }
    Ok(())
}

/// Pins an allowed name to the id first seen under it; returns that id if it is another one.
fn pinned_elsewhere(db: &mut dyn Db, repo: &Repo) -> Result<Option<String>, Error> {
    let RepoKey::Id(id) = &repo.key else { return Ok(None) };
    let pin = key("pin", &[repo.origin.as_str(), &repo.full_name.to_lowercase()]);
    db.execute(
        "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING",
        &values![&pin, id.to_string()],
    )?;
    let mut row = db
        .find("SELECT value FROM meta WHERE key = $1", &values![&pin])?
        .ok_or(Error::Absent("pin"))?;
    let pinned = row.text()?;
    Ok((pinned != id.to_string()).then_some(pinned))
}

fn same_kind(a: &Work, b: &Work) -> bool {
    a.name() == b.name()
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

    fn all(&self) -> Vec<String> {
        [&self.delivery, &self.meaning, &self.command].into_iter().flatten().cloned().collect()
    }

    /// Returns the job that one of the keys stands for, unless the job ended in a way that lets a
    /// repeat start again.
    fn taken(&self, db: &mut dyn Db, now: Time) -> Result<Option<JobId>, Error> {
        let rows = db.query(
            "SELECT t.job_id, j.state FROM taken t LEFT JOIN jobs j ON j.id = t.job_id
             WHERE t.key {any $1} AND (t.until IS NULL OR t.until > $2) ORDER BY j.seq",
            &values![self.all(), now],
        )?;
        for mut row in rows {
            let (id, state) = (row.text()?, row.maybe_text()?);
            // A job that retention has removed had ended long ago: a command does not run again.
            let absorbs =
                state.is_none_or(|state| state.parse::<State>().is_ok_and(State::absorbs_repeats));
            if absorbs {
                return Ok(Some(JobId(id)));
            }
        }
        Ok(None)
    }

    fn take(&self, db: &mut dyn Db, job: &JobId, now: Time) -> Result<(), Error> {
        let lasting = [
            (&self.delivery, Some(now + SAME_DELIVERY)),
            (&self.meaning, Some(now + SAME_MEANING)),
            (&self.command, None),
        ];
        for (key, until) in lasting {
            let Some(key) = key else { continue };
            db.execute(
                "INSERT INTO taken (key, job_id, until) VALUES ($1, $2, $3)
                 ON CONFLICT (key) DO UPDATE SET job_id = excluded.job_id, until = excluded.until",
                &values![key, &job.0, until],
            )?;
        }
        Ok(())
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
