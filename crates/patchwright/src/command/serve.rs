//! `patchwright serve`: takes deliveries, does the work, and stops cleanly when asked to.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::anyhow;
use engine::ingest::Belief;
use engine::reconcile::Reconciler;
use engine::{Engine, learn_accounts};
use report::redact::Redactor;
use server::{App, Limits};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::complaint::{Complaint, Exit};
use crate::rehearsal::{Sending, Told};
use crate::settings::{Role, Settings};
use crate::wiring::{self, KeySource, Spine};

/// Serves until SIGTERM or SIGINT. A second signal ends it at once.
pub async fn run(
    role: Role,
    settings: &Settings,
    (sending, mut told): (Sending, Told),
    redactor: &Arc<Redactor>,
    out: &mut dyn Write,
) -> Result<Exit, Complaint> {
    let missing = settings.missing(role);
    if !missing.is_empty() {
        return Err(Complaint::about(missing));
    }
    let mut interrupts = Interrupts::listen()?;
    warn(settings, out)?;
    if matches!(sending, Sending::Rehearsed(_)) {
        writeln!(
            out,
            "This is a rehearsal: jobs pass with this process, and what would be sent is printed."
        )?;
    }
    let listener = if role.listens() { Some(bind(*settings.server.listen).await?) } else { None };
    let folder = tempfile::tempdir()?;
    let place = wiring::place(settings, &sending, folder.path());
    let spine = wiring::assemble(settings, place, KeySource::Store, &sending, redactor).await?;
    let stop = CancellationToken::new();

    let learning = tokio::spawn(learn_accounts(
        spine.ingest.clone(),
        spine.connections.clone(),
        Arc::clone(&spine.clock),
        stop.clone(),
    ));
    let engine = if role.works() { Some(start(&spine).await?) } else { None };
    if role.works() {
        let reconciler = Reconciler {
            store: spine.store.clone(),
            ingest: spine.ingest.clone(),
            connections: spine.connections.clone(),
            clock: Arc::clone(&spine.clock),
        };
        let stop = stop.clone();
        // What it was about to find is found by the next process: it is not waited for.
        drop(tokio::spawn(async move {
            tokio::select! {
                () = stop.cancelled() => {}
                () = reconciler.run(stop.clone()) => {}
            }
        }));
    }
    let mut gateway = Gateway::start(listener, app(settings, &spine), &stop, out)?;
    tracing::info!(?role, "serving");

    let asked = loop {
        tokio::select! {
            name = interrupts.next() => break name,
            ended = gateway.ended() => return Err(ended.context("the gateway ended by itself").into()),
            words = told.next() => out.write_all(words.as_bytes())?,
        }
    };
    tracing::info!(signal = asked, "stopping");
    stop.cancel();
    let draining = async {
        gateway.drained().await?;
        if let Some(engine) = engine {
            engine.shutdown().await;
        }
        learning.await?;
        anyhow::Ok(Exit::Done)
    };
    tokio::select! {
        ended = draining => Ok(ended?),
        name = interrupts.next() => {
            let error = anyhow!("{name} came a second time: what still ran is left to the next start");
            Err(error.into())
        }
    }
}

async fn start(spine: &Spine) -> Result<Engine, store::Error> {
    let Spine { store, ingest, connections, speaker, tempo, clock, code } = spine;
    Engine::start(
        store.clone(),
        connections.clone(),
        Arc::clone(clock),
        Arc::clone(speaker),
        tempo.clone(),
        Arc::clone(ingest.redactor()),
        code.as_ref().map(|code| code.mirrors.clone()),
    )
    .await
}

fn app(settings: &Settings, spine: &Spine) -> App {
    let belief = if *settings.server.test_mode { Belief::Unchecked } else { Belief::Signature };
    App {
        ingest: spine.ingest.clone(),
        store: spine.store.clone(),
        clock: Arc::clone(&spine.clock),
        belief,
        admin_token: settings.server.admin_token.value.0.clone(),
        allowed_hosts: settings.server.hosts.value.clone(),
        limits: Limits { drain: *settings.server.drain, ..Limits::default() },
    }
}

/// Says what an operator should know before the first delivery comes.
fn warn(settings: &Settings, out: &mut dyn Write) -> io::Result<()> {
    if *settings.server.test_mode {
        // Said whatever the level of the log is.
        writeln!(
            out,
            "TEST_MODE IS ON: UNSIGNED DELIVERIES ARE TAKEN. Never use it for real work."
        )?;
    }
    for warning in &settings.warnings {
        tracing::warn!(hint = warning.hints.join("; "), "{warning}");
    }
    for name in &settings.left_out {
        tracing::info!(connection = name, "not served because of PLATFORM");
    }
    if !settings.not_used_yet.is_empty() {
        tracing::info!(
            variables = settings.not_used_yet.join(", "),
            "set, but not used yet by this version"
        );
    }
    Ok(())
}

/// The running gateway, where this process has one.
struct Gateway {
    task: Option<JoinHandle<io::Result<()>>>,
}

impl Gateway {
    fn start(
        listener: Option<TcpListener>,
        app: App,
        stop: &CancellationToken,
        out: &mut dyn Write,
    ) -> io::Result<Self> {
        let Some(listener) = listener else { return Ok(Self { task: None }) };
        // The address tells those who asked for any free port which one they got.
        writeln!(out, "listening on http://{}", listener.local_addr()?)?;
        out.flush()?;
        let stopped = stop.clone().cancelled_owned();
        Ok(Self { task: Some(tokio::spawn(server::serve(listener, app, stopped))) })
    }

    /// Waits for an end that nobody asked for.
    async fn ended(&mut self) -> anyhow::Error {
        match &mut self.task {
            None => std::future::pending().await,
            Some(task) => match task.await {
                Ok(Ok(())) => anyhow!("it was not asked to"),
                Ok(Err(error)) => error.into(),
                Err(error) => error.into(),
            },
        }
    }

    /// Waits until open requests have ended.
    async fn drained(self) -> anyhow::Result<()> {
        match self.task {
            None => Ok(()),
            Some(task) => Ok(task.await??),
        }
    }
}

async fn bind(address: SocketAddr) -> Result<TcpListener, Complaint> {
    TcpListener::bind(address).await.map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::AddrInUse => {
                "another program listens there; choose another address with --listen"
            }
            io::ErrorKind::PermissionDenied => {
                "ports below 1024 need privileges; choose a higher one with --listen"
            }
            _ => "choose an address of this machine with --listen",
        };
        let error = anyhow::Error::from(error).context(format!("cannot listen on {address}"));
        Complaint::from(error).hint(hint)
    })
}

/// The two signals that ask a process to stop.
struct Interrupts {
    terminate: Signal,
    interrupt: Signal,
}

impl Interrupts {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }
}
