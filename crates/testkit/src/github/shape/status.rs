//! Statuses, checks, refs and files.

use serde_json::{Value, json};

use super::{View, account, app, time};
use crate::forge::{FakeApp, FakeBranch, FakeCheck, FakeRun, FakeStatus, commit};

impl View<'_> {
    pub(in crate::github) fn status(self, status: &FakeStatus) -> Value {
        let at = time(status.at);
        json!({
            "url": self.api(&format!("/statuses/{}", status.commit)),
            "avatar_url": null,
            "id": status.id,
            "node_id": format!("SC_{}", status.id),
            "state": status.state.word(),
            "description": status.description,
            "target_url": status.url,
            "context": status.context,
            "created_at": at,
            "updated_at": at,
            "creator": account(&status.by),
        })
    }

    pub(in crate::github) fn check_run(self, check: &FakeCheck, by: &FakeApp) -> Value {
        let own = self.api(&format!("/check-runs/{}", check.id));
        json!({
            "id": check.id,
            "node_id": format!("CR_{}", check.id),
            "head_sha": check.commit,
            "external_id": check.external_id.as_deref().unwrap_or_default(),
            "name": check.name,
            "url": own,
            "html_url": self.page(&format!("/runs/{}", check.id)),
            "details_url": check.details_url,
            "status": check.status,
            "conclusion": check.conclusion,
            "started_at": check.started_at.map(time),
            "completed_at": check.completed_at.map(time),
            "output": {
                "title": check.title,
                "summary": check.summary,
                "text": check.text,
                "annotations_count": check.annotations.len(),
                "annotations_url": format!("{own}/annotations"),
            },
            "check_suite": {"id": check.id},
            "app": app(by),
            "pull_requests": [],
        })
    }

    /// A run. The workflow names it after its inputs, as `run-name` lets it.
    pub(in crate::github) fn run(self, run: &FakeRun, head: &str) -> Value {
        let own = self.api(&format!("/actions/runs/{}", run.id));
        let words = run.variables.values().cloned();
        let title =
            std::iter::once(run.workflow.clone()).chain(words).collect::<Vec<_>>().join(" ");
        json!({
            "id": run.id,
            "node_id": format!("WFR_{}", run.id),
            "name": run.workflow,
            "display_title": title,
            "event": event_of(run),
            "status": "queued",
            "conclusion": null,
            "head_branch": run.branch,
            "head_sha": head,
            "head_commit": null,
            "run_number": 1,
            "path": format!(".github/workflows/{}", run.workflow),
            "workflow_id": 159_038,
            "actor": account(&run.by),
            "pull_requests": [],
            "repository": self.repository(),
            "head_repository": self.repository(),
            "url": own,
            "html_url": self.page(&format!("/actions/runs/{}", run.id)),
            "jobs_url": format!("{own}/jobs"),
            "logs_url": format!("{own}/logs"),
            "check_suite_url": self.api("/check-suites/1"),
            "cancel_url": format!("{own}/cancel"),
            "rerun_url": format!("{own}/rerun"),
            "artifacts_url": format!("{own}/artifacts"),
            "workflow_url": self.api("/actions/workflows/159038"),
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
        })
    }

    /// A branch as the git database shows it.
    pub(in crate::github) fn git_ref(self, name: &str, head: &str) -> Value {
        json!({
            "ref": format!("refs/heads/{name}"),
            "node_id": format!("REF_{name}"),
            "url": self.api(&format!("/git/refs/heads/{name}")),
            "object": {
                "type": "commit",
                "sha": head,
                "url": self.api(&format!("/git/commits/{head}")),
            },
        })
    }

    pub(in crate::github) fn file(self, path: &str, content: &[u8]) -> Value {
        use base64::Engine;
        let encoded = base64::engine::general_purpose::STANDARD.encode(content);
        let (blob, own) = (commit(content), self.api(&format!("/contents/{path}")));
        let (git, html) =
            (self.api(&format!("/git/blobs/{blob}")), self.page(&format!("/blob/main/{path}")));
        json!({
            "type": "file",
            "encoding": "base64",
            "size": content.len(),
            "name": path.rsplit_once('/').map_or(path, |(_, name)| name),
            "path": path,
            "content": encoded,
            "sha": blob,
            "url": own,
            "git_url": git,
            "html_url": html,
            "download_url": html,
            "_links": {"self": own, "git": git, "html": html},
        })
    }

    /// The commit that a file was written with.
    pub(in crate::github) fn file_commit(self, head: &str, message: &str) -> Value {
        json!({
            "sha": head,
            "node_id": format!("C_{head}"),
            "url": self.api(&format!("/git/commits/{head}")),
            "html_url": self.page(&format!("/commit/{head}")),
            "message": message,
            "parents": [],
        })
    }

    pub(in crate::github) fn branch(self, name: &str, branch: &FakeBranch) -> Value {
        let own = self.api(&format!("/branches/{name}"));
        let commit = self.api(&format!("/commits/{}", branch.head));
        json!({
            "name": name,
            "commit": {
                "sha": branch.head,
                "node_id": format!("C_{}", branch.head),
                "url": commit,
                "html_url": self.page(&format!("/commit/{}", branch.head)),
                "comments_url": format!("{commit}/comments"),
                "author": null,
                "committer": null,
                "parents": [],
                "commit": {
                    "url": commit,
                    "author": null,
                    "committer": null,
                    "message": "",
                    "comment_count": 0,
                    "tree": {"sha": branch.head, "url": commit},
                },
            },
            "_links": {"self": own, "html": self.page(&format!("/tree/{name}"))},
            "protected": branch.protected,
            "protection": {"enabled": branch.protected},
            "protection_url": format!("{own}/protection"),
        })
    }
}

/// Returns the event that started a run: a workflow was named by its file or number, or an event of
/// the sender's own was sent.
pub(in crate::github) fn event_of(run: &FakeRun) -> &'static str {
    let workflow = &run.workflow;
    let file = workflow.ends_with(".yml") || workflow.ends_with(".yaml");
    if file || workflow.parse::<u64>().is_ok() {
        "workflow_dispatch"
    } else {
        "repository_dispatch"
    }
}
