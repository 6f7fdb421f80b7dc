//! One authenticated request below a repository: which paths exist, and what all of them do alike.

use domain::Time;
use http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::shape::View;
use super::{not_found, refusal, refuse};
use crate::forge::{
    Act, Answer, Asked, Bearer, FakeSubject, Happened, HeadRepo, Model, What, Which,
};

const DEFAULT_PAGE: usize = 20;
const LARGEST_PAGE: usize = 100;

pub(super) struct Call<'a> {
    pub(super) model: &'a mut Model,
    pub(super) asked: &'a Asked,
    pub(super) bearer: &'a Bearer,
    pub(super) repo: u64,
    pub(super) now: Time,
    pub(super) url: &'a str,
}

impl<'a> Call<'a> {
    /// Answers; `Err` is an answer too, one that refuses.
    pub(super) fn answer(mut self, path: &[&str]) -> Result<Answer, Answer> {
        let number = |text: &str| {
            text.parse::<u64>().map_err(|_| not_found().violating("the number is none"))
        };
        match (self.asked.method.as_str(), path) {
            ("GET", []) => self.repository(),
            ("GET", ["collaborators", login, "permission"]) => self.permission(login),
            ("GET", ["issues"]) => self.issues(),
            ("GET", ["issues", "comments", id]) => self.comment(Family::Issues, number(id)?),
            ("PATCH", ["issues", "comments", id]) => self.edit(Family::Issues, number(id)?),
            ("DELETE", ["issues", "comments", id]) => self.delete(Family::Issues, number(id)?),
            ("GET", ["issues", issue]) => self.issue(number(issue)?),
            ("GET", ["issues", issue, "comments"]) => self.issue_comments(number(issue)?),
            ("POST", ["issues", issue, "comments"]) => self.create_on_issue(number(issue)?),
            ("GET", ["pulls"]) => self.changes(),
            ("POST", ["pulls"]) => self.create_change(),
            ("GET", ["pulls", "comments", id]) => self.comment(Family::Pulls, number(id)?),
            ("PATCH", ["pulls", "comments", id]) => self.edit(Family::Pulls, number(id)?),
            ("DELETE", ["pulls", "comments", id]) => self.delete(Family::Pulls, number(id)?),
            ("GET", ["pulls", change]) => self.read_change(number(change)?),
            ("PATCH", ["pulls", change]) => self.edit_change(number(change)?),
            ("GET", ["pulls", change, "comments"]) => self.change_comments(number(change)?),
            ("POST", ["pulls", change, "comments"]) => self.create_on_change(number(change)?),
            ("PUT", ["pulls", change, "comments", discussion]) => {
                self.settle(number(change)?, discussion)
            }
            ("POST", ["pulls", change, "discussions", discussion, "comments"]) => {
                self.reply(number(change)?, discussion)
            }
            ("POST", ["branches"]) => self.create_branch(),
            ("GET", ["branches", name]) => self.read_branch(name),
            ("GET", ["contents", path @ ..]) if !path.is_empty() => self.read_file(&path.join("/")),
            ("POST" | "PUT", ["contents", path @ ..]) if !path.is_empty() => {
                self.write_file(&path.join("/"))
            }
            _ => Err(not_found().violating("no such path")),
        }
    }

    pub(super) fn act(&self) -> Act<'a> {
        Act { by: &self.bearer.account, now: self.now }
    }

    pub(super) fn subject(&self, which: Which) -> Result<&FakeSubject, Answer> {
        self.model.find(self.repo, which).map_err(refusal)
    }

    /// Returns the view of the repository, and of the fork that a change comes from.
    pub(super) fn view(&self, of: Option<&FakeSubject>) -> Result<View<'_>, Answer> {
        let repo = self.model.repo(self.repo).map_err(refusal)?;
        let fork = match of.and_then(|of| of.change.as_ref()).map(|change| change.head_repo) {
            Some(HeadRepo::Fork(fork)) => self.model.repo(fork).ok(),
            _ => None,
        };
        Ok(View { url: self.url, repo, fork })
    }

    /// Answers, and tells the webhooks.
    pub(super) fn tell(
        &self,
        answer: Answer,
        what: impl IntoIterator<Item = What>,
    ) -> Result<Answer, Answer> {
        what.into_iter().try_fold(answer, |answer, what| {
            let by = &self.bearer.account;
            let happened = Happened::now(self.model, by, self.repo, what).map_err(refusal)?;
            Ok(answer.telling(happened))
        })
    }
}

/// Comments of issues and of changes are asked for under different paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Issues,
    Pulls,
}

/// What a listing was asked for.
pub(super) struct Query {
    pub(super) page: usize,
    per_page: usize,
    filters: Vec<(String, String)>,
}

impl Query {
    /// Reads the query. What GitCode passes over is a mistake here.
    pub(super) fn read(asked: &Asked, filters: &[(&str, &[&str])]) -> Result<Self, Answer> {
        let mut query = Self { page: 1, per_page: DEFAULT_PAGE, filters: Vec::new() };
        for (name, value) in asked.query() {
            let number = value.parse().ok().filter(|number| *number > 0);
            let known = filters.iter().any(|(filter, words)| {
                *filter == name && (words.is_empty() || words.contains(&value.as_str()))
            });
            match (name.as_str(), number) {
                ("page", Some(number)) => query.page = number,
                ("per_page", Some(number)) => query.per_page = number.min(LARGEST_PAGE),
                _ if known => query.filters.push((name, value)),
                _ => {
                    let why = format!("the query {name}={value} means nothing here");
                    return Err(refuse(400, &why).violating(why));
                }
            }
        }
        Ok(query)
    }

    pub(super) fn filter(&self, name: &str) -> Option<&str> {
        let found = self.filters.iter().find(|(filter, _)| filter == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Cuts a page out of a listing. Past the end the first page comes again.
    pub(super) fn page(&self, all: &[Value]) -> Answer {
        let pages = all.len().div_ceil(self.per_page).max(1);
        let page = if self.page > pages { 1 } else { self.page };
        let skipped = (page - 1).saturating_mul(self.per_page);
        let cut: Vec<Value> = all.iter().skip(skipped).take(self.per_page).cloned().collect();
        Answer::new(StatusCode::OK, Value::Array(cut))
            .with("total_count", &all.len().to_string())
            .with("total_page", &pages.to_string())
    }
}

/// Reads the fields of a body, and no others.
pub(super) fn read<T: DeserializeOwned>(asked: &Asked) -> Result<T, Answer> {
    let Ok(value) = serde_json::from_slice::<Value>(&asked.body) else {
        return Err(refuse(400, "Bad Request").violating("the body is not JSON"));
    };
    serde_json::from_value(value).map_err(|why| {
        refuse(400, &why.to_string()).violating(format!("the fields of the body are wrong: {why}"))
    })
}
