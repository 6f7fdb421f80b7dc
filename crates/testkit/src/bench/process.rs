//! The program under test: `patchwright serve` as a process of its own, in its release build.
//!
//! Its environment is built from nothing, its forge is an address at which nobody listens, and it
//! goes with the value that stands for it.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::BOT;
use super::payload::SECRET;

const ADMIN_TOKEN: &str = "the admin token of this bench";

/// How long a process may take before it answers.
const START: Duration = Duration::from_secs(30);

/// What part of the work a process takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Role {
    All,
    /// No worker disturbs the measurement.
    Gateway,
}

/// Where the process keeps its jobs.
#[derive(Clone, Debug)]
pub(super) enum Home<'a> {
    /// SQLite in this folder.
    Folder(&'a Path),
    /// PostgreSQL at this address; the folder is for everything else.
    Postgres { url: &'a str, folder: &'a Path },
}

/// A running `patchwright serve`.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    pub(super) address: SocketAddr,
    /// From its start to its first answer.
    pub(super) start: Duration,
}

impl Process {
    /// Starts the program and waits for its first answer.
    pub(super) fn start(program: &Path, role: Role, home: &Home<'_>) -> Result<Self> {
        let (Home::Folder(folder) | Home::Postgres { folder, .. }) = home;
        let address = free_address()?;
        let log = folder.join("log");
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", folder)
            .env("WEBHOOK_SECRET", SECRET)
            .env("ADMIN_TOKEN", ADMIN_TOKEN)
            .env("BOT_USERNAME", BOT)
            .env("GITHUB_TOKEN", "nobody asks for this token")
            // The forge's address is part of a connection; nobody listens at this one.
            .env("GITHUB_API_URL", "http://127.0.0.1:9")
            .args(["serve", "--listen", &address.to_string(), "--data"])
            .arg(folder.join("data"))
            .stdin(Stdio::null())
            .stdout(File::create(&log)?)
            .stderr(File::options().append(true).open(&log)?);
        if let Role::Gateway = role {
            command.args(["--role", "gateway"]);
        }
        if let Home::Postgres { url, .. } = home {
            command.env("DATABASE_URL", url);
        }
        let began = Instant::now();
        let child =
            command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let mut process = Self { child, address, start: Duration::ZERO };
        while process.ask("/health", "").is_err() {
            if let Some(status) = process.child.try_wait()? {
                let said = fs::read_to_string(&log).unwrap_or_default();
                bail!("`patchwright serve` ended with {status}; it said:\n{said}");
            }
            ensure!(began.elapsed() < START, "`patchwright serve` does not answer");
            std::thread::sleep(Duration::from_millis(1));
        }
        process.start = began.elapsed();
        Ok(process)
    }

    /// Returns how many transactions it has made durable.
    pub(super) fn commits(&self) -> Result<u64> {
        let text = self.ask("/metrics", &format!("Authorization: Bearer {ADMIN_TOKEN}\r\n"))?;
        let count = text
            .lines()
            .find_map(|line| line.strip_prefix("patchwright_store_commits_total "))
            .context("the metrics do not say how many commits there were")?;
        Ok(count.trim().parse()?)
    }

    /// Returns the memory that it holds, in KiB.
    pub(super) fn resident_kib(&self) -> Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let value = line.and_then(|line| line.split_whitespace().next());
        Ok(value.context("the system does not say how much memory a process holds")?.parse()?)
    }

    /// Returns how long it has used a processor.
    pub(super) fn processor_time(&self) -> Result<Duration> {
        processor_time(&self.child.id().to_string())
    }

    /// Kills it at once, as a crash would.
    pub(super) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    fn ask(&self, path: &str, headers: &str) -> Result<String> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(START))?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {}\r\n{headers}Connection: close\r\n\r\n",
            self.address
        )?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        ensure!(answer.starts_with("HTTP/1.1 200 "), "{path} was answered with {answer}");
        Ok(answer)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended already needs neither.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns how long this process has used a processor.
pub(super) fn own_processor_time() -> Result<Duration> {
    processor_time("self")
}

fn processor_time(process: &str) -> Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name, in parentheses, may hold anything; user and system time are the 14th and 15th field.
    let (_, fields) = stat.rsplit_once(')').context("the state of a process cannot be read")?;
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(str::parse::<u64>).sum::<Result<u64, _>>()?;
    Ok(Duration::from_secs(1) / 100 * u32::try_from(ticks)?)
}

/// Returns a local address that is free at this moment.
fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_on_the_processor_grows_with_work() {
        let before = own_processor_time().unwrap();
        let mut sum = 0_u64;
        while own_processor_time().unwrap() <= before {
            sum = sum.wrapping_mul(31).wrapping_add(1);
        }
        assert!(sum != 0);
    }
}
