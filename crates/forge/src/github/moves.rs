//! What we do on GitHub, one move at a time.

use std::collections::BTreeMap;

use async_trait::async_trait;
use domain::anchor::Spot;
use domain::event::Place;
use domain::publication::{
    Branch, Dispatch, FileWrite, NewChange, ReactionTarget, Settling, Sign, Status,
};
use domain::{Clock, Receipt, Repo, Subject};
use http::Method;
use report::redact::Redactor;
use serde_json::json;

use super::wire::{ChangeEdit, NewPull, NewReview, NewThread, Outgoing, State, Upload};
use super::{GitHub, Identity, TOGETHER, change_number, thread_number, wire};
use crate::error::Error;
use crate::http::{Content, Deadline};
use crate::ours::Ours;
use crate::port::{ChangeNow, Look, Said, Together};
use crate::write::moves::{Home, Moves, Seat};

const RESOLVE: &str =
    "mutation($id:ID!){resolveReviewThread(input:{threadId:$id}){thread{isResolved}}}";
const UNRESOLVE: &str =
    "mutation($id:ID!){unresolveReviewThread(input:{threadId:$id}){thread{isResolved}}}";
const READY: &str = "mutation($id:ID!){markPullRequestReadyForReview(input:{pullRequestId:$id})\
    {pullRequest{isDraft}}}";

impl GitHub {
    async fn say(
        &self,
        subject: &Subject,
        (method, tail): (Method, &[&str]),
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        let what = format!("a comment on {subject}");
        let body = Outgoing::Comment { body };
        let answer = self
            .write(&what, &subject.repo, (method, tail), Some(&body), Content::Answer, by)
            .await?;
        Ok(answer.parse::<wire::Comment>(&what)?.into_said())
    }
}

/// Returns the family of a comment's id.
fn family(home: Home<'_>) -> &'static str {
    match home {
        Home::Conversation => "issues",
        Home::Thread(_) => "pulls",
    }
}

#[async_trait]
impl Moves for GitHub {
    fn ours(&self) -> &Ours {
        &self.ours
    }

    fn redactor(&self) -> &Redactor {
        self.anonymous.redactor()
    }

    fn clock(&self) -> &dyn Clock {
        self.anonymous.clock()
    }

    fn batches(&self) -> Together {
        TOGETHER
    }

    async fn one(
        &self,
        subject: &Subject,
        home: Home<'_>,
        id: u64,
        by: Deadline,
    ) -> Result<Said, Error> {
        self.one_of(family(home), subject, id, by).await
    }

    async fn create(&self, subject: &Subject, body: &str, by: Deadline) -> Result<Said, Error> {
        let number = thread_number(subject)?;
        self.say(subject, (Method::POST, &["issues", &number, "comments"]), body, by).await
    }

    async fn edit(
        &self,
        subject: &Subject,
        (home, id): (Home<'_>, u64),
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        let id = id.to_string();
        self.say(subject, (Method::PATCH, &[family(home), "comments", &id]), body, by).await
    }

    async fn delete(
        &self,
        subject: &Subject,
        home: Home<'_>,
        id: u64,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("comment {id} of {subject}");
        let id = id.to_string();
        let call: (_, &[&str]) = (Method::DELETE, &[family(home), "comments", &id]);
        self.write::<()>(&what, &subject.repo, call, None, Content::Answer, by).await?;
        Ok(())
    }

    async fn create_inline(
        &self,
        subject: &Subject,
        seat: Seat<'_>,
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        let what = format!("an inline comment on {subject}");
        let number = change_number(subject)?;
        let call: (_, &[&str]) = (Method::POST, &["pulls", &number, "comments"]);
        let body = NewThread::alone(seat, body);
        let answer =
            self.write(&what, &subject.repo, call, Some(&body), Content::Answer, by).await?;
        Ok(answer.parse::<wire::Comment>(&what)?.into_said())
    }

    async fn create_review(
        &self,
        subject: &Subject,
        comments: &[(Spot, String)],
        by: Deadline,
    ) -> Result<Vec<Said>, Error> {
        let what = format!("a review of {subject}");
        let Some((Spot { commit, .. }, _)) = comments.first() else { return Ok(Vec::new()) };
        let number = change_number(subject)?;
        let call: (_, &[&str]) = (Method::POST, &["pulls", &number, "reviews"]);
        let body = NewReview::new(commit, comments);
        let answer =
            self.write(&what, &subject.repo, call, Some(&body), Content::Answer, by).await?;
        let id = answer.parse::<wire::Review>(&what)?.id.to_string();
        // From here on the review stands: what fails now is looked up, not sent again (E2).
        let lost = |error: Error| Error::Lost { why: error.to_string() };
        let tail = ["pulls", number.as_str(), "reviews", &id, "comments"];
        let listing = self.listing(subject, &tail).await.map_err(lost)?;
        Ok(listing.items.into_iter().map(wire::Comment::into_said).collect())
    }

    async fn reply(
        &self,
        subject: &Subject,
        thread: &str,
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        let number = change_number(subject)?;
        let tail = ["pulls", number.as_str(), "comments", thread, "replies"];
        self.say(subject, (Method::POST, &tail), body, by).await
    }

    async fn settle_thread(
        &self,
        subject: &Subject,
        thread: &str,
        settling: Settling,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("thread {thread} of {subject}");
        let states = self.thread_states(subject).await?;
        let Some(state) = states.into_iter().find(|state| state.root.to_string() == thread) else {
            return Err(Error::Gone { what });
        };
        let mutation = match settling {
            Settling::Resolve if state.resolved => return Ok(()),
            Settling::Unresolve if !state.resolved => return Ok(()),
            Settling::Resolve => RESOLVE,
            Settling::Unresolve => UNRESOLVE,
        };
        self.change_by_graph(&what, &subject.repo, mutation, json!({ "id": state.node }), by).await
    }

    async fn react(
        &self,
        subject: &Subject,
        on: &ReactionTarget,
        sign: Sign,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("a reaction on {subject}");
        let number = thread_number(subject)?;
        let target;
        let tail: &[&str] = match on {
            ReactionTarget::Subject => &["issues", &number, "reactions"],
            ReactionTarget::Comment { id, place } => {
                target = id.to_string();
                match place {
                    Place::Conversation => &["issues", "comments", &target, "reactions"],
                    Place::Thread { .. } => &["pulls", "comments", &target, "reactions"],
                    Place::Review { .. } => {
                        let why = "GitHub has no reactions on the text of a review".to_owned();
                        return Err(Error::Refused { what, status: 0, why });
                    }
                }
            }
        };
        let body = Outgoing::Reaction { content: wire::reaction(sign) };
        let call = (Method::POST, tail);
        self.write(&what, &subject.repo, call, Some(&body), Content::Aside, by).await?;
        Ok(())
    }

    async fn open_change(
        &self,
        repo: &Repo,
        change: &NewChange,
        body: &str,
        by: Deadline,
    ) -> Result<ChangeNow, Error> {
        let what = format!("a change from {} in {}", change.head_branch, repo.full_name);
        let call: (_, &[&str]) = (Method::POST, &["pulls"]);
        let pull = NewPull::draft(change, body);
        let sent = self.write(&what, repo, call.clone(), Some(&pull), Content::Answer, by).await;
        let answer = match sent {
            // Private repositories of some plans have no drafts.
            Err(Error::Refused { why, .. }) if why.contains("Draft pull requests") => {
                let pull = pull.without_draft();
                self.write(&what, repo, call, Some(&pull), Content::Answer, by).await?
            }
            sent => sent?,
        };
        Ok(answer.parse::<wire::Pull>(&what)?.into_now(&self.anonymous.origin()))
    }

    async fn describe(&self, subject: &Subject, body: &str, by: Deadline) -> Result<(), Error> {
        let what = format!("the description of {subject}");
        let number = change_number(subject)?;
        let call: (_, &[&str]) = (Method::PATCH, &["pulls", &number]);
        let body = ChangeEdit { body };
        self.write(&what, &subject.repo, call, Some(&body), Content::Answer, by).await?;
        Ok(())
    }

    async fn make_ready(&self, subject: &Subject, by: Deadline) -> Result<(), Error> {
        let what = format!("the draft {subject}");
        let change = self.raw_change(subject, by).await?;
        match change.node_id {
            _ if !change.draft => Ok(()),
            Some(node) => {
                self.change_by_graph(&what, &subject.repo, READY, json!({ "id": node }), by).await
            }
            None => Err(Error::Garbled { what, why: "it has no node id".to_owned() }),
        }
    }

    async fn set_status(&self, repo: &Repo, status: &Status, by: Deadline) -> Result<(), Error> {
        let what = format!("the status of {}", status.commit);
        // Only an App may make checks, which have a neutral state and remarks on lines.
        if matches!(self.identity, Identity::App(_)) {
            return self.check(repo, status, by).await;
        }
        let call: (_, &[&str]) = (Method::POST, &["statuses", &status.commit]);
        let body = State::new(status);
        self.write(&what, repo, call, Some(&body), Content::Answer, by).await?;
        Ok(())
    }

    async fn create_branch(&self, repo: &Repo, branch: &Branch, by: Deadline) -> Result<(), Error> {
        let what = format!("the branch {} of {}", branch.name, repo.full_name);
        let body = Outgoing::Ref { name: format!("refs/heads/{}", branch.name), sha: &branch.at };
        let call: (_, &[&str]) = (Method::POST, &["git", "refs"]);
        self.write(&what, repo, call, Some(&body), Content::Answer, by).await?;
        Ok(())
    }

    async fn write_file(&self, repo: &Repo, file: &FileWrite, by: Deadline) -> Result<(), Error> {
        let what = format!("the file {} of {}", file.path, repo.full_name);
        let tail = contents(&file.path);
        let call: (_, &[&str]) = (Method::PUT, &tail);
        self.write(&what, repo, call, Some(&Upload::new(file)), Content::Answer, by).await?;
        Ok(())
    }

    async fn file_stands(&self, repo: &Repo, file: &FileWrite) -> Result<bool, Error> {
        let what = format!("the file {} of {}", file.path, repo.full_name);
        let mut url = self.url(&repo.full_name, &contents(&file.path))?;
        url.query_pairs_mut().append_pair("ref", &file.branch);
        match self.read_one::<wire::Content>(&what, &repo.full_name, url, self.now()).await {
            Ok(content) => Ok(content.is(&file.content)),
            Err(Error::Gone { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn dispatch(&self, repo: &Repo, dispatch: &Dispatch, by: Deadline) -> Result<(), Error> {
        let what = format!("a workflow of {}", repo.full_name);
        let Some(workflow) = &dispatch.workflow else {
            let why = "no workflow is named".to_owned();
            return Err(Error::Refused { what, status: 0, why });
        };
        let inputs: BTreeMap<_, _> = dispatch
            .variables
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let body = Outgoing::Dispatch { branch: &dispatch.on_branch, inputs };
        let tail = ["actions", "workflows", workflow, "dispatches"];
        self.write(&what, repo, (Method::POST, &tail), Some(&body), Content::Answer, by).await?;
        Ok(())
    }

    /// A run is known by its name: the workflow sets `run-name` from the identity.
    async fn find_dispatch(&self, repo: &Repo, dispatch: &Dispatch) -> Look {
        let Some((_, identity)) =
            dispatch.variables.iter().find(|(name, _)| *name == dispatch.identity)
        else {
            return Look::Unknown { why: "the run has no identity".to_owned() };
        };
        let read = async {
            let mut url = self.url(&repo.full_name, &["actions", "runs"])?;
            url.query_pairs_mut()
                .append_pair("event", "workflow_dispatch")
                .append_pair("branch", &dispatch.on_branch)
                .append_pair("per_page", "100");
            let what = format!("the runs of {}", repo.full_name);
            self.read_one::<wire::Runs>(&what, &repo.full_name, url, self.now()).await
        };
        match read.await {
            Ok(runs) if runs.workflow_runs.iter().any(|run| run.is_named_after(identity)) => {
                Look::Found { receipt: Receipt::Done, authentic: true }
            }
            Ok(_) => Look::Absent,
            Err(error) => Look::Unknown { why: error.to_string() },
        }
    }
}

fn contents(path: &str) -> Vec<&str> {
    let mut tail = vec!["contents"];
    tail.extend(path.split('/'));
    tail
}
