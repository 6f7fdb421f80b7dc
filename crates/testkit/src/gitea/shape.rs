//! The JSON of Gitea's objects, as answers and deliveries show them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use domain::Time;
use serde_json::{Value, json};

use super::code::blob;
use crate::forge::{
    Account, FakeComment, FakeRepo, FakeReview, FakeStatus, FakeSubject, FakeThread, HeadRepo,
    Reaction, ReviewState, Side,
};

/// What a draft's title begins with.
pub(super) const DRAFT: &str = "WIP: ";

/// A repository as seen from outside.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    /// Where the forge is reached, without a slash at the end.
    pub(super) url: &'a str,
    pub(super) repo: &'a FakeRepo,
    /// The fork that the change comes from, if it is about such a change.
    pub(super) fork: Option<&'a FakeRepo>,
}

impl View<'_> {
    pub(super) fn repository(self) -> Value {
        repository(self.url, self.repo)
    }

    fn page(self, tail: &str) -> String {
        format!("{}/{}{tail}", self.url, self.repo.full_name)
    }

    /// An issue, or a change as the issues API shows it.
    pub(super) fn issue(self, subject: &FakeSubject) -> Value {
        let number = subject.number;
        let family = if subject.change.is_some() { "pulls" } else { "issues" };
        let page = self.page(&format!("/{family}/{number}"));
        let pull_request = subject.change.as_ref().map(|change| {
            json!({
                "merged": change.merged_at.is_some(),
                "merged_at": change.merged_at.map(time),
                "draft": change.draft,
                "html_url": page,
            })
        });
        json!({
            "id": subject.id,
            "url": format!("{}/api/v1/repos/{}/issues/{number}", self.url, self.repo.full_name),
            "html_url": page,
            "number": number,
            "user": account(&subject.author),
            "original_author": "",
            "original_author_id": 0,
            "title": title(subject),
            "body": subject.body,
            "ref": "",
            "assets": [],
            "labels": labels(subject),
            "milestone": null,
            "assignee": subject.assignees.first().map(account),
            "assignees": accounts(&subject.assignees),
            "state": state(subject),
            "is_locked": false,
            "comments": subject.comments,
            "created_at": time(subject.created_at),
            "updated_at": time(subject.updated_at),
            "closed_at": subject.closed_at.map(time),
            "due_date": null,
            "pull_request": pull_request,
            "repository": {
                "id": self.repo.id,
                "name": self.repo.name(),
                "owner": self.repo.owner.login,
                "full_name": self.repo.full_name,
            },
            "pin_order": 0,
        })
    }

    /// A change; null for an issue.
    pub(super) fn change(self, subject: &FakeSubject) -> Value {
        let Some(change) = &subject.change else { return Value::Null };
        let number = subject.number;
        let page = self.page(&format!("/pulls/{number}"));
        json!({
            "id": subject.id,
            "url": page,
            "number": number,
            "user": account(&subject.author),
            "title": title(subject),
            "body": subject.body,
            "labels": labels(subject),
            "milestone": null,
            "assignee": subject.assignees.first().map(account),
            "assignees": accounts(&subject.assignees),
            "requested_reviewers": accounts(&change.reviewers),
            "requested_reviewers_teams": null,
            "state": state(subject),
            "draft": change.draft,
            "is_locked": false,
            "comments": subject.comments,
            "additions": 1,
            "deletions": 1,
            "changed_files": change.diff().files.len(),
            "html_url": page,
            "diff_url": format!("{page}.diff"),
            "patch_url": format!("{page}.patch"),
            "mergeable": true,
            "merged": change.merged_at.is_some(),
            "merged_at": change.merged_at.map(time),
            "merge_commit_sha": null,
            "merged_by": null,
            "allow_maintainer_edit": change.maintainer_may_edit,
            "base": end(self.url, Some(self.repo), &change.base_branch, &change.base),
            "head": self.head(subject),
            "merge_base": change.base,
            "due_date": null,
            "created_at": time(subject.created_at),
            "updated_at": time(subject.updated_at),
            "closed_at": subject.closed_at.map(time),
            "pin_order": 0,
        })
    }

    fn head(self, subject: &FakeSubject) -> Value {
        let Some(change) = &subject.change else { return Value::Null };
        let repo = match change.head_repo {
            HeadRepo::Same => Some(self.repo),
            HeadRepo::Fork(_) => self.fork,
            HeadRepo::Gone => None,
        };
        end(self.url, repo, &change.head_branch, &change.head)
    }

    /// A comment of the conversation, and any comment once it was edited.
    pub(super) fn comment(self, comment: &FakeComment, on: &FakeSubject) -> Value {
        let number = on.number;
        let (issue, pull) = match &on.change {
            None => (self.page(&format!("/issues/{number}")), String::new()),
            Some(_) => (String::new(), self.page(&format!("/pulls/{number}"))),
        };
        json!({
            "id": comment.id,
            "html_url": format!("{issue}{pull}#issuecomment-{}", comment.id),
            "pull_request_url": pull,
            "issue_url": issue,
            "user": account(&comment.author),
            "original_author": "",
            "original_author_id": 0,
            "body": comment.body,
            "assets": [],
            "created_at": time(comment.created_at),
            "updated_at": time(comment.updated_at),
        })
    }

    pub(super) fn review(self, review: &FakeReview, comments: usize) -> Value {
        let pull = self.page(&format!("/pulls/{}", review.number));
        let at = time(review.submitted_at.unwrap_or(Time(0)));
        json!({
            "id": review.id,
            "user": account(&review.author),
            "team": null,
            "state": review_state(review.state),
            "body": review.body,
            "commit_id": review.commit,
            "stale": false,
            "official": false,
            "dismissed": review.state == ReviewState::Dismissed,
            "comments_count": comments,
            "submitted_at": at,
            "updated_at": at,
            "html_url": format!("{pull}#issuecomment-{}", review.id),
            "pull_request_url": pull,
        })
    }

    /// An inline comment. Where it stands is told by the side that is not 0.
    pub(super) fn review_comment(self, comment: &FakeComment, thread: &FakeThread) -> Value {
        let pull = self.page(&format!("/pulls/{}", comment.number));
        // As it was put: a push does not move it.
        let line = |side: Side| {
            let lines = thread.original.lines.filter(|lines| lines.side == side);
            lines.map_or(0, |lines| lines.line)
        };
        // The first comment alone carries whether the conversation is settled.
        let first = thread.comments.first() == Some(&comment.id);
        let resolver = thread.resolved_by.as_ref().filter(|_| first);
        json!({
            "id": comment.id,
            "body": comment.body,
            "user": account(&comment.author),
            "resolver": resolver.map(account),
            "pull_request_review_id": comment.review(),
            "created_at": time(comment.created_at),
            "updated_at": time(comment.updated_at),
            "path": thread.original.path,
            "commit_id": thread.commit,
            "original_commit_id": "",
            "diff_hunk": "",
            "position": line(Side::New),
            "original_position": line(Side::Old),
            "html_url": format!("{pull}#issuecomment-{}", comment.id),
            "pull_request_url": pull,
        })
    }

    pub(super) fn file(self, path: &str, content: &[u8]) -> Value {
        json!({
            "name": path.rsplit('/').next(),
            "path": path,
            "sha": blob(content),
            "type": "file",
            "size": content.len(),
            "encoding": "base64",
            "content": STANDARD.encode(content),
        })
    }

    pub(super) fn status(self, status: &FakeStatus) -> Value {
        json!({
            "id": status.id,
            "status": status.state.word(),
            "target_url": status.url.clone().unwrap_or_default(),
            "description": status.description,
            "url": format!("{}/api/v1/repos/{}/statuses/{}", self.url, self.repo.full_name, status.commit),
            "context": status.context,
            "creator": account(&status.by),
            "created_at": time(status.at),
            "updated_at": time(status.at),
        })
    }
}

/// The little of the server's own description by which clients tell versions apart.
pub(super) fn description(version: &str) -> Value {
    json!({
        "swagger": "2.0",
        "info": {"title": "Gitea API", "version": version},
        "basePath": "/api/v1",
        "paths": {
            "/repos/{owner}/{repo}/pulls/comments/{id}/resolve": {"post": {}},
            "/repos/{owner}/{repo}/pulls/comments/{id}/unresolve": {"post": {}},
            "/repos/{owner}/{repo}/pulls/{index}/reviews": {"get": {}, "post": {}},
            "/repos/{owner}/{repo}/pulls/{index}/reviews/{id}/comments": {"get": {}},
        },
        "definitions": {
            "CreatePullReviewComment": {
                "type": "object",
                "properties": {
                    "body": {"type": "string"},
                    "new_position": {"type": "integer"},
                    "old_position": {"type": "integer"},
                    "path": {"type": "string"},
                },
            },
        },
    })
}

/// Gitea tells bots from people by nothing.
pub(super) fn account(of: &Account) -> Value {
    json!({
        "id": of.id,
        "login": of.login,
        "login_name": "",
        "source_id": 0,
        "full_name": "",
        "email": format!("{}@noreply.git.example", of.id),
        "avatar_url": "https://git.example/avatars/0",
        "html_url": format!("https://git.example/{}", of.login),
        "language": "",
        "is_admin": false,
        "last_login": "0001-01-01T00:00:00Z",
        "created": "2026-01-01T00:00:00Z",
        "restricted": false,
        "active": false,
        "prohibit_login": false,
        "location": "",
        "website": "",
        "description": "",
        "visibility": "public",
        "followers_count": 0,
        "following_count": 0,
        "starred_repos_count": 0,
        "username": of.login,
    })
}

pub(super) fn reaction(reaction: &Reaction) -> Value {
    json!({
        "user": account(&reaction.by),
        "content": reaction.content,
        "created_at": "2026-01-01T00:00:00Z",
    })
}

/// Lists that are empty come as null.
fn accounts(of: &[Account]) -> Value {
    match of {
        [] => Value::Null,
        of => of.iter().map(account).collect(),
    }
}

fn labels(subject: &FakeSubject) -> Vec<Value> {
    let label = |(place, name): (usize, &String)| json!({"id": place + 1, "name": name, "color": "ededed", "description": "", "url": ""});
    subject.labels.iter().enumerate().map(label).collect()
}

fn repository(url: &str, repo: &FakeRepo) -> Value {
    let page = format!("{url}/{}", repo.full_name);
    json!({
        "id": repo.id,
        "owner": account(&repo.owner),
        "name": repo.name(),
        "full_name": repo.full_name,
        "description": "",
        "empty": false,
        "private": false,
        "fork": repo.fork_of.is_some(),
        "template": false,
        "mirror": false,
        "size": 24,
        "language": "",
        "url": format!("{url}/api/v1/repos/{}", repo.full_name),
        "html_url": page,
        "clone_url": format!("{page}.git"),
        "default_branch": repo.default_branch,
        "archived": false,
        "has_issues": true,
        "has_pull_requests": true,
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    })
}

/// One end of a change; without a repository if that was deleted.
fn end(url: &str, repo: Option<&FakeRepo>, branch: &str, commit: &str) -> Value {
    json!({
        "label": branch,
        "ref": branch,
        "sha": commit,
        "repo_id": repo.map_or(0, |repo| repo.id),
        "repo": repo.map(|repo| repository(url, repo)),
    })
}

/// Returns the title as people see it: a draft's has its prefix.
pub(super) fn title(subject: &FakeSubject) -> String {
    let prefix = match &subject.change {
        Some(change) if change.draft => DRAFT,
        Some(_) | None => "",
    };
    format!("{prefix}{}", subject.title)
}

fn state(subject: &FakeSubject) -> &'static str {
    if subject.open { "open" } else { "closed" }
}

/// A review that was dismissed keeps its state, and is marked beside it.
pub(super) fn review_state(state: ReviewState) -> &'static str {
    match state {
        ReviewState::Pending => "PENDING",
        ReviewState::Commented => "COMMENT",
        ReviewState::Approved => "APPROVED",
        ReviewState::ChangesRequested | ReviewState::Dismissed => "REQUEST_CHANGES",
    }
}

pub(super) fn time(at: Time) -> String {
    let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
