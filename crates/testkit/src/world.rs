//! The whole product in one test: a fake forge, a running gateway, workers and a store, on a clock
//! that only the story moves.
//!
//! A story lets people act on the forge ([`World::comments`], …), which sends the signed delivery to
//! the gateway over HTTP; then [`World::settle`] lets everything come to rest, moving the clock to
//! whatever is due next; then [`World::thread`] is what a person sees. [`World::close`] ends a
//! story and fails it if a job is unfinished, the adapter misspoke, or an error was logged that the
//! story did not expect.

#![expect(
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a story whose world breaks fails, and one that is stuck in real time is told so"
)]

mod log;
mod place;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use domain::job::State;
use domain::{Clock, Job, Origin, Policy};
use engine::ingest::Belief;
use engine::reconcile::{Reconciler, Round};
use engine::{Connection, Connections, Door, Ingest, Speaker, Tempo};
use forge::http::Pacing;
use forge::{Host, Ours, Permission};
use report::marker::MarkerKey;
use report::redact::Redactor;
use report::words::Language;
use secrecy::SecretString;
use server::{App, Limits};
use store::job::Filter;
use store::settle::Patience;
use store::sweep::Rest;
use store::{Place, Store, TimeSource};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::clock::HandClock;
use crate::forge::{Answered, FakeForge, Happened, SignedDelivery};
use log::ErrorLog;

pub use place::postgres;
use workers::{Kit, Workers};

/// The name that people mention.
pub const BOT: &str = "bot";

/// The repository that stories are told in, unless they name another.
pub const REPO: &str = "acme/demo";

/// The token of the admin API.
pub const ADMIN_TOKEN: &str = "the-admin-token-of-this-world";

/// For how long, in real time, a story may fail to come to rest before it is called stuck.
const STUCK: Duration = Duration::from_secs(60);

/// How a world differs from the usual one.
#[derive(Debug)]
pub struct Options {
    pub place: Option<Place>,
    pub tempo: Tempo,
    pub patience: Patience,
    pub policy: Policy,
    pub belief: Belief,
    /// The secret that comments are marked with; two worlds that share one are one deployment's two
    /// servers.
    pub marker_key: Vec<u8>,
    pub redactor: Redactor,
    /// Connections whose deliveries are taken besides the fake forge's. Nothing can be answered there.
    pub doors: Vec<Door>,
    pub admin_token: Option<SecretString>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            place: None,
            tempo: Tempo::default(),
            patience: Patience::default(),
            policy: Policy::for_bot(BOT),
            belief: Belief::Signature,
            marker_key: b"the marker key of this world".to_vec(),
            redactor: Redactor::new(&Vec::<SecretString>::new()),
            doors: Vec::new(),
            admin_token: Some(SecretString::from(ADMIN_TOKEN)),
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct World {
    pub forge: Arc<FakeForge>,
    pub clock: Arc<HandClock>,
    pub store: Store,
    pub ingest: Ingest,
    kit: Kit,
    gateway: String,
    workers: Option<Workers>,
    server: JoinHandle<std::io::Result<()>>,
    stop: CancellationToken,
    errors: ErrorLog,
    closed: bool,
    _folder: tempfile::TempDir,
}

impl World {
    /// A world on SQLite, with `alice` who may write to [`REPO`] and `mallory` who may not.
    pub async fn start() -> Self {
        Self::with(Options::default()).await
    }

    /// A world that differs.
    pub async fn with(options: Options) -> Self {
        let clock = Arc::new(HandClock::default());
        let forge = FakeForge::github(Arc::clone(&clock) as Arc<dyn Clock>)
            .await
            .expect("a port for the fake forge");
        forge.bot(BOT);
        forge.person("alice");
        forge.person("mallory");
        forge.repo(REPO);
        forge.grants(REPO, BOT, Permission::Write);
        forge.grants(REPO, "alice", Permission::Write);
        Self::beside(Arc::new(forge), clock, options).await
    }

    /// Asks the forge once what it never delivered (J9).
    pub async fn reconciles(&self) -> Round {
        let reconciler = Reconciler {
            store: self.store.clone(),
            ingest: self.ingest.clone(),
            connections: self.kit.connections.clone(),
            clock: Arc::clone(&self.kit.clock),
        };
        reconciler.once().await
    }

    /// Another deployment on the same forge, at the same time.
    pub async fn beside(forge: Arc<FakeForge>, clock: Arc<HandClock>, options: Options) -> Self {
        let errors = ErrorLog::start();
        let folder = tempfile::tempdir().expect("a folder for the store");
        let place = options.place.unwrap_or_else(|| Place::Sqlite(folder.path().join("store.db")));
        let shared: Arc<dyn Clock> = Arc::clone(&clock) as Arc<dyn Clock>;
        let redactor = Arc::new(options.redactor);

        let instance = format!("world-{}", uuid::Uuid::new_v4());
        let ours = Arc::new(Ours::new(&instance, Some(MarkerKey::new(&options.marker_key))));
        let api = url::Url::parse(forge.url()).expect("the fake forge's address");
        let origin = Origin::new(forge.url());
        let github = forge::github::GitHub::new(
            forge::http::Connection {
                api,
                token: SecretString::from(forge.token(BOT)),
                pacing: Pacing::Auto,
                proxy: None,
                ca_bundle: None,
                redactor: Arc::clone(&redactor),
                clock: Arc::clone(&shared),
            },
            ours,
        )
        .expect("a usable connection");
        let github = Arc::new(github);
        let connections = Connections::new([Connection {
            origin: origin.clone(),
            host: Host::GitHub,
            read: Arc::clone(&github) as _,
            write: github,
        }]);
        let hosts = [(origin.clone(), Host::GitHub)];
        let speaker = Arc::new(Speaker::new(options.policy.bot_names.clone(), Language::En, hosts));
        let store = open(&place, &shared, &options.patience, &speaker).await;
        let door = Door::new(
            Host::GitHub,
            origin,
            vec![SecretString::from(forge.secret())],
            options.policy,
        );
        let doors = std::iter::once(door).chain(options.doors).collect();
        let ingest = Ingest::new(store.clone(), doors, redactor, Arc::clone(&shared));

        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port for the gateway");
        let gateway = format!("http://{}", listener.local_addr().expect("the gateway's address"));
        let stop = CancellationToken::new();
        let app = App {
            ingest: ingest.clone(),
            store: store.clone(),
            clock: Arc::clone(&shared),
            belief: options.belief,
            admin_token: options.admin_token,
            allowed_hosts: Vec::new(),
            limits: Limits::default(),
        };
        let server = tokio::spawn(server::serve(listener, app, stop.clone().cancelled_owned()));
        let kit = Kit {
            store: store.clone(),
            connections,
            clock: shared,
            speaker,
            tempo: options.tempo,
            redactor: Arc::clone(ingest.redactor()),
            mirrors: None,
            log: errors.dispatch(),
        };
        let mut world = Self {
            forge,
            clock,
            store,
            ingest,
            kit,
            gateway,
            workers: None,
            server,
            stop,
            errors,
            closed: false,
            _folder: folder,
        };
        world.start_workers().await;
        world
    }

    /// Starts the workers, if none run.
    pub async fn start_workers(&mut self) {
        if self.workers.is_some() {
            return;
        }
        self.workers = Some(Workers::start(self.kit.clone()).await);
        let (connections, clock) = (self.kit.connections.clone(), Arc::clone(&self.kit.clock));
        engine::learn_accounts(self.ingest.clone(), connections, clock, CancellationToken::new())
            .await;
    }

    /// Starts workers of another tempo, if none run.
    pub async fn start_workers_at(&mut self, tempo: Tempo) {
        self.kit.tempo = tempo;
        self.start_workers().await;
    }

    /// Stops the workers as an orderly shutdown does. Deliveries are still taken.
    pub async fn stop_workers(&mut self) {
        if let Some(workers) = self.workers.take() {
            workers.shut_down().await;
        }
    }

    /// Kills the workers where they stand. Deliveries are still taken.
    pub async fn kill_workers(&mut self) {
        if let Some(workers) = self.workers.take() {
            workers.kill().await;
        }
    }

    /// Returns the address of the gateway.
    pub fn gateway(&self) -> &str {
        &self.gateway
    }

    /// Somebody opens an issue; the forge tells the gateway. Returns its number.
    pub async fn opens_issue(&self, actor: &str, title: &str, body: &str) -> u64 {
        let happened = self.forge.opens_issue(actor, REPO, title, body);
        self.deliver(&happened).await;
        happened.number()
    }

    /// Somebody comments; the forge tells the gateway, which answers.
    pub async fn comments(&self, actor: &str, number: u64, body: &str) -> Answered {
        let happened = self.forge.comments(actor, REPO, number, body);
        self.deliver(&happened).await
    }

    /// Sends the delivery of what happened.
    pub async fn deliver(&self, happened: &Happened) -> Answered {
        self.send(&self.forge.delivery(happened)).await
    }

    /// Sends a delivery, perhaps once more.
    pub async fn send(&self, delivery: &SignedDelivery) -> Answered {
        let url = format!("{}/api/webhook", self.gateway);
        delivery.send_to(&url).await.expect("the gateway answers")
    }

    /// Lets everything come to rest: every job final, every row sent or given up. The clock moves to
    /// whatever is due next.
    pub async fn settle(&self) {
        let mut changes = self.store.changes();
        let began = std::time::Instant::now();
        let mut quiet = 0;
        loop {
            changes.borrow_and_update();
            match self.store.rest().await.expect("the store answers") {
                Rest::Settled => return,
                Rest::Until(at) => {
                    self.clock.advance(at.since(self.clock.now()));
                    quiet = 0;
                }
                Rest::Busy => {
                    let changed =
                        tokio::time::timeout(Duration::from_millis(20), changes.changed()).await;
                    quiet = if changed.is_ok() { 0 } else { quiet + 1 };
                    // Somebody who works waits for the clock: a pause between looks, a paced write.
                    if quiet >= 5 {
                        self.clock.advance_to_next_wake();
                        quiet = 0;
                    }
                }
            }
            assert!(
                began.elapsed() < STUCK,
                "the world does not come to rest:\n{}",
                self.describe().await
            );
        }
    }

    /// Prints a conversation as a person sees it.
    pub fn thread(&self, number: u64) -> String {
        self.forge.thread(REPO, number)
    }

    /// Returns all jobs, oldest first.
    pub async fn jobs(&self) -> Vec<Job> {
        let filter = Filter { limit: 100_000, ..Filter::default() };
        let mut jobs = self.store.jobs(filter).await.expect("the store answers");
        jobs.reverse();
        jobs
    }

    /// Prints every job in a line: task, subject, state, reason.
    pub async fn describe(&self) -> String {
        let mut lines = String::new();
        for job in self.jobs().await {
            let why = job.error.map(|why| format!(": {why}")).unwrap_or_default();
            let line =
                format!("{} {} {}{why}\n", job.task.work.name(), job.task.subject, job.state);
            lines.push_str(&line);
        }
        lines
    }

    /// Lets the story log errors with these words in them.
    pub fn expect_error(&self, words: &str) {
        self.errors.expect(words);
    }

    /// Waits until an error with these words is logged.
    pub async fn until_error(&self, words: &str) {
        let began = std::time::Instant::now();
        while !self.errors.has(words) {
            assert!(began.elapsed() < STUCK, "nothing was logged about: {words}");
            // The workers run on a thread of their own; there is nothing of theirs to wait for.
            tokio::time::timeout(Duration::from_millis(5), std::future::pending::<()>())
                .await
                .unwrap_or_default();
        }
    }

    /// Ends the story.
    pub async fn close(mut self) {
        let unfinished: Vec<_> =
            self.jobs().await.into_iter().filter(|job| !job.state.is_final()).collect();
        assert!(
            unfinished.is_empty(),
            "the story leaves unfinished jobs:\n{}",
            self.describe().await
        );
        let violations = self.forge.violations();
        assert!(violations.is_empty(), "the adapter misspoke: {violations:#?}");
        let errors = self.errors.unexpected();
        assert!(errors.is_empty(), "unexpected errors were logged: {errors:#?}");
        self.stop_workers().await;
        self.stop.cancel();
        self.closed = true;
    }

    /// Ends a story that leaves work undone on purpose.
    pub fn abandon(mut self) {
        self.stop.cancel();
        self.closed = true;
    }

    /// Returns how many jobs are in a state.
    pub async fn count(&self, state: State) -> usize {
        self.jobs().await.iter().filter(|job| job.state == state).count()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.server.abort();
        if !self.closed && !std::thread::panicking() {
            panic!("a story ends with `world.close().await`");
        }
    }
}

async fn open(
    place: &Place,
    clock: &Arc<dyn Clock>,
    patience: &Patience,
    speaker: &Arc<Speaker>,
) -> Store {
    let speaker = Arc::clone(speaker);
    let time = TimeSource::Given(Arc::clone(clock));
    let apologise = Arc::new(move |job: &Job| speaker.apologise(job));
    Store::open(place, time, patience.clone(), apologise).await.expect("the store opens")
}
