//! The private folder of this process: worktrees, private repositories, inputs of git.
//!
//! Each thing in it vanishes with its value. What a killed process left behind is removed by the
//! next one: the folder of a living process is locked.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use tempfile::TempDir;

use crate::error::Error;
use crate::space::Space;

/// The name of the locked file in a process's folder.
const ALIVE: &str = "alive";

/// The private folder of this process.
#[derive(Debug)]
pub(crate) struct Workshop {
    folder: TempDir,
    space: Space,
    /// Locked as long as this process lives.
    _alive: File,
}

impl Workshop {
    /// Makes a folder for this process below `root` and removes those of dead ones.
    pub(crate) fn open(root: &Path, space: Space) -> Result<Self, Error> {
        make_private(root)?;
        let broken = || Error::broken("cannot make a private folder");
        // Made under the lock of all: a half-made folder never looks like a dead process's.
        let gate = File::create(root.join("gate")).map_err(broken())?;
        gate.lock().map_err(broken())?;
        remove_dead(root);
        let folder = tempfile::Builder::new().prefix("p").tempdir_in(root).map_err(broken())?;
        let alive = File::create(folder.path().join(ALIVE)).map_err(broken())?;
        alive.lock().map_err(broken())?;
        Ok(Self { folder, space, _alive: alive })
    }

    /// Returns the room that everything on this disk shares.
    pub(crate) fn space(&self) -> &Space {
        &self.space
    }

    /// Makes a folder that vanishes with its value.
    pub(crate) fn folder(&self, prefix: &str) -> Result<TempDir, Error> {
        tempfile::Builder::new()
            .prefix(prefix)
            .tempdir_in(self.folder.path())
            .map_err(Error::broken("cannot make a private folder"))
    }
}

/// Makes a folder and its parents, for this account alone.
pub(crate) fn make_private(folder: &Path) -> Result<(), Error> {
    let mut builder = fs::DirBuilder::new();
    builder
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(Error::broken("cannot make a folder"))
}

fn remove_dead(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else { return };
    for entry in entries.flatten() {
        let folder = entry.path();
        let is_dead = match File::open(folder.join(ALIVE)) {
            Ok(alive) => !matches!(alive.try_lock(), Err(TryLockError::WouldBlock)),
            Err(_) => folder.is_dir(),
        };
        if is_dead && let Err(why) = fs::remove_dir_all(&folder) {
            tracing::warn!(folder = %folder.display(), %why, "a dead process's folder stays");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(root: &Path) -> Workshop {
        Workshop::open(root, Space::on_disk(root.to_owned(), u64::MAX, 0)).unwrap()
    }

    #[test]
    fn what_a_dead_process_left_is_removed_and_a_living_one_s_stays() {
        let root = TempDir::new().unwrap();
        let living = open(root.path());
        let kept = living.folder("w").unwrap();
        let dead = root.path().join("pdead");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(ALIVE), "").unwrap();
        fs::write(dead.join("file"), "left").unwrap();
        let other = open(root.path());
        assert!(!dead.exists());
        assert!(kept.path().exists() && other.folder.path().exists());
    }

    #[test]
    fn a_folder_vanishes_also_after_a_panic() {
        let root = TempDir::new().unwrap();
        let shop = open(root.path());
        let folder = shop.folder("w").unwrap();
        let path = folder.path().to_owned();
        let panicked = std::thread::spawn(move || {
            let _folder = folder;
            panic!("on purpose");
        });
        assert!(panicked.join().is_err());
        assert!(!path.exists());
    }
}
