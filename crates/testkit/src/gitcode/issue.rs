//! The repository, its issues, and who may do what.

use forge::Permission;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Call, Query, read};
use super::{not_found, refusal, refuse};
use crate::forge::{Answer, Asked, Bearer, Edit, FakeSubject, Model, Named, Shared, What, Which};

const STATES: [&str; 3] = ["open", "closed", "all"];
pub(super) const ORDERS: [&str; 2] = ["created_at", "updated_at"];
pub(super) const DIRECTIONS: [&str; 2] = ["asc", "desc"];

/// An issue is created and edited below its owner: the repository stands in the body.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IssueOfOwner {
    repo: String,
    title: Option<String>,
    body: Option<String>,
    state: Option<State>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum State {
    Close,
    Reopen,
}

/// Answers what is asked below an owner: new issues, and edits of them.
pub(super) fn answer_of_owner(
    shared: &Shared,
    model: &mut Model,
    asked: &Asked,
    bearer: &Bearer,
    (owner, rest): (&str, &[&str]),
) -> Result<Answer, Answer> {
    let issue: IssueOfOwner = read(asked)?;
    let Some(Named::Now(repo)) = model.named(&format!("{owner}/{}", issue.repo)) else {
        return Err(refuse(404, "404 Project Not Found"));
    };
    let mut call = super::call(shared, model, asked, bearer, repo);
    match (asked.method.as_str(), rest) {
        ("POST", []) => call.create_issue(issue),
        ("PATCH", [number]) => match number.parse() {
            Ok(number) => call.edit_issue(number, issue),
            Err(_) => Err(not_found().violating("the number is none")),
        },
        _ => Err(not_found().violating("no such path")),
    }
}

impl Call<'_> {
    pub(super) fn repository(&self) -> Result<Answer, Answer> {
        Ok(Answer::new(StatusCode::OK, self.view(None)?.repository()))
    }

    fn create_issue(&mut self, new: IssueOfOwner) -> Result<Answer, Answer> {
        let (title, body) = (new.title.unwrap_or_default(), new.body.unwrap_or_default());
        let act = self.act();
        let issue = self.model.open(self.repo, &title, &body, None, act).map_err(refusal)?;
        let answer = Answer::new(StatusCode::CREATED, self.view(None)?.issue(&issue));
        self.tell(answer, [What::Opened(issue)])
    }

    fn edit_issue(&mut self, number: u64, edit: IssueOfOwner) -> Result<Answer, Answer> {
        let before = self.subject(Which::Issue(number))?.clone();
        let edit = Edit {
            title: edit.title,
            body: edit.body,
            open: edit.state.map(|state| state == State::Reopen),
            ..Edit::default()
        };
        let act = self.act();
        let issue = self.model.edit_subject(before.id, edit, act).map_err(refusal)?;
        let answer = Answer::new(StatusCode::OK, self.view(None)?.issue(&issue));
        self.tell(answer, [edited_or_settled(issue, before)])
    }

    pub(super) fn issue(&self, number: u64) -> Result<Answer, Answer> {
        let issue = self.subject(Which::Issue(number))?;
        Ok(Answer::new(StatusCode::OK, self.view(None)?.issue(issue)))
    }

    pub(super) fn issues(&mut self) -> Result<Answer, Answer> {
        let filters: [(&str, &[&str]); 3] =
            [("state", &STATES), ("order_by", &ORDERS), ("sort", &DIRECTIONS)];
        let query = Query::read(self.asked, &filters)?;
        let issues = self.listed(&query, query.filter("sort"), |subject| subject.change.is_none());
        let view = self.view(None)?;
        let all: Vec<Value> = issues.iter().map(|issue| view.issue(issue)).collect();
        Ok(query.page(&all))
    }

    /// Returns what a listing shows, in the order that was asked for; newest first if none was.
    pub(super) fn listed(
        &mut self,
        query: &Query,
        direction: Option<&str>,
        wanted: impl Fn(&FakeSubject) -> bool,
    ) -> Vec<FakeSubject> {
        if query.page == 1 {
            self.model.count_subjects_listing(self.repo);
        }
        let open = match query.filter("state") {
            None | Some("all") => None,
            Some(state) => Some(state == "open"),
        };
        let mut listed: Vec<FakeSubject> = self
            .model
            .subjects(self.repo, self.now)
            .into_iter()
            .filter(|subject| open.is_none_or(|open| subject.open == open) && wanted(subject))
            .cloned()
            .collect();
        match query.filter("order_by") {
            Some("updated_at") => {
                listed.sort_by_key(|subject| (subject.updated_at, subject.number));
            }
            _ => listed.sort_by_key(|subject| subject.number),
        }
        if direction != Some("asc") {
            listed.reverse();
        }
        listed
    }

    pub(super) fn permission(&self, login: &str) -> Result<Answer, Answer> {
        let repo = self.model.repo(self.repo).map_err(refusal)?;
        let account = self.model.account(login).map_err(refusal)?;
        let permission = repo.permission(account);
        // Three words stand for all; the level is finer.
        let (word, level) = match permission {
            Permission::None => return Err(not_found()),
            Permission::Read => ("read", 10),
            Permission::Triage => ("read", 20),
            Permission::Write => ("write", 30),
            Permission::Maintain => ("admin", 40),
            Permission::Admin => ("admin", 50),
        };
        let body = json!({
            "id": account.id.to_string(),
            "login": account.login,
            "name": account.login,
            "permission": word,
            "access_level": level,
        });
        Ok(Answer::new(StatusCode::OK, body))
    }
}

/// Tells what an edit did: opening and closing come before words.
pub(super) fn edited_or_settled(subject: FakeSubject, before: FakeSubject) -> What {
    match (before.open, subject.open) {
        (true, false) => What::Closed(subject),
        (false, true) => What::Reopened(subject),
        _ => What::Edited { subject, before: Box::new(before) },
    }
}
