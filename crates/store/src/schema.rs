//! The schema and how a database comes to have it: numbered migrations that only add, applied under
//! a lock when a process starts.

use domain::Time;

use crate::db::Db;
use crate::error::Error;
use crate::values;

/// One step of the schema. The text is translated for each database; see [`crate::db`].
#[derive(Clone, Copy, Debug)]
pub struct Migration {
    pub version: i64,
    pub name: &'static str,
    pub sql: &'static str,
}

/// All steps in order. A step that was released is never edited; a new one only adds (J8).
pub const MIGRATIONS: [Migration; 2] = [
    Migration { version: 1, name: "spine", sql: include_str!("migrations/0001_spine.sql") },
    Migration { version: 2, name: "batch", sql: include_str!("migrations/0002_batch.sql") },
];

/// The newest schema that this version knows.
pub const KNOWN: i64 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// Applies what is missing and returns the versions that were applied. A newer schema is refused.
pub fn migrate(db: &mut dyn Db, now: Time) -> Result<Vec<i64>, Error> {
    db.lock("patchwright-migrate")?;
    db.execute(
        "CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY, name TEXT NOT NULL, at BIGINT NOT NULL)",
        &[],
    )?;
    let present = version(db)?;
    if present > KNOWN {
        return Err(Error::Newer { found: present, known: KNOWN });
    }
    let mut applied = Vec::new();
    for step in MIGRATIONS.iter().filter(|step| step.version > present) {
        for statement in statements(step.sql) {
            db.execute(statement, &[])?;
        }
        db.execute(
            "INSERT INTO migrations (version, name, at) VALUES ($1, $2, $3)",
            &values![step.version, step.name, now],
        )?;
        applied.push(step.version);
    }
    Ok(applied)
}

/// Returns the version of the schema in the database.
pub fn version(db: &mut dyn Db) -> Result<i64, Error> {
    let mut row = db
        .find("SELECT coalesce(max(version), 0) FROM migrations", &[])?
        .ok_or(Error::Absent("schema"))?;
    row.int()
}

/// Fails if another process has moved the schema beyond what this version knows: a worker that
/// sees this stops claiming, drains and says so (J8).
pub fn check(db: &mut dyn Db) -> Result<(), Error> {
    let found = version(db)?;
    if found > KNOWN { Err(Error::Newer { found, known: KNOWN }) } else { Ok(()) }
}

/// Splits a script at the semicolons that end its lines.
pub fn statements(sql: &str) -> impl Iterator<Item = &str> {
    sql.split(";\n").map(str::trim).filter(|statement| {
        statement
            .lines()
            .any(|line| !line.trim().is_empty() && !line.trim_start().starts_with("--"))
    })
}
