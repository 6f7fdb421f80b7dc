//! Claiming jobs and running their stages: claim, run a stage, settle, and again.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use domain::budget::{Spent, spend};
use domain::job::{Checkpoint, State};
use domain::record::StageResult;
use domain::subject::Pace;
use domain::task::Priority;
use domain::{Clock, Job, JobId, RepoKey, Time};
use futures_util::FutureExt;
use store::claim::{Claim, Claimed, Hands};
use store::settle::{Cancels, Settled};
use store::{Error, Owner, Settlement, Store};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument;
use workflow::{Again, Context, Failure, Outcome, Then};

use crate::connection::{Connection, Connections};
use crate::discretion::Discretion;
use crate::engine::Tempo;
use crate::heartbeat::{HeldJob, Running};
use crate::journal::Memory;
use crate::speaker::{Enough, Speaker};

/// How long a worker waits after the store has failed it.
const PAUSE: Duration = Duration::from_secs(1);

/// The longest wait without looking.
const LONGEST: Duration = Duration::from_mins(1);

/// The shortest wait when something is due but cannot be claimed yet.
const SHORTEST: Duration = Duration::from_millis(250);

/// Runs jobs until it is told to stop.
#[derive(Clone, Debug)]
pub struct Worker {
    pub(crate) store: Store,
    pub(crate) connections: Connections,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) owner: Owner,
    pub(crate) speaker: Arc<Speaker>,
    pub(crate) tempo: Tempo,
    pub(crate) running: Running,
    pub(crate) tasks: TaskTracker,
    pub(crate) freed: Arc<Notify>,
    pub(crate) places: Arc<Places>,
    /// Cancelled when this version has met something that a newer one wrote (J8).
    pub(crate) outdated: CancellationToken,
    pub(crate) discretion: Discretion,
}

/// How many jobs run now: answers have places of their own, so that they never wait behind work.
#[derive(Debug, Default)]
pub(crate) struct Places {
    talk: AtomicUsize,
    work: AtomicUsize,
}

impl Places {
    fn of(&self, priority: Priority) -> &AtomicUsize {
        match priority {
            Priority::Talk => &self.talk,
            Priority::Command | Priority::Automatic => &self.work,
        }
    }
}

/// A place that a job has taken, until this is dropped, however the job's task ends.
struct Taken {
    job: HeldJob,
    priority: Priority,
    places: Arc<Places>,
    freed: Arc<Notify>,
}

impl Taken {
    fn new(worker: &Worker, priority: Priority, job: HeldJob) -> Self {
        worker.places.of(priority).fetch_add(1, Ordering::Relaxed);
        Self { job, priority, places: Arc::clone(&worker.places), freed: Arc::clone(&worker.freed) }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.places.of(self.priority).fetch_sub(1, Ordering::Relaxed);
        self.job.let_go();
        self.freed.notify_waiters();
    }
}

impl Worker {
    /// Claims and runs jobs until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut changes = self.store.changes();
        while !stop.is_cancelled() && !self.outdated.is_cancelled() {
            // Seen before asking: whatever changes after this wakes the wait below.
            changes.borrow_and_update();
            let freed = self.freed.notified();
            match self.store.claim(self.hands()).await {
                Ok(Claim::Job(claimed)) => {
                    let alone = claimed.alone;
                    self.start(*claimed);
                    if alone {
                        self.wait_for_quiet(&stop).await;
                    }
                    continue;
                }
                Ok(Claim::WaitToBeAlone) => {
                    self.wait_for_quiet(&stop).await;
                    continue;
                }
                Ok(Claim::Unreadable { id, why }) => {
                    tracing::error!(job.id = %id, %why, "a job cannot be read by this version; it waits for another");
                    continue;
                }
                Ok(Claim::Nothing { next }) => {
                    let due = sleep_until(next, self.clock.now());
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = self.outdated.cancelled() => {}
                        () = freed => {}
                        changed = changes.changed() => if changed.is_err() { return },
                        () = self.clock.sleep_until(due) => {}
                    }
                }
                Err(error @ Error::Newer { .. }) => {
                    tracing::error!(%error, "no more jobs are claimed; those that run are finished");
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "no job could be claimed");
                    self.pause(&stop).await;
                }
            }
        }
    }

    fn hands(&self) -> Hands {
        let mut classes = Vec::with_capacity(3);
        if self.places.talk.load(Ordering::Relaxed) < self.tempo.talk {
            classes.push(Priority::Talk);
        }
        if self.places.work.load(Ordering::Relaxed) < self.tempo.work {
            classes.extend([Priority::Command, Priority::Automatic]);
        }
        Hands {
            owner: self.owner.clone(),
            classes,
            per_repository: self.tempo.per_repository,
            busy: self.running.count(),
        }
    }

    /// Lets a store that has failed come back.
    async fn pause(&self, stop: &CancellationToken) {
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.clock.sleep_until(self.clock.now() + PAUSE) => {}
        }
    }

    /// Waits until this process runs nothing (J7).
    async fn wait_for_quiet(&self, stop: &CancellationToken) {
        loop {
            let freed = self.freed.notified();
            if self.running.count() == 0 {
                return;
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = freed => {}
            }
        }
    }

    fn start(&self, claimed: Claimed) {
        let this = self.clone();
        let id = claimed.job.id.clone();
        let place = Taken::new(self, claimed.job.priority, self.running.hold_job(&id));
        let span = tracing::info_span!(
            "job",
            job.id = %id,
            task = claimed.job.task.work.name(),
            subject = %claimed.job.task.subject,
            attempt = claimed.job.attempt
        );
        self.tasks.spawn(
            async move {
                this.attempt(claimed, place.job.stop.clone()).await;
                drop(place);
            }
            .instrument(span),
        );
    }

    /// Runs the stages of a claimed job until it is out of our hands.
    async fn attempt(&self, claimed: Claimed, stop: CancellationToken) {
        let Claimed { mut job, token, mut checkpoint, stop: wanted, .. } = claimed;
        if wanted {
            stop.cancel();
        }
        loop {
            let settlement = self.stage(&job, token, checkpoint.as_ref(), &stop).await;
            let Some(settlement) = settlement else { return };
            let settlement = self.discretion.settlement(settlement);
            if let Settlement::Next { stage, checkpoint: next, .. } = &settlement {
                job.stage.clone_from(stage);
                checkpoint = Some(next.clone());
            }
            match self.settle(&job.id, token, settlement).await {
                Some(Settled::GoOn) => {}
                Some(Settled::Over(state)) => {
                    tracing::info!(%state, "the job is settled");
                    return;
                }
                None => return,
            }
        }
    }

    /// Runs one stage; `None` if the job is not ours any more.
    async fn stage(
        &self,
        job: &Job,
        token: i64,
        checkpoint: Option<&Checkpoint>,
        stop: &CancellationToken,
    ) -> Option<Settlement> {
        if let Some(newer) = checkpoint.filter(|found| found.version > workflow::CHECKPOINT_VERSION)
        {
            tracing::error!(
                found = newer.version,
                "a checkpoint was written by a newer version: no more jobs are claimed"
            );
            self.outdated.cancel();
            return Some(Settlement::Release);
        }
        let subject = &job.task.subject;
        let Some(connection) = self.connections.find(&subject.repo.origin) else {
            let why = format!("this version has no outgoing connection to {}", subject.repo.origin);
            return Some(ended(State::Failed, why, Vec::new()));
        };
        if let RepoKey::Name(name) = &subject.repo.key {
            return self.identify(job, token, name, connection).await;
        }
        if job.stage == workflow::FIRST_STAGE {
            match self.over_budget(job, token, connection).await {
                Ok(Ok(None)) => {}
                Ok(Ok(Some(settlement))) => return Some(settlement),
                Ok(Err(failure)) => return self.settlement_of_failure(job, failure),
                Err(error) => return self.store_failed(&error),
            }
        }
        let receipts = match self.store.receipts_of(&job.id).await {
            Ok(receipts) => receipts,
            Err(error) => return self.store_failed(&error),
        };
        let voice = self.speaker.voice(&connection.origin);
        let memory = Memory {
            store: self.store.clone(),
            job: job.id.clone(),
            token,
            stop: stop.clone(),
            discretion: self.discretion.clone(),
        };
        let context = Context {
            job,
            forge: connection.read.as_ref(),
            journal: &memory,
            desk: &memory,
            clock: self.clock.as_ref(),
            bot_names: self.speaker.names(),
            voice: &voice,
            checkpoint,
            receipts: &receipts,
        };
        let work = AssertUnwindSafe(workflow::run(&job.stage, &context)).catch_unwind();
        let outcome = tokio::select! {
            outcome = work => outcome,
            // Told to stop: whatever the stage still awaits is dropped, and the store decides what
            // the job becomes.
            () = stop.cancelled() => return Some(Settlement::Release),
        };
        match outcome {
            Ok(Ok(outcome)) => Some(settlement_of(outcome)),
            Ok(Err(failure)) => self.settlement_of_failure(job, failure),
            Err(panic) => {
                let why = format!("stage `{}` panicked: {}", job.stage, words_of(panic.as_ref()));
                self.settlement_of_failure(job, Failure::Bug(why))
            }
        }
    }

    /// Counts a new job against the day's budgets (J5), once however often it starts; returns how it
    /// ends if there is nothing left. Answers do not use up the repository's day, and a writer's
    /// own day has no end.
    async fn over_budget(
        &self,
        job: &Job,
        token: i64,
        connection: &Connection,
    ) -> Result<Result<Option<Settlement>, Failure>, Error> {
        let (task, limits) = (&job.task, &self.tempo.budget);
        let repo = task.subject.repo_id();
        let actor = task.actor.id.map_or_else(|| task.actor.login.clone(), |id| id.0.to_string());
        // The author first: whoever has had enough must not use up the day of the repository.
        let of_author =
            self.store.charge(&job.id, token, "author", format!("{repo} {actor}")).await?;
        let verdict = spend(limits.stranger, of_author);
        if verdict != Spent::Within {
            // Only now is it worth a request to ask whether the author may write.
            match connection.read.permission(&task.subject.repo, &task.actor).await {
                Ok(permission) if permission.may_write() => {}
                Ok(_) => {
                    let who = Enough::Author { login: &task.actor.login, limit: limits.stranger };
                    return Ok(Ok(self.exhausted(job, verdict, &who)));
                }
                Err(error) => return Ok(Err(Failure::of_forge(&connection.origin, &error))),
            }
        }
        if task.work.pace() == Pace::Talk {
            return Ok(Ok(None));
        }
        let of_repository =
            self.store.charge(&job.id, token, "repository", repo.to_string()).await?;
        let who = Enough::Repository { limit: limits.repository };
        Ok(Ok(self.exhausted(job, spend(limits.repository, of_repository), &who)))
    }

    fn exhausted(&self, job: &Job, spent: Spent, who: &Enough<'_>) -> Option<Settlement> {
        let publications = match spent {
            Spent::Within => return None,
            Spent::JustExhausted => self.speaker.enough(job, who),
            Spent::Exhausted => Vec::new(),
        };
        Some(ended(State::Skipped, "the budget of the day is used up".to_owned(), publications))
    }

    /// Reads the id of a repository that its delivery only named, and gives the job back under it (T9).
    async fn identify(
        &self,
        job: &Job,
        token: i64,
        name: &str,
        connection: &Connection,
    ) -> Option<Settlement> {
        match connection.read.repository(name).await {
            Ok(repo) => match self.store.identify(&job.id, token, repo).await {
                Ok(()) => None,
                Err(error) => self.store_failed(&error),
            },
            Err(error @ forge::Error::Gone { .. }) => {
                Some(ended(State::Failed, error.to_string(), Vec::new()))
            }
            Err(error) => {
                self.settlement_of_failure(job, Failure::of_forge(&connection.origin, &error))
            }
        }
    }

    fn settlement_of_failure(&self, job: &Job, failure: Failure) -> Option<Settlement> {
        Some(match failure {
            Failure::Tell { words, why } => {
                ended(State::Failed, why, self.speaker.tell(job, &words))
            }
            Failure::Again(Again::Backoff { why }) => {
                Settlement::Again { after: self.tempo.backoff(job.attempt), error: why }
            }
            Failure::Again(Again::Away { endpoint, until, why }) => {
                Settlement::Wait { endpoint, until, error: why }
            }
            // The store knows what was wanted of it: cancelled, superseded, or only given back.
            Failure::Again(Again::Stopped) => Settlement::Release,
            Failure::Again(Again::Fenced) => return None,
            Failure::Bug(why) => {
                tracing::error!(%why, "a bug ended the job");
                ended(State::Dead, why, self.speaker.apologise(job))
            }
        })
    }

    fn store_failed(&self, error: &Error) -> Option<Settlement> {
        match error {
            Error::Fenced => None,
            error => {
                tracing::warn!(%error, "the store failed a stage");
                Some(Settlement::Again { after: PAUSE, error: error.to_string() })
            }
        }
    }

    /// Commits a settlement; `None` if the job is out of our hands without our doing.
    async fn settle(&self, id: &JobId, token: i64, settlement: Settlement) -> Option<Settled> {
        let mut tries = 0;
        loop {
            match self.store.settle(id, token, settlement.clone()).await {
                Ok(settled) => return Some(settled),
                Err(Error::Fenced) => {
                    tracing::warn!("the lease was lost before the stage was settled");
                    return None;
                }
                Err(error) if error.is_passing() && tries < 5 => {
                    tries += 1;
                    self.clock.sleep_until(self.clock.now() + PAUSE).await;
                }
                Err(error) if error.is_passing() => {
                    tracing::error!(%error, "the stage could not be settled; its lease will run out");
                    return None;
                }
                // The database will not have these words: it would refuse them again (J7).
                Err(error) => {
                    tracing::error!(%error, "the database refused the stage's result");
                    if let Err(error) = self.store.bury(id, token, error.to_string()).await {
                        tracing::error!(%error, "the job could not be ended either");
                    }
                    return None;
                }
            }
        }
    }
}

/// Returns when to look again if nothing changes before: when something becomes due, and now and
/// then all the same, because a notice may be lost on its way from another process.
pub(crate) fn sleep_until(next: Option<Time>, now: Time) -> Time {
    let longest = now + LONGEST;
    next.map_or(longest, |due| due.max(now + SHORTEST).min(longest))
}

fn settlement_of(outcome: Outcome) -> Settlement {
    let Outcome { result, publications, then } = outcome;
    let checkpoint = |stage: &str, value| Checkpoint {
        stage: stage.to_owned(),
        version: workflow::CHECKPOINT_VERSION,
        value,
    };
    let end = |state, why, cancels, result, publications| Settlement::End {
        state,
        why,
        result: Some(result),
        publications,
        cancels,
    };
    match then {
        Then::Stage { name, carry } => Settlement::Next {
            stage: name.to_owned(),
            checkpoint: checkpoint(name, carry),
            result,
            publications,
        },
        Then::StageWhenSent { name, carry } => Settlement::NextWhenSent {
            stage: name.to_owned(),
            checkpoint: checkpoint(name, carry),
            result,
            publications,
        },
        Then::Done => end(State::Done, None, Cancels::Nobody, result, publications),
        Then::DoneCancellingOthers => {
            end(State::Done, None, Cancels::Subject, result, publications)
        }
        Then::Skipped(why) => end(State::Skipped, Some(why), Cancels::Nobody, result, publications),
        Then::Failed(why) => end(State::Failed, Some(why), Cancels::Nobody, result, publications),
    }
}

fn ended(state: State, why: String, publications: Vec<domain::Publication>) -> Settlement {
    let result =
        StageResult { success: false, comment: Some(why.clone()), fields: serde_json::Map::new() };
    Settlement::End {
        state,
        why: Some(why),
        result: Some(result),
        publications,
        cancels: Cancels::Nobody,
    }
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    words
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
