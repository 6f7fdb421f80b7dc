//! Starting and stopping the spine.

use std::sync::Arc;
use std::time::Duration;

use domain::Clock;
use domain::budget::Budget;
use git::Mirrors;
use report::redact::Redactor;
use store::{Owner, Store};
use tokio::sync::{Notify, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection::{Connection, Connections};
use crate::discretion::Discretion;
use crate::heartbeat::{Heart, Running};
use crate::publish::Publisher;
use crate::speaker::Speaker;
use crate::worker::{Places, Worker};
use crate::{ingest::Ingest, schedule};

/// How much at once, how often, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tempo {
    /// Jobs of real work that run at a time in this process.
    pub work: usize,
    /// Answers that run at a time, in places of their own.
    pub talk: usize,
    /// Jobs of one repository that run at a time, over all processes.
    pub per_repository: u32,
    /// Lanes that are sent for at a time.
    pub senders: usize,
    /// For how long a send of unknown fate is looked for before it is repeated (E2).
    pub look_for: Duration,
    /// How long a shutdown waits for what runs.
    pub drain: Duration,
    /// How long finished jobs are kept.
    pub retention: Duration,
    pub budget: Budget,
}

impl Default for Tempo {
    fn default() -> Self {
        Self {
            work: 4,
            talk: 4,
            per_repository: 2,
            senders: 8,
            look_for: Duration::from_secs(60),
            drain: Duration::from_secs(20),
            retention: Duration::from_hours(24 * 90),
            budget: Budget::default(),
        }
    }
}

impl Tempo {
    /// Returns the pause after an attempt that failed.
    pub fn backoff(&self, attempt: u32) -> Duration {
        Duration::from_secs(2u64.saturating_pow(attempt.min(8))).min(Duration::from_mins(5))
    }
}

/// The running spine of one process.
#[derive(Debug)]
pub struct Engine {
    clock: Arc<dyn Clock>,
    claiming: CancellationToken,
    sweeping: CancellationToken,
    running: Running,
    tasks: TaskTracker,
    drain: Duration,
    _heart: Heart,
}

impl Engine {
    /// Takes back what dead processes of this host left, and starts to work.
    pub async fn start(
        store: Store,
        connections: Connections,
        clock: Arc<dyn Clock>,
        speaker: Arc<Speaker>,
        tempo: Tempo,
        redactor: Arc<Redactor>,
        mirrors: Option<Mirrors>,
    ) -> Result<Self, store::Error> {
        let owner = Owner::this_process()?;
        match store.take_back().await? {
            0 => {}
            count => tracing::info!(count, "took back what processes that are dead had left"),
        }
        let running = Running::default();
        let heart = Heart::start(store.clone(), owner.clone(), running.clone())
            .map_err(|error| store::Error::Open(format!("no thread for heartbeats: {error}")))?;
        let (claiming, sweeping) = (CancellationToken::new(), CancellationToken::new());
        let tasks = TaskTracker::new();
        let worker = Worker {
            store: store.clone(),
            connections: connections.clone(),
            clock: Arc::clone(&clock),
            owner: owner.clone(),
            speaker,
            tempo: tempo.clone(),
            running: running.clone(),
            tasks: tasks.clone(),
            freed: Arc::new(Notify::new()),
            places: Arc::new(Places::default()),
            outdated: CancellationToken::new(),
            discretion: Discretion(redactor),
        };
        let publisher = Publisher {
            store: store.clone(),
            connections,
            clock: Arc::clone(&clock),
            owner,
            places: Arc::new(Semaphore::new(tempo.senders)),
            running: running.clone(),
            tempo: tempo.clone(),
            tasks: tasks.clone(),
            mirrors,
        };
        tasks.spawn(worker.run(claiming.clone()));
        tasks.spawn(publisher.run(claiming.clone()));
        tasks.spawn(schedule::run(store, Arc::clone(&clock), tempo.retention, sweeping.clone()));
        Ok(Self { clock, claiming, sweeping, running, tasks, drain: tempo.drain, _heart: heart })
    }

    /// Stops claiming, lets what runs come to its end within the deadline, then gives it back.
    pub async fn shutdown(self) {
        self.claiming.cancel();
        self.sweeping.cancel();
        self.tasks.close();
        let deadline = self.clock.now() + self.drain;
        tokio::select! {
            () = self.tasks.wait() => return,
            () = self.clock.sleep_until(deadline) => {}
        }
        let left = self.running.count();
        tracing::warn!(left, "the deadline has passed; jobs that still run go back to the queue");
        self.running.stop_all();
        tokio::select! {
            () = self.tasks.wait() => {}
            () = self.clock.sleep_until(deadline + Duration::from_secs(5)) => {}
        }
    }
}

/// Learns our own accounts from the forges: what they write never triggers (E1). It tries until it
/// succeeds, because a forge that is away at start must not make us answer ourselves later.
pub async fn learn_accounts(
    ingest: Ingest,
    connections: Connections,
    clock: Arc<dyn Clock>,
    stop: CancellationToken,
) {
    let mut left: Vec<_> = connections.iter().cloned().collect();
    let mut pause = Duration::from_secs(1);
    while !left.is_empty() && !stop.is_cancelled() {
        let mut failed = Vec::new();
        for connection in left {
            if let Err(error) = learn_account(&ingest, &connection).await {
                tracing::warn!(origin = %connection.origin, %error, "our own account could not be read yet");
                failed.push(connection);
            }
        }
        left = failed;
        if !left.is_empty() {
            tokio::select! {
                () = stop.cancelled() => {}
                () = clock.sleep_until(clock.now() + pause) => {}
            }
            pause = (pause * 2).min(Duration::from_mins(5));
        }
    }
}

/// Asks a forge once who we are there.
pub async fn learn_account(ingest: &Ingest, connection: &Connection) -> Result<(), forge::Error> {
    let account = connection.read.own_account().await?;
    tracing::info!(origin = %connection.origin, account = account.login, "this is who we are");
    for door in ingest.doors().iter().filter(|door| door.origin == connection.origin) {
        if let Some(id) = account.id {
            door.learn_own_account(id);
        }
    }
    Ok(())
}
