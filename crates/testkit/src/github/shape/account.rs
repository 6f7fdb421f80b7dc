//! Accounts and what they may do.

use forge::Permission;
use serde_json::{Value, json};

use super::extend;
use crate::forge::{Account, AccountKind, FakeRepo};

pub(in crate::github) fn account(account: &Account) -> Value {
    let login = &account.login;
    let kind = match account.kind {
        AccountKind::Person => "User",
        AccountKind::Bot => "Bot",
        AccountKind::Organization => "Organization",
    };
    let api = format!("https://api.github.example/users/{login}");
    json!({
        "login": login,
        "id": account.id,
        "node_id": format!("U_{}", account.id),
        "avatar_url": format!("https://avatars.example/u/{}", account.id),
        "gravatar_id": "",
        "url": api,
        "html_url": format!("https://github.example/{login}"),
        "followers_url": format!("{api}/followers"),
        "following_url": format!("{api}/following{{/other_user}}"),
        "gists_url": format!("{api}/gists{{/gist_id}}"),
        "starred_url": format!("{api}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{api}/subscriptions"),
        "organizations_url": format!("{api}/orgs"),
        "repos_url": format!("{api}/repos"),
        "events_url": format!("{api}/events{{/privacy}}"),
        "received_events_url": format!("{api}/received_events"),
        "type": kind,
        "user_view_type": "public",
        "site_admin": false,
    })
}

/// The account as `GET /user` shows it to itself.
pub(in crate::github) fn own_account(own: &Account) -> Value {
    let mut value = public_account(own);
    let private = json!({
        "private_gists": 0,
        "total_private_repos": 0,
        "owned_private_repos": 0,
        "disk_usage": 0,
        "collaborators": 0,
        "two_factor_authentication": true,
        "user_view_type": "private",
    });
    extend(&mut value, private);
    value
}

/// The account as `GET /users/{login}` shows it to everybody.
pub(in crate::github) fn public_account(of: &Account) -> Value {
    let mut value = account(of);
    let public = json!({
        "name": of.login,
        "company": null,
        "blog": "",
        "location": null,
        "email": null,
        "hireable": null,
        "bio": null,
        "public_repos": 0,
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    });
    extend(&mut value, public);
    value
}

pub(in crate::github) fn role(permission: Permission) -> &'static str {
    match permission {
        Permission::None => "none",
        Permission::Read => "read",
        Permission::Triage => "triage",
        Permission::Write => "write",
        Permission::Maintain => "maintain",
        Permission::Admin => "admin",
    }
}

pub(in crate::github) fn association(repo: &FakeRepo, author: &Account) -> &'static str {
    match repo.permission(author) {
        _ if author.id == repo.owner.id => "OWNER",
        permission if permission.may_write() => "COLLABORATOR",
        _ => "NONE",
    }
}

/// What the account may do, as `GET /repos/…` shows it.
pub(in crate::github) fn permissions(permission: Permission) -> Value {
    json!({
        "admin": permission >= Permission::Admin,
        "maintain": permission >= Permission::Maintain,
        "push": permission >= Permission::Write,
        "triage": permission >= Permission::Triage,
        "pull": permission >= Permission::Read,
    })
}
