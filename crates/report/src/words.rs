//! What we say, in six languages: one function per sentence that a person reads (H6).
//!
//! [`Words`] lists the sentences; each language implements all of them, so a missing translation
//! does not compile. [`crate::voice`] makes whole answers of them.

mod en;
mod hi;
mod ja;
mod ko;
mod language;
mod th;
mod zh;

use std::time::Duration;

use domain::JobId;
use domain::job::State;

pub use language::{Language, UnknownLanguage};

use crate::body::Sentence;

/// The sentences. Whatever a function is given comes out quoted.
pub trait Words: Sync {
    /// Above the list of commands.
    fn help_opening(&self, bot: &str) -> Sentence;
    /// What a command does, in a few words behind its name.
    fn help_line(&self, verb: Verb) -> &'static str;
    /// Above the list of commands that this version does not do.
    fn help_not_yet(&self) -> Sentence;
    /// How to ask.
    fn help_manners(&self) -> Sentence;

    /// Above the list of jobs.
    fn status_opening(&self) -> Sentence;
    fn status_line(&self, going: &Going<'_>) -> Sentence;
    /// Below a list that was cut: so many jobs are not in it.
    fn status_more(&self, jobs: u64) -> Sentence;
    fn status_nothing(&self) -> Sentence;

    /// The command is understood, but this version has no workflow for it.
    fn cannot_yet(&self, command: &str, bot: &str) -> Sentence;
    /// A job was given up.
    fn apology(&self, job: &JobId) -> Sentence;
    /// A job ended with a reason that is quoted below.
    fn failed(&self, job: &JobId) -> Sentence;
    /// Something shared is away and the job waits for it; said once (J6).
    fn waiting(&self, what: &str) -> Sentence;
    /// The repository's day is used up; said once (J5).
    fn budget_of_repository(&self, limit: u32) -> Sentence;
    /// The day of somebody without write permission is used up; said once (J5).
    fn budget_of_author(&self, login: &str, limit: u32) -> Sentence;
    /// The command needs write permission.
    fn needs_write(&self, login: &str, command: &str) -> Sentence;
    /// So many jobs were stopped; never called with zero.
    fn cancelled(&self, jobs: u64) -> Sentence;
    fn nothing_to_cancel(&self) -> Sentence;

    /// A body was cut (H3).
    fn left_out(&self, characters: u64) -> Sentence;
}

/// The commands that a person can write behind our name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    Help,
    Status,
    Review,
    Detect,
    Fix,
    Repair,
    Pause,
    Resume,
    Cancel,
    Resolve,
    Dismiss,
}

impl Verb {
    /// In the order in which help lists them.
    pub const ALL: [Self; 11] = [
        Self::Help,
        Self::Status,
        Self::Review,
        Self::Detect,
        Self::Fix,
        Self::Repair,
        Self::Pause,
        Self::Resume,
        Self::Cancel,
        Self::Resolve,
        Self::Dismiss,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Help => "help",
            Self::Status => "status",
            Self::Review => "review",
            Self::Detect => "detect",
            Self::Fix => "fix",
            Self::Repair => "repair",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
            Self::Resolve => "resolve",
            Self::Dismiss => "dismiss",
        }
    }

    /// Returns the command as it is written, with what it takes.
    pub fn usage(self) -> &'static str {
        match self {
            Self::Resolve => "resolve ID",
            Self::Dismiss => "dismiss ID [why]",
            Self::Fix => "fix [ID … | all]",
            other => other.as_str(),
        }
    }
}

/// A job on a subject, as far as a person wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Going<'a> {
    pub task: &'a str,
    pub state: State,
    /// The stage that runs; empty where none does.
    pub stage: &'a str,
    /// How long it has been in this state.
    pub age: Duration,
    pub attempt: u32,
}

impl Going<'_> {
    /// Returns the stage, if one is running.
    fn running_stage(&self) -> Option<&str> {
        (self.state == State::Running && !self.stage.is_empty()).then_some(self.stage)
    }

    /// Returns the number of the attempt, if it is not the first.
    fn repeated(&self) -> Option<u32> {
        (self.attempt > 1).then_some(self.attempt)
    }
}

/// A time as people count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    Seconds(u64),
    Minutes(u64),
    Hours(u64),
    Days(u64),
}

impl From<Duration> for Span {
    fn from(time: Duration) -> Self {
        match time.as_secs() {
            seconds @ 0..60 => Self::Seconds(seconds),
            seconds @ 60..3_600 => Self::Minutes(seconds / 60),
            seconds @ 3_600..86_400 => Self::Hours(seconds / 3_600),
            seconds => Self::Days(seconds / 86_400),
        }
    }
}

#[cfg(test)]
mod tests;
