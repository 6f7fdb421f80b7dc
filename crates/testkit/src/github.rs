//! GitHub's HTTP face over the fake forge: the same paths, headers, statuses and JSON.
//!
//! It is strict. What GitHub refuses is refused in GitHub's words, what GitHub would forgive but a
//! careful client does not do (no `Accept`, unknown fields) is refused too, and all of it is
//! remembered as a violation. The serving loop calls [`answer`]; faults are not known here.

mod delivery;
mod endpoint;
mod shape;

use std::time::Duration;

use domain::Time;
use http::{Method, StatusCode, header};
use serde_json::{Value, json};

pub use delivery::{Answered, SignedDelivery};

use crate::forge::{Account, Answer, Asked, Limit, Model, Named, Refusal, Shared};
use endpoint::{Call, Endpoint};

const DOCUMENTATION: &str = "https://docs.github.com/rest";
const API_VERSIONS: [&str; 2] = ["2022-11-28", "2026-03-10"];
const SECONDARY: &str = "You have exceeded a secondary rate limit. Please wait a few minutes before you \
                         try again.";
const HOURLY_LIMIT: u32 = 5000;

/// Answers a request as GitHub would.
pub(crate) fn answer(shared: &Shared, asked: &Asked) -> Answer {
    if let Some(refused) = check_headers(asked) {
        return refused;
    }
    let model = &mut *shared.model();
    let Some(account) = bearer(model, asked).cloned() else {
        let why = match asked.header(header::AUTHORIZATION) {
            None => {
                return refuse(401, "Requires authentication").violating("no Authorization header");
            }
            Some(_) => "the token is unknown",
        };
        return refuse(401, "Bad credentials").violating(why);
    };
    let Some(path) = segments(asked.uri.path()) else {
        return not_found().violating("the path is not valid percent-encoded UTF-8");
    };
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["user"] if asked.method == Method::GET => {
            Answer::new(StatusCode::OK, shape::own_account(&account))
        }
        ["repos", owner, name, rest @ ..] => match model.named(&format!("{owner}/{name}")) {
            Some(Named::Now(repo)) => in_repo(shared, model, asked, &account, repo, rest),
            Some(Named::Formerly(repo)) => moved(shared, asked, repo, rest),
            None => not_found(),
        },
        ["repositories", id, rest @ ..] => match id.parse() {
            Ok(repo) => in_repo(shared, model, asked, &account, repo, rest),
            Err(_) => not_found().violating("the repository's id is not a number"),
        },
        _ => not_found().violating("no such path"),
    }
}

/// Whether a POST to this path creates a comment.
pub(crate) fn creates_comment(path: &str) -> bool {
    path.ends_with("/comments")
}

/// Returns the account whose token the request carries.
pub(crate) fn bearer<'a>(model: &'a Model, asked: &Asked) -> Option<&'a Account> {
    let authorization = asked.header(header::AUTHORIZATION)?;
    let token =
        authorization.strip_prefix("Bearer ").or_else(|| authorization.strip_prefix("token "))?;
    model.bearer(token)
}

/// The page that stands in front of GitHub when it is not well.
pub(crate) fn unavailable(status: StatusCode) -> Answer {
    Answer::new(status, json!({"message": "Unicorn! GitHub is having a bad day."}))
}

pub(crate) fn limited(limit: Limit, until: Time, now: Time) -> Answer {
    let left = until.since(now).as_millis().div_ceil(1000).to_string();
    let primary = "API rate limit exceeded for user ID 1.";
    match limit {
        Limit::Primary => refuse(403, primary)
            .with("x-ratelimit-limit", &HOURLY_LIMIT.to_string())
            .with("x-ratelimit-remaining", "0")
            .with("x-ratelimit-used", &HOURLY_LIMIT.to_string())
            .with("x-ratelimit-reset", &seconds(until).to_string())
            .with("x-ratelimit-resource", "core"),
        Limit::TooMany => refuse(429, primary).with("retry-after", &left),
        Limit::Secondary => refuse(403, SECONDARY).with("retry-after", &left),
        Limit::SecondaryWithoutHint => refuse(403, SECONDARY),
    }
}

/// Adds what is left of the hourly limit: always plenty, since [`limited`] does the limiting.
pub(crate) fn with_limit_headers(answer: Answer, now: Time) -> Answer {
    let reset = seconds(now + Duration::from_hours(1));
    answer
        .with("x-ratelimit-limit", &HOURLY_LIMIT.to_string())
        .with("x-ratelimit-remaining", &(HOURLY_LIMIT - 1).to_string())
        .with("x-ratelimit-used", "1")
        .with("x-ratelimit-reset", &reset.to_string())
        .with("x-ratelimit-resource", "core")
}

fn check_headers(asked: &Asked) -> Option<Answer> {
    if asked.header(header::USER_AGENT).is_none_or(str::is_empty) {
        let message = "Request forbidden by administrative rules. Please make sure your request has a \
                       User-Agent header";
        return Some(refuse(403, message).violating("no User-Agent header"));
    }
    let accept = asked.header(header::ACCEPT).unwrap_or_default();
    if !matches!(accept, "application/vnd.github+json" | "application/vnd.github.v3+json") {
        let message =
            format!("Unsupported 'Accept' header: '{accept}'. Must accept 'application/json'.");
        return Some(refuse(415, &message).violating(format!("the Accept header is '{accept}'")));
    }
    let version = asked.header("x-github-api-version")?;
    if API_VERSIONS.contains(&version) {
        return None;
    }
    Some(refuse(410, "This API version is no longer supported.").violating("unknown API version"))
}

fn in_repo(
    shared: &Shared,
    model: &mut Model,
    asked: &Asked,
    account: &Account,
    repo: u64,
    rest: &[&str],
) -> Answer {
    let Some(endpoint) = Endpoint::at(rest) else {
        return not_found().violating("no such path");
    };
    let call = Call { model, asked, account, repo, now: shared.clock.now(), url: &shared.url };
    endpoint.answer(call).unwrap_or_else(|refused| refused)
}

/// GitHub keeps the method of a write by answering 307; reads get a 301.
fn moved(shared: &Shared, asked: &Asked, repo: u64, rest: &[&str]) -> Answer {
    let mut location = format!("{}/repositories/{repo}", shared.url);
    for segment in rest {
        location.push('/');
        location.push_str(segment);
    }
    if let Some(query) = asked.uri.query() {
        location.push('?');
        location.push_str(query);
    }
    let status = match asked.method {
        Method::GET | Method::HEAD => StatusCode::MOVED_PERMANENTLY,
        _ => StatusCode::TEMPORARY_REDIRECT,
    };
    let body = json!({
        "message": "Moved Permanently",
        "url": location,
        "documentation_url": "https://docs.github.com/rest/guides/best-practices-for-using-the-rest-api",
    });
    Answer::new(status, body).with("location", &location)
}

fn segments(path: &str) -> Option<Vec<String>> {
    let decode = |segment| {
        let decoded = percent_encoding::percent_decode_str(segment).decode_utf8();
        decoded.map(std::borrow::Cow::into_owned).ok()
    };
    path.strip_prefix('/')?.split('/').map(decode).collect()
}

fn refuse(status: u16, message: &str) -> Answer {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = json!({
        "message": message,
        "documentation_url": DOCUMENTATION,
        "status": status.as_str(),
    });
    Answer::new(status, body)
}

fn not_found() -> Answer {
    refuse(404, "Not Found")
}

/// A 422 in GitHub's words.
fn invalid(resource: &str, code: &str, field: &str, message: &str) -> Answer {
    let mut answer = refuse(422, "Validation Failed");
    if let Some(Value::Object(body)) = &mut answer.body {
        let error = json!({"resource": resource, "code": code, "field": field, "message": message});
        body.insert("errors".to_owned(), json!([error]));
    }
    answer
}

/// Says in GitHub's words what the model refuses.
fn refusal(resource: &str, refusal: &Refusal) -> Answer {
    let why = refusal.to_string();
    match refusal {
        Refusal::Missing(_) => not_found(),
        Refusal::TooLong => {
            invalid(resource, "unprocessable", "data", &why).violating("the body is too long")
        }
        Refusal::Blank(field) => {
            invalid(resource, "missing_field", field, &why).violating(format!("a blank {field}"))
        }
        Refusal::Forbidden { .. } => refuse(403, "Must have admin rights to Repository."),
        Refusal::Taken(_) => invalid(resource, "already_exists", "name", &why),
    }
}

/// Returns the moment in whole seconds, never too early.
fn seconds(at: Time) -> i64 {
    -(-at.0).div_euclid(1000)
}

#[cfg(test)]
mod tests;
