//! One temporary PostgreSQL cluster.
//!
//! A guard process holds one end of a pipe. When the other end closes, because the task ended,
//! failed, was interrupted or was killed, the guard stops the server and removes the folder.
//! No signal handling is needed for that.

use std::fmt::Write as _;
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::command::{output, succeed};

/// How often a port may be snatched away between finding it free and listening on it.
const STARTS: u32 = 5;

/// What the server is told. Syncing stays on: tests prove what survives, benches what it costs.
const SETTINGS: &str = "\
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
fsync = on
synchronous_commit = on
full_page_writes = on
";

/// A running server; dropping it stops the server and removes its files.
#[derive(Debug)]
pub(crate) struct Cluster {
    address: String,
    guard: Child,
}

impl Cluster {
    /// Creates a cluster with the programs in `binaries` and starts it on a free local port.
    pub(crate) fn start(binaries: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("patchwright-postgresql-")
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir()
            .context("cannot create a temporary folder")?
            .keep();
        let owner = Owner::choose()?;
        owner.give(&folder)?;
        let ground = Ground { binaries, folder, owner };
        // From here on the folder is the guard's, whatever happens below.
        let mut cluster = Self { address: String::new(), guard: ground.guard()? };
        let password = ground.create()?;
        let port = ground.listen()?;
        cluster.address = format!("postgres://patchwright:{password}@127.0.0.1:{port}/postgres");
        println!("postgresql: a temporary server listens on 127.0.0.1:{port}");
        Ok(cluster)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        if let Err(error) = self.guard.wait() {
            eprintln!("postgresql: cannot wait for the temporary server to stop: {error}");
        }
    }
}

/// What a cluster stands on: the programs, a folder of its own, and the account that owns it.
struct Ground<'a> {
    binaries: &'a Path,
    folder: PathBuf,
    owner: Owner,
}

impl Ground<'_> {
    fn guard(&self) -> Result<Child> {
        // Without a server `pg_ctl stop` fails, and the folder goes all the same.
        let script = r#"cat >/dev/null; "$1" stop -D "$2/cluster" -m immediate; rm -rf -- "$2""#;
        self.prepare("sh")
            .args(["-c", script, "guard"])
            .arg(self.binaries.join("pg_ctl"))
            .arg(&self.folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start the guard of the temporary server")
    }

    /// Creates the cluster and returns the password of its only account.
    fn create(&self) -> Result<String> {
        let password = random_word()?;
        let secret = self.folder.join("password");
        fs::write(&secret, &password)?;
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600))?;
        self.owner.give(&secret)?;
        output(
            self.program("initdb")
                .args(["--username=patchwright", "--auth=scram-sha-256", "--encoding=UTF8"])
                .args(["--locale=C", "--no-sync", "--pwfile"])
                .arg(&secret)
                .arg("--pgdata")
                .arg(self.folder.join("cluster")),
        )?;
        fs::remove_file(&secret)?;
        let settings = self.folder.join("cluster/postgresql.auto.conf");
        fs::write(&settings, SETTINGS).context("cannot configure the temporary server")?;
        Ok(password)
    }

    /// Starts the server on a free port and returns that port.
    fn listen(&self) -> Result<u16> {
        let log = self.folder.join("log");
        for _ in 0..STARTS {
            let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
            let started = succeed(
                self.program("pg_ctl")
                    .args(["start", "--silent", "--wait", "--timeout=60", "--log"])
                    .arg(&log)
                    .arg("--options")
                    .arg(format!("-p {port}"))
                    .arg("--pgdata")
                    .arg(self.folder.join("cluster"))
                    .stdout(Stdio::null())
                    .stderr(Stdio::null()),
            );
            if started.is_ok() {
                return Ok(port);
            }
        }
        let log = fs::read_to_string(&log).unwrap_or_default();
        bail!("PostgreSQL did not start in {STARTS} attempts; its log says:\n{log}");
    }

    fn program(&self, name: &str) -> Command {
        self.prepare(self.binaries.join(name))
    }

    /// Prepares a program under the owner's account and out of reach of the terminal's Ctrl-C.
    fn prepare(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).stdin(Stdio::null()).process_group(0);
        if let Owner::Other { user, group } = self.owner {
            command.uid(user).gid(group);
        }
        command
    }
}

/// Whose the cluster is. PostgreSQL refuses to run as root.
#[derive(Debug, PartialEq, Eq)]
enum Owner {
    Ourselves,
    Other { user: u32, group: u32 },
}

impl Owner {
    fn choose() -> Result<Self> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Ourselves);
        }
        let accounts = fs::read_to_string("/etc/passwd").context("cannot read the accounts")?;
        ["postgres", "nobody"].iter().find_map(|name| Self::named(name, &accounts)).context(
            "PostgreSQL does not run as root, and there is no account `postgres` or `nobody`",
        )
    }

    fn named(name: &str, accounts: &str) -> Option<Self> {
        accounts.lines().find_map(|line| {
            let mut fields = line.split(':');
            if fields.next() != Some(name) {
                return None;
            }
            let user = fields.nth(1)?.parse().ok()?;
            let group = fields.next()?.parse().ok()?;
            Some(Self::Other { user, group })
        })
    }

    fn give(&self, path: &Path) -> Result<()> {
        match self {
            Self::Ourselves => Ok(()),
            Self::Other { user, group } => chown(path, Some(*user), Some(*group))
                .with_context(|| format!("cannot give away {}", path.display())),
        }
    }
}

fn random_word() -> Result<String> {
    let mut bytes = [0; 16];
    fs::File::open("/dev/urandom")
        .and_then(|mut source| source.read_exact(&mut bytes))
        .context("cannot read random bytes")?;
    let mut word = String::new();
    for byte in bytes {
        write!(word, "{byte:02x}")?;
    }
    Ok(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read_from_the_list_of_accounts() {
        let accounts = "root:x:0:0:root:/root:/bin/sh\npostgres:x:101:104::/var:/bin/sh\n";
        let owner = Owner::named("postgres", accounts);
        assert_eq!(owner, Some(Owner::Other { user: 101, group: 104 }));
        assert_eq!(Owner::named("nobody", accounts), None);
        assert_eq!(Owner::named("post", accounts), None);
    }

    #[test]
    fn random_words_are_long_and_differ() {
        let (one, other) = (random_word().unwrap(), random_word().unwrap());
        assert_eq!(one.len(), 32);
        assert_ne!(one, other);
    }
}
