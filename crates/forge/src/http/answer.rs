//! What a refusing answer means: status, headers and body become an [`Error`] that is named by
//! what the caller does about it. Pure; the hosts' differences are small enough to stand here.

use std::time::Duration;

use domain::Time;
use http::StatusCode;
use http::header::{HeaderMap, RETRY_AFTER};
use serde::Deserialize;

use super::Nature;
use crate::error::Error;

/// How long to wait where a limit was signalled without a time.
const UNSAID_WAIT: Duration = Duration::from_secs(60);
/// Nobody is asked to wait longer than this at once, whatever a header says.
const LONGEST_WAIT: Duration = Duration::from_hours(24);
/// How much of a forge's explanation is kept.
const EXPLANATION: usize = 300;

/// Names a refusal. `why` is the forge's own explanation, already redacted.
pub(super) fn refusal(
    what: &str,
    nature: Nature,
    status: StatusCode,
    headers: &HeaderMap,
    why: String,
    now: Time,
) -> Error {
    let what = what.to_owned();
    let says = |words: &str| why.to_ascii_lowercase().contains(words);
    match status.as_u16() {
        401 => Error::Unauthenticated { why },
        // GitHub says both "you may not" and "not so fast" with 403.
        403 => match wait(headers, now) {
            Some(until) => Error::Limited { until },
            None if says("rate limit") || says("abuse detection") => {
                Error::Limited { until: now + UNSAID_WAIT }
            }
            None => Error::Forbidden { what, why },
        },
        404 | 410 => Error::Gone { what },
        409 => Error::Conflict { what },
        413 => Error::TooLong,
        400 | 422 if says("too long") => Error::TooLong,
        429 => Error::Limited { until: wait(headers, now).unwrap_or(now + UNSAID_WAIT) },
        408 | 500..=599 => {
            let why = format!("it answered {status} to {what}: {why}");
            match nature {
                Nature::Read => Error::Unreachable { why },
                Nature::Write => Error::Lost { why },
            }
        }
        status => Error::Refused { what, status, why },
    }
}

/// Reads from the headers until when the forge asks to wait.
fn wait(headers: &HeaderMap, now: Time) -> Option<Time> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let either = |name: &str| text(&format!("x-{name}")).or_else(|| text(name));
    let asked = match text(RETRY_AFTER.as_str()) {
        Some(value) => match value.parse::<u64>() {
            Ok(seconds) => now + Duration::from_secs(seconds),
            Err(_) => Time(jiff::fmt::rfc2822::parse(value).ok()?.timestamp().as_millisecond()),
        },
        // GitLab's names have no `x-`.
        None if either("ratelimit-remaining") == Some("0") => {
            let reset = either("ratelimit-reset").and_then(|value| value.parse::<i64>().ok());
            reset.map_or(now + UNSAID_WAIT, |seconds| Time(seconds.saturating_mul(1000)))
        }
        None => return None,
    };
    // Clocks differ: a moment that has passed here may not have passed there.
    Some(asked.clamp(now + Duration::from_secs(1), now + LONGEST_WAIT))
}

/// Takes the forge's explanation out of a body: the JSON message and its details where there are
/// any, else the beginning of the text. One line, and not long.
pub(super) fn explain(body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Complaint {
        #[serde(alias = "error_message", alias = "error")]
        message: serde_json::Value,
        #[serde(default)]
        errors: Option<serde_json::Value>,
    }
    let text = match serde_json::from_slice::<Complaint>(body) {
        Ok(Complaint { message, errors }) => {
            let message = words(&message);
            errors.map_or(message.clone(), |errors| format!("{message} {errors}"))
        }
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.retain(|c| !c.is_control());
    if line.is_empty() {
        return "it gave no reason".to_owned();
    }
    match line.char_indices().nth(EXPLANATION) {
        Some((end, _)) => format!("{}… (cut)", &line[..end]),
        None => line,
    }
}

/// Writes a message that may be a text, a list of texts, or lists of texts by field (GitLab).
fn words(message: &serde_json::Value) -> String {
    use serde_json::Value;
    match message {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(words).collect::<Vec<_>>().join(", "),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(field, complaint)| match field.as_str() {
                "base" | "error" => words(complaint),
                _ => format!("{field} {}", words(complaint)),
            });
            fields.collect::<Vec<_>>().join("; ")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => message.to_string(),
    }
}

/// Finds the refusal that some hosts send under a status of success: an object with an error code.
pub(super) fn hidden_refusal(body: &[u8]) -> Option<StatusCode> {
    #[derive(Deserialize)]
    struct Refusal {
        error_code: serde_json::Value,
        #[serde(rename = "error_message")]
        _message: String,
    }
    // Nearly all answers are none, and many are large: they are not read twice.
    memchr::memmem::find(body, b"\"error_code\"")?;
    let Refusal { error_code, .. } = serde_json::from_slice(body).ok()?;
    let code = match &error_code {
        serde_json::Value::Number(number) => number.as_u64(),
        serde_json::Value::String(text) => text.parse().ok(),
        serde_json::Value::Null => return None,
        _ => None,
    };
    let status = code.and_then(|code| u16::try_from(code).ok()).unwrap_or_default();
    // A code of the host's own is no status: then it only says that the answer is no.
    let known = StatusCode::from_u16(status).ok().filter(|status| status.as_u16() >= 400);
    Some(known.unwrap_or(StatusCode::BAD_REQUEST))
}

/// Writes an error with all its causes in one line.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const NOW: Time = Time(1_700_000_000_000);

    #[track_caller]
    fn check(nature: Nature, status: u16, headers: &[(&str, &str)], body: &str, expected: Expect) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: http::HeaderName = name.parse().unwrap();
            map.insert(name, value.parse().unwrap());
        }
        let status = StatusCode::from_u16(status).unwrap();
        let error = refusal("a comment", nature, status, &map, explain(body.as_bytes()), NOW);
        let text = match error {
            Error::Limited { until } => format!("Limited for {:?}", until.since(NOW)),
            error => format!("{error:?}"),
        };
        expected.assert_eq(&text);
    }

    #[test]
    fn what_is_not_there_is_gone() {
        check(
            Nature::Read,
            404,
            &[],
            r#"{"message":"Not Found"}"#,
            expect![[r#"Gone { what: "a comment" }"#]],
        );
        check(Nature::Write, 410, &[], "", expect![[r#"Gone { what: "a comment" }"#]]);
    }

    #[test]
    fn a_bad_credential_is_not_a_missing_permission() {
        check(
            Nature::Read,
            401,
            &[],
            r#"{"message":"Bad credentials"}"#,
            expect![[r#"Unauthenticated { why: "Bad credentials" }"#]],
        );
        check(
            Nature::Write,
            403,
            &[("x-ratelimit-remaining", "4999")],
            r#"{"message":"Resource not accessible by integration"}"#,
            expect![[
                r#"Forbidden { what: "a comment", why: "Resource not accessible by integration" }"#
            ]],
        );
    }

    #[test]
    fn a_403_with_the_signs_of_a_limit_is_a_limit() {
        check(Nature::Write, 403, &[("retry-after", "30")], "", expect!["Limited for 30s"]);
        check(
            Nature::Read,
            403,
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1700000090")],
            r#"{"message":"API rate limit exceeded"}"#,
            expect!["Limited for 90s"],
        );
        check(
            Nature::Write,
            403,
            &[],
            r#"{"message":"You have exceeded a secondary rate limit. Please wait."}"#,
            expect!["Limited for 60s"],
        );
    }

    #[test]
    fn a_429_waits_for_seconds_a_date_or_a_minute() {
        check(Nature::Write, 429, &[("retry-after", "5")], "", expect!["Limited for 5s"]);
        check(
            Nature::Write,
            429,
            &[("retry-after", "Tue, 14 Nov 2023 22:15:00 GMT")],
            "",
            expect!["Limited for 100s"],
        );
        check(Nature::Write, 429, &[], "", expect!["Limited for 60s"]);
        check(Nature::Write, 429, &[("retry-after", "soon")], "", expect!["Limited for 60s"]);
    }

    #[test]
    fn a_wait_is_at_least_a_second_and_at_most_a_day() {
        check(Nature::Read, 429, &[("retry-after", "0")], "", expect!["Limited for 1s"]);
        check(
            Nature::Read,
            429,
            &[("retry-after", "18446744073709551615")],
            "",
            expect!["Limited for 86400s"],
        );
        check(
            Nature::Read,
            403,
            &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1600000000")],
            "",
            expect!["Limited for 1s"],
        );
    }

    #[test]
    fn a_text_that_is_too_long_is_told_from_other_refusals() {
        check(
            Nature::Write,
            422,
            &[],
            r#"{"message":"Validation Failed","errors":[{"message":"body is too long (maximum is 65536 characters)"}]}"#,
            expect!["TooLong"],
        );
        check(
            Nature::Write,
            422,
            &[],
            r#"{"message":"Validation Failed","errors":[{"code":"locked"}]}"#,
            expect![[
                r#"Refused { what: "a comment", status: 422, why: "Validation Failed [{\"code\":\"locked\"}]" }"#
            ]],
        );
        check(Nature::Write, 409, &[], "", expect![[r#"Conflict { what: "a comment" }"#]]);
    }

    #[test]
    fn gitlab_complains_by_field() {
        check(
            Nature::Write,
            400,
            &[],
            r#"{"message":{"line_code":["can't be blank","must be a valid line code"],"base":["no"]}}"#,
            expect![[
                r#"Refused { what: "a comment", status: 400, why: "no; line_code can't be blank, must be a valid line code" }"#
            ]],
        );
        check(
            Nature::Write,
            400,
            &[],
            r#"{"message":{"note":["is too long (maximum is 1000000 characters)"]}}"#,
            expect!["TooLong"],
        );
        check(
            Nature::Read,
            403,
            &[],
            r#"{"error":"insufficient_scope","error_description":"more","scope":"api"}"#,
            expect![[r#"Forbidden { what: "a comment", why: "insufficient_scope" }"#]],
        );
        check(
            Nature::Write,
            429,
            &[("ratelimit-remaining", "0"), ("ratelimit-reset", "1700000030")],
            r#"{"message":{"error":"This endpoint has been requested too many times."}}"#,
            expect!["Limited for 30s"],
        );
    }

    #[test]
    fn e2_a_broken_server_loses_a_write_but_not_a_read() {
        check(
            Nature::Read,
            502,
            &[],
            "<html>Bad\n gateway</html>",
            expect![[
                r#"Unreachable { why: "it answered 502 Bad Gateway to a comment: <html>Bad gateway</html>" }"#
            ]],
        );
        check(
            Nature::Write,
            500,
            &[],
            "",
            expect![[
                r#"Lost { why: "it answered 500 Internal Server Error to a comment: it gave no reason" }"#
            ]],
        );
    }

    #[test]
    fn a_refusal_is_found_under_a_status_of_success() {
        let hidden = |body: &str| hidden_refusal(body.as_bytes()).map(|status| status.as_u16());
        assert_eq!(hidden(r#"{"error_code":404,"error_message":"404 Not Found"}"#), Some(404));
        assert_eq!(hidden(r#"{"error_code":"403","error_message":"no"}"#), Some(403));
        assert_eq!(hidden(r#"{"error_code":10012,"error_message":"no"}"#), Some(400));
        assert_eq!(hidden(r#"{"error_code":"WORD","error_message":"no"}"#), Some(400));
        assert_eq!(hidden(r#"{"error_code":null,"error_message":""}"#), None);
        assert_eq!(hidden(r#"{"body":"about \"error_code\" and \"error_message\""}"#), None);
        assert_eq!(hidden("[]"), None);
    }

    #[test]
    fn a_long_explanation_is_cut_visibly() {
        let text = explain("é\u{7}".repeat(5000).as_bytes());
        assert_eq!(text.chars().count(), EXPLANATION + "… (cut)".chars().count());
        assert!(text.ends_with("… (cut)"));
    }
}
