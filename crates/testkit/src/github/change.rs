//! Listings of issues and changes, and the life of a change.

use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::call::{Call, Query, missing, read};
use super::{invalid, not_found, refusal, refuse, unprocessable};
use crate::forge::{Access, Account, Answer, Edit, FakeSubject, HeadRepo, Proposal, Refusal, What};

const STATES: [&str; 3] = ["open", "closed", "all"];
const DIRECTIONS: [&str; 2] = ["asc", "desc"];

/// What a change has only when it is read by itself.
const ALONE: [&str; 12] = [
    "merged",
    "mergeable",
    "rebaseable",
    "mergeable_state",
    "merged_by",
    "comments",
    "review_comments",
    "maintainer_can_modify",
    "commits",
    "additions",
    "deletions",
    "changed_files",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewChange {
    title: String,
    head: String,
    base: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    maintainer_can_modify: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeEdit {
    title: Option<String>,
    body: Option<String>,
    state: Option<State>,
    base: Option<String>,
    maintainer_can_modify: Option<bool>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct IssueEdit {
    title: Option<String>,
    body: Option<String>,
    state: Option<State>,
    labels: Option<Vec<String>>,
    assignees: Option<Vec<String>>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum State {
    Open,
    Closed,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reviewers {
    #[serde(default)]
    reviewers: Vec<String>,
}

impl Call<'_> {
    /// Lists issues, changes among them.
    pub(super) fn issues(&mut self) -> Result<Answer, Answer> {
        let query = Query::read(
            self.asked,
            &[
                ("since", &[]),
                ("state", &STATES),
                ("sort", &["created", "updated", "comments"]),
                ("direction", &DIRECTIONS),
                ("assignee", &[]),
                ("creator", &[]),
                ("labels", &[]),
            ],
        )?;
        let has = |account: &Account, wanted: Option<&str>| {
            wanted.is_none_or(|login| account.login.eq_ignore_ascii_case(login))
        };
        let wanted = |subject: &FakeSubject| {
            let assignee = query.filter("assignee");
            let labels = query.filter("labels").map(|all| all.split(','));
            query.since.is_none_or(|since| subject.updated_at >= since)
                && has(&subject.author, query.filter("creator"))
                && (assignee.is_none()
                    || subject.assignees.iter().any(|account| has(account, assignee)))
                && labels
                    .into_iter()
                    .flatten()
                    .all(|label| subject.labels.iter().any(|has| has.eq_ignore_ascii_case(label)))
        };
        let listed = self.listed(&query, "desc", wanted);
        let view = self.view()?;
        let all: Vec<Value> = listed.iter().map(|subject| view.issue(subject)).collect();
        Ok(self.page(&query, "/issues", &all))
    }

    pub(super) fn edit_issue(&mut self, number: u64) -> Result<Answer, Answer> {
        self.need("issues", Access::Write)?;
        let edit: IssueEdit = read(self.asked)?;
        let before = self.subject(number)?.clone();
        let mut assignees = Vec::new();
        for login in edit.assignees.iter().flatten() {
            assignees.push(self.model.account(login).map_err(missing)?.clone());
        }
        let edit = Edit {
            title: edit.title,
            body: edit.body,
            open: edit.state.map(|state| state == State::Open),
            labels: edit.labels,
            assignees: edit.assignees.map(|_| assignees),
            ..Edit::default()
        };
        let act = self.act();
        let edited = self.model.edit_subject(before.id, edit, act);
        let subject = edited.map_err(|why| refusal("Issue", &why))?;
        let answer = Answer::new(StatusCode::OK, self.view()?.issue(&subject));
        self.tell(answer, [edited_or_settled(subject, before)])
    }

    pub(super) fn changes(&mut self) -> Result<Answer, Answer> {
        let query = Query::read(
            self.asked,
            &[
                ("state", &STATES),
                ("head", &[]),
                ("base", &[]),
                ("sort", &["created", "updated", "popularity", "long-running"]),
                ("direction", &DIRECTIONS),
            ],
        )?;
        // GitHub passes over a head without its owner and lists everything: nobody means that.
        let head = query.filter("head").map(|head| head.split_once(':'));
        let head = match head {
            Some(None) => {
                let why = "head must be owner:branch";
                return Err(refuse(422, why).violating(why));
            }
            Some(found) => found,
            None => None,
        };
        let owner_of = |subject: &FakeSubject, of: HeadRepo| {
            let repo = match of {
                HeadRepo::Same => subject.repo,
                HeadRepo::Fork(fork) => fork,
                HeadRepo::Gone => return None,
            };
            self.model.repo(repo).ok().map(|repo| repo.owner.login.clone())
        };
        let from: Vec<u64> = self
            .model
            .subjects(self.repo, self.now)
            .into_iter()
            .filter(|subject| {
                let Some(change) = &subject.change else { return false };
                let base = query.filter("base").is_none_or(|base| change.base_branch == base);
                base && head.is_none_or(|(owner, branch)| {
                    change.head_branch == branch
                        && owner_of(subject, change.head_repo)
                            .is_some_and(|login| login.eq_ignore_ascii_case(owner))
                })
            })
            .map(|subject| subject.id)
            .collect();
        let direction = match query.filter("sort") {
            None | Some("created") => "desc",
            Some(_) => "asc",
        };
        let listed = self.listed(&query, direction, |subject| from.contains(&subject.id));
        let mut all = Vec::new();
        for subject in &listed {
            let mut change = self.view_of(subject)?.pull_request(subject);
            if let Value::Object(fields) = &mut change {
                fields.retain(|name, _| !ALONE.contains(&name.as_str()));
            }
            all.push(change);
        }
        Ok(self.page(&query, "/pulls", &all))
    }

    pub(super) fn create_change(&mut self) -> Result<Answer, Answer> {
        self.need("pull_requests", Access::Write)?;
        let new: NewChange = read(self.asked)?;
        let (head_repo, head_branch) = self.head_named(&new.head)?;
        let proposal = Proposal {
            title: new.title,
            body: new.body,
            head_repo,
            head_branch,
            base_branch: new.base,
            draft: new.draft,
            maintainer_may_edit: new.maintainer_can_modify,
        };
        let (base, act) = (proposal.base_branch.clone(), self.act());
        let change = self.model.propose(self.repo, proposal, act).map_err(|why| match why {
            // A branch that does not exist is no 404 here.
            Refusal::Missing(what) if what.ends_with(&format!("branch {base}")) => {
                invalid("PullRequest", "invalid", "base", "base is invalid")
            }
            Refusal::Missing(_) => invalid("PullRequest", "invalid", "head", "head is invalid"),
            why => refusal("PullRequest", &why),
        })?;
        let shown = self.view_of(&change)?.pull_request(&change);
        self.tell(Answer::new(StatusCode::CREATED, shown), [What::Opened(change)])
    }

    pub(super) fn read_change(&self, number: u64) -> Result<Answer, Answer> {
        let change = self.change(number)?;
        Ok(Answer::new(StatusCode::OK, self.view_of(change)?.pull_request(change)))
    }

    pub(super) fn edit_change(&mut self, number: u64) -> Result<Answer, Answer> {
        self.need("pull_requests", Access::Write)?;
        let edit: ChangeEdit = read(self.asked)?;
        let before = self.change(number)?.clone();
        let edit = Edit {
            title: edit.title,
            body: edit.body,
            open: edit.state.map(|state| state == State::Open),
            base_branch: edit.base,
            maintainer_may_edit: edit.maintainer_can_modify,
            ..Edit::default()
        };
        let act = self.act();
        let edited = self.model.edit_subject(before.id, edit, act);
        let change = edited.map_err(|why| refusal("PullRequest", &why))?;
        let answer = Answer::new(StatusCode::OK, self.view_of(&change)?.pull_request(&change));
        self.tell(answer, [edited_or_settled(change, before)])
    }

    pub(super) fn request_reviewers(&mut self, number: u64) -> Result<Answer, Answer> {
        self.need("pull_requests", Access::Write)?;
        let Reviewers { reviewers } = read(self.asked)?;
        let subject = self.change(number)?.clone();
        let repo = self.model.repo(self.repo).map_err(missing)?;
        let mut asked = Vec::new();
        for login in &reviewers {
            let account = self.model.account(login).ok().cloned();
            match account.filter(|account| repo.has_collaborator(account)) {
                Some(account) if account.id == subject.author.id => {
                    let why = "Review cannot be requested from pull request author.";
                    return Err(unprocessable(why));
                }
                Some(account) => asked.push(account),
                None => {
                    let why = format!(
                        "Reviews may only be requested from collaborators. One or more of the users or \
                         teams you specified is not a collaborator of the {} repository.",
                        repo.full_name
                    );
                    return Err(refuse(422, &why));
                }
            }
        }
        let mut all = subject.change.map(|change| change.reviewers).unwrap_or_default();
        asked.retain(|account| !all.contains(account));
        all.extend(asked.iter().cloned());
        let (edit, act) = (Edit { reviewers: Some(all), ..Edit::default() }, self.act());
        let edited = self.model.edit_subject(subject.id, edit, act);
        let change = edited.map_err(|why| refusal("PullRequest", &why))?;
        let shown = self.view_of(&change)?.pull_request(&change);
        let told = asked
            .into_iter()
            .map(|reviewer| What::ReviewRequested { change: change.clone(), reviewer });
        self.tell(Answer::new(StatusCode::CREATED, shown), told.collect::<Vec<_>>())
    }

    pub(super) fn collaborator(&self, login: &str) -> Result<Answer, Answer> {
        let repo = self.model.repo(self.repo).map_err(missing)?;
        if !repo.permission(&self.bearer.account).may_write() {
            return Err(refuse(403, "Must have push access to view repository collaborators."));
        }
        let account = self.model.account(login).map_err(missing)?;
        if !repo.has_collaborator(account) {
            return Err(not_found());
        }
        Ok(Answer::new(StatusCode::NO_CONTENT, Value::Null))
    }

    /// Returns what a listing shows, in the order that was asked for.
    fn listed(
        &mut self,
        query: &Query,
        direction: &str,
        wanted: impl Fn(&FakeSubject) -> bool,
    ) -> Vec<FakeSubject> {
        if query.page == 1 {
            self.model.count_subjects_listing(self.repo);
        }
        let open = match query.filter("state") {
            None | Some("open") => Some(true),
            Some("closed") => Some(false),
            Some(_) => None,
        };
        let mut listed: Vec<FakeSubject> = self
            .model
            .subjects(self.repo, self.now)
            .into_iter()
            .filter(|subject| open.is_none_or(|open| subject.open == open) && wanted(subject))
            .cloned()
            .collect();
        match query.filter("sort") {
            Some("updated") => listed.sort_by_key(|subject| (subject.updated_at, subject.number)),
            Some("comments" | "popularity") => listed.sort_by_key(|subject| subject.comments),
            _ => listed.sort_by_key(|subject| subject.number),
        }
        if query.filter("direction").unwrap_or(direction) == "desc" {
            listed.reverse();
        }
        listed
    }

    /// Reads `branch` or `owner:branch`.
    fn head_named(&self, head: &str) -> Result<(u64, String), Answer> {
        let wrong = || invalid("PullRequest", "invalid", "head", "head is invalid");
        let Some((owner, branch)) = head.split_once(':') else {
            return Ok((self.repo, head.to_owned()));
        };
        let own = self.model.repo(self.repo).map_err(missing)?;
        if own.owner.login.eq_ignore_ascii_case(owner) {
            return Ok((self.repo, branch.to_owned()));
        }
        let fork = self.model.fork_of(self.repo, owner).ok_or_else(wrong)?;
        Ok((fork.id, branch.to_owned()))
    }
}

/// Tells what an edit did: opening and closing come before words.
fn edited_or_settled(subject: FakeSubject, before: FakeSubject) -> What {
    match (before.open, subject.open) {
        (true, false) => What::Closed(subject),
        (false, true) => What::Reopened(subject),
        _ => What::Edited { subject, before: Box::new(before) },
    }
}
