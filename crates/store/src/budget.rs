//! How much a repository or an author has had today (J5).

use domain::budget::day;
use domain::{JobId, Time};

use crate::db::Db;
use crate::error::Error;
use crate::{journal, values};

/// Counts a job under a key and returns the count of the day. A job that was counted before, as
/// `what`, gets the same count again: what it means must not change from attempt to attempt.
pub fn charge(
    db: &mut dyn Db,
    id: &JobId,
    token: i64,
    what: &str,
    key: &str,
) -> Result<u32, Error> {
    // No workflow's key begins like this.
    let counted = format!("engine:budget:{what}");
    if let Some(count) = journal::recall(db, id, &counted)? {
        return serde_json::from_value(count)
            .map_err(|error| Error::Corrupt { what: "count", why: error.to_string() });
    }
    let now = db.now()?;
    let count = spend(db, key, now)?;
    journal::keep(db, id, token, &counted, &count.into())?;
    Ok(count)
}

/// Counts one more under `key` for the day of `now`, and returns the count.
fn spend(db: &mut dyn Db, key: &str, now: Time) -> Result<u32, Error> {
    let mut row = db
        .find(
            "INSERT INTO budgets (key, day, spent) VALUES ($1, $2, 1)
             ON CONFLICT (key, day) DO UPDATE SET spent = budgets.spent + 1 RETURNING spent",
            &values![key, day(now)],
        )?
        .ok_or(Error::Absent("budget"))?;
    Ok(u32::try_from(row.int()?).unwrap_or(u32::MAX))
}
