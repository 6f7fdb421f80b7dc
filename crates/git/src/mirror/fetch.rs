//! Bringing refs, commits and contents into a mirror.
//!
//! Fetches of one mirror go one after the other, also across processes; the same question asked by
//! several jobs at once is asked of the remote once. Refs land under names of ours, so that a weird
//! or hostile ref name means nothing here.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, PoisonError};

use sha2::{Digest, Sha256};
use tokio::sync::OnceCell;

use super::Mirror;
use crate::command::{Command, Limit};
use crate::error::Error;
use crate::name::RefName;
use crate::oid::Oid;
use crate::remote::Remote;

/// How many packs a mirror gathers before they are made one: each fetch leaves a pack, and every
/// question looks into all of them.
const MOST_PACKS: usize = 40;

/// What is wanted of a remote.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Want {
    /// The commit to which a ref points now.
    Ref(RefName),
    /// A commit, whatever points to it. Nothing is asked if it is there already.
    Commit(Oid),
}

/// What a fetch brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// The commits, in the order of the wants.
    pub commits: Vec<Oid>,
    /// Whether the remote sent all contents because it knows no partial clones: the operator
    /// should be told.
    pub whole: bool,
}

/// One fetch that several callers may wait for.
#[derive(Debug, Default)]
pub(super) struct Flight(OnceCell<Result<Fetched, Error>>);

impl Mirror {
    /// Fetches refs and commits with their history, without the contents of files.
    pub async fn fetch(&self, remote: &Remote, wants: &[Want]) -> Result<Fetched, Error> {
        if let Some(commits) = self.all_there(wants).await? {
            return Ok(Fetched { commits, whole: false });
        }
        let key = format!("{} {} {wants:?}", self.home.display(), address(remote));
        let flight = {
            let mut flights = self.flights();
            flights.entry(key.clone()).or_default().clone()
        };
        let fly = async {
            let lock = self.lock_fetches().await?;
            // From here on a new caller might want newer things: it waits for a flight of its own.
            self.flights().remove(&key);
            self.fetch_locked(remote, wants, &lock).await
        };
        let result = flight.0.get_or_init(|| fly).await.clone();
        let mut flights = self.flights();
        if flights.get(&key).is_some_and(|waiting| Arc::ptr_eq(waiting, &flight)) {
            flights.remove(&key);
        }
        result
    }

    /// Fetches the contents of blobs that are not there yet, in one request.
    pub async fn fetch_blobs(&self, remote: &Remote, blobs: &BTreeSet<Oid>) -> Result<(), Error> {
        if self.missing(blobs).await?.is_empty() {
            return Ok(());
        }
        let lock = self.lock_fetches().await?;
        let missing = self.missing(blobs).await?;
        if missing.is_empty() {
            return Ok(());
        }
        self.make_room().await?;
        let input: String = missing.iter().map(|blob| format!("{blob}\n")).collect();
        let fetch = self.fetch_command(remote, &lock)?;
        // There is nothing to negotiate about: blobs have no history.
        let fetch = fetch.config("fetch.negotiationAlgorithm", "noop");
        fetch.args(["--stdin", "mirror"]).input(input).run().await?;
        let still = self.missing(&missing).await?;
        if let Some(one) = still.first() {
            let what =
                format!("{} contents that the remote did not send, {one} first", still.len());
            return Err(Error::Missing { what });
        }
        Ok(())
    }

    /// Fetches the contents of all files of a commit.
    pub async fn fetch_files(&self, remote: &Remote, commit: &Oid) -> Result<(), Error> {
        let entries = self.list(commit, None).await?;
        let blobs = entries.into_iter().filter(|entry| entry.mode.is_blob()).map(|e| e.oid);
        self.fetch_blobs(remote, &blobs.collect()).await
    }

    /// Fetches the contents of all files that differ between two commits, on both sides.
    pub async fn fetch_changes(&self, remote: &Remote, old: &Oid, new: &Oid) -> Result<(), Error> {
        let changes = self.raw_changes(old, new).await?;
        let sides = changes.into_iter().flat_map(|change| [change.old, change.new]);
        let blobs = sides.flatten().filter(|side| side.mode.is_blob()).map(|side| side.oid);
        self.fetch_blobs(remote, &blobs.collect()).await
    }

    fn flights(&self) -> std::sync::MutexGuard<'_, std::collections::HashMap<String, Arc<Flight>>> {
        self.mirrors.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn all_there(&self, wants: &[Want]) -> Result<Option<Vec<Oid>>, Error> {
        let commits: Option<Vec<Oid>> = wants
            .iter()
            .map(|want| match want {
                Want::Commit(commit) => Some(commit.clone()),
                Want::Ref(_) => None,
            })
            .collect();
        let Some(commits) = commits else { return Ok(None) };
        for commit in &commits {
            if !self.has_commit(commit).await? {
                return Ok(None);
            }
        }
        Ok(Some(commits))
    }

    async fn fetch_locked(
        &self,
        remote: &Remote,
        wants: &[Want],
        lock: &File,
    ) -> Result<Fetched, Error> {
        remove_leftovers(&self.folder);
        self.make_room().await?;
        let places: Vec<String> = wants.iter().map(|want| place(remote, want)).collect();
        let specs = wants.iter().zip(&places).map(|(want, place)| match want {
            Want::Ref(name) => format!("+{name}:{place}"),
            Want::Commit(commit) => format!("+{commit}:{place}"),
        });
        let fetch = self.fetch_command(remote, lock)?.arg("mirror").args(specs);
        let output = fetch.run().await?;
        self.join_packs(remote).await;
        let mut commits = Vec::with_capacity(places.len());
        for place in &places {
            commits.push(self.commit_of(place).await?);
        }
        Ok(Fetched { commits, whole: output.stderr.contains("filtering not recognized by server") })
    }

    /// Makes one pack of many. Nothing is lost by it: a job may still read what no ref names.
    async fn join_packs(&self, remote: &Remote) {
        let packs = fs::read_dir(self.folder.join("objects/pack")).into_iter().flatten().flatten();
        let is_pack = |entry: &fs::DirEntry| entry.path().extension().is_some_and(|e| e == "pack");
        if packs.filter(is_pack).count() <= MOST_PACKS {
            return;
        }
        let repack = self.command("repack", Limit::Network).args(["-a", "-d", "-k", "-q"]);
        if let Err(why) = repack.to(remote).within(self.workshop.space()).run().await {
            tracing::warn!(%why, "the packs of a mirror stay many");
        }
    }

    fn fetch_command<'a>(&'a self, remote: &'a Remote, lock: &File) -> Result<Command<'a>, Error> {
        let lock = lock.try_clone().map_err(Error::broken("cannot keep the lock of a mirror"))?;
        Ok(self
            .command("fetch", Limit::Network)
            .args(["--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-gc"])
            .args(["--recurse-submodules=no", "--filter=blob:none"])
            .to(remote)
            .within(self.workshop.space())
            .keeping(lock))
    }

    async fn lock_fetches(&self) -> Result<File, Error> {
        let file = self.home.join("fetch");
        blocking(move || {
            let lock = File::create(file).map_err(Error::broken("cannot lock a mirror"))?;
            lock.lock().map_err(Error::broken("cannot lock a mirror"))?;
            Ok(lock)
        })
        .await
    }

    async fn make_room(&self) -> Result<(), Error> {
        let mirrors = self.mirrors.clone();
        blocking(move || super::evict::make_room(&mirrors.folder, mirrors.workshop.space())).await
    }
}

/// Runs on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|why| {
        Err(Error::Broken { what: "a thread broke off".to_owned(), why: why.to_string() })
    })
}

fn address(remote: &Remote) -> String {
    match remote {
        Remote::Forge(access) => access.url().to_string(),
        Remote::Folder(folder) => folder.display().to_string(),
    }
}

/// Where a wanted ref lands: a flat name, so that `a` and `a/b` never stand in each other's way.
fn place(remote: &Remote, want: &Want) -> String {
    let digest = Sha256::digest(format!("{} {want:?}", address(remote)).as_bytes());
    format!("refs/mirror/{}", hex::encode(&digest[..16]))
}

/// Removes what a git that was killed left behind. Only whoever holds the lock of fetches calls it.
fn remove_leftovers(repository: &Path) {
    let entries =
        |folder: &str| fs::read_dir(repository.join(folder)).into_iter().flatten().flatten();
    let is_left = |name: &str| name.starts_with("tmp_") || name.ends_with(".lock");
    for entry in entries("").chain(entries("refs/mirror")).chain(entries("objects/pack")) {
        if is_left(&entry.file_name().to_string_lossy()) && entry.path().is_file() {
            drop(fs::remove_file(entry.path()));
        }
    }
}
