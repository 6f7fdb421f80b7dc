//! Changes: listing, opening, editing.

use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::call::{Call, Query, read};
use super::issue::{DIRECTIONS, ORDERS, edited_or_settled};
use super::{refusal, refuse};
use crate::forge::{Answer, Edit, Proposal, What, Which};

const STATES: [&str; 4] = ["open", "closed", "merged", "all"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewChange {
    title: String,
    head: String,
    base: String,
    body: Option<String>,
    draft: Option<bool>,
    /// Lists are texts with commas.
    #[serde(rename = "assignees")]
    _assignees: Option<String>,
    #[serde(rename = "testers")]
    _testers: Option<String>,
    #[serde(rename = "labels")]
    _labels: Option<String>,
    #[serde(rename = "milestone_number")]
    _milestone: Option<u64>,
    #[serde(rename = "issue")]
    _issue: Option<String>,
    #[serde(rename = "prune_source_branch")]
    _prune: Option<bool>,
    #[serde(rename = "squash")]
    _squash: Option<bool>,
    #[serde(rename = "squash_commit_message")]
    _message: Option<String>,
    fork_path: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeEdit {
    title: Option<String>,
    body: Option<String>,
    state: Option<State>,
    base: Option<String>,
    draft: Option<bool>,
    labels: Option<String>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum State {
    Open,
    Closed,
}

impl Call<'_> {
    pub(super) fn changes(&mut self) -> Result<Answer, Answer> {
        if self.asked.query().iter().any(|(name, _)| name == "sort") {
            let why = "direction is required";
            return Err(refuse(400, why).violating("changes are not sorted by `sort`"));
        }
        let filters: [(&str, &[&str]); 3] =
            [("state", &STATES), ("order_by", &ORDERS), ("direction", &DIRECTIONS)];
        let query = Query::read(self.asked, &filters)?;
        let merged = query.filter("state") == Some("merged");
        let listed = self.listed(&query, query.filter("direction"), |subject| {
            let change = subject.change.as_ref();
            change.is_some_and(|change| !merged || change.merged_at.is_some())
        });
        let all: Vec<Value> = listed
            .iter()
            .map(|change| Ok(self.view(Some(change))?.listed_pull(change)))
            .collect::<Result<_, Answer>>()?;
        Ok(query.page(&all))
    }

    pub(super) fn create_change(&mut self) -> Result<Answer, Answer> {
        let new: NewChange = read(self.asked)?;
        if new.fork_path.is_some() || new.head.contains(':') {
            return Err(refuse(403, "403 Forbidden").violating("changes from forks are refused"));
        }
        let proposal = Proposal {
            title: new.title,
            body: new.body.unwrap_or_default(),
            head_repo: self.repo,
            head_branch: new.head,
            base_branch: new.base,
            draft: new.draft.unwrap_or_default(),
            maintainer_may_edit: false,
        };
        let act = self.act();
        let change = self.model.propose(self.repo, proposal, act).map_err(refusal)?;
        let answer =
            Answer::new(StatusCode::CREATED, self.view(Some(&change))?.listed_pull(&change));
        self.tell(answer, [What::Opened(change)])
    }

    pub(super) fn read_change(&self, number: u64) -> Result<Answer, Answer> {
        let change = self.subject(Which::Change(number))?;
        Ok(Answer::new(StatusCode::OK, self.view(Some(change))?.pull(change)))
    }

    pub(super) fn edit_change(&mut self, number: u64) -> Result<Answer, Answer> {
        let edit: ChangeEdit = read(self.asked)?;
        let before = self.subject(Which::Change(number))?.clone();
        let labels = edit.labels.map(|labels| {
            let names = labels.split(',').filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        });
        let edit = Edit {
            title: edit.title,
            body: edit.body,
            open: edit.state.map(|state| state == State::Open),
            base_branch: edit.base,
            draft: edit.draft,
            labels,
            ..Edit::default()
        };
        let act = self.act();
        let change = self.model.edit_subject(before.id, edit, act).map_err(refusal)?;
        let answer = Answer::new(StatusCode::OK, self.view(Some(&change))?.pull(&change));
        let draft = |of: &crate::forge::FakeSubject| of.change.as_ref().map(|change| change.draft);
        let what = match (draft(&before), draft(&change)) {
            (Some(true), Some(false)) => What::Readied(change),
            (Some(false), Some(true)) => What::Drafted(change),
            _ => edited_or_settled(change, before),
        };
        self.tell(answer, [what])
    }
}
