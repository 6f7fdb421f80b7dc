//! Whether the program lives, which interface it speaks, and whether it can take work.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::Gateway;
use crate::openapi::VERSION;

/// A store that takes longer than this to answer does not answer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The name that integrations know.
const SERVICE: &str = "agent-gateway";

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    #[schema(example = "healthy")]
    status: &'static str,
    #[schema(example = "agent-gateway")]
    service: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Status {
    #[schema(example = "agent-gateway")]
    service: &'static str,
    #[schema(example = "running")]
    status: &'static str,
    /// The interface's version.
    #[schema(example = "1.0.0")]
    version: &'static str,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Readiness {
    /// `ready` or `unready`.
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

/// Tells that the program lives.
#[utoipa::path(get, path = "/", tag = "gateway", responses((status = 200, body = Health)))]
pub(crate) async fn root() -> Json<Health> {
    health().await
}

/// Tells that the program lives.
#[utoipa::path(get, path = "/health", tag = "gateway", responses((status = 200, body = Health)))]
pub(crate) async fn health() -> Json<Health> {
    Json(Health { status: "healthy", service: SERVICE })
}

/// Tells which version of the interface is spoken.
#[utoipa::path(get, path = "/api/status", tag = "gateway", responses((status = 200, body = Status)))]
pub(crate) async fn status() -> Json<Status> {
    Json(Status { service: SERVICE, status: "running", version: VERSION })
}

/// Tells whether deliveries would be taken now.
#[utoipa::path(
    get,
    path = "/ready",
    tag = "gateway",
    responses((status = 200, body = Readiness), (status = 503, body = Readiness))
)]
pub(crate) async fn ready(State(gateway): State<Arc<Gateway>>) -> Response {
    let reason = if gateway.closing.is_cancelled() {
        Some("it is shutting down")
    } else {
        let (clock, store) = (&gateway.clock, &gateway.store);
        let answers = tokio::select! {
            biased;
            version = store.schema_version() => version
                .inspect_err(|error| tracing::warn!(%error, "not ready: the store fails"))
                .is_ok(),
            () = clock.sleep_until(clock.now() + PATIENCE) => false,
        };
        (!answers).then_some("the store does not answer")
    };
    match reason {
        None => Json(Readiness { status: "ready", reason }).into_response(),
        Some(_) => (StatusCode::SERVICE_UNAVAILABLE, Json(Readiness { status: "unready", reason }))
            .into_response(),
    }
}
