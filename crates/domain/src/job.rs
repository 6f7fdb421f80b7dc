//! A durable request to do a [`Task`], and the states it may pass through.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::subject::Lane;
use crate::task::{Priority, Task};
use crate::time::Time;

/// The id of a job: a UUID, also what `202 accepted` answers with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub String);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A job as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub id: JobId,
    /// The order of acceptance: unique and growing within a lane.
    pub seq: i64,
    pub lane: Lane,
    pub priority: Priority,
    pub state: State,
    pub task: Task,
    /// The stage that runs next or runs now.
    pub stage: String,
    /// Attempts begun, the present one included; an outage gives its attempt back (J6).
    pub attempt: u32,
    pub created_at: Time,
    pub updated_at: Time,
    pub run_at: Time,
    /// Since when it has been waiting for something shared that is away (J6).
    pub waiting_since: Option<Time>,
    /// Why it ended or what it waits for, in words for people.
    pub error: Option<String>,
    /// The forge's own name of the event that made it.
    pub event_type: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    Queued,
    Running,
    Done,
    /// It ended with something that was told to the person.
    Failed,
    /// It was given up: attempts used, poison, or away for too long. It apologised.
    Dead,
    Cancelled,
    Superseded,
    /// Its first stage found that there was nothing to do.
    Skipped,
}

impl State {
    pub const ALL: [Self; 8] = [
        Self::Queued,
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::Dead,
        Self::Cancelled,
        Self::Superseded,
        Self::Skipped,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Dead => "dead",
            Self::Cancelled => "cancelled",
            Self::Superseded => "superseded",
            Self::Skipped => "skipped",
        }
    }

    pub fn is_final(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }

    /// Whether a second delivery of the same meaning collapses onto a job in this state (J4).
    pub fn absorbs_repeats(self) -> bool {
        matches!(self, Self::Queued | Self::Running | Self::Done)
    }

    /// Whether the same delivery, or the same command, is answered with a job in this state instead
    /// of a new one (J4): whatever became of it, unless it was given up before it came to an end.
    pub fn absorbs_redelivery(self) -> bool {
        self != Self::Dead
    }

    /// Whether a job may go from this state to `next`. Everything else is a bug or a lost race.
    pub fn may_become(self, next: Self) -> bool {
        match self {
            Self::Queued => {
                matches!(next, Self::Running | Self::Cancelled | Self::Superseded | Self::Dead)
            }
            Self::Running => next != Self::Running,
            // An operator may try again whatever did not succeed.
            Self::Failed | Self::Dead | Self::Cancelled | Self::Superseded | Self::Skipped => {
                next == Self::Queued
            }
            Self::Done => false,
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not the name of a state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a job state")]
pub struct UnknownState(pub String);

impl FromStr for State {
    type Err = UnknownState;
    fn from_str(text: &str) -> Result<Self, UnknownState> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| UnknownState(text.to_owned()))
    }
}

/// What a stage hands to the next: an opaque value with the name and version of its shape, so that
/// a worker that meets a newer one can say so instead of misreading it (J8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    pub stage: String,
    pub version: u32,
    pub value: serde_json::Value,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_these_transitions_are_legal() {
        let mut legal = Vec::new();
        for from in State::ALL {
            for to in State::ALL {
                if from.may_become(to) {
                    legal.push(format!("{from} -> {to}"));
                }
            }
        }
        expect_test::expect![[r#"
            queued -> running
            queued -> dead
            queued -> cancelled
            queued -> superseded
            running -> queued
            running -> done
            running -> failed
            running -> dead
            running -> cancelled
            running -> superseded
            running -> skipped
            failed -> queued
            dead -> queued
            cancelled -> queued
            superseded -> queued
            skipped -> queued"#]]
        .assert_eq(&legal.join("\n"));
    }

    #[test]
    fn every_state_is_read_back_from_its_name() {
        for state in State::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert!("Queued".parse::<State>().is_err());
    }
}
