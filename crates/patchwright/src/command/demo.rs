//! `patchwright demo`: the smallest whole story, with nothing configured and no network.
//!
//! A person asks for help in a conversation that is kept in a folder. The question goes the way of
//! every event: it is routed, becomes a durable job, is answered by the engine and published once.

use std::io::Write;
use std::sync::Arc;

use anyhow::anyhow;
use domain::{Clock, Decision, Policy, route};
use engine::{Connection, Connections, Ingest, Tempo};
use forge::local::{LOGIN, Local};
use forge::{Host, Ours};
use report::redact::Redactor;

use crate::clock::WallClock;
use crate::complaint::{Complaint, Exit};
use crate::in_place;
use crate::rehearsal;
use crate::settings::Settings;
use crate::wiring::{self, Spine};

const REPOSITORY: &str = "sample/greeter";
const PERSON: &str = "alice";

const CLOSING: &str = "\
What happened: the issue became an event, the event a durable job, the job an answer, and the answer
was published exactly once. On a forge the event is a signed delivery; all else is the same.

To see it on your own repository, as an account of its own:

  GITHUB_TOKEN=… WEBHOOK_SECRET=… patchwright serve

and let the repository's webhook call /api/webhook. `patchwright doctor` says what is missing.
";

/// Plays the story and shows it as a person would see it.
pub async fn run(
    settings: &Settings,
    redactor: &Arc<Redactor>,
    out: &mut dyn Write,
) -> Result<Exit, Complaint> {
    writeln!(
        out,
        "This is Patchwright on a sample repository, in a temporary folder, with no network."
    )?;
    writeln!(
        out,
        "No model is asked: what this version does ({}) needs none.\n",
        workflow::AVAILABLE.join(", ")
    )?;
    let folder = tempfile::tempdir()?;
    let clock: Arc<dyn Clock> = Arc::new(WallClock);
    let ours = Arc::new(Ours::new("demo", None));
    let conversations = folder.path().join("conversations");
    let local = Arc::new(Local::new(
        conversations,
        REPOSITORY,
        ours,
        Arc::clone(redactor),
        Arc::clone(&clock),
    ));

    let event = local.opens_issue(PERSON, "How does this work?", &format!("@{LOGIN} help")).await?;
    let number = event.subject().number;
    let task = match route(&event, &Policy::for_bot(LOGIN)) {
        Decision::Do(task) => *task,
        Decision::Ignored(ignored) => {
            return Err(anyhow!("the question was ignored: {}", ignored.reason).into());
        }
        Decision::Refused(refused) => {
            return Err(anyhow!("the question was refused: {}", refused.reason).into());
        }
    };

    let origin = local.repo().origin.clone();
    let speaker = Arc::new(wiring::speaker(settings, [(origin.clone(), Host::Local)]));
    let store =
        wiring::open_store(settings, wiring::passing_place(folder.path()), &speaker).await?;
    let read = Arc::clone(&local) as Arc<dyn forge::Read>;
    let connection = Connection { origin, host: Host::Local, read, write: Arc::clone(&local) as _ };
    let ingest = Ingest::new(store.clone(), Vec::new(), Arc::clone(redactor), Arc::clone(&clock));
    let job = ingest.take_task(task, event.meaning(), "demo").await?;
    let connections = Connections::new([connection]);
    let spine =
        Spine { store, ingest, connections, speaker, tempo: Tempo::default(), clock, code: None };
    let (_, told) = rehearsal::none();
    let job = in_place::until_ended(spine, &job, told, out).await?;

    for line in local.thread(number).await?.lines() {
        writeln!(out, "{}", format!("  {line}").trim_end())?;
    }
    writeln!(out)?;
    let exit = in_place::report(&job, out)?;
    writeln!(out, "\n{CLOSING}")?;
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Environment;
    use crate::settings::Flags;

    #[tokio::test(flavor = "multi_thread")]
    async fn the_demo_shows_a_question_and_its_answer_with_nothing_configured() {
        let folder = tempfile::tempdir().unwrap();
        let mut flags = Flags::default();
        flags.set("--data", Some(folder.path().display()));
        let settings = Settings::load(&flags, &Environment::default()).unwrap();
        let mut out = Vec::new();
        let exit = run(&settings, &Arc::new(Redactor::default()), &mut out).await.unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(exit, Exit::Done, "{text}");
        let asked = text.find("alice:\n  @patchwright help").expect("the question is shown");
        let answered =
            text.find("patchwright:\n  I am `@patchwright`").expect("the answer is shown");
        assert!(asked < answered, "{text}");
        assert!(text.contains("No model is asked"), "{text}");
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            0,
            "it leaves nothing behind"
        );
    }
}
