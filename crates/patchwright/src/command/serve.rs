//! `patchwright serve`: takes deliveries, does the work, and stops cleanly when asked to.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use engine::ingest::Belief;
use engine::{Engine, learn_accounts};
use report::redact::Redactor;
use server::{App, Limits};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::complaint::{Complaint, Exit};
use crate::rehearsal::{Sending, Told};
use crate::settings::{Role, Settings};
use crate::wiring::{self, KeySource, Spine};

/// Serves until SIGTERM or SIGINT.
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
    warn(settings);
    let mut interrupts = Interrupts::listen()?;
    let listener = if role.listens() { Some(bind(*settings.server.listen).await?) } else { None };
    let place = wiring::configured_place(settings);
    let spine = wiring::assemble(settings, place, KeySource::Store, &sending, redactor).await?;
    let stop = CancellationToken::new();

    let learning = tokio::spawn(learn_accounts(
        spine.ingest.clone(),
        spine.connections.clone(),
        Arc::clone(&spine.clock),
        stop.clone(),
    ));
    let engine = if role.works() { Some(start(&spine).await?) } else { None };
    let gateway = listener.map(|listener| {
        let stopped = stop.clone().cancelled_owned();
        tokio::spawn(server::serve(listener, app(settings, &spine), stopped))
    });
    tracing::info!(?role, "serving");

    let ended = loop {
        tokio::select! {
            name = interrupts.next() => {
                tracing::info!(signal = name, "stopping");
                break Ok(Exit::Done);
            }
            words = told.next() => out.write_all(words.as_bytes())?,
        }
    };
    stop.cancel();
    if let Some(gateway) = gateway {
        gateway.await??;
    }
    if let Some(engine) = engine {
        engine.shutdown().await;
    }
    learning.await?;
    ended
}

async fn start(spine: &Spine) -> Result<Engine, store::Error> {
    let Spine { store, connections, speaker, tempo, clock, .. } = spine;
    Engine::start(
        store.clone(),
        connections.clone(),
        Arc::clone(clock),
        Arc::clone(speaker),
        tempo.clone(),
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
fn warn(settings: &Settings) {
    if *settings.server.test_mode {
        tracing::warn!(
            "TEST_MODE IS ON: UNSIGNED DELIVERIES ARE TAKEN. Never use it for real work."
        );
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
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
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
