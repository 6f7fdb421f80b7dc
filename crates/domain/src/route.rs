//! `(Event, Policy) -> Decision`: the product's routing table, as far as payload and operator
//! policy decide it.

use serde::{Deserialize, Serialize};

use crate::event::Event;
use crate::policy::Policy;
use crate::task::Task;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It becomes a job.
    Do(Box<Task>),
    /// Nothing that we act on. Answered 200 with the reason.
    Ignored(Ignored),
    /// It would have become a job, but the operator's lists forbid it.
    Refused(Refused),
}

/// Why nothing is done. `reason` is one sentence for whoever reads the answer to a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub reason: String,
}

/// Decides what an event means.
pub fn route(_event: &Event, _policy: &Policy) -> Decision {
    Decision::Ignored(Ignored { reason: String::new() })
}
