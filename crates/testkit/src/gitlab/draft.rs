//! Draft notes, which their author alone sees.

use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::call::{Call, Query, missing, read};
use super::endpoint::Family;
use super::position::Position;
use super::{not_found, refusal};
use crate::forge::{Answer, DraftTarget, FakeComment, Refusal, What, thread_of};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewDraft {
    note: String,
    position: Option<Position>,
}

impl Call<'_> {
    /// All at once: this list has no pages.
    pub(super) fn list_drafts(&self, number: u64) -> Result<Answer, Answer> {
        Query::read(self.asked, &[])?;
        let subject = self.subject(Family::Changes, number)?.id;
        let view = self.view()?;
        let drafts = self.model.drafts(subject, &self.bearer.account);
        let shown = drafts.into_iter().map(|draft| view.draft(draft)).collect();
        Ok(Answer::new(StatusCode::OK, Value::Array(shown)))
    }

    pub(super) fn create_draft(&mut self, number: u64) -> Result<Answer, Answer> {
        let NewDraft { note, position } = read(self.asked)?;
        let subject = self.subject(Family::Changes, number)?.clone();
        let target = match (position, &subject.change) {
            (Some(position), Some(change)) => {
                DraftTarget::Anchor { anchor: position.anchor(change)?, commit: position.head_sha }
            }
            (None, _) | (_, None) => DraftTarget::Conversation,
        };
        let act = self.act();
        let kept = self.model.add_draft(subject.id, &note, target, act);
        let draft = kept.map_err(|why| refusal("Draft Note", &why))?;
        Ok(Answer::new(StatusCode::CREATED, self.view()?.draft(&draft)))
    }

    pub(super) fn delete_draft(&mut self, number: u64, id: u64) -> Result<Answer, Answer> {
        self.own_draft(number, id)?;
        let deleted = self.model.delete_draft(id, &self.bearer.account);
        deleted.map_err(|_| not_found("Draft Note"))?;
        self.nothing([])
    }

    pub(super) fn publish_draft(&mut self, number: u64, id: u64) -> Result<Answer, Answer> {
        self.own_draft(number, id)?;
        let act = self.act();
        let published = self.model.publish_draft(id, act);
        let note = published.map_err(|why| refusal("Draft Note", &why))?;
        self.published(number, vec![note])
    }

    pub(super) fn publish_drafts(&mut self, number: u64) -> Result<Answer, Answer> {
        let subject = self.subject(Family::Changes, number)?.id;
        let act = self.act();
        match self.model.publish_drafts(subject, act) {
            Ok(notes) => self.published(number, notes),
            // Some may stand: nothing in the answer tells.
            Err(Refusal::Broken) => Err(super::refuse(500, "500 Internal Server Error")),
            Err(why) => Err(missing(why)),
        }
    }

    fn own_draft(&self, number: u64, id: u64) -> Result<(), Answer> {
        let subject = self.subject(Family::Changes, number)?.id;
        let drafts = self.model.drafts(subject, &self.bearer.account);
        match drafts.iter().any(|draft| draft.id == id) {
            true => Ok(()),
            false => Err(not_found("Draft Note")),
        }
    }

    fn published(&self, number: u64, notes: Vec<FakeComment>) -> Result<Answer, Answer> {
        let on = self.subject(Family::Changes, number)?;
        let what: Vec<What> = notes
            .into_iter()
            .map(|comment| {
                let thread = thread_of(self.model, &comment);
                What::Commented { on: on.clone(), comment, thread }
            })
            .collect();
        self.nothing(what)
    }
}
