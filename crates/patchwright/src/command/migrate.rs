//! `patchwright migrate`: brings the store's tables up to date, for those who want it done before
//! the program starts.

use std::io::Write;

use anyhow::anyhow;

use crate::complaint::{Complaint, Exit};
use crate::rehearsal::Sending;
use crate::settings::Settings;
use crate::wiring;

/// Opens the store, which brings it up to date, and says what it has now.
pub async fn run(
    settings: &Settings,
    sending: &Sending,
    out: &mut dyn Write,
) -> Result<Exit, Complaint> {
    if let Sending::Rehearsed(_) = sending {
        let error = anyhow!("tables cannot be changed as a rehearsal");
        return Err(Complaint::usage(error).hint("try it on a copy of the data folder: --data DIR"));
    }
    let store = wiring::operators_store(settings).await?;
    let version = store.schema_version().await?;
    writeln!(out, "the store has schema {version}, the newest that this version knows")?;
    Ok(Exit::Done)
}
