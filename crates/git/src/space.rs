//! How much of the disk mirrors may take, and what is kept free for the store (J10).

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::error::Error;

/// How often a growing mirror is compared with the reserve.
const LOOK: Duration = Duration::from_millis(250);

/// How the free bytes of the disk under a folder are read.
pub type FreeBytes = Arc<dyn Fn(&Path) -> io::Result<u64> + Send + Sync>;

/// The room for mirrors and worktrees.
#[derive(Clone)]
pub struct Space {
    /// The most bytes that all mirrors together may take.
    pub budget: u64,
    /// The bytes of the disk that stay free for others.
    pub reserve: u64,
    pub free: FreeBytes,
    /// The folder whose disk it is about.
    pub folder: PathBuf,
}

impl Space {
    /// The room on the disk under `folder`.
    pub fn on_disk(folder: PathBuf, budget: u64, reserve: u64) -> Self {
        let free: FreeBytes = Arc::new(|folder| {
            let disk = rustix::fs::statvfs(folder)?;
            Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
        });
        Self { budget, reserve, free, folder }
    }

    /// Tells whether the disk has more than the reserve.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let free = (self.free)(&self.folder).map_err(Error::broken("cannot read the free disk"))?;
        if free > self.reserve {
            return Ok(());
        }
        let reserve = self.reserve;
        let why = format!("{free} bytes are free, and {reserve} are kept for the store");
        Err(Error::NoSpace { why })
    }

    /// Ends when the disk is full up to the reserve.
    pub(crate) async fn watch(&self) -> Error {
        let mut looks = tokio::time::interval(LOOK);
        loop {
            looks.tick().await;
            if let Err(full) = self.check() {
                return full;
            }
        }
    }
}

impl fmt::Debug for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Space")
            .field("budget", &self.budget)
            .field("reserve", &self.reserve)
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}
