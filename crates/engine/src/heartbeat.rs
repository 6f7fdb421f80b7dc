//! Keeping leases alive, from a thread of its own: a runtime that is busy must not lose its jobs.

use std::collections::HashMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::JobId;
use store::{Owner, Store};
use tokio_util::sync::CancellationToken;

/// How often leases are prolonged (J2): two may fail before one runs out.
const BEAT: Duration = Duration::from_secs(10);

/// The jobs that this process runs, and how each is told to stop.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running {
    jobs: Arc<Mutex<HashMap<JobId, CancellationToken>>>,
}

impl Running {
    pub(crate) fn enter(&self, id: &JobId) -> CancellationToken {
        let stop = CancellationToken::new();
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), stop.clone());
        stop
    }

    pub(crate) fn leave(&self, id: &JobId) {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    pub(crate) fn count(&self) -> usize {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(crate) fn stop(&self, ids: &[JobId]) {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        for id in ids {
            if let Some(stop) = jobs.get(id) {
                stop.cancel();
            }
        }
    }

    pub(crate) fn stop_all(&self) {
        for stop in self.jobs.lock().unwrap_or_else(PoisonError::into_inner).values() {
            stop.cancel();
        }
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
                match store.heartbeat_blocking(&owner) {
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
