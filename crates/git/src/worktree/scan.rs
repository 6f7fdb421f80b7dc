//! What changed in a worktree in which untrusted code has run.
//!
//! No git process looks at the folder. It is walked by file descriptors that follow no link, and
//! compared with the commit byte by byte, so that neither times nor a planted `.git` can lie (T7).

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, CWD, Dir, FileType, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;

use super::{Blobs, Worktree};
use crate::command::Limit;
use crate::error::Error;
use crate::name::check_path;
use crate::read::{Entry, Mode};

/// The most entries that a scan looks at: a build may leave many, but not any number.
const MOST_ENTRIES: usize = 2_000_000;

/// How deep a scan goes.
const DEEPEST: usize = 256;

/// A path whose content differs from the commit's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    pub path: Vec<u8>,
    pub kind: Kind,
}

/// How a path differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Added(Mode),
    Modified(Mode),
    Removed,
    /// Something that no commit can hold: a device, a pipe, `.git` or a name in its disguise. It
    /// was not looked into.
    Unfit,
}

impl Worktree {
    /// Compares the folder with the commit that it was made from.
    pub async fn differences(&self) -> Result<Vec<Difference>, Error> {
        let root = self.path();
        let (entries, left_out) = (self.entries.clone(), self.left_out.clone());
        let input: String = entries.iter().map(|entry| format!("{}\n", entry.oid)).collect();
        let consume = move |reader| {
            let mut there = Walk::over(open_folder(&root)?)?;
            for gone in &left_out {
                there.remove(&gone.path);
            }
            let mut blobs = Blobs::new(reader);
            let mut differences = Vec::new();
            for entry in entries {
                let size = blobs.begin(&entry.oid)?;
                let kind = match there.remove(&entry.path) {
                    None => {
                        blobs.skip()?;
                        Some(Kind::Removed)
                    }
                    Some(found) => compare(&root, &entry, found, size, &mut blobs)?,
                };
                differences.extend(kind.map(|kind| Difference { path: entry.path, kind }));
            }
            blobs.end()?;
            differences.extend(there.into_iter().map(|(path, found)| Difference {
                path,
                kind: found.map_or(Kind::Unfit, |found| Kind::Added(found.mode)),
            }));
            differences.sort_unstable_by(|one, other| one.path.cmp(&other.path));
            Ok(differences)
        };
        let command = self.repository.command("cat-file", Limit::Local);
        let command = command.args(["--batch", "--buffer"]).input(input);
        Ok(command.read(consume).await?.0)
    }

    /// Reads a file or the target of a link, following no link on the way.
    pub fn read(&self, path: &[u8], largest: u64) -> Result<Vec<u8>, Error> {
        check_path(path).map_err(|fault| Error::Hostile { what: fault.to_string() })?;
        let broken = || Error::broken("cannot read a file of a worktree");
        let (folder, name) = open_parent(&self.path(), path)?;
        let name = OsStr::from_bytes(name);
        let found =
            statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map_err(|why| broken()(why.into()))?;
        if FileType::from_raw_mode(found.st_mode) == FileType::Symlink {
            let target =
                readlinkat(&folder, name, Vec::new()).map_err(|why| broken()(why.into()))?;
            return Ok(target.into_bytes());
        }
        let mut content = Vec::new();
        let mut file = open_file(&folder, name)?.take(largest.saturating_add(1));
        file.read_to_end(&mut content).map_err(broken())?;
        if content.len() as u64 > largest {
            return Err(Error::TooLarge {
                what: "a file of the worktree".to_owned(),
                limit: largest,
            });
        }
        Ok(content)
    }
}

/// A file or link that a commit could hold.
#[derive(Clone, Copy, Debug)]
struct Seen {
    mode: Mode,
    size: u64,
}

fn compare(
    root: &std::path::Path,
    entry: &Entry,
    found: Option<Seen>,
    size: u64,
    blobs: &mut Blobs,
) -> Result<Option<Kind>, Error> {
    let Some(found) = found else {
        blobs.skip()?;
        return Ok(Some(Kind::Unfit));
    };
    let (folder, name) = open_parent(root, &entry.path)?;
    let name = OsStr::from_bytes(name);
    let is_link = |mode| mode == Mode::Link;
    let equal = if is_link(found.mode) != is_link(entry.mode) || found.size != size {
        blobs.skip()?;
        false
    } else if is_link(found.mode) {
        let target = readlinkat(&folder, name, Vec::new())
            .map_err(|why| Error::broken("cannot read a link of a worktree")(why.into()))?;
        blobs.equals(&mut target.as_bytes())?
    } else {
        blobs.equals(&mut open_file(&folder, name)?)?
    };
    Ok((!equal || found.mode != entry.mode).then_some(Kind::Modified(found.mode)))
}

/// Everything below a folder; what no commit can hold has no `Seen`.
type There = BTreeMap<Vec<u8>, Option<Seen>>;

struct Walk {
    there: There,
}

impl Walk {
    fn over(root: OwnedFd) -> Result<There, Error> {
        let mut walk = Self { there: There::new() };
        walk.folder(root, &[], 0)?;
        Ok(walk.there)
    }

    fn folder(&mut self, folder: OwnedFd, prefix: &[u8], depth: usize) -> Result<(), Error> {
        let broken = |why: Errno| Error::broken("cannot look through a worktree")(why.into());
        if depth > DEEPEST || self.there.len() > MOST_ENTRIES {
            return Err(Error::Hostile {
                what: "a worktree that is too deep or too full".to_owned(),
            });
        }
        for entry in Dir::read_from(&folder).map_err(broken)? {
            let entry = entry.map_err(broken)?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let mut path = prefix.to_vec();
            path.extend_from_slice(name);
            if check_path(name).is_err() {
                self.there.insert(path, None);
                continue;
            }
            let found = statat(&folder, entry.file_name(), AtFlags::SYMLINK_NOFOLLOW);
            let found = match found {
                Ok(found) => found,
                Err(Errno::NOENT) => continue,
                Err(why) => return Err(broken(why)),
            };
            let size = u64::try_from(found.st_size).unwrap_or(0);
            match FileType::from_raw_mode(found.st_mode) {
                FileType::Directory => {
                    let below = openat(
                        &folder,
                        entry.file_name(),
                        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC,
                        rustix::fs::Mode::empty(),
                    )
                    .map_err(broken)?;
                    path.push(b'/');
                    self.folder(below, &path, depth + 1)?;
                }
                FileType::RegularFile => {
                    let is_executable = found.st_mode & 0o100 != 0;
                    let mode = if is_executable { Mode::Executable } else { Mode::File };
                    self.there.insert(path, Some(Seen { mode, size }));
                }
                FileType::Symlink => {
                    self.there.insert(path, Some(Seen { mode: Mode::Link, size }));
                }
                _ => {
                    self.there.insert(path, None);
                }
            }
        }
        Ok(())
    }
}

fn open_folder(root: &std::path::Path) -> Result<OwnedFd, Error> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(CWD, root, flags, rustix::fs::Mode::empty())
        .map_err(|why| Error::broken("cannot open a worktree")(why.into()))
}

/// Opens the folder of a path part by part, following no link.
fn open_parent<'a>(root: &std::path::Path, path: &'a [u8]) -> Result<(OwnedFd, &'a [u8]), Error> {
    let mut folder = open_folder(root)?;
    let mut rest = path;
    while let Some(slash) = rest.iter().position(|&byte| byte == b'/') {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let part = OsStr::from_bytes(&rest[..slash]);
        folder = openat(&folder, part, flags, rustix::fs::Mode::empty())
            .map_err(|why| Error::broken("cannot open a folder of a worktree")(why.into()))?;
        rest = &rest[slash + 1..];
    }
    Ok((folder, rest))
}

/// Opens a file that is a file: no link, and no pipe that would make us wait.
fn open_file(folder: &OwnedFd, name: &OsStr) -> Result<File, Error> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let broken = || Error::broken("cannot open a file of a worktree");
    let file = openat(folder, name, flags, rustix::fs::Mode::empty())
        .map_err(|why| broken()(why.into()))?;
    let file = File::from(file);
    if !file.metadata().map_err(broken())?.is_file() {
        return Err(Error::Hostile { what: "a file of the worktree that is no file".to_owned() });
    }
    Ok(file)
}
