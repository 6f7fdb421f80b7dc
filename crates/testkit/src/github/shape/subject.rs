//! Issues and changes.

use serde_json::{Value, json};

use super::{View, account, association, extend, repository, time};
use crate::forge::{Account, FakeSubject, HeadRepo};

impl View<'_> {
    /// An issue, or a change as the issues API shows it.
    pub(in crate::github) fn issue(self, subject: &FakeSubject) -> Value {
        let number = subject.number;
        let own = self.api(&format!("/issues/{number}"));
        let page = if subject.change.is_some() { "pull" } else { "issues" };
        let mut value = json!({
            "url": own,
            "repository_url": self.api(""),
            "labels_url": format!("{own}/labels{{/name}}"),
            "comments_url": format!("{own}/comments"),
            "events_url": format!("{own}/events"),
            "html_url": self.page(&format!("/{page}/{number}")),
            "id": subject.id,
            "node_id": format!("I_{}", subject.id),
            "number": number,
            "title": subject.title,
            "user": account(&subject.author),
            "labels": self.labels(subject),
            "state": state(subject),
            "locked": false,
            "assignee": subject.assignees.first().map(account),
            "assignees": accounts(&subject.assignees),
            "milestone": null,
            "comments": subject.comments,
            "created_at": time(subject.created_at),
            "updated_at": time(subject.updated_at),
            "closed_at": subject.closed_at.map(time),
            "author_association": association(self.repo, &subject.author),
            "body": body(subject),
            "reactions": self.reactions(&own, &subject.reactions),
            "performed_via_github_app": null,
        });
        if let Some(change) = &subject.change {
            value["draft"] = json!(change.draft);
            let pull = self.api(&format!("/pulls/{number}"));
            let html = self.page(&format!("/pull/{number}"));
            value["pull_request"] = json!({
                "url": pull,
                "html_url": html,
                "diff_url": format!("{html}.diff"),
                "patch_url": format!("{html}.patch"),
                "merged_at": change.merged_at.map(time),
            });
        }
        value
    }

    /// A change; null for an issue.
    pub(in crate::github) fn pull_request(self, subject: &FakeSubject) -> Value {
        let Some(change) = &subject.change else { return Value::Null };
        let number = subject.number;
        let (own, issue) =
            (self.api(&format!("/pulls/{number}")), self.api(&format!("/issues/{number}")));
        let html = self.page(&format!("/pull/{number}"));
        let statuses = self.api(&format!("/statuses/{}", change.head));
        let link = |href: &str| json!({"href": href});
        let mut value = json!({
            "url": own,
            "id": subject.id,
            "node_id": format!("PR_{}", subject.id),
            "html_url": html,
            "diff_url": format!("{html}.diff"),
            "patch_url": format!("{html}.patch"),
            "issue_url": issue,
            "commits_url": format!("{own}/commits"),
            "review_comments_url": format!("{own}/comments"),
            "review_comment_url": self.api("/pulls/comments{/number}"),
            "comments_url": format!("{issue}/comments"),
            "statuses_url": statuses,
            "number": number,
            "state": state(subject),
            "locked": false,
            "title": subject.title,
            "user": account(&subject.author),
            "body": body(subject),
            "labels": self.labels(subject),
            "milestone": null,
        });
        let base = &change.base_branch;
        let rest = json!({
            "created_at": time(subject.created_at),
            "updated_at": time(subject.updated_at),
            "closed_at": subject.closed_at.map(time),
            "merged_at": change.merged_at.map(time),
            "merge_commit_sha": null,
            "assignee": subject.assignees.first().map(account),
            "assignees": accounts(&subject.assignees),
            "requested_reviewers": accounts(&change.reviewers),
            "requested_teams": [],
            "head": self.head(subject),
            "base": end(self.url, Some(self.repo), &self.repo.owner, base, &change.base),
            "_links": {
                "self": link(&own),
                "html": link(&html),
                "issue": link(&issue),
                "comments": link(&format!("{issue}/comments")),
                "review_comments": link(&format!("{own}/comments")),
                "review_comment": link(&self.api("/pulls/comments{/number}")),
                "commits": link(&format!("{own}/commits")),
                "statuses": link(&statuses),
            },
            "author_association": association(self.repo, &subject.author),
            "auto_merge": null,
            "draft": change.draft,
            "merged": change.merged_at.is_some(),
            "mergeable": null,
            "rebaseable": null,
            "mergeable_state": "unknown",
            "merged_by": null,
            "comments": subject.comments,
            "review_comments": 0,
            "maintainer_can_modify": change.maintainer_may_edit,
            "commits": change.versions.len(),
            "additions": 1,
            "deletions": 1,
            "changed_files": change.diff().files.len(),
        });
        extend(&mut value, rest);
        value
    }

    fn head(self, subject: &FakeSubject) -> Value {
        let Some(change) = &subject.change else { return Value::Null };
        let (repo, owner) = match (change.head_repo, self.fork) {
            (HeadRepo::Same, _) => (Some(self.repo), &self.repo.owner),
            (HeadRepo::Fork(_), Some(fork)) => (Some(fork), &fork.owner),
            (HeadRepo::Fork(_), None) | (HeadRepo::Gone, _) => (None, &subject.author),
        };
        end(self.url, repo, owner, &change.head_branch, &change.head)
    }

    fn labels(self, subject: &FakeSubject) -> Vec<Value> {
        let label = |(place, name): (usize, &String)| {
            json!({
                "id": 208_000 + place,
                "node_id": format!("LA_{place}"),
                "url": self.api(&format!("/labels/{name}")),
                "name": name,
                "description": null,
                "color": "ededed",
                "default": false,
            })
        };
        subject.labels.iter().enumerate().map(label).collect()
    }
}

pub(in crate::github) fn accounts(accounts: &[Account]) -> Vec<Value> {
    accounts.iter().map(account).collect()
}

/// One end of a change; without a repository if that was deleted.
fn end(
    url: &str,
    repo: Option<&crate::forge::FakeRepo>,
    owner: &Account,
    branch: &str,
    commit: &str,
) -> Value {
    json!({
        "label": format!("{}:{branch}", owner.login),
        "ref": branch,
        "sha": commit,
        "user": account(owner),
        "repo": repo.map(|repo| repository(url, repo)),
    })
}

fn state(subject: &FakeSubject) -> &'static str {
    if subject.open { "open" } else { "closed" }
}

/// GitHub has null where nothing was written.
fn body(subject: &FakeSubject) -> Option<&str> {
    (!subject.body.is_empty()).then_some(subject.body.as_str())
}
