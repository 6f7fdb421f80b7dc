//! `patchwright replay`: passes a stored delivery through the program, as if it had just come.
//!
//! The operator vouches for the file, so no signature is asked for. It uses the configured store,
//! which knows what was taken before; in a rehearsal a passing one, so that nothing is left behind.

use std::io::Write;
use std::sync::Arc;

use report::redact::Redactor;

use crate::cli;
use crate::complaint::{Complaint, Exit};
use crate::delivery::Stored;
use crate::in_place;
use crate::rehearsal::{Sending, Told};
use crate::settings::{Role, Settings};
use crate::wiring::{self, KeySource};

/// Takes the delivery and works until its job has ended.
pub async fn run(
    command: &cli::Replay,
    settings: &Settings,
    (sending, told): (Sending, Told),
    redactor: &Arc<Redactor>,
    out: &mut dyn Write,
) -> Result<Exit, Complaint> {
    let missing = settings.missing(Role::Worker);
    if !missing.is_empty() {
        return Err(Complaint::about(missing));
    }
    let stored = Stored::read(&command.file, command.forge, command.event.as_deref())?;
    let folder = tempfile::tempdir()?;
    let place = wiring::place(settings, &sending, folder.path());
    let spine = wiring::assemble(settings, place, KeySource::Store, &sending, redactor).await?;
    in_place::deliver(spine, stored, told, out).await
}
