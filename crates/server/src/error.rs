//! Why a request is not served, and the answer that says so without saying too much.

use std::time::Duration;

use axum::Json;
use axum::response::{IntoResponse, Response};
use http::header::{CONNECTION, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use report::redact::Redactor;
use uuid::Uuid;

use crate::answer::Refusal;

/// A request that is not served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    BadRequest(String),
    /// The body ended before its time, or cannot be read.
    #[error("the body did not arrive whole")]
    Cut,
    #[error("the signature is missing or wrong")]
    Unauthentic,
    #[error("an `Authorization: Bearer` header with the admin token is needed")]
    NoToken,
    #[error("this is not the admin token")]
    WrongToken,
    #[error("the admin API is off: no ADMIN_TOKEN is configured")]
    AdminOff,
    #[error("{0}")]
    Forbidden(String),
    #[error("there is no {0}")]
    NotFound(&'static str),
    #[error("this address is not called with that method")]
    WrongMethod,
    #[error("the body took too long")]
    TooSlow,
    #[error("{0}")]
    Conflict(String),
    #[error("the body is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the admin API does not answer to that Host: add it to the allowed hosts")]
    WrongHost,
    #[error("too many wrong signatures from this address")]
    Flood { wait: Duration },
    #[error("{0}")]
    Busy(&'static str),
    /// Ours to mend: the log has it, the answer only an id.
    #[error("something went wrong here; the log has it under this id")]
    Internal(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    fn status(&self) -> StatusCode {
        match self {
            Self::BadRequest(_) | Self::Cut => StatusCode::BAD_REQUEST,
            Self::Unauthentic | Self::NoToken | Self::WrongToken => StatusCode::UNAUTHORIZED,
            Self::AdminOff | Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::WrongHost => StatusCode::MISDIRECTED_REQUEST,
            Self::Flood { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Takes our secrets out of words that repeat what the sender said (T6).
    pub(crate) fn cleaned(self, redactor: &Redactor) -> Self {
        match self {
            Self::BadRequest(words) => Self::BadRequest(redactor.clean(&words).into_owned()),
            other => other,
        }
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::Absent(what) => Self::NotFound(what),
            store::Error::WrongState { .. } => Self::Conflict(error.to_string()),
            error => Self::Internal(Box::new(error)),
        }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let id = match &self {
            Self::Internal(source) => {
                let id = Uuid::new_v4().to_string();
                tracing::error!(error.id = %id, error = %source, "a request failed");
                Some(id)
            }
            _ => None,
        };
        let body = Refusal { status: "error", error: self.to_string(), id };
        let mut response = (self.status(), Json(body)).into_response();
        let headers = response.headers_mut();
        match self {
            Self::NoToken => {
                headers
                    .insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"admin\""));
            }
            Self::WrongToken => {
                let challenge =
                    HeaderValue::from_static("Bearer realm=\"admin\", error=\"invalid_token\"");
                headers.insert(WWW_AUTHENTICATE, challenge);
            }
            Self::Flood { wait } => {
                let seconds = wait.as_millis().div_ceil(1000).max(1);
                if let Ok(value) = HeaderValue::from_str(&seconds.to_string()) {
                    headers.insert(RETRY_AFTER, value);
                }
            }
            Self::Busy(_) => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("10"));
            }
            // The rest of the body is not read: the connection cannot be used again.
            Self::TooLarge { .. } | Self::TooSlow | Self::Cut => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;
    use crate::rig::shown;

    async fn check(error: Error, expected: Expect) {
        expected.assert_eq(&shown(error.into_response()).await);
    }

    #[tokio::test]
    async fn a_refusal_says_why() {
        check(
            Error::TooLarge { limit: 10 },
            expect![[r#"
                413
                connection: close
                {"status":"error","error":"the body is larger than 10 bytes"}"#]],
        )
        .await;
        check(
            Error::Flood { wait: Duration::from_millis(1500) },
            expect![[r#"
                429
                retry-after: 2
                {"status":"error","error":"too many wrong signatures from this address"}"#]],
        )
        .await;
        check(
            Error::NoToken,
            expect![[r#"
                401
                www-authenticate: Bearer realm="admin"
                {"status":"error","error":"an `Authorization: Bearer` header with the admin token is needed"}"#]],
        )
        .await;
    }

    #[tokio::test]
    async fn an_order_that_comes_too_late_is_a_conflict() {
        let late =
            store::Error::WrongState { found: domain::job::State::Done, wanted: "cancelled" };
        check(
            late.into(),
            expect![[r#"
                409
                {"status":"error","error":"a done job cannot be cancelled"}"#]],
        )
        .await;
    }

    #[tokio::test]
    async fn a_failure_of_ours_shows_an_id_and_no_internals() {
        let failure = store::Error::Unreachable("postgres://bot:hunter2@db/patchwright".to_owned());
        let text = shown(Error::from(failure).into_response()).await;
        assert!(text.starts_with("500\n"), "{text}");
        assert!(text.contains(r#""id":""#), "{text}");
        assert!(!text.contains("postgres"), "{text}");
    }
}
