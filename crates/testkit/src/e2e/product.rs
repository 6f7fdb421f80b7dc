//! The real program: `patchwright serve` as a process of its own, configured as an operator would.
//!
//! Its environment is built from nothing. It ends with its [`Nest`].

use std::env;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use secrecy::{ExposeSecret, SecretString};
use store::settle::Patience;
use store::{Place, Store, TimeSource};
use url::Url;

use super::patience::until;
use super::person::{Person, client};
use crate::clock::WallClock;
use crate::nest::Nest;

/// The states in which something is still under way: of jobs, and of publications.
const UNDER_WAY: [&str; 4] = ["queued", "running", "waiting", "trying"];

/// The states of what did not become what it should.
const GONE_WRONG: [&str; 3] = ["failed", "dead", "given-up"];

/// A running `patchwright serve`.
#[derive(Debug)]
pub(super) struct Product {
    child: Child,
    address: SocketAddr,
    admin: SecretString,
    log: PathBuf,
    data: PathBuf,
    client: reqwest::Client,
}

impl Product {
    /// Starts the program for this forge and waits until it is ready.
    pub(super) async fn start(
        nest: &Nest,
        program: &Path,
        address: SocketAddr,
        (forge, bot): (&Url, &Person),
        secret: &SecretString,
    ) -> Result<Self> {
        let folder = nest.folder().join("patchwright");
        fs::create_dir(&folder)?;
        let (log, data) = (folder.join("log"), folder.join("data"));
        let admin = uuid::Uuid::new_v4().to_string();
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("HOME", &folder)
            .envs(env::var_os("PATH").map(|path| ("PATH", path)))
            .env("GITEA_URL", forge.as_str())
            .env("GITEA_TOKEN", bot.token.expose_secret())
            .env("WEBHOOK_SECRET", secret.expose_secret())
            .env("BOT_USERNAME", &bot.login)
            .env("ADMIN_TOKEN", &admin)
            .args(["serve", "--listen", &address.to_string(), "--data"])
            .arg(&data)
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(File::create(&log)?)
            .stderr(File::options().append(true).open(&log)?);
        nest.group().adopt(&mut command);
        let child =
            command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        let admin = admin.into();
        let mut product = Self { child, address, admin, log, data, client: client()? };
        let question = format!("http://{address}/health");
        until("the first answer of `patchwright serve`", async || {
            if let Some(status) = product.child.try_wait()? {
                bail!("`patchwright serve` ended with {status}; it said:\n{}", product.said());
            }
            let answer = product.client.get(&question).send().await;
            Ok(answer.is_ok_and(|answer| answer.status().is_success()).then_some(()))
        })
        .await?;
        Ok(product)
    }

    /// Waits until no job and no publication is under way.
    pub(super) async fn rests(&self) -> Result<()> {
        until("the product to come to rest", async || {
            let rests = lines_in(&self.metrics().await?, &UNDER_WAY).is_empty();
            Ok(rests.then_some(()))
        })
        .await
    }

    /// Opens its store beside it: several processes may share one.
    pub(super) async fn store(&self) -> Result<Store> {
        let place = Place::Sqlite(self.data.join("patchwright.db"));
        let time = TimeSource::Database(Arc::new(WallClock::default()));
        let patience = Patience { attempts: 3, give_up_after: Duration::from_mins(5) };
        Ok(Store::open(&place, time, patience, Arc::new(|_| Vec::new())).await?)
    }

    /// Returns what went wrong so far, as its metrics and its log tell.
    pub(super) async fn troubles(&self) -> Result<Vec<String>> {
        let mut troubles = lines_in(&self.metrics().await?, &GONE_WRONG);
        let log = fs::read_to_string(&self.log).context("cannot read the product's log")?;
        troubles.extend(log.lines().filter(|line| line.contains("ERROR")).map(str::to_owned));
        Ok(troubles)
    }

    async fn metrics(&self) -> Result<String> {
        let question = format!("http://{}/metrics", self.address);
        let answer =
            self.client.get(question).bearer_auth(self.admin.expose_secret()).send().await?;
        Ok(answer.error_for_status()?.text().await?)
    }

    fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for Product {
    fn drop(&mut self) {
        // One that has ended already needs neither.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Returns the metrics of jobs and publications that are in one of these states.
fn lines_in(metrics: &str, states: &[&str]) -> Vec<String> {
    let counts = |line: &&str| {
        ["patchwright_jobs{", "patchwright_outbox{"].iter().any(|name| line.starts_with(name))
    };
    let is_in =
        |line: &&str| states.iter().any(|state| line.contains(&format!("state=\"{state}\"")));
    let lines = metrics.lines().filter(counts).filter(is_in);
    lines.filter(|line| !line.ends_with(" 0")).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_and_rows_are_found_by_their_state() {
        let metrics = "\
patchwright_jobs{task=\"help\",state=\"done\"} 2
patchwright_jobs{task=\"help\",state=\"queued\"} 0
patchwright_jobs{task=\"help\",state=\"dead\"} 1
patchwright_outbox{state=\"trying\"} 1
patchwright_other{state=\"trying\"} 1
";
        assert_eq!(lines_in(metrics, &UNDER_WAY), ["patchwright_outbox{state=\"trying\"} 1"]);
        assert_eq!(
            lines_in(metrics, &GONE_WRONG),
            ["patchwright_jobs{task=\"help\",state=\"dead\"} 1"]
        );
    }
}
