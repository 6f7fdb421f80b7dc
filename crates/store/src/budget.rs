//! How much a repository or an author has had today (J5).

use domain::Time;
use domain::budget::day;

use crate::db::Db;
use crate::error::Error;
use crate::values;

/// Counts one more under `key` for the day of `now`, and returns the count.
pub fn spend(db: &mut dyn Db, key: &str, now: Time) -> Result<u32, Error> {
    let mut row = db
        .find(
            "INSERT INTO budgets (key, day, spent) VALUES ($1, $2, 1)
             ON CONFLICT (key, day) DO UPDATE SET spent = budgets.spent + 1 RETURNING spent",
            &values![key, day(now)],
        )?
        .ok_or(Error::Absent("budget"))?;
    Ok(u32::try_from(row.int()?).unwrap_or(u32::MAX))
}
