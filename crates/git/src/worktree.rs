//! The files of a commit in a folder, without `.git`: what a sandbox is given.
//!
//! Files are written byte for byte as they are in the repository; no filter, no conversion, no git
//! process with a work tree. Submodules are left out, and links that could lead out of the folder;
//! what was left out is listed. The folder vanishes with its value (T7).

mod blobs;
mod scan;

use std::fs::{self, OpenOptions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::command::Limit;
use crate::error::Error;
use crate::name::check_path;
use crate::oid::Oid;
use crate::read::{Entry, Mode};
use crate::repository::Repository;

use blobs::Blobs;
pub use scan::{Difference, Kind};

/// The longest target of a link; file systems take no longer one.
const LONGEST_TARGET: u64 = 4096;

/// The files of a commit, in a folder of their own.
#[derive(Debug)]
pub struct Worktree {
    commit: Oid,
    repository: Repository,
    entries: Vec<Entry>,
    left_out: Vec<LeftOut>,
    folder: TempDir,
}

/// An entry of the commit that is not in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    pub path: Vec<u8>,
    pub why: Why,
}

/// Why an entry is not in the folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is a submodule.
    Gitlink,
    /// It is a link that leads out of the folder, or may.
    LeadsOut,
    /// Its name is not fit for a disk.
    Name,
}

impl Repository {
    /// Writes the files of a commit, whose contents must be there, into a new folder.
    pub async fn worktree(&self, commit: &Oid) -> Result<Worktree, Error> {
        let folder = self.workshop.folder("w")?;
        let files = folder.path().join("files");
        let (entries, left_out) = self.export(commit, &files).await?;
        Ok(Worktree { commit: commit.clone(), repository: self.clone(), entries, left_out, folder })
    }

    /// Writes the files of a commit into `folder`, which must not exist, and returns what it wrote
    /// and what it left out.
    pub async fn export(
        &self,
        commit: &Oid,
        folder: &Path,
    ) -> Result<(Vec<Entry>, Vec<LeftOut>), Error> {
        self.workshop.space().check()?;
        let mut left_out = Vec::new();
        let mut entries = self.list(commit, None).await?;
        entries.retain(|entry| {
            let why = match entry.mode {
                Mode::Gitlink => Some(Why::Gitlink),
                _ if check_path(&entry.path).is_err() => Some(Why::Name),
                _ => None,
            };
            left_out.extend(why.map(|why| LeftOut { path: entry.path.clone(), why }));
            why.is_none()
        });
        let input: String = entries.iter().map(|entry| format!("{}\n", entry.oid)).collect();
        let most = self.git.limits().worktree;
        let to = folder.to_owned();
        let consume = move |reader| Export::begin(to, most)?.write(entries, Blobs::new(reader));
        let command = self.command("cat-file", Limit::Local).args(["--batch", "--buffer"]);
        let ((entries, links_out), _, _) =
            command.within(self.workshop.space()).input(input).read(consume).await?;
        left_out.extend(links_out);
        Ok((entries, left_out))
    }
}

impl Worktree {
    /// Returns the folder that holds the files and nothing else.
    pub fn path(&self) -> PathBuf {
        self.folder.path().join("files")
    }

    pub fn commit(&self) -> &Oid {
        &self.commit
    }

    /// Returns what is in the commit and not in the folder. The person concerned is told.
    pub fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }
}

/// The writing of files into a new folder.
struct Export {
    folder: PathBuf,
    left: u64,
    most: u64,
    /// Made last: as long as none exists, no path can lead elsewhere.
    links: Vec<(PathBuf, Vec<u8>)>,
    /// The folder made last, so that it is not asked for again.
    made: PathBuf,
}

impl Export {
    fn begin(folder: PathBuf, most: u64) -> Result<Self, Error> {
        fs::create_dir(&folder).map_err(Error::broken("cannot make a worktree"))?;
        Ok(Self { made: folder.clone(), folder, left: most, most, links: Vec::new() })
    }

    fn write(
        mut self,
        entries: Vec<Entry>,
        mut blobs: Blobs,
    ) -> Result<(Vec<Entry>, Vec<LeftOut>), Error> {
        let (mut written, mut left_out) = (Vec::with_capacity(entries.len()), Vec::new());
        for entry in entries {
            let path = self.folder.join(std::ffi::OsStr::from_bytes(&entry.path));
            let size = blobs.begin(&entry.oid)?;
            self.left = self.left.checked_sub(size).ok_or_else(|| Error::TooLarge {
                what: "the worktree".to_owned(),
                limit: self.most,
            })?;
            if let Some(parent) = path.parent()
                && parent != self.made
            {
                fs::create_dir_all(parent).map_err(Error::broken("cannot write a worktree"))?;
                parent.clone_into(&mut self.made);
            }
            if entry.mode == Mode::Link {
                let target = blobs.content(LONGEST_TARGET)?;
                match target.filter(|target| stays_inside(&entry.path, target)) {
                    Some(target) => self.links.push((path, target)),
                    None => {
                        left_out.push(LeftOut { path: entry.path, why: Why::LeadsOut });
                        continue;
                    }
                }
            } else {
                let mode = if entry.mode == Mode::Executable { 0o755 } else { 0o644 };
                let mut file = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .mode(mode)
                    .open(&path)
                    .map_err(Error::broken("cannot write a worktree"))?;
                blobs.copy_to(&mut file)?;
            }
            written.push(entry);
        }
        blobs.end()?;
        for (path, target) in self.links {
            symlink(std::ffi::OsStr::from_bytes(&target), path)
                .map_err(Error::broken("cannot write a worktree"))?;
        }
        Ok((written, left_out))
    }
}

/// Whether a link can only lead to what is in the folder.
///
/// `..` may stand at its beginning alone: there it climbs folders that are really folders, because
/// nothing stands below a link. After another link's name it could climb from anywhere.
fn stays_inside(path: &[u8], target: &[u8]) -> bool {
    if target.is_empty() || target.starts_with(b"/") || target.contains(&0) {
        return false;
    }
    let mut depth = path.split(|&byte| byte == b'/').count() - 1;
    let mut descends = false;
    for part in target.split(|&byte| byte == b'/') {
        match part {
            b".." if descends || depth == 0 => return false,
            b".." => depth -= 1,
            b"" | b"." => {}
            _ => descends = true,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t7_a_link_that_may_lead_out_is_told_from_one_that_cannot() {
        for (path, target) in [
            ("l", "a"),
            ("l", "./a/b"),
            ("d/l", "../a"),
            ("d/e/l", "../../a"),
            ("l", "a//b"),
            ("l", "."),
        ] {
            assert!(stays_inside(path.as_bytes(), target.as_bytes()), "{path} -> {target}");
        }
        for (path, target) in [
            ("l", "/etc/passwd"),
            ("l", ".."),
            ("l", "../x"),
            ("d/l", "../../x"),
            ("l", "a/../b"),
            ("l", "d/up/../../x"),
            ("l", ""),
            ("l", "a\0b"),
        ] {
            assert!(!stays_inside(path.as_bytes(), target.as_bytes()), "{path} -> {target}");
        }
    }
}
