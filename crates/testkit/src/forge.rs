//! The fake forge: one strict, stateful model of a forge, served over HTTP with a host's own face.
//!
//! Scenarios, contract tests and drivers start one with [`FakeForge::github`], let people act on
//! it, point a real adapter at [`FakeForge::url`], and read the conversation back as text. It
//! keeps everything in memory, and takes its time from the clock that it is given.

mod app;
mod control;
mod delivery;
mod diff;
mod exchange;
mod face;
mod fault;
mod happened;
mod model;
mod object;
mod people;
mod serve;
mod wire;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use domain::Clock;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

pub use app::RegisteredApp;
pub use delivery::{Answered, SignedDelivery};
pub use diff::{DiffFile, DiffLine, FakeDiff, Hunk, Misplaced};
pub use exchange::{Moment, Request, Violation};
pub use fault::{Fault, Faults, Limit, LimitHeaders, Often, On, Outage};
pub use happened::{Happened, What};
pub use model::{Anchors, CommentIds, Habits, LONGEST_BODY, Lag, LoneComments, Numbering, Refusal};
pub use object::{
    Access, Account, AccountKind, Anchor, Annotation, CommentKind, Credential, DraftTarget,
    FakeApp, FakeBranch, FakeChange, FakeCheck, FakeComment, FakeDraft, FakeInstallation, FakeRepo,
    FakeReview, FakeRun, FakeStatus, FakeSubject, FakeThread, HeadRepo, Inline, Lines, Maintainers,
    Reaction, ReviewState, Side, Spot, StatusState, Verdict, Version, Which,
};

pub(crate) use exchange::{Answer, Asked};
pub(crate) use face::{Face, Sender};
pub(crate) use fault::{Kind, SplitMix};
pub(crate) use model::{Act, Denied, Edit, Model, Named, NewReview, Proposal, Reacted, Target};
pub(crate) use object::{Bearer, Reach, commit};
pub(crate) use people::{settled, submitted, thread_of, told_of};
pub(crate) use serve::Shared;

use ::forge::Host;

use crate::description::Description;

use serve::Log;
use wire::Port;

/// How to start a fake forge.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whose face it has.
    pub host: Host,
    /// The port on the loopback interface; 0 for any.
    pub port: u16,
    /// The port of the control endpoints; 0 for any.
    pub control_port: u16,
    /// The secret that deliveries are signed with.
    pub secret: String,
    /// Where everything random starts from.
    pub seed: u64,
    /// Where the control endpoints send the deliveries of what people do through them.
    pub deliver_to: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        let secret = "the webhook secret of the fake forge".to_owned();
        Self { host: Host::GitHub, port: 0, control_port: 0, secret, seed: 1, deliver_to: None }
    }
}

/// A forge that runs until it is dropped.
#[derive(Debug)]
pub struct FakeForge {
    shared: Arc<Shared>,
    secret: String,
    control_url: String,
    random: Arc<Mutex<SplitMix>>,
    /// Ends the servers. The control endpoints hold the forge without it.
    _life: Option<DropGuard>,
}

impl FakeForge {
    /// Starts a forge with GitHub's face on any free port.
    pub async fn github(clock: Arc<dyn Clock>) -> io::Result<Self> {
        Self::start(clock, Options::default()).await
    }

    pub async fn start(clock: Arc<dyn Clock>, options: Options) -> io::Result<Self> {
        let face = face_of(options.host)?;
        let life = CancellationToken::new();
        let faults = Arc::new(Faults::default());
        faults.seed(options.seed);
        let port = Port::open(options.port, Arc::clone(&faults), life.clone())?;
        let control_address = SocketAddr::from(([127, 0, 0, 1], options.control_port));
        let control = TcpListener::bind(control_address).await?;
        let forge = Self {
            shared: Arc::new(Shared {
                model: Mutex::new(Model::new(face.habits())),
                face,
                faults,
                clock,
                url: format!("http://{}", port.address()),
                log: Mutex::new(Log::default()),
                description: OnceLock::new(),
            }),
            secret: options.secret,
            control_url: format!("http://{}/_control", control.local_addr()?),
            random: Arc::new(Mutex::new(SplitMix(options.seed))),
            _life: Some(life.clone().drop_guard()),
        };
        let face = serve::router(Arc::clone(&forge.shared));
        let face = axum::serve(port, face.into_make_service_with_connect_info::<wire::Wire>());
        tokio::spawn(face.with_graceful_shutdown(life.clone().cancelled_owned()).into_future());
        let control =
            axum::serve(control, control::router(forge.second_hand(), options.deliver_to));
        tokio::spawn(control.with_graceful_shutdown(life.cancelled_owned()).into_future());
        Ok(forge)
    }

    /// Starts a forge with Gitea's face on any free port. Its API stands below `/api/v1`.
    pub async fn gitea(clock: Arc<dyn Clock>) -> io::Result<Self> {
        Self::start(clock, Options { host: Host::Gitea, ..Options::default() }).await
    }

    /// Starts a forge with GitCode's face on any free port. Its API stands below `/api/v5`.
    pub async fn gitcode(clock: Arc<dyn Clock>) -> io::Result<Self> {
        Self::start(clock, Options { host: Host::GitCode, ..Options::default() }).await
    }

    /// Returns where the face is reached, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.shared.url
    }

    /// Returns where another process steers this forge: see `control.rs` for what it takes.
    pub fn control_url(&self) -> &str {
        &self.control_url
    }

    /// Returns the secret that deliveries are signed with.
    pub fn secret(&self) -> &str {
        &self.secret
    }

    pub fn faults(&self) -> &Faults {
        &self.shared.faults
    }

    /// Holds every exchange from now on to the host's description: what it does not have is a
    /// violation.
    pub fn keeps_to(&self, description: &'static Description) {
        self.shared.description.set(description).unwrap_or(());
    }

    /// Makes the delivery of what happened, with an id of its own.
    pub fn delivery(&self, happened: &Happened) -> SignedDelivery {
        let sender = Sender { url: self.url(), secret: &self.secret, guid: &self.guid() };
        self.shared.face.delivery(happened, sender)
    }

    /// Takes what was done through the API since the last call: the forge tells its webhooks of it
    /// too, so that a bot hears of its own comments.
    pub fn echoes(&self) -> Vec<Happened> {
        std::mem::take(&mut self.shared.log().echoes)
    }

    /// Returns everything that a well-behaved client would not have done.
    pub fn violations(&self) -> Vec<Violation> {
        self.shared.log().violations.clone()
    }

    /// Returns every request so far, in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.log().requests.clone()
    }

    /// Tells every write from now on, when it arrives and when it is done but not yet answered.
    pub fn watch_writes(&self) -> mpsc::UnboundedReceiver<Moment> {
        let (observer, moments) = mpsc::unbounded_channel();
        self.shared.log().observers.push(observer);
        moments
    }

    /// Returns the same forge for a holder whose end does not end it.
    fn second_hand(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
            secret: self.secret.clone(),
            control_url: self.control_url.clone(),
            random: Arc::clone(&self.random),
            _life: None,
        }
    }

    /// Draws `digits` hexadecimal digits.
    fn random_hex(&self, digits: usize) -> String {
        let mut random = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let mut hex = String::new();
        while hex.len() < digits {
            hex.push_str(&format!("{:016x}", random.next()));
        }
        hex.truncate(digits);
        hex
    }

    fn guid(&self) -> String {
        let hex = self.random_hex(32);
        [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
    }
}

fn face_of(host: Host) -> io::Result<Box<dyn Face>> {
    match host {
        Host::GitHub => Ok(Box::new(crate::github::GitHub)),
        Host::GitLab => Ok(Box::new(crate::gitlab::GitLab)),
        Host::Gitea => Ok(Box::new(crate::gitea::Gitea)),
        Host::GitCode => Ok(Box::new(crate::gitcode::GitCode)),
        Host::Local => {
            let why = format!("the fake forge has no face of {host}");
            Err(io::Error::new(io::ErrorKind::Unsupported, why))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
