//! Issues and merge requests themselves, their versions and verdicts.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Call, Query, missing, read};
use super::endpoint::Family;
use super::shape::{is_draft, without_draft};
use super::{not_found, refusal, refuse_with};
use crate::forge::{Answer, Edit, FakeSubject, HeadRepo, Proposal, ReviewState, What};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewChange {
    source_branch: String,
    target_branch: String,
    title: String,
    #[serde(default)]
    description: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeEdit {
    title: Option<String>,
    description: Option<String>,
    state_event: Option<Event>,
    target_branch: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Event {
    Close,
    Reopen,
}

impl Call<'_> {
    pub(super) fn read_subject(&self, family: Family, number: u64) -> Result<Answer, Answer> {
        Query::read(self.asked, &[])?;
        let subject = self.subject(family, number)?;
        let view = self.view()?;
        let shown = match family {
            Family::Issues => view.issue(subject),
            Family::Changes => view.change_alone(subject),
        };
        Ok(Answer::new(StatusCode::OK, shown))
    }

    pub(super) fn list_subjects(&mut self, family: Family) -> Result<Answer, Answer> {
        let known: &[(&str, &[&str])] = &[
            ("state", &["opened", "closed", "merged", "all"]),
            ("order_by", &["created_at", "updated_at"]),
            ("sort", &["asc", "desc"]),
            ("updated_after", &[]),
            match family {
                Family::Issues => ("assignee_id", &[]),
                Family::Changes => ("source_branch", &[]),
            },
        ];
        let query = Query::read(self.asked, known)?;
        let since = query.moment("updated_after")?;
        let view = self.view()?;
        let mut found: Vec<&FakeSubject> = self.model.subjects(self.repo, self.now);
        found.retain(|subject| {
            let change = subject.change.as_ref();
            let state = query.filter("state").unwrap_or("all");
            let branch = query.filter("source_branch");
            let assignee = query.filter("assignee_id");
            change.is_some() == (family == Family::Changes)
                && (state == "all" || state == view.state(subject))
                && since.is_none_or(|since| subject.updated_at >= since)
                && branch.is_none_or(|name| change.is_some_and(|it| it.head_branch == name))
                && assignee.is_none_or(|id| {
                    subject.assignees.iter().any(|account| account.id.to_string() == id)
                })
        });
        match query.filter("order_by") {
            Some("updated_at") => found.sort_by_key(|subject| (subject.updated_at, subject.id)),
            _ => found.sort_by_key(|subject| (subject.created_at, subject.id)),
        }
        if query.filter("sort") != Some("asc") {
            found.reverse();
        }
        let shown: Vec<Value> = found
            .into_iter()
            .map(|subject| match family {
                Family::Issues => view.issue(subject),
                Family::Changes => view.change(subject),
            })
            .collect();
        let tail = if family == Family::Issues { "/issues" } else { "/merge_requests" };
        let answer = self.page(&query, tail, &shown);
        if query.page == 1 {
            self.model.count_subjects_listing(self.repo);
        }
        Ok(answer)
    }

    pub(super) fn open_change(&mut self) -> Result<Answer, Answer> {
        let new: NewChange = read(self.asked)?;
        let proposal = Proposal {
            title: without_draft(&new.title).to_owned(),
            body: new.description,
            head_repo: self.repo,
            head_branch: new.source_branch,
            base_branch: new.target_branch,
            draft: is_draft(&new.title),
            maintainer_may_edit: false,
        };
        let act = self.act();
        let opened = self.model.propose(self.repo, proposal, act);
        let subject = opened.map_err(|why| match why {
            crate::forge::Refusal::Missing(_) => {
                refuse_with(400, json!({"source_branch": ["does not exist"]}))
            }
            why => refusal("Merge Request", &why),
        })?;
        let answer = Answer::new(StatusCode::CREATED, self.view()?.change_alone(&subject));
        self.tell(answer, [What::Opened(subject)])
    }

    pub(super) fn edit_change(&mut self, number: u64) -> Result<Answer, Answer> {
        let asked: ChangeEdit = read(self.asked)?;
        let before = self.subject(Family::Changes, number)?.clone();
        let edit = Edit {
            draft: asked.title.as_deref().map(is_draft),
            title: asked.title.as_deref().map(|title| without_draft(title).to_owned()),
            body: asked.description,
            open: asked.state_event.map(|event| matches!(event, Event::Reopen)),
            base_branch: asked.target_branch,
            ..Edit::default()
        };
        let act = self.act();
        let edited = self.model.edit_subject(before.id, edit, act);
        let subject = edited.map_err(|why| refusal("Merge Request", &why))?;
        let answer = Answer::new(StatusCode::OK, self.view()?.change_alone(&subject));
        let draft = |subject: &FakeSubject| subject.change.as_ref().is_some_and(|it| it.draft);
        let what = match (draft(&before), draft(&subject)) {
            (true, false) => What::Readied(subject),
            (false, true) => What::Drafted(subject),
            _ if before.open && !subject.open => What::Closed(subject),
            _ if !before.open && subject.open => What::Reopened(subject),
            _ => What::Edited { subject, before: Box::new(before) },
        };
        self.tell(answer, [what])
    }

    /// Newest first.
    pub(super) fn versions(&self, number: u64) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[])?;
        let subject = self.subject(Family::Changes, number)?;
        let change = subject.change.as_ref().ok_or_else(|| not_found("Merge Request"))?;
        let shown: Vec<Value> = (0_u64..)
            .zip(&change.versions)
            .map(|(index, version)| {
                json!({
                    "id": subject.id * 100 + index,
                    "head_commit_sha": version.head,
                    "base_commit_sha": version.base,
                    "start_commit_sha": version.base,
                    "created_at": super::shape::time(subject.created_at),
                    "merge_request_id": subject.id,
                    "state": "collected",
                    "real_size": version.diff.files.len().to_string(),
                })
            })
            .collect();
        let shown: Vec<Value> = shown.into_iter().rev().collect();
        Ok(self.page(&query, &format!("/merge_requests/{number}/versions"), &shown))
    }

    pub(super) fn approvals(&self, number: u64) -> Result<Answer, Answer> {
        let subject = self.subject(Family::Changes, number)?;
        let reviews = self.model.review_listing(subject.id, &self.bearer.account, self.now);
        let approved: Vec<Value> = reviews
            .into_iter()
            .filter(|review| review.state == ReviewState::Approved)
            .map(|review| {
                let at = review.submitted_at.map(super::shape::time);
                json!({"user": super::shape::account(&review.author, self.url), "approved_at": at})
            })
            .collect();
        let body = json!({"approved": !approved.is_empty(), "approved_by": approved});
        Ok(Answer::new(StatusCode::OK, body))
    }

    /// Those who were asked, and how far they have come.
    pub(super) fn reviewers(&self, number: u64) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[])?;
        let subject = self.subject(Family::Changes, number)?;
        let change = subject.change.as_ref().ok_or_else(|| not_found("Merge Request"))?;
        let reviews = self.model.review_listing(subject.id, &self.bearer.account, self.now);
        let said = |id: i64| {
            let mut own = reviews.iter().filter(|review| review.author.id == id);
            own.next_back().map_or("unreviewed", |review| match review.state {
                ReviewState::Approved => "approved",
                ReviewState::ChangesRequested => "requested_changes",
                ReviewState::Commented => "reviewed",
                ReviewState::Pending | ReviewState::Dismissed => "unreviewed",
            })
        };
        let shown: Vec<Value> = change
            .reviewers
            .iter()
            .map(|user| {
                json!({"user": super::shape::account(user, self.url), "state": said(user.id),
                       "created_at": super::shape::time(subject.created_at)})
            })
            .collect();
        Ok(self.page(&query, &format!("/merge_requests/{number}/reviewers"), &shown))
    }

    /// The changes with a commit, those from forks among them.
    pub(super) fn changes_of_commit(&self, sha: &str) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[])?;
        if !self.model.knows_commit(self.repo, sha) {
            return Err(not_found("Commit"));
        }
        let view = self.view()?;
        let all = self.model.subjects(self.repo, self.now).into_iter();
        let with = all.filter(|subject| {
            subject.change.iter().flat_map(|it| &it.versions).any(|version| version.head == sha)
        });
        let shown: Vec<Value> = with.map(|subject| view.change(subject)).collect();
        Ok(self.page(&query, &format!("/repository/commits/{sha}/merge_requests"), &shown))
    }

    pub(super) fn project(&self) -> Result<Answer, Answer> {
        Query::read(self.asked, &[])?;
        Ok(Answer::new(StatusCode::OK, self.view()?.project()))
    }

    /// Members are those who were granted something, here or above.
    pub(super) fn member(&self, id: i64) -> Result<Answer, Answer> {
        let repo = self.model.repo(self.repo).map_err(missing)?;
        let account = self.model.account_with(id).map_err(|_| not_found("Not found"))?;
        if !repo.has_collaborator(account) {
            return Err(refuse_with(404, json!("404 Not found")));
        }
        let mut shown = super::shape::account(account, self.url);
        shown["access_level"] = json!(super::shape::access_level(repo.permission(account)));
        shown["membership_state"] = json!("active");
        shown["expires_at"] = Value::Null;
        Ok(Answer::new(StatusCode::OK, shown))
    }

    /// Returns the branch of the repository itself that holds a commit at its tip.
    pub(super) fn branch_with(&self, sha: &str) -> Option<String> {
        let branches = self.model.branches(self.repo).ok()?;
        let tip = branches.iter().find(|(_, branch)| branch.head == sha);
        tip.map(|(name, _)| name.clone()).or_else(|| {
            let changes = self.model.subjects(self.repo, self.now).into_iter();
            let mut own = changes.filter_map(|subject| subject.change.as_ref());
            own.find(|change| {
                change.head_repo == HeadRepo::Same
                    && change.versions.iter().any(|version| version.head == sha)
            })
            .map(|change| change.head_branch.clone())
        })
    }
}
