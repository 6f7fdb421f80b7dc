//! SQLite: one writer thread that commits everything that waits in one sync, and a few readers.
//!
//! WAL with `synchronous=FULL` syncs once per commit, so the price of durability is paid per *group*
//! (J1): whatever arrives while a commit is under way goes into the next one. Each operation runs
//! in a savepoint of its own, so one that fails takes nobody with it. Replies go out after the
//! commit and never before.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use domain::{Clock, Time};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, OpenFlags, ToSql};

use super::{Cell, Db, Dialect, Insert, Row, Value};
use crate::error::Error;
use crate::text;

pub const DIALECT: Dialect = Dialect {
    identity: "INTEGER PRIMARY KEY AUTOINCREMENT",
    bytes: "BLOB",
    any: "IN (SELECT value FROM json_each($))",
    each: "json_each($)",
    parameter: "?",
};

/// How the writer's connection is set up. The log may grow to 32 MiB before a commit has to wait
/// until it is copied into the file; see [`copy_behind`].
pub const WRITER: &str = "PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=8192;
    PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-8192";

/// How long commits gather before the log is copied into the file: pages that many of them change
/// are copied once.
const GATHER: Duration = Duration::from_millis(25);

/// How many operations share one commit at most: it bounds how long the first of them waits.
const GROUP: usize = 256;

/// How long a process waits for another one that holds the file.
const BUSY: Duration = Duration::from_secs(10);

/// The pause before asking again where SQLite itself does not wait.
const PAUSE: Duration = Duration::from_millis(50);

/// An operation on its way to the writer.
pub trait Work: Send {
    /// Runs inside the transaction.
    fn run(&mut self, db: &mut dyn Db) -> Result<(), Error>;
    /// Called once, after the commit, with what became of it.
    fn finish(self: Box<Self>, committed: Result<(), Error>);
}

/// The writer's front and the readers.
#[derive(Debug)]
pub struct Sqlite {
    queue: mpsc::Sender<Box<dyn Work>>,
    readers: Mutex<Vec<Connection>>,
    path: PathBuf,
    clock: Arc<dyn Clock>,
    commits: Arc<AtomicU64>,
}

impl std::fmt::Debug for dyn Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Work")
    }
}

impl Sqlite {
    /// Opens the file and starts the writer. `woken` is called after each commit that leaves others
    /// something to do.
    pub fn open(
        path: &Path,
        clock: Arc<dyn Clock>,
        woken: impl Fn() + Send + 'static,
    ) -> Result<Self, Error> {
        let connection = connect(path, Access::Write)?;
        let copier = connect(path, Access::Copy)?;
        let (queue, inbox) = mpsc::channel();
        let (committed, news) = mpsc::sync_channel(1);
        let commits = Arc::new(AtomicU64::new(0));
        let writer = Writer {
            connection,
            clock: Arc::clone(&clock),
            commits: Arc::clone(&commits),
            committed,
            woken: Box::new(woken),
        };
        start("store-writer", move || writer.run(&inbox))?;
        start("store-copier", move || copy_behind(&copier, &news))?;
        Ok(Self { queue, readers: Mutex::new(Vec::new()), path: path.to_owned(), clock, commits })
    }

    /// Hands an operation to the writer.
    pub fn write(&self, work: Box<dyn Work>) -> Result<(), Error> {
        self.queue.send(work).map_err(|_| Error::Stopped)
    }

    /// Returns the writer's queue, for work that leads to more work.
    pub fn queue(&self) -> mpsc::Sender<Box<dyn Work>> {
        self.queue.clone()
    }

    /// Runs a reading operation on the calling thread.
    pub fn read<T>(&self, work: impl FnOnce(&mut dyn Db) -> Result<T, Error>) -> Result<T, Error> {
        let idle = self.readers.lock().map_err(|_| Error::Stopped)?.pop();
        let connection = match idle {
            Some(connection) => connection,
            None => connect(&self.path, Access::Read)?,
        };
        let mut db = Session { connection: &connection, clock: &self.clock, woken: false };
        let result = work(&mut db);
        self.readers.lock().map_err(|_| Error::Stopped)?.push(connection);
        result
    }

    /// Returns how many commits, and so syncs of the log, there were.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Returns a number that changes whenever another connection or process has written.
    pub fn data_version(connection: &Connection) -> Result<i64, Error> {
        connection.query_row("PRAGMA data_version", [], |row| row.get(0)).map_err(refused)
    }

    /// Opens a connection for watching [`Self::data_version`].
    pub fn watcher(&self) -> Result<Connection, Error> {
        connect(&self.path, Access::Read)
    }
}

enum Access {
    Read,
    Write,
    /// From the log into the file.
    Copy,
}

fn connect(path: &Path, access: Access) -> Result<Connection, Error> {
    let open = |error: rusqlite::Error| Error::Open(format!("{}: {error}", path.display()));
    let flags = match access {
        Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Access::Read | Access::Copy => OpenFlags::SQLITE_OPEN_READ_WRITE,
    } | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(open)?;
    connection.busy_timeout(BUSY).map_err(open)?;
    connection.set_prepared_statement_cache_capacity(128);
    match access {
        // The journal mode is a property of the file; setting it takes a lock, so only the writer
        // does.
        Access::Write => {
            let mode = journal_in_wal(&connection).map_err(open)?;
            if mode != "wal" {
                return Err(Error::Open(format!(
                    "{}: SQLite cannot use its write-ahead log here (a network file system?)",
                    path.display()
                )));
            }
            connection.execute_batch(WRITER).map_err(open)?;
        }
        Access::Read => connection.execute_batch("PRAGMA query_only=ON").map_err(open)?,
        // What is copied must be synced before the log may be written from its start again.
        Access::Copy => connection.execute_batch("PRAGMA synchronous=FULL").map_err(open)?,
    }
    connection.execute_batch("PRAGMA temp_store=MEMORY").map_err(open)?;
    Ok(connection)
}

/// Asks for the write-ahead log and returns the journal mode in force. Where several processes ask
/// for it at once on a new file, SQLite refuses all but one without waiting: we wait.
fn journal_in_wal(connection: &Connection) -> rusqlite::Result<String> {
    let mut tries = BUSY.as_millis() / PAUSE.as_millis();
    loop {
        let mode = connection.query_row("PRAGMA journal_mode=WAL", [], |row| row.get(0));
        let busy = Some(ErrorCode::DatabaseBusy);
        if mode.as_ref().err().and_then(rusqlite::Error::sqlite_error_code) != busy || tries == 0 {
            return mode;
        }
        tries -= 1;
        std::thread::sleep(PAUSE);
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(|error| Error::Open(format!("no thread for the {name}: {error}")))
}

/// Copies the log into the file behind the writer's back, so that a commit hardly ever waits for
/// it. Whatever it leaves is copied by the writer when the log is full. It ends with the writer.
fn copy_behind(connection: &Connection, news: &mpsc::Receiver<()>) {
    while news.recv().is_ok() {
        std::thread::sleep(GATHER);
        // Another process that copies at the same time does it for us.
        drop(connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())));
    }
}

/// The one thread that writes.
struct Writer {
    connection: Connection,
    clock: Arc<dyn Clock>,
    commits: Arc<AtomicU64>,
    /// Tells [`copy_behind`] that there is something to copy.
    committed: mpsc::SyncSender<()>,
    woken: Box<dyn Fn() + Send>,
}

impl Writer {
    fn run(self, inbox: &mpsc::Receiver<Box<dyn Work>>) {
        while let Ok(first) = inbox.recv() {
            self.write_group(first, inbox);
        }
    }

    fn write_group(&self, first: Box<dyn Work>, inbox: &mpsc::Receiver<Box<dyn Work>>) {
        let connection = &self.connection;
        if let Err(error) = batch(connection, "BEGIN IMMEDIATE") {
            first.finish(Err(error));
            return;
        }
        let mut db = Session { connection, clock: &self.clock, woken: false };
        let mut group: Vec<(Box<dyn Work>, Result<(), Error>)> = Vec::new();
        let mut next = Some(first);
        while let Some(mut work) = next {
            let outcome = savepoint(&mut db, work.as_mut());
            group.push((work, outcome));
            next = if group.len() < GROUP { inbox.try_recv().ok() } else { None };
        }
        let wake = db.woken;
        match batch(connection, "COMMIT") {
            Ok(()) => {
                self.commits.fetch_add(1, Ordering::Relaxed);
                // One that has not been heard yet says the same.
                self.committed.try_send(()).unwrap_or(());
                for (work, outcome) in group {
                    work.finish(outcome);
                }
                if wake {
                    (self.woken)();
                }
            }
            Err(error) => {
                // Nothing of the group is there. A transaction that SQLite has already rolled back
                // refuses a second rollback, which is no news.
                drop(batch(connection, "ROLLBACK"));
                for (work, _) in group {
                    work.finish(Err(error.clone()));
                }
            }
        }
    }
}

fn savepoint(db: &mut Session<'_>, work: &mut dyn Work) -> Result<(), Error> {
    batch(db.connection, "SAVEPOINT work")?;
    let outcome = catch_unwind(AssertUnwindSafe(|| work.run(db))).unwrap_or(Err(Error::Stopped));
    if outcome.is_err() {
        batch(db.connection, "ROLLBACK TO work")?;
    }
    batch(db.connection, "RELEASE work")?;
    outcome
}

fn batch(connection: &Connection, sql: &str) -> Result<(), Error> {
    connection
        .prepare_cached(sql)
        .and_then(|mut statement| statement.execute([]))
        .map_err(refused)?;
    Ok(())
}

struct Session<'a> {
    connection: &'a Connection,
    clock: &'a Arc<dyn Clock>,
    woken: bool,
}

impl Db for Session<'_> {
    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        let mut statement =
            self.connection.prepare_cached(&DIALECT.translate(sql)).map_err(refused)?;
        let touched = statement.execute(rusqlite::params_from_iter(values)).map_err(refused)?;
        Ok(touched as u64)
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        let mut statement =
            self.connection.prepare_cached(&DIALECT.translate(sql)).map_err(refused)?;
        let columns = statement.column_count();
        let mut rows = statement.query(rusqlite::params_from_iter(values)).map_err(refused)?;
        let mut out = Vec::new();
        while let Some(row) = rows.next().map_err(refused)? {
            let mut cells = Vec::with_capacity(columns);
            for at in 0..columns {
                cells.push(match row.get_ref(at).map_err(refused)? {
                    ValueRef::Null => Cell::Null,
                    ValueRef::Integer(value) => Cell::Int(value),
                    ValueRef::Real(value) => Cell::Int(value as i64),
                    ValueRef::Text(value) => {
                        Cell::Text(text::unescape(String::from_utf8_lossy(value).into_owned()))
                    }
                    ValueRef::Blob(value) => Cell::Bytes(value.to_vec()),
                });
            }
            out.push(Row::new(cells));
        }
        Ok(out)
    }

    fn insert(&mut self, insert: &Insert, rows: &[Vec<Value>]) -> Result<(), Error> {
        let places: Vec<_> = (1..=insert.columns.len()).map(|n| format!("?{n}")).collect();
        let Insert { table, conflict, .. } = insert;
        let (names, places) = (insert.names(), places.join(", "));
        let sql = format!("INSERT INTO {table} ({names}) VALUES ({places}) {conflict}");
        let mut statement = self.connection.prepare_cached(&sql).map_err(refused)?;
        for row in rows {
            statement.execute(rusqlite::params_from_iter(row)).map_err(refused)?;
        }
        Ok(())
    }

    fn now(&mut self) -> Result<Time, Error> {
        Ok(self.clock.now())
    }

    fn lock_all(&mut self, _keys: Vec<String>) -> Result<(), Error> {
        Ok(())
    }

    fn wake(&mut self) {
        self.woken = true;
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Self::Int(Some(value)) => ToSqlOutput::from(*value),
            Self::Int(None) | Self::Text(None) => ToSqlOutput::from(rusqlite::types::Null),
            Self::Text(Some(value)) => match text::escape(value) {
                std::borrow::Cow::Borrowed(value) => ToSqlOutput::from(value),
                std::borrow::Cow::Owned(value) => ToSqlOutput::from(value),
            },
            Self::Bytes(value) => ToSqlOutput::from(value.as_ref()),
            Self::Texts(values) => {
                let escaped: Vec<_> = values.iter().map(|value| text::escape(value)).collect();
                let json = serde_json::to_string(&escaped)
                    .map_err(|error| rusqlite::Error::ToSqlConversionFailure(Box::new(error)))?;
                ToSqlOutput::from(json)
            }
        })
    }
}

fn refused(error: rusqlite::Error) -> Error {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Error::Busy,
        Some(ErrorCode::CannotOpen | ErrorCode::SystemIoFailure | ErrorCode::DiskFull) => {
            Error::Unreachable(error.to_string())
        }
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            Error::Corrupt { what: "database", why: error.to_string() }
        }
        _ => Error::Refused(error.to_string()),
    }
}
