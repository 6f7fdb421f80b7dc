//! One authenticated request to an endpoint, and what all endpoints do alike: reading the body and
//! the query, cutting pages, telling what happened.

use domain::Time;
use http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::shape::View;
use super::{not_found, refuse};
use crate::forge::{
    Access, Act, Answer, Asked, Bearer, FakeSubject, Happened, HeadRepo, Model, Refusal, What,
    Which,
};

const DEFAULT_PAGE: usize = 30;
const LARGEST_PAGE: usize = 50;

pub(super) struct Call<'a> {
    pub(super) model: &'a mut Model,
    pub(super) asked: &'a Asked,
    pub(super) bearer: &'a Bearer,
    pub(super) repo: u64,
    pub(super) now: Time,
    pub(super) url: &'a str,
}

/// Whether pages of a listing are linked: not all are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Linked {
    Yes,
    No,
}

impl<'a> Call<'a> {
    /// Refuses a token without the scope for writing.
    pub(super) fn need_write(&self, scope: &str) -> Result<(), Answer> {
        if self.bearer.reaches(self.repo, (scope, Access::Write)) {
            return Ok(());
        }
        let why = format!(
            "token does not have at least one of required scope(s), required=[write:{scope}]"
        );
        Err(refuse(403, &why))
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

    /// Cuts a page out of a listing. `counted` is the server's own count, which includes what the
    /// caller may not see.
    pub(super) fn page(
        &self,
        query: &Query,
        all: Vec<Value>,
        counted: usize,
        linked: Linked,
    ) -> Answer {
        let skipped = (query.page - 1).saturating_mul(query.limit);
        let page: Vec<Value> = all.into_iter().skip(skipped).take(query.limit).collect();
        let answer = Answer::new(StatusCode::OK, Value::Array(page))
            .with("x-total-count", &counted.to_string());
        let last = counted.div_ceil(query.limit).max(1);
        let link = |page: usize, rel: &str| {
            let mut pairs = url::form_urlencoded::Serializer::new(String::new());
            pairs.extend_pairs(self.asked.query().iter().filter(|(name, _)| name != "page"));
            pairs.append_pair("page", &page.to_string());
            format!("<{}{}?{}>; rel=\"{rel}\"", self.url, self.asked.uri.path(), pairs.finish())
        };
        let mut links = Vec::new();
        if query.page < last {
            links.extend([link(query.page + 1, "next"), link(last, "last")]);
        }
        if query.page > 1 {
            links.extend([link(1, "first"), link(query.page - 1, "prev")]);
        }
        match linked {
            Linked::Yes if !links.is_empty() => answer.with("link", &links.join(",")),
            Linked::Yes | Linked::No => answer,
        }
    }
}

/// What a listing was asked for.
pub(super) struct Query {
    pub(super) page: usize,
    limit: usize,
    pub(super) since: Option<Time>,
    /// The filters that the endpoint knows, as they were given.
    filters: Vec<(String, String)>,
}

impl Query {
    /// Reads the query. Gitea passes over what it does not know; here it is a mistake.
    pub(super) fn read(asked: &Asked, filters: &[(&str, &[&str])]) -> Result<Self, Answer> {
        let mut query = Self { page: 1, limit: DEFAULT_PAGE, since: None, filters: Vec::new() };
        let wrong = |name: &str, value: &str| {
            let why = format!("the query {name}={value} means nothing here");
            refuse(422, &why).violating(why)
        };
        for (name, value) in asked.query() {
            let number = value.parse().ok().filter(|number| *number > 0);
            let filter = filters.iter().find(|(filter, _)| *filter == name);
            match (name.as_str(), number, filter) {
                ("page", Some(number), _) => query.page = number,
                ("limit", Some(number), _) => query.limit = number.min(LARGEST_PAGE),
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
}

/// Reads the fields of a body, and no others.
pub(super) fn read<T: DeserializeOwned>(asked: &Asked) -> Result<T, Answer> {
    let wrong = |why: String| refuse(422, "Json parsing error").violating(why);
    let value: Value = serde_json::from_slice(&asked.body)
        .map_err(|_| wrong("the body is not JSON".to_owned()))?;
    serde_json::from_value(value)
        .map_err(|why| wrong(format!("the fields of the body are wrong: {why}")))
}

pub(super) fn missing(_: Refusal) -> Answer {
    not_found()
}
