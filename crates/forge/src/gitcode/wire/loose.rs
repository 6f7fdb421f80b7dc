//! Values that GitCode writes in more than one way: a number may be a text, a flag may be 0 or 1,
//! and null, an empty text or a missing field all mean that there is nothing.

use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Reads a whole number, also one that is written as a text. Anything else is nothing.
pub(super) fn number<'de, D: Deserializer<'de>, T: FromStr>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(plain(Value::deserialize(deserializer)?).and_then(|text| text.parse().ok()))
}

/// Reads a text, also one that is written as a number. A blank one is nothing.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(plain(Value::deserialize(deserializer)?))
}

/// Reads a flag: `true`, 1, or either as a text. Anything else is none.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<bool>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Bool(flag) => Some(flag),
        other => plain(other).map(|text| matches!(text.as_str(), "1" | "true")),
    })
}

/// Reads an object. Something of another shape in its place is nothing.
pub(super) fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value.is_object().then(|| serde_json::from_value(value).ok()).flatten())
}

/// Reads a list; nothing, or something else in its place, is an empty one.
pub(super) fn list<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    match value.is_array() {
        true => serde_json::from_value(value).map_err(serde::de::Error::custom),
        false => Ok(Vec::new()),
    }
}

fn plain(value: Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text,
        Value::Number(number) => {
            let text = number.to_string();
            text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
        }
        _ => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default)]
    struct Sample {
        #[serde(deserialize_with = "number")]
        number: Option<u64>,
        #[serde(deserialize_with = "text")]
        text: Option<String>,
        #[serde(deserialize_with = "flag")]
        flag: Option<bool>,
        #[serde(deserialize_with = "object")]
        object: Option<Box<Self>>,
        #[serde(deserialize_with = "list")]
        list: Vec<u64>,
    }

    #[track_caller]
    fn check(json: &str, expected: Sample) {
        assert_eq!(serde_json::from_str::<Sample>(json).unwrap(), expected, "{json}");
    }

    #[test]
    fn numbers_and_texts_stand_for_each_other() {
        for json in [r#"{"number":"7"}"#, r#"{"number":7}"#, r#"{"number":7.0}"#] {
            check(json, Sample { number: Some(7), ..Sample::default() });
        }
        check(r#"{"text":7}"#, Sample { text: Some("7".to_owned()), ..Sample::default() });
        check(r#"{"number":"...","text":" "}"#, Sample::default());
    }

    #[test]
    fn flags_may_be_numbers() {
        for json in [r#"{"flag":1}"#, r#"{"flag":"true"}"#, r#"{"flag":true}"#] {
            check(json, Sample { flag: Some(true), ..Sample::default() });
        }
        check(r#"{"flag":0}"#, Sample { flag: Some(false), ..Sample::default() });
    }

    #[test]
    fn what_has_another_shape_is_not_there() {
        check(r#"{"object":3,"list":null,"flag":null,"number":null}"#, Sample::default());
        check(r#"{"object":"","list":"","flag":[],"number":{}}"#, Sample::default());
        let inner = Sample { list: vec![1], ..Sample::default() };
        check(
            r#"{"object":{"list":[1]}}"#,
            Sample { object: Some(Box::new(inner)), ..Sample::default() },
        );
    }
}
