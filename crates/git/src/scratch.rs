//! A private repository that borrows a mirror's objects and vanishes with its value.
//!
//! Commits are made here, foreign bundles are opened and judged here, and pushes leave from here.
//! Nothing of it reaches the mirror: a half-made or refused commit leaves no trace.

mod bundle;
mod commit;
mod push;

use std::ops::Deref;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::error::Error;
use crate::mirror::Mirror;
use crate::repository::{self, Repository};

pub use bundle::Expected;
pub use commit::{Content, Edit, Made, NewCommit};
pub use push::{Push, Pushed};

/// A private repository over a mirror.
#[derive(Debug)]
pub struct Scratch {
    repository: Repository,
    /// Held, because its objects are borrowed.
    _mirror: Mirror,
    folder: TempDir,
}

impl Mirror {
    /// Makes a private repository that sees everything in this mirror.
    pub fn scratch(&self) -> Result<Scratch, Error> {
        let folder = self.workshop.folder("s")?;
        let repository = Repository { folder: folder.path().join("repo.git"), ..(**self).clone() };
        repository::make(&repository.folder, Some(&self.objects()))?;
        Ok(Scratch { repository, _mirror: self.clone(), folder })
    }
}

impl Scratch {
    /// A path in the private folder, beside the repository.
    fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

impl Deref for Scratch {
    type Target = Repository;

    fn deref(&self) -> &Repository {
        &self.repository
    }
}
