//! Why a stage did not reach its end, named by what the engine does about it.

use domain::journal::JournalError;
use domain::{Origin, Time};

/// A stage that did not reach its end. "Nothing to report" and "could not fix it" are outcomes.
#[derive(Debug)]
pub enum Failure {
    /// Post these words in the thread and end the job.
    Tell { words: String, why: String },
    /// Try again.
    Again(Again),
    /// Log it and apologise with the job's id.
    Bug(String),
}

#[derive(Debug, PartialEq, Eq)]
pub enum Again {
    /// After a growing pause; the attempt counts.
    Backoff { why: String },
    /// Something that every job shares is away: the attempt does not count (J6).
    Away { endpoint: String, until: Option<Time>, why: String },
    /// The workflow saw that it should stop, and did.
    Stopped,
    /// Another worker has the job: leave it alone.
    Fenced,
}

impl Failure {
    /// Explains a failure of the forge that a stage has no better answer to.
    pub fn of_forge(origin: &Origin, error: &forge::Error) -> Self {
        let why = error.to_string();
        if error.is_outage() {
            let until = match error {
                forge::Error::Limited { until } => Some(*until),
                _ => None,
            };
            return Self::Again(Again::Away { endpoint: origin.to_string(), until, why });
        }
        match error.retry() {
            // The account may not do this: the person can change that, a second try cannot.
            forge::Retry::Never => Self::Tell { words: why.clone(), why },
            forge::Retry::After(_) | forge::Retry::Backoff => Self::Again(Again::Backoff { why }),
        }
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Fenced => Self::Again(Again::Fenced),
            JournalError::Unreachable(why) => Self::Again(Again::Backoff { why }),
        }
    }
}
