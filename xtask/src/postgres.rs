//! A PostgreSQL server that lives as long as one task.
//!
//! `test`, `bench` and `chaos` call [`Database::prepare`] and hand its address to what they start.
//! It never touches a server that somebody else runs: without a given address it makes its own
//! cluster in a temporary folder and removes it afterwards, whatever becomes of `xtask`.

mod cluster;
mod install;

use std::env;

use anyhow::Result;

use self::cluster::Cluster;

/// The variable through which tests and drivers learn of the server.
pub(crate) const ADDRESS_VARIABLE: &str = "PATCHWRIGHT_TEST_DATABASE_URL";

/// The PostgreSQL server that a task may use.
#[derive(Debug)]
pub(crate) enum Database {
    /// The caller named one.
    Given(String),
    /// This task started one; it goes with this value.
    Temporary(Cluster),
    /// None is installed and none may be installed.
    Missing(String),
}

impl Database {
    /// Takes the server that the environment names, or starts one, installing it where allowed.
    pub(crate) fn prepare() -> Result<Self> {
        if let Ok(address) = env::var(ADDRESS_VARIABLE) {
            println!("postgresql: using the server that {ADDRESS_VARIABLE} names");
            return Ok(Self::Given(address));
        }
        match install::find_or_install() {
            Ok(binaries) => Cluster::start(&binaries).map(Self::Temporary),
            Err(why) => Ok(Self::Missing(format!("{why:#}"))),
        }
    }

    pub(crate) fn address(&self) -> Option<&str> {
        match self {
            Self::Given(address) => Some(address),
            Self::Temporary(cluster) => Some(cluster.address()),
            Self::Missing(_) => None,
        }
    }
}
