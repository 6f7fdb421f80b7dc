//! A fresh store for each measurement, on the database in question, gone with its value.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use postgres::NoTls;
use store::settle::Patience;
use store::{Place, Store, TimeSource};
use tempfile::TempDir;
use url::Url;

use super::process::Home;
use crate::WallClock;

/// The databases that are measured.
#[derive(Clone, Debug)]
pub(super) enum Database {
    Sqlite {
        /// Where files go: it must be a disk, because the price of syncing is the question.
        folder: PathBuf,
    },
    Postgres {
        /// The server, in which a database is made for each measurement.
        server: Url,
        folder: PathBuf,
    },
}

impl Database {
    /// Returns its name in the figures.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Sqlite { .. } => "sqlite",
            Self::Postgres { .. } => "pg",
        }
    }

    /// Makes an empty store.
    pub(super) fn ground(&self) -> Result<Ground> {
        let (Self::Sqlite { folder } | Self::Postgres { folder, .. }) = self;
        let folder = tempfile::Builder::new().prefix("bench-").tempdir_in(folder)?;
        let own = match self {
            Self::Sqlite { .. } => None,
            Self::Postgres { server, .. } => Some(Own::create(server)?),
        };
        Ok(Ground { own, folder })
    }
}

/// An empty store's place.
#[derive(Debug)]
pub(super) struct Ground {
    own: Option<Own>,
    folder: TempDir,
}

impl Ground {
    /// Returns what a process is told.
    pub(super) fn home(&self) -> Home<'_> {
        let folder = self.folder.path();
        match &self.own {
            None => Home::Folder(folder),
            Some(own) => Home::Postgres { url: own.url.as_str(), folder },
        }
    }

    /// Returns the file of an SQLite store.
    pub(super) fn file(&self) -> PathBuf {
        self.folder.path().join("data/patchwright.db")
    }

    /// Returns the address of a PostgreSQL store.
    pub(super) fn url(&self) -> Option<&str> {
        self.own.as_ref().map(|own| own.url.as_str())
    }

    /// Makes the tables, as a starting process does.
    pub(super) fn migrate(&self) -> Result<()> {
        let place = match self.url() {
            None => Place::Sqlite(self.file()),
            Some(url) => Place::Postgres { url: url.into(), schema: None },
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let time = TimeSource::Database(Arc::new(WallClock::default()));
        let opened = Store::open(&place, time, Patience::default(), Arc::new(|_| Vec::new()));
        drop(runtime.block_on(opened)?);
        Ok(())
    }

    /// Counts the rows of a table.
    pub(super) fn count(&self, table: &str) -> Result<u64> {
        let sql = format!("SELECT count(*) FROM {table}");
        let count: i64 = match self.url() {
            None => {
                rusqlite::Connection::open(self.file())?.query_row(&sql, [], |row| row.get(0))?
            }
            Some(url) => connect(url)?.query_one(&sql, &[])?.get(0),
        };
        Ok(u64::try_from(count)?)
    }
}

/// Connects to a local PostgreSQL.
pub(super) fn connect(url: &str) -> Result<postgres::Client> {
    postgres::Client::connect(url, NoTls).context("cannot connect to PostgreSQL")
}

/// A database of our own on somebody's server.
#[derive(Debug)]
struct Own {
    server: Url,
    name: String,
    url: Url,
}

impl Own {
    fn create(server: &Url) -> Result<Self> {
        let name = format!("bench_{}", uuid::Uuid::new_v4().simple());
        connect(server.as_str())?
            .batch_execute(&format!("CREATE DATABASE {name}"))
            .context("cannot make a database for the measurement")?;
        let mut url = server.clone();
        url.set_path(&name);
        Ok(Self { server: server.clone(), name, url })
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        let dropped = connect(self.server.as_str()).and_then(|mut client| {
            let sql = format!("DROP DATABASE {} WITH (FORCE)", self.name);
            client.batch_execute(&sql).context("it is still there")
        });
        if let Err(error) = dropped {
            tracing::warn!(database = self.name, "cannot remove a database: {error:#}");
        }
    }
}

/// Returns the folder in which a program stands: a disk that holds what is built.
pub(super) fn folder_of(program: &Path) -> PathBuf {
    program.parent().unwrap_or(Path::new(".")).to_owned()
}
