//! `patchwright jobs`: what the store knows of jobs, and an operator's orders.

use std::fmt::Write as _;
use std::io::Write;

use domain::job::State;
use domain::{Job, JobId, Time};
use jiff::Timestamp;
use store::Store;
use store::job::{Detail, Filter};
use store::journal::Entry;

use crate::cli;
use crate::complaint::{Complaint, Exit};
use crate::rehearsal::Sending;
use crate::settings::Settings;
use crate::wiring;

/// How many entries of a record are shown at most; the admin API has the rest.
const MOST_RECORDS: u32 = 1_000;

/// Does what was asked for; in a rehearsal orders are only tried on the job's state.
pub async fn run(
    command: &cli::Jobs,
    settings: &Settings,
    sending: &Sending,
    out: &mut dyn Write,
) -> Result<Exit, Complaint> {
    let store = &wiring::operators_store(settings).await?;
    match (command, sending) {
        (cli::Jobs::List { state, limit }, _) => list(store, *state, *limit, out).await,
        (cli::Jobs::Show { id }, _) => show(store, &JobId(id.clone()), out).await,
        (cli::Jobs::Cancel { id }, Sending::Rehearsed(_)) => {
            would(store, id, State::Cancelled, out).await
        }
        (cli::Jobs::Retry { id }, Sending::Rehearsed(_)) => {
            would(store, id, State::Queued, out).await
        }
        (cli::Jobs::Cancel { id }, Sending::Real) => {
            let state =
                store.cancel(&JobId(id.clone())).await.map_err(|error| refused(error, id))?;
            match state {
                State::Running => writeln!(out, "{id} will stop as soon as its worker notices")?,
                _ => writeln!(out, "{id} is {state}")?,
            }
            Ok(Exit::Done)
        }
        (cli::Jobs::Retry { id }, Sending::Real) => {
            store.retry(&JobId(id.clone())).await.map_err(|error| refused(error, id))?;
            writeln!(out, "{id} is queued again")?;
            Ok(Exit::Done)
        }
    }
}

/// Says what an order would make of a job.
async fn would(
    store: &Store,
    id: &str,
    next: State,
    out: &mut dyn Write,
) -> Result<Exit, Complaint> {
    let job = store.job(&JobId(id.to_owned())).await?;
    let Some(job) = job else { return Err(refused(store::Error::Absent("job"), id)) };
    // An order to run again is for jobs that have ended; a running one only loses its worker.
    let possible = job.state.may_become(next) && (next != State::Queued || job.state.is_final());
    if possible {
        writeln!(out, "{id} is {} and would become {next}", job.state)?;
        return Ok(Exit::Done);
    }
    let wanted = if next == State::Queued { "retried" } else { next.as_str() };
    Err(refused(store::Error::WrongState { found: job.state, wanted }, id))
}

async fn list(
    store: &Store,
    state: Option<State>,
    limit: u32,
    out: &mut dyn Write,
) -> Result<Exit, Complaint> {
    let jobs = store.jobs(Filter { state, limit, ..Filter::default() }).await?;
    if jobs.is_empty() {
        writeln!(out, "no jobs")?;
    }
    for job in &jobs {
        writeln!(out, "{}", line(job))?;
    }
    if jobs.len() as u64 == u64::from(limit) {
        writeln!(out, "(the newest {limit}; --limit shows more)")?;
    }
    Ok(Exit::Done)
}

async fn show(store: &Store, id: &JobId, out: &mut dyn Write) -> Result<Exit, Complaint> {
    let Some(detail) = store.detail(id).await? else {
        return Err(refused(store::Error::Absent("job"), &id.0));
    };
    let records = store.records(id, 0, MOST_RECORDS).await?;
    out.write_all(full(&detail, &records).as_bytes())?;
    Ok(Exit::Done)
}

fn refused(error: store::Error, id: &str) -> Complaint {
    let hint = match &error {
        store::Error::Absent(_) => Some("`patchwright jobs list` shows the ids".to_owned()),
        store::Error::WrongState { .. } => {
            Some(format!("`patchwright jobs show {id}` tells its state"))
        }
        _ => None,
    };
    let complaint = Complaint::from(
        anyhow::Error::from(error).context(format!("nothing was done about job {id}")),
    );
    match hint {
        Some(hint) => complaint.hint(hint),
        None => complaint,
    }
}

fn line(job: &Job) -> String {
    let (state, task) = (job.state.as_str(), job.task.work.name());
    let subject = visible(&job.task.subject.to_string());
    let title = visible(&job.task.title);
    format!("{}  {:<10} {task:<8} {subject}  {}  {title}", job.id, state, moment(job.updated_at))
}

fn full(detail: &Detail, records: &[Entry]) -> String {
    let job = &detail.job;
    let mut text = String::new();
    let mut put = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<10} {}", visible(value));
    };
    put("job", &job.id.0);
    put("state", job.state.as_str());
    put("task", job.task.work.name());
    put("subject", &job.task.subject.to_string());
    put("title", &job.task.title);
    put("asked by", &job.task.actor.login);
    put("event", &job.event_type);
    put("stage", &job.stage);
    put("attempt", &job.attempt.to_string());
    put("created", &moment(job.created_at));
    put("updated", &moment(job.updated_at));
    if !job.state.is_final() {
        put("runs at", &moment(job.run_at));
    }
    if let Some(error) = &job.error {
        put("reason", error);
    }
    text.push_str("\nrecord\n");
    for entry in records {
        // A value of ours: it can always be written as JSON.
        let record = serde_json::to_string(&entry.record).unwrap_or_default();
        let _ = writeln!(text, "  {} {}", moment(entry.at), visible(&record));
    }
    if records.len() as u64 == u64::from(MOST_RECORDS) {
        let _ = writeln!(text, "  (only the first {MOST_RECORDS} entries are shown)");
    }
    text
}

fn moment(time: Time) -> String {
    Timestamp::from_millisecond(time.0)
        .map_or_else(|_| time.0.to_string(), |moment| moment.to_string())
}

/// Shows text of others on a terminal: control characters could move its cursor or hide lines.
fn visible(text: &str) -> String {
    let is_odd = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .flat_map(|c| {
            let escaped = is_odd(c).then(|| c.escape_default());
            let plain = (!is_odd(c)).then_some(c);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Environment;
    use crate::settings::Flags;

    #[test]
    fn text_of_others_cannot_steer_the_terminal() {
        assert_eq!(visible("a\u{1b}[2Jb\u{202e}c\nd é"), "a\\u{1b}[2Jb\\u{202e}c\\nd é");
    }

    #[test]
    fn moments_are_shown_in_utc() {
        assert_eq!(moment(Time(0)), "1970-01-01T00:00:00Z");
        assert_eq!(moment(Time(i64::MAX)), i64::MAX.to_string());
    }

    /// Runs a command on an empty store.
    async fn on_nothing(command: cli::Jobs, sending: &Sending) -> Result<String, Complaint> {
        let folder = tempfile::tempdir().unwrap();
        let mut flags = Flags::default();
        flags.set("--data", Some(folder.path().display()));
        let settings = Settings::load(&flags, &Environment::default()).unwrap();
        let mut out = Vec::new();
        run(&command, &settings, sending, &mut out).await?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_empty_store_has_no_jobs() {
        let list = cli::Jobs::List { state: None, limit: 50 };
        assert_eq!(on_nothing(list, &Sending::Real).await.unwrap(), "no jobs\n");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn orders_about_a_job_that_is_not_there_fail_also_in_a_rehearsal() {
        let (rehearsed, _told) = crate::rehearsal::begin();
        for sending in [Sending::Real, rehearsed] {
            for command in
                [cli::Jobs::Cancel { id: "x".to_owned() }, cli::Jobs::Retry { id: "x".to_owned() }]
            {
                let complaint = on_nothing(command, &sending).await.unwrap_err();
                assert_eq!(complaint.exit, Exit::Failure);
            }
        }
    }
}
