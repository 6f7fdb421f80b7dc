//! Making room: mirrors that nobody holds go, the least recently used first.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::Error;
use crate::space::Space;

/// How a mirror is called while it is being removed.
const TRASH: &str = "trash-";

struct Cached {
    home: PathBuf,
    used: SystemTime,
    bytes: u64,
}

/// Evicts until all mirrors fit the budget and the disk has its reserve.
pub(super) fn make_room(folder: &Path, space: &Space) -> Result<(), Error> {
    let mut cached = list(folder).map_err(Error::broken("cannot list the mirrors"))?;
    let mut total: u64 = cached.iter().map(|mirror| mirror.bytes).sum();
    cached.sort_unstable_by_key(|mirror| mirror.used);
    let mut oldest = cached.into_iter();
    loop {
        let full = match space.check() {
            Ok(()) if total <= space.budget => return Ok(()),
            Ok(()) => {
                let budget = space.budget;
                let why = format!("the mirrors in use take {total} of {budget} allowed bytes");
                Error::NoSpace { why }
            }
            Err(full) => full,
        };
        // The first that nobody holds.
        match oldest.find(|mirror| evict(&mirror.home)) {
            Some(evicted) => total = total.saturating_sub(evicted.bytes),
            None => return Err(full),
        }
    }
}

/// Removes mirrors whose removal a dead process began.
pub(super) fn remove_trash(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(TRASH) {
            remove(&entry.path());
        }
    }
}

/// Removes a mirror unless somebody holds it.
fn evict(home: &Path) -> bool {
    let Ok(held) = File::open(home.join("held")) else { return false };
    let (Some(parent), Some(name)) = (home.parent(), home.file_name()) else { return false };
    if held.try_lock().is_err() {
        return false;
    }
    // Whoever waits for the lock finds the file gone, and makes the mirror anew.
    let trash = parent.join(format!("{TRASH}{}", name.to_string_lossy()));
    remove(&trash);
    let moved = fs::rename(home, &trash).is_ok();
    if moved {
        tracing::info!(mirror = %name.to_string_lossy(), "evicted a mirror to make room");
        remove(&trash);
    }
    moved
}

fn remove(folder: &Path) {
    match fs::remove_dir_all(folder) {
        Ok(()) => {}
        Err(why) if why.kind() == io::ErrorKind::NotFound => {}
        Err(why) => tracing::warn!(folder = %folder.display(), %why, "an evicted mirror stays"),
    }
}

fn list(folder: &Path) -> io::Result<Vec<Cached>> {
    let mut cached = Vec::new();
    for entry in fs::read_dir(folder)? {
        let home = entry?.path();
        // One that is being made or removed this moment is the matter of whoever does it.
        if let Ok(used) = fs::metadata(home.join("used")).and_then(|used| used.modified()) {
            let bytes = size(&home);
            cached.push(Cached { home, used, bytes });
        }
    }
    Ok(cached)
}

/// Adds up the files below a folder; what vanishes meanwhile counts as nothing.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
