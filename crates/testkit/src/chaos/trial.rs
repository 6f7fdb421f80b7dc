//! One store under fire: its forge, its processes, its people, and what goes on beside the blows.
//!
//! A trial runs on the driver's own thread. Whatever it waits for, it keeps tending: people ask,
//! the weather changes, stopped processes go on, dead ones come back.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tokio::runtime::Handle;

use super::crowd::{BOT, Crowd};
use super::dice::Dice;
use super::fleet::{Fleet, Launch, Member, Tracing};
use super::phase::Tally;
use super::view::{Census, Place, View};
use super::weather::Weather;
use crate::WallClock;
use crate::forge::{FakeForge, Options};
use crate::nest::Nest;

/// In how many lanes something is unsettled before people wait, and in how many more while a
/// stopped process keeps some for itself.
const BUSY: usize = 14;
const KEPT: usize = 8;

/// How many deliveries are unsettled at most.
const MOST_OPEN: usize = 60;

/// How often somebody asks something at most.
const EVERY: Duration = Duration::from_millis(110);

/// How often the store is counted.
const COUNT: Duration = Duration::from_millis(40);

const PROGRESS: Duration = Duration::from_secs(10);

/// What the processes are told. A comment of unknown fate is looked for only a while, so that a
/// run ends; no job is given up for dying often, because here every job does; nobody runs out of
/// budget.
const CONFIGURATION: &str = "\
[server]
drain = \"10s\"

[publish]
look-for = \"8s\"

[jobs]
attempts = 1000

[budget]
repository = 0
stranger = 0
";

/// What every trial of a run shares.
#[derive(Debug)]
pub(super) struct Run<'a> {
    pub(super) program: PathBuf,
    pub(super) runtime: &'a Handle,
    pub(super) deadline: Instant,
    pub(super) interrupted: &'a AtomicBool,
}

/// Somebody wants the run to end.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("interrupted")]
pub(super) struct Interrupted;

/// Whether people ask by themselves while the trial waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asking {
    Steadily,
    Never,
}

#[derive(Debug)]
pub(super) struct Trial<'a> {
    pub(super) run: &'a Run<'a>,
    pub(super) forge: Arc<FakeForge>,
    pub(super) fleet: Fleet,
    pub(super) view: View,
    pub(super) crowd: Arc<Crowd>,
    pub(super) dice: Dice,
    pub(super) tally: Tally,
    pub(super) asking: Asking,
    /// When requests that the forge holds go on.
    pub(super) release_at: Option<Instant>,
    weather: Weather,
    name: &'static str,
    began: Instant,
    counted: (Instant, Census),
    asked: Instant,
    told: Instant,
}

impl<'a> Trial<'a> {
    /// Starts everything and waits until the store is there.
    pub(super) fn start(
        run: &'a Run<'a>,
        nest: &Nest,
        (name, place): (&'static str, &Place),
        tracing: Tracing,
        mut dice: Dice,
    ) -> Result<Self> {
        let seed = dice.below(usize::MAX) as u64;
        let options = Options { seed, ..Options::default() };
        let clock = Arc::new(WallClock::default());
        let forge = run.runtime.block_on(FakeForge::start(clock, options));
        let forge = Arc::new(forge.context("cannot start the fake forge")?);
        fs::write(nest.folder().join("patchwright.toml"), CONFIGURATION)?;
        forge.bot(BOT);
        let mut environment = vec![
            ("WEBHOOK_SECRET", forge.secret().to_owned()),
            ("GITHUB_TOKEN", forge.token(BOT)),
            ("GITHUB_API_URL", forge.url().to_owned()),
            ("BOT_USERNAME", BOT.to_owned()),
            ("MARKER_KEY", "the marker key of the trial".to_owned()),
        ];
        if let Place::Postgres(url) = place {
            environment.push(("DATABASE_URL", url.clone()));
        }
        let launch = Launch {
            program: run.program.clone(),
            folder: nest.folder().to_owned(),
            environment,
            tracing,
        };
        let mut fleet = Fleet::start(nest.group(), launch)?;
        let crowd = Crowd::gather(Arc::clone(&forge), fleet.address(), dice.split(), run.runtime);
        let view = await_store(run, &mut fleet, place)?;
        let now = Instant::now();
        Ok(Self {
            run,
            forge,
            fleet,
            view,
            crowd,
            weather: Weather::new(dice.split()),
            dice,
            tally: Tally::default(),
            asking: Asking::Steadily,
            release_at: None,
            name,
            began: now,
            counted: (now, Census::default()),
            asked: now,
            told: now,
        })
    }

    /// Does everything that goes on beside the blows.
    pub(super) fn tend(&mut self) -> Result<()> {
        if self.run.interrupted.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        let now = Instant::now();
        if now > self.run.deadline {
            bail!("the run did not end in time ({:?})", self.census());
        }
        self.fleet.tend()?;
        if self.release_at.is_some_and(|at| at <= now) {
            self.release_at = None;
            self.forge.faults().release();
        }
        if self.asking == Asking::Steadily {
            self.weather.pass(&self.forge, self.run.runtime);
        }
        if now.duration_since(self.counted.0) >= COUNT {
            self.counted = (now, self.view.census()?);
        }
        if self.may_ask() && now.duration_since(self.asked) >= EVERY {
            self.asked = now;
            self.crowd.ask();
        }
        if now.duration_since(self.told) >= PROGRESS {
            self.told = now;
            self.tell();
        }
        Ok(())
    }

    fn may_ask(&self) -> bool {
        let census = self.census();
        let outstanding = self.crowd.outstanding();
        let resting = self.fleet.awake(&Member::WORKERS).len() < Member::WORKERS.len();
        let busy = if resting { BUSY + KEPT } else { BUSY };
        self.asking == Asking::Steadily
            && census.busy + outstanding < busy
            && census.open() + outstanding < MOST_OPEN
    }

    /// Tends until something is found, or for so long.
    pub(super) fn until<T>(
        &mut self,
        patience: Duration,
        mut look: impl FnMut(&mut Self) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(found) = look(self)? {
                return Ok(Some(found));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            self.tend()?;
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Tends for so long.
    pub(super) fn pass(&mut self, length: Duration) -> Result<()> {
        self.until::<()>(length, |_| Ok(None)).map(drop)
    }

    /// Makes everything well and waits until all is settled; returns what is not, if so.
    pub(super) fn settle(&mut self, patience: Duration) -> Result<Census> {
        self.asking = Asking::Never;
        Weather::clear(&self.forge, self.run.runtime);
        self.forge.faults().clear_rules();
        self.until(patience, |trial| {
            let quiet = trial.crowd.outstanding() == 0 && trial.view.census()?.is_settled();
            Ok(quiet.then_some(()))
        })?;
        self.view.census()
    }

    /// Writes everything that explains what happened into a folder.
    pub(super) fn explain(&mut self, folder: &Path) -> Result<()> {
        self.view.reopen()?;
        self.view.dump(folder)?;
        let mut threads = String::new();
        for issue in self.crowd.issues() {
            threads.push_str(&format!("== {}\n", issue.repo));
            threads.push_str(&self.forge.thread(issue.repo, issue.number));
        }
        fs::write(folder.join("threads.txt"), threads)?;
        let requests: Vec<String> =
            self.crowd.requests().iter().map(|request| format!("{request:?}\n")).collect();
        Ok(fs::write(folder.join("requests.txt"), requests.concat())?)
    }

    pub(super) fn census(&self) -> Census {
        self.counted.1
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    /// Prints how far it is.
    pub(super) fn tell(&self) {
        let Census { queued, running, unsent, .. } = self.census();
        println!(
            "  {} {:>3} s: kills {}, stops {}, accepted {}, open {} ({queued} queued, {running} running, {unsent} unsent), undelivered {}",
            self.name,
            self.began.elapsed().as_secs(),
            self.tally.kills(),
            self.tally.stops(),
            self.crowd.accepted(),
            queued + running + unsent,
            self.crowd.outstanding(),
        );
    }
}

/// Waits until the first process has made the tables.
fn await_store(run: &Run<'_>, fleet: &mut Fleet, place: &Place) -> Result<View> {
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let view = View::open(place).and_then(|mut view| view.census().map(|_| view));
        match view {
            Ok(view) => return Ok(view),
            Err(error) if Instant::now() > patience => {
                return Err(error).context("the store did not come into being");
            }
            Err(_) if run.interrupted.load(Ordering::Relaxed) => return Err(Interrupted.into()),
            Err(_) => fleet.tend()?,
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
