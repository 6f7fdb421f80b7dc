//! A real Gitea in a folder of its own, on a free port, as an unprivileged account.
//!
//! It is told nothing of the world: no mail, no cron, no avatars, and webhooks to this machine
//! only. It ends with its [`Nest`].

use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use secrecy::SecretString;
use url::Url;

use super::account::Account;
use super::patience::until;
use super::person::client;
use crate::nest::{Group, Nest};

/// What of the source the server reads as it runs.
const RESOURCES: [&str; 3] = ["options", "public", "templates"];

/// How much of the log is shown when the server does not start.
const LAST_WORDS: usize = 2_000;

/// A running server.
#[derive(Debug)]
pub(super) struct Server {
    ground: Ground,
    child: Child,
}

/// What the server stands on.
#[derive(Debug)]
struct Ground {
    folder: PathBuf,
    account: Account,
    group: Group,
}

impl Server {
    /// Starts the server on `address`. It knows itself by `url`, at which people and the product
    /// reach it.
    pub(super) async fn start(
        nest: &Nest,
        (program, source): (&Path, &Path),
        address: SocketAddr,
        url: &Url,
    ) -> Result<Self> {
        let ground = Ground {
            folder: nest.folder().join("gitea"),
            account: Account::unprivileged()?,
            group: nest.group(),
        };
        ground.furnish(program, source)?;
        let settings = ground.folder.join("app.ini");
        fs::write(&settings, ground.settings(address, url))?;
        ground.account.give(&settings)?;
        ground.run(&["migrate"])?;
        let log = File::create(ground.folder.join("log"))?;
        let mut command = ground.command(["web"]);
        command.stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().context("cannot start the server")?;
        let mut server = Self { ground, child };
        let (client, question) = (client()?, format!("http://{address}/api/v1/version"));
        until("the server's first answer", async || {
            if let Some(status) = server.child.try_wait()? {
                bail!("the server ended with {status}; it said:\n{}", server.last_words());
            }
            let answer = client.get(&question).send().await;
            Ok(answer.is_ok_and(|answer| answer.status().is_success()).then_some(()))
        })
        .await?;
        Ok(server)
    }

    /// Creates an administrator and returns a token of theirs.
    pub(super) fn create_administrator(&self, login: &str) -> Result<SecretString> {
        let email = format!("{login}@forge.example");
        self.ground.run(&[
            "admin",
            "user",
            "create",
            "--admin",
            "--username",
            login,
            "--email",
            &email,
            "--random-password",
            "--must-change-password=false",
        ])?;
        let token = self.ground.run(&[
            "admin",
            "user",
            "generate-access-token",
            "--username",
            login,
            "--token-name",
            "all",
            "--scopes",
            "all",
            "--raw",
        ])?;
        let token = token.lines().last().unwrap_or_default().trim();
        ensure!(!token.is_empty(), "the server gave no token");
        Ok(token.to_owned().into())
    }

    fn last_words(&self) -> String {
        let log = fs::read_to_string(self.ground.folder.join("log")).unwrap_or_default();
        let cut = log.len().saturating_sub(LAST_WORDS);
        log[log.ceil_char_boundary(cut)..].to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already needs neither.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Ground {
    /// Puts everything into the folder: the account may not look into the cache of the builds.
    fn furnish(&self, program: &Path, source: &Path) -> Result<()> {
        let nest = self.folder.parent().context("the nest has no folder")?;
        // Others may pass through it to what is theirs, and list nothing.
        fs::set_permissions(nest, fs::Permissions::from_mode(0o711))?;
        for folder in ["", "home", "static"] {
            let folder = self.folder.join(folder);
            fs::create_dir(&folder)?;
            self.account.give(&folder)?;
        }
        fs::copy(program, self.program()).context("cannot copy the server")?;
        for name in RESOURCES {
            copy(&source.join(name), &self.folder.join("static").join(name))
                .with_context(|| format!("cannot copy the server's {name}"))?;
        }
        Ok(())
    }

    fn settings(&self, address: SocketAddr, url: &Url) -> String {
        let folder = self.folder.display();
        format!(
            "\
APP_NAME = Forge
WORK_PATH = {folder}
[server]
HTTP_ADDR = {ip}
HTTP_PORT = {port}
ROOT_URL = {url}
DISABLE_SSH = true
OFFLINE_MODE = true
STATIC_ROOT_PATH = {folder}/static
[database]
DB_TYPE = sqlite3
PATH = {folder}/gitea.db
[repository]
DEFAULT_BRANCH = main
[security]
INSTALL_LOCK = true
SECRET_KEY = {secret}
[service]
DISABLE_REGISTRATION = true
[webhook]
ALLOWED_HOST_LIST = loopback
[indexer]
ISSUE_INDEXER_TYPE = db
[cron]
ENABLED = false
[mailer]
ENABLED = false
[actions]
ENABLED = false
[log]
LEVEL = Warn
",
            ip = address.ip(),
            port = address.port(),
            secret = uuid::Uuid::new_v4().simple(),
        )
    }

    /// Runs a command of the server to its end and returns what it wrote.
    fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = self.command(arguments).stderr(Stdio::piped()).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`gitea {}` ended with {}: {said}", arguments.join(" "), output.status);
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn command(&self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut command = Command::new(self.program());
        command
            .env_clear()
            .env("HOME", self.folder.join("home"))
            .envs(env::var_os("PATH").map(|path| ("PATH", path)))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .arg("--config")
            .arg(self.folder.join("app.ini"))
            .args(arguments);
        self.account.adopt(&mut command);
        self.group.adopt(&mut command);
        command
    }

    fn program(&self) -> PathBuf {
        self.folder.join("server")
    }
}

/// Returns a local address that is free at this moment.
pub(super) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}
