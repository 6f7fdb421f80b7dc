//! Power loss, as SQLite meets it: all processes die at once, what was not synced is gone.
//!
//! The processes run under strace, which takes down every write to the write-ahead log and every
//! sync. After the blow the log is cut back to its last sync and the index in shared memory is
//! removed; what starts then must still know every delivery that was answered 202.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::check::{self, Findings};
use super::fleet::Member;
use super::trace::{extent, is_whole};
use super::trial::Trial;

/// How many deliveries are accepted between two losses at least.
const ACCEPTED: usize = 12;

/// How long strace may take to write its last line.
const TRACE: Duration = Duration::from_secs(20);

/// What became of the log in all losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Losses {
    pub(super) count: u32,
    /// Bytes that were written and not synced.
    pub(super) cut: u64,
}

/// Loses power so many times, or until something else is lost with it.
pub(super) fn lose(
    trial: &mut Trial<'_>,
    (folder, file): (&Path, &Path),
    rounds: u32,
) -> Result<(Losses, Findings)> {
    let mut losses = Losses::default();
    let mut log = Log { folder: folder.to_owned(), file: sibling(file, "-wal"), length: 0 };
    for _ in 0..rounds {
        let enough = trial.crowd.accepted() + ACCEPTED;
        let ready = trial.until(Duration::from_secs(60), |trial| {
            let busy = trial.crowd.accepted() >= enough && trial.census().open() > 0;
            Ok(busy.then_some(()))
        })?;
        if ready.is_none() {
            bail!("the gateway did not accept {ACCEPTED} deliveries within a minute");
        }
        let pause = trial.dice.millis(0, 400);
        trial.pass(pause)?;
        trial.view.close();
        for member in Member::ALL {
            trial.fleet.halt(member, Instant::now() + TRACE)?;
        }
        trial.fleet.kill(&Member::ALL)?;
        let before = trial.crowd.requests();
        losses.cut += log.cut()?;
        losses.count += 1;
        fs::remove_file(sibling(file, "-shm")).context("cannot remove the log's index")?;
        trial.view.reopen()?;
        let jobs = trial.view.jobs().context("the store cannot be read after a power loss")?;
        let findings = check::still_there(&before, &jobs);
        if !findings.is_clean() {
            return Ok((losses, findings));
        }
        trial.fleet.revive()?;
    }
    Ok((losses, Findings::default()))
}

/// The write-ahead log, and how long it was, all of it synced, after the last loss.
#[derive(Debug)]
struct Log {
    folder: PathBuf,
    file: PathBuf,
    length: u64,
}

impl Log {
    /// Takes away what was not synced; returns how many bytes that were.
    fn cut(&mut self) -> Result<u64> {
        let extent = extent(&self.traces()?, self.length);
        let file = File::options().write(true).open(&self.file);
        let file = file.context("there is no write-ahead log")?;
        self.length = extent.synced.min(file.metadata()?.len());
        file.set_len(self.length)?;
        Ok(extent.written - extent.synced)
    }

    /// Reads the traces of the processes that died, and removes them.
    fn traces(&self) -> Result<Vec<String>> {
        let deadline = Instant::now() + TRACE;
        let mut traces = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            if !name.unwrap_or_default().starts_with("trace-") {
                continue;
            }
            let mut trace = String::new();
            loop {
                let before = trace.len();
                trace = fs::read_to_string(&path)?;
                if is_whole(&trace) && trace.len() == before {
                    break;
                }
                if Instant::now() > deadline {
                    bail!("strace did not end {}", path.display());
                }
                std::thread::sleep(Duration::from_millis(30));
            }
            fs::remove_file(&path)?;
            traces.push(trace);
        }
        Ok(traces)
    }
}

fn sibling(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
