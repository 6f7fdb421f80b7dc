//! Holding back what a shared outage would waste (J6): a breaker per endpoint or credential, kept
//! where all processes see it.
//!
//! While a breaker's `until` lies ahead, nothing that needs the endpoint is claimed. When it has
//! passed, the first claim is the probe: it moves `until` ahead once more, so that nobody joins it.
//! A success during the probe closes the breaker; another failure opens it for longer; a probe that
//! found out neither, or died, lets the next one through at once. A success before that says
//! nothing: it may have begun before the endpoint asked for a pause.

use std::time::Duration;

use domain::Time;

use crate::db::Db;
use crate::error::Error;
use crate::values;

/// How long a probe may take before another one is let through.
pub const PROBE: Duration = Duration::from_secs(45);

/// The first pause after a failure, and the longest.
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(2);

/// An endpoint that is away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaker {
    pub endpoint: String,
    pub reason: String,
    pub since: Time,
    pub until: Time,
}

/// Opens the breaker, until a moment that the endpoint named or for a growing, jittered pause.
pub fn open(
    db: &mut dyn Db,
    endpoint: &str,
    reason: &str,
    until: Option<Time>,
    now: Time,
) -> Result<Time, Error> {
    let known =
        db.find("SELECT failures, since FROM breakers WHERE endpoint = $1", &values![endpoint])?;
    let (failures, since) = match known {
        Some(mut row) => (row.int()? + 1, row.time()?),
        None => (1, now),
    };
    let pause =
        FIRST * 2u32.saturating_pow(u32::try_from(failures - 1).unwrap_or(u32::MAX).min(10));
    let until = match until {
        Some(until) => until + jitter(Duration::from_secs(2))?,
        None => now + pause.min(LONGEST) + jitter(pause.min(LONGEST) / 4)?,
    };
    db.execute(
        "INSERT INTO breakers (endpoint, reason, failures, since, until) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (endpoint) DO UPDATE SET reason = excluded.reason, failures = excluded.failures,
           until = CASE WHEN breakers.until > excluded.until AND breakers.probing = 0
             THEN breakers.until ELSE excluded.until END,
           probing = 0",
        &values![endpoint, reason, failures, since, until],
    )?;
    Ok(until)
}

/// Lets the caller through as the probe of a breaker whose time has passed.
pub fn probe(db: &mut dyn Db, endpoint: &str, now: Time) -> Result<(), Error> {
    db.execute(
        "UPDATE breakers SET until = $2, probing = 1 WHERE endpoint = $1 AND until <= $3",
        &values![endpoint, now + PROBE, now],
    )?;
    Ok(())
}

/// Closes the breaker if it is being probed: the endpoint has answered.
pub fn answered(db: &mut dyn Db, endpoint: &str) -> Result<(), Error> {
    if db.execute("DELETE FROM breakers WHERE endpoint = $1 AND probing = 1", &values![endpoint])?
        > 0
    {
        db.wake();
    }
    Ok(())
}

/// Ends a probe that found out nothing, such as a look for what is not listed yet: the next claim
/// is the next probe.
pub fn undecided(db: &mut dyn Db, endpoint: &str, now: Time) -> Result<(), Error> {
    let ended = db.execute(
        "UPDATE breakers SET until = $2, probing = 0 WHERE endpoint = $1 AND probing = 1",
        &values![endpoint, now],
    )?;
    if ended > 0 {
        db.wake();
    }
    Ok(())
}

/// Ends every probe, because the process of one may have died: the next claim is the next probe.
pub fn abandoned(db: &mut dyn Db, now: Time) -> Result<(), Error> {
    db.execute("UPDATE breakers SET until = $1, probing = 0 WHERE probing = 1", &values![now])?;
    Ok(())
}

/// Lists what is away.
pub fn list(db: &mut dyn Db) -> Result<Vec<Breaker>, Error> {
    let rows =
        db.query("SELECT endpoint, reason, since, until FROM breakers ORDER BY endpoint", &[])?;
    rows.into_iter()
        .map(|mut row| {
            Ok(Breaker {
                endpoint: row.text()?,
                reason: row.text()?,
                since: row.time()?,
                until: row.time()?,
            })
        })
        .collect()
}

/// Returns a random part of `most`, so that a fleet does not come back as one.
fn jitter(most: Duration) -> Result<Duration, Error> {
    let mut random = [0u8; 2];
    getrandom::fill(&mut random)
        .map_err(|error| Error::Refused(format!("no randomness: {error}")))?;
    Ok(most * u32::from(u16::from_le_bytes(random)) / u32::from(u16::MAX))
}
