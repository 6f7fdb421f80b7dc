//! What we do on Gitea and Forgejo, one move at a time.

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

use super::review::Name;
use super::server::{Removing, Replying, Resolving};
use super::wire::{ChangeEdit, NewComment, NewPull, Outgoing, State, Upload};
use super::{Gitea, TOGETHER, change_number, path_below, thread_number, wire};
use crate::error::Error;
use crate::http::{Answer, Content, Deadline};
use crate::ours::Ours;
use crate::port::{ChangeNow, Look, Said, Together};
use crate::write::moves::{Home, Moves, Seat};

impl Gitea {
    async fn say(
        &self,
        subject: &Subject,
        (method, tail): (Method, &[&str]),
        body: &str,
        by: Deadline,
    ) -> Result<Answer, Error> {
        let what = format!("a comment on {subject}");
        let body = Outgoing::Comment { body };
        self.write(&what, &subject.repo, (method, tail), Some(&body), Content::Answer, by).await
    }

    /// Replies by a new review on the thread's line. Its commit may be gone after a forced push:
    /// then the line is meant as it is today.
    async fn reply_by_review(
        &self,
        subject: &Subject,
        spot: &Spot,
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        let listed = match self.send_review(subject, &[(spot, body)], by).await {
            Err(Error::Refused { status, .. }) if status >= 400 => {
                let commit = self.raw_change(subject, by).await?.into_now(&self.client.origin());
                let today = Spot { commit: commit.head, ..spot.clone() };
                self.send_review(subject, &[(&today, body)], by).await?
            }
            listed => listed?,
        };
        first(listed)
    }

    /// Removes an inline comment below the review that its thread began in.
    async fn delete_of_review(
        &self,
        subject: &Subject,
        name: Name,
        id: &str,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("comment {id} of {subject}");
        let Some(review) = name.review else { return Err(Error::Gone { what }) };
        let (number, review) = (change_number(subject)?, review.to_string());
        let tail = ["pulls", &number, "reviews", &review, "comments", id];
        let call: (_, &[&str]) = (Method::DELETE, &tail);
        self.write::<()>(&what, &subject.repo, call, None, Content::Answer, by).await?;
        Ok(())
    }
}

/// Takes the only comment of a review that was just sent.
fn first(listed: Vec<Said>) -> Result<Said, Error> {
    let why = || "the comment of the review is not listed yet".to_owned();
    listed.into_iter().next().ok_or_else(|| Error::Lost { why: why() })
}

#[async_trait]
impl Moves for Gitea {
    fn ours(&self) -> &Ours {
        &self.ours
    }

    fn redactor(&self) -> &Redactor {
        self.client.redactor()
    }

    fn clock(&self) -> &dyn Clock {
        self.client.clock()
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
        match home {
            Home::Conversation => self.said_by_id(subject, id, by).await,
            Home::Thread(thread) => self.said_inline(subject, Some(thread), id, by).await,
        }
    }

    async fn create(&self, subject: &Subject, body: &str, by: Deadline) -> Result<Said, Error> {
        let number = thread_number(subject)?;
        let call: (_, &[&str]) = (Method::POST, &["issues", &number, "comments"]);
        let answer = self.say(subject, call, body, by).await?;
        Ok(answer.parse::<wire::Comment>(&format!("a comment on {subject}"))?.into_said())
    }

    async fn edit(
        &self,
        subject: &Subject,
        (home, id): (Home<'_>, u64),
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        let what = format!("comment {id} of {subject}");
        let id = id.to_string();
        let answer =
            self.say(subject, (Method::PATCH, &["issues", "comments", &id]), body, by).await?;
        if answer.is_empty() {
            let why = "this server does not edit such comments".to_owned();
            return Err(Error::Refused { what, status: 204, why });
        }
        // Inline comments are edited as any other, and the answer does not tell their place.
        let said = answer.parse::<wire::Comment>(&what)?.into_said();
        Ok(Said { place: home.place(), ..said })
    }

    async fn delete(
        &self,
        subject: &Subject,
        home: Home<'_>,
        id: u64,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("comment {id} of {subject}");
        let text = id.to_string();
        let name = match home {
            Home::Conversation => None,
            Home::Thread(name) => Name::parse(name),
        };
        if let (Some(name), Removing::ReviewComment) = (name, self.server().await?.removing) {
            match self.delete_of_review(subject, name, &text, by).await {
                // It may be a reply that stands in a review of its own.
                Err(Error::Gone { .. }) => {}
                deleted => return deleted,
            }
        }
        let tail = ["issues", "comments", &text];
        let call: (_, &[&str]) = (Method::DELETE, &tail);
        self.write::<()>(&what, &subject.repo, call, None, Content::Answer, by).await?;
        if name.is_none() {
            return Ok(());
        }
        // Some versions say yes and keep an inline comment.
        let url = self.url(&subject.repo.full_name, &tail)?;
        match self.client.read_raw(&what, url, by).await {
            Err(Error::Gone { .. }) => Ok(()),
            Ok(_) => {
                let why = "this server does not remove inline comments over its API".to_owned();
                Err(Error::Refused { what, status: 204, why })
            }
            Err(error) => Err(error),
        }
    }

    async fn create_inline(
        &self,
        subject: &Subject,
        seat: Seat<'_>,
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        match seat {
            Seat::Lines(spot) => first(self.send_review(subject, &[(spot, body)], by).await?),
            Seat::File(spot) => Err(Error::Refused {
                what: format!("a comment on {} as a whole", spot.path),
                status: 0,
                why: "this forge has none".to_owned(),
            }),
        }
    }

    async fn create_review(
        &self,
        subject: &Subject,
        comments: &[(Spot, String)],
        by: Deadline,
    ) -> Result<Vec<Said>, Error> {
        let comments: Vec<_> = comments.iter().map(|(spot, body)| (spot, body.as_str())).collect();
        self.send_review(subject, &comments, by).await
    }

    async fn reply(
        &self,
        subject: &Subject,
        thread: &str,
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        let what = format!("a reply in thread {thread} of {subject}");
        let number = change_number(subject)?;
        let stands = self.thread_named(subject, thread).await?;
        let (review, root) = (stands.review.to_string(), stands.first.id.to_string());
        let answer = match self.server().await?.replying {
            Replying::NewReview => {
                let said = self.reply_by_review(subject, stands.spot(), body, by).await?;
                let place = Home::Thread(&stands.name).place();
                return Ok(Said { place, ..said });
            }
            Replying::Replies => {
                let tail = ["pulls", &number, "comments", &root, "replies"];
                self.say(subject, (Method::POST, &tail), body, by).await?
            }
            Replying::IntoReview => {
                let tail = ["pulls", &number, "reviews", &review, "comments"];
                let body = NewComment::at(stands.spot(), body);
                let call: (_, &[&str]) = (Method::POST, &tail);
                self.write(&what, &subject.repo, call, Some(&body), Content::Answer, by).await?
            }
        };
        Ok(answer.parse::<wire::ReviewComment>(&what)?.into_said(stands.name, Some(true)))
    }

    async fn settle_thread(
        &self,
        subject: &Subject,
        thread: &str,
        settling: Settling,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("thread {thread} of {subject}");
        let server = self.server().await?;
        let stands = self.thread_named(subject, thread).await?;
        let word = match (settling, stands.first.resolver.is_some()) {
            (Settling::Resolve, true) | (Settling::Unresolve, false) => return Ok(()),
            (Settling::Resolve, false) => "resolve",
            (Settling::Unresolve, true) => "unresolve",
        };
        let number = change_number(subject)?;
        let (review, root) = (stands.review.to_string(), stands.first.id.to_string());
        let below_review = ["pulls", &number, "reviews", &review, "comments", &root, word];
        let tail: &[&str] = match server.resolving {
            Resolving::Comment => &["pulls", "comments", &root, word],
            Resolving::ReviewComment => &below_review,
            Resolving::None => {
                return Err(Error::Refused { what, status: 0, why: server.cannot_resolve() });
            }
        };
        let call = (Method::POST, tail);
        match self.write::<()>(&what, &subject.repo, call, None, Content::Answer, by).await {
            // The comment was listed just now: it is the way that is not there.
            Err(Error::Gone { what }) => {
                Err(Error::Refused { what, status: 404, why: server.cannot_resolve() })
            }
            settled => settled.map(|_| ()),
        }
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
            ReactionTarget::Comment { place: Place::Review { .. }, .. } => {
                let why = "this forge has no reactions on the text of a review".to_owned();
                return Err(Error::Refused { what, status: 0, why });
            }
            // Inline comments take them as any other.
            ReactionTarget::Comment { id, .. } => {
                target = id.to_string();
                &["issues", "comments", &target, "reactions"]
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
        let answer = self.write(&what, repo, call, Some(&pull), Content::Answer, by).await?;
        Ok(answer.parse::<wire::Pull>(&what)?.into_now(&self.client.origin()))
    }

    async fn describe(&self, subject: &Subject, body: &str, by: Deadline) -> Result<(), Error> {
        let what = format!("the description of {subject}");
        let number = change_number(subject)?;
        let call: (_, &[&str]) = (Method::PATCH, &["pulls", &number]);
        let edit = ChangeEdit { title: None, body: Some(body) };
        self.write(&what, &subject.repo, call, Some(&edit), Content::Answer, by).await?;
        Ok(())
    }

    /// A draft is ready once its title has lost the prefix.
    async fn make_ready(&self, subject: &Subject, by: Deadline) -> Result<(), Error> {
        let what = format!("the draft {subject}");
        let change = self.raw_change(subject, by).await?;
        if !change.is_draft() {
            return Ok(());
        }
        let unknown = |what: String| Error::Refused {
            what,
            status: 0,
            why: "the prefix of its title that marks it is none that we know".to_owned(),
        };
        let Some(title) = wire::without_draft_prefix(&change.title).filter(|bare| !bare.is_empty())
        else {
            return Err(unknown(what));
        };
        let number = change_number(subject)?;
        let call: (_, &[&str]) = (Method::PATCH, &["pulls", &number]);
        let edit = ChangeEdit { title: Some(title), body: None };
        let answer =
            self.write(&what, &subject.repo, call, Some(&edit), Content::Answer, by).await?;
        match answer.parse::<wire::Pull>(&what)?.is_draft() {
            true => Err(unknown(what)),
            false => Ok(()),
        }
    }

    async fn set_status(&self, repo: &Repo, status: &Status, by: Deadline) -> Result<(), Error> {
        let what = format!("the status of {}", status.commit);
        let call: (_, &[&str]) = (Method::POST, &["statuses", &status.commit]);
        let body = State::new(status);
        self.write(&what, repo, call, Some(&body), Content::Answer, by).await?;
        Ok(())
    }

    async fn create_branch(&self, repo: &Repo, branch: &Branch, by: Deadline) -> Result<(), Error> {
        let what = format!("the branch {} of {}", branch.name, repo.full_name);
        let body = Outgoing::Branch { new_branch_name: &branch.name, old_ref_name: &branch.at };
        let call: (_, &[&str]) = (Method::POST, &["branches"]);
        self.write(&what, repo, call, Some(&body), Content::Answer, by).await?;
        Ok(())
    }

    async fn write_file(&self, repo: &Repo, file: &FileWrite, by: Deadline) -> Result<(), Error> {
        let what = format!("the file {} of {}", file.path, repo.full_name);
        let tail = path_below("contents", &file.path);
        let method = match file.replaces {
            Some(_) => Method::PUT,
            None => Method::POST,
        };
        let upload = Upload::new(file);
        self.write(&what, repo, (method, &tail), Some(&upload), Content::Answer, by).await?;
        Ok(())
    }

    async fn file_stands(&self, repo: &Repo, file: &FileWrite) -> Result<bool, Error> {
        let what = format!("the file {} of {}", file.path, repo.full_name);
        let mut url = self.url(&repo.full_name, &path_below("contents", &file.path))?;
        url.query_pairs_mut().append_pair("ref", &file.branch);
        match self.client.read::<wire::Content>(&what, url, self.client.now()).await {
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

    /// A run is known by its name, which the workflow sets from the identity, or by what it was
    /// told where the server shows that.
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
                .append_pair("limit", "50");
            let what = format!("the runs of {}", repo.full_name);
            self.client.read::<wire::Runs>(&what, url, self.client.now()).await
        };
        match read.await {
            Ok(runs) if runs.any_carries(identity) => {
                Look::Found { receipt: Receipt::Done, authentic: true }
            }
            Ok(_) => Look::Absent,
            Err(error) => Look::Unknown { why: error.to_string() },
        }
    }
}
