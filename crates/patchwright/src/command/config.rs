//! `patchwright config`: the configuration in force, whether it is enough, and one to start from.

use std::io::Write;

use crate::complaint::{Complaint, Exit};
use crate::settings::{Role, Settings, show};

/// Prints every setting with who set it.
pub fn show(settings: &Settings, out: &mut dyn Write) -> Result<Exit, Complaint> {
    out.write_all(show::resolved(settings).as_bytes())?;
    Ok(Exit::Done)
}

/// Prints a file with every setting explained.
pub fn example(out: &mut dyn Write) -> Result<Exit, Complaint> {
    out.write_all(show::example().as_bytes())?;
    Ok(Exit::Done)
}

/// Says whether `serve` could start, and what is unwise.
pub fn check(settings: &Settings, out: &mut dyn Write) -> Result<Exit, Complaint> {
    match &settings.file {
        Some(path) => writeln!(out, "read {}", path.display())?,
        None => writeln!(out, "no configuration file; defaults and environment only")?,
    }
    for connection in &settings.connections {
        writeln!(out, "connection {}: {} at {}", connection.name, connection.host, connection.url)?;
    }
    for name in &settings.left_out {
        writeln!(out, "connection {name}: not served because of PLATFORM")?;
    }
    for name in &settings.not_used_yet {
        writeln!(out, "{name}: not used yet by this version")?;
    }
    for warning in &settings.warnings {
        writeln!(out, "warning: {warning}")?;
        for hint in &warning.hints {
            writeln!(out, "hint: {hint}")?;
        }
    }
    let missing = settings.missing(Role::All);
    if !missing.is_empty() {
        return Err(Complaint::about(missing));
    }
    writeln!(out, "the configuration is complete")?;
    Ok(Exit::Done)
}
