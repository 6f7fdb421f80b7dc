//! Which operation of the description a request is.

use http::{Method, StatusCode};
use serde_json::Value;

use super::schema::Schemas;

/// The paths of a description, split into segments.
#[derive(Debug)]
pub(super) struct Routes(Vec<Route>);

#[derive(Debug)]
struct Route {
    path: String,
    segments: Vec<Segment>,
}

#[derive(Debug)]
enum Segment {
    Fixed(String),
    Any,
    /// The name of a branch or file at the end of a path, which may have slashes in it.
    Rest,
}

/// What one method does at one path.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation<'a>(&'a Value);

impl Routes {
    pub(super) fn of(document: &Value) -> Self {
        let paths = document["paths"].as_object().into_iter().flatten();
        let route = |path: &String| {
            let segment = |segment: &str| match segment {
                "{path}" | "{filepath}" | "{ref}" | "{branch}" if path.ends_with(segment) => {
                    Segment::Rest
                }
                // `{index}.{kind}` is no parameter of its own.
                _ if segment.starts_with('{') && segment.find('}') == Some(segment.len() - 1) => {
                    Segment::Any
                }
                _ => Segment::Fixed(segment.to_owned()),
            };
            let segments = path.trim_start_matches('/').split('/').map(segment).collect();
            Route { path: path.clone(), segments }
        };
        Self(paths.map(|(path, _)| route(path)).collect())
    }

    pub(super) fn operation<'a>(
        &self,
        document: &'a Value,
        method: &Method,
        path: &[&str],
    ) -> Option<Operation<'a>> {
        let method = method.as_str().to_ascii_lowercase();
        let fitting = self.0.iter().filter(|route| route.fits(path));
        let described = fitting.filter_map(|route| {
            let operation = document["paths"][&route.path].get(&method)?;
            Some((route.fixed(), route.segments.len() == path.len(), operation))
        });
        // The path with the most words of its own is meant.
        let best = described.max_by_key(|(fixed, whole, _)| (*whole, *fixed));
        best.map(|(_, _, operation)| Operation(operation))
    }
}

impl Route {
    fn fits(&self, path: &[&str]) -> bool {
        let takes_rest = matches!(self.segments.last(), Some(Segment::Rest));
        let long_enough =
            path.len() == self.segments.len() || takes_rest && path.len() > self.segments.len();
        long_enough
            && self.segments.iter().zip(path).all(|(segment, part)| match segment {
                Segment::Fixed(fixed) => fixed == part,
                Segment::Any | Segment::Rest => !part.is_empty(),
            })
    }

    fn fixed(&self) -> usize {
        self.segments.iter().filter(|segment| matches!(segment, Segment::Fixed(_))).count()
    }
}

impl<'a> Operation<'a> {
    /// Returns what is wrong with the query.
    pub(super) fn query_complaints(
        self,
        schemas: &Schemas<'a>,
        query: &[(String, String)],
    ) -> Vec<String> {
        let parameters = self.0["parameters"].as_array().into_iter().flatten();
        let parameters: Vec<&Value> = parameters
            .map(|parameter| schemas.resolve(parameter))
            .filter(|parameter| parameter["in"] == "query")
            .collect();
        let mut complaints = Vec::new();
        for (name, value) in query {
            let known = parameters.iter().find(|parameter| parameter["name"] == name.as_str());
            let Some(parameter) = known else {
                complaints.push(format!("the description has no query {name}"));
                continue;
            };
            let schema = &parameter["schema"];
            let value = match schemas.resolve(schema)["type"].as_str() {
                Some("integer" | "number" | "boolean") => {
                    serde_json::from_str(value).unwrap_or_else(|_| Value::from(value.as_str()))
                }
                _ => Value::from(value.as_str()),
            };
            let checked = schemas.check(schema, &value);
            complaints.extend(checked.err().map(|why| format!("the query {name}: {why}")));
        }
        complaints
    }

    pub(super) fn body(self, schemas: &Schemas<'a>) -> Option<&'a Value> {
        Some(schemas.resolve(self.0.get("requestBody")?))
    }

    pub(super) fn response(self, schemas: &Schemas<'a>, status: StatusCode) -> Option<&'a Value> {
        Some(schemas.resolve(self.0["responses"].get(status.as_str())?))
    }
}
