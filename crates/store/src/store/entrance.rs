//! Where deliveries wait for their transaction: whatever arrives while one group is being made
//! durable goes into the next (J1), so the price of a sync is shared by all who wait.
//!
//! A group that the database refuses is taken apart: one delivery that cannot be stored takes
//! nobody with it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};

use tokio::sync::oneshot;

use crate::error::Error;
use crate::intake::{Accepted, Intake};

/// How many deliveries share one transaction at most: it bounds how long the first of them waits.
const GROUP: usize = 256;

/// Where deliveries come in.
#[derive(Debug)]
pub(super) struct Entrance {
    queue: mpsc::Sender<Waiting>,
}

/// What came in and was not taken yet.
#[derive(Debug)]
pub(super) struct Arriving {
    inbox: mpsc::Receiver<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    intake: Intake,
    reply: Reply,
}

type Reply = oneshot::Sender<Result<Accepted, Error>>;

/// Takes a group as one transaction.
type Accept<'a> = &'a dyn Fn(&Arc<[Intake]>) -> Result<Vec<Accepted>, Error>;

/// Makes an entrance; somebody has to take what arrives.
pub(super) fn open() -> (Entrance, Arriving) {
    let (queue, inbox) = mpsc::channel();
    (Entrance { queue }, Arriving { inbox })
}

impl Entrance {
    /// Waits until a delivery is durable, or refused.
    pub(super) async fn enter(&self, intake: Intake) -> Result<Accepted, Error> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Waiting { intake, reply }).map_err(|_| Error::Stopped)?;
        answer.await.map_err(|_| Error::Stopped)?
    }
}

impl Arriving {
    /// Takes what waits, group by group, until the entrance is gone.
    pub(super) fn take_groups(self, accept: Accept<'_>) {
        while let Ok(first) = self.inbox.recv() {
            let rest = self.inbox.try_iter().take(GROUP - 1);
            let (intakes, replies) =
                std::iter::once(first).chain(rest).map(|one| (one.intake, one.reply)).unzip();
            take_group(intakes, replies, accept);
        }
    }
}

fn take_group(intakes: Vec<Intake>, replies: Vec<Reply>, accept: Accept<'_>) {
    let group: Arc<[Intake]> = intakes.into();
    match guarded(accept, &group) {
        Ok(answers) => {
            for (reply, answer) in replies.into_iter().zip(answers) {
                tell(reply, Ok(answer));
            }
        }
        // Asking again for each would only make everybody wait longer.
        Err(error) if group.len() == 1 || error.is_passing() => {
            for reply in replies {
                tell(reply, Err(error.clone()));
            }
        }
        Err(_) => {
            for (intake, reply) in group.iter().zip(replies) {
                take_group(vec![intake.clone()], vec![reply], accept);
            }
        }
    }
}

/// A panic ends one group, not the thread that all others wait for.
fn guarded(accept: Accept<'_>, group: &Arc<[Intake]>) -> Result<Vec<Accepted>, Error> {
    catch_unwind(AssertUnwindSafe(|| accept(group))).unwrap_or(Err(Error::Stopped))
}

fn tell(reply: Reply, answer: Result<Accepted, Error>) {
    // Whoever asked may have gone away; what was written stands.
    drop(reply.send(answer));
}
