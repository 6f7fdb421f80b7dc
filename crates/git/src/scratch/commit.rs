//! Making a commit blob by blob, in a private index, without a work tree (T7).

use std::fs;

use super::Scratch;
use crate::command::{Limit, path_bytes};
use crate::error::Error;
use crate::name::check_path;
use crate::oid::Oid;
use crate::read::{Mode, Person, garbled};

/// One file of a new commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The path, in any bytes.
    pub path: Vec<u8>,
    pub content: Content,
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    File(Vec<u8>),
    Executable(Vec<u8>),
    /// A link with its target.
    Link(Vec<u8>),
    Removed,
}

/// A commit that is to be made.
#[derive(Clone, Debug)]
pub struct NewCommit {
    /// The first parent, whose files it starts from.
    pub parent: Oid,
    pub edits: Vec<Edit>,
    pub author: Person,
    pub committer: Person,
    pub message: String,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    New(Oid),
    /// The edits change nothing, so there is no commit.
    Unchanged,
}

impl Scratch {
    /// Makes a commit. No file of anybody's is touched but those of this private repository.
    pub async fn commit_edits(&self, new: &NewCommit) -> Result<Made, Error> {
        for edit in &new.edits {
            check_path(&edit.path).map_err(|fault| Error::Hostile { what: fault.to_string() })?;
        }
        check_person(&new.author)?;
        check_person(&new.committer)?;
        let blobs = self.write_blobs(&new.edits).await?;
        let tree = self.write_tree(&new.parent, &new.edits, &blobs).await?;
        if tree == self.commit(&new.parent).await?.tree {
            return Ok(Made::Unchanged);
        }
        let date = |person: &Person| format!("@{} +0000", person.at.0.div_euclid(1000).max(0));
        let command = self
            .command("commit-tree", Limit::Quick)
            .args([tree.as_str(), "-p", new.parent.as_str(), "-F", "-"])
            .variable("GIT_AUTHOR_NAME", &new.author.name)
            .variable("GIT_AUTHOR_EMAIL", &new.author.email)
            .variable("GIT_AUTHOR_DATE", date(&new.author))
            .variable("GIT_COMMITTER_NAME", &new.committer.name)
            .variable("GIT_COMMITTER_EMAIL", &new.committer.email)
            .variable("GIT_COMMITTER_DATE", date(&new.committer))
            .input(new.message.clone());
        let commit = only_oid(&command.run().await?.stdout, "commit-tree")?;
        Ok(Made::New(commit))
    }

    /// Writes the contents, in the order of the edits, and returns their names.
    async fn write_blobs(&self, edits: &[Edit]) -> Result<Vec<Oid>, Error> {
        let contents: Vec<&[u8]> = edits.iter().filter_map(|edit| edit.content.bytes()).collect();
        let folder = self.workshop.folder("b")?;
        let mut names = Vec::new();
        for (n, content) in contents.iter().enumerate() {
            let file = folder.path().join(n.to_string());
            fs::write(&file, content).map_err(Error::broken("cannot write a content"))?;
            names.extend_from_slice(path_bytes(&file));
            names.push(b'\n');
        }
        let command = self
            .command("hash-object", Limit::Local)
            .args(["-w", "-t", "blob", "--no-filters", "--stdin-paths"])
            .at_most(self.git.limits().answer)
            .input(names);
        let answer = command.run().await?.stdout;
        let lines = answer.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let oids: Vec<Oid> = lines
            .map(|line| Oid::from_bytes(line).map_err(|_| garbled("hash-object")))
            .collect::<Result<_, _>>()?;
        if oids.len() == contents.len() { Ok(oids) } else { Err(garbled("hash-object")) }
    }

    async fn write_tree(&self, parent: &Oid, edits: &[Edit], blobs: &[Oid]) -> Result<Oid, Error> {
        let index = self.beside("index");
        let read = self.command("read-tree", Limit::Local).variable("GIT_INDEX_FILE", &index);
        read.arg(parent.as_str()).run().await?;
        let mut input = Vec::new();
        let mut blobs = blobs.iter();
        // Removals first: a folder may take the place of a file that goes.
        for edit in edits.iter().filter(|edit| edit.content == Content::Removed) {
            input.extend_from_slice(format!("0 {:040}\t", 0).as_bytes());
            input.extend_from_slice(&edit.path);
            input.push(0);
        }
        for edit in edits {
            if let Some(mode) = edit.content.mode() {
                let blob = blobs.next().ok_or_else(|| garbled("hash-object"))?;
                input.extend_from_slice(format!("{} {blob}\t", mode.digits()).as_bytes());
                input.extend_from_slice(&edit.path);
                input.push(0);
            }
        }
        let update = self.command("update-index", Limit::Local).variable("GIT_INDEX_FILE", &index);
        update.args(["-z", "--index-info"]).input(input).run().await?;
        // Contents of files that stay as they are need not be here: the remote has them.
        let write = self.command("write-tree", Limit::Local).variable("GIT_INDEX_FILE", &index);
        let tree = only_oid(&write.arg("--missing-ok").run().await?.stdout, "write-tree")?;
        fs::remove_file(&index).map_err(Error::broken("cannot remove a private index"))?;
        Ok(tree)
    }
}

impl Content {
    fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::File(bytes) | Self::Executable(bytes) | Self::Link(bytes) => Some(bytes),
            Self::Removed => None,
        }
    }

    fn mode(&self) -> Option<Mode> {
        match self {
            Self::File(_) => Some(Mode::File),
            Self::Executable(_) => Some(Mode::Executable),
            Self::Link(_) => Some(Mode::Link),
            Self::Removed => None,
        }
    }
}

/// Refuses what would end the line of a commit's head.
fn check_person(person: &Person) -> Result<(), Error> {
    let is_fit = |text: &str| !text.contains(['\n', '\0', '<', '>']);
    if is_fit(&person.name) && is_fit(&person.email) && !person.name.trim().is_empty() {
        return Ok(());
    }
    Err(Error::Hostile { what: "an author's name or address that git does not take".to_owned() })
}

fn only_oid(answer: &[u8], command: &str) -> Result<Oid, Error> {
    let line = answer.strip_suffix(b"\n").unwrap_or(answer);
    Oid::from_bytes(line).map_err(|_| garbled(command))
}
