//! Where deliveries wait for their transaction: whatever arrives while one group is being made
//! durable goes into the next (J1), so the price of a sync is shared by all who wait.
//!
//! On SQLite the writer itself takes what waits, at the moment when it would write it. On PostgreSQL
//! a few threads do, each with a connection. A group that the database refuses is taken apart: one
//! delivery that cannot be stored takes nobody with it.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};

use tokio::sync::oneshot;

use crate::db::Db;
use crate::db::sqlite::Work;
use crate::error::Error;
use crate::intake::{self, Accepted, Intake};

/// How many deliveries are written at a time at most: it bounds how long the first of them waits.
const GROUP: usize = 256;

/// The deliveries that wait.
#[derive(Debug, Default)]
pub(super) struct Entrance {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<(Intake, Reply)>,
    /// Somebody has been called and has not looked yet.
    called: bool,
    closed: bool,
}

type Reply = oneshot::Sender<Result<Accepted, Error>>;

/// Whether somebody has to be called for what waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    Needed,
    Pending,
}

impl Entrance {
    /// Lets a delivery wait; what becomes of it is told when it is durable, or refused.
    pub(super) fn enter(
        &self,
        intake: Intake,
    ) -> (oneshot::Receiver<Result<Accepted, Error>>, Call) {
        let (reply, answer) = oneshot::channel();
        let mut state = self.lock();
        state.waiting.push_back((intake, reply));
        let called = std::mem::replace(&mut state.called, true);
        drop(state);
        self.changed.notify_one();
        (answer, if called { Call::Pending } else { Call::Needed })
    }

    /// Lets those who wait in [`Self::serve`] go.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    /// Takes what waits, group by group, until the entrance is closed. `accept` takes a group as one
    /// transaction.
    pub(super) fn serve(&self, accept: &dyn Fn(Arc<[Intake]>) -> Result<Vec<Accepted>, Error>) {
        // A panic ends one group, not the thread that all others wait for.
        let guarded = |intakes| {
            catch_unwind(AssertUnwindSafe(|| accept(intakes))).unwrap_or(Err(Error::Stopped))
        };
        while let Some(group) = self.next_group() {
            let outcome = guarded(Arc::clone(&group.intakes));
            for single in group.tell(outcome) {
                let outcome = guarded(Arc::clone(&single.intakes));
                single.tell(outcome);
            }
        }
    }

    fn next_group(&self) -> Option<Group> {
        let idle = |state: &mut State| state.waiting.is_empty() && !state.closed;
        let waited = self.changed.wait_while(self.lock(), idle);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner);
        if state.closed { None } else { Some(state.take_group()) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes what waits. Whoever does is to come again for what is left.
    fn take_group(&mut self) -> Group {
        let count = self.waiting.len().min(GROUP);
        let (intakes, replies): (Vec<_>, Vec<_>) = self.waiting.drain(..count).unzip();
        self.called = !self.waiting.is_empty();
        Group { intakes: intakes.into(), replies }
    }
}

/// Deliveries that share a transaction, with who waits for each.
struct Group {
    intakes: Arc<[Intake]>,
    replies: Vec<Reply>,
}

impl Group {
    /// Tells everybody what became of their delivery. Returns those that are to be tried by
    /// themselves, because the database refused the group.
    fn tell(self, outcome: Result<Vec<Accepted>, Error>) -> Vec<Self> {
        let Self { intakes, replies } = self;
        let told: Vec<_> = match outcome {
            Ok(answers) => answers.into_iter().map(Ok).collect(),
            // To ask again for each would only make everybody wait longer.
            Err(error) if intakes.len() == 1 || error.is_passing() => {
                vec![Err(error); intakes.len()]
            }
            Err(_) => {
                let alone = |(intake, reply): (&Intake, Reply)| Self {
                    intakes: Arc::new([intake.clone()]),
                    replies: vec![reply],
                };
                return intakes.iter().zip(replies).map(alone).collect();
            }
        };
        for (reply, answer) in replies.into_iter().zip(told) {
            // Whoever asked may have gone away; what was written stands.
            drop(reply.send(answer));
        }
        Vec::new()
    }
}

/// The taking of a group as SQLite's writer does it.
pub(super) struct Taking {
    queue: mpsc::Sender<Box<dyn Work>>,
    from: From,
    answers: Option<Vec<Accepted>>,
}

enum From {
    /// Whatever waits when the writer comes to it.
    Entrance(Arc<Entrance>),
    Group(Group),
}

impl Taking {
    /// Prepares the taking of what waits; what must be tried again goes to the writer's `queue`.
    pub(super) fn new(entrance: Arc<Entrance>, queue: mpsc::Sender<Box<dyn Work>>) -> Self {
        Self { queue, from: From::Entrance(entrance), answers: None }
    }
}

impl Work for Taking {
    fn run(&mut self, db: &mut dyn Db) -> Result<(), Error> {
        if let From::Entrance(entrance) = &self.from {
            let mut state = entrance.lock();
            let group = state.take_group();
            if state.called {
                send(&self.queue, From::Entrance(Arc::clone(entrance)));
            }
            drop(state);
            self.from = From::Group(group);
        }
        if let From::Group(group) = &self.from {
            self.answers = Some(intake::accept(db, &group.intakes)?);
        }
        Ok(())
    }

    fn finish(self: Box<Self>, committed: Result<(), Error>) {
        let Self { queue, from, answers } = *self;
        let group = match from {
            From::Group(group) => group,
            // The writer could not even begin: those who wait are told so.
            From::Entrance(entrance) => {
                let mut state = entrance.lock();
                let group = state.take_group();
                if state.called {
                    send(&queue, From::Entrance(Arc::clone(&entrance)));
                }
                group
            }
        };
        let outcome = committed.and_then(|()| answers.ok_or(Error::Stopped));
        for single in group.tell(outcome) {
            send(&queue, From::Group(single));
        }
    }
}

/// Without a writer nobody can be told anything any more: those who wait learn that it stopped.
fn send(queue: &mpsc::Sender<Box<dyn Work>>, from: From) {
    drop(queue.send(Box::new(Taking { queue: queue.clone(), from, answers: None })));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_entrance_lets_its_servants_go() {
        let entrance = Entrance::default();
        entrance.close();
        entrance.serve(&|_| panic!("nothing waits"));
    }
}
