//! Inline comments by themselves: listing, writing one, replying.
//!
//! As on GitHub, a comment that comes alone comes with a review of its own, which is submitted at
//! once; whoever has a pending review can write none.

use http::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use super::call::{Call, Query, missing, read};
use super::issue::Body;
use super::{invalid, not_found, refusal, refuse, unprocessable};
use crate::forge::{
    Access, Anchor, Answer, CommentKind, FakeComment, Inline, Lines, Misplaced, NewReview, Refusal,
    Side, Spot, Verdict, submitted,
};

const RESOURCE: &str = "PullRequestReviewComment";
const ONE_PENDING: &str = "user_id can only have one pending review per pull request";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewInline {
    body: String,
    commit_id: String,
    path: String,
    line: Option<u64>,
    side: Option<Word>,
    start_line: Option<u64>,
    start_side: Option<Word>,
    subject_type: Option<SubjectType>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Word {
    Left,
    Right,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum SubjectType {
    Line,
    File,
}

impl Call<'_> {
    pub(super) fn inline_comments(&mut self, number: u64) -> Result<Answer, Answer> {
        let query = Query::read(
            self.asked,
            &[("since", &[]), ("sort", &["created", "updated"]), ("direction", &["asc", "desc"])],
        )?;
        let (change, kind) = (self.change(number)?.id, CommentKind::Line);
        let listed = self.model.listing(change, kind, &self.bearer.account, self.now);
        let mut listed = listed.map_err(missing)?;
        if query.page == 1 {
            self.model.count_listing(change, kind);
        }
        listed.retain(|comment| query.since.is_none_or(|since| comment.updated_at >= since));
        if query.filter("sort") == Some("updated") {
            listed.sort_by_key(|comment| comment.updated_at);
        }
        if query.filter("direction") == Some("desc") {
            listed.reverse();
        }
        let all: Vec<Value> =
            listed.iter().map(|comment| self.shown(comment)).collect::<Result<_, _>>()?;
        Ok(self.page(&query, &format!("/pulls/{number}/comments"), &all))
    }

    pub(super) fn create_inline(&mut self, number: u64) -> Result<Answer, Answer> {
        self.need("pull_requests", Access::Write)?;
        let new: NewInline = read(self.asked)?;
        let lines = match (new.subject_type, new.line) {
            (Some(SubjectType::File), None) => None,
            (Some(SubjectType::File), Some(_)) => {
                let why = "a comment on a file has no line";
                return Err(unprocessable(why).violating(why));
            }
            (_, Some(line)) => Some(lines(line, new.side, new.start_line, new.start_side)),
            (_, None) => {
                let refused = invalid(RESOURCE, "missing_field", "line", "line is missing");
                return Err(refused.violating("a comment on a line has no line"));
            }
        };
        let inline = Inline { anchor: Anchor { path: new.path, lines }, body: new.body };
        let id = self.change(number)?.id;
        let anchored = self.model.check_anchor(id, &new.commit_id, &inline.anchor);
        anchored.map_err(|why| misplaced_alone(&why))?;
        self.alone(number, new.commit_id, inline)
    }

    pub(super) fn create_reply(&mut self, number: u64, first: u64) -> Result<Answer, Answer> {
        self.need("pull_requests", Access::Write)?;
        let Body { body } = read(self.asked)?;
        let change = self.change(number)?.id;
        let root = self.model.comment(self.repo, CommentKind::Line, first).map_err(missing)?;
        let Spot::Inline { thread, reply_to, .. } = root.place else { return Err(not_found()) };
        if root.subject != change || !self.model.is_visible(root, &self.bearer.account) {
            return Err(not_found());
        }
        // A reply whose first comment was deleted is the first one now.
        let head = self.model.thread(thread).map_err(missing)?.comments.first().copied();
        if reply_to.is_some() && head != Some(first) {
            let why = "Replies to replies are not supported";
            return Err(unprocessable(why).violating("the comment is not the first of its thread"));
        }
        if self.model.pending_review(change, &self.bearer.account).is_some() {
            return Err(invalid(RESOURCE, "custom", "user_id", ONE_PENDING));
        }
        let commit = self.model.thread(thread).map_err(missing)?.commit.clone();
        let act = self.act();
        let wrong = |why: Refusal| refusal(RESOURCE, &why);
        let review = self.model.start_review(change, &commit, "", act).map_err(wrong)?.id;
        let replied = self.model.reply(thread, &body, Some(review), act);
        if replied.is_err() {
            // Nothing stays of a reply that is refused.
            self.model.delete_review(review, act.by).map_err(wrong)?;
        }
        let comment = replied.map_err(wrong)?;
        self.submitted_alone(review, &comment)
    }

    /// Writes one comment with a review of its own.
    fn alone(&mut self, number: u64, commit: String, inline: Inline) -> Result<Answer, Answer> {
        let change = self.change(number)?.id;
        if self.model.pending_review(change, &self.bearer.account).is_some() {
            return Err(invalid(RESOURCE, "custom", "user_id", ONE_PENDING));
        }
        let new = NewReview { commit, body: String::new(), verdict: None, comments: vec![inline] };
        let act = self.act();
        let review = self.model.review_at_once(change, &new, act);
        let review = review.map_err(|why| refusal(RESOURCE, &why))?.id;
        match self.model.review_comments(review).first() {
            Some(comment) => self.submitted_alone(review, comment),
            None => Err(refuse(500, "Server Error")),
        }
    }

    fn submitted_alone(&mut self, review: u64, comment: &FakeComment) -> Result<Answer, Answer> {
        let act = self.act();
        let review = self.model.submit_review(review, Verdict::Comment, None, act);
        let review = review.map_err(|why| refusal(RESOURCE, &why))?;
        let answer = Answer::new(StatusCode::CREATED, self.shown(comment)?);
        self.tell(answer, submitted(self.model, &review).map_err(missing)?)
    }
}

/// Reads the lines of a comment: the side is the new one unless it is said, and a range begins on
/// the side on which it ends.
pub(super) fn lines(
    line: u64,
    side: Option<Word>,
    start: Option<u64>,
    start_side: Option<Word>,
) -> Lines {
    let side = side.map_or(Side::New, Side::from);
    let start = start.map(|start| (start_side.map_or(side, Side::from), start));
    Lines { start, side, line }
}

impl From<Word> for Side {
    fn from(word: Word) -> Self {
        match word {
            Word::Left => Self::Old,
            Word::Right => Self::New,
        }
    }
}

/// A comment by itself is refused in other words than one in a review.
fn misplaced_alone(why: &Refusal) -> Answer {
    let field = match why {
        Refusal::Misplaced(Misplaced::Path) => "pull_request_review_thread.path",
        Refusal::Misplaced(Misplaced::Line) => "pull_request_review_thread.line",
        Refusal::Misplaced(_) => "pull_request_review_thread.start_line",
        Refusal::Missing(what) if what.starts_with("commit") => "commit_id",
        why => return refusal(RESOURCE, why),
    };
    let message = match why {
        Refusal::Misplaced(Misplaced::Path) => format!("{field} is missing from the diff"),
        Refusal::Misplaced(Misplaced::Line) => format!("{field} must be part of the diff"),
        Refusal::Misplaced(Misplaced::Hunk) => {
            format!("{field} must be part of the same hunk as the line.")
        }
        Refusal::Misplaced(Misplaced::Order) => format!("{field} must precede the end line."),
        _ => format!("{field} is not part of the pull request"),
    };
    invalid(RESOURCE, "custom", field, &message)
}
