//! Sending what jobs published: in order per lane, each once, as far as a forge allows (E1–E7).
//!
//! A row goes through three steps: it is marked `trying`, its request leaves, and what became of it
//! is written down. A process may die after any of them. Whoever finds a row `trying` does not know
//! whether its request had an effect, and looks before it repeats it (E2). Rows of a batch take the
//! first two steps together and the third apart ([`together`]).

mod together;

use std::sync::Arc;
use std::time::Duration;

use domain::publication::{Effect, Push};
use domain::{Clock, Publication, Receipt, Time};
use forge::http::REQUEST_DEADLINE;
use forge::{Error as ForgeError, Look};
use git::Mirrors;
use store::outbox::{Begun, Doubt, Due, LaneClaim, Queue, Sending, Try};
use store::{Error, Owner, Store};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connection::{Connection, Connections};
use crate::engine::Tempo;
use crate::heartbeat::Running;
use crate::push;
use crate::worker::sleep_until;
use together::Travelled;

/// A request leaves only if the lease outlives its whole deadline by this much (E5).
const MARGIN: Duration = Duration::from_secs(3);

/// The whole time that a push may take, the checks before it included.
const PUSH_DEADLINE: Duration = Duration::from_secs(300);

/// How often something that nothing waits for is tried.
const ASIDE_TRIES: u32 = 3;

/// The pauses between looks after a send of unknown fate; their sum is the default `look_for` (E2).
const LOOKS: [Duration; 6] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
    Duration::from_secs(15),
    Duration::from_secs(30),
];

/// Sends until it is told to stop.
#[derive(Clone, Debug)]
pub struct Publisher {
    pub(crate) store: Store,
    pub(crate) connections: Connections,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) owner: Owner,
    pub(crate) tempo: Tempo,
    pub(crate) tasks: TaskTracker,
    pub(crate) places: Arc<Semaphore>,
    pub(crate) running: Running,
    /// Without them nothing is pushed.
    pub(crate) mirrors: Option<Mirrors>,
}

impl Publisher {
    /// Claims lanes and sends for them until `stop`.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut changes = self.store.changes();
        while !stop.is_cancelled() {
            changes.borrow_and_update();
            let place = tokio::select! {
                () = stop.cancelled() => return,
                place = Arc::clone(&self.places).acquire_owned() => place,
            };
            let Ok(place) = place else { return };
            match self.store.claim_lane(&self.owner).await {
                Ok(LaneClaim::Send(sending)) => {
                    let (this, stop) = (self.clone(), stop.clone());
                    let held = self.running.hold_lane(&sending.lane);
                    self.tasks.spawn(async move {
                        this.send_lane(&sending, &stop).await;
                        drop(held);
                        drop(place);
                    });
                }
                Ok(LaneClaim::Nothing { next }) => {
                    drop(place);
                    let due = sleep_until(next, self.clock.now());
                    tokio::select! {
                        () = stop.cancelled() => {}
                        changed = changes.changed() => if changed.is_err() { return },
                        () = self.clock.sleep_until(due) => {}
                    }
                }
                Err(error @ Error::Newer { .. }) => {
                    tracing::error!(%error, "nothing more is sent by this version");
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "no lane could be claimed");
                    drop(place);
                    tokio::select! {
                        () = stop.cancelled() => {}
                        () = self.clock.sleep_until(self.clock.now() + LOOKS[0]) => {}
                    }
                }
            }
        }
    }

    /// Sends what is due in a lane and gives it back.
    async fn send_lane(&self, sending: &Sending, stop: &CancellationToken) {
        // An answer never waits for its reaction: while that is under way, what is published
        // meanwhile goes out.
        let reacted = CancellationToken::new();
        let aside = async {
            let result = self.send_queue(sending, Queue::Aside, stop).await;
            reacted.cancel();
            result
        };
        let main = async {
            let mut changes = self.store.changes();
            loop {
                changes.borrow_and_update();
                let over = reacted.is_cancelled();
                self.send_queue(sending, Queue::Main, stop).await?;
                if over || stop.is_cancelled() {
                    return Ok(());
                }
                tokio::select! {
                    () = reacted.cancelled() => {}
                    changed = changes.changed() => if changed.is_err() { return Ok(()) },
                }
            }
        };
        let (main, aside) = tokio::join!(main, aside);
        for result in [main, aside] {
            match result {
                Ok(()) => {}
                Err(Error::Fenced) => {
                    tracing::warn!(lane = %sending.lane, "the lane belongs to another sender now");
                    return;
                }
                Err(error) => {
                    tracing::warn!(lane = %sending.lane, %error, "the store failed a sender");
                }
            }
        }
        if let Err(error) = self.store.release_lane(sending).await {
            tracing::warn!(lane = %sending.lane, %error, "a lane was not given back; its lease will run out");
        }
    }

    async fn send_queue(
        &self,
        sending: &Sending,
        queue: Queue,
        stop: &CancellationToken,
    ) -> Result<(), Error> {
        while !stop.is_cancelled() {
            let Some(due) = self.store.next_row(sending, queue).await? else { return Ok(()) };
            if due.may_travel() {
                match self.send_together(sending, &due).await? {
                    Travelled::Alone => {}
                    Travelled::Together => continue,
                    Travelled::NotNow => return Ok(()),
                }
            }
            // Its job was stopped meanwhile: the next row may be what closes it.
            let Some(outcome) = self.send_row(sending, &due).await? else { continue };
            let goes_on = matches!(outcome, Try::Sent(_) | Try::GivenUp(_));
            if let Try::GivenUp(why) = &outcome
                && queue == Queue::Main
            {
                tracing::warn!(job.id = %due.job, slot = %due.publication.slot, %why, "a publication was given up");
            }
            self.store.settle_row(sending, &due, outcome).await?;
            if !goes_on {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Sends one row, or finds out what became of an earlier try; `None` if it must not leave.
    async fn send_row(&self, sending: &Sending, due: &Due) -> Result<Option<Try>, Error> {
        let origin = &due.publication.subject.repo.origin;
        let Some(connection) = self.connections.find(origin) else {
            let why = format!("this version has no outgoing connection to {origin}");
            return Ok(Some(Try::GivenUp(why)));
        };
        let mut earlier = due.earlier.clone();
        if let Some(doubt) = due.doubt
            && !due.publication.effect.is_harmless_twice()
        {
            let left = self.store.lane_left(sending).await?;
            let look = self.look(connection, due, doubt);
            match self.within(left, look).await {
                Some(Looked::Stands(receipt)) => return Ok(Some(Try::Sent(receipt))),
                Some(Looked::NotYet { at, why }) => {
                    return Ok(Some(Try::Doubtful { look_at: at, why }));
                }
                Some(Looked::Repeat { over }) => earlier = over.or(earlier),
                None => return Ok(Some(self.cut_short())),
            }
        }
        if let Effect::Push(push) = &due.publication.effect {
            return self.send_push(sending, due, push, connection).await;
        }
        let asked = self.clock.monotonic();
        let Begun::Leave(left) = self.store.begin_row(sending, due.seq).await? else {
            return Ok(None);
        };
        let left = left.saturating_sub(self.clock.monotonic().saturating_sub(asked));
        if left < REQUEST_DEADLINE + MARGIN {
            let at = self.clock.now() + Duration::from_secs(1);
            let why = "the lease is too short for a request".to_owned();
            return Ok(Some(Try::Later { at, why }));
        }
        let sent = match self
            .within(left, connection.write.send(&due.publication, earlier.as_ref()))
            .await
        {
            Some(Ok(receipt)) => receipt,
            Some(Err(error)) => return self.failed(sending, due, &error).await.map(Some),
            None => return Ok(Some(self.cut_short())),
        };
        let left = self.store.lane_left(sending).await?;
        let settled =
            self.within(left, self.settle_claim(connection, &due.publication, sent)).await;
        Ok(Some(settled.unwrap_or_else(|| self.cut_short())))
    }

    /// Pushes a commit (E8). The lease is first set to the whole time that this may take.
    async fn send_push(
        &self,
        sending: &Sending,
        due: &Due,
        push: &Push,
        connection: &Connection,
    ) -> Result<Option<Try>, Error> {
        let Some(mirrors) = &self.mirrors else {
            return Ok(Some(Try::GivenUp("this process has no git to push with".to_owned())));
        };
        let Some(bundle) = self.store.artifact(&due.job, &push.bundle).await? else {
            return Ok(Some(Try::GivenUp(format!("the artifact {} is gone", push.bundle))));
        };
        let left = self.store.stretch_lane(sending, PUSH_DEADLINE + MARGIN).await?;
        let Begun::Leave(_) = self.store.begin_row(sending, due.seq).await? else {
            return Ok(None);
        };
        let about = (&due.publication.subject, push);
        let pushed = self.within(left, push::push(connection, mirrors, about, &bundle.1)).await;
        Ok(Some(match pushed {
            Some(Ok(push::Outcome::Stands)) => {
                Try::Sent(Receipt::Commit { id: push.commit.clone() })
            }
            Some(Ok(push::Outcome::Refused(why))) => Try::Sent(Receipt::Refused { why }),
            Some(Err(push::Error::Forge(error))) => self.failed(sending, due, &error).await?,
            Some(Err(push::Error::Git(error))) => self.failed_git(sending, due, &error).await?,
            None => self.cut_short(),
        }))
    }

    async fn failed_git(
        &self,
        sending: &Sending,
        due: &Due,
        error: &git::Error,
    ) -> Result<Try, Error> {
        let why = error.to_string();
        Ok(match error.retry() {
            _ if error.is_outage() => {
                let at = self.store.open_breaker(&sending.connection, &why, None).await?;
                Try::Later { at, why }
            }
            git::Retry::Backoff => {
                Try::Later { at: due.read_at + self.tempo.backoff(due.tries), why }
            }
            git::Retry::Never => Try::GivenUp(why),
        })
    }

    /// Runs something that speaks to the forge, and drops it while the lease still holds (E5): a
    /// process that stood still must not go on speaking for a lane that another one has by now.
    async fn within<T>(&self, left: Duration, work: impl Future<Output = T>) -> Option<T> {
        let until = self.clock.now() + left.saturating_sub(MARGIN);
        tokio::select! {
            biased;
            () = self.clock.sleep_until(until) => None,
            done = work => Some(done),
        }
    }

    /// What was under way may have had its effect; somebody who has the lane looks.
    fn cut_short(&self) -> Try {
        Try::Doubtful {
            look_at: self.clock.now() + LOOKS[0],
            why: "the lease ended first".to_owned(),
        }
    }

    /// Looks whether a send of unknown fate had its effect (E2).
    async fn look(&self, connection: &Connection, due: &Due, doubt: Doubt) -> Looked {
        let Due { publication, earlier, read_at: now, .. } = due;
        let (earlier, now) = (earlier.as_ref(), *now);
        let pause = LOOKS[(doubt.looks as usize).min(LOOKS.len() - 1)];
        let at = now + pause;
        match connection.write.find(publication).await {
            Look::Found { receipt, authentic } => match (&receipt, earlier) {
                // An edit: what stands there may still be the text from before.
                (
                    Receipt::Comment { revision, .. },
                    Some(Receipt::Comment { revision: before, .. }),
                ) if revision <= before => Looked::Repeat { over: authentic.then_some(receipt) },
                _ => Looked::Stands(receipt),
            },
            // A forge that lists late may still show it: only after a while is absent absent.
            Look::Absent if now.since(doubt.since) < self.tempo.look_for => Looked::NotYet {
                at: at.min(doubt.since + self.tempo.look_for),
                why: "not listed yet".to_owned(),
            },
            Look::Absent => Looked::Repeat { over: None },
            Look::Unknown { why } => Looked::NotYet { at, why },
        }
    }

    /// Settles which deployment speaks, after the first comment of a run (E7).
    async fn settle_claim(
        &self,
        connection: &Connection,
        publication: &Publication,
        receipt: Receipt,
    ) -> Try {
        let claims = matches!(&publication.effect, Effect::Comment(body) if body.claim.is_some());
        if !claims || !matches!(receipt, Receipt::Comment { .. }) {
            return Try::Sent(receipt);
        }
        match connection.write.settle_claim(&publication.subject, &publication.slot, &receipt).await
        {
            Ok(receipt) => Try::Sent(receipt),
            // The comment stands; a later look finds it and heals what it finds twice.
            Err(error) => {
                Try::Doubtful { look_at: self.clock.now() + LOOKS[0], why: error.to_string() }
            }
        }
    }

    async fn failed(&self, sending: &Sending, due: &Due, error: &ForgeError) -> Result<Try, Error> {
        let why = error.to_string();
        // By the store's clock, which is what the row's times are compared with.
        let now = due.read_at;
        if due.publication.effect.is_aside() && due.tries >= ASIDE_TRIES {
            return Ok(Try::GivenUp(why));
        }
        Ok(match error {
            ForgeError::Lost { .. } | ForgeError::Garbled { .. } => {
                Try::Doubtful { look_at: now + LOOKS[0], why }
            }
            // Our own pace, not the forge's: nobody else has to wait for it.
            ForgeError::Paced { until } => Try::Later { at: *until, why },
            ForgeError::Limited { until } => {
                let at = self.store.open_breaker(&sending.connection, &why, Some(*until)).await?;
                Try::Later { at, why }
            }
            ForgeError::Unreachable { .. } | ForgeError::Unauthenticated { .. } => {
                let at = self.store.open_breaker(&sending.connection, &why, None).await?;
                Try::Later { at, why }
            }
            ForgeError::Conflict { .. } => {
                Try::Later { at: now + self.tempo.backoff(due.tries), why }
            }
            ForgeError::Gone { .. }
            | ForgeError::Forbidden { .. }
            | ForgeError::TooLong
            | ForgeError::Refused { .. } => Try::GivenUp(why),
        })
    }
}

/// What a look says about repeating a send.
enum Looked {
    /// It had its effect.
    Stands(Receipt),
    /// Nothing can be said yet: look again.
    NotYet { at: Time, why: String },
    /// It had none: send it, over this comment if there is one.
    Repeat { over: Option<Receipt> },
}
