//! What the stories stand on: a store in a place of its own, a clock moved by hand, and short words
//! for deliveries and claims.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use domain::command::ReviewScope;
use domain::event::Place as CommentPlace;
use domain::job::{Checkpoint, State};
use domain::publication::{CommentBody, Effect, ReactionTarget, Sign};
use domain::record::StageResult;
use domain::task::{Priority, Trigger, Work};
use domain::{
    Actor, Clock, Job, JobId, Origin, Publication, Receipt, Repo, RepoKey, Slot, Subject, Task,
    Time,
};
use store::claim::{Claim, Claimed, Hands};
use store::intake::{Accepted, Delivery, Intake, Pin};
use store::outbox::{Due, LaneClaim, Queue, Sending, Try};
use store::settle::{Cancels, Patience};
use store::{Owner, Place, Settlement, Store, TimeSource};

/// Runs each story over both databases, as `NAME::sqlite` and `NAME::postgres`.
macro_rules! over_both {
    ($($story:ident),* $(,)?) => {
        $(mod $story {
            #[tokio::test]
            async fn sqlite() {
                super::$story(super::super::bench::Bench::sqlite().await).await;
            }
            #[tokio::test]
            async fn postgres() {
                if let Some(bench) = super::super::bench::Bench::postgres().await {
                    super::$story(bench).await;
                }
            }
        })*
    };
}
pub(crate) use over_both;

/// A clock that stands still until it is moved.
#[derive(Debug, Default)]
pub(crate) struct StandingClock(AtomicI64);

impl StandingClock {
    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

#[async_trait]
impl Clock for StandingClock {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::SeqCst))
    }
    fn monotonic(&self) -> Duration {
        self.now().since(Time(0))
    }
    async fn sleep_until(&self, _: Time) {
        std::future::pending::<()>().await;
    }
}

pub(crate) struct Bench {
    pub(crate) store: Store,
    pub(crate) clock: Arc<StandingClock>,
    pub(crate) place: Place,
    pub(crate) owner: Owner,
    /// Keeps the folder of the file alive.
    _folder: Option<tempfile::TempDir>,
    pub(crate) apologies: Arc<Mutex<Vec<JobId>>>,
}

impl Bench {
    pub(crate) async fn sqlite() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::Sqlite(folder.path().join("store.db"));
        Self::at(place, Some(folder)).await
    }

    /// Returns `None` where no PostgreSQL is at hand; in CI that is a failure.
    #[expect(
        clippy::disallowed_methods,
        reason = "the address of the test database comes from outside"
    )]
    pub(crate) async fn postgres() -> Option<Self> {
        let Ok(url) = std::env::var("PATCHWRIGHT_TEST_DATABASE_URL") else {
            assert!(
                std::env::var("CI").is_err(),
                "PATCHWRIGHT_TEST_DATABASE_URL is not set: run `cargo xtask test`"
            );
            println!("skipped: no PostgreSQL (`cargo xtask test` starts one)");
            return None;
        };
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let n = COUNT.fetch_add(1, Ordering::SeqCst);
        let schema = format!("suite_{}_{n}", std::process::id());
        Some(Self::at(Place::Postgres { url: url.into(), schema: Some(schema) }, None).await)
    }

    async fn at(place: Place, folder: Option<tempfile::TempDir>) -> Self {
        let clock = Arc::new(StandingClock(AtomicI64::new(1_700_000_000_000)));
        let apologies = Arc::new(Mutex::new(Vec::new()));
        let store = Self::open(&place, &clock, &apologies).await.unwrap();
        let owner = Owner::this_process().unwrap();
        Self { store, clock, place, owner, _folder: folder, apologies }
    }

    async fn open(
        place: &Place,
        clock: &Arc<StandingClock>,
        apologies: &Arc<Mutex<Vec<JobId>>>,
    ) -> Result<Store, store::Error> {
        let apologies = Arc::clone(apologies);
        let apologise = move |job: &Job| {
            apologies.lock().unwrap().push(job.id.clone());
            vec![comment(&job.task.subject, &Slot::apology(&job.id.0), "sorry")]
        };
        let clock: Arc<dyn Clock> = Arc::clone(clock) as Arc<dyn Clock>;
        Store::open(place, TimeSource::Given(clock), Patience::default(), Arc::new(apologise)).await
    }

    /// Opens the same place once more, as another process would.
    pub(crate) async fn reopen(&self) -> Result<Store, store::Error> {
        Self::open(&self.place, &self.clock, &self.apologies).await
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    pub(crate) async fn accept(&self, intake: Intake) -> JobId {
        match self.store.accept(intake).await.unwrap() {
            Accepted::New(job) => job,
            other => panic!("not new: {other:?}"),
        }
    }

    pub(crate) fn hands(&self) -> Hands {
        Hands {
            owner: self.owner.clone(),
            classes: Priority::ALL.to_vec(),
            per_repository: 100,
            busy: 0,
        }
    }

    pub(crate) async fn claim(&self) -> Option<Claimed> {
        match self.store.claim(self.hands()).await.unwrap() {
            Claim::Job(claimed) => Some(*claimed),
            Claim::Nothing { .. } | Claim::WaitToBeAlone | Claim::Unreadable { .. } => None,
        }
    }

    pub(crate) async fn end(&self, claimed: &Claimed, publications: Vec<Publication>) {
        self.store.settle(&claimed.job.id, claimed.token, done(publications)).await.unwrap();
    }

    pub(crate) async fn state(&self, id: &JobId) -> State {
        self.store.job(id).await.unwrap().unwrap().state
    }

    pub(crate) async fn lane(&self) -> Option<Sending> {
        match self.store.claim_lane(&self.owner).await.unwrap() {
            LaneClaim::Send(sending) => Some(sending),
            LaneClaim::Nothing { .. } => None,
        }
    }

    pub(crate) async fn due(&self, sending: &Sending) -> Option<Due> {
        self.store.next_row(sending, Queue::Main).await.unwrap()
    }

    /// Sends everything that is due, as a sender that never fails would; returns the texts.
    pub(crate) async fn send_all(&self) -> Vec<String> {
        let mut sent = Vec::new();
        while let Some(sending) = self.lane().await {
            for queue in [Queue::Main, Queue::Aside] {
                while let Some(due) = self.store.next_row(&sending, queue).await.unwrap() {
                    self.store.begin_row(&sending, due.seq).await.unwrap();
                    sent.push(text_of(&due.publication));
                    let receipt = Receipt::comment(7, 1);
                    self.store.settle_row(&sending, &due, Try::Sent(receipt)).await.unwrap();
                }
            }
            self.store.release_lane(&sending).await.unwrap();
        }
        sent
    }
}

pub(crate) fn done(publications: Vec<Publication>) -> Settlement {
    Settlement::End {
        state: State::Done,
        why: None,
        result: Some(StageResult::success()),
        publications,
        cancels: Cancels::Nobody,
    }
}

pub(crate) fn next_stage(stage: &str, publications: Vec<Publication>) -> Settlement {
    Settlement::Next {
        stage: stage.to_owned(),
        checkpoint: checkpoint(stage),
        result: StageResult::success(),
        publications,
    }
}

pub(crate) fn checkpoint(stage: &str) -> Checkpoint {
    Checkpoint { stage: stage.to_owned(), version: 1, value: serde_json::json!({ "at": stage }) }
}

pub(crate) fn repo(id: u64) -> Repo {
    Repo {
        origin: Origin::new("https://forge.example"),
        key: RepoKey::Id(id),
        full_name: format!("acme/repo-{id}"),
        default_branch: Some("main".to_owned()),
    }
}

/// `@bot help` in comment `comment` on issue `number`.
pub(crate) fn help(repo_id: u64, number: u64, comment: u64) -> Intake {
    asked(Work::Help, Subject::issue(repo(repo_id), number), comment)
}

/// `@bot fix` in comment `comment` on issue `number`.
pub(crate) fn fix(repo_id: u64, number: u64, comment: u64) -> Intake {
    asked(Work::Fix { text: "it".to_owned() }, Subject::issue(repo(repo_id), number), comment)
}

pub(crate) fn asked(work: Work, subject: Subject, comment: u64) -> Intake {
    let repo = subject.repo.id();
    intake(
        Task {
            subject,
            work,
            actor: Actor::named("alice"),
            trigger: Trigger::Comment {
                id: Some(comment),
                place: CommentPlace::Conversation,
                body: "@bot please".to_owned(),
                updated_at: None,
            },
            head: None,
            title: "A title".to_owned(),
        },
        &format!("{repo}/commented/comment/c{comment}"),
        &format!("delivery-{comment}"),
    )
}

/// A push to change `number` that moved its head to `head`.
pub(crate) fn pushed(repo_id: u64, number: u64, head: &str) -> Intake {
    let subject = Subject::change(repo(repo_id), number);
    let meaning = format!("{}/change-pushed/{number}/{head}", subject.repo.id());
    intake(
        Task {
            subject,
            work: Work::Review { scope: ReviewScope::New },
            actor: Actor::named("alice"),
            trigger: Trigger::Subject,
            head: Some(head.to_owned()),
            title: "A change".to_owned(),
        },
        &meaning,
        &format!("delivery-{head}"),
    )
}

fn intake(task: Task, meaning: &str, delivery: &str) -> Intake {
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let n = COUNT.fetch_add(1, Ordering::SeqCst);
    Intake {
        id: JobId(format!("00000000-0000-7000-8000-{n:012}")),
        delivery: Some(Delivery {
            connection: task.subject.repo.origin.clone(),
            host: "github".to_owned(),
            id: Some(delivery.to_owned()),
            body: b"{}".to_vec().into(),
        }),
        task,
        meaning: Some(meaning.to_owned()),
        event_type: "issue_comment".to_owned(),
        stage: "acknowledge".to_owned(),
        pin: Pin::Nothing,
    }
}

pub(crate) fn comment(subject: &Subject, slot: &Slot, markdown: &str) -> Publication {
    Publication {
        subject: subject.clone(),
        slot: slot.clone(),
        effect: Effect::Comment(CommentBody {
            kind: "answer".to_owned(),
            markdown: markdown.to_owned(),
            claim: None,
            closing: None,
        }),
    }
}

pub(crate) fn unfinished(
    subject: &Subject,
    slot: &Slot,
    markdown: &str,
    closing: &str,
) -> Publication {
    let mut publication = comment(subject, slot, markdown);
    if let Effect::Comment(body) = &mut publication.effect {
        body.closing = Some(closing.to_owned());
    }
    publication
}

pub(crate) fn reaction(subject: &Subject) -> Publication {
    Publication {
        subject: subject.clone(),
        slot: Slot::ack("c1"),
        effect: Effect::Reaction { on: ReactionTarget::Subject, sign: Sign::Eyes },
    }
}

pub(crate) fn text_of(publication: &Publication) -> String {
    match &publication.effect {
        Effect::Comment(body) => body.markdown.clone(),
        other => other.name().to_owned(),
    }
}
