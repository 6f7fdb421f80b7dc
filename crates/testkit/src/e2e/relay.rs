//! A server in front of another one, which takes everything down that passes.
//!
//! One stands before the forge, as a reverse proxy would: what the product asks there can be held
//! against the forge's own description. One stands before the product: what the forge delivers and
//! what it is answered can be looked at, and delivered again.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING};
use http::{HeaderMap, StatusCode};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::person::client;
use crate::forge::Asked;

/// More than anything in a story may carry.
const LARGEST: usize = 64 * 1024 * 1024;

/// What belongs to one connection and is made anew for the next.
const OF_THE_CONNECTION: [http::HeaderName; 4] =
    [CONNECTION, CONTENT_LENGTH, EXPECT, TRANSFER_ENCODING];

/// A request that passed, and its answer.
#[derive(Clone, Debug)]
pub(super) struct Exchange {
    pub(super) asked: Asked,
    pub(super) status: StatusCode,
    pub(super) answer: Bytes,
}

/// A running relay; it goes with this value.
#[derive(Debug)]
pub(super) struct Relay {
    address: SocketAddr,
    passed: Arc<Mutex<Vec<Exchange>>>,
    serving: JoinHandle<()>,
}

#[derive(Clone, Debug)]
struct Passage {
    target: SocketAddr,
    client: reqwest::Client,
    passed: Arc<Mutex<Vec<Exchange>>>,
}

impl Relay {
    /// Starts to lead everything to `target`, which need not listen yet.
    pub(super) async fn start(target: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let passed = Arc::new(Mutex::new(Vec::new()));
        let passage = Passage { target, client: client()?, passed: Arc::clone(&passed) };
        let router = Router::new().fallback(pass).with_state(passage);
        let serving = tokio::spawn(async move {
            // It ends with its task only; what it cannot do shows in the stories.
            drop(axum::serve(listener, router).await);
        });
        Ok(Self { address, passed, serving })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns everything that has passed so far, in the order of the answers.
    pub(super) fn passed(&self) -> Vec<Exchange> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn pass(State(passage): State<Passage>, request: Request) -> Response {
    // A task of its own: it is taken down even if whoever asked is gone.
    match tokio::spawn(passage.lead(request)).await {
        Ok(Ok(response)) => response,
        Ok(Err(error)) => (StatusCode::BAD_GATEWAY, format!("{error:#}")).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

impl Passage {
    async fn lead(self, request: Request) -> Result<Response> {
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, LARGEST).await.context("cannot read the request")?;
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let answer = self
            .client
            .request(parts.method.clone(), format!("http://{}{path}", self.target))
            .headers(without_connection(parts.headers.clone()))
            .body(body.clone())
            .send()
            .await?;
        let (status, headers) = (answer.status(), without_connection(answer.headers().clone()));
        let answer = answer.bytes().await?;
        let mut response = Response::new(Body::from(answer.clone()));
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        let asked = Asked { method: parts.method, uri: parts.uri, headers: parts.headers, body };
        let exchange = Exchange { asked, status, answer };
        self.passed.lock().unwrap_or_else(PoisonError::into_inner).push(exchange);
        Ok(response)
    }
}

fn without_connection(mut headers: HeaderMap) -> HeaderMap {
    for name in OF_THE_CONNECTION {
        headers.remove(name);
    }
    headers
}

#[cfg(test)]
mod tests {
    use axum::routing::post;

    use super::*;

    #[tokio::test]
    async fn what_passes_is_unchanged_and_taken_down() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let target = listener.local_addr().unwrap();
        let echo = |headers: HeaderMap, body: Bytes| async move {
            (StatusCode::ACCEPTED, [("x-seen", headers["x-word"].clone())], body)
        };
        let serving = tokio::spawn(async move {
            axum::serve(listener, Router::new().route("/a", post(echo))).await.unwrap();
        });
        let relay = Relay::start(target).await.unwrap();
        let url = format!("http://{}/a?b=%20c", relay.address());
        let answer =
            client().unwrap().post(url).header("x-word", "w").body("text").send().await.unwrap();
        assert_eq!(answer.status(), 202);
        assert_eq!(answer.headers()["x-seen"], "w");
        assert_eq!(answer.text().await.unwrap(), "text");
        let passed = relay.passed();
        assert_eq!(passed.len(), 1);
        assert_eq!(passed[0].asked.uri, "/a?b=%20c");
        assert_eq!((passed[0].status, &passed[0].answer[..]), (StatusCode::ACCEPTED, &b"text"[..]));
        serving.abort();
    }
}
