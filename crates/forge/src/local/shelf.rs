//! The files of a [`super::Local`]: `issues/<number>/opening.json` and one `<n>.json` per comment.
//!
//! Names are made of numbers only, so no text chooses a path. A file is written beside its place
//! and then put there, so a reader sees a whole text or none. Blocking; called off the runtime.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use domain::publication::Sign;
use domain::{Actor, Time};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Comments of one issue have the ids from `number * ROOM + 1`: unique in the whole folder.
const ROOM: u64 = 1_000_000;
const OPENING: &str = "opening.json";
/// The name that a removed comment's file ends with. It stays, so that no id is used twice.
const REMOVED: &str = "removed";

#[derive(Clone, Debug)]
pub(super) struct Shelf {
    issues: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Opening {
    pub(super) title: String,
    pub(super) open: bool,
    #[serde(flatten)]
    pub(super) text: Text,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Text {
    pub(super) author: Actor,
    pub(super) body: String,
    pub(super) created_at: Time,
    pub(super) updated_at: Time,
    /// Signs, each with the login that gave it.
    #[serde(default)]
    pub(super) reactions: Vec<(Sign, String)>,
}

impl Text {
    pub(super) fn new(author: Actor, body: &str, now: Time) -> Self {
        Self {
            author,
            body: body.to_owned(),
            created_at: now,
            updated_at: now,
            reactions: Vec::new(),
        }
    }

    /// Adds a reaction, once.
    pub(super) fn react(&mut self, sign: Sign, by: &str) {
        if !self.reactions.iter().any(|(there, login)| *there == sign && login == by) {
            self.reactions.push((sign, by.to_owned()));
        }
    }
}

impl Shelf {
    pub(super) fn new(dir: PathBuf) -> Self {
        Self { issues: dir.join("issues") }
    }

    /// Opens an issue under the next free number.
    pub(super) fn open(&self, opening: &Opening) -> Result<u64, Error> {
        fs::create_dir_all(&self.issues).map_err(failed)?;
        let mut number = numbers(&self.issues)?.into_iter().max().unwrap_or(0) + 1;
        // Making the folder takes the number: only one process can make it.
        loop {
            match fs::create_dir(self.folder(number)) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(error) => return Err(failed(error)),
            }
        }
        self.replace_opening(number, opening)?;
        Ok(number)
    }

    pub(super) fn opening(&self, number: u64) -> Result<Opening, Error> {
        read(&self.folder(number).join(OPENING), &format!("issue {number}"))
    }

    pub(super) fn replace_opening(&self, number: u64, opening: &Opening) -> Result<(), Error> {
        let folder = self.folder(number);
        let file = stage(&folder, opening)?;
        fs::rename(file, folder.join(OPENING)).map_err(failed)
    }

    /// Returns the comments of an issue with their ids, oldest first.
    pub(super) fn comments(&self, number: u64) -> Result<Vec<(u64, Text)>, Error> {
        self.opening(number)?;
        let mut places = numbers(&self.folder(number))?;
        places.sort_unstable();
        let mut comments = Vec::new();
        for place in places {
            let id = id_at(number, place);
            match self.comment(number, id) {
                Ok(text) => comments.push((id, text)),
                Err(Error::Gone { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(comments)
    }

    pub(super) fn comment(&self, number: u64, id: u64) -> Result<Text, Error> {
        read(&self.file(number, id)?, &format!("comment {id}"))
    }

    /// Adds a comment and returns its id.
    pub(super) fn add(&self, number: u64, text: &Text) -> Result<u64, Error> {
        self.opening(number)?;
        let folder = self.folder(number);
        let file = stage(&folder, text)?;
        let mut place = numbers(&folder)?.into_iter().max().unwrap_or(0) + 1;
        let id = loop {
            let id = id_at(number, place);
            // A link refuses to replace what is there: nobody else can take the same id.
            match self
                .file(number, id)
                .and_then(|target| fs::hard_link(&file, target).map_err(failed))
            {
                Ok(()) => break Ok(id),
                Err(Error::Conflict { .. }) => place += 1,
                Err(error) => break Err(error),
            }
        };
        fs::remove_file(file).map_err(failed)?;
        id
    }

    pub(super) fn replace(&self, number: u64, id: u64, text: &Text) -> Result<(), Error> {
        let target = self.file(number, id)?;
        let file = stage(&self.folder(number), text)?;
        fs::rename(file, target).map_err(failed)
    }

    pub(super) fn remove(&self, number: u64, id: u64) -> Result<(), Error> {
        let file = self.file(number, id)?;
        fs::rename(&file, file.with_extension(REMOVED)).map_err(failed)
    }

    fn folder(&self, number: u64) -> PathBuf {
        self.issues.join(number.to_string())
    }

    /// Returns the file of a comment; an id of another issue has none here.
    fn file(&self, number: u64, id: u64) -> Result<PathBuf, Error> {
        let place = id.checked_sub(id_at(number, 0)).filter(|place| (1..ROOM).contains(place));
        let place =
            place.ok_or_else(|| Error::Gone { what: format!("comment {id} of issue {number}") })?;
        Ok(self.folder(number).join(format!("{place}.json")))
    }
}

fn id_at(number: u64, place: u64) -> u64 {
    number.saturating_mul(ROOM).saturating_add(place)
}

/// Lists the numbers that names in a folder begin with: `7`, `7.json`, `7.removed`.
fn numbers(folder: &Path) -> Result<Vec<u64>, Error> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let stem = name.to_str().and_then(|name| name.split('.').next());
        found.extend(stem.and_then(|stem| stem.parse::<u64>().ok()));
    }
    Ok(found)
}

fn read<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T, Error> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Error::Gone { what: what.to_owned() });
        }
        Err(error) => return Err(failed(error)),
    };
    serde_json::from_slice(&bytes)
        .map_err(|error| Error::Garbled { what: what.to_owned(), why: error.to_string() })
}

/// Writes a value into a new file beside its place, down to the disk.
fn stage<T: Serialize>(folder: &Path, value: &T) -> Result<PathBuf, Error> {
    let json = serde_json::to_vec_pretty(value)
        .map_err(|error| Error::Garbled { what: "a text".to_owned(), why: error.to_string() })?;
    // A thread has one name at a time in a process, and a process one number on a machine.
    let name = format!(".new-{}-{:?}", std::process::id(), std::thread::current().id());
    let path = folder.join(name);
    let mut file = fs::File::create(&path).map_err(failed)?;
    file.write_all(&json).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok(path)
}

/// Names what went wrong with a file. Nothing has happened then: files are put in place whole.
fn failed(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::Gone { what: "a file of the conversation".to_owned() },
        io::ErrorKind::AlreadyExists => {
            Error::Conflict { what: "a file of the conversation".to_owned() }
        }
        _ => Error::Unreachable { why: format!("the folder of conversations: {error}") },
    }
}
