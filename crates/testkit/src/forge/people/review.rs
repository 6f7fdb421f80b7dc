//! Inline comments, threads, reviews and drafts of people.

use super::{thread_of, told};
use crate::forge::FakeForge;
use crate::forge::happened::{Happened, What};
use crate::forge::model::{Act, Model, NewReview, Refusal};
use crate::forge::object::{
    Anchor, CommentKind, DraftTarget, FakeDraft, FakeReview, FakeThread, Inline, Verdict, Which,
};

impl FakeForge {
    /// Writes a comment on a new line of a change, which begins a thread.
    #[track_caller]
    pub fn comments_on_line(
        &self,
        actor: &str,
        repo: &str,
        change: u64,
        (path, line): (&str, u64),
        body: &str,
    ) -> Happened {
        self.comments_at(actor, repo, change, Anchor::new_line(path, line), body)
    }

    /// Writes a comment somewhere in the diff of a change, which begins a thread.
    #[track_caller]
    pub fn comments_at(
        &self,
        actor: &str,
        repo: &str,
        change: u64,
        anchor: Anchor,
        body: &str,
    ) -> Happened {
        told(self.act(actor, repo, |model, repo, act| {
            let (id, head) = head_of(model, repo, change)?;
            let inline = Inline { anchor, body: body.to_owned() };
            let (thread, comment) = model.open_thread(id, &head, &inline, None, act)?;
            Ok(What::Commented { on: model.subject(id)?.clone(), comment, thread: Some(thread) })
        }))
    }

    /// Replies in an inline thread.
    #[track_caller]
    pub fn replies(&self, actor: &str, repo: &str, thread: u64, body: &str) -> Happened {
        told(self.act(actor, repo, |model, _, act| {
            let comment = model.reply(thread, body, None, act)?;
            let on = model.subject(comment.subject)?.clone();
            let thread = thread_of(model, &comment);
            Ok(What::Commented { on, comment, thread })
        }))
    }

    #[track_caller]
    pub fn resolves(&self, actor: &str, repo: &str, thread: u64) -> Happened {
        told(self.act(actor, repo, |model, _, act| {
            let thread = model.resolve(thread, act.by)?;
            settled(model, thread)
        }))
    }

    #[track_caller]
    pub fn unresolves(&self, actor: &str, repo: &str, thread: u64) -> Happened {
        told(self.act(actor, repo, |model, _, act| {
            let thread = model.unresolve(thread, act.by)?;
            settled(model, thread)
        }))
    }

    /// Edits an inline comment.
    #[track_caller]
    pub fn edits_inline(&self, actor: &str, repo: &str, comment: u64, body: &str) -> Happened {
        told(self.try_edits(actor, repo, CommentKind::Line, comment, body))
    }

    /// Deletes an inline comment.
    #[track_caller]
    pub fn deletes_inline(&self, actor: &str, repo: &str, comment: u64) -> Happened {
        told(self.try_deletes(actor, repo, CommentKind::Line, comment))
    }

    /// Submits a review with inline comments. The first that it returns is the review, the others
    /// are its comments.
    #[track_caller]
    pub fn reviews(
        &self,
        actor: &str,
        repo: &str,
        change: u64,
        (verdict, body): (Verdict, &str),
        comments: &[(Anchor, &str)],
    ) -> Vec<Happened> {
        told(self.act_at_length(actor, repo, |model, repo, act| {
            let review = put_review(model, repo, change, (Some(verdict), body), comments, act)?;
            submitted(model, &review)
        }))
    }

    /// Begins a review and leaves it pending: its author alone sees it.
    #[track_caller]
    pub fn starts_review(
        &self,
        actor: &str,
        repo: &str,
        change: u64,
        body: &str,
        comments: &[(Anchor, &str)],
    ) -> FakeReview {
        let model = &mut *self.shared.model();
        let by = told(model.account(actor)).clone();
        let repo = told(model.repo_named(repo)).id;
        let act = Act { by: &by, now: self.shared.clock.now() };
        told(put_review(model, repo, change, (None, body), comments, act))
    }

    /// Keeps a draft: its author alone sees it.
    #[track_caller]
    pub fn drafts(
        &self,
        actor: &str,
        repo: &str,
        change: u64,
        anchor: Option<Anchor>,
        body: &str,
    ) -> FakeDraft {
        let model = &mut *self.shared.model();
        let by = told(model.account(actor)).clone();
        let repo = told(model.repo_named(repo)).id;
        let (id, commit) = told(head_of(model, repo, change));
        let target = match anchor {
            Some(anchor) => DraftTarget::Anchor { anchor, commit },
            None => DraftTarget::Conversation,
        };
        let act = Act { by: &by, now: self.shared.clock.now() };
        told(model.add_draft(id, body, target, act))
    }
}

impl FakeForge {
    /// Publishes all drafts of one's own, each as a comment.
    #[track_caller]
    pub fn publishes_drafts(&self, actor: &str, repo: &str, change: u64) -> Vec<Happened> {
        told(self.act_at_length(actor, repo, |model, repo, act| {
            let (id, _) = head_of(model, repo, change)?;
            let published = model.publish_drafts(id, act)?;
            let on = model.subject(id)?.clone();
            let what = |comment| {
                let thread = thread_of(model, &comment);
                What::Commented { on: on.clone(), comment, thread }
            };
            Ok(published.into_iter().map(what).collect())
        }))
    }

    /// Throws a draft of one's own away.
    #[track_caller]
    pub fn discards_draft(&self, actor: &str, draft: u64) {
        let model = &mut *self.shared.model();
        let by = told(model.account(actor)).clone();
        told(model.delete_draft(draft, &by));
    }
}

/// Tells that a thread was resolved, or not any more.
pub(crate) fn settled(model: &Model, thread: FakeThread) -> Result<What, Refusal> {
    let comments = model.thread_comments(&thread).into_iter().cloned().collect();
    Ok(What::ThreadSettled { on: model.subject(thread.subject)?.clone(), thread, comments })
}

/// Tells a submitted review, then each of its comments.
pub(crate) fn submitted(model: &Model, review: &FakeReview) -> Result<Vec<What>, Refusal> {
    let on = model.subject(review.subject)?;
    let mut all = vec![What::ReviewSubmitted { on: on.clone(), review: review.clone() }];
    all.extend(model.review_comments(review.id).into_iter().map(|comment| {
        let thread = thread_of(model, &comment);
        What::Commented { on: on.clone(), comment, thread }
    }));
    Ok(all)
}

fn put_review(
    model: &mut Model,
    repo: u64,
    change: u64,
    (verdict, body): (Option<Verdict>, &str),
    comments: &[(Anchor, &str)],
    act: Act<'_>,
) -> Result<FakeReview, Refusal> {
    let (id, commit) = head_of(model, repo, change)?;
    let inline = |(anchor, body): &(Anchor, &str)| Inline {
        anchor: anchor.clone(),
        body: (*body).to_owned(),
    };
    let comments = comments.iter().map(inline).collect();
    let new = NewReview { commit, body: body.to_owned(), verdict, comments };
    model.review_at_once(id, &new, act)
}

fn head_of(model: &Model, repo: u64, change: u64) -> Result<(u64, String), Refusal> {
    let (subject, change) = model.change(model.find(repo, Which::Change(change))?.id)?;
    Ok((subject.id, change.head.clone()))
}
