//! The forge's description of its own API (Swagger 2.0), and whether a request is in it.
//!
//! A path, a method, a query parameter or a field of a body that it does not know is a complaint:
//! a server ignores such things silently.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use super::relay::Exchange;

/// Asked of every list: versions differ in which of them they divide into pages, and what a list
/// comes whole with is told by its answer.
const PAGING: [&str; 2] = ["page", "limit"];

#[derive(Debug, Deserialize)]
pub(super) struct Description {
    #[serde(rename = "basePath")]
    base: String,
    paths: BTreeMap<String, BTreeMap<String, Operation>>,
    definitions: BTreeMap<String, Schema>,
}

#[derive(Debug, Deserialize)]
struct Operation {
    #[serde(default)]
    parameters: Vec<Parameter>,
}

#[derive(Debug, Deserialize)]
struct Parameter {
    name: String,
    #[serde(rename = "in")]
    place: String,
    schema: Option<Schema>,
}

/// A shape of JSON; what is not told is not checked.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Schema {
    #[serde(rename = "$ref")]
    reference: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    properties: BTreeMap<String, Schema>,
    items: Option<Box<Schema>>,
    #[serde(rename = "enum")]
    values: Option<Vec<Value>>,
}

impl Description {
    pub(super) fn read(description: &Value) -> Result<Self> {
        Self::deserialize(description).context("the description of the API cannot be read")
    }

    /// Says what of a request the description does not know.
    pub(super) fn complaint(&self, asked: &Exchange) -> Option<String> {
        let what = format!("{} {}", asked.method, asked.uri.path());
        let Some(operation) = self.operation(asked) else {
            return Some(format!("{what} is not described"));
        };
        let query = asked.uri.query().unwrap_or_default();
        let unknown = url::form_urlencoded::parse(query.as_bytes())
            .find(|(name, _)| !PAGING.contains(&name.as_ref()) && !operation.has_parameter(name));
        if let Some((name, _)) = unknown {
            return Some(format!("{what} has no parameter {name}"));
        }
        if asked.body.is_empty() {
            return None;
        }
        let Ok(body) = serde_json::from_slice::<Value>(&asked.body) else {
            return Some(format!("{what} was sent something that is no JSON"));
        };
        match operation.parameters.iter().find(|parameter| parameter.place == "body") {
            None => Some(format!("{what} takes no body")),
            Some(Parameter { schema, .. }) => {
                let schema = schema.as_ref()?;
                self.misfit(schema, &body, "body").map(|misfit| format!("{what}: {misfit}"))
            }
        }
    }

    fn operation(&self, asked: &Exchange) -> Option<&Operation> {
        let path = asked.uri.path().strip_prefix(&self.base)?;
        let method = asked.method.as_str().to_ascii_lowercase();
        // Of several templates the one with the most words of its own is meant.
        let fitting = self.paths.iter().filter(|(template, _)| fits(template, path));
        let (_, methods) = fitting.min_by_key(|(template, _)| template.matches('{').count())?;
        methods.get(&method)
    }

    /// Says where a value is not as its schema has it.
    fn misfit(&self, schema: &Schema, value: &Value, at: &str) -> Option<String> {
        if let Some(reference) = &schema.reference {
            let name = reference.rsplit('/').next().unwrap_or_default();
            let Some(schema) = self.definitions.get(name) else {
                return Some(format!("{at} is a {name}, which is not described"));
            };
            return self.misfit(schema, value, at);
        }
        if let Some(values) = &schema.values
            && !values.contains(value)
        {
            return Some(format!("{at} is {value}, which is none of its values"));
        }
        match (schema.kind.as_deref(), value) {
            (Some("object"), Value::Object(fields)) if !schema.properties.is_empty() => {
                fields.iter().find_map(|(name, value)| {
                    let place = format!("{at}.{name}");
                    match schema.properties.get(name) {
                        Some(schema) => self.misfit(schema, value, &place),
                        None => Some(format!("{place} is not described")),
                    }
                })
            }
            (Some("array"), Value::Array(values)) => {
                let items = schema.items.as_ref()?;
                let mut places = values.iter().enumerate();
                places.find_map(|(at_index, value)| {
                    self.misfit(items, value, &format!("{at}[{at_index}]"))
                })
            }
            (Some("object"), Value::Object(_))
            | (Some("string"), Value::String(_))
            | (Some("boolean"), Value::Bool(_))
            | (Some("integer" | "number"), Value::Number(_))
            | (None, _) => None,
            (Some(kind), value) => Some(format!("{at} is {value} and no {kind}")),
        }
    }
}

impl Operation {
    fn has_parameter(&self, name: &str) -> bool {
        self.parameters.iter().any(|one| one.place == "query" && one.name == name)
    }
}

/// Whether a path is one of those that a template stands for. The last parameter may hold slashes
/// where a path of a file is meant.
fn fits(template: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (template.split('/').peekable(), path.split('/').peekable());
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(word), Some(part)) if word.starts_with('{') => {
                if part.is_empty() {
                    return false;
                }
                if wanted.peek().is_none() && matches!(word, "{filepath}" | "{ref}" | "{branch}") {
                    return true;
                }
            }
            (Some(word), Some(part)) if word == part => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use http::{HeaderMap, StatusCode};
    use serde_json::json;

    use super::*;

    fn description() -> Description {
        Description::read(&json!({
            "basePath": "/api/v1",
            "paths": {
                "/repos/{owner}/things/{id}": {
                    "get": { "parameters": [{ "name": "since", "in": "query", "type": "string" }] },
                    "post": { "parameters": [
                        { "name": "body", "in": "body", "schema": { "$ref": "#/definitions/Thing" } },
                    ] },
                },
                "/repos/{owner}/things/own": { "get": {} },
                "/repos/{owner}/contents/{filepath}": { "get": {} },
            },
            "definitions": {
                "Thing": { "type": "object", "properties": {
                    "word": { "type": "string", "enum": ["a", "b"] },
                    "lines": { "type": "array", "items": { "type": "object", "properties": {
                        "at": { "type": "integer" },
                    } } },
                } },
            },
        }))
        .unwrap()
    }

    #[track_caller]
    fn check(method: &str, uri: &str, body: &str, complaint: Option<&str>) {
        let asked = Exchange {
            method: method.parse().unwrap(),
            uri: uri.parse().unwrap(),
            headers: HeaderMap::new(),
            body: Bytes::copy_from_slice(body.as_bytes()),
            status: StatusCode::OK,
            answer: Bytes::new(),
        };
        assert_eq!(description().complaint(&asked).as_deref(), complaint);
    }

    #[test]
    fn what_is_described_is_fine() {
        check("GET", "/api/v1/repos/o/things/7?since=2&page=3", "", None);
        check("GET", "/api/v1/repos/o/things/own", "", None);
        check("GET", "/api/v1/repos/o/contents/a/b/c.txt", "", None);
        let body = r#"{"word": "a", "lines": [{"at": 1}]}"#;
        check("POST", "/api/v1/repos/o/things/7", body, None);
    }

    #[test]
    fn an_invented_path_method_parameter_or_field_is_named() {
        let at = "/api/v1/repos/o/things/7";
        check("GET", "/api/v1/repos/o", "", Some("GET /api/v1/repos/o is not described"));
        check("PUT", at, "", Some("PUT /api/v1/repos/o/things/7 is not described"));
        check(
            "GET",
            "/api/v1/repos/o/things/7?size=2",
            "",
            Some("GET /api/v1/repos/o/things/7 has no parameter size"),
        );
        let complaint = |tail: &str| format!("POST {at}: {tail}");
        check("POST", at, r#"{"wort": "a"}"#, Some(&complaint("body.wort is not described")));
        check(
            "POST",
            at,
            r#"{"lines": [{"on": 1}]}"#,
            Some(&complaint("body.lines[0].on is not described")),
        );
        check(
            "POST",
            at,
            r#"{"lines": [{"at": "1"}]}"#,
            Some(&complaint("body.lines[0].at is \"1\" and no integer")),
        );
        check(
            "POST",
            at,
            r#"{"word": "c"}"#,
            Some(&complaint("body.word is \"c\", which is none of its values")),
        );
        check("GET", at, "{}", Some("GET /api/v1/repos/o/things/7 takes no body"));
    }
}
