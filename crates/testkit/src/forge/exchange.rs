//! One request and its answer, between the serving loop and a face.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use serde_json::Value;

use super::happened::Happened;

/// A request as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Asked {
    pub(crate) fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns the path's segments, decoded; `None` if they are no percent-encoded UTF-8.
    pub(crate) fn segments(&self) -> Option<Vec<String>> {
        let decode = |segment| {
            let decoded = percent_encoding::percent_decode_str(segment).decode_utf8();
            decoded.map(std::borrow::Cow::into_owned).ok()
        };
        self.uri.path().strip_prefix('/')?.split('/').map(decode).collect()
    }

    /// Returns the pairs of the query, decoded.
    pub(crate) fn query(&self) -> Vec<(String, String)> {
        let query = self.uri.query().unwrap_or_default();
        url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
    }
}

/// What a face answers, and what else came of the request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) body: Option<Value>,
    /// What a well-behaved client would not have done.
    pub(crate) violations: Vec<String>,
    /// What the request changed: the forge would tell it to its webhooks.
    pub(crate) happened: Vec<Happened>,
}

impl Answer {
    pub(crate) fn new(status: StatusCode, body: Value) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: (!body.is_null()).then_some(body),
            violations: Vec::new(),
            happened: Vec::new(),
        }
    }

    /// Sets a header. A value that no header can hold is left out.
    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((HeaderName::from_static(name), value));
        }
        self
    }

    pub(crate) fn violating(mut self, why: impl Into<String>) -> Self {
        self.violations.push(why.into());
        self
    }

    pub(crate) fn telling(mut self, happened: Happened) -> Self {
        self.happened.push(happened);
        self
    }

    pub(super) fn into_response(self) -> Response {
        // What is empty has no type: clients would try to read it.
        let kind = HeaderValue::from_static("application/json; charset=utf-8");
        let kind = self.body.as_ref().map(|_| (header::CONTENT_TYPE, kind));
        let body = self.body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let mut response = Response::new(body);
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.headers);
        response.headers_mut().extend(kind);
        response
    }
}

/// A request that the forge has seen, for tests that ask how often and in what order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub method: Method,
    /// Path and query.
    pub path: String,
    /// What was answered; `None` while it is under way, and for a connection that was cut.
    pub status: Option<StatusCode>,
}

/// Something that a well-behaved client does not do.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Violation {
    /// Method and path.
    pub request: String,
    pub why: String,
}

/// A moment in the life of a write, told to observers as it comes. The answer does not wait for
/// them: to act in between, hold the request ([`super::Faults::hold_writes`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// It has arrived and is not done.
    Arrived { method: Method, path: String },
    /// It is done and not answered.
    Done { method: Method, path: String },
}
