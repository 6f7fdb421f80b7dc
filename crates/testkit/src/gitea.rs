//! Gitea's HTTP face over the fake forge, in the words of Gitea 1.26: the same paths, statuses and
//! JSON, below `/api/v1`.
//!
//! It is strict: unknown paths, queries and fields are refused, and remembered as violations. What
//! Gitea lets pass and others would not (lines outside the diff, reviews that break off midway) it
//! lets pass, too. The serving loop calls `answer`; faults are not known here.

mod call;
mod change;
mod code;
mod delivery;
mod endpoint;
mod issue;
mod review;
mod shape;

use domain::Time;
use http::{Method, StatusCode, header};
use serde_json::{Value, json};

use crate::forge::{
    Account, Anchors, Answer, Asked, Bearer, CommentIds, Face, Habits, Happened, Kind,
    LONGEST_BODY, Limit, LoneComments, Model, Named, Numbering, Refusal, Sender, Shared,
    SignedDelivery,
};
use call::Call;
use endpoint::Endpoint;

const VERSION: &str = "1.26.0";

/// Gitea's face.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gitea;

impl Face for Gitea {
    fn habits(&self) -> Habits {
        Habits {
            numbering: Numbering::One,
            comment_ids: CommentIds::One,
            anchors: Anchors::Unchecked,
            lone_comments: LoneComments::Reviewed,
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
        Answer::new(status, json!("<html>the proxy has no server behind it</html>"))
    }

    /// Gitea itself has no limits: a proxy in front of it answers.
    fn limited(&self, limit: Limit, until: Time, now: Time) -> Answer {
        let left = until.since(now).as_millis().div_ceil(1000).to_string();
        let answer = refuse(429, "Too Many Requests");
        match limit {
            Limit::Primary | Limit::TooMany | Limit::Secondary => answer.with("retry-after", &left),
            Limit::SecondaryWithoutHint => answer,
        }
    }

    /// There are none.
    fn with_limit_headers(&self, answer: Answer, _now: Time) -> Answer {
        answer
    }

    fn delivery(&self, happened: &Happened, sender: Sender<'_>) -> SignedDelivery {
        delivery::delivery(happened, sender)
    }
}

/// Answers a request as Gitea would; `Err` is an answer too, one that refuses.
fn answer(shared: &Shared, model: &mut Model, asked: &Asked) -> Result<Answer, Answer> {
    let Some(path) = asked.segments() else {
        return Err(nothing_here().violating("the path is not valid percent-encoded UTF-8"));
    };
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    let path = match path.as_slice() {
        ["api", "v1", rest @ ..] => rest,
        ["swagger.v1.json"] if asked.method == Method::GET => {
            return Ok(Answer::new(StatusCode::OK, shape::description(VERSION)));
        }
        _ => return Err(nothing_here().violating("no such path")),
    };
    let bearer = authenticate(model, asked, shared.clock.now())?;
    match path {
        ["version"] if asked.method == Method::GET => {
            Ok(Answer::new(StatusCode::OK, json!({"version": VERSION})))
        }
        ["user"] if asked.method == Method::GET => {
            Ok(Answer::new(StatusCode::OK, shape::account(&bearer.account)))
        }
        ["repos", owner, name, rest @ ..] => match model.named(&format!("{owner}/{name}")) {
            Some(Named::Now(repo)) => {
                let Some(endpoint) = Endpoint::at(rest) else {
                    return Err(nothing_here().violating("no such path"));
                };
                let (now, url) = (shared.clock.now(), &shared.url);
                endpoint.answer(Call { model, asked, bearer: &bearer, repo, now, url })
            }
            Some(Named::Formerly(repo)) => {
                let name = model.repo(repo).map_err(|_| not_found())?.full_name.clone();
                Err(moved(asked, &name, rest))
            }
            None => Err(not_found()),
        },
        _ => Err(nothing_here().violating("no such path")),
    }
}

/// Returns who asks.
fn authenticate(model: &Model, asked: &Asked, now: Time) -> Result<Bearer, Answer> {
    let Some(token) = token(asked) else {
        return Err(refuse(401, "token is required").violating("no token in the request"));
    };
    let refused = || refuse(401, "user does not exist [uid: 0, name: ]");
    model.bearer(token, now).map_err(|_| refused().violating("the token is unknown"))
}

fn token(asked: &Asked) -> Option<&str> {
    let authorization = asked.header(header::AUTHORIZATION)?;
    authorization.strip_prefix("token ").or_else(|| authorization.strip_prefix("Bearer "))
}

/// A former name is answered with 301, whatever the method, and with a path alone.
fn moved(asked: &Asked, full_name: &str, rest: &[&str]) -> Answer {
    let mut location = format!("/api/v1/repos/{full_name}");
    for segment in rest {
        location.push('/');
        location.push_str(segment);
    }
    if let Some(query) = asked.uri.query() {
        location.push('?');
        location.push_str(query);
    }
    Answer::new(StatusCode::MOVED_PERMANENTLY, Value::Null).with("location", &location)
}

fn refuse(status: u16, message: &str) -> Answer {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    Answer::new(status, json!({"message": message, "url": "https://git.example/api/swagger"}))
}

fn not_found() -> Answer {
    refuse(404, "not found")
}

/// What a path gets that no route has.
fn nothing_here() -> Answer {
    Answer::new(StatusCode::NOT_FOUND, json!("404 page not found"))
}

/// Says in Gitea's words what the model refuses.
fn refusal(refusal: &Refusal) -> Answer {
    let why = refusal.to_string();
    match refusal {
        Refusal::Missing(_) => not_found(),
        Refusal::TooLong(_) => refuse(422, &why).violating("the body is too long"),
        Refusal::Blank(field) => {
            refuse(422, &format!("[{field}]: Required")).violating(format!("a blank {field}"))
        }
        Refusal::Forbidden { .. } | Refusal::Protected(_) => refuse(403, &why),
        Refusal::Taken(_) | Refusal::Exists(_) => refuse(409, &why),
        Refusal::Ambiguous(_) | Refusal::Impossible(_) | Refusal::Stale(_) => refuse(422, &why),
        Refusal::NoCommits { .. } => refuse(422, "there is nothing to merge"),
        // Where it breaks down it does not say why.
        Refusal::Misplaced(_) | Refusal::Broken => refuse(500, ""),
    }
}

#[cfg(test)]
mod tests;
