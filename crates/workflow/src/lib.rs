//! What Patchwright does with a task, stage by stage.
//!
//! [`run`] is the only entry: given a job and the name of a stage it returns an [`Outcome`] (values:
//! publications, what the stage found, what comes next) or a [`Failure`]. The crate `engine` commits
//! the outcome and sends; nothing here writes to a forge.
//!
//! A workflow is one module named like its task, with a function per stage. A new one is a module
//! here, a row in [`run`], and a variant of [`domain::task::Work`].
//!
//! **Invariant.** No stage writes to a forge, knows SQL or reads configuration: it reads through
//! [`forge::Read`], remembers through [`domain::Journal`], and returns values.

pub mod answer;
pub mod context;
pub mod failure;
pub mod guard;
pub mod outcome;

pub use context::{Context, Desk};
pub use failure::{Again, Failure};
pub use outcome::{Outcome, Then};

use domain::task::Work;

/// The version of the checkpoints that this version writes. One that is newer was written by a newer
/// version and is not touched (J8).
pub const CHECKPOINT_VERSION: u32 = 1;

/// The stage that every job starts with.
pub const FIRST_STAGE: &str = "acknowledge";

/// The tasks that this version can do, by name. Everything else in the grammar is answered honestly.
pub const AVAILABLE: [&str; 3] = ["help", "status", "cancel"];

/// Runs one stage of a job.
pub async fn run(stage: &str, context: &Context<'_>) -> Result<Outcome, Failure> {
    if stage == FIRST_STAGE {
        return guard::acknowledge(context).await;
    }
    let work = &context.job.task.work;
    if stage != after_guard(work) {
        return Err(Failure::Bug(format!(
            "`{}` has no stage `{stage}` in this version",
            work.name()
        )));
    }
    match work {
        Work::Help => answer::help(context).await,
        Work::Status => answer::status(context).await,
        Work::Cancel => answer::cancel(context).await,
        Work::Review { .. }
        | Work::Detect
        | Work::Respond { .. }
        | Work::Fix { .. }
        | Work::Repair
        | Work::Pause
        | Work::Resume
        | Work::Resolve { .. }
        | Work::Dismiss { .. } => answer::not_yet(context).await,
    }
}

/// Returns the stage with which a task goes on after the guard: the first one of its own.
pub fn after_guard(work: &Work) -> &'static str {
    match work {
        Work::Help
        | Work::Status
        | Work::Cancel
        | Work::Review { .. }
        | Work::Detect
        | Work::Respond { .. }
        | Work::Fix { .. }
        | Work::Repair
        | Work::Pause
        | Work::Resume
        | Work::Resolve { .. }
        | Work::Dismiss { .. } => answer::STAGE,
    }
}
