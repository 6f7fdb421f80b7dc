//! What to do. A task is what a [`crate::route::route`] makes of an event; a job does it durably.

use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::command::{ReviewScope, Which};
use crate::event::Place;
use crate::subject::{Pace, Subject};

/// A request to do something on a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    pub subject: Subject,
    pub work: Work,
    /// Who asked; for automatic work, whoever caused it.
    pub actor: Actor,
    /// What triggered it, to be read again from the forge before anything is done (T1).
    pub trigger: Trigger,
    /// The commit that the event spoke of, where it spoke of one. The newest is read at claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The title of the subject, for people who look at jobs.
    #[serde(default)]
    pub title: String,
}

/// The kinds of work. The same word names the module of the workflow, the section of the
/// configuration, the command and the label of the metric.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "task", rename_all = "kebab-case")]
pub enum Work {
    Review { scope: ReviewScope },
    Detect,
    Respond { which: Which, text: String },
    Fix { text: String },
    Repair,
    Help,
    Status,
    Pause,
    Resume,
    Cancel,
    Resolve { finding: String },
    Dismiss { finding: String, why: Option<String> },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "trigger", rename_all = "kebab-case")]
pub enum Trigger {
    /// Something happened to the subject itself.
    Subject,
    /// Somebody wrote a comment. `id` is missing only where the payload has none.
    Comment {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        place: Place,
        body: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        updated_at: Option<String>,
    },
    /// Somebody named the task outright: an operator, a button, a pipeline.
    Asked,
}

impl Trigger {
    /// Returns the name of the triggering comment, if there is one that has a name; see
    /// [`Place::name`].
    pub fn own_name(&self) -> Option<String> {
        match self {
            Self::Comment { id, place, .. } => place.name(*id),
            Self::Subject | Self::Asked => None,
        }
    }
}

impl Work {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Review { .. } => "review",
            Self::Detect => "detect",
            Self::Respond { .. } => "respond",
            Self::Fix { .. } => "fix",
            Self::Repair => "repair",
            Self::Help => "help",
            Self::Status => "status",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
            Self::Resolve { .. } => "resolve",
            Self::Dismiss { .. } => "dismiss",
        }
    }

    /// Every task's name, for metrics, filters and documentation.
    pub const NAMES: [&'static str; 12] = [
        "review", "detect", "respond", "fix", "repair", "help", "status", "pause", "resume",
        "cancel", "resolve", "dismiss",
    ];

    /// Whether the task has the second lane and never waits behind work (J3).
    pub fn pace(&self) -> Pace {
        match self {
            Self::Help
            | Self::Status
            | Self::Pause
            | Self::Resume
            | Self::Cancel
            | Self::Resolve { .. }
            | Self::Dismiss { .. } => Pace::Talk,
            Self::Review { .. }
            | Self::Detect
            | Self::Respond { .. }
            | Self::Fix { .. }
            | Self::Repair => Pace::Work,
        }
    }

    /// Whether a push to the subject makes an unfinished job of this kind pointless (J3).
    pub fn is_superseded_by_push(&self) -> bool {
        matches!(self, Self::Review { .. } | Self::Detect)
    }

    /// Whether doing it needs write permission on the repository.
    pub fn needs_write(&self) -> bool {
        match self {
            Self::Respond { .. }
            | Self::Fix { .. }
            | Self::Repair
            | Self::Pause
            | Self::Resume
            | Self::Cancel
            | Self::Resolve { .. }
            | Self::Dismiss { .. } => true,
            Self::Review { .. } | Self::Detect | Self::Help | Self::Status => false,
        }
    }
}

impl Task {
    /// Returns the order of importance: what a person waits for goes first (J5).
    pub fn priority(&self) -> Priority {
        match (self.work.pace(), &self.trigger) {
            (Pace::Talk, _) => Priority::Talk,
            (Pace::Work, Trigger::Comment { .. } | Trigger::Asked) => Priority::Command,
            (Pace::Work, Trigger::Subject) => Priority::Automatic,
        }
    }

    /// Returns the key under which a command runs once per triggering comment for ever (J4).
    pub fn command_key(&self) -> Option<String> {
        Some(format!("{}/command/{}", self.subject.repo.id(), self.trigger.own_name()?))
    }
}

/// Lower sorts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    Talk,
    Command,
    Automatic,
}

impl Priority {
    pub const ALL: [Self; 3] = [Self::Talk, Self::Command, Self::Automatic];

    pub fn rank(self) -> i64 {
        match self {
            Self::Talk => 0,
            Self::Command => 1,
            Self::Automatic => 2,
        }
    }
}
