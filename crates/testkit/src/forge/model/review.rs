//! Reviews, submitted and pending, and drafts.

use domain::Time;

use super::{Account, Act, Entry, Model, Refusal, take};
use crate::forge::object::{
    CommentKind, DraftTarget, FakeComment, FakeDraft, FakeReview, Inline, ReviewState, Spot,
    Verdict,
};

/// A review with all its inline comments, as a host takes it in one request.
#[derive(Clone, Debug)]
pub(crate) struct NewReview {
    pub(crate) commit: String,
    pub(crate) body: String,
    /// `None` leaves it pending.
    pub(crate) verdict: Option<Verdict>,
    pub(crate) comments: Vec<Inline>,
}

impl Model {
    /// Creates a review whole or not at all.
    pub(crate) fn review_at_once(
        &mut self,
        subject: u64,
        new: &NewReview,
        act: Act<'_>,
    ) -> Result<FakeReview, Refusal> {
        for Inline { anchor, body } in &new.comments {
            self.check_body(body)?;
            self.check_anchor(subject, &new.commit, anchor)?;
        }
        if let Some(verdict) = new.verdict {
            self.check_verdict(subject, verdict, &new.body, act.by)?;
        }
        let review = self.start_review(subject, &new.commit, &new.body, act)?;
        for inline in &new.comments {
            self.open_thread(subject, &new.commit, inline, Some(review.id), act)?;
        }
        match new.verdict {
            Some(verdict) => self.submit_review(review.id, verdict, None, act),
            None => Ok(review),
        }
    }

    /// Begins a pending review. An account has at most one on a change.
    pub(crate) fn start_review(
        &mut self,
        subject: u64,
        commit: &str,
        body: &str,
        act: Act<'_>,
    ) -> Result<FakeReview, Refusal> {
        self.check_length(body)?;
        if self.pending_review(subject, act.by).is_some() {
            return Err(Refusal::Taken("the one pending review".to_owned()));
        }
        let (change, _) = self.change(subject)?;
        let (repo, number) = (change.repo, change.number);
        let review = FakeReview {
            id: take(&mut self.next.review),
            repo,
            subject,
            number,
            author: act.by.clone(),
            state: ReviewState::Pending,
            body: body.to_owned(),
            commit: commit.to_owned(),
            submitted_at: None,
            listed: self.listed(act.now),
        };
        self.timelines.entry(subject).or_default().push(Entry::Review(review.id));
        self.reviews.insert(review.id, review.clone());
        Ok(review)
    }

    /// Makes the submitted review of a comment that was written by itself.
    pub(super) fn review_of_its_own(
        &mut self,
        subject: u64,
        commit: &str,
        act: Act<'_>,
    ) -> Result<u64, Refusal> {
        let (change, _) = self.change(subject)?;
        let (repo, number) = (change.repo, change.number);
        let review = FakeReview {
            id: take(&mut self.next.review),
            repo,
            subject,
            number,
            author: act.by.clone(),
            state: ReviewState::Commented,
            body: String::new(),
            commit: commit.to_owned(),
            submitted_at: Some(act.now),
            listed: self.listed(act.now),
        };
        let id = review.id;
        self.timelines.entry(subject).or_default().push(Entry::Review(id));
        self.reviews.insert(id, review);
        Ok(id)
    }

    pub(crate) fn pending_review(&self, subject: u64, by: &Account) -> Option<&FakeReview> {
        self.reviews.values().find(|review| {
            review.subject == subject
                && review.author.id == by.id
                && review.state == ReviewState::Pending
        })
    }

    /// Submits a pending review of one's own, with another text if one is given.
    pub(crate) fn submit_review(
        &mut self,
        id: u64,
        verdict: Verdict,
        body: Option<&str>,
        act: Act<'_>,
    ) -> Result<FakeReview, Refusal> {
        let review = self.own_pending(id, act.by)?;
        let (subject, text) = (review.subject, body.unwrap_or(&review.body).to_owned());
        self.check_length(&text)?;
        self.check_verdict(subject, verdict, &text, act.by)?;
        self.subject_mut(subject)?.updated_at = act.now;
        let listed = self.listed(act.now);
        let review = self.review_mut(id)?;
        (review.state, review.body) = (verdict.into(), text);
        (review.submitted_at, review.listed) = (Some(act.now), listed);
        Ok(review.clone())
    }

    /// Deletes a pending review of one's own, with its comments.
    pub(crate) fn delete_review(&mut self, id: u64, by: &Account) -> Result<FakeReview, Refusal> {
        let review = self.own_pending(id, by)?.clone();
        for comment in self.review_comments(id) {
            self.remove_comment(CommentKind::Line, comment.id)?;
        }
        self.reviews.remove(&id);
        if let Some(timeline) = self.timelines.get_mut(&review.subject) {
            timeline.retain(|entry| *entry != Entry::Review(id));
        }
        Ok(review)
    }

    /// Replaces the text of a review of one's own.
    pub(crate) fn edit_review(
        &mut self,
        id: u64,
        body: &str,
        by: &Account,
    ) -> Result<FakeReview, Refusal> {
        self.check_body(body)?;
        if self.review(id)?.author.id != by.id {
            let what = "change the reviews of others";
            return Err(Refusal::Forbidden { login: by.login.clone(), what });
        }
        let review = self.review_mut(id)?;
        body.clone_into(&mut review.body);
        Ok(review.clone())
    }

    pub(crate) fn dismiss_review(&mut self, id: u64, by: &Account) -> Result<FakeReview, Refusal> {
        let review = self.review(id)?;
        self.require_write(review.repo, by, "dismiss reviews")?;
        match review.state {
            ReviewState::Approved | ReviewState::ChangesRequested => {}
            _ => {
                return Err(Refusal::Impossible("Can not dismiss a commented pull request review"));
            }
        }
        let review = self.review_mut(id)?;
        review.state = ReviewState::Dismissed;
        Ok(review.clone())
    }

    pub(crate) fn review(&self, id: u64) -> Result<&FakeReview, Refusal> {
        self.reviews.get(&id).ok_or_else(|| Refusal::Missing(format!("review {id}")))
    }

    /// Returns all reviews of a change, oldest first.
    pub(crate) fn reviews(&self, subject: u64) -> Vec<&FakeReview> {
        self.reviews.values().filter(|review| review.subject == subject).collect()
    }

    /// Returns what a listing of the change's reviews shows the viewer now, oldest first.
    pub(crate) fn review_listing(
        &self,
        subject: u64,
        viewer: &Account,
        now: Time,
    ) -> Vec<&FakeReview> {
        let mut listed = self.reviews(subject);
        listed.retain(|review| {
            let visible = review.state != ReviewState::Pending || review.author.id == viewer.id;
            visible && review.listed.is_listed(now)
        });
        listed
    }

    /// Counts one more listing of the change's reviews.
    pub(crate) fn count_review_listing(&mut self, subject: u64) {
        let reviews = self.reviews.values_mut().filter(|review| review.subject == subject);
        reviews.for_each(|review| review.listed.count());
    }

    /// Returns the inline comments of a review, oldest first.
    pub(crate) fn review_comments(&self, id: u64) -> Vec<FakeComment> {
        let all = self.comments.values();
        all.filter(|comment| comment.review() == Some(id)).cloned().collect()
    }

    /// Keeps a text that its author alone sees until it is published.
    pub(crate) fn add_draft(
        &mut self,
        subject: u64,
        body: &str,
        target: DraftTarget,
        act: Act<'_>,
    ) -> Result<FakeDraft, Refusal> {
        self.check_body(body)?;
        match &target {
            DraftTarget::Anchor { anchor, commit } => self.check_anchor(subject, commit, anchor)?,
            DraftTarget::Thread(thread) => drop(self.thread(*thread)?.id),
            DraftTarget::Conversation => {}
        }
        let repo = self.subject(subject)?.repo;
        let draft = FakeDraft {
            id: take(&mut self.next.other),
            repo,
            subject,
            author: act.by.clone(),
            body: body.to_owned(),
            target,
            created_at: act.now,
        };
        self.drafts.insert(draft.id, draft.clone());
        Ok(draft)
    }

    /// Returns the account's own drafts on a subject, oldest first.
    pub(crate) fn drafts(&self, subject: u64, by: &Account) -> Vec<&FakeDraft> {
        let own = |draft: &&FakeDraft| draft.subject == subject && draft.author.id == by.id;
        self.drafts.values().filter(own).collect()
    }

    /// Returns everybody's drafts on a subject, oldest first.
    pub(crate) fn all_drafts(&self, subject: u64) -> Vec<&FakeDraft> {
        self.drafts.values().filter(|draft| draft.subject == subject).collect()
    }

    pub(crate) fn delete_draft(&mut self, id: u64, by: &Account) -> Result<(), Refusal> {
        self.own_draft(id, by)?;
        self.drafts.remove(&id);
        Ok(())
    }

    /// Makes a draft of one's own a comment.
    pub(crate) fn publish_draft(&mut self, id: u64, act: Act<'_>) -> Result<FakeComment, Refusal> {
        let FakeDraft { subject, body, target, .. } = self.own_draft(id, act.by)?.clone();
        let comment = match target {
            DraftTarget::Conversation => {
                self.add_comment(subject, Spot::Conversation, &body, act)?
            }
            DraftTarget::Anchor { anchor, commit } => {
                self.open_thread(subject, &commit, &Inline { anchor, body }, None, act)?.1
            }
            DraftTarget::Thread(thread) => self.reply(thread, &body, None, act)?,
        };
        self.drafts.remove(&id);
        Ok(comment)
    }

    /// Publishes all drafts of one's own on a subject, one after the other: where it breaks down,
    /// the rest stay drafts.
    pub(crate) fn publish_drafts(
        &mut self,
        subject: u64,
        act: Act<'_>,
    ) -> Result<Vec<FakeComment>, Refusal> {
        let ids: Vec<u64> = self.drafts(subject, act.by).iter().map(|draft| draft.id).collect();
        let mut published = Vec::new();
        for id in ids {
            self.step()?;
            published.push(self.publish_draft(id, act)?);
        }
        Ok(published)
    }

    /// Nobody approves or refuses a change of their own, and some verdicts need words.
    fn check_verdict(
        &self,
        subject: u64,
        verdict: Verdict,
        body: &str,
        by: &Account,
    ) -> Result<(), Refusal> {
        let own = self.subject(subject)?.author.id == by.id;
        match verdict {
            Verdict::Approve if own => {
                Err(Refusal::Impossible("Can not approve your own pull request"))
            }
            Verdict::RequestChanges if own => {
                Err(Refusal::Impossible("Can not request changes on your own pull request"))
            }
            Verdict::RequestChanges if body.trim().is_empty() => Err(Refusal::Blank("body")),
            _ => Ok(()),
        }
    }

    fn own_pending(&self, id: u64, by: &Account) -> Result<&FakeReview, Refusal> {
        let review = self.review(id)?;
        if review.author.id != by.id {
            return Err(Refusal::Missing(format!("review {id}")));
        }
        if review.state != ReviewState::Pending {
            return Err(Refusal::Impossible("the review is not pending"));
        }
        Ok(review)
    }

    fn own_draft(&self, id: u64, by: &Account) -> Result<&FakeDraft, Refusal> {
        let found = self.drafts.get(&id).filter(|draft| draft.author.id == by.id);
        found.ok_or_else(|| Refusal::Missing(format!("draft {id}")))
    }

    fn review_mut(&mut self, id: u64) -> Result<&mut FakeReview, Refusal> {
        self.reviews.get_mut(&id).ok_or_else(|| Refusal::Missing(format!("review {id}")))
    }
}
