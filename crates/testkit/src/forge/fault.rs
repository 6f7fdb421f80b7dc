//! What can go wrong with the fake forge, switchable while it runs, counted, and the same in every
//! run: what is random comes from a seed.
//!
//! A [`Fault`] strikes single requests by a rule ([`On`] and [`Often`]); an [`Outage`], a [`Limit`],
//! slowness and lag last until they are lifted. Tests and drivers call [`Faults`]; the serving loop
//! asks it what is due.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use domain::Time;
use serde::{Deserialize, Serialize};
use tokio::sync::{oneshot, watch};

/// A mishap of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// Somebody else edits the newest comment of the asking account just before.
    OthersEdit,
    /// Somebody else deletes the newest comment of the asking account just before.
    OthersDelete,
    /// The request waits, not yet done, until [`Faults::release`].
    HoldBefore,
    /// The connection is cut and nothing was done.
    CutBefore,
    /// A 503, and nothing was done.
    FailBefore,
    /// The request was done and its answer waits until [`Faults::release`].
    HoldAfter,
    /// The request was done, and the connection is cut without an answer.
    LoseAnswer,
    /// The request was done, and a 502 is answered.
    BreakAnswer,
    /// So many entries of a batch that is not atomic are done, and a 500 is answered.
    BreakAfter(u32),
}

/// Which requests a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum On {
    All,
    Reads,
    Writes,
    /// Only those that create a comment.
    NewComments,
}

/// How often a rule strikes among the requests that it looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Often {
    Always,
    /// The next so many, then never again.
    Next(u32),
    /// Every n-th.
    Every(u32),
    /// So many of a thousand, drawn from the seed.
    InThousand(u32),
}

/// The kinds of requests that rules tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    NewComment,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outage {
    #[default]
    None,
    /// Connections are refused, and those that were open are cut.
    Refusing,
    /// Every request is answered 503.
    Unavailable,
}

/// The ways in which a forge says that it has had enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// 403, nothing remaining, with the time of the reset.
    Primary,
    /// 429 with `retry-after`.
    TooMany,
    /// 403 with `retry-after` and the text of the secondary limit.
    Secondary,
    /// 403 with only the text of the secondary limit.
    SecondaryWithoutHint,
}

/// Whether every answer tells how much of the limit is left. A host that tells is paced by us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitHeaders {
    #[default]
    Absent,
    Sent,
}

/// The switchboard of all faults of one forge.
#[derive(Debug)]
pub struct Faults {
    state: Mutex<State>,
    outage: watch::Sender<Outage>,
    /// Whether the forge takes connections, as its listener says.
    listening: watch::Sender<bool>,
    held: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    rules: Vec<Rule>,
    counts: BTreeMap<Fault, u64>,
    limited: u64,
    limit: Option<(Limit, Time)>,
    slow: Duration,
    limit_headers: LimitHeaders,
    held: Vec<Held>,
    random: SplitMix,
}

/// A request that waits, with its method and path.
#[derive(Debug)]
struct Held {
    request: String,
    release: oneshot::Sender<()>,
}

#[derive(Debug)]
struct Rule {
    fault: Fault,
    on: On,
    often: Often,
    seen: u32,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            outage: watch::Sender::default(),
            listening: watch::Sender::new(true),
            held: watch::Sender::new(0),
        }
    }
}

impl Faults {
    /// Starts the row of random numbers anew.
    pub fn seed(&self, seed: u64) {
        self.lock().random = SplitMix(seed);
    }

    /// Adds a rule. A second rule for the same fault replaces the first.
    pub fn add(&self, fault: Fault, on: On, often: Often) {
        let mut state = self.lock();
        state.rules.retain(|rule| rule.fault != fault);
        state.rules.push(Rule { fault, on, often, seen: 0 });
    }

    /// Loses answers of writes that were done.
    pub fn lose_answers(&self, often: Often) {
        self.add(Fault::LoseAnswer, On::Writes, often);
    }

    /// Answers 502 to writes that were done.
    pub fn break_answers(&self, often: Often) {
        self.add(Fault::BreakAnswer, On::Writes, often);
    }

    /// Cuts the connection before a write is done.
    pub fn cut_writes(&self, often: Often) {
        self.add(Fault::CutBefore, On::Writes, often);
    }

    /// Answers 503 to requests that are not done.
    pub fn fail_requests(&self, often: Often) {
        self.add(Fault::FailBefore, On::All, often);
    }

    /// Lets batches that are not atomic break down after so many entries.
    pub fn break_batches(&self, after: u32, often: Often) {
        self.add(Fault::BreakAfter(after), On::Writes, often);
    }

    /// Holds writes that have arrived and are not done yet.
    pub fn hold_writes(&self, often: Often) {
        self.add(Fault::HoldBefore, On::Writes, often);
    }

    /// Holds the answers of writes that are done.
    pub fn hold_answers(&self, often: Often) {
        self.add(Fault::HoldAfter, On::Writes, often);
    }

    /// Drops all rules and lets everything that is held go on. Lasting faults stay.
    pub fn clear_rules(&self) {
        self.lock().rules.clear();
        self.release();
    }

    /// Lets everything that is held go on. Rules that hold stay as they are.
    pub fn release(&self) {
        let held = std::mem::take(&mut self.lock().held);
        self.held.send_replace(0);
        for Held { release, .. } in held {
            release.send(()).unwrap_or(());
        }
    }

    /// Returns how many requests are held now.
    pub fn held(&self) -> usize {
        *self.held.borrow()
    }

    /// Returns method and path of each request that is held now, the longest held first.
    pub fn held_requests(&self) -> Vec<String> {
        self.lock().held.iter().map(|held| held.request.clone()).collect()
    }

    /// Waits until at least `count` requests are held.
    pub async fn until_held(&self, count: usize) {
        self.held.subscribe().wait_for(|held| *held >= count).await.map(drop).unwrap_or(());
    }

    /// Begins or ends an outage; returns when the forge really takes, or refuses, connections.
    pub async fn outage(&self, outage: Outage) {
        self.outage.send_replace(outage);
        let listening = outage != Outage::Refusing;
        self.listening.subscribe().wait_for(|now| *now == listening).await.map(drop).unwrap_or(());
    }

    /// Limits every request until that moment.
    pub fn limit(&self, limit: Limit, until: Time) {
        self.lock().limit = Some((limit, until));
    }

    pub fn lift_limit(&self) {
        self.lock().limit = None;
    }

    /// Lets every answer take so long by the forge's clock.
    pub fn slow(&self, by: Duration) {
        self.lock().slow = by;
    }

    pub fn limit_headers(&self, headers: LimitHeaders) {
        self.lock().limit_headers = headers;
    }

    /// Returns how often each fault struck, by its name; limits as `limited`.
    pub fn counts(&self) -> BTreeMap<String, u64> {
        let state = self.lock();
        let named = state.counts.iter().map(|(fault, count)| (fault.name().to_owned(), *count));
        named.chain((state.limited > 0).then(|| ("limited".to_owned(), state.limited))).collect()
    }

    /// Returns the faults that strike this request, in the order in which they strike.
    pub(super) fn due(&self, kind: Kind) -> Vec<Fault> {
        let state = &mut *self.lock();
        let mut due = Vec::new();
        for rule in state.rules.iter_mut().filter(|rule| rule.on.includes(kind)) {
            rule.seen = rule.seen.saturating_add(1);
            let strikes = match rule.often {
                Often::Always => true,
                Often::Next(count) => rule.seen <= count,
                Often::Every(nth) => nth > 0 && rule.seen.is_multiple_of(nth),
                Often::InThousand(share) => state.random.next() % 1000 < u64::from(share),
            };
            if strikes {
                due.push(rule.fault);
                *state.counts.entry(rule.fault).or_default() += 1;
            }
        }
        due.sort_unstable();
        due
    }

    /// Returns the limit that this request meets.
    pub(super) fn limit_at(&self, now: Time) -> Option<(Limit, Time)> {
        let mut state = self.lock();
        let (limit, until) = state.limit.filter(|(_, until)| now < *until)?;
        state.limited += 1;
        Some((limit, until))
    }

    pub(super) fn delay(&self) -> Duration {
        self.lock().slow
    }

    pub(super) fn current_limit_headers(&self) -> LimitHeaders {
        self.lock().limit_headers
    }

    pub(super) fn watch_outage(&self) -> watch::Receiver<Outage> {
        self.outage.subscribe()
    }

    /// The listener tells that it took up, or gave up, taking connections.
    pub(super) fn report_listening(&self, state: Listening) {
        self.listening.send_replace(state == Listening::Yes);
    }

    /// Holds the calling request until it is released.
    pub(super) async fn hold(&self, request: &str) {
        let released = {
            let mut state = self.lock();
            let (release, released) = oneshot::channel();
            state.held.push(Held { request: request.to_owned(), release });
            self.held.send_replace(state.held.len());
            released
        };
        released.await.unwrap_or(());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listening {
    Yes,
    No,
}

impl Fault {
    pub fn name(self) -> &'static str {
        match self {
            Self::OthersEdit => "others-edit",
            Self::OthersDelete => "others-delete",
            Self::HoldBefore => "hold-before",
            Self::CutBefore => "cut-before",
            Self::FailBefore => "fail-before",
            Self::HoldAfter => "hold-after",
            Self::LoseAnswer => "lose-answer",
            Self::BreakAnswer => "break-answer",
            Self::BreakAfter(_) => "break-after",
        }
    }
}

impl On {
    fn includes(self, kind: Kind) -> bool {
        match self {
            Self::All => true,
            Self::Reads => kind == Kind::Read,
            Self::Writes => kind != Kind::Read,
            Self::NewComments => kind == Kind::NewComment,
        }
    }
}

/// A row of numbers that look random and follow from its seed (Steele, Lea and Flood's `SplitMix64`).
#[derive(Debug, Default)]
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strikes(faults: &Faults, kind: Kind, requests: usize) -> Vec<bool> {
        (0..requests).map(|_| !faults.due(kind).is_empty()).collect()
    }

    #[test]
    fn a_rule_strikes_as_often_as_it_says_and_is_counted() {
        let faults = Faults::default();
        faults.lose_answers(Often::Every(3));
        assert_eq!(strikes(&faults, Kind::Write, 6), [false, false, true, false, false, true]);
        assert_eq!(strikes(&faults, Kind::Read, 3), [false; 3]);
        faults.break_answers(Often::Next(1));
        faults.clear_rules();
        assert_eq!(strikes(&faults, Kind::Write, 3), [false; 3]);
        assert_eq!(faults.counts(), BTreeMap::from([("lose-answer".to_owned(), 2)]));
    }

    #[test]
    fn what_is_random_is_the_same_for_the_same_seed() {
        let draw = |seed| {
            let faults = Faults::default();
            faults.seed(seed);
            faults.lose_answers(Often::InThousand(500));
            strikes(&faults, Kind::NewComment, 64)
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn several_faults_strike_in_the_order_of_a_requests_life() {
        let faults = Faults::default();
        faults.lose_answers(Often::Always);
        faults.hold_writes(Often::Always);
        faults.add(Fault::OthersEdit, On::All, Often::Always);
        assert_eq!(
            faults.due(Kind::Write),
            [Fault::OthersEdit, Fault::HoldBefore, Fault::LoseAnswer]
        );
    }

    #[tokio::test]
    async fn a_held_request_is_known_by_its_method_and_path_until_it_goes_on() {
        let faults = Faults::default();
        let held = faults.hold("POST /somewhere");
        tokio::pin!(held);
        assert!(futures_util::poll!(&mut held).is_pending());
        assert_eq!(faults.held_requests(), ["POST /somewhere"]);
        faults.release();
        held.await;
        assert_eq!(faults.held_requests(), Vec::<String>::new());
    }

    #[test]
    fn a_limit_ends_at_its_time() {
        let faults = Faults::default();
        faults.limit(Limit::TooMany, Time(10));
        assert_eq!(faults.limit_at(Time(9)), Some((Limit::TooMany, Time(10))));
        assert_eq!(faults.limit_at(Time(10)), None);
        assert_eq!(faults.counts()["limited"], 1);
    }
}
