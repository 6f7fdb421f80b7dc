//! A look into a trial's store that shares no code with the program under test.
//!
//! It only reads, and it can keep others from committing for a moment: that is how the driver
//! knows for certain that a delivery is not committed yet.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use postgres::{Client, NoTls, SimpleQueryMessage};
use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

/// Where the store of a trial is.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Sqlite(PathBuf),
    Postgres(String),
}

#[derive(Debug)]
pub(super) struct View {
    place: Place,
    session: Session,
}

enum Session {
    Sqlite(Connection),
    Postgres(Box<Client>),
    Closed,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Session")
    }
}

/// Keeps everybody else from committing a delivery while it lives.
#[derive(Debug)]
pub(super) struct Hold {
    _session: Session,
}

/// How much there is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    pub(super) queued: usize,
    pub(super) running: usize,
    /// Answers of settled jobs that are not sent.
    pub(super) unsent: usize,
    /// Lanes that have something to send, signs among it.
    pub(super) sending: usize,
    /// Lanes in which a delivery is not settled.
    pub(super) busy: usize,
}

impl Census {
    /// Returns how many deliveries are accepted and not settled.
    pub(super) fn open(self) -> usize {
        self.queued + self.running + self.unsent
    }

    pub(super) fn is_settled(self) -> bool {
        self == Self::default()
    }
}

/// A process's hold on a job or a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// The job's id, or the subject of a lane.
    pub(super) what: String,
    pub(super) pid: i32,
}

/// A job as it stands at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) id: String,
    pub(super) lane: String,
    pub(super) state: String,
    /// The id of the delivery that made it.
    pub(super) delivery: String,
}

/// The tables that are written down when something is broken.
const TABLES: [&str; 7] =
    ["jobs", "attempts", "outbox", "lanes", "receipts", "breakers", "records"];

impl View {
    pub(super) fn open(place: &Place) -> Result<Self> {
        Ok(Self { place: place.clone(), session: Session::open(place)? })
    }

    /// Lets go of every file until [`Self::reopen`].
    pub(super) fn close(&mut self) {
        self.session = Session::Closed;
    }

    pub(super) fn reopen(&mut self) -> Result<()> {
        self.session = Session::open(&self.place)?;
        Ok(())
    }

    pub(super) fn census(&mut self) -> Result<Census> {
        let rows = self.rows(
            "SELECT (SELECT count(*) FROM jobs WHERE state = 'queued'),
                    (SELECT count(*) FROM jobs WHERE state = 'running'),
                    (SELECT count(*) FROM outbox WHERE state IN ('waiting', 'trying') AND aside = 0),
                    (SELECT count(*) FROM lanes),
                    (SELECT count(*) FROM (
                       SELECT lane FROM jobs WHERE state IN ('queued', 'running')
                       UNION SELECT lane FROM outbox WHERE state IN ('waiting', 'trying') AND aside = 0
                     ) AS busy)",
        )?;
        let number = |at: usize| {
            let text = rows.first().and_then(|row| row.get(at));
            text.and_then(|text| text.parse().ok()).context("a count is no number")
        };
        Ok(Census {
            queued: number(0)?,
            running: number(1)?,
            unsent: number(2)?,
            sending: number(3)?,
            busy: number(4)?,
        })
    }

    /// Returns the jobs that run, and who runs each.
    pub(super) fn running(&mut self) -> Result<Vec<Held>> {
        self.held("SELECT id, lease_owner FROM jobs WHERE state = 'running'")
    }

    /// Returns the settled jobs whose answer waits, and who settled each.
    pub(super) fn unsent(&mut self) -> Result<Vec<Held>> {
        self.held(
            "SELECT o.job_id, a.owner FROM outbox o JOIN jobs j ON j.id = o.job_id
               JOIN attempts a ON a.job_id = j.id AND a.outcome = 'done'
             WHERE o.state = 'waiting' AND o.aside = 0 AND j.state = 'done'",
        )
    }

    /// Returns the subjects for which a comment is being sent, and who sends each.
    pub(super) fn sending(&mut self) -> Result<Vec<Held>> {
        self.held(
            "SELECT o.subject, l.lease_owner FROM outbox o JOIN lanes l ON l.lane = o.lane
             WHERE o.state = 'trying' AND o.aside = 0 AND l.lease_owner IS NOT NULL",
        )
    }

    /// Returns the state of the job that a delivery made, if it made one.
    pub(super) fn state_of(&mut self, delivery: &str) -> Result<Option<String>> {
        let rows = self.rows(&format!(
            "SELECT j.state FROM deliveries d JOIN jobs j ON j.id = d.job_id
             WHERE d.delivery_id = '{delivery}'"
        ))?;
        Ok(rows.into_iter().next().and_then(|row| row.into_iter().next()))
    }

    /// Returns all jobs in the order of their acceptance.
    pub(super) fn jobs(&mut self) -> Result<Vec<Job>> {
        let rows = self.rows(
            "SELECT j.id, j.lane, j.state, d.delivery_id
             FROM jobs j LEFT JOIN deliveries d ON d.job_id = j.id ORDER BY j.seq",
        )?;
        let read = |row: Vec<String>| -> Result<Job> {
            let [id, lane, state, delivery] =
                row.try_into().ok().context("a job does not have four columns")?;
            Ok(Job { id, lane, state, delivery })
        };
        rows.into_iter().map(read).collect()
    }

    /// Returns what the end of a trial must not find: answers given up and attempts without an end.
    pub(super) fn loose_ends(&mut self) -> Result<Vec<String>> {
        let rows = self.rows(
            "SELECT 'the answer in slot ' || slot || ' is ' || state || ': ' || coalesce(reason, '')
               FROM outbox WHERE aside = 0 AND state <> 'sent'
             UNION ALL SELECT 'an attempt of job ' || job_id || ' has no end'
               FROM attempts WHERE ended_at IS NULL",
        )?;
        Ok(rows.into_iter().flatten().collect())
    }

    /// Keeps everybody from committing a delivery until the hold is dropped.
    pub(super) fn hold_commits(&self) -> Result<Hold> {
        let mut session = Session::open(&self.place)?;
        match &mut session {
            Session::Sqlite(connection) => connection.execute_batch("BEGIN IMMEDIATE")?,
            // Deliveries are the last table but one that an acceptance writes to.
            Session::Postgres(client) => {
                client.batch_execute("BEGIN; LOCK TABLE deliveries IN EXCLUSIVE MODE")?;
            }
            Session::Closed => {}
        }
        Ok(Hold { _session: session })
    }

    /// Whether somebody can write within a moment. On SQLite one process that stands still in the
    /// middle of a commit keeps all others waiting; on PostgreSQL nobody can.
    pub(super) fn is_writable(&self) -> Result<bool> {
        let Place::Sqlite(_) = &self.place else { return Ok(true) };
        let session = Session::open(&self.place)?;
        let Session::Sqlite(connection) = &session else { return Ok(true) };
        connection.busy_timeout(Duration::from_millis(300))?;
        Ok(connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok())
    }

    /// Whether a transaction waits for a [`Hold`]; unknown on SQLite.
    pub(super) fn somebody_waits(&mut self) -> Result<Option<bool>> {
        let Place::Postgres(_) = &self.place else { return Ok(None) };
        let rows = self.rows(
            "SELECT 1 FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock' AND wait_event = 'relation'",
        )?;
        Ok(Some(!rows.is_empty()))
    }

    /// Writes every table that explains what happened into a folder, as text.
    pub(super) fn dump(&mut self, folder: &Path) -> Result<()> {
        for table in TABLES {
            let mut text = String::new();
            for row in self.rows(&format!("SELECT * FROM {table}"))? {
                writeln!(text, "{}", row.join(" | "))?;
            }
            fs::write(folder.join(format!("{table}.txt")), text)?;
        }
        Ok(())
    }

    fn held(&mut self, sql: &str) -> Result<Vec<Held>> {
        let rows = self.rows(sql)?;
        let read = |row: Vec<String>| {
            let [what, owner] = row.try_into().ok()?;
            // The third word of an owner is the pid of its process.
            let pid = owner.split(' ').nth(2)?.parse().ok()?;
            Some(Held { what, pid })
        };
        Ok(rows.into_iter().filter_map(read).collect())
    }

    /// Returns every value as text; what is not there as an empty one.
    fn rows(&mut self, sql: &str) -> Result<Vec<Vec<String>>> {
        match &mut self.session {
            Session::Sqlite(connection) => {
                let mut statement = connection.prepare_cached(sql)?;
                let columns = statement.column_count();
                let rows = statement.query_map([], |row| {
                    (0..columns).map(|at| row.get_ref(at).map(shown)).collect()
                })?;
                Ok(rows.collect::<rusqlite::Result<_>>()?)
            }
            Session::Postgres(client) => {
                let rows =
                    client.simple_query(sql)?.into_iter().filter_map(|message| match message {
                        SimpleQueryMessage::Row(row) => Some(
                            (0..row.len())
                                .map(|at| row.get(at).unwrap_or_default().to_owned())
                                .collect(),
                        ),
                        _ => None,
                    });
                Ok(rows.collect())
            }
            Session::Closed => bail!("the view is closed"),
        }
    }
}

impl Session {
    fn open(place: &Place) -> Result<Self> {
        match place {
            Place::Sqlite(file) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let connection = Connection::open_with_flags(file, flags)?;
                connection.busy_timeout(Duration::from_secs(20))?;
                // The last one to leave would tidy up what dead processes left behind.
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
                Ok(Self::Sqlite(connection))
            }
            Place::Postgres(url) => Ok(Self::Postgres(Box::new(Client::connect(url, NoTls)?))),
        }
    }
}

fn shown(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(text) | ValueRef::Blob(text) => String::from_utf8_lossy(text).into_owned(),
    }
}
