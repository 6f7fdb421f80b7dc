//! A bare repository of ours: a mirror, or a private one that borrows a mirror's objects.
//!
//! Everything that is read is read here, by object names, without a work tree, an index or the
//! network. See the modules below [`crate::read`].

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::command::{Command, Git, Limit};
use crate::error::Error;
use crate::workshop::{Workshop, make_private};

/// Takes every meaning away that a repository's own `.gitattributes` gives to its files: bytes stay
/// as they are, no driver is asked.
const ATTRIBUTES: &str = "* !text !eol !crlf !ident !filter !working-tree-encoding !diff !merge \
                          !export-ignore !export-subst !textconv\n";

/// A bare repository that nobody but this program writes to.
#[derive(Clone, Debug)]
pub struct Repository {
    pub(crate) git: Git,
    pub(crate) folder: PathBuf,
    pub(crate) workshop: Arc<Workshop>,
}

impl Repository {
    /// Returns a command on this repository.
    pub(crate) fn command<'a>(&self, subcommand: &str, limit: Limit) -> Command<'a> {
        self.git.command(subcommand, limit).variable("GIT_DIR", &self.folder)
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.folder.join("objects")
    }
}

/// Makes an empty bare repository: no template, no hooks.
pub(crate) fn make(folder: &Path, borrowed: Option<&Path>) -> Result<(), Error> {
    for part in ["refs/heads", "objects/info", "objects/pack", "info"] {
        make_private(&folder.join(part))?;
    }
    let write = |name: &str, content: &[u8]| {
        fs::write(folder.join(name), content).map_err(Error::broken("cannot make a repository"))
    };
    write("config", b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n")?;
    write("info/attributes", ATTRIBUTES.as_bytes())?;
    if let Some(objects) = borrowed {
        let mut line = crate::command::path_bytes(objects).to_vec();
        line.push(b'\n');
        write("objects/info/alternates", &line)?;
    }
    // The last file: a folder with it is a whole repository.
    write("HEAD", b"ref: refs/heads/none\n")
}
