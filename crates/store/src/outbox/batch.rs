//! Rows that travel together (E3). Each stays a row with its own fate: a batch is only transport.

use super::{Begun, Due, Sending, due, hold};
use crate::db::Db;
use crate::error::Error;
use crate::values;

/// Returns the rows that travel with a due row: those right behind it, of its job and batch, of
/// which nothing stands anywhere yet. At most `most`, in order.
pub fn company(
    db: &mut dyn Db,
    sending: &Sending,
    first: &Due,
    most: usize,
) -> Result<Vec<Due>, Error> {
    let now = db.now()?;
    hold(db, sending, now)?;
    let rows = db.query(
        "SELECT seq, job_id, body, tries, state, tried_at, looks, created_at, try_at, batch FROM outbox
         WHERE lane = $1 AND state IN ('waiting', 'trying') AND aside = 0 AND seq > $2 ORDER BY seq LIMIT $3",
        &values![&sending.lane.0, first.seq, i64::try_from(most).unwrap_or(i64::MAX)],
    )?;
    let mut company = Vec::new();
    for row in rows {
        match due(db, row, now)? {
            Some(next)
                if next.may_travel() && (&next.job, &next.batch) == (&first.job, &first.batch) =>
            {
                company.push(next);
            }
            // Whatever stands in between is sent in its turn (E4).
            _ => break,
        }
    }
    Ok(company)
}

/// Marks rows as being sent together, before their request leaves (E2): all of them or none.
pub fn begin_together(db: &mut dyn Db, sending: &Sending, seqs: &[i64]) -> Result<Begun, Error> {
    let now = db.now()?;
    db.lock(&sending.lane.0)?;
    let until = hold(db, sending, now)?;
    for seq in seqs {
        let sql = "SELECT 1 FROM outbox WHERE seq = $1 AND state = 'waiting'";
        if db.find(sql, &values![*seq])?.is_none() {
            return Ok(Begun::Withdrawn);
        }
    }
    for seq in seqs {
        db.execute(
            "UPDATE outbox SET state = 'trying', tries = tries + 1, tried_at = $2, looks = 0 WHERE seq = $1",
            &values![*seq, now],
        )?;
    }
    Ok(Begun::Leave(until.since(now)))
}

/// Divides a batch that was refused as a whole: its halves travel apart, a single row alone. So the
/// one that is to blame is found, and none is lost. Nothing of them had an effect.
pub fn divide(db: &mut dyn Db, sending: &Sending, seqs: &[i64]) -> Result<(), Error> {
    let now = db.now()?;
    db.lock(&sending.lane.0)?;
    hold(db, sending, now)?;
    let (left, right) = seqs.split_at(seqs.len() / 2);
    for half in [left, right] {
        let name = match half {
            [first, _, ..] => Some(format!("half:{first}")),
            [_] | [] => None,
        };
        for seq in half {
            db.execute(
                "UPDATE outbox SET state = 'waiting', batch = $2 WHERE seq = $1 AND state = 'trying'",
                &values![*seq, name.clone()],
            )?;
        }
    }
    Ok(())
}
