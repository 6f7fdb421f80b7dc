//! Swagger 2.0 in the words of OpenAPI 3.0, as far as the checks look at them.

use serde_json::{Map, Value, json};

/// The keywords of a parameter that say what it holds.
const OF_SCHEMA: [&str; 6] = ["type", "format", "enum", "items", "minimum", "maximum"];

/// Rewrites a document. Its paths are given the prefix, and its servers are written in Go: whatever
/// is a reference or a list there may be null.
pub(super) fn upgraded(swagger: &Value, prefix: &str) -> Value {
    let mut paths = Map::new();
    for (path, methods) in fields(&swagger["paths"]) {
        let methods =
            fields(methods).map(|(method, described)| (method.clone(), operation(described)));
        paths.insert(format!("{prefix}{path}"), Value::Object(methods.collect()));
    }
    let responses = fields(&swagger["responses"]).map(|(name, it)| (name.clone(), response(it)));
    let definitions =
        fields(&swagger["definitions"]).map(|(name, it)| (name.clone(), definition(it)));
    json!({
        "paths": paths,
        "responses": responses.collect::<Map<_, _>>(),
        "definitions": definitions.collect::<Map<_, _>>(),
    })
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn operation(described: &Value) -> Value {
    let mut upgraded = json!({"parameters": [], "responses": {}});
    for parameter in described["parameters"].as_array().into_iter().flatten() {
        if parameter["in"] == "body" {
            let content = json!({"application/json": {"schema": parameter["schema"]}});
            upgraded["requestBody"] =
                json!({"required": parameter["required"] == true, "content": content});
        } else if let Some(parameters) = upgraded["parameters"].as_array_mut() {
            let held = fields(parameter).filter(|(name, _)| OF_SCHEMA.contains(&name.as_str()));
            let schema: Map<_, _> = held.map(|(name, it)| (name.clone(), it.clone())).collect();
            parameters
                .push(json!({"name": parameter["name"], "in": parameter["in"], "schema": schema}));
        }
    }
    for (status, described) in fields(&described["responses"]) {
        upgraded["responses"][status] = response(described);
    }
    upgraded
}

fn response(described: &Value) -> Value {
    match (&described["$ref"], &described["schema"]) {
        (Value::String(_), _) => described.clone(),
        (_, Value::Null) => json!({}),
        (_, schema) => json!({"content": {"application/json": {"schema": schema}}}),
    }
}

fn definition(described: &Value) -> Value {
    let mut upgraded = described.clone();
    if let Some(properties) = upgraded["properties"].as_object_mut() {
        for property in properties.values_mut() {
            let held = property.take();
            *property = match held.get("$ref") {
                Some(_) => json!({"nullable": true, "allOf": [held]}),
                None => held,
            };
            property["nullable"] = Value::Bool(true);
            // It stands on texts, where it means nothing.
            if let Some(keywords) = property.as_object_mut() {
                keywords.remove("uniqueItems");
            }
        }
    }
    upgraded
}
