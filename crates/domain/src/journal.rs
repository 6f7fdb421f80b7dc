//! The one small port through which a workflow remembers.

use async_trait::async_trait;
use serde_json::Value;

use crate::record::Record;

/// A job's memory. Engine implements it over the store, fenced on every write: a worker that lost
/// its lease cannot keep or note anything.
#[async_trait]
pub trait Journal: Send + Sync {
    /// Returns what was kept under `key` by this job, in this attempt or an earlier one.
    async fn recall(&self, key: &str) -> Result<Option<Value>, JournalError>;

    /// Keeps a value for the rest of the job. A key keeps its first value.
    async fn keep(&self, key: &str, value: Value) -> Result<(), JournalError>;

    /// Adds an entry to the job's record.
    async fn note(&self, record: Record) -> Result<(), JournalError>;

    /// Whether the job should stop: it was cancelled, superseded, or the process is going down.
    fn stopped(&self) -> bool;
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The job belongs to somebody else now: stop at once, quietly.
    #[error("the lease of this job was lost")]
    Fenced,
    /// The store did not answer.
    #[error("the job's memory could not be reached: {0}")]
    Unreachable(String),
}
