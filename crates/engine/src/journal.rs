//! A job's memory over the store, fenced on every write; and the desk that knows other jobs.

use async_trait::async_trait;
use domain::journal::JournalError;
use domain::record::Record;
use domain::{Job, JobId, Journal, Subject};
use serde_json::Value;
use store::Store;
use tokio_util::sync::CancellationToken;
use workflow::Desk;

use crate::discretion::Discretion;

/// How many ended jobs of a subject are worth telling.
const ENDED: u32 = 3;

/// The [`Journal`] of one attempt.
pub(crate) struct Memory {
    pub(crate) store: Store,
    pub(crate) job: JobId,
    pub(crate) token: i64,
    pub(crate) stop: CancellationToken,
    pub(crate) discretion: Discretion,
}

#[async_trait]
impl Journal for Memory {
    async fn recall(&self, key: &str) -> Result<Option<Value>, JournalError> {
        self.store.recall(&self.job, key).await.map_err(lost)
    }

    async fn keep(&self, key: &str, value: Value) -> Result<(), JournalError> {
        let value = self.discretion.value(value);
        self.store.keep(&self.job, self.token, key, value).await.map_err(lost)
    }

    async fn note(&self, record: Record) -> Result<(), JournalError> {
        let record = self.discretion.record(record);
        self.store.note(&self.job, self.token, record).await.map_err(lost)
    }

    fn stopped(&self) -> bool {
        self.stop.is_cancelled()
    }
}

#[async_trait]
impl Desk for Memory {
    async fn work_on(&self, subject: &Subject) -> Result<Vec<Job>, JournalError> {
        self.store.jobs_of(subject, ENDED).await.map_err(lost)
    }
}

fn lost(error: store::Error) -> JournalError {
    match error {
        store::Error::Fenced => JournalError::Fenced,
        other => JournalError::Unreachable(other.to_string()),
    }
}
