//! Around every request: its id and its line in the log, its duration, the headers that every
//! answer has, and an answer even where the code behind it panicked.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use http::HeaderValue;
use http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use tracing::Instrument;

use crate::app::Gateway;
use crate::error::Error;

/// Numbers the requests of this process, for its log.
static REQUESTS: AtomicU64 = AtomicU64::new(1);

/// The code behind a route panicked; the panic itself is in the log.
#[derive(Debug, thiserror::Error)]
#[error("the code behind the route panicked")]
struct Panicked;

/// Watches over one request.
pub(crate) async fn watch(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
    next: Next,
) -> Response {
    let began = gateway.clock.monotonic();
    let route = request.extensions().get::<MatchedPath>().cloned();
    // The query is left out: people put secrets there.
    let span = tracing::debug_span!(
        "request",
        request.id = REQUESTS.fetch_add(1, Ordering::Relaxed),
        method = %request.method(),
        path = request.uri().path()
    );
    let answered =
        AssertUnwindSafe(next.run(request)).catch_unwind().instrument(span.clone()).await;
    let mut response = answered
        .unwrap_or_else(|_| span.in_scope(|| Error::Internal(Box::new(Panicked)).into_response()));

    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));

    let took = gateway.clock.monotonic().saturating_sub(began);
    let status = response.status().as_u16();
    gateway.metrics.count_request(route.as_ref().map_or("none", MatchedPath::as_str), status, took);
    span.in_scope(|| {
        tracing::debug!(
            status,
            duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            "answered"
        );
    });
    response
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::Body;
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use domain::Policy;
    use tower::ServiceExt;

    use super::*;
    use crate::rig;
    use crate::router::assemble;

    #[tokio::test]
    async fn a_panic_is_answered_with_an_id_and_nothing_of_its_words() {
        let (app, _, _folder) = rig::app(Policy::for_bot("bot")).await;
        let (gateway, _) = assemble(app, None);
        let broken = Router::new()
            .route("/", get(async || -> () { panic!("the inside of the gateway") }))
            .layer(from_fn_with_state(gateway, watch));
        let request = rig::from_peer("GET", "/").body(Body::empty()).unwrap();
        let answer = rig::shown(broken.oneshot(request).await.unwrap()).await;
        assert!(answer.starts_with("500\n"), "{answer}");
        assert!(answer.contains(r#""id":""#), "{answer}");
        assert!(!answer.contains("inside"), "{answer}");
    }
}
