//! The files of a commit: listing, reading, searching.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::command::Limit;
use crate::error::Error;
use crate::oid::Oid;
use crate::repository::Repository;

/// What an entry of a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    File,
    Executable,
    Link,
    Folder,
    /// A commit of another repository, a submodule.
    Gitlink,
}

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub mode: Mode,
    pub oid: Oid,
    /// The whole path, in any bytes.
    pub path: Vec<u8>,
}

/// A file at a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub mode: Mode,
    pub oid: Oid,
    pub content: Vec<u8>,
}

/// A line that matches a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    pub path: Vec<u8>,
    pub line: u64,
    pub text: Vec<u8>,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matches {
    pub found: Vec<Match>,
    /// Whether there are more than were asked for.
    pub more: bool,
}

impl Mode {
    /// Reads the octal digits that git writes.
    pub(crate) fn parse(digits: &[u8]) -> Option<Self> {
        match digits {
            b"100644" | b"100664" | b"100600" => Some(Self::File),
            b"100755" => Some(Self::Executable),
            b"120000" => Some(Self::Link),
            b"040000" => Some(Self::Folder),
            b"160000" => Some(Self::Gitlink),
            _ => None,
        }
    }

    pub(crate) fn digits(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
            Self::Folder => "040000",
            Self::Gitlink => "160000",
        }
    }

    /// Whether its object is a blob of this repository.
    pub fn is_blob(self) -> bool {
        matches!(self, Self::File | Self::Executable | Self::Link)
    }
}

impl Repository {
    /// Lists all files of a commit or tree, or those below a folder, links and submodules among
    /// them.
    pub async fn list(&self, commit: &Oid, below: Option<&[u8]>) -> Result<Vec<Entry>, Error> {
        let command = self.command("ls-tree", Limit::Local).args(["-r", "-z", "--full-tree"]);
        let command = command.arg(commit.as_str()).at_most(self.git.limits().answer);
        let command = match below {
            Some(folder) => command.arg("--").arg(OsStr::from_bytes(folder)),
            None => command,
        };
        parse_entries(&command.run().await?.stdout)
    }

    /// Finds what stands at a path, without its content.
    pub async fn find(&self, commit: &Oid, path: &[u8]) -> Result<Option<Entry>, Error> {
        if crate::name::check_path(path).is_err() {
            return Ok(None);
        }
        let command = self.command("ls-tree", Limit::Quick).args(["-z", "--full-tree"]);
        let command = command.arg(commit.as_str()).arg("--").arg(OsStr::from_bytes(path));
        let entries = parse_entries(&command.run().await?.stdout)?;
        Ok(entries.into_iter().find(|entry| entry.path == path))
    }

    /// Reads the file at a path, if there is one, up to `largest` bytes.
    pub async fn file(
        &self,
        commit: &Oid,
        path: &[u8],
        largest: u64,
    ) -> Result<Option<Found>, Error> {
        match self.find(commit, path).await? {
            Some(Entry { mode, oid, .. }) if mode.is_blob() => {
                let content = self.blob(&oid, largest).await?;
                Ok(Some(Found { mode, oid, content }))
            }
            _ => Ok(None),
        }
    }

    /// Reads a blob, up to `largest` bytes.
    pub async fn blob(&self, oid: &Oid, largest: u64) -> Result<Vec<u8>, Error> {
        let command = self.command("cat-file", Limit::Local).args(["blob", oid.as_str()]);
        Ok(command.at_most(largest).run().await?.stdout)
    }

    /// Returns those objects that are not there.
    pub(crate) async fn missing(&self, oids: &BTreeSet<Oid>) -> Result<BTreeSet<Oid>, Error> {
        let input: String = oids.iter().map(|oid| format!("{oid}\n")).collect();
        let command = self
            .command("cat-file", Limit::Local)
            .args(["--batch-check=%(objectname) %(objecttype)", "--buffer"])
            .at_most(self.git.limits().answer)
            .input(input);
        let answer = command.run().await?.stdout;
        let lines: Vec<&[u8]> =
            answer.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).collect();
        if lines.len() != oids.len() {
            return Err(garbled("cat-file"));
        }
        let gone = lines.iter().filter_map(|line| line.strip_suffix(b" missing"));
        gone.map(|oid| Oid::from_bytes(oid).map_err(|_| garbled("cat-file"))).collect()
    }

    /// Searches the text files of a commit for a fixed text, and returns the first matches.
    pub async fn grep(&self, commit: &Oid, text: &str, most: usize) -> Result<Matches, Error> {
        let command = self
            .command("grep", Limit::Local)
            .args([
                "-z",
                "-n",
                "-I",
                "-F",
                "--no-color",
                "--no-textconv",
                "--full-name",
                "-e",
                text,
            ])
            .arg(commit.as_str())
            .accepting(&[0, 1]);
        let prefix = format!("{commit}:").into_bytes();
        let command = command.at_most(self.git.limits().answer);
        let consume = move |reader: std::io::PipeReader| {
            let mut reader = std::io::BufReader::new(reader);
            let mut matches = Matches { found: Vec::new(), more: false };
            while let Some(found) = next_match(&mut reader, &prefix)? {
                if matches.found.len() < most {
                    matches.found.push(found);
                } else {
                    matches.more = true;
                }
            }
            Ok(matches)
        };
        Ok(command.read(consume).await?.0)
    }
}

/// Reads one `commit:path NUL line NUL text`.
fn next_match(reader: &mut impl std::io::BufRead, prefix: &[u8]) -> Result<Option<Match>, Error> {
    let mut part = |end: u8| {
        let mut bytes = Vec::new();
        let read = reader.read_until(end, &mut bytes);
        read.map_err(Error::broken("cannot read git's answer"))?;
        Ok::<_, Error>((bytes.pop() == Some(end)).then_some(bytes))
    };
    let Some(path) = part(0)? else { return Ok(None) };
    let (Some(line), Some(text)) = (part(0)?, part(b'\n')?) else { return Err(garbled("grep")) };
    let path = path.strip_prefix(prefix).ok_or_else(|| garbled("grep"))?.to_vec();
    let line = std::str::from_utf8(&line).ok().and_then(|line| line.parse().ok());
    Ok(Some(Match { path, line: line.ok_or_else(|| garbled("grep"))?, text }))
}

/// Reads the entries of `ls-tree -z`.
fn parse_entries(answer: &[u8]) -> Result<Vec<Entry>, Error> {
    let records = answer.split(|&byte| byte == 0).filter(|record| !record.is_empty());
    records.map(|record| parse_entry(record).ok_or_else(|| garbled("ls-tree"))).collect()
}

fn parse_entry(record: &[u8]) -> Option<Entry> {
    let tab = record.iter().position(|&byte| byte == b'\t')?;
    let (head, path) = (&record[..tab], &record[tab + 1..]);
    let mut words = head.split(|&byte| byte == b' ');
    let mode = Mode::parse(words.next()?)?;
    words.next()?;
    let oid = Oid::from_bytes(words.next()?).ok()?;
    Some(Entry { mode, oid, path: path.to_vec() })
}

pub(crate) fn garbled(command: &str) -> Error {
    Error::Failed {
        command: format!("git {command}"),
        status: "an answer that makes no sense".to_owned(),
        stderr: "(no word)".to_owned(),
    }
}
