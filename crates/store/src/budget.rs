//! How much a repository or an author has had today (J5).

use domain::budget::day;
use domain::{JobId, Time};

use crate::db::Db;
use crate::error::Error;
use crate::{journal, values};

/// The key under which a job remembers that it was counted.
const COUNTED: &str = "budget";

/// Counts a job under each of the keys and returns the counts of the day; `None` if an earlier
/// attempt of it was counted already.
pub fn charge(
    db: &mut dyn Db,
    id: &JobId,
    token: i64,
    keys: &[String],
) -> Result<Option<Vec<u32>>, Error> {
    if journal::recall(db, id, COUNTED)?.is_some() {
        return Ok(None);
    }
    journal::keep(db, id, token, COUNTED, &true.into())?;
    let now = db.now()?;
    keys.iter().map(|key| spend(db, key, now)).collect::<Result<_, _>>().map(Some)
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
