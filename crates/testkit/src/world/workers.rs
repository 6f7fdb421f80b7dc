//! The workers of a world, on a runtime of their own, so that a story can kill them.
//!
//! A kill drops the runtime: every task ends where it stands, nothing is settled and nothing given
//! back, as if the process had died. Its leases run out by the clock.

use std::sync::Arc;
use std::thread::JoinHandle;

use domain::Clock;
use engine::{Connections, Engine, Speaker, Tempo};
use git::Mirrors;
use report::redact::Redactor;
use store::Store;
use tokio::sync::oneshot;
use tracing::Dispatch;

/// How workers end.
#[derive(Debug)]
enum End {
    /// As an orderly shutdown.
    Shutdown,
    /// As a process that is killed.
    Kill,
}

/// Everything that workers are made of.
#[derive(Clone, Debug)]
pub(crate) struct Kit {
    pub(crate) store: Store,
    pub(crate) connections: Connections,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) speaker: Arc<Speaker>,
    pub(crate) tempo: Tempo,
    pub(crate) redactor: Arc<Redactor>,
    /// Copies of repositories, in worlds that have code.
    pub(crate) mirrors: Option<Mirrors>,
    /// Where their log goes.
    pub(crate) log: Dispatch,
}

/// Workers that run.
#[derive(Debug)]
pub(crate) struct Workers {
    end: oneshot::Sender<End>,
    thread: JoinHandle<()>,
}

impl Workers {
    pub(crate) async fn start(kit: Kit) -> Self {
        let (end, ending) = oneshot::channel();
        let (started, ready) = oneshot::channel();
        let thread = std::thread::spawn(move || run(kit, started, ending));
        ready.await.expect("workers start");
        Self { end, thread }
    }

    pub(crate) async fn shut_down(self) {
        self.finish(End::Shutdown).await;
    }

    pub(crate) async fn kill(self) {
        self.finish(End::Kill).await;
    }

    async fn finish(self, how: End) {
        let Self { end, thread } = self;
        // A thread that has panicked has nobody to tell; joining it tells.
        drop(end.send(how));
        let joined =
            tokio::task::spawn_blocking(move || thread.join()).await.expect("the thread is joined");
        joined.expect("workers do not panic");
    }
}

fn run(kit: Kit, started: oneshot::Sender<()>, ending: oneshot::Receiver<End>) {
    let _log = tracing::dispatcher::set_default(&kit.log);
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let Kit { store, connections, clock, speaker, tempo, redactor, mirrors, .. } = kit;
        let engine = Engine::start(store, connections, clock, speaker, tempo, redactor, mirrors);
        let engine = engine.await.expect("the engine starts");
        started.send(()).unwrap_or(());
        if let Ok(End::Shutdown) = ending.await {
            engine.shutdown().await;
        }
    });
    // Whatever operation is still under way in a thread is not waited for: the dead do not wait.
    runtime.shutdown_background();
}
