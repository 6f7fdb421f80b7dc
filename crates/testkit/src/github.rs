//! GitHub's HTTP face over the fake forge: the same paths, headers, statuses and JSON.
//!
//! It is strict. What GitHub refuses is refused in GitHub's words, what GitHub would forgive but a
//! careful client does not do (no `Accept`, unknown fields) is refused too, and all of it is
//! remembered as a violation. The serving loop calls [`answer`]; faults are not known here.

mod app;
mod call;
mod change;
mod code;
mod delivery;
mod endpoint;
mod graphql;
mod inline;
mod issue;
mod review;
mod shape;
mod status;

use std::time::Duration;

use domain::Time;
use http::{Method, StatusCode, header};
use serde_json::{Value, json};

pub use crate::forge::{Answered, SignedDelivery};

use crate::forge::{
    Account, Anchors, Answer, Asked, Bearer, CommentIds, Credential, Denied, Face, Habits,
    Happened, Kind, LONGEST_BODY, Limit, LoneComments, Misplaced, Model, Named, Numbering, Refusal,
    Sender, Shared,
};
use call::Call;
use endpoint::Endpoint;

const DOCUMENTATION: &str = "https://docs.github.com/rest";
const API_VERSIONS: [&str; 2] = ["2022-11-28", "2026-03-10"];
const SECONDARY: &str = "You have exceeded a secondary rate limit. Please wait a few minutes before you \
                         try again.";
const HOURLY_LIMIT: u32 = 5000;

/// GitHub's face.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GitHub;

impl Face for GitHub {
    fn habits(&self) -> Habits {
        Habits {
            numbering: Numbering::One,
            comment_ids: CommentIds::Overlapping,
            anchors: Anchors::Checked,
            lone_comments: LoneComments::Alone,
            longest_body: LONGEST_BODY,
        }
    }

    fn answer(&self, shared: &Shared, model: &mut Model, asked: &Asked) -> Answer {
        answer(shared, model, asked).unwrap_or_else(|refused| refused)
    }

    fn kind(&self, asked: &Asked) -> Kind {
        match asked.method {
            Method::GET | Method::HEAD => Kind::Read,
            Method::POST if graphql::only_reads(asked) => Kind::Read,
            Method::POST if asked.uri.path().ends_with("/comments") => Kind::NewComment,
            _ => Kind::Write,
        }
    }

    fn account(&self, model: &Model, asked: &Asked, now: Time) -> Option<Account> {
        Some(model.bearer(token(asked)?, now).ok()?.account)
    }

    fn unavailable(&self, status: StatusCode) -> Answer {
        Answer::new(status, json!({"message": "Unicorn! GitHub is having a bad day."}))
    }

    fn limited(&self, limit: Limit, until: Time, now: Time) -> Answer {
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

    /// It is always plenty, since [`Face::limited`] does the limiting.
    fn with_limit_headers(&self, answer: Answer, now: Time) -> Answer {
        let reset = seconds(now + Duration::from_hours(1));
        answer
            .with("x-ratelimit-limit", &HOURLY_LIMIT.to_string())
            .with("x-ratelimit-remaining", &(HOURLY_LIMIT - 1).to_string())
            .with("x-ratelimit-used", "1")
            .with("x-ratelimit-reset", &reset.to_string())
            .with("x-ratelimit-resource", "core")
    }

    fn delivery(&self, happened: &Happened, sender: Sender<'_>) -> SignedDelivery {
        delivery::delivery(happened, sender)
    }
}

/// Answers a request as GitHub would; `Err` is an answer too, one that refuses.
fn answer(shared: &Shared, model: &mut Model, asked: &Asked) -> Result<Answer, Answer> {
    check_headers(asked)?;
    let Some(path) = asked.segments() else {
        return Err(not_found().violating("the path is not valid percent-encoded UTF-8"));
    };
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    // The paths of GitHub Enterprise Server are the same behind a prefix.
    let path = match path.as_slice() {
        ["api", "v3", rest @ ..] => rest,
        ["api", "graphql"] => &["graphql"],
        path => path,
    };
    if let Some(answer) = app::answer(shared, model, asked, path) {
        return answer;
    }
    let bearer = authenticate(model, asked, shared.clock.now())?;
    match path {
        ["graphql"] if asked.method == Method::POST => {
            graphql::answer(model, asked, &bearer, shared.clock.now())
        }
        ["user"] if asked.method == Method::GET => own_account(&bearer),
        ["users", login] if asked.method == Method::GET => {
            let account = model.account(login).map_err(|_| not_found())?;
            Ok(Answer::new(StatusCode::OK, shape::public_account(account)))
        }
        ["installation", "repositories"] if asked.method == Method::GET => {
            app::repositories(shared, model, asked, &bearer)
        }
        ["repos", owner, name, rest @ ..] => match model.named(&format!("{owner}/{name}")) {
            Some(Named::Now(repo)) => in_repo(shared, model, asked, &bearer, repo, rest),
            Some(Named::Formerly(repo)) => Err(moved(shared, asked, repo, rest)),
            None => Err(not_found()),
        },
        ["repositories", id, rest @ ..] => match id.parse() {
            Ok(repo) => in_repo(shared, model, asked, &bearer, repo, rest),
            Err(_) => Err(not_found().violating("the repository's id is not a number")),
        },
        _ => Err(not_found().violating("no such path")),
    }
}

/// Returns who asks.
fn authenticate(model: &Model, asked: &Asked, now: Time) -> Result<Bearer, Answer> {
    let Some(token) = token(asked) else {
        let (message, why) = match asked.header(header::AUTHORIZATION) {
            None => ("Requires authentication", "no Authorization header"),
            Some(_) => ("Bad credentials", "the Authorization header is none of GitHub's"),
        };
        return Err(refuse(401, message).violating(why));
    };
    model.bearer(token, now).map_err(|denied| match denied {
        Denied::Unknown => refuse(401, "Bad credentials").violating("the token is unknown"),
        // A token may run out while a request is under way: that is nobody's mistake.
        Denied::Expired => refuse(401, "Bad credentials"),
    })
}

fn token(asked: &Asked) -> Option<&str> {
    let authorization = asked.header(header::AUTHORIZATION)?;
    authorization.strip_prefix("Bearer ").or_else(|| authorization.strip_prefix("token "))
}

fn own_account(bearer: &Bearer) -> Result<Answer, Answer> {
    match bearer.credential {
        Credential::Personal | Credential::ReadOnly => {
            Ok(Answer::new(StatusCode::OK, shape::own_account(&bearer.account)))
        }
        Credential::Run { .. } | Credential::Installation(_) => Err(not_accessible()),
    }
}

fn check_headers(asked: &Asked) -> Result<(), Answer> {
    if asked.header(header::USER_AGENT).is_none_or(str::is_empty) {
        let message = "Request forbidden by administrative rules. Please make sure your request has a \
                       User-Agent header";
        return Err(refuse(403, message).violating("no User-Agent header"));
    }
    let accept = asked.header(header::ACCEPT).unwrap_or_default();
    if !matches!(accept, "application/vnd.github+json" | "application/vnd.github.v3+json") {
        let message =
            format!("Unsupported 'Accept' header: '{accept}'. Must accept 'application/json'.");
        return Err(refuse(415, &message).violating(format!("the Accept header is '{accept}'")));
    }
    match asked.header("x-github-api-version") {
        Some(version) if !API_VERSIONS.contains(&version) => {
            let message = "This API version is no longer supported.";
            Err(refuse(410, message).violating("unknown API version"))
        }
        _ => Ok(()),
    }
}

fn in_repo(
    shared: &Shared,
    model: &mut Model,
    asked: &Asked,
    bearer: &Bearer,
    repo: u64,
    rest: &[&str],
) -> Result<Answer, Answer> {
    let Some(endpoint) = Endpoint::at(rest) else {
        return Err(not_found().violating("no such path"));
    };
    let call = Call { model, asked, bearer, repo, now: shared.clock.now(), url: &shared.url };
    endpoint.answer(call)
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

/// What an installation or a run is told that lacks a permission.
fn not_accessible() -> Answer {
    refuse(403, "Resource not accessible by integration")
}

/// Says in GitHub's words what the model refuses.
fn refusal(resource: &str, refusal: &Refusal) -> Answer {
    let why = refusal.to_string();
    match refusal {
        Refusal::Missing(_) => not_found(),
        Refusal::TooLong(_) => {
            invalid(resource, "unprocessable", "data", &why).violating("the body is too long")
        }
        Refusal::Blank(field) => {
            invalid(resource, "missing_field", field, &why).violating(format!("a blank {field}"))
        }
        Refusal::Forbidden { .. } => refuse(403, "Must have admin rights to Repository."),
        Refusal::Taken(_) | Refusal::Ambiguous(_) => {
            invalid(resource, "already_exists", "name", &why)
        }
        Refusal::Misplaced(misplaced) => unprocessable(misplacement(*misplaced)),
        Refusal::Protected(_) => refuse(409, "Repository rule violations found"),
        Refusal::Stale(path) => refuse(409, &format!("{path} does not match")),
        Refusal::NoCommits { base, head } => {
            let message = format!("No commits between {base} and {head}");
            invalid(resource, "custom", "head", &message)
        }
        Refusal::Exists(_) => {
            let message = "A pull request already exists for this branch.";
            invalid(resource, "custom", "head", message)
        }
        Refusal::Impossible(why) => unprocessable(why),
        Refusal::Broken => refuse(500, "Server Error"),
    }
}

/// A 422 that has nothing but words: it does not say which entry of a batch it means.
fn unprocessable(message: &str) -> Answer {
    let mut answer = refuse(422, "Unprocessable Entity");
    if let Some(Value::Object(body)) = &mut answer.body {
        body.insert("errors".to_owned(), json!([message]));
    }
    answer
}

fn misplacement(misplaced: Misplaced) -> &'static str {
    match misplaced {
        Misplaced::Path => "Path could not be resolved",
        Misplaced::Line => "Pull request review thread line must be part of the diff",
        Misplaced::Hunk => {
            "Pull request review thread start line must be part of the same hunk as the line."
        }
        Misplaced::Order => "Pull request review thread start line must precede the end line.",
    }
}

/// Returns the moment in whole seconds, never too early.
fn seconds(at: Time) -> i64 {
    -(-at.0).div_euclid(1000)
}

#[cfg(test)]
mod tests;
