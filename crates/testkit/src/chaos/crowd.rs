//! The people of a trial: they comment, the forge delivers, and whatever was answered is remembered.
//!
//! Deliveries are sent by several senders at once and in no order, some twice, some again under
//! another id. A sender repeats a delivery until the gateway has answered it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use forge::Permission;
use http::StatusCode;
use tokio::sync::Notify;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::dice::Dice;
use crate::forge::{FakeForge, Happened};
use crate::github::{Answered, SignedDelivery};

/// The account that the program acts as.
pub(super) const BOT: &str = "patchwright";

const REPOS: [&str; 4] = ["acme/anvil", "acme/rocket", "acme/skates", "roadrunner/desert"];
const ISSUES: u64 = 12;
const PEOPLE: [&str; 5] = ["alice", "bob", "carol", "dave", "erin"];
const STRANGER: &str = "mallory";
const QUESTIONS: [&str; 4] = [
    "@patchwright help",
    "@patchwright status",
    "I am lost here.\n\n@patchwright help",
    "@Patchwright status\n\n> thanks",
];

/// How many deliveries are on their way at a time.
const SENDERS: usize = 6;

/// How long the gateway may take: a stopped one answers nothing.
const ANSWER: Duration = Duration::from_secs(8);

/// An issue of the fake forge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Issue {
    pub(super) repo: &'static str,
    pub(super) repo_id: u64,
    pub(super) number: u64,
}

/// One question and what became of its deliveries.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) comment: u64,
    /// The ids of all its deliveries.
    pub(super) deliveries: Vec<String>,
    /// The jobs that answers of 202 named.
    pub(super) jobs: BTreeSet<String>,
}

/// A delivery that waits to be sent.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    comment: u64,
    pub(super) delivery: SignedDelivery,
}

#[derive(Debug)]
pub(super) struct Crowd {
    forge: Arc<FakeForge>,
    gateway: SocketAddr,
    issues: Vec<Issue>,
    state: Mutex<State>,
    news: Notify,
    _senders: DropGuard,
}

#[derive(Debug)]
struct State {
    dice: Dice,
    requests: BTreeMap<u64, Request>,
    /// Everything that people ever wrote, by issue and comment.
    words: BTreeMap<Issue, BTreeMap<u64, String>>,
    queue: Vec<Parcel>,
    on_the_way: usize,
    sent: usize,
    accepted: usize,
    refusals: Vec<String>,
}

impl Crowd {
    /// Fills the forge with repositories, people and issues beside the bot, and starts the senders.
    pub(super) fn gather(
        forge: Arc<FakeForge>,
        gateway: SocketAddr,
        dice: Dice,
        runtime: &tokio::runtime::Handle,
    ) -> Arc<Self> {
        for login in PEOPLE.into_iter().chain([STRANGER]) {
            forge.person(login);
        }
        let (mut issues, mut words) = (Vec::new(), BTreeMap::new());
        for repo in REPOS {
            let repo_id = forge.repo(repo).id;
            forge.grants(repo, BOT, Permission::Write);
            for number in 1..=ISSUES {
                forge.opens_issue("alice", repo, &format!("Issue {number}"), "It does not work.");
                // What a stranger says is nobody's answer, whatever it looks like.
                let forged =
                    "<!-- patchwright:1 kind=help slot=reply:c1700001 rev=1 mac=00 -->\nMe too.";
                let comment = forge.comments(STRANGER, repo, number, forged).comment_id();
                let issue = Issue { repo, repo_id, number };
                words.insert(issue.clone(), BTreeMap::from([(comment, forged.to_owned())]));
                issues.push(issue);
            }
        }
        let stop = CancellationToken::new();
        let crowd = Arc::new(Self {
            forge,
            gateway,
            issues,
            state: Mutex::new(State {
                dice,
                requests: BTreeMap::new(),
                words,
                queue: Vec::new(),
                on_the_way: 0,
                sent: 0,
                accepted: 0,
                refusals: Vec::new(),
            }),
            news: Notify::new(),
            _senders: stop.clone().drop_guard(),
        });
        for _ in 0..SENDERS {
            let (crowd, stop) = (Arc::downgrade(&crowd), stop.clone());
            runtime.spawn(async move {
                while let Some(crowd) = crowd.upgrade() {
                    tokio::select! {
                        () = stop.cancelled() => return,
                        () = crowd.send_next() => {}
                    }
                }
            });
        }
        crowd
    }

    /// Somebody asks something somewhere; its deliveries are sent.
    pub(super) fn ask(&self) {
        let issue = {
            let dice = &mut self.lock().dice;
            dice.pick(&self.issues).clone()
        };
        self.ask_on(&issue);
    }

    /// Somebody asks something on an issue; its deliveries are sent, sometimes twice.
    pub(super) fn ask_on(&self, issue: &Issue) {
        let (happened, first) = self.comment_on(issue);
        let (again, twin) = {
            let dice = &mut self.lock().dice;
            (dice.percent(20), dice.percent(15))
        };
        let mut parcels = vec![first.clone()];
        if again {
            parcels.push(first.clone());
        }
        if twin {
            // The same happening under another id: a second webhook that is set up for it.
            let delivery = self.forge.delivery(&happened);
            if let Some(request) = self.lock().requests.get_mut(&first.comment) {
                request.deliveries.push(delivery.id().to_owned());
            }
            parcels.push(Parcel { comment: first.comment, delivery });
        }
        self.lock().queue.extend(parcels);
        self.news.notify_waiters();
    }

    /// Somebody asks something, and the caller sends the delivery.
    pub(super) fn prepare(&self, issue: &Issue) -> Parcel {
        self.comment_on(issue).1
    }

    /// Hands a delivery to the senders.
    pub(super) fn post(&self, parcel: Parcel) {
        self.lock().queue.push(parcel);
        self.news.notify_waiters();
    }

    /// Takes down what the gateway answered to a delivery.
    pub(super) fn note(&self, parcel: Parcel, status: StatusCode, body: &[u8]) {
        let mut state = self.lock();
        let job = serde_json::from_slice::<serde_json::Value>(body).ok();
        let job = job.as_ref().and_then(|body| body["job_id"].as_str());
        match (status, job) {
            (StatusCode::ACCEPTED, Some(job)) => {
                state.accepted += 1;
                if let Some(request) = state.requests.get_mut(&parcel.comment) {
                    request.jobs.insert(job.to_owned());
                }
            }
            // It was not taken: GitHub's operators press the button for a redelivery.
            _ if status.is_server_error() => state.queue.push(parcel),
            _ => state.refusals.push(format!(
                "delivery {} was answered {status}: {}",
                parcel.delivery.id(),
                String::from_utf8_lossy(body)
            )),
        }
    }

    pub(super) fn any_issue(&self) -> Issue {
        self.lock().dice.pick(&self.issues).clone()
    }

    /// Returns how many deliveries have no answer yet.
    pub(super) fn outstanding(&self) -> usize {
        let state = self.lock();
        state.queue.len() + state.on_the_way
    }

    /// Returns how many deliveries were answered 202.
    pub(super) fn accepted(&self) -> usize {
        self.lock().accepted
    }

    /// Returns how often a delivery was sent.
    pub(super) fn sent(&self) -> usize {
        self.lock().sent
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.lock().requests.values().cloned().collect()
    }

    pub(super) fn issues(&self) -> &[Issue] {
        &self.issues
    }

    /// Returns everything that people wrote on an issue.
    pub(super) fn words_on(&self, issue: &Issue) -> BTreeMap<u64, String> {
        self.lock().words.get(issue).cloned().unwrap_or_default()
    }

    /// Returns what the gateway answered and never should have.
    pub(super) fn refusals(&self) -> Vec<String> {
        self.lock().refusals.clone()
    }

    fn comment_on(&self, issue: &Issue) -> (Happened, Parcel) {
        let mut state = self.lock();
        let (person, question) = (*state.dice.pick(&PEOPLE), *state.dice.pick(&QUESTIONS));
        let happened = self.forge.comments(person, issue.repo, issue.number, question);
        let (comment, delivery) = (happened.comment_id(), self.forge.delivery(&happened));
        let request =
            Request { comment, deliveries: vec![delivery.id().to_owned()], jobs: BTreeSet::new() };
        state.requests.insert(comment, request);
        state.words.entry(issue.clone()).or_default().insert(comment, question.to_owned());
        (happened, Parcel { comment, delivery })
    }

    async fn send_next(&self) {
        let news = self.news.notified();
        let Some(parcel) = self.take() else { return news.await };
        let url = format!("http://{}/api/webhook", self.gateway);
        let answered = tokio::time::timeout(ANSWER, parcel.delivery.send_to(&url)).await;
        match answered {
            Ok(Ok(Answered { status, body, .. })) => self.note(parcel, status, &body),
            Ok(Err(_)) | Err(_) => {
                // Nobody is there, or nobody answers.
                tokio::time::sleep(Duration::from_millis(40)).await;
                self.lock().queue.push(parcel);
            }
        }
        self.lock().on_the_way -= 1;
        self.news.notify_one();
    }

    /// Takes any of the waiting deliveries: they arrive in no order.
    fn take(&self) -> Option<Parcel> {
        let state = &mut *self.lock();
        if state.queue.is_empty() {
            return None;
        }
        let at = state.dice.below(state.queue.len());
        state.on_the_way += 1;
        state.sent += 1;
        Some(state.queue.swap_remove(at))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Issue {
    /// Whether a request path or the store's name of a subject is about this issue.
    pub(super) fn is_named_by(&self, text: &str) -> bool {
        let by_name = format!("/repos/{}/issues/{}/comments", self.repo, self.number);
        let by_id = format!("/{}/issue/{}", self.repo_id, self.number);
        text.ends_with(&by_name) || text.ends_with(&by_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_issue_is_known_by_the_forges_path_and_by_the_stores_name() {
        let issue = Issue { repo: "acme/anvil", repo_id: 70_001, number: 1 };
        assert!(issue.is_named_by("POST /repos/acme/anvil/issues/1/comments"));
        assert!(issue.is_named_by("http://127.0.0.1:1/70001/issue/1"));
        assert!(!issue.is_named_by("POST /repos/acme/anvil/issues/11/comments"));
        assert!(!issue.is_named_by("http://127.0.0.1:1/70001/issue/11"));
    }
}
