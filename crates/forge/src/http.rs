//! The one HTTP client: every request to every host goes through [`Client`].
//!
//! It pins the origin (T5), caps times and sizes, paces writes, redacts errors (T6) and turns
//! whatever comes back into [`Error`] by what the caller does about it. It knows no host: paths,
//! headers and JSON shapes come from the adapters. It retries nothing; that is the engine's.

mod answer;
mod base;
mod connection;
mod deadline;
mod pace;
mod page;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use domain::{Clock, Origin};
use http::header::{CACHE_CONTROL, HeaderMap, HeaderName, HeaderValue, LOCATION};
use http::{Method, StatusCode};
use report::redact::Redactor;
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::error::Error;
use base::Base;
use pace::Pace;

pub use connection::{Connection, Misconfigured};
pub use pace::Pacing;

pub(crate) use deadline::Deadline;
pub(crate) use pace::Content;
pub(crate) use page::{Listing, Next, Pages};

/// The whole time that sending one publication may take, from the call until nothing of it can
/// have an effect any more: what a lease must outlive (E5). A single read has the same limit.
pub const REQUEST_DEADLINE: Duration = Duration::from_secs(15);

const CONNECT_DEADLINE: Duration = Duration::from_secs(5);
/// Larger answers are not read: no object that we ask for is nearly as large.
const ANSWER_CAP: usize = 20 * 1024 * 1024;
/// A renamed repository costs one redirect, a moved and renamed one two.
const REDIRECTS: usize = 3;

/// A client of one connection: one origin, one pace, and the credential of whoever speaks. Cloning
/// it is cheap.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    shared: Arc<Shared>,
    /// The header that carries the credential, marked as sensitive.
    credential: Option<(HeaderName, HeaderValue)>,
}

/// What all clients of a connection have in common.
#[derive(Debug)]
struct Shared {
    base: Base,
    pace: Pace,
    redactor: Arc<Redactor>,
    clock: Arc<dyn Clock>,
}

/// What a request does to the forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Nature {
    Read,
    Write,
}

/// What the forge answered with success.
#[derive(Debug)]
pub(crate) struct Answer {
    headers: HeaderMap,
    body: Bytes,
    url: Url,
}

impl Client {
    /// Makes the client of a connection, without a credential; `headers` go with every request.
    pub(crate) fn new(connection: Connection, headers: HeaderMap) -> Result<Self, Misconfigured> {
        let base = Base::new(connection.api.clone())?;
        let http = connection.open(headers)?;
        let pace = Pace::new(connection.pacing, base.host());
        let Connection { redactor, clock, .. } = connection;
        let shared = Arc::new(Shared { base, pace, redactor, clock });
        Ok(Self { http, shared, credential: None })
    }

    /// Returns the client of somebody: `scheme` stands before the secret in the header's value.
    pub(crate) fn speaking_as(
        &self,
        header: HeaderName,
        scheme: &str,
        secret: &SecretString,
    ) -> Result<Self, Misconfigured> {
        let text = format!("{scheme}{}", secret.expose_secret());
        let mut value = HeaderValue::from_str(&text).map_err(|_| Misconfigured::Token)?;
        value.set_sensitive(true);
        self.shared.redactor.add(secret);
        Ok(Self { credential: Some((header, value)), ..self.clone() })
    }

    pub(crate) fn origin(&self) -> Origin {
        self.shared.base.origin()
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.shared.clock
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        &self.shared.redactor
    }

    /// Returns the deadline of something that begins now.
    pub(crate) fn now(&self) -> Deadline {
        Deadline::starting(self.clock())
    }

    /// Builds an address below the connection's base out of path segments (T5).
    pub(crate) fn url(&self, segments: &[&str]) -> Result<Url, Error> {
        self.shared.base.join(segments)
    }

    /// Builds an address below another version of the API at the same origin (T5).
    pub(crate) fn url_beside(&self, version: &str, segments: &[&str]) -> Result<Url, Error> {
        self.shared.base.join_beside(version, segments)
    }

    /// Returns the connection's base itself.
    pub(crate) fn base(&self) -> &Url {
        self.shared.base.url()
    }

    /// Reads one object, as it stands now.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        what: &str,
        url: Url,
        by: Deadline,
    ) -> Result<T, Error> {
        self.read_raw(what, url, by).await?.parse(what)
    }

    /// Asks a question that is too long for an address. It changes nothing.
    pub(crate) async fn ask<B: Serialize + Sync>(
        &self,
        what: &str,
        url: Url,
        body: &B,
        by: Deadline,
    ) -> Result<Answer, Error> {
        let request = self.http.post(url.clone()).json(body);
        let (status, answer) = self.exchange(what, Nature::Read, url, request, by).await?;
        self.accept(what, Nature::Read, status, answer)
    }

    /// Sends a request that changes something. `what` names the object for people.
    pub(crate) async fn write<B: Serialize + Sync>(
        &self,
        what: &str,
        (method, url): (Method, Url),
        body: Option<&B>,
        content: Content,
        by: Deadline,
    ) -> Result<Answer, Error> {
        self.shared.pace.turn(content, self.clock(), by).await?;
        let mut request = self.http.request(method, url.clone());
        if let Some(body) = body {
            request = request.json(body);
        }
        let (status, answer) = self.exchange(what, Nature::Write, url, request, by).await?;
        self.accept(what, Nature::Write, status, answer)
    }

    /// Reads and follows redirects, as long as they stay at the origin.
    pub(crate) async fn read_raw(
        &self,
        what: &str,
        mut url: Url,
        by: Deadline,
    ) -> Result<Answer, Error> {
        for _ in 0..=REDIRECTS {
            // A look must see what the forge has now, whatever stands in between.
            let request = self.http.get(url.clone()).header(CACHE_CONTROL, "no-cache");
            let (status, answer) =
                self.exchange(what, Nature::Read, url.clone(), request, by).await?;
            if !status.is_redirection() {
                return self.accept(what, Nature::Read, status, answer);
            }
            let target =
                answer.headers.get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("");
            url = self.shared.base.resolve(&url, target).map_err(|why| Error::Refused {
                what: what.to_owned(),
                status: status.as_u16(),
                why: self.clean(&format!("it redirects, and {why}")),
            })?;
        }
        let why = format!("more than {REDIRECTS} redirects");
        Err(Error::Garbled { what: what.to_owned(), why })
    }

    /// Sends one request and reads its whole answer, whatever its status.
    async fn exchange(
        &self,
        what: &str,
        nature: Nature,
        url: Url,
        request: reqwest::RequestBuilder,
        by: Deadline,
    ) -> Result<(StatusCode, Answer), Error> {
        let Some(left) = by.left(self.clock()) else {
            return Err(Error::Unreachable { why: format!("no time was left to ask for {what}") });
        };
        let request = match &self.credential {
            Some((name, value)) => request.header(name, value),
            None => request,
        };
        let response =
            request.timeout(left).send().await.map_err(|error| self.broken(nature, error))?;
        self.shared.pace.notice(response.headers());
        let (status, headers) = (response.status(), response.headers().clone());
        let body = match self.collect(what, nature, response).await {
            Ok(body) => body,
            // The status alone says what to do; the body would only have explained it.
            Err(_) if !status.is_success() => Bytes::new(),
            Err(error) => return Err(error),
        };
        Ok((status, Answer { headers, body, url }))
    }

    async fn collect(
        &self,
        what: &str,
        nature: Nature,
        mut response: reqwest::Response,
    ) -> Result<Bytes, Error> {
        let mut body = BytesMut::new();
        while let Some(chunk) =
            response.chunk().await.map_err(|error| self.broken(nature, error))?
        {
            if body.len() + chunk.len() > ANSWER_CAP {
                let why = format!("it is larger than {} MiB", ANSWER_CAP / (1024 * 1024));
                return Err(Error::Garbled { what: what.to_owned(), why });
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body.freeze())
    }

    fn accept(
        &self,
        what: &str,
        nature: Nature,
        status: StatusCode,
        answer: Answer,
    ) -> Result<Answer, Error> {
        let status = match answer::hidden_refusal(&answer.body) {
            Some(hidden) if status.is_success() => hidden,
            None if status.is_success() => return Ok(answer),
            Some(_) | None => status,
        };
        let why = self.clean(&answer::explain(&answer.body));
        Err(answer::refusal(what, nature, status, &answer.headers, why, self.clock().now()))
    }

    /// Names a request that got no answer: whether it can have had its effect decides (E2).
    fn broken(&self, nature: Nature, error: reqwest::Error) -> Error {
        let never_left = error.is_connect() || error.is_builder();
        let why = self.clean(&answer::chain(&error.without_url()));
        match nature {
            Nature::Write if !never_left => Error::Lost { why },
            Nature::Read | Nature::Write => Error::Unreachable { why },
        }
    }

    fn clean(&self, text: &str) -> String {
        self.shared.redactor.clean(text).into_owned()
    }
}

impl Answer {
    /// Returns the value of a header as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
    }

    /// Whether there is no body: some hosts answer so instead of saying no.
    pub(crate) fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Reads the body as JSON. What cannot be read is told by its place, never by its content.
    pub(crate) fn parse<T: DeserializeOwned>(&self, what: &str) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            let why = match error.classify() {
                serde_json::error::Category::Data => {
                    format!("an unexpected field at {line}:{column}")
                }
                serde_json::error::Category::Eof => "it ends too early".to_owned(),
                serde_json::error::Category::Syntax | serde_json::error::Category::Io => {
                    format!("it is not JSON at {line}:{column}")
                }
            };
            Error::Garbled { what: what.to_owned(), why }
        })
    }
}

#[cfg(test)]
mod tests;
