//! One authenticated request to an endpoint, and what all endpoints do alike: reading the body and
//! the query, cutting pages, telling what happened.

use std::sync::Arc;

use domain::Time;
use http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::shape::View;
use super::{not_accessible, not_found, refuse};
use crate::forge::{
    Access, Act, Answer, Asked, Bearer, Credential, FakeComment, FakeSubject, Happened, HeadRepo,
    Model, Refusal, What, Which, thread_of,
};

const DEFAULT_PAGE: usize = 30;
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
    /// Refuses a credential that may not do this, whoever bears it. The permission is one of an
    /// App's.
    pub(super) fn need(&self, permission: &str, access: Access) -> Result<(), Answer> {
        if self.bearer.reaches(self.repo, (permission, access)) {
            return Ok(());
        }
        Err(match self.bearer.credential {
            Credential::Personal | Credential::ReadOnly => {
                refuse(403, "Resource not accessible by personal access token")
            }
            Credential::Run { .. } | Credential::Installation(_) => not_accessible(),
        })
    }

    pub(super) fn act(&self) -> Act<'a> {
        Act { by: &self.bearer.account, now: self.now }
    }

    /// Returns the issue or change with the number.
    pub(super) fn subject(&self, number: u64) -> Result<&FakeSubject, Answer> {
        self.model.find(self.repo, Which::Any(number)).map_err(missing)
    }

    /// Returns the change with the number.
    pub(super) fn change(&self, number: u64) -> Result<&FakeSubject, Answer> {
        self.model.find(self.repo, Which::Change(number)).map_err(missing)
    }

    pub(super) fn view(&self) -> Result<View<'_>, Answer> {
        let repo = self.model.repo(self.repo).map_err(missing)?;
        Ok(View { url: self.url, repo, fork: None })
    }

    /// Returns the view of a change, which may come from a fork.
    pub(super) fn view_of(&self, subject: &FakeSubject) -> Result<View<'_>, Answer> {
        let fork = match subject.change.as_ref().map(|change| change.head_repo) {
            Some(HeadRepo::Fork(fork)) => self.model.repo(fork).ok(),
            _ => None,
        };
        Ok(View { fork, ..self.view()? })
    }

    pub(super) fn shown(&self, comment: &FakeComment) -> Result<Value, Answer> {
        let thread = thread_of(self.model, comment);
        let diff = thread.as_ref().map(|thread| self.model.diff_at(thread.subject, &thread.commit));
        let inline = thread.as_ref().zip(diff.as_ref().map(Arc::as_ref));
        Ok(self.view()?.comment(comment, inline))
    }

    /// Answers, and tells the webhooks.
    pub(super) fn tell(
        &self,
        answer: Answer,
        what: impl IntoIterator<Item = What>,
    ) -> Result<Answer, Answer> {
        what.into_iter().try_fold(answer, |answer, what| {
            let by = &self.bearer.account;
            let happened = Happened::now(self.model, by, self.repo, what).map_err(missing)?;
            Ok(answer.telling(happened))
        })
    }

    /// Cuts a page out of a listing. As GitHub does, links name the repository by its id.
    pub(super) fn page(&self, query: &Query, tail: &str, all: &[Value]) -> Answer {
        let page = query.cut(all);
        let answer = Answer::new(StatusCode::OK, Value::Array(page));
        let path = format!("{}/repositories/{}{tail}", self.url, self.repo);
        query.link(answer, &path, all.len())
    }
}

/// What a listing was asked for.
pub(super) struct Query {
    pub(super) page: usize,
    per_page: usize,
    pub(super) since: Option<Time>,
    /// The filters that the endpoint knows, as they were given.
    filters: Vec<(String, String)>,
}

impl Query {
    /// Reads the query. GitHub passes over what it does not know; here it is a mistake.
    pub(super) fn read(asked: &Asked, filters: &[(&str, &[&str])]) -> Result<Self, Answer> {
        let mut query = Self { page: 1, per_page: DEFAULT_PAGE, since: None, filters: Vec::new() };
        let wrong = |name: &str, value: &str| {
            let why = format!("the query {name}={value} means nothing here");
            refuse(422, &why).violating(why)
        };
        for (name, value) in asked.query() {
            let number = value.parse().ok().filter(|number| *number > 0);
            let filter = filters.iter().find(|(filter, _)| *filter == name);
            match (name.as_str(), number, filter) {
                ("page", Some(number), _) => query.page = number,
                ("per_page", Some(number), _) => query.per_page = number.min(LARGEST_PAGE),
                ("since", _, Some(_)) => {
                    let at: jiff::Timestamp = value.parse().map_err(|_| wrong(&name, &value))?;
                    query.since = Some(Time(at.as_millisecond()));
                }
                // A filter without words takes any.
                (_, _, Some((_, words))) if words.is_empty() || words.contains(&value.as_str()) => {
                    query.filters.push((name, value));
                }
                _ => return Err(wrong(&name, &value)),
            }
        }
        Ok(query)
    }

    pub(super) fn filter(&self, name: &str) -> Option<&str> {
        let found = self.filters.iter().find(|(filter, _)| filter == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(super) fn cut(&self, all: &[Value]) -> Vec<Value> {
        let skipped = (self.page - 1).saturating_mul(self.per_page);
        all.iter().skip(skipped).take(self.per_page).cloned().collect()
    }

    /// Adds the `Link` header of this page, none if everything fits on one.
    pub(super) fn link(&self, answer: Answer, path: &str, total: usize) -> Answer {
        let last = total.div_ceil(self.per_page).max(1);
        let filters: String =
            self.filters.iter().map(|(name, value)| format!("&{name}={value}")).collect();
        let link = |page: usize, rel: &str| {
            let size = self.per_page;
            format!("<{path}?page={page}&per_page={size}{filters}>; rel=\"{rel}\"")
        };
        let mut links = Vec::new();
        if self.page > 1 {
            links.push(link((self.page - 1).min(last), "prev"));
        }
        if self.page < last {
            links.push(link(self.page + 1, "next"));
            links.push(link(last, "last"));
        }
        if self.page > 1 {
            links.push(link(1, "first"));
        }
        if links.is_empty() { answer } else { answer.with("link", &links.join(", ")) }
    }
}

/// Reads the fields of a body, and no others.
pub(super) fn read<T: DeserializeOwned>(asked: &Asked) -> Result<T, Answer> {
    let Ok(value) = serde_json::from_slice::<Value>(&asked.body) else {
        return Err(refuse(400, "Problems parsing JSON").violating("the body is not JSON"));
    };
    if !value.is_object() {
        return Err(
            refuse(400, "Body should be a JSON object").violating("the body is no JSON object")
        );
    }
    serde_json::from_value(value).map_err(|why| {
        let message = format!("Invalid request.\n\n{why}");
        refuse(422, &message).violating(format!("the fields of the body are wrong: {why}"))
    })
}

pub(super) fn missing(_: Refusal) -> Answer {
    not_found()
}
