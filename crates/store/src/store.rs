//! The store as the rest of the program sees it: asynchronous methods, one transaction each.

mod entrance;
mod operation;

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use domain::{Clock, Job, Publication};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{Semaphore, oneshot, watch};

use self::entrance::{Call, Entrance, Taking};
use crate::db::Db;
use crate::db::postgres::{CHANNEL, Postgres, Times};
use crate::db::sqlite::{Sqlite, Work};
use crate::error::Error;
use crate::intake::{self, Accepted, Intake};
use crate::schema;
use crate::settle::Patience;

/// How often a process asks whether another one has written to the same SQLite file (J2).
const WATCH: Duration = Duration::from_millis(100);

/// How many transactions run at once on PostgreSQL.
const CONNECTIONS: usize = 12;

/// How many groups of deliveries are under way at once on PostgreSQL: while one is synced, the next
/// is written.
const SERVANTS: usize = 2;

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
    entrance: Arc<Entrance>,
    changes: watch::Sender<u64>,
    patience: Patience,
    apologise: Apologise,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.entrance.close();
    }
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
                make_private(path)
                    .map_err(|error| Error::Open(format!("{}: {error}", path.display())))?;
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
        let entrance = Arc::default();
        let inner = Inner { database, entrance, changes, patience, apologise };
        let store = Self { inner: Arc::new(inner) };
        store
            .write(|db| {
                let now = db.now()?;
                schema::migrate(db, now)
            })
            .await?;
        store.watch_others()?;
        store.serve_entrance()?;
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
                let (pool, changes) = (Arc::clone(pool), self.inner.changes.clone());
                blocking(move || {
                    // Other processes are told by the database, this one without the detour.
                    let result = pool.write(work, || changes.send_modify(|n| *n += 1));
                    drop(permit);
                    result
                })
                .await
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
            Database::Postgres { pool, .. } => {
                pool.write(work, || self.inner.changes.send_modify(|n| *n += 1))
            }
        }
    }

    /// Takes a delivery, together with all that arrive at the same time.
    pub async fn accept(&self, intake: Intake) -> Result<Accepted, Error> {
        let Inner { database, entrance, .. } = &*self.inner;
        let (answer, call) = entrance.enter(intake);
        if let (Database::Sqlite(sqlite), Call::Needed) = (database, call) {
            sqlite.write(Box::new(Taking::new(Arc::clone(entrance), sqlite.queue())))?;
        }
        answer.await.map_err(|_| Error::Stopped)?
    }

    /// Starts the threads that take deliveries on PostgreSQL. They end with the store.
    fn serve_entrance(&self) -> Result<(), Error> {
        if let Database::Sqlite(_) = &self.inner.database {
            return Ok(());
        }
        for _ in 0..SERVANTS {
            let entrance = Arc::clone(&self.inner.entrance);
            let inner = Arc::downgrade(&self.inner);
            let accept = move |intakes: Arc<[Intake]>| {
                let store = Self { inner: inner.upgrade().ok_or(Error::Stopped)? };
                store.write_blocking(move |db| intake::accept(db, &intakes))
            };
            std::thread::Builder::new()
                .name("store-entrance".to_owned())
                .spawn(move || entrance.serve(&accept))
                .map_err(|error| Error::Open(format!("no thread for deliveries: {error}")))?;
        }
        Ok(())
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
                Database::Postgres { pool, .. } => pool.write(work, || {}),
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

/// Makes the file of a new store, and the folder for it, for this account alone: it holds secrets.
/// What SQLite puts beside the file gets the same rights. A file that is there keeps its own, and is
/// not even opened: closing it again would drop the locks that this process has on it.
fn make_private(file: &Path) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}
