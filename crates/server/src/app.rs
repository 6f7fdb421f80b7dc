//! What the gateway is made of, and what all of its routes share.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use domain::Clock;
use engine::Ingest;
use engine::ingest::Belief;
use secrecy::SecretString;
use store::Store;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::body::Bodies;
use crate::flood::Flood;
use crate::guard::Guard;
use crate::metrics::Metrics;

/// What the composition root hands over.
#[derive(Debug)]
pub struct App {
    pub ingest: Ingest,
    pub store: Store,
    pub clock: Arc<dyn Clock>,
    /// `Unchecked` is `TEST_MODE`: [`crate::serve()`] then listens on loopback only.
    pub belief: Belief,
    /// Without it the admin API answers 403.
    pub admin_token: Option<SecretString>,
    /// Names under which the admin API is called, besides loopback and the listening address (T10).
    pub allowed_hosts: Vec<String>,
    pub limits: Limits,
}

/// How much of everything a stranger may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest body of a delivery, in bytes.
    pub body: usize,
    /// How long the sender may take for a body.
    pub body_time: Duration,
    /// Memory for all bodies that are larger than [`Limits::SMALL_BODY`], together, in bytes.
    pub body_memory: usize,
    /// How long a client may take for the head of a request, and stay idle between two.
    pub head_time: Duration,
    /// Connections at a time; more wait in the system's queue.
    pub connections: usize,
    /// Live streams of events at a time.
    pub streams: usize,
    /// How long open requests may go on after the order to stop.
    pub drain: Duration,
}

impl Limits {
    /// A body up to this size is bounded by the number of connections alone.
    pub const SMALL_BODY: usize = 64 * 1024;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 25 * 1024 * 1024,
            body_time: Duration::from_secs(30),
            body_memory: 128 * 1024 * 1024,
            head_time: Duration::from_secs(30),
            connections: 1024,
            streams: 64,
            drain: Duration::from_secs(10),
        }
    }
}

/// The state behind every route.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) ingest: Ingest,
    pub(crate) store: Store,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) belief: Belief,
    pub(crate) bodies: Bodies,
    pub(crate) flood: Flood,
    pub(crate) guard: Guard,
    pub(crate) metrics: Metrics,
    pub(crate) streams: Arc<Semaphore>,
    pub(crate) openapi: Bytes,
    /// Cancelled when the server stops: live streams end.
    pub(crate) closing: CancellationToken,
}

impl Gateway {
    pub(crate) fn new(app: App, listen: Option<SocketAddr>, openapi: Bytes) -> Self {
        let App { ingest, store, clock, belief, admin_token, allowed_hosts, limits } = app;
        Self {
            bodies: Bodies::new(&limits),
            flood: Flood::default(),
            guard: Guard::new(admin_token.as_ref(), &allowed_hosts, listen),
            metrics: Metrics::default(),
            streams: Arc::new(Semaphore::new(limits.streams)),
            closing: CancellationToken::new(),
            ingest,
            store,
            clock,
            belief,
            openapi,
        }
    }
}
