//! `cargo xtask bench gateway`: how many deliveries a second become durable, how long one waits, and
//! what `serve` costs at rest.
//!
//! The real program runs as a process; the load and the bound run in this one, on the same machine,
//! in turn. Every delivery that was answered 202 is counted again in the database after the process
//! was killed: a number that was not durable is no number.

#![expect(
    clippy::disallowed_methods,
    reason = "a bench starts the program under test and measures by the real clock"
)]

mod bound;
pub mod checkout;
mod diff;
mod figure;
mod ground;
mod load;
mod payload;
mod process;
mod specimen;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use url::Url;

pub use self::diff::diff;

use self::figure::{Aim, Figure, percentile_ms};
use self::ground::{Database, folder_of};
use self::load::{Answers, Load, Pace};
use self::payload::Conversation;
use self::process::{Process, Role, own_processor_time};
use self::specimen::Specimens;

/// The name that people mention.
const BOT: &str = "bot";

/// So many senders keep a connection open; a group of the bound is as large as theirs can be.
const CONNECTIONS: usize = 64;

/// Deliveries are spread over the issues of a few repositories.
const REPOSITORIES: u64 = 16;
const ISSUES: u64 = 64;

/// How many sample deliveries the bound's rows are made from.
const SAMPLES: u64 = 64;

/// How often the program is started to measure its start and its memory.
const STARTS: u32 = 7;

/// How long a process settles before its memory at rest is read, and warms up before it is timed.
const REST: Duration = Duration::from_millis(500);

/// What is measured, and for how long.
#[derive(Clone, Debug)]
pub struct Options {
    /// The program under test.
    pub program: PathBuf,
    /// A PostgreSQL server in which databases may be made.
    pub postgres: Option<Url>,
    /// Where files go [default: beside the program].
    pub folder: Option<PathBuf>,
    pub rounds: u32,
    /// How long each part of a round lasts.
    pub lasts: Duration,
}

/// How a bench ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Held,
    /// A delivery was refused, or accepted and not there.
    Broken,
}

/// Measures the gateway and writes what it finds, ending with one line of figures.
pub fn gateway(options: &Options, out: &mut dyn Write) -> Result<Verdict> {
    let folder = options.folder.clone().unwrap_or_else(|| folder_of(&options.program));
    let conversations: Vec<_> = (0..REPOSITORIES * ISSUES)
        .map(|n| Conversation::new(n % REPOSITORIES, n / REPOSITORIES))
        .collect();
    let sqlite = Database::Sqlite { folder: folder.clone() };
    let mut bench = Bench { options, out, conversations, summary: String::new(), broken: false };
    bench.rest(&sqlite)?;

    let ground = sqlite.ground()?;
    let specimens = Specimens::take(&options.program, &ground, &bench.conversations, SAMPLES)?;
    drop(ground);
    writeln!(
        bench.out,
        "a delivery of {} bytes leaves {}; the bound commits {CONNECTIONS} deliveries at a time",
        bench.conversations[0].body(0).len(),
        specimens.describe()
    )?;
    bench.measure(&sqlite, &specimens)?;
    if let Some(server) = options.postgres.clone() {
        bench.measure(&Database::Postgres { server, folder }, &specimens)?;
    } else {
        writeln!(bench.out, "pg: not measured, because no PostgreSQL was given")?;
    }
    let verdict = if bench.broken { Verdict::Broken } else { Verdict::Held };
    writeln!(bench.out, "bench gateway:{}", bench.summary)?;
    Ok(verdict)
}

struct Bench<'a> {
    options: &'a Options,
    out: &'a mut dyn Write,
    conversations: Vec<Conversation>,
    /// The last line, as far as it is known.
    summary: String,
    broken: bool,
}

/// The figures of one database.
#[derive(Debug, Default)]
struct Figures {
    bound: Figure,
    bound_syncs: Figure,
    accepts: Figure,
    syncs: Figure,
    ratio: Figure,
    rate: Figure,
    p50: Figure,
    p99: Figure,
}

impl Bench<'_> {
    /// Measures the start and the memory of a whole `serve` on a new SQLite store.
    fn rest(&mut self, sqlite: &Database) -> Result<()> {
        let (mut start, mut memory) = (Figure::default(), Figure::default());
        for _ in 0..STARTS {
            let ground = sqlite.ground()?;
            let process = Process::start(&self.options.program, Role::All, &ground.home())?;
            start.add(process.start.as_secs_f64() * 1000.0);
            std::thread::sleep(REST);
            memory.add(process.resident_kib()? as f64 / 1024.0);
            process.kill()?;
        }
        let judged = Aim::Under(100.0).judge(start.median());
        writeln!(self.out, "start to the first answer, on a new store: {start:.0} ms ({judged})")?;
        let judged = Aim::Under(40.0).judge(memory.median());
        writeln!(self.out, "memory at rest: {memory:.1} MiB ({judged})")?;
        self.note("rss_mib", format_args!("{:.1}", memory.median()));
        self.note("start_ms", format_args!("{:.0}", start.median()));
        Ok(())
    }

    /// Measures bound and gateway in turn.
    fn measure(&mut self, database: &Database, specimens: &Specimens) -> Result<()> {
        let mut figures = Figures::default();
        for round in 1..=self.options.rounds {
            let bound = {
                let ground = database.ground()?;
                let lasts = self.options.lasts;
                bound::measure(specimens, &ground, &self.conversations, CONNECTIONS, lasts)?
            };
            figures.bound.add(bound.rate);
            figures.bound_syncs.add(bound.commits as f64);
            self.round(round, database, bound.rate, &mut figures)?;
        }
        self.report(database.name(), &figures)
    }

    fn round(
        &mut self,
        round: u32,
        database: &Database,
        bound: f64,
        figures: &mut Figures,
    ) -> Result<()> {
        let ground = database.ground()?;
        let process = Process::start(&self.options.program, Role::Gateway, &ground.home())?;
        let conversations = self.conversations.clone();
        let mut load = Load { conversations: &conversations, connections: CONNECTIONS, next: 0 };
        let warm = load.run(process.address, Pace::Closed, REST)?;

        let commits = process.commits()?;
        let usage = Usage::start(&process)?;
        let most = load.run(process.address, Pace::Closed, self.options.lasts)?;
        let usage = usage.end(&process)?;
        let commits = process.commits()? - commits;
        let half = bound / 2.0;
        let steady = load.run(process.address, Pace::Fixed(half), self.options.lasts)?;
        process.kill()?;

        let mut times = steady.latencies.clone();
        times.sort_unstable();
        let (p50, p99) = (percentile_ms(&times, 0.5), percentile_ms(&times, 0.99));
        writeln!(
            self.out,
            "{} round {round}: bound {bound:.0}/s; gateway {:.0}/s with {commits} syncs; at {half:.0}/s \
             p50 {p50:.2} ms, p99 {p99:.2} ms; processors: gateway {:.2}, load {:.2}",
            database.name(),
            most.rate(),
            usage.program,
            usage.load
        )?;
        figures.accepts.add(most.rate());
        figures.syncs.add(commits as f64);
        figures.ratio.add(most.rate() / bound);
        figures.rate.add(steady.rate());
        figures.p50.add(p50);
        figures.p99.add(p99);
        for table in ["jobs", "deliveries"] {
            self.check(table, ground.count(table)?, &[&warm, &most, &steady])?;
        }
        Ok(())
    }

    /// Checks that every delivery became a job, and that the store holds what was promised.
    fn check(&mut self, table: &str, held: u64, runs: &[&Answers]) -> io::Result<()> {
        let accepted: u64 = runs.iter().map(|run| run.accepted).sum();
        if let Some(other) = runs.iter().find_map(|run| run.others.first()) {
            self.broken = true;
            writeln!(self.out, "broken: a delivery was answered with `{other}`")?;
        }
        if held != accepted {
            self.broken = true;
            writeln!(
                self.out,
                "broken: {accepted} deliveries were accepted, {table} holds {held}"
            )?;
        }
        Ok(())
    }

    fn report(&mut self, name: &str, figures: &Figures) -> Result<()> {
        let Figures { bound, bound_syncs, accepts, syncs, ratio, rate, p50, p99 } = figures;
        writeln!(self.out, "{name}: bound {bound}/s with {bound_syncs} syncs")?;
        writeln!(self.out, "{name}: gateway {accepts}/s with {syncs} syncs")?;
        let judged = Aim::AtLeast(0.7).judge(ratio.median());
        writeln!(self.out, "{name}: ratio {ratio:.2} ({judged})")?;
        let judged = Aim::Under(20.0).judge(p99.median());
        writeln!(self.out, "{name}: at {rate}/s p50 {p50:.2} ms, p99 {p99:.2} ms ({judged})")?;
        for (key, value, digits) in [
            ("accepts", accepts, 0),
            ("bound", bound, 0),
            ("ratio", ratio, 2),
            ("p50_ms", p50, 2),
            ("p99_ms", p99, 2),
            ("syncs", syncs, 0),
            ("bound_syncs", bound_syncs, 0),
        ] {
            self.note(&format!("{name}_{key}"), format_args!("{:.digits$}", value.median()));
        }
        Ok(())
    }

    fn note(&mut self, key: &str, value: std::fmt::Arguments<'_>) {
        self.summary += &format!(" {key}={value}");
    }
}

/// How many processors were used, by whom.
struct Usage {
    program: f64,
    load: f64,
}

struct Since {
    began: Instant,
    program: Duration,
    load: Duration,
}

impl Usage {
    fn start(process: &Process) -> Result<Since> {
        let (program, load) = (process.processor_time()?, own_processor_time()?);
        Ok(Since { began: Instant::now(), program, load })
    }
}

impl Since {
    fn end(self, process: &Process) -> Result<Usage> {
        let took = self.began.elapsed().as_secs_f64();
        let share = |now: Duration, then: Duration| (now - then).as_secs_f64() / took;
        Ok(Usage {
            program: share(process.processor_time()?, self.program),
            load: share(own_processor_time()?, self.load),
        })
    }
}

/// Returns the program that stands beside the running one.
pub fn program_beside() -> Result<PathBuf> {
    let own = std::env::current_exe().context("cannot tell where this program stands")?;
    Ok(own.with_file_name("patchwright"))
}
