//! How git gets a credential without its standing in an argument, a variable, an address or a file.
//!
//! git asks its credential helper, which is the program of the caller, started again with the hidden
//! command that ends in [`relay`]. That process knows nothing: it carries git's question over a
//! private socket to this one and the answer back. [`Desk`] answers only processes of the very
//! command that it was opened for, as often as they ask.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::process::{Pid, geteuid, getpgid};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

use crate::error::Error;
use crate::remote::Access;

/// More than any question or answer of git's credential protocol is long.
const LONGEST: u64 = 64 * 1024;

/// Carries git's question from `input` to the socket and the answer to `output`.
///
/// `operation` is the word that git appends; only `get` is a question. Called by the hidden command
/// of the binary, in a process of its own.
pub fn relay(
    socket: &Path,
    operation: &str,
    input: impl Read,
    output: &mut impl Write,
) -> io::Result<()> {
    if operation != "get" {
        return Ok(());
    }
    let mut question = Vec::new();
    input.take(LONGEST).read_to_end(&mut question)?;
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(&question)?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.take(LONGEST).read_to_end(&mut answer)?;
    output.write_all(&answer)?;
    output.flush()
}

/// The place where one git command gets its credential.
#[derive(Debug)]
pub(crate) struct Desk {
    listener: UnixListener,
    access: Access,
    /// The process group of the command, known once it runs.
    group: OnceLock<Pid>,
    folder: TempDir,
}

impl Desk {
    /// Opens a socket in a new folder that only this account can enter.
    pub(crate) fn open(runtime: &Path, access: &Access) -> Result<Self, Error> {
        let what = "cannot open a socket for credentials";
        let folder = tempfile::Builder::new()
            .prefix("d")
            .tempdir_in(runtime)
            .map_err(Error::broken(what))?;
        let listener = UnixListener::bind(folder.path().join("s")).map_err(Error::broken(what))?;
        Ok(Self { listener, access: access.clone(), group: OnceLock::new(), folder })
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    /// Says which command may ask.
    pub(crate) fn admit(&self, group: Pid) {
        self.group.set(group).ok();
    }

    /// Answers questions until it is dropped.
    pub(crate) async fn serve(&self) -> Error {
        loop {
            match self.listener.accept().await {
                Ok((mut stream, _)) => {
                    if !self.is_admitted(&stream) {
                        tracing::warn!("a stranger asked for a git credential and got none");
                        continue;
                    }
                    // A helper that died meanwhile gets no answer; git then says so itself.
                    if let Err(why) = self.attend(&mut stream).await {
                        tracing::debug!(%why, "a question for a git credential broke off");
                    }
                }
                Err(why) => return Error::broken("cannot answer for credentials")(why),
            }
        }
    }

    async fn attend(&self, stream: &mut tokio::net::UnixStream) -> io::Result<()> {
        let mut question = Vec::new();
        stream.take(LONGEST).read_to_end(&mut question).await?;
        stream.write_all(&self.access.answer(&question)).await?;
        stream.shutdown().await
    }

    fn is_admitted(&self, stream: &tokio::net::UnixStream) -> bool {
        let Ok(peer) = stream.peer_cred() else { return false };
        let group = peer.pid().and_then(Pid::from_raw).and_then(|pid| getpgid(Some(pid)).ok());
        peer.uid() == geteuid().as_raw() && group.is_some() && group.as_ref() == self.group.get()
    }
}
