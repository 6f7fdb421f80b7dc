//! `(Event, Policy) -> Decision`: the product's routing table, as far as payload and operator
//! policy decide it.
//!
//! The gateway calls [`route`] between decoding a delivery and storing a job. It is pure and total.
//! What only the forge can tell (repository policy, permission, whether a thread is ours, whether
//! findings are open) is left to the job's first stage, which may skip the job or go on as another
//! task.

use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::command::{self, Command, ReviewScope, Which};
use crate::event::{Asked, Change, Comment, Event, Happening, Issue, Place, Push};
use crate::policy::{Policy, Respond, Toggle};
use crate::subject::SubjectKind;
use crate::task::{Task, Trigger, Work};

mod branch;

pub use branch::issue_of_branch;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It becomes a job.
    Do(Box<Task>),
    /// Nothing that we act on. Answered 200 with the reason.
    Ignored(Ignored),
    /// It would have become a job, but the operator's lists forbid it.
    Refused(Refused),
}

/// Why nothing is done. `reason` is one sentence for whoever reads the answer to a delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ignored {
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub reason: String,
}

/// Decides what an event means.
///
/// First what it is, then whether the operator's lists allow it: only what would become a job can
/// be refused.
pub fn route(event: &Event, policy: &Policy) -> Decision {
    let wanted = match wanted(event, policy) {
        Ok(wanted) => wanted,
        Err(ignored) => return Decision::Ignored(ignored),
    };
    if let Err(refused) = admit(event, policy) {
        return Decision::Refused(refused);
    }
    Decision::Do(Box::new(Task {
        subject: event.subject(),
        work: wanted.work,
        actor: event.actor.clone(),
        trigger: wanted.trigger,
        head: wanted.head,
        title: wanted.title,
    }))
}

/// What an event asks for, before anybody asks whether it is allowed.
struct Wanted {
    work: Work,
    trigger: Trigger,
    head: Option<String>,
    title: String,
}

fn ignored<T>(reason: &str) -> Result<T, Ignored> {
    Err(Ignored { reason: reason.to_owned() })
}

fn wanted(event: &Event, policy: &Policy) -> Result<Wanted, Ignored> {
    let by_us = policy.is_own(&event.actor);
    match &event.happening {
        // Named outright: whoever may press the button may also be our own account, as in CI.
        Happening::Asked(asked) => outright(asked),
        _ if by_us => ignored("the bot did this itself"),
        Happening::ChangeOpened(change)
        | Happening::ChangeReopened(change)
        | Happening::ChangePushed(change)
        | Happening::BaseChanged(change) => {
            if change.draft && policy.review_drafts == Toggle::Off {
                return ignored("the change is a draft");
            }
            review_unasked(change, policy)
        }
        Happening::ChangeReady(change) => review_unasked(change, policy),
        Happening::ReviewRequested { change, of } => {
            if !of.iter().any(|asked| policy.is_own(asked)) {
                return ignored("the review of somebody else was asked for");
            }
            Ok(on_change(change, Work::Review { scope: ReviewScope::New }))
        }
        Happening::ChangeClosed { change, .. } => Ok(on_change(change, Work::Cancel)),
        Happening::IssueOpened(issue) => opened(issue, &event.actor, policy),
        Happening::IssueAssigned { issue, to } => {
            if !to.iter().any(|assignee| policy.is_own(assignee)) {
                return ignored("the issue is assigned to somebody else");
            }
            Ok(on_issue(issue, Work::Fix { text: String::new() }))
        }
        Happening::Commented(comment) => commented(comment, &event.actor, policy),
        Happening::CommentEdited { comment, before } => {
            edited(comment, before.as_deref(), &event.actor, policy)
        }
        Happening::Pushed(push) => pushed(push, &event.actor, policy),
    }
}

/// The lists that the operator keeps. An empty list allows everyone.
fn admit(event: &Event, policy: &Policy) -> Result<(), Refused> {
    let (login, repo) = (&event.actor.login, &event.repo.full_name);
    let allows = |list: &[String], name: &str| {
        list.is_empty() || list.iter().any(|allowed| allowed.eq_ignore_ascii_case(name))
    };
    if !allows(&policy.allowed_users, login) {
        return Err(Refused { reason: format!("{login} is not in the list of allowed users") });
    }
    if !allows(&policy.allowed_repos, repo) {
        return Err(Refused {
            reason: format!("{repo} is not in the list of allowed repositories"),
        });
    }
    Ok(())
}

/// A review that nobody asked for in words.
fn review_unasked(change: &Change, policy: &Policy) -> Result<Wanted, Ignored> {
    if change.author.is_bot() && policy.review_bots == Toggle::Off {
        return ignored("changes by other bots are not reviewed");
    }
    // The answer to the delivery is the only place where the gateway can say so. Once a review can
    // end as skipped, this becomes a task that sets the status.
    if command::asks_to_ignore(&change.body, &policy.bot_names) {
        return ignored("the description asks to be ignored");
    }
    Ok(on_change(change, Work::Review { scope: ReviewScope::New }))
}

fn opened(issue: &Issue, actor: &Actor, policy: &Policy) -> Result<Wanted, Ignored> {
    if actor.is_bot() || issue.author.is_bot() {
        return ignored("other bots do not command");
    }
    match command::parse(&issue.body, &policy.bot_names) {
        Some(Command::Ignore) => ignored("the description asks to be ignored"),
        Some(command) => Ok(on_issue(issue, work(command, SubjectKind::Issue))),
        None if issue.assignees.iter().any(|assignee| policy.is_own(assignee))
            || has_trigger_phrase(issue, policy) =>
        {
            Ok(on_issue(issue, Work::Fix { text: String::new() }))
        }
        None => ignored("the issue does not mention the bot"),
    }
}

fn has_trigger_phrase(issue: &Issue, policy: &Policy) -> bool {
    let Some(phrase) = policy.trigger_phrase.as_deref().map(str::trim) else { return false };
    let phrase = phrase.to_lowercase();
    let says_it = |text: &str| text.to_lowercase().contains(&phrase);
    !phrase.is_empty()
        && (says_it(&issue.title) || says_it(command::spoken::Spoken::of(&issue.body).text()))
}

fn commented(comment: &Comment, actor: &Actor, policy: &Policy) -> Result<Wanted, Ignored> {
    may_command(comment, actor, policy)?;
    if let Some(command) = command::parse(&comment.body, &policy.bot_names) {
        return Ok(on_comment(comment, work(command, comment.on)));
    }
    if comment.body.trim().is_empty() {
        return ignored("the comment is empty");
    }
    if !is_answered_without_a_mention(comment, policy) {
        return ignored("the comment does not mention the bot");
    }
    let text = comment.body.trim().to_owned();
    Ok(on_comment(comment, Work::Respond { which: Which::Unsaid, text }))
}

/// Whether a comment may be for us though it does not name us: a reply in a thread of a change
/// (whether the thread is ours only the forge can tell), or any comment where the operator wants so.
fn is_answered_without_a_mention(comment: &Comment, policy: &Policy) -> bool {
    match (policy.respond, &comment.place) {
        (Respond::All, _) => true,
        (Respond::Mentioned, Place::Thread { reply, .. }) => {
            comment.on == SubjectKind::Change && *reply != Some(false)
        }
        (Respond::Mentioned, Place::Conversation | Place::Review { .. }) => false,
    }
}

/// An edit counts only if it adds the mention; it is the editor who asks.
///
/// Where the payload does not tell the text before, the edit may have added it: a command runs once
/// per comment for ever (J4), so one that was there before does not run again.
fn edited(
    comment: &Comment,
    before: Option<&str>,
    actor: &Actor,
    policy: &Policy,
) -> Result<Wanted, Ignored> {
    may_command(comment, actor, policy)?;
    let before = before.unwrap_or_default();
    match command::parse_added(before, &comment.body, &policy.bot_names) {
        Some(command) => Ok(on_comment(comment, work(command, comment.on))),
        None => ignored("the edit does not add a mention of the bot"),
    }
}

fn may_command(comment: &Comment, actor: &Actor, policy: &Policy) -> Result<(), Ignored> {
    if policy.is_own(&comment.author) {
        return ignored("the bot wrote this itself");
    }
    if actor.is_bot() || comment.author.is_bot() {
        return ignored("other bots do not command");
    }
    Ok(())
}

fn pushed(push: &Push, actor: &Actor, policy: &Policy) -> Result<Wanted, Ignored> {
    if push.deleted {
        return ignored("the branch was deleted");
    }
    if push.commits == 0 {
        return ignored("the push brought no commits");
    }
    if policy.detect_on_push == Toggle::Off {
        return ignored("pushes to branches are not looked at");
    }
    if actor.is_bot() && policy.review_bots == Toggle::Off {
        return ignored("changes by other bots are not reviewed");
    }
    if issue_of_branch(&push.branch).is_none() {
        return ignored("no linked issue in the branch's name");
    }
    Ok(Wanted {
        work: Work::Detect,
        trigger: Trigger::Subject,
        head: Some(push.after.clone()),
        title: push.branch.clone(),
    })
}

fn outright(asked: &Asked) -> Result<Wanted, Ignored> {
    let work = match command::parse_order(&asked.text) {
        Command::Free { text } if text.is_empty() => return ignored("nothing was asked for"),
        command => work(command, asked.on),
    };
    Ok(Wanted { work, trigger: Trigger::Asked, head: None, title: String::new() })
}

/// Turns a command into work, by what it was said on.
pub fn work(command: Command, on: SubjectKind) -> Work {
    match command {
        Command::Help => Work::Help,
        Command::Status => Work::Status,
        Command::Pause => Work::Pause,
        Command::Resume => Work::Resume,
        Command::Cancel => Work::Cancel,
        Command::Resolve { finding } => Work::Resolve { finding },
        Command::Dismiss { finding, why } => Work::Dismiss { finding, why },
        Command::Detect => Work::Detect,
        Command::Repair => Work::Repair,
        // On an issue the first stage finds the change, or says that there is none.
        Command::Review { scope } => Work::Review { scope },
        Command::Fix { which, text } => match on {
            // The first stage goes on as `respond` where the issue carries open findings. Which of
            // them are meant it reads from the comment, which it reads again anyway (T1).
            SubjectKind::Issue => Work::Fix { text },
            SubjectKind::Change | SubjectKind::Branch => Work::Respond { which, text },
        },
        Command::Free { text } => Work::Respond { which: Which::Unsaid, text },
        // Outside a description the word is not ours to obey: the person gets an answer.
        Command::Ignore => Work::Respond { which: Which::Unsaid, text: "ignore".to_owned() },
    }
}

fn on_change(change: &Change, work: Work) -> Wanted {
    Wanted {
        work,
        trigger: Trigger::Subject,
        head: change.head.clone(),
        title: change.title.clone(),
    }
}

fn on_issue(issue: &Issue, work: Work) -> Wanted {
    Wanted { work, trigger: Trigger::Subject, head: None, title: issue.title.clone() }
}

fn on_comment(comment: &Comment, work: Work) -> Wanted {
    let trigger = Trigger::Comment {
        id: comment.id,
        place: comment.place.clone(),
        body: comment.body.clone(),
        updated_at: comment.updated_at.clone(),
    };
    Wanted { work, trigger, head: None, title: comment.title.clone() }
}

#[cfg(test)]
mod tests;
