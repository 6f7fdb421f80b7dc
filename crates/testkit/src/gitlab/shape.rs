//! The model's objects as GitLab's JSON.

use domain::Time;
use forge::Permission;
use serde_json::{Value, json};

use super::position;
use crate::forge::{
    Account, AccountKind, FakeBranch, FakeComment, FakeDraft, FakeRepo, FakeRun, FakeStatus,
    FakeSubject, FakeThread, HeadRepo, Reaction, Spot, StatusState,
};

const DRAFT: &str = "Draft: ";

/// A project as its members see it.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    pub(super) url: &'a str,
    pub(super) repo: &'a FakeRepo,
}

impl View<'_> {
    pub(super) fn project(&self) -> Value {
        let FakeRepo { id, full_name, default_branch, .. } = self.repo;
        json!({
            "id": id,
            "name": self.repo.name(),
            "path": self.repo.name(),
            "path_with_namespace": full_name,
            "default_branch": default_branch,
            "visibility": "public",
            "archived": false,
            "web_url": self.site(),
            "http_url_to_repo": format!("{}.git", self.site()),
        })
    }

    pub(super) fn site(&self) -> String {
        format!("{}/{}", self.url, self.repo.full_name)
    }

    pub(super) fn state(&self, subject: &FakeSubject) -> &'static str {
        let merged = subject.change.as_ref().is_some_and(|change| change.merged_at.is_some());
        match (subject.open, merged) {
            (true, _) => "opened",
            (false, true) => "merged",
            (false, false) => "closed",
        }
    }

    pub(super) fn issue(&self, subject: &FakeSubject) -> Value {
        let people = |accounts: &[Account]| -> Vec<Value> {
            accounts.iter().map(|user| account(user, self.url)).collect()
        };
        json!({
            "id": subject.id,
            "iid": subject.number,
            "project_id": self.repo.id,
            "title": subject.title,
            "description": subject.body,
            "state": self.state(subject),
            "author": account(&subject.author, self.url),
            "assignees": people(&subject.assignees),
            "labels": subject.labels,
            "confidential": false,
            "user_notes_count": subject.comments,
            "created_at": time(subject.created_at),
            "updated_at": time(subject.updated_at),
            "closed_at": subject.closed_at.map(time),
            "web_url": self.page(subject),
        })
    }

    /// A merge request as lists show it.
    pub(super) fn change(&self, subject: &FakeSubject) -> Value {
        let mut shown = self.issue(subject);
        let Some(change) = &subject.change else { return shown };
        let reviewers = change.reviewers.iter().map(|user| account(user, self.url));
        let source = match change.head_repo {
            HeadRepo::Same => Some(self.repo.id),
            HeadRepo::Fork(fork) => Some(fork),
            HeadRepo::Gone => None,
        };
        let more = json!({
            "title": title(subject),
            "draft": change.draft,
            "work_in_progress": change.draft,
            "sha": change.head,
            "source_branch": change.head_branch,
            "target_branch": change.base_branch,
            "source_project_id": source,
            "target_project_id": self.repo.id,
            "reviewers": reviewers.collect::<Vec<_>>(),
            "merged_at": change.merged_at.map(time),
            "detailed_merge_status": "mergeable",
        });
        extend(&mut shown, more);
        if source != Some(self.repo.id) {
            extend(&mut shown, json!({"allow_collaboration": change.maintainer_may_edit}));
        }
        shown
    }

    /// A merge request by itself.
    pub(super) fn change_alone(&self, subject: &FakeSubject) -> Value {
        let mut shown = self.change(subject);
        if let Some(version) = subject.change.as_ref().and_then(|change| change.versions.last()) {
            let refs = json!({"base_sha": version.base, "start_sha": version.base,
                              "head_sha": version.head});
            extend(&mut shown, json!({"diff_refs": refs, "changes_count": "1"}));
        }
        shown
    }

    pub(super) fn note(
        &self,
        note: &FakeComment,
        subject: &FakeSubject,
        thread: Option<&FakeThread>,
    ) -> Value {
        let kind = match note.place {
            Spot::Conversation => None,
            Spot::Under(_) => Some("DiscussionNote"),
            Spot::Inline { .. } => Some("DiffNote"),
        };
        let noteable = if subject.change.is_some() { "MergeRequest" } else { "Issue" };
        let mut shown = json!({
            "id": note.id,
            "type": kind,
            "body": note.body,
            "author": account(&note.author, self.url),
            "created_at": time(note.created_at),
            "updated_at": time(note.updated_at),
            "system": false,
            "noteable_id": subject.id,
            "noteable_type": noteable,
            "noteable_iid": subject.number,
            "project_id": self.repo.id,
            "resolvable": thread.is_some(),
            "confidential": false,
            "internal": false,
        });
        if let (Some(thread), Some(change)) = (thread, &subject.change) {
            let by = thread.resolved_by.as_ref();
            let more = json!({
                "position": position::shown(thread, change),
                "resolved": by.is_some(),
                "resolved_by": by.map(|by| account(by, self.url)),
            });
            extend(&mut shown, more);
        }
        shown
    }

    pub(super) fn draft(&self, draft: &FakeDraft) -> Value {
        json!({
            "id": draft.id,
            "author_id": draft.author.id,
            "merge_request_id": draft.subject,
            "resolve_discussion": false,
            "discussion_id": null,
            "note": draft.body,
            "commit_id": null,
            "line_code": null,
            "position": null,
        })
    }

    pub(super) fn award(&self, reaction: &Reaction) -> Value {
        json!({"id": reaction.id, "name": reaction.content, "user": account(&reaction.by, self.url)})
    }

    pub(super) fn branch(&self, name: &str, branch: &FakeBranch) -> Value {
        json!({
            "name": name,
            "commit": {"id": branch.head, "short_id": &branch.head[..8]},
            "merged": false,
            "protected": branch.protected,
            "default": name == self.repo.default_branch,
            "developers_can_push": !branch.protected,
            "can_push": !branch.protected,
            "web_url": format!("{}/-/tree/{name}", self.site()),
        })
    }

    pub(super) fn status(&self, status: &FakeStatus) -> Value {
        let state = match status.state {
            StatusState::Failure | StatusState::Error => "failed",
            state => state.word(),
        };
        json!({
            "id": status.id,
            "sha": status.commit,
            "status": state,
            "name": status.context,
            "description": status.description,
            "target_url": status.url,
            "author": account(&status.by, self.url),
            "created_at": time(status.at),
        })
    }

    pub(super) fn pipeline(&self, run: &FakeRun) -> Value {
        json!({
            "id": run.id,
            "iid": run.id,
            "project_id": self.repo.id,
            "ref": run.branch,
            "status": "created",
            "source": "api",
            "web_url": format!("{}/-/pipelines/{}", self.site(), run.id),
        })
    }

    /// Returns the page of a subject.
    pub(super) fn page(&self, subject: &FakeSubject) -> String {
        let family = if subject.change.is_some() { "merge_requests" } else { "issues" };
        format!("{}/-/{family}/{}", self.site(), subject.number)
    }
}

pub(super) fn account(account: &Account, url: &str) -> Value {
    json!({
        "id": account.id,
        "username": account.login,
        "name": account.login,
        "state": "active",
        "locked": false,
        "avatar_url": null,
        "web_url": format!("{url}/{}", account.login),
    })
}

pub(super) fn own_account(own: &Account, url: &str) -> Value {
    let mut shown = account(own, url);
    let more = json!({
        "bot": own.kind == AccountKind::Bot,
        "email": format!("{}@example.com", own.id),
        "two_factor_enabled": false,
    });
    extend(&mut shown, more);
    shown
}

pub(super) fn access_level(permission: Permission) -> u64 {
    match permission {
        Permission::None => 0,
        Permission::Read => 10,
        Permission::Triage => 20,
        Permission::Write => 30,
        Permission::Maintain => 40,
        Permission::Admin => 50,
    }
}

/// Returns the title as people see it: a draft is one by its title.
pub(super) fn title(subject: &FakeSubject) -> String {
    match subject.change.as_ref().is_some_and(|change| change.draft) {
        true => format!("{DRAFT}{}", subject.title),
        false => subject.title.clone(),
    }
}

pub(super) fn is_draft(title: &str) -> bool {
    without_draft(title) != title
}

pub(super) fn without_draft(title: &str) -> &str {
    let prefix = ["draft:", "[draft]", "(draft)"].into_iter().find(|prefix| {
        title.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
    });
    prefix.map_or(title, |prefix| title[prefix.len()..].trim_start())
}

/// Returns the id of a discussion on code.
pub(super) fn thread_id(thread: u64) -> String {
    format!("7{thread:039x}")
}

/// Returns the id of the discussion that a note of the conversation begins.
pub(super) fn conversation_id(note: u64) -> String {
    format!("c{note:039x}")
}

/// Writes a moment as GitLab's API does.
pub(super) fn time(at: Time) -> String {
    jiff::Timestamp::from_millisecond(at.0)
        .map(|at| at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
        .unwrap_or_default()
}

/// Encodes one segment of a path.
pub(super) fn segment(text: &str) -> String {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
}

fn extend(value: &mut Value, more: Value) {
    if let (Value::Object(fields), Value::Object(more)) = (value, more) {
        fields.extend(more);
    }
}
