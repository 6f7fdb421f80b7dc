//! Apps and their installations.

use serde_json::{Value, json};

use super::account;
use crate::forge::{FakeApp, FakeInstallation};

const FOUNDED: &str = "2026-01-01T00:00:00Z";

pub(in crate::github) fn app(app: &FakeApp) -> Value {
    json!({
        "id": app.id,
        "slug": app.slug,
        "client_id": app.client_id,
        "node_id": format!("A_{}", app.id),
        "owner": account(&app.bot),
        "name": app.slug,
        "description": null,
        "external_url": "https://patchwright.example",
        "html_url": format!("https://github.example/apps/{}", app.slug),
        "created_at": FOUNDED,
        "updated_at": FOUNDED,
        "permissions": {"metadata": "read"},
        "events": [],
    })
}

pub(in crate::github) fn installation(
    url: &str,
    app: &FakeApp,
    installation: &FakeInstallation,
) -> Value {
    let FakeInstallation { id, owner, permissions, .. } = installation;
    json!({
        "id": id,
        "account": account(owner),
        "repository_selection": "selected",
        "access_tokens_url": format!("{url}/app/installations/{id}/access_tokens"),
        "repositories_url": format!("{url}/installation/repositories"),
        "html_url": format!("https://github.example/settings/installations/{id}"),
        "app_id": app.id,
        "app_slug": app.slug,
        "target_id": owner.id,
        "target_type": "Organization",
        "permissions": permissions,
        "events": [],
        "created_at": FOUNDED,
        "updated_at": FOUNDED,
        "single_file_name": null,
        "suspended_by": null,
        "suspended_at": null,
    })
}
