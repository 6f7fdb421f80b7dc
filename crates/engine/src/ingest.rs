//! A delivery's way in: whose it is, whether it is authentic, what it says, what it means, and one
//! transaction. No network call is made on this way (T1).

use std::borrow::Cow;
use std::sync::{Arc, RwLock};

use bytes::Bytes;
use domain::{AccountId, Clock, Decision, Event, JobId, Origin, Policy, Task, route};
use forge::Host;
use forge::webhook::{self, Content, Malformed};
use http::HeaderMap;
use report::redact::Redactor;
use secrecy::SecretString;
use store::intake::{Accepted, Delivery, Intake, Pin};
use store::{Error, Store};

use crate::discretion::Discretion;

/// A body larger than this is verified and decoded away from the threads that answer.
const LARGE: usize = 256 * 1024;

/// One connection as deliveries see it.
#[derive(Debug)]
pub struct Door {
    pub host: Host,
    pub origin: Origin,
    /// Every secret that a hook of this connection may use.
    pub secrets: Vec<SecretString>,
    policy: RwLock<Policy>,
}

impl Door {
    pub fn new(host: Host, origin: Origin, secrets: Vec<SecretString>, policy: Policy) -> Self {
        Self { host, origin, secrets, policy: RwLock::new(policy) }
    }

    /// Learns the numeric id of an account of ours: what it writes never triggers (E1).
    pub fn learn_own_account(&self, id: AccountId) {
        if let Ok(mut policy) = self.policy.write()
            && !policy.own_accounts.contains(&id)
        {
            policy.own_accounts.push(id);
        }
    }

    fn policy(&self) -> Policy {
        match self.policy.read() {
            Ok(policy) => policy.clone(),
            Err(poisoned) => poisoned.into_inner().clone(),
        }
    }
}

/// Why a delivery is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Belief {
    /// Its signature is checked.
    Signature,
    /// Nothing is checked: test mode, an operator's replay, or an event file in CI.
    Unchecked,
}

/// What a delivery is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Durable, as this job. A repeat gives the first answer again.
    Accepted {
        job: JobId,
        repeated: bool,
    },
    Ignored {
        reason: String,
    },
    /// The operator's lists forbid it.
    Refused {
        host: Host,
        reason: String,
    },
    /// It is JSON, and something in it or around it is missing or wrong.
    Malformed {
        host: Option<Host>,
        reason: String,
    },
    /// The body is not JSON.
    NotJson {
        reason: String,
    },
    /// No secret of any connection fits.
    Unauthentic,
    /// The headers name a forge that no connection is configured for.
    NoConnection {
        host: Host,
    },
}

/// Takes deliveries.
#[derive(Clone, Debug)]
pub struct Ingest {
    store: Store,
    doors: Arc<Vec<Door>>,
    discretion: Discretion,
    clock: Arc<dyn Clock>,
}

impl Ingest {
    pub fn new(
        store: Store,
        doors: Vec<Door>,
        redactor: Arc<Redactor>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self { store, doors: Arc::new(doors), discretion: Discretion(redactor), clock }
    }

    pub fn doors(&self) -> &[Door] {
        &self.doors
    }

    /// Returns what stands in front of everything that is told about deliveries (T6).
    pub fn redactor(&self) -> &Arc<Redactor> {
        &self.discretion.0
    }

    /// Takes one delivery. `expected` is the forge that the address says, if it says one.
    pub async fn take(
        &self,
        headers: HeaderMap,
        body: Bytes,
        expected: Option<Host>,
        belief: Belief,
    ) -> Result<Answer, Error> {
        let decided = if body.len() > LARGE {
            let this = self.clone();
            let body = body.clone();
            tokio::task::spawn_blocking(move || this.decide(&headers, &body, expected, belief))
                .await
                .map_err(|_| Error::Stopped)?
        } else {
            self.decide(&headers, &body, expected, belief)
        };
        match decided {
            Decided::Answer(answer) => Ok(answer),
            Decided::Intake(intake, host) => {
                let name = intake.task.subject.repo.full_name.clone();
                Ok(match self.store.accept(*intake).await? {
                    Accepted::New(job) => Answer::Accepted { job, repeated: false },
                    Accepted::Repeated(job) => Answer::Accepted { job, repeated: true },
                    Accepted::Impostor { pinned } => Answer::Refused {
                        host,
                        reason: format!(
                            "`{name}` was allowed when it was repository {pinned}; this is another one of that name"
                        ),
                    },
                })
            }
        }
    }

    /// Takes a task that was not delivered: the command line, the demo.
    pub async fn take_task(
        &self,
        task: Task,
        meaning: Option<String>,
        event_type: &str,
    ) -> Result<JobId, Error> {
        let intake = Intake {
            id: new_job_id(),
            task: self.discretion.task(task),
            meaning,
            delivery: None,
            event_type: event_type.to_owned(),
            stage: workflow::FIRST_STAGE.to_owned(),
            pin: Pin::Nothing,
        };
        match self.store.accept(intake).await? {
            Accepted::New(job) | Accepted::Repeated(job) => Ok(job),
            Accepted::Impostor { .. } => {
                Err(Error::Refused("the repository's name is pinned to another".to_owned()))
            }
        }
    }

    /// Takes something that happened and was not delivered (J9), as if it had been. Whether a new
    /// job came of it.
    pub async fn take_event(&self, event: Event) -> Result<bool, Error> {
        let Some(door) = self.doors.iter().find(|door| door.origin == event.repo.origin) else {
            return Ok(false);
        };
        let Decision::Do(task) = route(&event, &door.policy()) else { return Ok(false) };
        let intake = Intake {
            id: new_job_id(),
            meaning: event.meaning(),
            task: self.discretion.task(*task),
            delivery: None,
            event_type: event.happening.name().to_owned(),
            stage: workflow::FIRST_STAGE.to_owned(),
            pin: Pin::Nothing,
        };
        Ok(matches!(self.store.accept(intake).await?, Accepted::New(_)))
    }

    /// Everything but the transaction: pure but for the clock.
    fn decide(
        &self,
        headers: &HeaderMap,
        body: &Bytes,
        expected: Option<Host>,
        belief: Belief,
    ) -> Decided {
        let Some(host) = webhook::detect(headers) else {
            return self.headless(headers, body, expected, belief);
        };
        let mut doors = self.doors.iter().filter(|door| door.host == host).peekable();
        if doors.peek().is_none() {
            return Decided::Answer(Answer::NoConnection { host });
        }
        let door = match belief {
            Belief::Unchecked => doors.next(),
            Belief::Signature => doors.find(|door| self.fits(door, headers, body)),
        };
        let Some(door) = door else { return Decided::Answer(Answer::Unauthentic) };
        if expected.is_some_and(|expected| expected != host) {
            let reason = format!(
                "this address is for {}, the headers are {host}'s",
                expected.map_or("", Host::as_str)
            );
            return Decided::Answer(Answer::Malformed { host: Some(host), reason });
        }
        let delivery = match webhook::decode(host, headers, body, &door.origin) {
            Ok(delivery) => delivery,
            Err(malformed) => {
                let reason = self.discretion.text(malformed.to_string());
                return Decided::Answer(match malformed {
                    Malformed::NotJson(_) => Answer::NotJson { reason },
                    _ => Answer::Malformed { host: Some(host), reason },
                });
            }
        };
        let event = match delivery.content {
            Content::Ignored(reason) => {
                return Decided::Answer(Answer::Ignored { reason: self.discretion.text(reason) });
            }
            Content::Event(event) => event,
        };
        let policy = door.policy();
        match route(&event, &policy) {
            Decision::Ignored(ignored) => {
                Decided::Answer(Answer::Ignored { reason: self.discretion.text(ignored.reason) })
            }
            Decision::Refused(refused) => {
                let reason = self.discretion.text(refused.reason);
                Decided::Answer(Answer::Refused { host, reason })
            }
            Decision::Do(task) => {
                let pin = if policy.allowed_repos.is_empty() { Pin::Nothing } else { Pin::Name };
                let intake = Intake {
                    id: new_job_id(),
                    meaning: event.meaning(),
                    task: self.discretion.task(*task),
                    delivery: Some(Delivery {
                        connection: door.origin.clone(),
                        host: host.as_str().to_owned(),
                        id: delivery.id.map(|id| self.discretion.text(id)),
                        body: match self.redactor().clean_bytes(body) {
                            Cow::Borrowed(_) => body.clone(),
                            Cow::Owned(cleaned) => cleaned.into(),
                        },
                    }),
                    event_type: delivery.event_type,
                    stage: workflow::FIRST_STAGE.to_owned(),
                    pin,
                };
                Decided::Intake(Box::new(intake), host)
            }
        }
    }

    /// A request without any forge's event header: it must still show a right signature before it is
    /// told what is wrong with it.
    fn headless(
        &self,
        headers: &HeaderMap,
        body: &Bytes,
        expected: Option<Host>,
        belief: Belief,
    ) -> Decided {
        let authentic = belief == Belief::Unchecked
            || self
                .doors
                .iter()
                .filter(|door| expected.is_none_or(|expected| expected == door.host))
                .any(|door| self.fits(door, headers, body));
        Decided::Answer(if authentic {
            Answer::Malformed { host: expected, reason: Malformed::NoEvent.to_string() }
        } else {
            Answer::Unauthentic
        })
    }

    fn fits(&self, door: &Door, headers: &HeaderMap, body: &Bytes) -> bool {
        let now = self.clock.now();
        // Every secret is tried, so that time does not tell which one was close.
        let mut right = false;
        for secret in &door.secrets {
            right |= webhook::verify(door.host, headers, body, secret, now).is_authentic();
        }
        right
    }
}

enum Decided {
    Answer(Answer),
    Intake(Box<Intake>, Host),
}

fn new_job_id() -> JobId {
    JobId(uuid::Uuid::now_v7().to_string())
}
