//! GitCode's HTTP face over the fake forge: the fifth version of its API, and of the fourth the
//! statuses and the numbers of accounts.
//!
//! It is strict: unknown paths, fields and queries are violations. It has GitCode's habits: ids
//! that are texts, numbers that are texts on issues, a new comment whose `id` is the discussion,
//! replies inside their first comment, the first page again past the end, inline comments that
//! fall into the conversation when their line is not part of the diff.

mod call;
mod change;
mod code;
mod comment;
mod delivery;
mod issue;
mod shape;

use domain::Time;
use http::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::forge::{
    Account, Anchors, Answer, Asked, Bearer, CommentIds, Credential, Denied, Face, Habits,
    Happened, Kind, Limit, LoneComments, Model, Named, Numbering, Refusal, Sender, Shared,
    SignedDelivery,
};
use call::Call;

/// The longest text that GitCode is known to take.
const LONGEST_BODY: usize = 65_535;

/// GitCode's face.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GitCode;

/// Which version of the API a path belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    Five,
    Four,
}

impl Face for GitCode {
    fn habits(&self) -> Habits {
        Habits {
            lone_comments: LoneComments::Alone,
            numbering: Numbering::Separate,
            comment_ids: CommentIds::One,
            anchors: Anchors::Checked,
            longest_body: LONGEST_BODY,
        }
    }

    fn answer(&self, shared: &Shared, model: &mut Model, asked: &Asked) -> Answer {
        answer(shared, model, asked).unwrap_or_else(|refused| refused)
    }

    fn kind(&self, asked: &Asked) -> Kind {
        match asked.method {
            Method::GET | Method::HEAD => Kind::Read,
            Method::POST if asked.uri.path().ends_with("/comments") => Kind::NewComment,
            _ => Kind::Write,
        }
    }

    fn account(&self, model: &Model, asked: &Asked, now: Time) -> Option<Account> {
        Some(model.bearer(token(asked)?, now).ok()?.account)
    }

    fn unavailable(&self, status: StatusCode) -> Answer {
        refuse(status.as_u16(), "Internal Server Error")
    }

    /// Every limit is a 429 here; only one of them names a time.
    fn limited(&self, limit: Limit, until: Time, now: Time) -> Answer {
        let refused = refuse(429, "Too Many Requests");
        let left = until.since(now).as_millis().div_ceil(1000).to_string();
        match limit {
            Limit::TooMany => refused.with("retry-after", &left),
            Limit::Primary | Limit::Secondary | Limit::SecondaryWithoutHint => refused,
        }
    }

    /// GitCode tells nothing of what is left.
    fn with_limit_headers(&self, answer: Answer, _now: Time) -> Answer {
        answer
    }

    fn delivery(&self, happened: &Happened, sender: Sender<'_>) -> SignedDelivery {
        delivery::delivery(happened, sender)
    }
}

/// Answers a request as GitCode would; `Err` is an answer too, one that refuses.
fn answer(shared: &Shared, model: &mut Model, asked: &Asked) -> Result<Answer, Answer> {
    let Some(path) = asked.segments() else {
        return Err(not_found().violating("the path is not valid percent-encoded UTF-8"));
    };
    if asked.query().iter().any(|(name, _)| name == "access_token") {
        return Err(refuse(405, "Method Not Allowed").violating("a token in an address"));
    }
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let (version, path) = match path.as_slice() {
        ["api", "v5", rest @ ..] => (Version::Five, rest),
        ["api", "v4", rest @ ..] => (Version::Four, rest),
        _ => return Err(not_found().violating("no such path")),
    };
    let bearer = authenticate(model, asked, version, shared.clock.now())?;
    match (version, path) {
        (Version::Five, ["user"]) if asked.method == Method::GET => {
            Ok(Answer::new(StatusCode::OK, shape::account(&shared.url, &bearer.account)))
        }
        (Version::Five, ["repos", owner, "issues", rest @ ..])
            if asked.method != Method::GET && rest.len() <= 1 =>
        {
            issue::answer_of_owner(shared, model, asked, &bearer, (owner, rest))
        }
        (Version::Five, ["repos", owner, name, rest @ ..]) => {
            match model.named(&format!("{owner}/{name}")) {
                Some(Named::Now(repo)) => call(shared, model, asked, &bearer, repo).answer(rest),
                Some(Named::Formerly(repo)) => Err(moved(shared, model, asked, repo, rest)),
                None => Err(refuse(404, "404 Project Not Found")),
            }
        }
        (Version::Four, ["user"]) if asked.method == Method::GET => {
            Ok(Answer::new(StatusCode::OK, shape::person(&bearer.account)))
        }
        (Version::Four, ["users"]) if asked.method == Method::GET => {
            let login = asked.query().into_iter().find(|(name, _)| name == "username");
            let found = login.and_then(|(_, login)| model.account(&login).ok().cloned());
            let found: Vec<Value> = found.iter().map(shape::person).collect();
            Ok(Answer::new(StatusCode::OK, json!(found)))
        }
        (Version::Four, ["projects", project, "statuses", commit])
            if asked.method == Method::POST =>
        {
            let named = project.parse().ok().or_else(|| match model.named(project) {
                Some(Named::Now(repo)) => Some(repo),
                Some(Named::Formerly(_)) | None => None,
            });
            let repo = named.ok_or_else(|| refuse(404, "404 Project Not Found"))?;
            call(shared, model, asked, &bearer, repo).create_status(commit)
        }
        _ => Err(not_found().violating("no such path")),
    }
}

fn call<'a>(
    shared: &'a Shared,
    model: &'a mut Model,
    asked: &'a Asked,
    bearer: &'a Bearer,
    repo: u64,
) -> Call<'a> {
    Call { model, asked, bearer, repo, now: shared.clock.now(), url: &shared.url }
}

/// Returns who asks.
fn authenticate(
    model: &Model,
    asked: &Asked,
    version: Version,
    now: Time,
) -> Result<Bearer, Answer> {
    let Some(token) = token(asked) else {
        return Err(refuse(401, "401 Unauthorized").violating("no token in the headers"));
    };
    if version == Version::Four && asked.header("private-token").is_none() {
        return Err(refuse(401, "401 Unauthorized").violating("the older API wants PRIVATE-TOKEN"));
    }
    let bearer = model.bearer(token, now).map_err(|denied| match denied {
        Denied::Unknown => refuse(401, "token not found").violating("the token is unknown"),
        Denied::Expired => refuse(401, "token expired"),
    })?;
    match bearer.credential {
        Credential::ReadOnly if asked.method != Method::GET => Err(refuse(403, "no scopes")),
        _ => Ok(bearer),
    }
}

fn token(asked: &Asked) -> Option<&str> {
    let authorization = asked.header(header::AUTHORIZATION);
    let bearer = authorization.and_then(|value| value.strip_prefix("Bearer "));
    bearer.or_else(|| asked.header("private-token"))
}

/// Nothing is documented of renamed repositories: a redirect is what comes nearest to the hosts
/// that GitCode resembles.
fn moved(shared: &Shared, model: &Model, asked: &Asked, repo: u64, rest: &[&str]) -> Answer {
    let name = model.repo(repo).map(|repo| repo.full_name.clone()).unwrap_or_default();
    let mut location = format!("{}/api/v5/repos/{name}", shared.url);
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
    Answer::new(status, Value::Null).with("location", &location)
}

fn refuse(status: u16, message: &str) -> Answer {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let name = status.canonical_reason().unwrap_or_default().to_uppercase().replace(' ', "_");
    let body = json!({
        "error_code": status.as_u16(),
        "error_code_name": name,
        "error_message": message,
        "trace_id": "c1a2f0d4e5b64798a0b1c2d3e4f50617",
    });
    Answer::new(status, body)
}

fn not_found() -> Answer {
    refuse(404, "404 Not Found")
}

/// Says in GitCode's words what the model refuses.
fn refusal(refusal: Refusal) -> Answer {
    let why = refusal.to_string();
    match refusal {
        Refusal::Missing(_) => not_found(),
        Refusal::TooLong(_) => refuse(400, &why).violating("the body is too long"),
        Refusal::Blank(field) => refuse(400, &why).violating(format!("a blank {field}")),
        Refusal::Forbidden { .. } | Refusal::Protected(_) => refuse(403, &why),
        Refusal::Stale(_) => refuse(409, &why),
        Refusal::Taken(_)
        | Refusal::Ambiguous(_)
        | Refusal::Misplaced(_)
        | Refusal::NoCommits { .. }
        | Refusal::Exists(_)
        | Refusal::Impossible(_) => refuse(400, &why),
        Refusal::Broken => refuse(500, "Internal Server Error"),
    }
}

#[cfg(test)]
mod tests;
