//! One authenticated request below a project, and what all endpoints do alike: reading the body
//! and the query, cutting pages, telling what happened.

use domain::Time;
use http::StatusCode;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::endpoint::Family;
use super::shape::View;
use super::{not_found, refusal, refuse};
use crate::forge::{
    Act, Answer, Asked, Bearer, FakeSubject, Happened, Model, Refusal, What, Which,
};

const DEFAULT_PAGE: usize = 20;
const LARGEST_PAGE: usize = 100;
/// Above so many rows GitLab counts no more.
const COUNTED: usize = 10_000;

pub(super) struct Call<'a> {
    pub(super) model: &'a mut Model,
    pub(super) asked: &'a Asked,
    pub(super) bearer: &'a Bearer,
    pub(super) repo: u64,
    pub(super) now: Time,
    pub(super) url: &'a str,
}

impl<'a> Call<'a> {
    pub(super) fn act(&self) -> Act<'a> {
        Act { by: &self.bearer.account, now: self.now }
    }

    /// Returns the issue or change: each family has numbers of its own.
    pub(super) fn subject(&self, family: Family, number: u64) -> Result<&FakeSubject, Answer> {
        let which = match family {
            Family::Issues => Which::Issue(number),
            Family::Changes => Which::Change(number),
        };
        self.model.find(self.repo, which).map_err(missing)
    }

    pub(super) fn view(&self) -> Result<View<'_>, Answer> {
        let repo = self.model.repo(self.repo).map_err(|_| not_found("Project"))?;
        Ok(View { url: self.url, repo })
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

    /// Cuts a page out of a listing.
    pub(super) fn page(&self, query: &Query, tail: &str, all: &[Value]) -> Answer {
        query.page(self.url, &format!("/projects/{}{tail}", self.repo), all)
    }

    /// Answers an empty success.
    pub(super) fn nothing(&self, what: impl IntoIterator<Item = What>) -> Result<Answer, Answer> {
        self.tell(Answer::new(StatusCode::NO_CONTENT, Value::Null), what)
    }
}

/// What a listing was asked for.
pub(super) struct Query {
    pub(super) page: usize,
    per_page: usize,
    filters: Vec<(String, String)>,
}

impl Query {
    /// Reads the query. GitLab passes over what it does not know; here it is a mistake.
    pub(super) fn read(asked: &Asked, filters: &[(&str, &[&str])]) -> Result<Self, Answer> {
        let mut query = Self { page: 1, per_page: DEFAULT_PAGE, filters: Vec::new() };
        for (name, value) in asked.query() {
            let number = value.parse().ok().filter(|number| *number > 0);
            let filter = filters.iter().find(|(filter, _)| *filter == name);
            match (name.as_str(), number, filter) {
                ("page", Some(number), _) => query.page = number,
                ("per_page", Some(number), _) => query.per_page = number.min(LARGEST_PAGE),
                // A filter without words takes any.
                (_, _, Some((_, words))) if words.is_empty() || words.contains(&value.as_str()) => {
                    query.filters.push((name, value));
                }
                _ => {
                    let why = format!("{name} does not have a valid value");
                    let answer = Answer::new(StatusCode::BAD_REQUEST, json!({ "error": why }));
                    return Err(answer.violating(format!("the query {name}={value}")));
                }
            }
        }
        Ok(query)
    }

    pub(super) fn filter(&self, name: &str) -> Option<&str> {
        let found = self.filters.iter().find(|(filter, _)| filter == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the moment that a filter names.
    pub(super) fn moment(&self, name: &str) -> Result<Option<Time>, Answer> {
        let Some(value) = self.filter(name) else { return Ok(None) };
        match value.parse::<jiff::Timestamp>() {
            Ok(at) => Ok(Some(Time(at.as_millisecond()))),
            Err(_) => Err(refuse(400, &format!("{name} is invalid")).violating("no moment")),
        }
    }

    /// Cuts a page, with the headers that tell about the others.
    pub(super) fn page(&self, url: &str, path: &str, all: &[Value]) -> Answer {
        let skipped = (self.page - 1).saturating_mul(self.per_page);
        let shown: Vec<Value> = all.iter().skip(skipped).take(self.per_page).cloned().collect();
        let last = all.len().div_ceil(self.per_page).max(1);
        let number = |page: Option<usize>| page.map(|page| page.to_string()).unwrap_or_default();
        let next = (self.page < last).then(|| self.page + 1);
        let before = (self.page > 1).then(|| self.page - 1);
        let mut answer = Answer::new(StatusCode::OK, Value::Array(shown))
            .with("x-page", &self.page.to_string())
            .with("x-per-page", &self.per_page.to_string())
            .with("x-next-page", &number(next))
            .with("x-prev-page", &number(before))
            .with("link", &self.links(&format!("{url}/api/v4{path}"), (before, next, last)));
        if all.len() <= COUNTED {
            answer = answer
                .with("x-total", &all.len().to_string())
                .with("x-total-pages", &last.to_string());
        }
        answer
    }

    fn links(
        &self,
        path: &str,
        (before, next, last): (Option<usize>, Option<usize>, usize),
    ) -> String {
        let filters: String =
            self.filters.iter().map(|(name, value)| format!("&{name}={value}")).collect();
        let link = |page: usize, rel: &str| {
            format!("<{path}?page={page}&per_page={}{filters}>; rel=\"{rel}\"", self.per_page)
        };
        let links = [
            before.map(|page| link(page, "prev")),
            next.map(|page| link(page, "next")),
            Some(link(1, "first")),
            Some(link(last, "last")),
        ];
        links.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Reads the fields of a body, and no others. GitLab takes them from the query as well, and the
/// clients of others send none at all where everything is optional.
pub(super) fn read<T: DeserializeOwned>(asked: &Asked) -> Result<T, Answer> {
    let mut fields = serde_json::Map::new();
    for (name, value) in asked.query() {
        fields.insert(name, json!(value));
    }
    if !asked.body.is_empty() {
        let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(&asked.body) else {
            return Err(refuse(400, "400 Bad request").violating("the body is no JSON object"));
        };
        fields.extend(body);
    }
    serde_json::from_value(Value::Object(fields)).map_err(|why| {
        let body = json!({"error": why.to_string()});
        let answer = Answer::new(StatusCode::BAD_REQUEST, body);
        answer.violating(format!("the fields of the body are wrong: {why}"))
    })
}

pub(super) fn missing(why: Refusal) -> Answer {
    refusal("", &why)
}
