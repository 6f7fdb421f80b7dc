//! A host's published description of its API (OpenAPI 3.0, or Swagger 2.0), and whether an exchange keeps to it.
//!
//! The contract suite and the faces' own tests lay one over a fake forge
//! ([`crate::FakeForge::keeps_to`]): an invented path, query or field of a request is a violation,
//! and so is an answer of the fake that the host would not give. Requests are held to the letter;
//! answers may have more than the description says, because hosts' answers have, too.

mod route;
mod schema;
mod swagger;

use std::path::Path;
use std::sync::LazyLock;

use http::Method;
use serde_json::Value;

use crate::forge::{Answer, Asked};
use route::{Operation, Routes};
use schema::Schemas;

/// Where `scripts/fixtures.sh` puts GitHub's.
const GITHUB: &str = "../../target/fixtures/github-openapi/api.github.com.json";

/// Fields that are null against GitHub's description: where a comment stands that is outdated or on
/// a whole file.
const NULLS: [&str; 3] = ["line", "original_line", "position"];

/// A path whose answer nobody can give: an account would have to be a person and a company at once.
const IMPOSSIBLE: &str = "/app/installations";

/// Where it puts Gitea's, which is a template of its web pages: only texts in it are filled in.
const GITEA: &str = "../../target/fixtures/gitea-swagger/v1_json.tmpl";

/// Read once: it has 13 MB.
static OF_GITHUB: LazyLock<Description> = LazyLock::new(|| Description::new(document(GITHUB)));

static OF_GITEA: LazyLock<Description> = LazyLock::new(|| Description::of_gitea(&document(GITEA)));

fn document(fixture: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(fixture);
    let text = std::fs::read(&path).unwrap_or_else(|why| {
        panic!("{fixture} is not there ({why}): run `cargo xtask test` or `scripts/fixtures.sh`")
    });
    serde_json::from_slice(&text).unwrap_or_else(|why| panic!("{fixture} is no JSON: {why}"))
}

/// One description.
#[derive(Debug)]
pub struct Description {
    document: Value,
    routes: Routes,
}

impl Description {
    /// Returns GitHub's, which the fixtures hold.
    pub fn github() -> &'static Self {
        &OF_GITHUB
    }

    /// Returns Gitea's, which the fixtures hold.
    pub fn gitea() -> &'static Self {
        &OF_GITEA
    }

    /// Makes one of what a running Gitea says of itself.
    pub(crate) fn of_gitea(swagger: &Value) -> Self {
        Self::new(swagger::upgraded(swagger, "/api/v1"))
    }

    fn new(document: Value) -> Self {
        let routes = Routes::of(&document);
        Self { document, routes }
    }

    /// Returns everything about a request that the description does not have.
    pub(crate) fn complaints_of(&self, asked: &Asked) -> Vec<String> {
        if !describes(asked) {
            return Vec::new();
        }
        let Some(operation) = self.operation(asked) else {
            return vec![format!("the description has no {} {}", asked.method, asked.uri.path())];
        };
        let schemas = Schemas::of(&self.document);
        let mut complaints = operation.query_complaints(&schemas, &asked.query());
        complaints.extend(body_complaints(&schemas, &operation, asked));
        complaints
    }

    /// Returns everything about an answer that the description does not allow.
    pub(crate) fn complaints_of_answer(&self, asked: &Asked, answer: &Answer) -> Vec<String> {
        if !describes(asked) || asked.uri.path() == IMPOSSIBLE {
            return Vec::new();
        }
        let Some(operation) = self.operation(asked) else { return Vec::new() };
        let schemas = Schemas::of(&self.document);
        let Some(response) = operation.response(&schemas, answer.status) else {
            // Every path may refuse in ways that are not listed at each.
            let undescribed = format!("the description has no answer {}", answer.status);
            return if answer.status.is_success() { vec![undescribed] } else { Vec::new() };
        };
        let schema = response.pointer("/content/application~1json/schema");
        match (schema, &answer.body) {
            (Some(schema), Some(body)) => {
                let checked = schemas.check(schema, &without_known_nulls(body));
                checked.err().into_iter().collect()
            }
            (None, Some(_)) if answer.status.is_success() => {
                vec![format!("the description has no body for {}", answer.status)]
            }
            _ => Vec::new(),
        }
    }

    fn operation(&self, asked: &Asked) -> Option<Operation<'_>> {
        let segments = asked.segments()?;
        let mut path: Vec<&str> = segments.iter().map(String::as_str).collect();
        if let ["repositories", _, ..] = path.as_slice() {
            // Links name a repository by its id; the description knows it by its name alone.
            path.splice(0..2, ["repos", "owner", "name"]);
        }
        self.routes.operation(&self.document, &asked.method, &path)
    }
}

/// Leaves out the nulls that GitHub answers though its description does not have them.
fn without_known_nulls(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(without_known_nulls).collect(),
        Value::Object(fields) => {
            let known = |name: &str, value: &Value| value.is_null() && NULLS.contains(&name);
            let kept = fields.iter().filter(|(name, value)| !known(name, value));
            kept.map(|(name, value)| (name.clone(), without_known_nulls(value))).collect()
        }
        other => other.clone(),
    }
}

/// GraphQL has a description of its own, and no description describes itself.
fn describes(asked: &Asked) -> bool {
    let path = asked.uri.path();
    let is_graph = asked.method == Method::POST && path.ends_with("/graphql");
    !is_graph && path != "/swagger.v1.json"
}

fn body_complaints(schemas: &Schemas<'_>, operation: &Operation<'_>, asked: &Asked) -> Vec<String> {
    let described = operation.body(schemas);
    let given = (!asked.body.is_empty()).then(|| serde_json::from_slice::<Value>(&asked.body));
    match (described, given) {
        (None, None) => Vec::new(),
        (None, Some(_)) => vec!["the description has no body here".to_owned()],
        (Some(body), None) => {
            let required = body["required"] == Value::Bool(true);
            required.then(|| "the body is missing".to_owned()).into_iter().collect()
        }
        (Some(_), Some(Err(why))) => vec![format!("the body is no JSON: {why}")],
        (Some(body), Some(Ok(given))) => match body.pointer("/content/application~1json/schema") {
            None => vec!["the description has no JSON here".to_owned()],
            Some(schema) => {
                let mut complaints = schemas.strangers(schema, &given);
                complaints.extend(schemas.check(schema, &given).err());
                complaints
            }
        },
    }
}

#[cfg(test)]
mod tests;
