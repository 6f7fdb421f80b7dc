//! `patchwright migrate`: brings the store's tables up to date, for those who want it done before
//! the program starts.

use std::io::Write;

use crate::complaint::{Complaint, Exit};
use crate::settings::Settings;
use crate::wiring;

/// Opens the store, which brings it up to date, and says what it has now.
pub async fn run(settings: &Settings, out: &mut dyn Write) -> Result<Exit, Complaint> {
    let store = wiring::operators_store(settings).await?;
    let version = store.schema_version().await?;
    writeln!(out, "the store has schema {version}, the newest that this version knows")?;
    Ok(Exit::Done)
}
