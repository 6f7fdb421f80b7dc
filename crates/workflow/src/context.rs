//! What a stage gets: the job, the forge to read, a memory, and the voice to speak in.

use async_trait::async_trait;
use domain::job::Checkpoint;
use domain::journal::JournalError;
use domain::publication::{Claim, CommentBody, Effect};
use domain::{Clock, Job, Journal, Publication, Receipt, Slot, Subject};
use report::Voice;

/// Everything that a stage may use. It holds no credential that can write.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    pub job: &'a Job,
    pub forge: &'a dyn forge::Read,
    pub journal: &'a dyn Journal,
    pub desk: &'a dyn Desk,
    pub clock: &'a dyn Clock,
    /// All names that count as a mention.
    pub bot_names: &'a [String],
    /// How we speak here; an answer is in the language of its question.
    pub voice: &'a Voice,
    /// What the stage before handed on.
    pub checkpoint: Option<&'a Checkpoint>,
    /// What the job's publications left behind so far.
    pub receipts: &'a [(Slot, Receipt)],
}

impl std::fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("job", &self.job.id).finish_non_exhaustive()
    }
}

/// What is going on: the one question about other jobs that a workflow may ask.
#[async_trait]
pub trait Desk: Send + Sync {
    /// Returns the unfinished jobs of a subject, oldest first, then the last few that ended.
    async fn work_on(&self, subject: &Subject) -> Result<Vec<Job>, JournalError>;
}

/// For how long the first comment of a run holds its slot against other deployments (E7).
const CLAIM: std::time::Duration = std::time::Duration::from_hours(1);

impl Context<'_> {
    /// The job's first comment: it settles which deployment speaks, if there are several.
    pub fn first_comment(&self, slot: Slot, kind: &str, markdown: String) -> Publication {
        let claim = Claim {
            head: self.job.task.head.clone().unwrap_or_default(),
            expires: self.clock.now() + CLAIM,
        };
        Publication {
            subject: self.job.task.subject.clone(),
            slot,
            effect: Effect::Comment(CommentBody {
                kind: kind.to_owned(),
                markdown,
                claim: Some(claim),
                closing: None,
            }),
        }
    }
}
