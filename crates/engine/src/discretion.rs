//! Takes our secrets out of everything that the engine keeps (T6).
//!
//! Somebody may paste one into a comment: then deliveries tell it, stages read it from the forge, and
//! it would stay in jobs, checkpoints, publications and records. Names and keys are left as they
//! are, because jobs are found by them.

use std::borrow::Cow;
use std::sync::Arc;

use domain::job::Checkpoint;
use domain::record::{Record, StageResult};
use domain::task::{Trigger, Work};
use domain::{Publication, Task};
use report::redact::Redactor;
use serde_json::Value;
use store::Settlement;

/// Cleans values on their way to the store.
#[derive(Clone, Debug)]
pub(crate) struct Discretion(pub(crate) Arc<Redactor>);

impl Discretion {
    pub(crate) fn text(&self, text: String) -> String {
        match self.0.clean(&text) {
            Cow::Borrowed(_) => text,
            Cow::Owned(cleaned) => cleaned,
        }
    }

    pub(crate) fn task(&self, task: Task) -> Task {
        let work = match task.work {
            Work::Respond { which, text } => Work::Respond { which, text: self.text(text) },
            Work::Fix { text } => Work::Fix { text: self.text(text) },
            Work::Resolve { finding } => Work::Resolve { finding: self.text(finding) },
            Work::Dismiss { finding, why } => {
                Work::Dismiss { finding: self.text(finding), why: why.map(|why| self.text(why)) }
            }
            wordless @ (Work::Review { .. }
            | Work::Detect
            | Work::Repair
            | Work::Help
            | Work::Status
            | Work::Pause
            | Work::Resume
            | Work::Cancel) => wordless,
        };
        let trigger = match task.trigger {
            Trigger::Comment { id, place, body, updated_at } => {
                Trigger::Comment { id, place, body: self.text(body), updated_at }
            }
            wordless @ (Trigger::Subject | Trigger::Asked) => wordless,
        };
        Task { work, trigger, title: self.text(task.title), ..task }
    }

    pub(crate) fn settlement(&self, settlement: Settlement) -> Settlement {
        use Settlement::{Again, End, Next, NextWhenSent, Release, Wait};
        match settlement {
            Next { stage, checkpoint, result, publications } => Next {
                stage,
                checkpoint: self.checkpoint(checkpoint),
                result: self.result(result),
                publications: self.publications(publications),
            },
            NextWhenSent { stage, checkpoint, result, publications } => NextWhenSent {
                stage,
                checkpoint: self.checkpoint(checkpoint),
                result: self.result(result),
                publications: self.publications(publications),
            },
            End { state, why, result, publications, cancels } => End {
                state,
                why: why.map(|why| self.text(why)),
                result: result.map(|result| self.result(result)),
                publications: self.publications(publications),
                cancels,
            },
            Again { after, error } => Again { after, error: self.text(error) },
            Wait { endpoint, until, error } => Wait { endpoint, until, error: self.text(error) },
            Release => Release,
        }
    }

    pub(crate) fn record(&self, record: Record) -> Record {
        match record {
            Record::State { from, to, why } => {
                Record::State { from, to, why: why.map(|why| self.text(why)) }
            }
            Record::StageEnded { stage, attempt, result } => {
                Record::StageEnded { stage, attempt, result: self.result(result) }
            }
            Record::AttemptFailed { stage, attempt, error, counted } => {
                Record::AttemptFailed { stage, attempt, error: self.text(error), counted }
            }
            Record::Publication { slot, effect, outcome } => {
                Record::Publication { slot, effect, outcome: self.text(outcome) }
            }
            Record::Note { text } => Record::Note { text: self.text(text) },
            began @ Record::StageBegan { .. } => began,
        }
    }

    /// Cleans every text in a value.
    pub(crate) fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => {
                Value::Array(items.into_iter().map(|item| self.value(item)).collect())
            }
            Value::Object(fields) => Value::Object(
                fields.into_iter().map(|(name, field)| (name, self.value(field))).collect(),
            ),
            plain => plain,
        }
    }

    fn checkpoint(&self, checkpoint: Checkpoint) -> Checkpoint {
        Checkpoint { value: self.value(checkpoint.value), ..checkpoint }
    }

    fn result(&self, result: StageResult) -> StageResult {
        StageResult {
            success: result.success,
            comment: result.comment.map(|comment| self.text(comment)),
            fields: result
                .fields
                .into_iter()
                .map(|(name, field)| (name, self.value(field)))
                .collect(),
        }
    }

    fn publications(&self, publications: Vec<Publication>) -> Vec<Publication> {
        publications.into_iter().map(|publication| self.publication(publication)).collect()
    }

    fn publication(&self, mut publication: Publication) -> Publication {
        publication.effect.rewrite_texts(&|text| self.text(text));
        publication
    }
}

#[cfg(test)]
mod tests {
    use secrecy::SecretString;
    use serde_json::json;

    use super::*;

    #[test]
    fn t6_texts_are_cleaned_wherever_they_stand_in_a_value() {
        let secret = SecretString::from("c4n4ry-of-the-test");
        let discretion = Discretion(Arc::new(Redactor::new([&secret])));
        let value =
            json!({"a": ["x c4n4ry-of-the-test", 1, {"b": "c4n4ry-of-the-test"}], "c": null});
        let clean = json!({"a": ["x [redacted]", 1, {"b": "[redacted]"}], "c": null});
        assert_eq!(discretion.value(value), clean);
        let note = Record::Note { text: "c4n4ry-of-the-test".to_owned() };
        assert_eq!(discretion.record(note), Record::Note { text: "[redacted]".to_owned() });
    }
}
