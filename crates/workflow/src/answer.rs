//! Commands that are answered directly: help, status, cancel; and an honest word for those that
//! this version does not know yet.

use domain::Slot;
use domain::record::StageResult;
use domain::subject::Pace;
use domain::task::{Trigger, Work};
use report::words::{Going, Verb};

use crate::context::Context;
use crate::failure::Failure;
use crate::guard::Asked;
use crate::outcome::{Outcome, Then};

/// The name of the stage.
pub const STAGE: &str = "answer";

/// Lists the commands.
pub async fn help(context: &Context<'_>) -> Result<Outcome, Failure> {
    let asked = Asked::of(context)?;
    let available: Vec<Verb> =
        Verb::ALL.into_iter().filter(|verb| crate::AVAILABLE.contains(&verb.as_str())).collect();
    let words = context.voice.answering(&asked.text).help(&available);
    Ok(say(context, "help", words, Then::Done))
}

/// Tells what is going on here.
pub async fn status(context: &Context<'_>) -> Result<Outcome, Failure> {
    let asked = Asked::of(context)?;
    let job = context.job;
    let jobs = context.desk.work_on(&job.task.subject).await?;
    let now = context.clock.now();
    let going: Vec<Going<'_>> = jobs
        .iter()
        .filter(|other| other.id != job.id)
        .map(|other| Going {
            task: other.task.work.name(),
            state: other.state,
            stage: &other.stage,
            age: now.since(other.updated_at),
            attempt: other.attempt,
        })
        .collect();
    let words = context.voice.answering(&asked.text).status(&going);
    Ok(say(context, "status", words, Then::Done))
}

/// Stops the other jobs of the subject. A change that was closed stops them without a word.
pub async fn cancel(context: &Context<'_>) -> Result<Outcome, Failure> {
    let asked = Asked::of(context)?;
    let job = context.job;
    let jobs = context.desk.work_on(&job.task.subject).await?;
    let work = jobs.iter().filter(|other| other.task.work.pace() == Pace::Work);
    let open = work.filter(|other| !other.state.is_final()).count() as u64;
    let mut outcome = match asked.by {
        Some(_) => {
            let words = context.voice.answering(&asked.text).cancelled(open);
            say(context, "cancel", words, Then::DoneCancellingOthers)
        }
        None => Outcome {
            result: StageResult::success(),
            publications: Vec::new(),
            then: Then::DoneCancellingOthers,
        },
    };
    outcome.result = outcome.result.with("stopped", open);
    Ok(outcome)
}

/// Says that a command is known, and that this version cannot do it.
pub async fn not_yet(context: &Context<'_>) -> Result<Outcome, Failure> {
    let asked = Asked::of(context)?;
    let voice = context.voice.answering(&asked.text);
    let words = match &context.job.task.work {
        // Free text has no verb to name: say what can be asked for instead.
        Work::Respond { .. } => return help(context).await,
        work => voice.cannot_yet(work.name()),
    };
    let why = format!("this version cannot {} yet", context.job.task.work.name());
    Ok(say(context, "answer", words, Then::Failed(why)))
}

/// Returns the slot of the answer: one per question.
pub fn slot(context: &Context<'_>) -> Slot {
    let trigger = &context.job.task.trigger;
    match (trigger.own_name(), trigger) {
        (Some(name), _) => Slot::reply(&name),
        (None, Trigger::Subject) => Slot::reply("opening"),
        (None, Trigger::Comment { .. } | Trigger::Asked) => Slot::reply(&context.job.id.0),
    }
}

fn say(context: &Context<'_>, kind: &str, words: String, then: Then) -> Outcome {
    Outcome {
        result: StageResult::success(),
        publications: vec![context.first_comment(slot(context), kind, words)],
        then,
    }
}
