//! Works until one job has ended and everything that it published is sent.
//!
//! `run`, `replay` and `demo` use the same engine as the server, for the time of one job.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use domain::job::State;
use domain::{Job, JobId};
use engine::ingest::Belief;
use engine::{Answer, Engine};

use crate::complaint::{Complaint, Exit};
use crate::delivery::Stored;
use crate::rehearsal::Told;
use crate::wiring::Spine;

/// How long to wait for a wake-up before looking anyway.
const LOOK: Duration = Duration::from_millis(250);

/// Takes a delivery that somebody vouches for, and works until its job has ended.
pub async fn deliver(
    spine: Spine,
    stored: Stored,
    told: Told,
    out: &mut dyn Write,
) -> Result<Exit, Complaint> {
    learn_accounts(&spine).await;
    let answer = spine.ingest.take(stored.headers, stored.body, None, Belief::Unchecked).await?;
    match answer {
        Answer::Accepted { job, repeated: false } => {
            let store = spine.store.clone();
            let job = until_ended(spine, &job, told, out).await?;
            let exit = report(&job, out)?;
            unpublished(&store.given_up_of(&job.id).await?, exit)
        }
        Answer::Accepted { job, repeated: true } => {
            writeln!(out, "taken before, as job {job}")?;
            Ok(Exit::Done)
        }
        Answer::Ignored { reason } => {
            writeln!(out, "ignored: {reason}")?;
            Ok(Exit::Done)
        }
        Answer::Refused { reason, .. } => {
            writeln!(out, "refused: {reason}")?;
            Ok(Exit::Done)
        }
        Answer::Malformed { reason, .. } | Answer::NotJson { reason, .. } => {
            Err(Complaint::usage(anyhow!("the delivery cannot be read: {reason}")))
        }
        Answer::Unauthentic => Err(Complaint::usage(anyhow!("the delivery's signature is wrong"))),
        Answer::NoConnection { host } => {
            let error = anyhow!("no connection to {host} is configured");
            Err(Complaint::usage(error).hint("`patchwright config show` prints what is"))
        }
    }
}

/// Asks each forge who we are, so that our own words do not trigger us. A forge that is away now is
/// asked again by the job itself.
async fn learn_accounts(spine: &Spine) {
    for connection in spine.connections.iter() {
        if let Err(error) = engine::learn_account(&spine.ingest, connection).await {
            tracing::warn!(origin = %connection.origin, %error, "our own account could not be read");
        }
    }
}

/// Runs the engine until the job has ended; what a rehearsal tells is printed meanwhile.
pub async fn until_ended(
    spine: Spine,
    id: &JobId,
    mut told: Told,
    out: &mut dyn Write,
) -> Result<Job, Complaint> {
    let Spine { store, ingest, connections, speaker, tempo, clock, code } = spine;
    let mut changes = store.changes();
    let redactor = Arc::clone(ingest.redactor());
    let mirrors = code.as_ref().map(|code| code.mirrors.clone());
    let engine =
        Engine::start(store.clone(), connections, clock.clone(), speaker, tempo, redactor, mirrors)
            .await?;
    let job = loop {
        changes.borrow_and_update();
        let job = store.job(id).await?.ok_or(store::Error::Absent("job"))?;
        if job.state.is_final() && store.unsent_of(id).await? == 0 {
            break job;
        }
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return Err(store::Error::Stopped.into()) },
            () = clock.sleep_until(clock.now() + LOOK) => {}
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                engine.shutdown().await;
                let error = anyhow!("interrupted while job {id} was {}", job.state);
                return Err(Complaint::from(error).hint("what was already sent stays; nothing else is kept"));
            }
        }
        tell(&mut told, out)?;
    };
    engine.shutdown().await;
    tell(&mut told, out)?;
    Ok(job)
}

/// Says how a job ended, and what that means for the caller.
pub fn report(job: &Job, out: &mut dyn Write) -> Result<Exit, Complaint> {
    let why = job.error.as_deref().map(|why| format!(": {why}")).unwrap_or_default();
    writeln!(out, "{} on {}: {}{why}", job.task.work.name(), job.task.subject, job.state)?;
    Ok(match job.state {
        State::Done | State::Skipped | State::Superseded => Exit::Done,
        State::Failed | State::Dead | State::Cancelled | State::Queued | State::Running => {
            Exit::Failure
        }
    })
}

/// Complains about what somebody was to see and cannot: a run that could not speak has failed, however
/// well its job went. The usual reason is the read-only token of a change from a fork.
fn unpublished(reasons: &[String], exit: Exit) -> Result<Exit, Complaint> {
    let Some(reason) = reasons.first() else { return Ok(exit) };
    let error = anyhow!(
        "{} could not be published: {reason}",
        match reasons.len() {
            1 => "the answer".to_owned(),
            several => format!("{several} publications"),
        }
    );
    Err(Complaint::from(error).hint(
        "the token may only read, as it does for a change from a fork: \
         give the job write permission for issues and pull requests, or run it as a server",
    ))
}

fn tell(told: &mut Told, out: &mut dyn Write) -> Result<(), Complaint> {
    while let Some(words) = told.already() {
        out.write_all(words.as_bytes())?;
    }
    Ok(())
}
