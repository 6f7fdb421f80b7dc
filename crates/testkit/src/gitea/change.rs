//! The life of a change. A draft is a title with a prefix; the model knows it as a draft.

use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::call::{Call, Linked, Query, missing, read};
use super::shape::DRAFT;
use super::{not_found, refusal};
use crate::forge::{Answer, Edit, FakeSubject, Proposal, What};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewChange {
    title: String,
    head: String,
    base: String,
    #[serde(default)]
    body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeEdit {
    title: Option<String>,
    body: Option<String>,
    state: Option<State>,
    base: Option<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum State {
    Open,
    Closed,
}

impl Call<'_> {
    pub(super) fn changes(&mut self) -> Result<Answer, Answer> {
        let query = Query::read(
            self.asked,
            &[("state", &["open", "closed", "all"]), ("sort", &["oldest", "recentupdate"])],
        )?;
        let listed = self.listed(&query, |subject| subject.change.is_some());
        let all: Vec<Value> = listed
            .iter()
            .map(|subject| Ok(self.view_of(subject)?.change(subject)))
            .collect::<Result<_, Answer>>()?;
        let count = all.len();
        Ok(self.page(&query, all, count, Linked::Yes))
    }

    pub(super) fn read_change(&self, number: u64) -> Result<Answer, Answer> {
        let subject = self.change(number)?;
        Ok(Answer::new(StatusCode::OK, self.view_of(subject)?.change(subject)))
    }

    pub(super) fn create_change(&mut self) -> Result<Answer, Answer> {
        self.need_write("repository")?;
        let new: NewChange = read(self.asked)?;
        let (head_repo, head_branch) = self.head_named(&new.head)?;
        let (title, draft) = titled(&new.title);
        let proposal = Proposal {
            title,
            body: new.body,
            head_repo,
            head_branch,
            base_branch: new.base,
            draft,
            maintainer_may_edit: false,
        };
        let act = self.act();
        let subject = self.model.propose(self.repo, proposal, act).map_err(|why| refusal(&why))?;
        let answer = Answer::new(StatusCode::CREATED, self.view_of(&subject)?.change(&subject));
        self.tell(answer, [What::Opened(subject)])
    }

    pub(super) fn edit_change(&mut self, number: u64) -> Result<Answer, Answer> {
        self.need_write("repository")?;
        let edit: ChangeEdit = read(self.asked)?;
        let before = self.change(number)?.clone();
        let (title, draft) = edit.title.as_deref().map(titled).unzip();
        let edit = Edit {
            title,
            draft,
            body: edit.body,
            open: edit.state.map(|state| state == State::Open),
            base_branch: edit.base,
            ..Edit::default()
        };
        let act = self.act();
        let edited = self.model.edit_subject(before.id, edit, act);
        let change = edited.map_err(|why| refusal(&why))?;
        let answer = Answer::new(StatusCode::CREATED, self.view_of(&change)?.change(&change));
        self.tell(answer, [told(change, before)])
    }

    /// Reads `branch` or `owner:branch`.
    fn head_named(&self, head: &str) -> Result<(u64, String), Answer> {
        let Some((owner, branch)) = head.split_once(':') else {
            return Ok((self.repo, head.to_owned()));
        };
        let own = self.model.repo(self.repo).map_err(missing)?;
        if own.owner.login.eq_ignore_ascii_case(owner) {
            return Ok((self.repo, branch.to_owned()));
        }
        let fork = self.model.fork_of(self.repo, owner).ok_or_else(not_found)?;
        Ok((fork.id, branch.to_owned()))
    }
}

/// Splits a title into its words and whether they are a draft's.
fn titled(title: &str) -> (String, bool) {
    match title.strip_prefix(DRAFT) {
        Some(bare) => (bare.to_owned(), true),
        None => (title.to_owned(), false),
    }
}

/// Tells what an edit did: opening and closing come before words.
fn told(subject: FakeSubject, before: FakeSubject) -> What {
    let draft = |of: &FakeSubject| of.change.as_ref().is_some_and(|change| change.draft);
    match (before.open, subject.open) {
        (true, false) => What::Closed(subject),
        (false, true) => What::Reopened(subject),
        _ if draft(&before) && !draft(&subject) => What::Readied(subject),
        _ => What::Edited { subject, before: Box::new(before) },
    }
}
