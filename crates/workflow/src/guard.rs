//! The first stage of every job: is it still true, may it be asked, and a sign that it was seen.
//!
//! A delivery only says that something happened (T1). Here the triggering object is read from the
//! forge by its id, and from then on author and text are the forge's.

use domain::command;
use domain::event::Place;
use domain::publication::{Effect, ReactionTarget, Sign};
use domain::record::StageResult;
use domain::route;
use domain::task::{Trigger, Work};
use domain::{Actor, Publication, Slot};
use serde::{Deserialize, Serialize};

use crate::answer;
use crate::context::Context;
use crate::failure::Failure;
use crate::outcome::{Outcome, Then};

/// What the guard hands to the stage that answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The text as the forge has it now; empty where nobody wrote one.
    pub text: String,
    /// Who asked, by the forge's account; missing where nobody did.
    pub by: Option<Actor>,
}

impl Asked {
    /// Reads what the guard handed on.
    pub fn of(context: &Context<'_>) -> Result<Self, Failure> {
        let carried =
            context.checkpoint.map(|checkpoint| checkpoint.value.clone()).unwrap_or_default();
        serde_json::from_value(carried)
            .map_err(|error| Failure::Bug(format!("the guard's checkpoint: {error}")))
    }
}

/// Reads the trigger again, checks who asks, and acknowledges.
pub async fn acknowledge(context: &Context<'_>) -> Result<Outcome, Failure> {
    let task = &context.job.task;
    let asked = match read_again(context).await? {
        Reading::Stands(asked) => asked,
        Reading::Gone(why) => return Ok(Outcome::skipped(why)),
    };
    let available = crate::AVAILABLE.contains(&task.work.name());
    if !available && asked.by.is_none() {
        return Ok(Outcome::skipped(format!("this version cannot {} yet", task.work.name())));
    }
    if available
        && task.work.needs_write()
        && let Some(actor) = &asked.by
    {
        let permission = context.forge.permission(&task.subject.repo, actor).await;
        let permission =
            permission.map_err(|error| Failure::of_forge(&task.subject.repo.origin, &error))?;
        if !permission.may_write() {
            return Ok(refuse(context, &asked, actor));
        }
    }
    let carry = serde_json::to_value(&asked).map_err(|error| {
        Failure::Bug(format!("the guard's checkpoint cannot be written: {error}"))
    })?;
    Ok(Outcome {
        result: StageResult::success(),
        publications: sign(context).into_iter().collect(),
        then: Then::Stage { name: crate::after_guard(&task.work), carry },
    })
}

enum Reading {
    Stands(Asked),
    /// There is nothing to do any more, and this is why.
    Gone(String),
}

async fn read_again(context: &Context<'_>) -> Result<Reading, Failure> {
    let task = &context.job.task;
    let origin = &task.subject.repo.origin;
    let said = match &task.trigger {
        Trigger::Asked => return Ok(Reading::Stands(Asked::default())),
        // A payload without a comment id cannot be read again: it may only ask for words.
        Trigger::Comment { id: None, body, .. } => {
            if task.work.needs_write() {
                let why = "the delivery names no comment that could be read again".to_owned();
                return Ok(Reading::Gone(why));
            }
            return Ok(Reading::Stands(Asked { text: body.clone(), by: Some(task.actor.clone()) }));
        }
        Trigger::Comment { id: Some(id), place, .. } => {
            context.forge.comment(&task.subject, *id, place).await
        }
        Trigger::Subject => context.forge.opening(&task.subject).await,
    };
    let said = match said {
        Ok(said) => said,
        Err(forge::Error::Gone { what }) => return Ok(Reading::Gone(format!("{what} is gone"))),
        Err(error) => return Err(Failure::of_forge(origin, &error)),
    };
    if task.trigger == Trigger::Subject && task.work == Work::Cancel {
        return Ok(match said.open {
            Some(true) => Reading::Gone("it is open again".to_owned()),
            _ => Reading::Stands(Asked::default()),
        });
    }
    let asks = command::parse(&said.body, context.bot_names);
    let asks = asks.map(|command| route::work(command, task.subject.kind));
    match (&task.trigger, asks) {
        // Done to the subject, not said: whoever did it asks.
        (Trigger::Subject, _) if task.work.needs_write() => {
            Ok(Reading::Stands(Asked { text: said.body, by: Some(task.actor.clone()) }))
        }
        // Something happened to the subject, and nobody asked for it in words.
        (Trigger::Subject, None) if task.work != Work::Help && task.work != Work::Status => {
            Ok(Reading::Stands(Asked::default()))
        }
        (_, None) => Ok(Reading::Gone("the text does not ask for anything any more".to_owned())),
        (_, Some(_)) if said.author.is_bot() => Ok(Reading::Gone("bots do not command".to_owned())),
        (_, Some(work)) if work.name() != task.work.name() => {
            Ok(Reading::Gone(format!("the text asks for `{}` by now", work.name())))
        }
        (Trigger::Subject, Some(_)) => {
            Ok(Reading::Stands(Asked { text: said.body, by: Some(said.author) }))
        }
        // Whoever edited a comment into a command is the one who asks; but that it was edited at
        // all, the forge must say.
        (_, Some(_)) => {
            let edited = said.updated_at > said.created_at;
            let by =
                if edited && task.actor.id.is_some() { task.actor.clone() } else { said.author };
            Ok(Reading::Stands(Asked { text: said.body, by: Some(by) }))
        }
    }
}

fn refuse(context: &Context<'_>, asked: &Asked, actor: &Actor) -> Outcome {
    let command = context.job.task.work.name();
    let words = context.voice.answering(&asked.text).needs_write(&actor.login, command);
    let why = format!("{} may not write to the repository", actor.login);
    Outcome {
        result: StageResult {
            success: false,
            comment: Some(why.clone()),
            fields: serde_json::Map::new(),
        },
        publications: vec![context.first_comment(answer::slot(context), "refusal", words)],
        then: Then::Failed(why),
    }
}

/// A small sign on what triggered us. A review's text cannot carry one.
fn sign(context: &Context<'_>) -> Option<Publication> {
    let task = &context.job.task;
    let on = match &task.trigger {
        Trigger::Comment { place: Place::Review { .. }, .. }
        | Trigger::Comment { id: None, .. }
        | Trigger::Asked => return None,
        Trigger::Comment { id: Some(id), place, .. } => {
            ReactionTarget::Comment { id: *id, place: place.clone() }
        }
        // What merely happened is not answered with a sign on somebody's text.
        Trigger::Subject if task.work == Work::Cancel => return None,
        Trigger::Subject => ReactionTarget::Subject,
    };
    let name = task.trigger.own_name().unwrap_or_else(|| "opening".to_owned());
    Some(Publication {
        subject: task.subject.clone(),
        slot: Slot::ack(&name),
        effect: Effect::Reaction { on, sign: Sign::Eyes },
    })
}
