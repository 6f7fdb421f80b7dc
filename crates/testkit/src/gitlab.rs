//! GitLab's HTTP face over the fake forge: the same paths, headers, statuses and JSON.
//!
//! It is strict. What GitLab refuses is refused in GitLab's words, what GitLab would pass over but a
//! careful client does not send (unknown fields and queries) is refused too, and all of it is
//! remembered as a violation. The serving loop calls [`answer`]; faults are not known here.

mod call;
mod change;
mod code;
mod delivery;
mod draft;
mod endpoint;
mod note;
mod position;
mod shape;

use std::time::Duration;

use domain::Time;
use http::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::forge::{
    Account, Anchors, Answer, Asked, Bearer, CommentIds, Denied, Face, Habits, Happened, Kind,
    Limit, LoneComments, Model, Named, Numbering, Refusal, Sender, Shared, SignedDelivery,
};
use call::{Call, Query};
use endpoint::Endpoint;

const VERSION: &str = "17.11.2-ee";
const MINUTE_LIMIT: u32 = 2000;
/// In characters.
const LONGEST_NOTE: usize = 1_000_000;

/// GitLab's face.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GitLab;

impl Face for GitLab {
    fn habits(&self) -> Habits {
        Habits {
            numbering: Numbering::Separate,
            comment_ids: CommentIds::One,
            anchors: Anchors::Checked,
            longest_body: LONGEST_NOTE,
            lone_comments: LoneComments::Alone,
        }
    }

    fn answer(&self, shared: &Shared, model: &mut Model, asked: &Asked) -> Answer {
        answer(shared, model, asked).unwrap_or_else(|refused| refused)
    }

    fn kind(&self, asked: &Asked) -> Kind {
        let path = asked.uri.path();
        match asked.method {
            Method::GET | Method::HEAD => Kind::Read,
            Method::POST if path.ends_with("/notes") || path.ends_with("/discussions") => {
                Kind::NewComment
            }
            _ => Kind::Write,
        }
    }

    fn account(&self, model: &Model, asked: &Asked, now: Time) -> Option<Account> {
        Some(model.bearer(token(asked)?, now).ok()?.account)
    }

    fn unavailable(&self, status: StatusCode) -> Answer {
        Answer::new(status, json!({"message": "GitLab is not responding"}))
    }

    fn limited(&self, limit: Limit, until: Time, now: Time) -> Answer {
        let left = until.since(now).as_millis().div_ceil(1000).to_string();
        let limited = Answer::new(StatusCode::TOO_MANY_REQUESTS, json!({"message": "Retry later"}));
        match limit {
            Limit::Primary => limited
                .with("ratelimit-limit", &MINUTE_LIMIT.to_string())
                .with("ratelimit-observed", &MINUTE_LIMIT.to_string())
                .with("ratelimit-remaining", "0")
                .with("ratelimit-reset", &seconds(until).to_string())
                .with("ratelimit-name", "throttle_authenticated_api"),
            Limit::TooMany | Limit::Secondary => limited.with("retry-after", &left),
            Limit::SecondaryWithoutHint => {
                let why = "This endpoint has been requested too many times. Try again later.";
                refuse_with(429, json!({ "error": why }))
            }
        }
    }

    /// It is always plenty, since [`Face::limited`] does the limiting.
    fn with_limit_headers(&self, answer: Answer, now: Time) -> Answer {
        answer
            .with("ratelimit-limit", &MINUTE_LIMIT.to_string())
            .with("ratelimit-observed", "1")
            .with("ratelimit-remaining", &(MINUTE_LIMIT - 1).to_string())
            .with("ratelimit-reset", &seconds(now + Duration::from_secs(60)).to_string())
            .with("ratelimit-name", "throttle_authenticated_api")
    }

    fn delivery(&self, happened: &Happened, sender: Sender<'_>) -> SignedDelivery {
        delivery::delivery(happened, sender)
    }
}

/// Answers a request as GitLab would; `Err` is an answer too, one that refuses.
fn answer(shared: &Shared, model: &mut Model, asked: &Asked) -> Result<Answer, Answer> {
    let Some(path) = asked.segments() else {
        return Err(not_found("").violating("the path is not valid percent-encoded UTF-8"));
    };
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let ["api", "v4", path @ ..] = path.as_slice() else {
        return Err(not_found("").violating("no path of the API"));
    };
    let now = shared.clock.now();
    let bearer = authenticate(model, asked, now)?;
    match path {
        ["version"] if asked.method == Method::GET => {
            Ok(Answer::new(StatusCode::OK, json!({"version": VERSION, "revision": "0a1b2c3"})))
        }
        ["user"] if asked.method == Method::GET => {
            Ok(Answer::new(StatusCode::OK, shape::own_account(&bearer.account, &shared.url)))
        }
        ["users"] if asked.method == Method::GET => users(shared, model, asked),
        ["projects", project, rest @ ..] => {
            let repo = match (project.parse::<u64>(), model.named(project)) {
                (Ok(id), _) => id,
                (Err(_), Some(Named::Now(id))) => id,
                (Err(_), Some(Named::Formerly(id))) => {
                    return Err(moved(shared, asked, id, rest));
                }
                (Err(_), None) => return Err(not_found("Project")),
            };
            in_project(shared, model, asked, &bearer, repo, rest)
        }
        _ => Err(not_found("").violating("no such path")),
    }
}

fn users(shared: &Shared, model: &Model, asked: &Asked) -> Result<Answer, Answer> {
    let query = Query::read(asked, &[("username", &[])])?;
    let Some(login) = query.filter("username") else {
        return Err(refuse(400, "username is missing").violating("users are asked for by name"));
    };
    let found = model.account(login).ok();
    let shown: Vec<Value> =
        found.map(|user| shape::account(user, &shared.url)).into_iter().collect();
    Ok(query.page(&shared.url, "/users", &shown))
}

fn in_project(
    shared: &Shared,
    model: &mut Model,
    asked: &Asked,
    bearer: &Bearer,
    repo: u64,
    rest: &[&str],
) -> Result<Answer, Answer> {
    if model.repo(repo).is_err() {
        return Err(not_found("Project"));
    }
    let Some(endpoint) = Endpoint::at(rest) else {
        return Err(not_found("").violating("no such path"));
    };
    let call = Call { model, asked, bearer, repo, now: shared.clock.now(), url: &shared.url };
    endpoint.answer(call)
}

/// Returns who asks.
fn authenticate(model: &Model, asked: &Asked, now: Time) -> Result<Bearer, Answer> {
    let refused = refuse(401, "401 Unauthorized");
    let Some(token) = token(asked) else {
        return Err(refused.violating("no token in a header"));
    };
    let bearer = model.bearer(token, now).map_err(|denied| match denied {
        Denied::Unknown => refused.violating("the token is unknown"),
        // A token may run out while a request is under way: that is nobody's mistake.
        Denied::Expired => refuse(401, "401 Unauthorized"),
    })?;
    let reads = matches!(asked.method, Method::GET | Method::HEAD);
    if bearer.credential == crate::forge::Credential::ReadOnly && !reads {
        let body = json!({"error": "insufficient_scope", "scope": "api",
            "error_description": "The request requires higher privileges than provided by the access token."});
        return Err(Answer::new(StatusCode::FORBIDDEN, body));
    }
    Ok(bearer)
}

fn token(asked: &Asked) -> Option<&str> {
    let bearer = asked.header(header::AUTHORIZATION).and_then(|it| it.strip_prefix("Bearer "));
    bearer.or_else(|| asked.header("private-token"))
}

/// A read of a former name is sent on; a write is not.
fn moved(shared: &Shared, asked: &Asked, repo: u64, rest: &[&str]) -> Answer {
    if asked.method != Method::GET {
        return not_found("Project").violating("a write to a project's former name");
    }
    let mut location = format!("{}/api/v4/projects/{repo}", shared.url);
    for segment in rest {
        location.push('/');
        location.push_str(&shape::segment(segment));
    }
    if let Some(query) = asked.uri.query() {
        location.push('?');
        location.push_str(query);
    }
    let body =
        json!({"message": format!("This resource has been moved permanently to {location}")});
    Answer::new(StatusCode::MOVED_PERMANENTLY, body).with("location", &location)
}

fn refuse(status: u16, message: &str) -> Answer {
    refuse_with(status, json!(message))
}

/// A refusal whose message is a text, or lists of texts by field.
fn refuse_with(status: u16, message: Value) -> Answer {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Answer::new(status, json!({ "message": message }))
}

/// A 404; an empty name is a path that leads nowhere, in words of its own.
fn not_found(what: &str) -> Answer {
    match what {
        "" => Answer::new(StatusCode::NOT_FOUND, json!({"error": "404 Not Found"})),
        what => refuse(404, &format!("404 {what} Not Found")),
    }
}

/// Says in GitLab's words what the model refuses.
fn refusal(what: &str, refusal: &Refusal) -> Answer {
    let why = refusal.to_string();
    match refusal {
        Refusal::Missing(_) => not_found(what),
        Refusal::TooLong(_) => {
            refuse_with(400, json!({"note": [why]})).violating("the body is too long")
        }
        Refusal::Blank(field) => refuse_with(400, json!({*field: ["can't be blank"]}))
            .violating(format!("a blank {field}")),
        Refusal::Forbidden { .. } => refuse(403, "403 Forbidden"),
        Refusal::Protected(_) => refuse(403, "You are not allowed to push into this branch"),
        Refusal::Taken(_) | Refusal::Ambiguous(_) => refuse(400, &why),
        Refusal::Misplaced(_) => {
            let code = ["can't be blank", "must be a valid line code"];
            refuse_with(400, json!({ "line_code": code }))
        }
        Refusal::Stale(_) => refuse(
            400,
            "You are attempting to update a file that has changed since you started editing it.",
        ),
        Refusal::NoCommits { .. } | Refusal::Impossible(_) => refuse(422, &why),
        Refusal::Exists(number) => {
            let why = format!(
                "Another open merge request already exists for this source branch: !{number}"
            );
            refuse_with(409, json!([why]))
        }
        Refusal::Broken => refuse(500, "500 Internal Server Error"),
    }
}

/// Returns the moment in whole seconds, never too early.
fn seconds(at: Time) -> i64 {
    -(-at.0).div_euclid(1000)
}

#[cfg(test)]
mod tests;
