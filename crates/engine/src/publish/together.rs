//! Inline comments that travel as one review (E3). A batch that the forge refuses is divided until
//! the one that is to blame stands alone, and that one finds its next best place; the division is
//! kept in the store, so whoever dies in between changes nothing.

use domain::Publication;
use forge::Error as ForgeError;
use store::Error;
use store::outbox::{Begun, Due, Sending, Try};

use super::{MARGIN, Publisher};

/// What became of rows that may travel together.
pub(super) enum Travelled {
    /// There is nobody to travel with: the row is sent by itself.
    Alone,
    /// They were sent, given up or divided: the next row may be due.
    Together,
    /// They wait.
    NotNow,
}

impl Publisher {
    /// Sends a row together with those that travel with it.
    pub(super) async fn send_together(
        &self,
        sending: &Sending,
        first: &Due,
    ) -> Result<Travelled, Error> {
        let origin = &first.publication.subject.repo.origin;
        let Some(connection) = self.connections.find(origin) else { return Ok(Travelled::Alone) };
        let together = connection.write.together();
        if together.most < 2 {
            return Ok(Travelled::Alone);
        }
        let mut rows = vec![first.clone()];
        rows.extend(self.store.company(sending, first, together.most - 1).await?);
        if rows.len() < 2 {
            return Ok(Travelled::Alone);
        }
        let deadline = together.deadline(rows.len()) + MARGIN;
        self.store.stretch_lane(sending, deadline).await?;
        let seqs: Vec<_> = rows.iter().map(|row| row.seq).collect();
        let asked = self.clock.monotonic();
        let Begun::Leave(left) = self.store.begin_together(sending, seqs.clone()).await? else {
            // Some were withdrawn meanwhile: those that are left are found anew.
            return Ok(Travelled::Together);
        };
        let left = left.saturating_sub(self.clock.monotonic().saturating_sub(asked));
        let publications: Vec<Publication> =
            rows.iter().map(|row| row.publication.clone()).collect();
        let sent = self.within(left, connection.write.send_together(&publications)).await;
        match sent {
            Some(Ok(receipts)) => {
                for (row, receipt) in rows.iter().zip(receipts) {
                    self.store.settle_row(sending, row, Try::Sent(receipt)).await?;
                }
                Ok(Travelled::Together)
            }
            Some(Err(ForgeError::Refused { why, .. })) => {
                tracing::info!(lane = %sending.lane, rows = rows.len(), %why, "a batch was refused and is divided");
                self.store.divide_batch(sending, seqs).await?;
                Ok(Travelled::Together)
            }
            Some(Err(error)) => {
                let mut goes_on = true;
                for row in &rows {
                    let outcome = self.failed(sending, row, &error).await?;
                    goes_on &= matches!(outcome, Try::GivenUp(_));
                    self.store.settle_row(sending, row, outcome).await?;
                }
                Ok(if goes_on { Travelled::Together } else { Travelled::NotNow })
            }
            None => {
                for row in &rows {
                    self.store.settle_row(sending, row, self.cut_short()).await?;
                }
                Ok(Travelled::NotNow)
            }
        }
    }
}
