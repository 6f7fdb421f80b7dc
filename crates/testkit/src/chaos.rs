//! `cargo xtask chaos`: real processes on real databases, killed and stopped at every moment.
//!
//! For each database a gateway and two workers of the real program serve a fake forge that lags,
//! limits and loses answers, while people ask and processes are struck in a chosen phase of a
//! delivery's life ([`trap`]). In the end everything that was accepted must be there, once and in
//! order ([`check`]). Then SQLite loses power ([`power`]).

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a driver starts processes, waits by the wall clock and speaks on standard output"
)]

mod check;
mod crowd;
mod database;
mod dice;
mod fleet;
mod letter;
mod phase;
mod power;
mod trace;
mod trap;
mod trial;
mod view;
mod weather;

use std::env;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

use self::check::Findings;
use self::database::Database;
use self::dice::Dice;
use self::fleet::Tracing;
use self::phase::{Blow, Phase, Tally};
use self::power::Losses;
use self::trial::{Interrupted, Run, Trial};
use self::view::Place;
use crate::nest::Nest;

/// When a run is given up as stuck.
const LONGEST: Duration = Duration::from_mins(9);

/// How the names of the folders begin.
const NEST: &str = "patchwright-chaos-";

/// How often power is lost.
const LOSSES: u32 = 5;

/// How often each phase must be struck in a whole run.
const LEAST_PER_PHASE: u32 = 5;

/// How many blows of each kind there are beside the kills, per database.
const SHORT_STOPS: usize = 6;
const LONG_STOPS: [Phase; 2] = [Phase::InCall, Phase::InStage];

/// Longer than any lease, by more than the time between two sweeps.
const LONG_STOP: Duration = Duration::from_secs(37);

/// Which databases to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    Both,
    SqliteOnly,
    PostgresOnly,
}

/// What to do.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program under test.
    pub program: PathBuf,
    /// A PostgreSQL server on which databases may be created.
    pub server: Option<String>,
    pub stores: Stores,
    /// Kills over all databases.
    pub kills: u32,
    pub seed: u64,
}

/// What a run found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Held,
    Broken,
}

/// What all trials of a run add up to.
#[derive(Debug, Default)]
struct Sum {
    tally: Tally,
    findings: Findings,
    losses: Losses,
    accepted: usize,
    sent: usize,
    exits: u32,
}

/// Runs everything and prints what was found. An error means that nothing can be said.
pub fn run(options: &Options) -> Result<Verdict> {
    let began = Instant::now();
    let server = options.server.as_deref();
    if options.stores != Stores::SqliteOnly && server.is_none() {
        bail!(
            "there is no PostgreSQL to run on: set PATCHWRIGHT_TEST_DATABASE_URL, or --sqlite-only"
        );
    }
    let strace = match options.stores {
        Stores::PostgresOnly => None,
        Stores::Both | Stores::SqliteOnly => Some(find_strace()?),
    };
    let runtime = Runtime::new().context("cannot start a runtime")?;
    let interrupted = Arc::new(AtomicBool::new(false));
    watch_for_interrupts(&runtime, &interrupted)?;
    let run = Run {
        program: options.program.clone(),
        runtime: runtime.handle(),
        deadline: began + LONGEST,
        interrupted: &interrupted,
    };
    println!("chaos: seed {}", options.seed);
    let (mut dice, mut sum) = (Dice::new(options.seed), Sum::default());
    let share = if options.stores == Stores::Both { 2 } else { 1 };
    let kills = options.kills.div_ceil(share);
    if options.stores != Stores::PostgresOnly {
        println!("== SQLite");
        let nest = Nest::build(NEST)?;
        let place = Place::Sqlite(nest.folder().join("data/patchwright.db"));
        fight(&run, ("sqlite", &place), nest, kills, dice.split(), &mut sum)?;
    }
    if let Some(server) = server.filter(|_| options.stores != Stores::SqliteOnly) {
        println!("== PostgreSQL");
        let database = Database::create(server)?;
        let place = Place::Postgres(database.url().to_owned());
        fight(&run, ("postgresql", &place), Nest::build(NEST)?, kills, dice.split(), &mut sum)?;
    }
    if let Some(strace) = strace {
        println!("== power loss on SQLite");
        lose_power(&run, strace, Nest::build(NEST)?, dice.split(), &mut sum)?;
    }
    sum.tell(options.seed, began.elapsed());
    let rare = sum.rare_phases();
    if sum.verdict() == Verdict::Held && options.is_whole() && !rare.is_empty() {
        bail!("these phases were struck less than {LEAST_PER_PHASE} times: {}", rare.join(", "));
    }
    Ok(sum.verdict())
}

impl Options {
    /// Kills of a whole run, over all databases.
    pub const KILLS: u32 = 120;

    /// Whether the run is large enough to have struck every phase.
    fn is_whole(&self) -> bool {
        self.kills >= Self::KILLS / 2
    }
}

/// Strikes one store again and again, lets it settle, and looks at what is left.
fn fight(
    run: &Run<'_>,
    store: (&'static str, &Place),
    nest: Nest,
    kills: u32,
    dice: Dice,
    sum: &mut Sum,
) -> Result<()> {
    let mut trial = Trial::start(run, &nest, store, Tracing::Off, dice)?;
    let ended = strike_all(&mut trial, kills).and_then(|()| {
        println!("  {}: the blows are over, everything may settle", trial.name());
        let mut findings = check::settle_and_check(&mut trial)?;
        findings.words.extend(trial.fleet.end()?);
        Ok(findings)
    });
    print!("{}", trial.tally.table());
    sum.close(trial, nest, ended)
}

fn strike_all(trial: &mut Trial<'_>, kills: u32) -> Result<()> {
    for (aim, blow) in plan(&mut trial.dice, kills) {
        let pause = trial.dice.millis(50, 500);
        trial.pass(pause)?;
        trial.strike(aim, blow)?;
    }
    // Where nobody stepped into a trap, another try takes its place.
    while (trial.tally.long_stops as usize) < LONG_STOPS.len() {
        trial.strike(LONG_STOPS[0], Blow::Stop(LONG_STOP))?;
    }
    while trial.tally.kills() < kills {
        let rarest = Phase::AIMS.into_iter().min_by_key(|phase| trial.tally.kills_in(*phase));
        trial.strike(rarest.unwrap_or(Phase::InStage), Blow::Kill)?;
    }
    Ok(())
}

/// Puts kills of every phase and the stops into an order. While a process is stopped for long, the
/// others go on being struck.
fn plan(dice: &mut Dice, kills: u32) -> Vec<(Phase, Blow)> {
    let mut blows: Vec<(Phase, Blow)> =
        Phase::AIMS.into_iter().cycle().take(kills as usize).map(|aim| (aim, Blow::Kill)).collect();
    for aim in Phase::AIMS.into_iter().cycle().take(SHORT_STOPS) {
        blows.push((aim, Blow::Stop(dice.millis(200, 3000))));
    }
    dice.shuffle(&mut blows);
    for (at, aim) in LONG_STOPS.into_iter().enumerate() {
        let place = blows.len() * at / LONG_STOPS.len() + 3;
        blows.insert(place.min(blows.len()), (aim, Blow::Stop(LONG_STOP)));
    }
    blows
}

/// Lets SQLite lose power several times, and looks at what is left.
fn lose_power(run: &Run<'_>, strace: PathBuf, nest: Nest, dice: Dice, sum: &mut Sum) -> Result<()> {
    let file = nest.folder().join("data/patchwright.db");
    let place = Place::Sqlite(file.clone());
    let tracing = Tracing::Syncs(strace);
    let mut trial = Trial::start(run, &nest, ("power", &place), tracing, dice)?;
    let ended =
        power::lose(&mut trial, (nest.folder(), &file), LOSSES).and_then(|(losses, found)| {
            println!(
                "  power was lost {} times, {} bytes were not synced and are gone",
                losses.count, losses.cut
            );
            sum.losses = losses;
            if found.is_clean() { check::settle_and_check(&mut trial) } else { Ok(found) }
        });
    sum.close(trial, nest, ended)
}

impl Sum {
    /// Adds what a trial found. If something is wrong, everything that explains it is kept.
    fn close(
        &mut self,
        mut trial: Trial<'_>,
        mut nest: Nest,
        ended: Result<Findings>,
    ) -> Result<()> {
        self.tally.add(&trial.tally);
        self.accepted += trial.crowd.accepted();
        self.sent += trial.crowd.sent();
        self.exits += trial.fleet.exits();
        let explain = match &ended {
            Ok(findings) => !findings.is_clean(),
            Err(error) => !error.is::<Interrupted>(),
        };
        if explain {
            nest.keep()?;
            println!("  logs, tables and threads are kept in {}", nest.folder().display());
            trial.explain(nest.folder())?;
        }
        self.findings.add(ended?);
        Ok(())
    }

    /// Prints everything, the line for machines last.
    fn tell(&self, seed: u64, length: Duration) {
        println!("== all");
        print!("{}", self.tally.table());
        for words in &self.findings.words {
            println!("  BROKEN: {words}");
        }
        if !self.findings.is_clean() {
            println!("  run it again with --seed {seed}");
        }
        let mut line = format!(
            "chaos: kills={} accepted={} lost={} doubled={} disordered={} broken={}",
            self.tally.kills(),
            self.accepted,
            self.findings.lost,
            self.findings.doubled,
            self.findings.disordered,
            self.findings.words.len(),
        );
        for phase in Phase::AIMS.into_iter().chain([Phase::Unanswered, Phase::Elsewhere]) {
            line.push_str(&format!(" {}={}", phase.key(), self.tally.kills_in(phase)));
        }
        println!(
            "{line} stops={} long_stops={} power_losses={} unsynced_bytes={} sent={} exits={} seconds={} seed={seed}",
            self.tally.stops(),
            self.tally.long_stops,
            self.losses.count,
            self.losses.cut,
            self.sent,
            self.exits,
            length.as_secs(),
        );
    }

    fn verdict(&self) -> Verdict {
        if self.findings.is_clean() { Verdict::Held } else { Verdict::Broken }
    }

    /// Names the phases that a whole run has struck too rarely to say anything.
    fn rare_phases(&self) -> Vec<&'static str> {
        let rare = |phase: &Phase| self.tally.kills_in(*phase) < LEAST_PER_PHASE;
        Phase::AIMS.into_iter().filter(rare).map(Phase::key).collect()
    }
}

/// Finds strace as a shell would: the processes get an environment without a PATH.
fn find_strace() -> Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found =
        env::split_paths(&path).map(|folder| folder.join("strace")).find(|file| file.is_file());
    found.context("power loss cannot be imitated without strace: install the package `strace`")
}

/// Lets Ctrl-C and SIGTERM end the run in an orderly way.
fn watch_for_interrupts(runtime: &Runtime, interrupted: &Arc<AtomicBool>) -> Result<()> {
    let _context = runtime.enter();
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let (mut signals, interrupted) = (signal(kind)?, Arc::clone(interrupted));
        runtime.spawn(async move {
            if signals.recv().await.is_some() {
                interrupted.store(true, Ordering::Relaxed);
            }
        });
    }
    Ok(())
}
