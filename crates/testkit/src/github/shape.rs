//! GitHub's JSON, made from the model: one function per object, used by the API and by deliveries.

use domain::Time;
use forge::Permission;
use serde_json::{Value, json};

use crate::forge::{Account, AccountKind, FakeComment, FakeRepo, FakeSubject, Reaction, Spot};

/// Prints a moment as GitHub does: to the second, in UTC.
pub(super) fn time(at: Time) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

pub(super) fn account(account: &Account) -> Value {
    let login = &account.login;
    let kind = match account.kind {
        AccountKind::Person => "User",
        AccountKind::Bot => "Bot",
        AccountKind::Organization => "Organization",
    };
    json!({
        "login": login,
        "id": account.id,
        "node_id": format!("U_{}", account.id),
        "avatar_url": format!("https://avatars.example/u/{}", account.id),
        "url": format!("https://api.github.example/users/{login}"),
        "html_url": format!("https://github.example/{login}"),
        "type": kind,
        "user_view_type": "public",
        "site_admin": false,
    })
}

/// The account as `GET /user` shows it to itself.
pub(super) fn own_account(own: &Account) -> Value {
    let mut value = account(own);
    value["name"] = json!(own.login);
    value["two_factor_authentication"] = json!(true);
    value
}

pub(super) fn repository(url: &str, repo: &FakeRepo) -> Value {
    let name = &repo.full_name;
    json!({
        "id": repo.id,
        "node_id": format!("R_{}", repo.id),
        "name": repo.name(),
        "full_name": name,
        "private": false,
        "owner": account(&repo.owner),
        "html_url": format!("https://github.example/{name}"),
        "description": null,
        "fork": false,
        "url": format!("{url}/repos/{name}"),
        "clone_url": format!("https://github.example/{name}.git"),
        "default_branch": repo.default_branch,
        "archived": false,
        "disabled": false,
        "visibility": "public",
        "has_issues": true,
    })
}

/// What the asking account may do, as `GET /repos/…` shows it.
pub(super) fn permissions(permission: Permission) -> Value {
    json!({
        "admin": permission >= Permission::Admin,
        "maintain": permission >= Permission::Maintain,
        "push": permission >= Permission::Write,
        "triage": permission >= Permission::Triage,
        "pull": permission >= Permission::Read,
    })
}

pub(super) fn role(permission: Permission) -> &'static str {
    match permission {
        Permission::None => "none",
        Permission::Read => "read",
        Permission::Triage => "triage",
        Permission::Write => "write",
        Permission::Maintain => "maintain",
        Permission::Admin => "admin",
    }
}

/// An issue, or a change as the issues API shows it.
pub(super) fn issue(url: &str, repo: &FakeRepo, subject: &FakeSubject) -> Value {
    let number = subject.number;
    let path = format!("{url}/repos/{}", repo.full_name);
    let page = if subject.change.is_some() { "pull" } else { "issues" };
    let mut value = json!({
        "url": format!("{path}/issues/{number}"),
        "repository_url": path,
        "comments_url": format!("{path}/issues/{number}/comments"),
        "html_url": format!("https://github.example/{}/{page}/{number}", repo.full_name),
        "id": subject.id,
        "node_id": format!("I_{}", subject.id),
        "number": number,
        "title": subject.title,
        "user": account(&subject.author),
        "labels": [],
        "state": state(subject),
        "locked": false,
        "assignees": [],
        "milestone": null,
        "comments": subject.comments,
        "created_at": time(subject.created_at),
        "updated_at": time(subject.updated_at),
        "closed_at": null,
        "author_association": association(repo, &subject.author),
        "body": body(subject),
        "reactions": reactions(&format!("{path}/issues/{number}"), &subject.reactions),
        "performed_via_github_app": null,
    });
    if let Some(change) = &subject.change {
        value["draft"] = json!(change.draft);
        value["pull_request"] = json!({
            "url": format!("{path}/pulls/{number}"),
            "html_url": format!("https://github.example/{}/pull/{number}", repo.full_name),
            "merged_at": null,
        });
    }
    value
}

/// A change as the `pull_request` events show it; null for an issue.
pub(super) fn pull_request(url: &str, repo: &FakeRepo, subject: &FakeSubject) -> Value {
    let Some(change) = &subject.change else { return Value::Null };
    let number = subject.number;
    let end = |branch: &str, commit: &str| {
        json!({
            "label": format!("{}:{branch}", repo.owner.login),
            "ref": branch,
            "sha": commit,
            "user": account(&repo.owner),
            "repo": repository(url, repo),
        })
    };
    json!({
        "url": format!("{url}/repos/{}/pulls/{number}", repo.full_name),
        "id": subject.id,
        "node_id": format!("PR_{}", subject.id),
        "html_url": format!("https://github.example/{}/pull/{number}", repo.full_name),
        "number": number,
        "state": state(subject),
        "locked": false,
        "title": subject.title,
        "user": account(&subject.author),
        "body": body(subject),
        "created_at": time(subject.created_at),
        "updated_at": time(subject.updated_at),
        "closed_at": null,
        "merged_at": null,
        "draft": change.draft,
        "merged": change.merged,
        "head": end(&change.head_branch, &change.head),
        "base": end(&change.base_branch, &change.base),
        "author_association": association(repo, &subject.author),
        "assignees": [],
        "labels": [],
        "requested_reviewers": [],
        "requested_teams": [],
        "maintainer_can_modify": false,
    })
}

/// A comment of the conversation or on a line: GitHub has two shapes.
pub(super) fn comment(url: &str, repo: &FakeRepo, comment: &FakeComment) -> Value {
    let (id, number) = (comment.id, comment.number);
    let path = format!("{url}/repos/{}", repo.full_name);
    let mut value = json!({
        "id": id,
        "user": account(&comment.author),
        "created_at": time(comment.created_at),
        "updated_at": time(comment.updated_at),
        "author_association": association(repo, &comment.author),
        "body": comment.body,
    });
    match &comment.place {
        Spot::Conversation => {
            let own = format!("{path}/issues/comments/{id}");
            value["node_id"] = json!(format!("IC_{id}"));
            value["html_url"] = json!(format!(
                "https://github.example/{}/issues/{number}#issuecomment-{id}",
                repo.full_name
            ));
            value["issue_url"] = json!(format!("{path}/issues/{number}"));
            value["reactions"] = reactions(&own, &comment.reactions);
            value["performed_via_github_app"] = Value::Null;
            value["url"] = json!(own);
        }
        Spot::Line { path: file, line, reply_to } => {
            let own = format!("{path}/pulls/comments/{id}");
            value["node_id"] = json!(format!("PRRC_{id}"));
            value["html_url"] = json!(format!(
                "https://github.example/{}/pull/{number}#discussion_r{id}",
                repo.full_name
            ));
            value["pull_request_url"] = json!(format!("{path}/pulls/{number}"));
            value["path"] = json!(file);
            value["line"] = json!(line);
            value["original_line"] = json!(line);
            value["side"] = json!("RIGHT");
            value["subject_type"] = json!("line");
            if let Some(root) = reply_to {
                value["in_reply_to_id"] = json!(root);
            }
            value["reactions"] = reactions(&own, &comment.reactions);
            value["url"] = json!(own);
        }
    }
    value
}

pub(super) fn reaction(url: &str, reaction: &Reaction) -> Value {
    json!({
        "id": reaction.id,
        "node_id": format!("REA_{}", reaction.id),
        "user": account(&reaction.by),
        "content": reaction.content,
        "url": format!("{url}/reactions/{}", reaction.id),
    })
}

fn reactions(owner: &str, reactions: &[Reaction]) -> Value {
    let mut value = json!({"url": format!("{owner}/reactions"), "total_count": reactions.len()});
    for content in ["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"] {
        value[content] =
            json!(reactions.iter().filter(|reaction| reaction.content == content).count());
    }
    value
}

fn association(repo: &FakeRepo, author: &Account) -> &'static str {
    match repo.permission(author) {
        _ if author.id == repo.owner.id => "OWNER",
        permission if permission.may_write() => "COLLABORATOR",
        _ => "NONE",
    }
}

fn state(subject: &FakeSubject) -> &'static str {
    if subject.open { "open" } else { "closed" }
}

/// GitHub has null where nothing was written.
fn body(subject: &FakeSubject) -> Option<&str> {
    (!subject.body.is_empty()).then_some(subject.body.as_str())
}
