//! How much a repository or an author has had today (J5).

use domain::budget::day;
use domain::{JobId, Time};

use crate::db::Db;
use crate::error::Error;
use crate::{journal, values};

/// The key under which a job remembers its counts. No workflow's key begins like this.
const COUNTED: &str = "engine:budget";

/// Counts a job under each of the keys and returns the counts of the day. A job that was counted
/// before gets the same counts again: what they mean must not change from attempt to attempt.
pub fn charge(db: &mut dyn Db, id: &JobId, token: i64, keys: &[String]) -> Result<Vec<u32>, Error> {
    if let Some(counts) = journal::recall(db, id, COUNTED)? {
        return serde_json::from_value(counts)
            .map_err(|error| Error::Corrupt { what: "count", why: error.to_string() });
    }
    let now = db.now()?;
    let counts: Vec<u32> = keys.iter().map(|key| spend(db, key, now)).collect::<Result<_, _>>()?;
    journal::keep(db, id, token, COUNTED, &counts.clone().into())?;
    Ok(counts)
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
