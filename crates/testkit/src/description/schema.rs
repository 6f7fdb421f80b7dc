//! Whether a value keeps to a schema of OpenAPI 3.0.
//!
//! A keyword that is not known here is a complaint of its own, so that nothing goes unchecked in
//! silence.

use std::collections::BTreeSet;

use serde_json::Value;

/// Keywords that ask nothing of a value.
const REMARKS: [&str; 10] = [
    "description",
    "title",
    "example",
    "examples",
    "default",
    "deprecated",
    "readOnly",
    "discriminator",
    "externalDocs",
    "nullable",
];

/// The schemas of one document, which refer to each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schemas<'a>(&'a Value);

impl<'a> Schemas<'a> {
    pub(super) fn of(document: &'a Value) -> Self {
        Self(document)
    }

    /// Follows references to what they mean.
    pub(super) fn resolve(&self, mut value: &'a Value) -> &'a Value {
        while let Some(reference) = value["$ref"].as_str() {
            let pointer = reference.trim_start_matches('#');
            value = self.0.pointer(pointer).unwrap_or(&Value::Null);
        }
        value
    }

    /// Checks a value; the first complaint is enough.
    pub(super) fn check(&self, schema: &'a Value, value: &Value) -> Result<(), String> {
        self.check_at(schema, value, "").map_err(|(at, why)| {
            let at = if at.is_empty() { "the whole" } else { &at };
            format!("{at}: {why}")
        })
    }

    /// Returns every field that the schema does not have, at any depth.
    pub(super) fn strangers(&self, schema: &'a Value, value: &Value) -> Vec<String> {
        let mut found = Vec::new();
        self.find_strangers(schema, value, "", &mut found);
        found
    }

    fn find_strangers(&self, schema: &'a Value, value: &Value, at: &str, found: &mut Vec<String>) {
        let parts = self.parts(schema);
        match value {
            Value::Object(fields) => {
                let open = parts.iter().any(|part| {
                    !matches!(part["additionalProperties"], Value::Null | Value::Bool(false))
                });
                let closed = parts.iter().any(|part| part["properties"].is_object());
                for (name, value) in fields {
                    let mut described = parts.iter().map(|part| &part["properties"][name]);
                    match described.find(|part| !part.is_null()) {
                        Some(part) => {
                            self.find_strangers(part, value, &format!("{at}/{name}"), found);
                        }
                        None if open || !closed => {}
                        None => found.push(format!("the description has no field {at}/{name}")),
                    }
                }
            }
            Value::Array(items) => {
                let Some(part) = parts.iter().find(|part| part["items"].is_object()) else {
                    return;
                };
                for (place, item) in items.iter().enumerate() {
                    self.find_strangers(&part["items"], item, &format!("{at}/{place}"), found);
                }
            }
            _ => {}
        }
    }

    /// Returns the schema with all that it is put together from.
    fn parts(&self, schema: &'a Value) -> Vec<&'a Value> {
        let schema = self.resolve(schema);
        let composed = ["allOf", "anyOf", "oneOf"].into_iter();
        let below = composed.filter_map(|word| schema[word].as_array()).flatten();
        let below = below.flat_map(|part| self.parts(part));
        std::iter::once(schema).chain(below).collect()
    }

    fn check_at(&self, schema: &'a Value, value: &Value, at: &str) -> Result<(), (String, String)> {
        let schema = self.resolve(schema);
        let wrong = |why: String| Err((at.to_owned(), why));
        let Value::Object(keywords) = schema else {
            return wrong("its schema is not in the description".to_owned());
        };
        if value.is_null() && schema["nullable"] == Value::Bool(true) {
            return Ok(());
        }
        for (keyword, asks) in keywords {
            let asked = match keyword.as_str() {
                "type" => of_type(asks, value),
                "enum" => one_of(asks, value),
                "format" => formatted(asks, value),
                "minimum" | "maximum" => ranged(keyword, asks, value),
                "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
                | "maxProperties" => sized(keyword, asks, value),
                "required" => required(asks, value),
                "properties" | "items" | "additionalProperties" => {
                    self.check_below(keyword, asks, schema, value, at)?;
                    Ok(())
                }
                "allOf" => {
                    for part in asks.as_array().into_iter().flatten() {
                        self.check_at(part, value, at)?;
                    }
                    Ok(())
                }
                // Hosts write `oneOf` for choices that overlap, so that one or more is right.
                "anyOf" | "oneOf" => self.check_any(asks, value, at),
                remark if REMARKS.contains(&remark) || remark.starts_with("x-") => Ok(()),
                unknown => Err(format!("the keyword {unknown} of the description is not known")),
            };
            asked.or_else(wrong)?;
        }
        Ok(())
    }

    fn check_below(
        &self,
        keyword: &str,
        asks: &'a Value,
        schema: &'a Value,
        value: &Value,
        at: &str,
    ) -> Result<(), (String, String)> {
        match (keyword, value) {
            ("properties", Value::Object(fields)) => {
                for (name, part) in asks.as_object().into_iter().flatten() {
                    if let Some(field) = fields.get(name) {
                        self.check_at(part, field, &format!("{at}/{name}"))?;
                    }
                }
            }
            ("items", Value::Array(items)) => {
                for (place, item) in items.iter().enumerate() {
                    self.check_at(asks, item, &format!("{at}/{place}"))?;
                }
            }
            ("additionalProperties", Value::Object(fields)) => {
                let described = |name: &str| !schema["properties"][name].is_null();
                for (name, field) in fields.iter().filter(|(name, _)| !described(name)) {
                    match asks {
                        Value::Bool(true) => {}
                        Value::Bool(false) => {
                            return Err((at.to_owned(), format!("there is no field {name}")));
                        }
                        part => self.check_at(part, field, &format!("{at}/{name}"))?,
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn check_any(&self, asks: &'a Value, value: &Value, at: &str) -> Result<(), String> {
        let mut complaints = BTreeSet::new();
        for part in asks.as_array().into_iter().flatten() {
            match self.check_at(part, value, at) {
                Ok(()) => return Ok(()),
                Err((at, why)) => drop(complaints.insert(format!("{at}: {why}"))),
            }
        }
        let complaints: Vec<String> = complaints.into_iter().collect();
        Err(format!("it is none of the choices ({})", complaints.join("; ")))
    }
}

fn of_type(asks: &Value, value: &Value) -> Result<(), String> {
    let fits = match asks.as_str().unwrap_or_default() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        _ => false,
    };
    if fits { Ok(()) } else { Err(format!("{} is not of type {asks}", short(value))) }
}

fn one_of(asks: &Value, value: &Value) -> Result<(), String> {
    let words = asks.as_array();
    if words.is_some_and(|words| words.contains(value)) {
        return Ok(());
    }
    Err(format!("{} is none of {asks}", short(value)))
}

fn formatted(asks: &Value, value: &Value) -> Result<(), String> {
    let Some(text) = value.as_str() else { return Ok(()) };
    let fits = match asks.as_str().unwrap_or_default() {
        "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
        "uri" => url::Url::parse(text).is_ok(),
        "email" => text.contains('@'),
        // Sizes of integers, and names of GitHub's own.
        _ => true,
    };
    if fits { Ok(()) } else { Err(format!("{} is no {asks}", short(value))) }
}

fn ranged(keyword: &str, asks: &Value, value: &Value) -> Result<(), String> {
    let (Some(bound), Some(number)) = (asks.as_f64(), value.as_f64()) else { return Ok(()) };
    let fits = if keyword == "minimum" { number >= bound } else { number <= bound };
    if fits { Ok(()) } else { Err(format!("{number} is beyond the {keyword} of {bound}")) }
}

fn sized(keyword: &str, asks: &Value, value: &Value) -> Result<(), String> {
    let size = match (keyword, value) {
        ("minLength" | "maxLength", Value::String(text)) => text.chars().count(),
        ("minItems" | "maxItems", Value::Array(items)) => items.len(),
        ("minProperties" | "maxProperties", Value::Object(fields)) => fields.len(),
        _ => return Ok(()),
    };
    let bound = asks.as_u64().and_then(|bound| usize::try_from(bound).ok()).unwrap_or(usize::MAX);
    let fits = if keyword.starts_with("min") { size >= bound } else { size <= bound };
    if fits { Ok(()) } else { Err(format!("its size {size} is beyond {keyword} {bound}")) }
}

fn required(asks: &Value, value: &Value) -> Result<(), String> {
    let Value::Object(fields) = value else { return Ok(()) };
    let names = asks.as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing: Vec<&str> = names.filter(|name| !fields.contains_key(*name)).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("it lacks {}", missing.join(", "))) }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
