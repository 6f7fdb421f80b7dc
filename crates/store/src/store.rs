//! The store as the rest of the program sees it: asynchronous methods, one transaction each.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use domain::job::State;
use domain::record::Record;
use domain::{Clock, Job, JobId, Publication, Receipt, Repo, Slot, Subject, Time};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value as Json;
use tokio::sync::{Semaphore, oneshot, watch};

use crate::claim::{Claim, Hands};
use crate::db::postgres::{CHANNEL, Postgres, Times};
use crate::db::sqlite::{Sqlite, Work};
use crate::db::{Db, Value};
use crate::error::Error;
use crate::intake::{Accepted, Intake};
use crate::job::{Counts, Detail, Filter};
use crate::journal::Entry;
use crate::outbox::{Due, Queue, Sending, Try};
use crate::owner::Owner;
use crate::settle::{Patience, Settled, Settlement};
use crate::sweep::Rest;
use crate::{breaker, budget, claim, intake, job, journal, outbox, schema, settle, sweep, values};

/// How often a process asks whether another one has written to the same SQLite file (J2).
const WATCH: Duration = Duration::from_millis(100);

/// How many transactions run at once on PostgreSQL.
const CONNECTIONS: usize = 12;

/// Where the store is.
#[derive(Clone, Debug)]
pub enum Place {
    /// A file; it is made if it is not there.
    Sqlite(PathBuf),
    Postgres {
        url: SecretString,
        /// A schema other than the default one, made if it is not there.
        schema: Option<String>,
    },
}

/// Where the time of leases comes from.
#[derive(Clone, Debug)]
pub enum TimeSource {
    /// The server's clock on PostgreSQL, this one on SQLite.
    Database(Arc<dyn Clock>),
    /// This one, whatever the database.
    Given(Arc<dyn Clock>),
}

/// Makes the publications that apologise for a job that is given up.
pub type Apologise = Arc<dyn Fn(&Job) -> Vec<Publication> + Send + Sync>;

/// Everything that must survive. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    database: Database,
    changes: watch::Sender<u64>,
    patience: Patience,
    apologise: Apologise,
}

enum Database {
    Sqlite(Sqlite),
    Postgres { pool: Arc<Postgres>, places: Arc<Semaphore> },
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").finish_non_exhaustive()
    }
}

impl Store {
    /// Opens the store and brings its schema up to date, under a lock.
    pub async fn open(
        place: &Place,
        time: TimeSource,
        patience: Patience,
        apologise: Apologise,
    ) -> Result<Self, Error> {
        let (changes, _) = watch::channel(0);
        let database = match place {
            Place::Sqlite(path) => {
                if let Some(folder) = path.parent() {
                    std::fs::create_dir_all(folder)
                        .map_err(|error| Error::Open(format!("{}: {error}", folder.display())))?;
                }
                let (TimeSource::Database(clock) | TimeSource::Given(clock)) = time;
                let path = path.clone();
                let woken = changes.clone();
                let open =
                    move || Sqlite::open(&path, clock, move || woken.send_modify(|n| *n += 1));
                Database::Sqlite(blocking(open).await?)
            }
            Place::Postgres { url, schema } => {
                let times = match time {
                    TimeSource::Database(_) => Times::Server,
                    TimeSource::Given(clock) => Times::Given(clock),
                };
                let pool = Arc::new(Postgres::new(url.expose_secret(), schema.as_deref(), times)?);
                if let Some(schema) = schema.clone() {
                    let pool = Arc::clone(&pool);
                    blocking(move || create_schema(&pool, &schema)).await?;
                }
                Database::Postgres { pool, places: Arc::new(Semaphore::new(CONNECTIONS)) }
            }
        };
        let store = Self { inner: Arc::new(Inner { database, changes, patience, apologise }) };
        store
            .write(|db| {
                let now = db.now()?;
                schema::migrate(db, now)
            })
            .await?;
        store.watch_others()?;
        Ok(store)
    }

    /// Returns a receiver that changes whenever there may be something new to do.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.subscribe()
    }

    /// Returns how many transactions were made durable, by this process.
    pub fn commits(&self) -> u64 {
        match &self.inner.database {
            Database::Sqlite(sqlite) => sqlite.commits(),
            Database::Postgres { pool, .. } => pool.commits(),
        }
    }

    pub fn patience(&self) -> &Patience {
        &self.inner.patience
    }

    /// Runs a writing operation as one transaction. It may be run again if it lost a race.
    pub async fn write<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Db) -> Result<T, Error> + Send + 'static,
    {
        match &self.inner.database {
            Database::Sqlite(sqlite) => {
                let (reply, answer) = oneshot::channel();
                sqlite.write(Box::new(Task { work, value: None, reply }))?;
                answer.await.map_err(|_| Error::Stopped)?
            }
            Database::Postgres { pool, places } => {
                let permit =
                    Arc::clone(places).acquire_owned().await.map_err(|_| Error::Stopped)?;
                let pool = Arc::clone(pool);
                let result = blocking(move || {
                    let result = pool.write(work);
                    drop(permit);
                    result
                })
                .await;
                // Other processes are told by the database, this one without the detour.
                self.inner.changes.send_modify(|n| *n += 1);
                result
            }
        }
    }

    /// Runs a writing operation on the calling thread, which must not be one of a runtime.
    fn write_blocking<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Db) -> Result<T, Error> + Send + 'static,
    {
        match &self.inner.database {
            Database::Sqlite(sqlite) => {
                let (reply, answer) = oneshot::channel();
                sqlite.write(Box::new(Task { work, value: None, reply }))?;
                answer.blocking_recv().map_err(|_| Error::Stopped)?
            }
            Database::Postgres { pool, .. } => pool.write(work),
        }
    }

    /// Runs a reading operation.
    pub async fn read<T, F>(&self, work: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnMut(&mut dyn Db) -> Result<T, Error> + Send + 'static,
    {
        let permit = match &self.inner.database {
            Database::Sqlite(_) => None,
            Database::Postgres { places, .. } => {
                Some(Arc::clone(places).acquire_owned().await.map_err(|_| Error::Stopped)?)
            }
        };
        let inner = Arc::clone(&self.inner);
        blocking(move || {
            let result = match &inner.database {
                Database::Sqlite(sqlite) => sqlite.read(work),
                Database::Postgres { pool, .. } => pool.write(work),
            };
            drop(permit);
            result
        })
        .await
    }

    /// Starts the thread that notices what other processes write (J2). It ends with the store.
    fn watch_others(&self) -> Result<(), Error> {
        let changes = self.inner.changes.clone();
        let inner = Arc::downgrade(&self.inner);
        let watch: Box<dyn FnOnce() + Send> = match &self.inner.database {
            Database::Sqlite(sqlite) => {
                let connection = sqlite.watcher()?;
                Box::new(move || {
                    let mut seen = None;
                    while inner.strong_count() > 0 {
                        std::thread::sleep(WATCH);
                        let version = Sqlite::data_version(&connection).ok();
                        if seen != version {
                            seen = version;
                            changes.send_modify(|n| *n += 1);
                        }
                    }
                })
            }
            Database::Postgres { pool, .. } => {
                let pool = Arc::clone(pool);
                Box::new(move || {
                    while inner.strong_count() > 0 {
                        // A connection that breaks is made anew; until then the sweeps look by time.
                        if listen(&pool, &changes, || inner.strong_count() > 0).is_err() {
                            std::thread::sleep(Duration::from_secs(1));
                        }
                    }
                })
            }
        };
        std::thread::Builder::new()
            .name("store-watch".to_owned())
            .spawn(watch)
            .map_err(|error| Error::Open(format!("no thread for watching: {error}")))?;
        Ok(())
    }
}

/// The operations, one line each: the SQL and its reasons stand in the modules named here.
impl Store {
    pub async fn accept(&self, intake: Intake) -> Result<Accepted, Error> {
        self.write(move |db| intake::accept(db, &intake)).await
    }

    pub async fn claim(&self, hands: Hands) -> Result<Claim, Error> {
        self.write(move |db| claim::claim(db, &hands)).await
    }

    /// Prolongs the leases of a process from a thread of its own, and returns which of its jobs
    /// somebody wants stopped. It waits on no runtime, so a busy one cannot lose its leases.
    pub fn heartbeat_blocking(&self, owner: &Owner) -> Result<Vec<JobId>, Error> {
        let owner = owner.clone();
        self.write_blocking(move |db| claim::heartbeat(db, &owner))
    }

    pub async fn settle(
        &self,
        id: &JobId,
        token: i64,
        settlement: Settlement,
    ) -> Result<Settled, Error> {
        let (id, inner) = (id.clone(), Arc::clone(&self.inner));
        self.write(move |db| {
            settle::settle(db, &id, token, &settlement, &inner.patience, &|job| {
                (inner.apologise)(job)
            })
        })
        .await
    }

    pub async fn bury(&self, id: &JobId, token: i64, error: String) -> Result<(), Error> {
        let (id, inner) = (id.clone(), Arc::clone(&self.inner));
        self.write(move |db| settle::bury(db, &id, token, &error, &|job| (inner.apologise)(job)))
            .await
    }

    pub async fn identify(&self, id: &JobId, token: i64, repo: Repo) -> Result<(), Error> {
        let id = id.clone();
        self.write(move |db| job::identify(db, &id, token, &repo)).await
    }

    pub async fn recall(&self, id: &JobId, key: &str) -> Result<Option<Json>, Error> {
        let (id, key) = (id.clone(), key.to_owned());
        self.read(move |db| journal::recall(db, &id, &key)).await
    }

    pub async fn keep(&self, id: &JobId, token: i64, key: &str, value: Json) -> Result<(), Error> {
        let (id, key) = (id.clone(), key.to_owned());
        self.write(move |db| journal::keep(db, &id, token, &key, &value)).await
    }

    pub async fn note(&self, id: &JobId, token: i64, record: Record) -> Result<(), Error> {
        let id = id.clone();
        self.write(move |db| journal::note_fenced(db, &id, token, &record)).await
    }

    pub async fn records(&self, id: &JobId, after: i64, most: u32) -> Result<Vec<Entry>, Error> {
        let id = id.clone();
        self.read(move |db| journal::records(db, &id, after, most)).await
    }

    pub async fn claim_lane(&self, owner: &Owner) -> Result<Option<Sending>, Error> {
        let owner = owner.clone();
        self.write(move |db| outbox::claim(db, &owner)).await
    }

    pub async fn next_row(&self, sending: &Sending, queue: Queue) -> Result<Option<Due>, Error> {
        let sending = sending.clone();
        self.read(move |db| outbox::next(db, &sending, queue)).await
    }

    pub async fn begin_row(&self, sending: &Sending, seq: i64) -> Result<Duration, Error> {
        let sending = sending.clone();
        self.write(move |db| outbox::begin(db, &sending, seq)).await
    }

    pub async fn settle_row(
        &self,
        sending: &Sending,
        due: &Due,
        outcome: Try,
    ) -> Result<(), Error> {
        let (sending, due, inner) = (sending.clone(), due.clone(), Arc::clone(&self.inner));
        self.write(move |db| {
            outbox::settle(db, &sending, &due, &outcome, inner.patience.give_up_after)
        })
        .await
    }

    pub async fn release_lane(&self, sending: &Sending) -> Result<(), Error> {
        let sending = sending.clone();
        self.write(move |db| outbox::release(db, &sending)).await
    }

    pub async fn receipt(&self, subject: &Subject, slot: &Slot) -> Result<Option<Receipt>, Error> {
        let (subject, slot) = (subject.clone(), slot.clone());
        self.read(move |db| outbox::receipt(db, &subject, &slot)).await
    }

    pub async fn receipts_of(&self, id: &JobId) -> Result<Vec<(Slot, Receipt)>, Error> {
        let id = id.clone();
        self.read(move |db| outbox::receipts_of(db, &id)).await
    }

    pub async fn unsent_of(&self, id: &JobId) -> Result<i64, Error> {
        let id = id.clone();
        self.read(move |db| outbox::unsent_of(db, &id)).await
    }

    pub async fn unsent_rows(&self, id: &JobId) -> Result<i64, Error> {
        let id = id.clone();
        self.read(move |db| outbox::unsent(db, &id)).await
    }

    pub async fn open_breaker(
        &self,
        endpoint: &str,
        reason: &str,
        until: Option<Time>,
    ) -> Result<Time, Error> {
        let (endpoint, reason) = (endpoint.to_owned(), reason.to_owned());
        self.write(move |db| {
            let now = db.now()?;
            breaker::open(db, &endpoint, &reason, until, now)
        })
        .await
    }

    pub async fn close_breaker(&self, endpoint: &str) -> Result<(), Error> {
        let endpoint = endpoint.to_owned();
        self.write(move |db| breaker::close(db, &endpoint)).await
    }

    pub async fn breakers(&self) -> Result<Vec<breaker::Breaker>, Error> {
        self.read(breaker::list).await
    }

    pub async fn spend(&self, key: &str) -> Result<u32, Error> {
        let key = key.to_owned();
        self.write(move |db| {
            let now = db.now()?;
            budget::spend(db, &key, now)
        })
        .await
    }

    pub async fn job(&self, id: &JobId) -> Result<Option<Job>, Error> {
        let id = id.clone();
        self.read(move |db| claim::find(db, &id)).await
    }

    pub async fn detail(&self, id: &JobId) -> Result<Option<Detail>, Error> {
        let id = id.clone();
        self.read(move |db| job::detail(db, &id)).await
    }

    pub async fn jobs(&self, filter: Filter) -> Result<Vec<Job>, Error> {
        self.read(move |db| job::list(db, &filter)).await
    }

    pub async fn jobs_of(&self, subject: &Subject, ended: u32) -> Result<Vec<Job>, Error> {
        let subject = subject.id().0;
        self.read(move |db| job::of_subject(db, &subject, ended)).await
    }

    pub async fn cancel(&self, id: &JobId) -> Result<State, Error> {
        let id = id.clone();
        self.write(move |db| job::stop(db, &id, State::Cancelled, "cancelled by an operator")).await
    }

    pub async fn supersede(&self, id: &JobId, why: &str) -> Result<State, Error> {
        let (id, why) = (id.clone(), why.to_owned());
        self.write(move |db| job::stop(db, &id, State::Superseded, &why)).await
    }

    pub async fn retry(&self, id: &JobId) -> Result<(), Error> {
        let id = id.clone();
        self.write(move |db| job::retry(db, &id)).await
    }

    pub async fn counts(&self) -> Result<Counts, Error> {
        self.read(job::counts).await
    }

    /// Ends leases that ran out; returns how many.
    pub async fn sweep_expired(&self) -> Result<usize, Error> {
        let inner = Arc::clone(&self.inner);
        self.write(move |db| sweep::expired(db, &inner.patience, &|job| (inner.apologise)(job)))
            .await
    }

    /// Takes back leases whose owner on this host is dead; returns how many.
    pub async fn take_back(&self) -> Result<usize, Error> {
        let inner = Arc::clone(&self.inner);
        self.write(move |db| sweep::take_back(db, &inner.patience, &|job| (inner.apologise)(job)))
            .await
    }

    pub async fn forget(&self, retention: Duration) -> Result<usize, Error> {
        self.write(move |db| sweep::forget(db, retention)).await
    }

    pub async fn next_due(&self) -> Result<Option<Time>, Error> {
        self.read(sweep::next_due).await
    }

    pub async fn rest(&self) -> Result<Rest, Error> {
        self.read(sweep::rest).await
    }

    pub async fn schema_version(&self) -> Result<i64, Error> {
        self.read(schema::version).await
    }

    /// Returns a random secret that is made once and kept (E1: the marker key where none is given).
    pub async fn secret(&self, name: &str) -> Result<SecretString, Error> {
        let key = format!("secret:{name}");
        let mut random = [0u8; 32];
        getrandom::fill(&mut random)
            .map_err(|error| Error::Refused(format!("no randomness: {error}")))?;
        let fresh = hex::encode(random);
        self.write(move |db| {
            db.execute(
                "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING",
                &values![&key, &fresh],
            )?;
            let mut row = db
                .find("SELECT value FROM meta WHERE key = $1", &values![&key])?
                .ok_or(Error::Absent("secret"))?;
            row.text().map(SecretString::from)
        })
        .await
    }

    /// Keeps a file that a job made.
    pub async fn keep_artifact(
        &self,
        id: &JobId,
        token: i64,
        name: &str,
        media_type: &str,
        body: Vec<u8>,
    ) -> Result<(), Error> {
        let (id, name, media_type) = (id.clone(), name.to_owned(), media_type.to_owned());
        self.write(move |db| {
            let now = db.now()?;
            claim::fence(db, &id, token, now)?;
            db.execute(
                "INSERT INTO artifacts (job_id, name, media_type, body, at) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (job_id, name) DO UPDATE SET media_type = excluded.media_type, body = excluded.body",
                &values![&id.0, &name, &media_type, body.clone(), now],
            )?;
            Ok(())
        })
        .await
    }

    /// Returns a file that a job made, with its media type.
    pub async fn artifact(
        &self,
        id: &JobId,
        name: &str,
    ) -> Result<Option<(String, Vec<u8>)>, Error> {
        let (id, name) = (id.clone(), name.to_owned());
        self.read(move |db| {
            let row = db.find(
                "SELECT media_type, body FROM artifacts WHERE job_id = $1 AND name = $2",
                &values![&id.0, &name],
            )?;
            row.map(|mut row| Ok((row.text()?, row.bytes()?))).transpose()
        })
        .await
    }

    /// What PostgreSQL's settings mean for durability (J1); empty on SQLite and when all is well.
    pub async fn durability_warnings(&self) -> Result<Vec<String>, Error> {
        if matches!(self.inner.database, Database::Sqlite(_)) {
            return Ok(Vec::new());
        }
        self.read(|db| {
            let mut warnings = Vec::new();
            let mut setting = |name: &str| -> Result<String, Error> {
                let mut row = db
                    .find("SELECT current_setting($1)", &[Value::from(name)])?
                    .ok_or(Error::Absent("setting"))?;
                row.text()
            };
            if setting("fsync")? == "off" {
                warnings.push("fsync is off: a power loss can lose accepted deliveries".to_owned());
            }
            if setting("full_page_writes")? == "off" {
                warnings.push(
                    "full_page_writes is off: a power loss can corrupt the database".to_owned(),
                );
            }
            if setting("synchronous_standby_names")?.is_empty() {
                let mut row = db
                    .find(
                        "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'async'",
                        &[],
                    )?
                    .ok_or(Error::Absent("count"))?;
                if row.int()? > 0 {
                    warnings.push(
                        "standbys are asynchronous: a failover can lose accepted deliveries"
                            .to_owned(),
                    );
                }
            }
            Ok(warnings)
        })
        .await
    }
}

/// An operation with the way back to who waits for it.
struct Task<T, F> {
    work: F,
    value: Option<T>,
    reply: oneshot::Sender<Result<T, Error>>,
}

impl<T: Send, F: FnMut(&mut dyn Db) -> Result<T, Error> + Send> Work for Task<T, F> {
    fn run(&mut self, db: &mut dyn Db) -> Result<(), Error> {
        self.value = Some((self.work)(db)?);
        Ok(())
    }

    fn finish(self: Box<Self>, committed: Result<(), Error>) {
        let Self { value, reply, .. } = *self;
        let result = committed.and_then(|()| value.ok_or(Error::Stopped));
        // Whoever asked may have gone away; what was written stands.
        drop(reply.send(result));
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Error::Stopped))
}

fn create_schema(pool: &Postgres, schema: &str) -> Result<(), Error> {
    if schema.is_empty()
        || !schema.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    {
        return Err(Error::Open(format!(
            "`{schema}` cannot be the name of a schema: use a-z, 0-9 and _"
        )));
    }
    let mut client = pool.connect()?;
    client
        .batch_execute(&format!("CREATE SCHEMA IF NOT EXISTS {schema}"))
        .map_err(|error| Error::Open(error.to_string()))
}

fn listen(
    pool: &Postgres,
    changes: &watch::Sender<u64>,
    alive: impl Fn() -> bool,
) -> Result<(), Error> {
    let broken = |error: postgres::Error| Error::Unreachable(error.to_string());
    let mut client = pool.connect()?;
    client.batch_execute(&format!("LISTEN {CHANNEL}")).map_err(broken)?;
    changes.send_modify(|n| *n += 1);
    while alive() {
        let mut notices = client.notifications();
        let mut waiting = notices.timeout_iter(Duration::from_secs(1));
        while fallible(&mut waiting)?.is_some() {
            changes.send_modify(|n| *n += 1);
        }
    }
    Ok(())
}

fn fallible<I: postgres::fallible_iterator::FallibleIterator<Error = postgres::Error>>(
    iterator: &mut I,
) -> Result<Option<I::Item>, Error> {
    iterator.next().map_err(|error| Error::Unreachable(error.to_string()))
}
