//! The real binary as a process, in a folder of its own and with no environment but what the story
//! gives it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::PipeWriter;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::mask::{ids, number_after, times};

/// For how long, in real time, a process may say nothing new before a story gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that can be run, several times if need be.
#[derive(Debug)]
pub(crate) struct Program {
    folder: TempDir,
    variables: BTreeMap<String, String>,
}

impl Program {
    /// Nothing is configured; the home folder is a new one.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().display().to_string();
        Self { folder, variables: BTreeMap::from([("HOME".to_owned(), home)]) }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.variables.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.variables.remove(name);
        self
    }

    /// The home folder, where it also keeps its data.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Puts a file into the home folder.
    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(name);
        std::fs::write(&path, content).expect("a file in the folder");
        path
    }

    /// Runs it to its end.
    pub(crate) async fn run(&self, arguments: &[&str]) -> Ran {
        let output = self.command(arguments).output().await.expect("the program starts");
        Ran {
            line: format!("patchwright {}", arguments.join(" ")),
            home: self.folder.path().display().to_string(),
            stdout: String::from_utf8(output.stdout).expect("text"),
            stderr: String::from_utf8(output.stderr).expect("text"),
            code: output.status.code(),
        }
    }

    /// Runs it with its output going somewhere else; returns its exit code.
    pub(crate) async fn run_into(&self, output: PipeWriter, arguments: &[&str]) -> Option<i32> {
        let mut command = self.command(arguments);
        command.stdout(Stdio::from(output)).stderr(Stdio::null());
        command.status().await.expect("the program starts").code()
    }

    /// Starts `serve` on any free port and waits until it says which.
    pub(crate) async fn serve(&self) -> Running {
        let mut command = self.command(&["serve", "--listen", "127.0.0.1:0"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let said = Arc::new(Said::default());
        let readers = [
            said.listen(child.stdout.take().expect("its standard output")),
            said.listen(child.stderr.take().expect("its standard error output")),
        ];
        let mut running = Running { child, said, readers, gateway: String::new() };
        running.gateway = running.until_said("listening on ").await;
        running
    }

    #[expect(clippy::disallowed_methods, reason = "this is the program under test")]
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_patchwright"));
        command.args(arguments).env_clear().envs(&self.variables).current_dir(self.folder.path());
        command.stdin(Stdio::null()).kill_on_drop(true);
        command
    }
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ran {
    line: String,
    home: String,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) code: Option<i32>,
}

/// What a person sees, without what is different each time.
impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = format!("$ {}\n", self.line);
        for (sign, said) in [("", &self.stdout), ("! ", &self.stderr)] {
            for line in said.lines() {
                text.push_str(format!("{sign}{line}").trim_end());
                text.push('\n');
            }
        }
        let text = times(&ids(&text.replace(&self.home, "~")));
        let text = number_after(&number_after(&text, "127.0.0.1:"), "patchwright, ");
        write!(
            f,
            "{text}exit {}",
            self.code.map_or("by a signal".to_owned(), |code| code.to_string())
        )
    }
}

/// A server that runs until it is stopped or dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    said: Arc<Said>,
    readers: [JoinHandle<()>; 2],
    gateway: String,
}

impl Running {
    /// Returns the address that it said.
    pub(crate) fn gateway(&self) -> &str {
        &self.gateway
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// Waits until it has said these words; returns the rest of that line.
    pub(crate) async fn until_said(&self, words: &str) -> String {
        let mut length = self.said.length.subscribe();
        loop {
            length.borrow_and_update();
            let text = self.said.text();
            if let Some((_, rest)) = text.split_once(words)
                && let Some((line, _)) = rest.split_once('\n')
            {
                return line.to_owned();
            }
            let more = tokio::time::timeout(PATIENCE, length.changed()).await;
            more.unwrap_or_else(|_| panic!("it never said {words:?}:\n{text}")).expect("it runs");
        }
    }

    /// Asks it to stop and waits; returns everything that it said, and its exit code.
    pub(crate) async fn stop(mut self) -> (String, Option<i32>) {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw).expect("a process");
        kill_process(pid, Signal::TERM).expect("a signal is sent");
        let ended = self.child.wait().await.expect("it ends");
        for reader in self.readers {
            reader.await.expect("its output is read");
        }
        (self.said.text(), ended.code())
    }
}

/// What a process said so far, on both outputs.
#[derive(Debug, Default)]
struct Said {
    bytes: Mutex<Vec<u8>>,
    length: watch::Sender<usize>,
}

impl Said {
    fn listen(
        self: &Arc<Self>,
        mut output: impl AsyncRead + Unpin + Send + 'static,
    ) -> JoinHandle<()> {
        let this = Arc::clone(self);
        tokio::spawn(async move {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut piece).await {
                let mut bytes = this.bytes.lock().expect("nobody panicked");
                bytes.extend_from_slice(&piece[..length]);
                this.length.send_replace(bytes.len());
            }
        })
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes.lock().expect("nobody panicked")).into_owned()
    }
}
