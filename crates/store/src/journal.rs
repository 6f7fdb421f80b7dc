//! A job's memory and record, fenced on every write.

use domain::record::Record;
use domain::{JobId, Time};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::claim::fence;
use crate::db::{Db, from_json, to_json};
use crate::error::Error;
use crate::values;

/// Returns what the job keeps under a key.
pub fn recall(db: &mut dyn Db, id: &JobId, key: &str) -> Result<Option<Json>, Error> {
    let row = db.find(
        "SELECT value FROM journal WHERE job_id = $1 AND key = $2",
        &values![&id.0, hashed(key)],
    )?;
    row.map(|mut row| row.json("journal entry")).transpose()
}

/// Keeps a value under a key; a key keeps its first value.
pub fn keep(db: &mut dyn Db, id: &JobId, token: i64, key: &str, value: &Json) -> Result<(), Error> {
    let now = db.now()?;
    fence(db, id, token, now)?;
    db.execute(
        "INSERT INTO journal (job_id, key, value, at) VALUES ($1, $2, $3, $4) ON CONFLICT (job_id, key) DO NOTHING",
        &values![&id.0, hashed(key), to_json("journal entry", value)?, now],
    )?;
    Ok(())
}

/// Adds an entry to the record on behalf of an attempt that must still hold the job.
pub fn note_fenced(db: &mut dyn Db, id: &JobId, token: i64, record: &Record) -> Result<(), Error> {
    let now = db.now()?;
    fence(db, id, token, now)?;
    // Whoever follows the record live is woken by it.
    db.wake();
    note(db, id, record, now)
}

/// Adds an entry to the record.
pub fn note(db: &mut dyn Db, id: &JobId, record: &Record, now: Time) -> Result<(), Error> {
    db.execute(
        "INSERT INTO records (job_id, at, body) VALUES ($1, $2, $3)",
        &values![&id.0, now, to_json("record", record)?],
    )?;
    Ok(())
}

/// An entry of a job's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub seq: i64,
    pub at: Time,
    pub record: Record,
}

/// Returns up to `most` entries after the sequence number `after`.
pub fn records(db: &mut dyn Db, id: &JobId, after: i64, most: u32) -> Result<Vec<Entry>, Error> {
    let rows = db.query(
        "SELECT seq, at, body FROM records WHERE job_id = $1 AND seq > $2 ORDER BY seq LIMIT $3",
        &values![&id.0, after, most],
    )?;
    rows.into_iter()
        .map(|mut row| {
            Ok(Entry {
                seq: row.int()?,
                at: row.time()?,
                record: from_json("record", &row.text()?)?,
            })
        })
        .collect()
}

/// Keys are hashed: a workflow may use any text (J8).
fn hashed(key: &str) -> String {
    hex::encode(&Sha256::digest(key.as_bytes())[..16])
}
