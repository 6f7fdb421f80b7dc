//! What the spine itself says in a thread: that a job failed or was given up, or that a day is used up.

use std::collections::BTreeMap;

use domain::publication::{CommentBody, Effect};
use domain::subject::SubjectKind;
use domain::task::{Trigger, Work};
use domain::{Job, Origin, Publication, Slot};
use forge::Host;
use report::words::Language;
use report::{Flavour, Voice};

/// Speaks in the operator's language, by the bot's name, in each forge's accent.
#[derive(Clone, Debug)]
pub struct Speaker {
    names: Vec<String>,
    language: Language,
    flavours: BTreeMap<Origin, Flavour>,
}

impl Speaker {
    /// `names` are all names that count as a mention; the first one is how we call ourselves.
    /// `hosts` are the forges that we speak on: the store must be able to apologise before they are
    /// connected.
    pub fn new(
        names: Vec<String>,
        language: Language,
        hosts: impl IntoIterator<Item = (Origin, Host)>,
    ) -> Self {
        let flavours = hosts.into_iter().map(|(origin, host)| (origin, host.flavour())).collect();
        Self { names, language, flavours }
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns how we speak on a forge.
    pub fn voice(&self, origin: &Origin) -> Voice {
        Voice {
            language: self.language,
            flavour: self.flavours.get(origin).copied().unwrap_or(Flavour::Plain),
            bot: self.names.first().cloned().unwrap_or_default(),
        }
    }

    /// Apologises for a job that is given up. Only the tidying after a closed change, which nobody
    /// sees, ends without a word.
    pub fn apologise(&self, job: &Job) -> Vec<Publication> {
        self.about(job, Slot::apology(&job.id.0), "apology", |voice| voice.apology(&job.id))
    }

    /// Tells why a job could not be done.
    pub fn tell(&self, job: &Job, reason: &str) -> Vec<Publication> {
        self.about(job, Slot::apology(&job.id.0), "failure", |voice| voice.failed(reason, &job.id))
    }

    /// Says, once a day, that a repository or somebody has had enough for today (J5).
    pub fn enough(&self, job: &Job, who: &Enough<'_>) -> Vec<Publication> {
        let slot = Slot::apology(&job.id.0);
        self.about(job, slot, "budget", |voice| match who {
            Enough::Repository { limit } => voice.budget_of_repository(*limit),
            Enough::Author { login, limit } => voice.budget_of_author(login, *limit),
        })
    }

    fn about(
        &self,
        job: &Job,
        slot: Slot,
        kind: &str,
        words: impl Fn(&Voice) -> String,
    ) -> Vec<Publication> {
        let task = &job.task;
        let silent = task.trigger == Trigger::Subject && task.work == Work::Cancel;
        if silent || task.subject.kind == SubjectKind::Branch {
            return Vec::new();
        }
        let voice = self.voice(&task.subject.repo.origin);
        let voice = match &task.trigger {
            Trigger::Comment { body, .. } => voice.answering(body),
            Trigger::Subject | Trigger::Asked => voice,
        };
        vec![Publication {
            subject: task.subject.clone(),
            slot,
            effect: Effect::Comment(CommentBody {
                kind: kind.to_owned(),
                markdown: words(&voice),
                claim: None,
                closing: None,
            }),
        }]
    }
}

/// Whose day is used up.
#[derive(Clone, Copy, Debug)]
pub enum Enough<'a> {
    Repository { limit: u32 },
    Author { login: &'a str, limit: u32 },
}
