//! `patchwright run`: does the work of one event in place, as a step of a CI pipeline.
//!
//! The platform vouches for the event. Jobs live in a passing store; what must be remembered from
//! run to run stands in the bot's comments on the forge.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::anyhow;
use forge::Host;
use report::redact::Redactor;

use crate::cli;
use crate::complaint::{Complaint, Exit};
use crate::delivery::Stored;
use crate::env::{Environment, variable};
use crate::in_place;
use crate::rehearsal::{Sending, Told};
use crate::settings::{Role, Settings};
use crate::wiring::{self, KeySource};

/// Takes the event and works until its job has ended.
pub async fn run(
    command: &cli::Run,
    settings: &Settings,
    environment: &Environment,
    (sending, told): (Sending, Told),
    redactor: &Arc<Redactor>,
    out: &mut dyn Write,
) -> Result<Exit, Complaint> {
    let missing = settings.missing(Role::Worker);
    if !missing.is_empty() {
        return Err(Complaint::about(missing));
    }
    let stored = event(command, environment)?;
    let folder = tempfile::tempdir()?;
    let place = wiring::passing_place(folder.path());
    let key = key(settings, environment)?;
    if matches!(key, KeySource::Nothing) && settings.store.marker_key.value.0.is_none() {
        writeln!(
            out,
            "MARKER_KEY is not set: what earlier runs wrote cannot be believed, and is not"
        )?;
    }
    let spine = wiring::assemble(settings, place, key, &sending, redactor).await?;
    in_place::deliver(spine, stored, told, out).await
}

/// Reads the event that is named, or else the one that the platform names.
fn event(command: &cli::Run, environment: &Environment) -> Result<Stored, Complaint> {
    let given = environment.plain(&variable::GITHUB_EVENT_NAME).map_err(Complaint::usage)?;
    let name = given.map(|given| webhook_name(&given.value).to_owned());
    let path: Option<PathBuf> =
        command.event.clone().or_else(|| environment.path(&variable::GITHUB_EVENT_PATH));
    let Some(path) = path else {
        let error = anyhow!("there is no event: neither --event nor GITHUB_EVENT_PATH names one");
        return Err(Complaint::usage(error)
            .hint("`patchwright run` is a step of a GitHub Actions workflow"));
    };
    Stored::read(&path, name.as_ref().map(|_| Host::GitHub), name.as_deref())
}

/// Returns the name under which a webhook would send the event: the payload is the same.
fn webhook_name(event: &str) -> &str {
    match event {
        "pull_request_target" => "pull_request",
        other => other,
    }
}

fn key(settings: &Settings, environment: &Environment) -> Result<KeySource, Complaint> {
    if settings.store.marker_key.value.0.is_some() {
        return Ok(KeySource::Nothing);
    }
    let model_key = environment.secret(&variable::LLM_API_KEY).map_err(Complaint::usage)?;
    Ok(model_key.map_or(KeySource::Nothing, |given| KeySource::Derived(given.value)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Stored, Complaint> {
        let environment = Environment::of(variables.iter().copied());
        event(&cli::Run { event: None }, &environment)
    }

    #[test]
    fn the_event_of_a_github_actions_run_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("event.json");
        fs::write(&path, "{}").unwrap();
        let path = path.display().to_string();
        let variables =
            [("GITHUB_EVENT_PATH", path.as_str()), ("GITHUB_EVENT_NAME", "pull_request_target")];
        assert_eq!(read(&variables).unwrap().headers["x-github-event"], "pull_request");
    }

    #[test]
    fn without_an_event_it_says_where_one_comes_from() {
        assert_eq!(read(&[]).unwrap_err().exit, Exit::Usage);
    }
}
