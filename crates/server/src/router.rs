//! Every route, once.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::middleware::from_fn_with_state;
use bytes::Bytes;
use utoipa::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::{App, Gateway};
use crate::error::Error;
use crate::openapi::Description;
use crate::{access, admin, events, guard, metrics, openapi, status, webhook};

/// Returns the routes of the gateway, ready to serve.
///
/// Whoever serves them puts the peer's address into each request as
/// [`axum::extract::ConnectInfo`]; [`crate::serve()`] does.
pub fn router(app: App) -> Router {
    assemble(app, None).1
}

/// Returns the shared state and the routes over it. `listen` is a name of ours in Host headers.
pub(crate) fn assemble(app: App, listen: Option<SocketAddr>) -> (Arc<Gateway>, Router) {
    let (open, admin, description) = routers();
    let gateway = Arc::new(Gateway::new(app, listen, Bytes::from(description)));
    let admin = admin.route_layer(from_fn_with_state(Arc::clone(&gateway), guard::admin_only));
    let router = open
        .merge(admin)
        .fallback(async || Error::NotFound("such address"))
        .method_not_allowed_fallback(async || Error::WrongMethod)
        .layer(from_fn_with_state(Arc::clone(&gateway), access::watch))
        .with_state(Arc::clone(&gateway));
    (gateway, router)
}

/// Returns the routes for everybody, those for the operator, and the description of both.
fn routers() -> (Router<Arc<Gateway>>, Router<Arc<Gateway>>, String) {
    let (open, mut description) = OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(status::root))
        .routes(routes!(status::health))
        .routes(routes!(status::status))
        .routes(routes!(status::ready))
        .routes(routes!(openapi::openapi))
        .routes(routes!(webhook::any))
        .routes(routes!(webhook::github))
        .routes(routes!(webhook::gitlab))
        .routes(routes!(webhook::gitcode))
        .routes(routes!(webhook::gitea))
        .split_for_parts();
    let (admin, of_admin) = OpenApiRouter::new()
        .routes(routes!(admin::list))
        .routes(routes!(admin::show))
        .routes(routes!(admin::cancel))
        .routes(routes!(admin::retry))
        .routes(routes!(events::follow))
        .routes(routes!(metrics::scrape))
        .split_for_parts();
    description.merge(of_admin);
    // The description is made of constants: writing it cannot fail.
    (open, admin, description.to_json().unwrap_or_default())
}

pub(crate) fn described() -> String {
    routers().2
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use expect_test::expect;
    use http::Request;
    use serde_json::Value;

    use crate::rig::{Rig, from_peer, shown};

    fn ask(method: &str, uri: &str) -> Request<Body> {
        from_peer(method, uri).body(Body::empty()).unwrap()
    }

    #[tokio::test]
    async fn the_gateway_says_that_it_lives_in_the_words_that_integrations_know() {
        let rig = Rig::new().await;
        let mut answers = Vec::new();
        for path in ["/", "/health", "/api/status", "/ready"] {
            answers.push(format!(
                "{path} {}",
                shown(rig.send(ask("GET", path)).await).await.replace('\n', " ")
            ));
        }
        expect![[r#"
            / 200 {"status":"healthy","service":"agent-gateway"}
            /health 200 {"status":"healthy","service":"agent-gateway"}
            /api/status 200 {"service":"agent-gateway","status":"running","version":"1.0.0"}
            /ready 200 {"status":"ready"}"#]]
        .assert_eq(&answers.join("\n"));
    }

    #[tokio::test]
    async fn a_store_that_does_not_answer_makes_the_gateway_unready() {
        let rig = Rig::new().await;
        rig.lose_store();
        let answer = shown(rig.send(ask("GET", "/ready")).await).await;
        expect![[r#"
            503
            {"status":"unready","reason":"the store does not answer"}"#]]
        .assert_eq(&answer);
    }

    #[tokio::test]
    async fn an_address_or_method_that_is_not_ours_is_told_so() {
        let rig = Rig::new().await;
        expect![[r#"
            404
            {"status":"error","error":"there is no such address"}"#]]
        .assert_eq(&shown(rig.send(ask("GET", "/nothing")).await).await);
        expect![[r#"
            405
            allow: POST
            {"status":"error","error":"this address is not called with that method"}"#]]
        .assert_eq(&shown(rig.send(ask("GET", "/api/webhook")).await).await);
    }

    #[tokio::test]
    async fn every_answer_forbids_guessing_its_type_and_keeping_it() {
        let rig = Rig::new().await;
        for (method, path) in [
            ("GET", "/health"),
            ("GET", "/nothing"),
            ("POST", "/api/webhook"),
            ("GET", "/api/jobs"),
        ] {
            let response = rig.send(ask(method, path)).await;
            assert_eq!(response.headers()["x-content-type-options"], "nosniff", "{path}");
            assert_eq!(response.headers()["cache-control"], "no-store", "{path}");
        }
    }

    #[tokio::test]
    async fn every_described_route_exists_and_the_description_is_served() {
        let rig = Rig::new().await;
        let served = shown(rig.send(ask("GET", "/api/openapi.json")).await).await;
        let description: Value =
            serde_json::from_str(served.strip_prefix("200\n").unwrap()).unwrap();
        let mut described = Vec::new();
        for (path, item) in description["paths"].as_object().unwrap() {
            for method in item.as_object().unwrap().keys() {
                let method = method.to_uppercase();
                described.push(format!("{method} {path}"));
                let status = rig.send(ask(&method, &path.replace("{id}", "none"))).await.status();
                assert!(![404, 405].contains(&status.as_u16()), "{method} {path}: {status}");
            }
        }
        described.sort_unstable();
        expect![[r#"
            GET /
            GET /api/jobs
            GET /api/jobs/{id}
            GET /api/jobs/{id}/events
            GET /api/openapi.json
            GET /api/status
            GET /health
            GET /metrics
            GET /ready
            POST /api/gitcode/webhook
            POST /api/gitea/webhook
            POST /api/github/webhook
            POST /api/gitlab/webhook
            POST /api/jobs/{id}/cancel
            POST /api/jobs/{id}/retry
            POST /api/webhook"#]]
        .assert_eq(&described.join("\n"));
    }
}
