//! Reviews: all or nothing with their comments, pending until an event submits them.

use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::call::{Call, Query, missing, read};
use super::inline::{Word, lines};
use super::issue::Body;
use super::{not_found, refusal, refuse, unprocessable};
use crate::forge::{
    Access, Anchor, Answer, FakeReview, Inline, NewReview, Refusal, ReviewState, Verdict, What,
    submitted,
};

const RESOURCE: &str = "PullRequestReview";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Review {
    commit_id: Option<String>,
    #[serde(default)]
    body: String,
    event: Option<Event>,
    #[serde(default)]
    comments: Vec<Comment>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Comment {
    path: String,
    body: String,
    line: u64,
    side: Option<Word>,
    start_line: Option<u64>,
    start_side: Option<Word>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Event {
    Approve,
    RequestChanges,
    Comment,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Submission {
    event: Event,
    body: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dismissal {
    message: String,
    event: Option<String>,
}

impl Call<'_> {
    pub(super) fn list_reviews(&mut self, number: u64) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[])?;
        let change = self.change(number)?.id;
        let view = self.view()?;
        let listed = self.model.review_listing(change, &self.bearer.account, self.now);
        let all: Vec<Value> = listed.into_iter().map(|review| view.review(review)).collect();
        let answer = self.page(&query, &format!("/pulls/{number}/reviews"), &all);
        if query.page == 1 {
            self.model.count_review_listing(change);
        }
        Ok(answer)
    }

    pub(super) fn create_review(&mut self, number: u64) -> Result<Answer, Answer> {
        self.need("pull_requests", Access::Write)?;
        let new: Review = read(self.asked)?;
        let change = self.change(number)?.id;
        let Some(commit) = new.commit_id else {
            // GitHub would take the newest head, which may be another one than was reviewed.
            let why = "a review names the commit that was reviewed";
            return Err(unprocessable(why).violating(why));
        };
        if self.model.pending_review(change, &self.bearer.account).is_some() {
            return Err(unprocessable("User can only have one pending review per pull request"));
        }
        let verdict = new.event.map(Verdict::from);
        need_words(verdict, &new.body)?;
        let comments = new.comments.into_iter().map(|comment| Inline {
            anchor: Anchor {
                path: comment.path,
                lines: Some(lines(
                    comment.line,
                    comment.side,
                    comment.start_line,
                    comment.start_side,
                )),
            },
            body: comment.body,
        });
        let comments = comments.collect();
        let (new, act) = (NewReview { commit, body: new.body, verdict, comments }, self.act());
        let review = self.model.review_at_once(change, &new, act).map_err(|why| match why {
            Refusal::Missing(what) if what.starts_with("commit") => {
                unprocessable("The commit is not part of the pull request")
            }
            why => refusal(RESOURCE, &why),
        })?;
        self.said(&review)
    }

    pub(super) fn read_review(&self, number: u64, id: u64) -> Result<Answer, Answer> {
        let review = self.visible_review(number, id)?;
        Ok(Answer::new(StatusCode::OK, self.view()?.review(review)))
    }

    pub(super) fn edit_review(&mut self, number: u64, id: u64) -> Result<Answer, Answer> {
        self.need("pull_requests", Access::Write)?;
        self.visible_review(number, id)?;
        let Body { body } = read(self.asked)?;
        let edited = self.model.edit_review(id, &body, &self.bearer.account);
        let review = edited.map_err(|why| refusal(RESOURCE, &why))?;
        let answer = Answer::new(StatusCode::OK, self.view()?.review(&review));
        let on = self.change(number)?.clone();
        self.tell(answer, [What::ReviewEdited { on, review }])
    }

    pub(super) fn delete_review(&mut self, number: u64, id: u64) -> Result<Answer, Answer> {
        self.need("pull_requests", Access::Write)?;
        self.visible_review(number, id)?;
        let deleted = self.model.delete_review(id, &self.bearer.account);
        let review = deleted.map_err(|why| match why {
            Refusal::Impossible(_) => {
                unprocessable("Can not delete a non-pending pull request review")
            }
            why => refusal(RESOURCE, &why),
        })?;
        Ok(Answer::new(StatusCode::OK, self.view()?.review(&review)))
    }

    pub(super) fn of_review(&mut self, number: u64, id: u64) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[])?;
        self.visible_review(number, id)?;
        let comments = self.model.review_comments(id);
        let all: Vec<Value> =
            comments.iter().map(|comment| self.shown(comment)).collect::<Result<_, _>>()?;
        Ok(self.page(&query, &format!("/pulls/{number}/reviews/{id}/comments"), &all))
    }

    pub(super) fn submit(&mut self, number: u64, id: u64) -> Result<Answer, Answer> {
        self.need("pull_requests", Access::Write)?;
        let review = self.visible_review(number, id)?;
        let Submission { event, body } = read(self.asked)?;
        let verdict = Verdict::from(event);
        need_words(Some(verdict), body.as_deref().unwrap_or(&review.body))?;
        let act = self.act();
        let submitted = self.model.submit_review(id, verdict, body.as_deref(), act);
        let review = submitted.map_err(|why| refusal(RESOURCE, &why))?;
        self.said(&review)
    }

    pub(super) fn dismiss(&mut self, number: u64, id: u64) -> Result<Answer, Answer> {
        self.need("pull_requests", Access::Write)?;
        self.visible_review(number, id)?;
        let Dismissal { message, event } = read(self.asked)?;
        if message.trim().is_empty() || event.is_some_and(|event| event != "DISMISS") {
            return Err(refuse(422, "Invalid request.").violating("the dismissal says nothing"));
        }
        let dismissed = self.model.dismiss_review(id, &self.bearer.account);
        let review = dismissed.map_err(|why| refusal(RESOURCE, &why))?;
        let answer = Answer::new(StatusCode::OK, self.view()?.review(&review));
        let on = self.change(number)?.clone();
        self.tell(answer, [What::ReviewDismissed { on, review }])
    }

    /// Answers with a review, and tells it once it is submitted.
    fn said(&self, review: &FakeReview) -> Result<Answer, Answer> {
        let answer = Answer::new(StatusCode::OK, self.view()?.review(review));
        match review.state {
            ReviewState::Pending => Ok(answer),
            _ => self.tell(answer, submitted(self.model, review).map_err(missing)?),
        }
    }

    fn visible_review(&self, number: u64, id: u64) -> Result<&FakeReview, Answer> {
        let change = self.change(number)?.id;
        let review = self.model.review(id).map_err(missing)?;
        let own = review.author.id == self.bearer.account.id;
        if review.subject != change || review.state == ReviewState::Pending && !own {
            return Err(not_found());
        }
        Ok(review)
    }
}

impl From<Event> for Verdict {
    fn from(event: Event) -> Self {
        match event {
            Event::Approve => Self::Approve,
            Event::RequestChanges => Self::RequestChanges,
            Event::Comment => Self::Comment,
        }
    }
}

/// A review that comments or asks for changes has a text.
fn need_words(verdict: Option<Verdict>, body: &str) -> Result<(), Answer> {
    match verdict {
        Some(Verdict::Comment | Verdict::RequestChanges) if body.trim().is_empty() => {
            let why = "Review body can't be blank";
            Err(unprocessable(why).violating("a review without a text"))
        }
        _ => Ok(()),
    }
}
