//! The one way in which git is started.
//!
//! Arguments are a list, the environment is built from nothing, the configuration is ours alone,
//! and every call has a time limit and a cap on what it may answer. The whole process group dies
//! with the call. An answer counts only when git ended well: one that broke off is an error, never a
//! short answer. Reading commands can reach no network at all.

mod limit;
mod verdict;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{PipeReader, Read};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use report::Redactor;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin};
use url::Url;

use crate::credential::Desk;
use crate::error::Error;
use crate::remote::Remote;
use crate::space::Space;

pub use limit::Limits;
pub(crate) use limit::{Limit, SMALL_ANSWER};

/// How much of what git says on standard error is kept: its end.
const STDERR: usize = 16 * 1024;

/// Settings that hold for every command, whatever a repository says.
const CONFIG: [(&str, &str); 33] = [
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", "/dev/null"),
    ("core.excludesFile", "/dev/null"),
    ("core.sshCommand", "false"),
    ("core.askPass", ""),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("core.logAllRefUpdates", "false"),
    ("core.useReplaceRefs", "false"),
    ("credential.helper", ""),
    ("init.templateDir", ""),
    ("protocol.allow", "never"),
    ("http.followRedirects", "false"),
    ("transfer.fsckObjects", "true"),
    ("fetch.fsckObjects", "true"),
    ("receive.fsckObjects", "true"),
    // Harmless faults of old tools, found in the history of many honest repositories.
    ("fetch.fsck.badTimezone", "ignore"),
    ("fetch.fsck.missingSpaceBeforeDate", "ignore"),
    ("fetch.fsck.zeroPaddedFilemode", "ignore"),
    ("submodule.recurse", "false"),
    ("fetch.recurseSubmodules", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("push.recurseSubmodules", "no"),
    ("push.gpgSign", "false"),
    ("push.negotiate", "true"),
    ("commit.gpgSign", "false"),
    ("log.showSignature", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("i18n.commitEncoding", "UTF-8"),
    ("i18n.logOutputEncoding", "UTF-8"),
    ("advice.pushUpdateRejected", "false"),
];

/// What the composition root knows about git.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The program, found by the caller.
    pub program: PathBuf,
    /// Where git finds its own programs and the shell.
    pub search_path: OsString,
    /// The program and leading arguments that end in [`crate::relay`].
    pub relay: Vec<OsString>,
    /// A short path of a private folder, for sockets.
    pub runtime: PathBuf,
    pub redactor: Arc<Redactor>,
    /// Certificate authorities to trust instead of the system's.
    pub authorities: Option<PathBuf>,
    /// The proxy to every forge. It carries no password: arguments and variables are public.
    pub proxy: Option<Url>,
    pub limits: Limits,
}

/// git, as it may be used here.
#[derive(Clone, Debug)]
pub struct Git(Arc<Settings>);

impl Git {
    pub fn new(settings: Settings) -> Result<Self, Error> {
        if settings.proxy.as_ref().is_some_and(|proxy| proxy.password().is_some()) {
            return Err(Error::Broken {
                what: "the proxy's address carries a password".to_owned(),
                why: "every process of this machine could read it".to_owned(),
            });
        }
        Ok(Self(Arc::new(settings)))
    }

    pub(crate) fn command<'a>(&self, subcommand: &str, limit: Limit) -> Command<'a> {
        Command {
            git: self.clone(),
            subcommand: subcommand.to_owned(),
            arguments: Vec::new(),
            variables: Vec::new(),
            config: Vec::new(),
            input: None,
            limit: limit.of(&self.0.limits),
            largest: SMALL_ANSWER,
            accepted: &[0],
            remote: None,
            kept: None,
            space: None,
        }
    }

    /// Takes secrets out of what a remote said.
    pub(crate) fn clean(&self, text: &str) -> String {
        self.0.redactor.clean(text).into_owned()
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.0.limits
    }
}

/// One call of git, being prepared.
#[derive(Debug)]
pub(crate) struct Command<'a> {
    git: Git,
    subcommand: String,
    arguments: Vec<OsString>,
    variables: Vec<(&'static str, OsString)>,
    config: Vec<(&'static str, OsString)>,
    input: Option<Vec<u8>>,
    limit: Duration,
    largest: u64,
    accepted: &'static [i32],
    remote: Option<&'a Remote>,
    kept: Option<File>,
    space: Option<&'a Space>,
}

/// What a command answered that ended well.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: i32,
    pub(crate) stdout: Vec<u8>,
    /// Free of secrets.
    pub(crate) stderr: String,
}

impl<'a> Command<'a> {
    pub(crate) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    pub(crate) fn args<T: AsRef<OsStr>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(|one| one.as_ref().to_owned()));
        self
    }

    pub(crate) fn variable(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name, value.as_ref().to_owned()));
        self
    }

    pub(crate) fn config(mut self, key: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.config.push((key, value.as_ref().to_owned()));
        self
    }

    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = Some(input.into());
        self
    }

    /// Sets how long the answer may be; a longer one is an error.
    pub(crate) fn at_most(mut self, largest: u64) -> Self {
        self.largest = largest;
        self
    }

    /// Names exit codes that are answers.
    pub(crate) fn accepting(mut self, codes: &'static [i32]) -> Self {
        self.accepted = codes;
        self
    }

    /// Lets the command speak to a remote, which it knows as `mirror`.
    pub(crate) fn to(mut self, remote: &'a Remote) -> Self {
        self.remote = Some(remote);
        self
    }

    /// Keeps a locked file open in git itself, so that the lock outlives this process if git does.
    /// It takes the place of the answer.
    pub(crate) fn keeping(mut self, locked: File) -> Self {
        self.kept = Some(locked);
        self
    }

    /// Kills the command when the disk fills up to the reserve.
    pub(crate) fn within(mut self, space: &'a Space) -> Self {
        self.space = Some(space);
        self
    }

    /// Runs it and returns the whole answer.
    pub(crate) async fn run(self) -> Result<Output, Error> {
        let (what, largest) = (format!("the answer of `{}`", self.shown()), self.largest);
        let consume = move |reader: PipeReader| {
            let mut stdout = Vec::new();
            let read = reader.take(largest.saturating_add(1)).read_to_end(&mut stdout);
            read.map_err(Error::broken("cannot read git's answer"))?;
            if stdout.len() as u64 > largest {
                return Err(Error::TooLarge { what, limit: largest });
            }
            Ok(stdout)
        };
        let (stdout, status, stderr) = self.read(consume).await?;
        Ok(Output { status, stdout, stderr })
    }

    /// Runs it and lets `consume` read the answer while it comes, on a thread that may block.
    ///
    /// What `consume` returns counts only if git ended well.
    pub(crate) async fn read<T: Send + 'static>(
        mut self,
        consume: impl FnOnce(PipeReader) -> Result<T, Error> + Send + 'static,
    ) -> Result<(T, i32, String), Error> {
        let desk = self.desk()?;
        let (reader, writer) =
            std::io::pipe().map_err(Error::broken("cannot make a pipe for git"))?;
        let mut command = self.prepare(desk.as_ref());
        match self.kept.take() {
            Some(locked) => {
                drop(writer);
                command.stdout(locked)
            }
            None => command.stdout(writer),
        };
        let mut child = command.spawn().map_err(Error::broken("cannot start git"))?;
        // It holds the writing end: without this the answer would never end.
        drop(command);
        let group = Group::of(&child);
        if let (Some(desk), Some(group)) = (&desk, group.0) {
            desk.admit(group);
        }
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let input = self.input.take().unwrap_or_default();
        let work = async {
            let consumed = tokio::task::spawn_blocking(move || consume(reader));
            let (consumed, (), stderr, status) =
                tokio::join!(consumed, feed(stdin, input), drain(stderr), child.wait());
            (consumed, stderr, status)
        };
        let ended = tokio::select! {
            ended = tokio::time::timeout(self.limit, work) => ended,
            broken = serve(desk.as_ref()) => return Err(broken),
            full = watch(self.space) => return Err(full),
        };
        let Ok((consumed, stderr, status)) = ended else {
            return Err(Error::TimedOut { command: self.shown(), limit: self.limit });
        };
        group.disarm();
        let stderr = self.git.0.redactor.clean(&String::from_utf8_lossy(&stderr)).into_owned();
        let status = status.map_err(Error::broken("cannot wait for git"))?;
        let consumed = consumed.map_err(|why| Error::Broken {
            what: "reading git's answer".to_owned(),
            why: why.to_string(),
        })?;
        match consumed {
            Ok(value) => Ok((value, self.judge(status, &stderr)?, stderr)),
            // An answer that makes no sense is explained by git's own word, if it has one. All else
            // we know better: git only saw that we stopped reading.
            Err(error @ (Error::Failed { .. } | Error::Broken { .. })) => {
                self.judge(status, &stderr)?;
                Err(error)
            }
            Err(error) => Err(error),
        }
    }

    fn desk(&self) -> Result<Option<Desk>, Error> {
        match self.remote {
            Some(Remote::Forge(access)) if access.account().is_some() => {
                Desk::open(&self.git.0.runtime, access).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn judge(&self, status: ExitStatus, stderr: &str) -> Result<i32, Error> {
        match status.code() {
            Some(code)
                if self.accepted.contains(&code)
                    && (self.remote.is_some() || !verdict::complains(stderr)) =>
            {
                Ok(code)
            }
            _ => Err(verdict::error(self.shown(), self.remote.is_some(), status, stderr)),
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the room in which git is started")]
    fn prepare(&self, desk: Option<&Desk>) -> tokio::process::Command {
        let settings = &self.git.0;
        let mut command = tokio::process::Command::new(&settings.program);
        command.arg("--no-pager").arg(&self.subcommand).args(&self.arguments);
        command.process_group(0).kill_on_drop(true).stderr(Stdio::piped());
        command.stdin(if self.input.is_some() { Stdio::piped() } else { Stdio::null() });
        command.current_dir("/").env_clear().envs([
            ("PATH", settings.search_path.as_os_str()),
            ("HOME", OsStr::new("/nonexistent")),
            ("LC_ALL", OsStr::new("C")),
            ("TZ", OsStr::new("UTC")),
            ("GIT_CONFIG_NOSYSTEM", OsStr::new("1")),
            ("GIT_CONFIG_SYSTEM", OsStr::new("/dev/null")),
            ("GIT_CONFIG_GLOBAL", OsStr::new("/dev/null")),
            ("GIT_ATTR_NOSYSTEM", OsStr::new("1")),
            ("GIT_TERMINAL_PROMPT", OsStr::new("0")),
            ("GIT_OPTIONAL_LOCKS", OsStr::new("0")),
            ("GIT_NO_REPLACE_OBJECTS", OsStr::new("1")),
            ("GIT_LITERAL_PATHSPECS", OsStr::new("1")),
            ("GIT_ALLOW_PROTOCOL", OsStr::new(self.protocol())),
        ]);
        if self.remote.is_none() {
            // Newer versions of git know this word; older ones cannot either, because no promisor
            // is configured for a command without a remote.
            command.env("GIT_NO_LAZY_FETCH", "1");
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let mut config: Vec<(&str, OsString)> =
            CONFIG.iter().map(|(key, value)| (*key, OsString::from(value))).collect();
        config.extend(self.config.iter().map(|(key, value)| (*key, value.clone())));
        config.extend(self.remote_config(desk));
        command.env("GIT_CONFIG_COUNT", config.len().to_string());
        for (n, (key, value)) in config.into_iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{n}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{n}"), value);
        }
        command
    }

    fn remote_config(&self, desk: Option<&Desk>) -> Vec<(&'static str, OsString)> {
        let settings = &self.git.0;
        let mut config = Vec::new();
        match self.remote {
            None => return config,
            Some(Remote::Folder(folder)) => {
                config.push(("remote.mirror.url", folder.clone().into_os_string()));
                config.push(("safe.directory", folder.clone().into_os_string()));
            }
            Some(Remote::Forge(access)) => {
                config.push(("remote.mirror.url", access.url().as_str().into()));
                config.push(("http.lowSpeedLimit", "1".into()));
                config.push(("http.lowSpeedTime", "60".into()));
            }
        }
        config.push(("remote.mirror.promisor", "true".into()));
        config.push(("remote.mirror.partialclonefilter", "blob:none".into()));
        if let Some(file) = &settings.authorities {
            config.push(("http.sslCAInfo", file.clone().into_os_string()));
        }
        if let Some(proxy) = &settings.proxy {
            config.push(("http.proxy", proxy.as_str().into()));
        }
        if let Some(desk) = desk {
            let mut helper = OsString::from("!");
            for word in &settings.relay {
                helper.push(quoted(word));
                helper.push(" ");
            }
            helper.push(quoted(desk.socket().as_os_str()));
            config.push(("credential.helper", helper));
        }
        config
    }

    fn protocol(&self) -> &'static str {
        match self.remote {
            Some(Remote::Forge(access)) if access.url().scheme() == "http" => "http",
            Some(Remote::Forge(_)) => "https",
            Some(Remote::Folder(_)) => "file",
            None => "none",
        }
    }

    /// The command as a person reads it: the subcommand and what is no path or object.
    fn shown(&self) -> String {
        format!("git {}", self.subcommand)
    }
}

/// Quotes a word for the shell, through which git starts its credential helper.
fn quoted(word: &OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let mut quoted = vec![b'\''];
    for &byte in word.as_bytes() {
        if byte == b'\'' {
            quoted.extend_from_slice(b"'\\''");
        } else {
            quoted.push(byte);
        }
    }
    quoted.push(b'\'');
    OsString::from_vec(quoted)
}

/// The process group of a command; it is killed with this value.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(id.cast_signed())))
    }

    fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may be gone already.
            kill_process_group(group, Signal::KILL).ok();
        }
    }
}

async fn feed(stdin: Option<ChildStdin>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        // A command that does not read to the end says why by its exit.
        drop(stdin.write_all(&input).await);
    }
}

/// Reads to the end and keeps the last words.
async fn drain(stderr: Option<ChildStderr>) -> Vec<u8> {
    let (mut kept, mut buffer) = (Vec::new(), [0; 4096]);
    let Some(mut stderr) = stderr else { return kept };
    while let Ok(read @ 1..) = stderr.read(&mut buffer).await {
        kept.extend_from_slice(&buffer[..read]);
        if kept.len() > 2 * STDERR {
            kept.drain(..kept.len() - STDERR);
        }
    }
    kept.split_off(kept.len().saturating_sub(STDERR))
}

async fn serve(desk: Option<&Desk>) -> Error {
    match desk {
        Some(desk) => desk.serve().await,
        None => std::future::pending().await,
    }
}

async fn watch(space: Option<&Space>) -> Error {
    match space {
        Some(space) => space.watch().await,
        None => std::future::pending().await,
    }
}

/// Turns a path of the file system into an argument's text for git's standard input.
pub(crate) fn path_bytes(path: &Path) -> &[u8] {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_reaches_the_helper_as_it_is() {
        assert_eq!(quoted(OsStr::new("/a b/it's")), OsStr::new("'/a b/it'\\''s'"));
    }
}
