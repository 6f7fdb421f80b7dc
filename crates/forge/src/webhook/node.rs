//! A view of a payload that knows where it is.
//!
//! The hosts' decoders read payloads through it. Only what they ask for is ever built; the rest is
//! skipped. It is lenient as some hosts need it (a number may be a text, a flag may be 0 or 1, null
//! means missing), and what is missing or wrong is named with its path.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::Malformed;

/// A place in a payload, whether or not something stands there.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    path: String,
    value: Value<'a>,
}

#[derive(Clone, Debug)]
enum Value<'a> {
    Object(Fields<'a>),
    /// A text, number, flag or list.
    Plain(&'a RawValue),
    /// Nothing, with the reason: the outermost place on the way that is missing or of a wrong shape.
    Absent(Malformed),
}

/// The fields of an object, in the order in which they stand there. Objects of forges have up to a
/// hundred, of which a few are asked for: names are borrowed, and looking along them is cheaper than
/// sorting them.
#[derive(Clone, Debug)]
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Returns what stands under a name; of fields with the same name the last one counts.
    fn find(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rev().find(|(own, _)| own == name).map(|(_, raw)| *raw)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        /// A name without escapes is a part of the payload.
        #[derive(Deserialize)]
        struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

        let mut fields = Vec::new();
        while let Some((Name(name), raw)) = map.next_entry()? {
            fields.push((name, raw));
        }
        Ok(Fields(fields))
    }
}

impl<'a> Node<'a> {
    /// Reads a whole payload, which must be an object.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Malformed> {
        let fields = serde_json::from_str(text).map_err(|fault| {
            // A list or a number is JSON too: the sender is told what is really wrong.
            match serde_json::from_str::<IgnoredAny>(text) {
                Ok(_) => Malformed::Wrong { field: "payload".to_owned(), expected: "an object" },
                Err(_) => Malformed::NotJson(fault.to_string()),
            }
        })?;
        Ok(Self { path: String::new(), value: Value::Object(fields) })
    }

    fn new(path: String, raw: &'a RawValue) -> Self {
        let value = match raw.get().as_bytes().first() {
            Some(b'{') => match serde_json::from_str(raw.get()) {
                Ok(fields) => Value::Object(fields),
                Err(_) => {
                    Value::Absent(Malformed::Wrong { field: path.clone(), expected: "an object" })
                }
            },
            Some(b'n') => Value::Absent(Malformed::Missing(path.clone())),
            _ => Value::Plain(raw),
        };
        Self { path, value }
    }

    pub(crate) fn at(&self, key: &str) -> Self {
        let path =
            if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        let gap = match &self.value {
            Value::Object(fields) => match fields.find(key) {
                Some(raw) => return Self::new(path, raw),
                None => Malformed::Missing(path.clone()),
            },
            Value::Plain(_) => Malformed::Wrong { field: self.path.clone(), expected: "an object" },
            Value::Absent(gap) => gap.clone(),
        };
        Self { path, value: Value::Absent(gap) }
    }

    /// Whether something other than null stands here.
    pub(crate) fn is_present(&self) -> bool {
        !matches!(self.value, Value::Absent(_))
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self.value, Value::Object(_))
    }

    /// Returns the text here; a number counts as its digits.
    pub(crate) fn text(&self) -> Option<String> {
        let Value::Plain(raw) = self.value else { return None };
        match raw.get().as_bytes().first()? {
            b'"' => serde_json::from_str(raw.get()).ok(),
            b'-' | b'0'..=b'9' => Some(raw.get().to_owned()),
            _ => None,
        }
    }

    /// Returns the text here unless it is blank.
    pub(crate) fn words(&self) -> Option<String> {
        self.text().filter(|text| !text.trim().is_empty())
    }

    /// Returns the whole number here, also one written as a text.
    pub(crate) fn number<T: FromStr>(&self) -> Option<T> {
        let text = self.text()?;
        let digits = text.trim();
        digits.strip_suffix(".0").unwrap_or(digits).parse().ok()
    }

    /// Whether a flag is set here: `true`, 1, or either as a text.
    pub(crate) fn flag(&self) -> bool {
        let Value::Plain(raw) = self.value else { return false };
        matches!(raw.get().trim_matches('"'), "true" | "1")
    }

    /// Returns the entries of the list here; none if it is no list.
    pub(crate) fn items(&self) -> Vec<Self> {
        let Value::Plain(raw) = self.value else { return Vec::new() };
        let raws: Vec<&RawValue> = serde_json::from_str(raw.get()).unwrap_or_default();
        let place = |(index, raw)| Self::new(format!("{}[{index}]", self.path), raw);
        raws.into_iter().enumerate().map(place).collect()
    }

    /// Counts the entries of the list here.
    pub(crate) fn count(&self) -> Option<u64> {
        let Value::Plain(raw) = self.value else { return None };
        let entries: Vec<IgnoredAny> = serde_json::from_str(raw.get()).ok()?;
        u64::try_from(entries.len()).ok()
    }

    pub(crate) fn required_text(&self) -> Result<String, Malformed> {
        self.text().ok_or_else(|| self.complaint("a text"))
    }

    pub(crate) fn required_words(&self) -> Result<String, Malformed> {
        self.words().ok_or_else(|| self.complaint("a text"))
    }

    pub(crate) fn required_number(&self) -> Result<u64, Malformed> {
        self.number().ok_or_else(|| self.complaint("a whole number"))
    }

    /// Says what is wrong here, for a reader that expected something else.
    pub(crate) fn complaint(&self, expected: &'static str) -> Malformed {
        match &self.value {
            Value::Absent(gap) => gap.clone(),
            Value::Object(_) | Value::Plain(_) => {
                Malformed::Wrong { field: self.path.clone(), expected }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: &str = r#"{
        "id": 7, "iid": "8", "float": 9.0, "huge": 1e999, "minus": -9999, "word": "x", "blank": " ",
        "nil": null, "yes": true, "one": 1, "no": false, "zero": "0",
        "list": [{"n": 1}, null, 3], "owner": {"login": "ann", "deep": {"n": "x"}}
    }"#;

    #[test]
    fn numbers_may_be_texts_and_flags_may_be_numbers() {
        let root = Node::parse(PAYLOAD).unwrap();
        let numbers = ["id", "iid", "float", "huge", "minus", "word", "nil", "owner"];
        let read = numbers.map(|key| root.at(key).number::<i64>());
        assert_eq!(read, [Some(7), Some(8), Some(9), None, Some(-9999), None, None, None]);
        assert_eq!(root.at("minus").number::<u64>(), None);
        let flags =
            ["yes", "one", "no", "zero", "nil", "missing", "owner"].map(|key| root.at(key).flag());
        assert_eq!(flags, [true, true, false, false, false, false, false]);
        assert_eq!(root.at("blank").words(), None);
    }

    #[test]
    fn what_is_missing_is_named_by_the_outermost_gap() {
        let root = Node::parse(PAYLOAD).unwrap();
        let missing = |path: &str| Malformed::Missing(path.to_owned());
        assert_eq!(root.at("owner").at("id").required_number(), Err(missing("owner.id")));
        assert_eq!(root.at("issue").at("user").at("login").required_text(), Err(missing("issue")));
        assert_eq!(root.at("nil").at("login").required_text(), Err(missing("nil")));
    }

    #[test]
    fn what_has_a_wrong_shape_is_named_with_what_was_expected() {
        let root = Node::parse(PAYLOAD).unwrap();
        let wrong = |field: &str, expected| Malformed::Wrong { field: field.to_owned(), expected };
        let number = root.at("owner").at("deep").at("n").required_number();
        assert_eq!(number, Err(wrong("owner.deep.n", "a whole number")));
        assert_eq!(root.at("id").at("x").required_text(), Err(wrong("id", "an object")));
        assert_eq!(root.at("list").at("x").required_text(), Err(wrong("list", "an object")));
        assert_eq!(root.at("owner").required_text(), Err(wrong("owner", "a text")));
    }

    #[test]
    fn lists_give_their_entries_in_order() {
        let root = Node::parse(PAYLOAD).unwrap();
        let list = root.at("list").items();
        assert_eq!(list[0].at("n").number::<u64>(), Some(1));
        assert!(!list[1].is_present());
        assert_eq!(
            list[2].at("n").required_number().unwrap_err().to_string(),
            "`list[2]` is not an object"
        );
        assert_eq!(root.at("list").count(), Some(3));
        assert!(root.at("owner").items().is_empty());
    }

    #[test]
    fn only_a_whole_object_is_a_payload() {
        for text in ["", "[", "[1 2]", "{\"a\":", "{\"a\":1}x", "{\"a\":tru}"] {
            assert!(matches!(Node::parse(text), Err(Malformed::NotJson(_))), "{text}");
        }
        for text in ["[]", "1", "null", "\"text\""] {
            let fault = Node::parse(text).unwrap_err();
            assert_eq!(fault.to_string(), "`payload` is not an object", "{text}");
        }
    }
}
