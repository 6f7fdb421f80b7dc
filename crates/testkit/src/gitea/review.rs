//! Reviews and inline comments, as little atomic as Gitea's.
//!
//! Comments go one by one into the account's only pending review, which is then submitted with
//! everything in it. Where a comment fails, those before it stay there.

use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::call::{Call, Linked, Query, missing, read};
use super::endpoint::Settling;
use super::{not_found, refusal, refuse};
use crate::forge::{
    Anchor, Answer, FakeReview, FakeThread, Inline, Lines, ReviewState, Side, Verdict, What,
    settled,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Review {
    event: Event,
    #[serde(default)]
    body: String,
    commit_id: Option<String>,
    #[serde(default)]
    comments: Vec<Comment>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Comment {
    path: String,
    body: String,
    #[serde(default)]
    new_position: u64,
    #[serde(default)]
    old_position: u64,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Event {
    Approved,
    RequestChanges,
    Comment,
    Pending,
}

impl Call<'_> {
    /// Lists reviews. Those of others that are not submitted are hidden, but counted.
    pub(super) fn reviews(&mut self, number: u64) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[])?;
        let change = self.change(number)?.id;
        let counted = self.model.reviews(change).len();
        let view = self.view()?;
        let listed = self.model.review_listing(change, &self.bearer.account, self.now);
        let shown =
            |review: &FakeReview| view.review(review, self.model.review_comments(review.id).len());
        let all: Vec<Value> = listed.into_iter().map(shown).collect();
        let answer = self.page(&query, all, counted, Linked::No);
        if query.page == 1 {
            self.model.count_review_listing(change);
        }
        Ok(answer)
    }

    pub(super) fn create_review(&mut self, number: u64) -> Result<Answer, Answer> {
        self.need_write("repository")?;
        let new: Review = read(self.asked)?;
        let change = self.change(number)?.id;
        let Some(commit) = new.commit_id else {
            // Gitea would take the newest head, which may be another one than was reviewed.
            let why = "a review names the commit that was reviewed";
            return Err(refuse(422, why).violating(why));
        };
        let verdict = verdict(new.event);
        if verdict == Some(Verdict::Comment)
            && new.body.trim().is_empty()
            && new.comments.is_empty()
        {
            let why = "review event COMMENT requires a body or a comment";
            return Err(refuse(422, why).violating(why));
        }
        let act = self.act();
        for comment in new.comments {
            let review = match self.model.pending_review(change, act.by) {
                Some(review) => review.id,
                None => {
                    let begun = self.model.start_review(change, &commit, "", act);
                    begun.map_err(|why| refusal(&why))?.id
                }
            };
            self.model.step().map_err(|why| refusal(&why))?;
            self.put(change, &commit, comment, review)?;
        }
        let pending = self.model.pending_review(change, act.by).map(|review| review.id);
        let id = match pending {
            Some(id) => id,
            None => {
                let begun = self.model.start_review(change, &commit, "", act);
                begun.map_err(|why| refusal(&why))?.id
            }
        };
        let Some(verdict) = verdict else { return self.read_review(number, id) };
        let submitted = self.model.submit_review(id, verdict, Some(&new.body), act);
        let review = submitted.map_err(|why| refusal(&why))?;
        let answer = self.read_review(number, id)?;
        let on = self.change(number)?.clone();
        self.tell(answer, [What::ReviewSubmitted { on, review }])
    }

    pub(super) fn read_review(&self, number: u64, id: u64) -> Result<Answer, Answer> {
        let review = self.visible_review(number, id)?;
        let count = self.model.review_comments(id).len();
        Ok(Answer::new(StatusCode::OK, self.view()?.review(review, count)))
    }

    pub(super) fn delete_review(&mut self, number: u64, id: u64) -> Result<Answer, Answer> {
        self.need_write("repository")?;
        if self.visible_review(number, id)?.author.id != self.bearer.account.id {
            return Err(refuse(403, ""));
        }
        let deleted = self.model.delete_review(id, &self.bearer.account);
        deleted.map_err(|why| refusal(&why))?;
        Ok(Answer::new(StatusCode::NO_CONTENT, Value::Null))
    }

    /// Lists the comments of a review: all at once, and in no order of time.
    pub(super) fn review_comments(&self, number: u64, id: u64) -> Result<Answer, Answer> {
        if let Some((name, _)) = self.asked.query().first() {
            let why = format!("the query {name} means nothing here");
            return Err(refuse(422, &why).violating(why));
        }
        self.visible_review(number, id)?;
        let view = self.view()?;
        let all = self.model.review_comments(id).into_iter().rev();
        let shown = all.filter_map(|comment| {
            let thread = self.model.thread(comment.thread()?).ok()?;
            Some(view.review_comment(&comment, thread))
        });
        Ok(Answer::new(StatusCode::OK, shown.collect()))
    }

    pub(super) fn settle(&mut self, comment: u64, settling: Settling) -> Result<Answer, Answer> {
        self.need_write("repository")?;
        let comment = self.model.inline_comment(comment).map_err(missing)?;
        let Some(thread) = comment.thread().filter(|_| comment.repo == self.repo) else {
            return Err(not_found());
        };
        let first = self.model.thread(thread).map_err(missing)?.comments.first().copied();
        if first != Some(comment.id) {
            // Gitea would mark this comment, and nobody would see it.
            let why = "the comment is not the first of its conversation";
            return Err(refuse(400, why).violating(why));
        }
        let by = &self.bearer.account;
        let result = match settling {
            Settling::Resolve => self.model.resolve(thread, by),
            Settling::Unresolve => self.model.unresolve(thread, by),
        };
        result.map_err(|why| refusal(&why))?;
        let thread: FakeThread = self.model.thread(thread).map_err(missing)?.clone();
        let what = settled(self.model, thread).map_err(missing)?;
        self.tell(Answer::new(StatusCode::NO_CONTENT, Value::Null), [what])
    }

    /// Puts a comment on its line. Those on one line of one commit are one conversation.
    fn put(
        &mut self,
        change: u64,
        commit: &str,
        comment: Comment,
        review: u64,
    ) -> Result<(), Answer> {
        // The old side wins where both are given.
        let (side, line) = match comment.old_position {
            0 => (Side::New, comment.new_position),
            old => (Side::Old, old),
        };
        if line == 0 {
            let why = "an inline comment has no line";
            return Err(refuse(422, why).violating(why));
        }
        let anchor = Anchor { path: comment.path, lines: Some(Lines { start: None, side, line }) };
        let same = |thread: &&&FakeThread| thread.original == anchor && thread.commit == commit;
        let stands = self.model.threads(change).iter().find(same).map(|thread| thread.id);
        let act = self.act();
        let put = match stands {
            Some(thread) => self.model.reply(thread, &comment.body, Some(review), act).map(drop),
            None => {
                let inline = Inline { anchor, body: comment.body };
                self.model.open_thread(change, commit, &inline, Some(review), act).map(drop)
            }
        };
        // A commit that git does not find is an error like any other here.
        put.map_err(|_| refuse(500, ""))
    }

    fn visible_review(&self, number: u64, id: u64) -> Result<&FakeReview, Answer> {
        let change = self.change(number)?.id;
        let review = self.model.review(id).map_err(missing)?;
        let own = review.author.id == self.bearer.account.id;
        let visible = review.state != ReviewState::Pending || own;
        if review.subject == change && visible { Ok(review) } else { Err(not_found()) }
    }
}

fn verdict(event: Event) -> Option<Verdict> {
    match event {
        Event::Approved => Some(Verdict::Approve),
        Event::RequestChanges => Some(Verdict::RequestChanges),
        Event::Comment => Some(Verdict::Comment),
        Event::Pending => None,
    }
}
