//! From the bytes of a delivery to JSON text that every parser takes.

use std::borrow::Cow;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use memchr::memchr2;
use percent_encoding::percent_decode;

use super::Malformed;

/// As deep as `serde_json` reads, so that what is accepted here can be read again later.
const DEEPEST: usize = 127;

/// Returns the JSON text of a delivery.
pub(super) fn json<'a>(headers: &HeaderMap, body: &'a [u8]) -> Result<Cow<'a, str>, Malformed> {
    let utf8 = |fault: std::str::Utf8Error| Malformed::NotJson(format!("it is not UTF-8: {fault}"));
    if !is_form(headers) {
        return readable(std::str::from_utf8(body).map_err(utf8)?);
    }
    let payload = form_payload(body).ok_or_else(|| Malformed::Missing("payload".to_owned()))?;
    let text = std::str::from_utf8(&payload).map_err(utf8)?;
    Ok(Cow::Owned(readable(text)?.into_owned()))
}

/// Whether the body is a form, with the JSON in its field `payload`.
pub(crate) fn is_form(headers: &HeaderMap) -> bool {
    let content_type =
        headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

/// Returns the field `payload` of a form body, decoded byte by byte.
///
/// The whole body must be that one field, as forges send it: the content type is not signed, and a
/// signed JSON text may hold `&payload=` wherever somebody could write.
pub(crate) fn form_payload(body: &[u8]) -> Option<Vec<u8>> {
    let encoded = body.strip_prefix(b"payload=").filter(|encoded| !encoded.contains(&b'&'))?;
    let spaced: Vec<u8> =
        encoded.iter().map(|&byte| if byte == b'+' { b' ' } else { byte }).collect();
    Some(percent_decode(&spaced).collect())
}

/// Makes lone surrogates visible and refuses what is nested too deeply, in one pass.
///
/// `"\ud800"` is legal JSON for a text that no Rust string can hold. It becomes `"\\ud800"`: a
/// reader sees the six characters (J8).
fn readable(text: &str) -> Result<Cow<'_, str>, Malformed> {
    let bytes = text.as_bytes();
    let mut escaped = String::new();
    let mut copied = 0;
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut at = 0;
    loop {
        if in_string {
            // Most of a delivery is the inside of strings, where only these two matter.
            at += memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()).unwrap_or(bytes.len());
        }
        let Some(&byte) = bytes.get(at) else { break };
        at += match (in_string, byte) {
            (_, b'"') => {
                in_string = !in_string;
                1
            }
            (true, b'\\') => match surrogate(bytes, at) {
                None => 2,
                Some(Surrogate::Paired) => 12,
                Some(Surrogate::Lone) => {
                    escaped.push_str(&text[copied..at]);
                    escaped.push('\\');
                    copied = at;
                    6
                }
            },
            (false, b'{' | b'[') => {
                depth += 1;
                if depth > DEEPEST {
                    let reason = format!("it is nested more than {DEEPEST} levels deep");
                    return Err(Malformed::NotJson(reason));
                }
                1
            }
            (false, b'}' | b']') => {
                depth = depth.saturating_sub(1);
                1
            }
            _ => 1,
        };
    }
    if copied == 0 {
        return Ok(Cow::Borrowed(text));
    }
    escaped.push_str(&text[copied..]);
    Ok(Cow::Owned(escaped))
}

enum Surrogate {
    Paired,
    Lone,
}

/// Looks at the escape that starts at `at`; `None` if it is no surrogate.
fn surrogate(bytes: &[u8], at: usize) -> Option<Surrogate> {
    match code_unit(bytes, at)? {
        0xd800..=0xdbff => match code_unit(bytes, at + 6) {
            Some(0xdc00..=0xdfff) => Some(Surrogate::Paired),
            _ => Some(Surrogate::Lone),
        },
        0xdc00..=0xdfff => Some(Surrogate::Lone),
        _ => None,
    }
}

/// Reads `\uXXXX` at `at`.
fn code_unit(bytes: &[u8], at: usize) -> Option<u32> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit * 16 + char::from(digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &str) {
        let text = readable(input).unwrap();
        assert_eq!(serde_json::from_str::<String>(&text).unwrap(), expected);
    }

    #[test]
    fn j8_lone_surrogates_become_visible_and_pairs_stay() {
        check(r#""a\ud800b""#, r"a\ud800b");
        check(r#""\uDC00\uD800""#, r"\uDC00\uD800");
        check(r#""\ud800\ud83d\ude00""#, "\\ud800\u{1f600}");
        check(r#""\ud83d\ude00""#, "\u{1f600}");
        check(r#""\\ud800""#, r"\ud800");
        check(r#""\\\ud800""#, r"\\ud800");
        check(r#""\u0000""#, "\0");
    }

    #[test]
    fn a_text_without_surrogates_is_not_copied() {
        assert!(matches!(readable(r#"{"a":"é\n"}"#), Ok(Cow::Borrowed(_))));
    }

    #[test]
    fn nesting_is_refused_exactly_where_the_parser_would() {
        for depth in [1, DEEPEST, DEEPEST + 1, 100_000] {
            let text = "[".repeat(depth) + &"]".repeat(depth);
            assert_eq!(
                readable(&text).is_ok(),
                serde_json::from_str::<Value>(&text).is_ok(),
                "{depth}"
            );
        }
        assert!(readable(&format!("\"{}\"", "[".repeat(1_000))).is_ok(), "brackets in a text");
    }

    #[test]
    fn a_form_is_decoded_strictly() {
        let mut headers = HeaderMap::new();
        let form = "Application/X-WWW-Form-Urlencoded; charset=utf-8";
        headers.insert(CONTENT_TYPE, form.parse().unwrap());
        assert_eq!(json(&headers, b"payload=%7B%22a%22%3A+%22%2B%22%7D").unwrap(), r#"{"a": "+"}"#);
        for mixed in
            [&b"x=1&payload=%7B%7D"[..], b"payload=%7B%7D&x=1", br#"{"a":"&payload=%7B%7D&"}"#]
        {
            assert_eq!(json(&headers, mixed), Err(Malformed::Missing("payload".to_owned())));
        }
        assert_eq!(json(&headers, b"x=1"), Err(Malformed::Missing("payload".to_owned())));
        assert!(matches!(json(&headers, b"payload=%22%ff%22"), Err(Malformed::NotJson(_))));
    }

    proptest! {
        #[test]
        fn what_a_parser_takes_means_the_same_afterwards(text in r#"("|\\|u|d|8|0|c|\[|\{|é|,){0,40}"#) {
            if let Ok(before) = serde_json::from_str::<Value>(&text) {
                let after = readable(&text).unwrap();
                prop_assert_eq!(serde_json::from_str::<Value>(&after).unwrap(), before);
            }
        }
    }
}
