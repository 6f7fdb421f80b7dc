//! Keeping leases alive, from a thread of its own: a runtime that is busy must not lose its jobs.
//!
//! Only what this process really works on is kept alive. A job that could not be settled, or a lane
//! that could not be given back, is in nobody's hands: its lease runs out and somebody takes it over.

use std::collections::{HashMap, HashSet};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::{JobId, Lane};
use store::claim::Held;
use store::{Owner, Store};
use tokio_util::sync::CancellationToken;

/// How often leases are prolonged (J2): two may fail before one runs out.
const BEAT: Duration = Duration::from_secs(10);

/// What this process works on: jobs, with how each is told to stop, and lanes that it sends for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running {
    hands: Arc<Mutex<Hands>>,
}

#[derive(Debug, Default)]
struct Hands {
    jobs: HashMap<JobId, CancellationToken>,
    lanes: HashSet<Lane>,
}

/// A job in our hands, until this is dropped, however its task ends.
#[derive(Debug)]
pub(crate) struct HeldJob {
    running: Running,
    id: JobId,
    pub(crate) stop: CancellationToken,
}

/// A lane that we send for, until this is dropped.
#[derive(Debug)]
pub(crate) struct HeldLane {
    running: Running,
    lane: Lane,
}

impl Running {
    pub(crate) fn hold_job(&self, id: &JobId) -> HeldJob {
        let stop = CancellationToken::new();
        self.hands().jobs.insert(id.clone(), stop.clone());
        HeldJob { running: self.clone(), id: id.clone(), stop }
    }

    pub(crate) fn hold_lane(&self, lane: &Lane) -> HeldLane {
        self.hands().lanes.insert(lane.clone());
        HeldLane { running: self.clone(), lane: lane.clone() }
    }

    /// Returns how many jobs are in our hands.
    pub(crate) fn count(&self) -> usize {
        self.hands().jobs.len()
    }

    pub(crate) fn stop(&self, ids: &[JobId]) {
        let hands = self.hands();
        for stop in ids.iter().filter_map(|id| hands.jobs.get(id)) {
            stop.cancel();
        }
    }

    pub(crate) fn stop_all(&self) {
        for stop in self.hands().jobs.values() {
            stop.cancel();
        }
    }

    fn held(&self) -> Held {
        let hands = self.hands();
        Held {
            jobs: hands.jobs.keys().cloned().collect(),
            lanes: hands.lanes.iter().cloned().collect(),
        }
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldJob {
    /// Takes the job out of our hands, before this is dropped.
    pub(crate) fn let_go(&self) {
        self.running.hands().jobs.remove(&self.id);
    }
}

impl Drop for HeldJob {
    fn drop(&mut self) {
        self.let_go();
    }
}

impl Drop for HeldLane {
    fn drop(&mut self) {
        self.running.hands().lanes.remove(&self.lane);
    }
}

/// Ends the thread when dropped.
#[derive(Debug)]
pub(crate) struct Heart {
    _stop: mpsc::Sender<()>,
}

impl Heart {
    pub(crate) fn start(store: Store, owner: Owner, running: Running) -> std::io::Result<Self> {
        let (stop, stopped) = mpsc::channel::<()>();
        std::thread::Builder::new().name("heartbeat".to_owned()).spawn(move || {
            while stopped.recv_timeout(BEAT) == Err(RecvTimeoutError::Timeout) {
                match store.heartbeat_blocking(&owner, running.held()) {
                    Ok(stops) => running.stop(&stops),
                    Err(error) => {
                        tracing::warn!(%error, "a heartbeat failed; leases last three of them");
                    }
                }
            }
        })?;
        Ok(Self { _stop: stop })
    }
}
