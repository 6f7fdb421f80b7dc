//! What a stage returns: plain values, committed by the engine in one transaction.

use domain::Publication;
use domain::record::StageResult;
use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the stage found, kept and served under seed 001's field names.
    pub result: StageResult,
    pub publications: Vec<Publication>,
    pub then: Then,
}

/// What comes after the stage.
#[derive(Clone, Debug)]
pub enum Then {
    /// Another stage, at once.
    Stage {
        name: &'static str,
        carry: Value,
    },
    /// Another stage, once everything published so far is sent: it starts from the receipts.
    StageWhenSent {
        name: &'static str,
        carry: Value,
    },
    Done,
    /// Done, and all other unfinished jobs of the subject are to be stopped.
    DoneCancellingOthers,
    /// There was nothing to do. Silent for the person; the reason is on record.
    Skipped(String),
    /// It could not be done, and the publications say so to the person.
    Failed(String),
}

impl Outcome {
    /// A job that turns out to have nothing to do.
    pub fn skipped(why: impl Into<String>) -> Self {
        let why = why.into();
        Self {
            result: StageResult::success().with("skipped", why.clone()),
            publications: Vec::new(),
            then: Then::Skipped(why),
        }
    }
}
