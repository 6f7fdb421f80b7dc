//! The description of the interface. It is made of the annotations of the routes themselves, by the
//! router that serves them: a route that is not described does not exist.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header::CONTENT_TYPE;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::app::Gateway;

/// The interface's version: it changes when the interface breaks, not with the program.
pub(crate) const VERSION: &str = "1.0.0";

/// What the description says besides its routes.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Patchwright",
        version = "1.0.0",
        description = "Takes deliveries of code hosts and shows what became of them.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    tags(
        (name = "gateway", description = "What forges and monitors call."),
        (name = "admin", description = "What an operator sees and orders, with the admin token.")
    ),
    modifiers(&AdminToken)
)]
pub(crate) struct Description;

struct AdminToken;

impl Modify for AdminToken {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .description(Some("The operator's ADMIN_TOKEN, in the Authorization header only."))
            .build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("admin-token", SecurityScheme::Http(scheme));
    }
}

/// Shows the description of this interface.
#[utoipa::path(
    get,
    path = "/api/openapi.json",
    tag = "gateway",
    responses((status = 200, description = "OpenAPI 3.1", body = Object))
)]
pub(crate) async fn openapi(State(gateway): State<Arc<Gateway>>) -> Response {
    ([(CONTENT_TYPE, "application/json")], gateway.openapi.clone()).into_response()
}

#[cfg(test)]
mod tests {
    use expect_test::expect_file;
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_interface_is_described_as_it_was() {
        let description: Value = serde_json::from_str(&crate::openapi()).unwrap();
        assert_eq!(description["info"]["version"], VERSION);
        let pretty = serde_json::to_string_pretty(&description).unwrap();
        expect_file!["../openapi.json"].assert_eq(&(pretty + "\n"));
    }

    #[test]
    fn t10_every_admin_route_says_that_it_needs_the_token() {
        let description: Value = serde_json::from_str(&crate::openapi()).unwrap();
        for (path, item) in description["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let admin = operation["tags"][0] == "admin";
                let guarded = operation["security"].is_array();
                assert_eq!(admin, guarded, "{method} {path}");
            }
        }
    }
}
