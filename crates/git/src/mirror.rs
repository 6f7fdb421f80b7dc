//! The cache of repositories: one bare mirror per (origin, numeric id), shared by all jobs.
//!
//! A [`Mirror`] is held while somebody uses it, also across processes, and never evicted meanwhile.
//! It stores no address and no credential: both come with each fetch. A mirror is partial: commits
//! and trees are there, contents are fetched for what is really read.

mod evict;
mod fetch;

use std::collections::HashMap;
use std::fs::{self, File};
use std::ops::Deref;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use domain::Origin;
use sha2::{Digest, Sha256};

use crate::command::Git;
use crate::error::Error;
use crate::repository::{self, Repository};
use crate::space::Space;
use crate::workshop::{Workshop, make_private};

use fetch::Flight;
pub use fetch::{Fetched, Want};

/// All mirrors, in one folder.
#[derive(Clone, Debug)]
pub struct Mirrors(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    git: Git,
    folder: PathBuf,
    workshop: Arc<Workshop>,
    /// Fetches that are asked for and have not begun.
    flights: Mutex<HashMap<String, Arc<Flight>>>,
}

/// A mirror that is held.
#[derive(Clone, Debug)]
pub struct Mirror {
    mirrors: Arc<Shared>,
    repository: Repository,
    home: PathBuf,
    /// Locked for sharing, so that nobody evicts it.
    _held: Arc<File>,
}

impl Mirrors {
    /// Opens the cache below `folder` and removes what dead processes left in it.
    pub fn open(git: Git, folder: &Path, space: Space) -> Result<Self, Error> {
        let mirrors = folder.join("mirrors");
        make_private(&mirrors)?;
        let workshop = Arc::new(Workshop::open(&folder.join("work"), space)?);
        evict::remove_trash(&mirrors);
        let flights = Mutex::default();
        Ok(Self(Arc::new(Shared { git, folder: mirrors, workshop, flights })))
    }

    /// Holds the mirror of a repository, which is made if there is none.
    pub fn hold(&self, origin: &Origin, id: u64) -> Result<Mirror, Error> {
        let home = self.0.folder.join(name_of(origin, id));
        let broken = || Error::broken("cannot hold a mirror");
        let held = loop {
            make_private(&home)?;
            let file = home.join("held");
            let held = match File::create(&file) {
                // Somebody evicted it this very moment.
                Err(why) if why.kind() == std::io::ErrorKind::NotFound => continue,
                held => held.map_err(broken())?,
            };
            held.lock_shared().map_err(broken())?;
            let locked = held.metadata().map_err(broken())?;
            if fs::metadata(&file).is_ok_and(|there| there.ino() == locked.ino()) {
                break held;
            }
        };
        // Its time of change is when the mirror was last used.
        fs::write(home.join("used"), "").map_err(broken())?;
        let folder = home.join("repo.git");
        if !folder.join("HEAD").exists() {
            repository::make(&folder, None)?;
        }
        let Shared { git, workshop, .. } = &*self.0;
        let repository = Repository { git: git.clone(), folder, workshop: workshop.clone() };
        Ok(Mirror { mirrors: self.0.clone(), repository, home, _held: Arc::new(held) })
    }

    /// Evicts mirrors that nobody holds, the least recently used first, until there is room.
    pub fn make_room(&self) -> Result<(), Error> {
        evict::make_room(&self.0.folder, self.0.workshop.space())
    }
}

impl Deref for Mirror {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        &self.repository
    }
}

/// The folder of a mirror: by the numeric id, never by a name that may change hands (T9).
fn name_of(origin: &Origin, id: u64) -> String {
    let digest = Sha256::digest(origin.as_str().as_bytes());
    let host: String =
        origin.as_str().split("://").last().unwrap_or_default().chars().take(40).collect();
    let host = host.replace(|sign: char| !sign.is_ascii_alphanumeric() && sign != '.', "_");
    format!("{host}-{}-{id}", hex::encode(&digest[..6]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t9_a_mirror_is_named_by_origin_and_numeric_id() {
        let name = |origin: &str, id| name_of(&Origin::new(origin), id);
        assert!(name("https://forge.example", 7).starts_with("forge.example-"));
        assert_ne!(name("https://forge.example", 7), name("https://forge.example", 8));
        assert_ne!(name("https://forge.example", 7), name("http://forge.example", 7));
        assert!(!name("https://../../x", 7).contains('/'));
    }
}
