//! Comments of issues and changes, and the discussions that those of changes stand in.

use domain::SubjectKind;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Call, Family, Query, read};
use super::issue::DIRECTIONS;
use super::{not_found, refusal, refuse, shape};
use crate::forge::{
    Anchor, Answer, CommentKind, FakeComment, FakeThread, Inline, Refusal, Spot, What, Which,
    settled, thread_of,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Remark {
    body: String,
    path: Option<String>,
    position: Option<u64>,
    line: Option<u64>,
    new_line: Option<u64>,
    #[serde(rename = "commit_id")]
    _commit: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resolution {
    resolved: bool,
}

/// What a discussion's name means.
enum Discussion {
    Inline(u64),
    /// One of the conversation, by its first comment.
    Talk(u64),
}

impl Call<'_> {
    pub(super) fn issue_comments(&mut self, number: u64) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[])?;
        let issue = self.subject(Which::Issue(number))?.clone();
        let listed = self.listing(&query, issue.id, CommentKind::Conversation)?;
        let all: Vec<Value> =
            listed.iter().map(|comment| shape::issue_comment(self.url, comment, &issue)).collect();
        Ok(query.page(&all))
    }

    pub(super) fn create_on_issue(&mut self, number: u64) -> Result<Answer, Answer> {
        let Body { body } = read(self.asked)?;
        let on = self.subject(Which::Issue(number))?.clone();
        let act = self.act();
        let added = self.model.add_comment(on.id, Spot::Conversation, &body, act);
        let comment = added.map_err(refusal)?;
        let shown = shape::issue_comment(self.url, &comment, &on);
        let on = self.subject(Which::Issue(number))?.clone();
        let answer = Answer::new(StatusCode::CREATED, shown);
        self.tell(answer, [What::Commented { on, comment, thread: None }])
    }

    pub(super) fn change_comments(&mut self, number: u64) -> Result<Answer, Answer> {
        let kinds = ["diff_comment", "pr_comment"];
        let filters: [(&str, &[&str]); 2] = [("comment_type", &kinds), ("direction", &DIRECTIONS)];
        let query = Query::read(self.asked, &filters)?;
        let change = self.subject(Which::Change(number))?.id;
        let mut all = Vec::new();
        if query.filter("comment_type") != Some("diff_comment") {
            let talk = self.listing(&query, change, CommentKind::Conversation)?;
            let roots = talk.iter().filter(|comment| comment.place == Spot::Conversation);
            for root in roots {
                let under = |reply: &&FakeComment| reply.place == Spot::Under(root.id);
                let replies: Vec<_> = talk.iter().filter(under).collect();
                all.push((root.id, shape::listed_comment(self.url, root, None, &replies)));
            }
        }
        if query.filter("comment_type") != Some("pr_comment") {
            let inline = self.listing(&query, change, CommentKind::Line)?;
            for thread in self.model.threads(change) {
                let of = |comment: &&FakeComment| comment.thread() == Some(thread.id);
                let mut comments = inline.iter().filter(of);
                let Some(root) = comments.next() else { continue };
                let replies: Vec<_> = comments.collect();
                let shown = shape::listed_comment(self.url, root, Some(thread), &replies);
                all.push((root.id, shown));
            }
        }
        all.sort_by_key(|(id, _)| *id);
        let mut all: Vec<Value> = all.into_iter().map(|(_, comment)| comment).collect();
        // Newest first, unless it is asked for otherwise.
        if query.filter("direction") != Some("asc") {
            all.reverse();
        }
        Ok(query.page(&all))
    }

    /// Creates a comment of a change. It stands on a line if the line is part of the diff, else in
    /// the conversation, without a word about it.
    pub(super) fn create_on_change(&mut self, number: u64) -> Result<Answer, Answer> {
        let remark: Remark = read(self.asked)?;
        let lines: Vec<u64> =
            [remark.position, remark.line, remark.new_line].into_iter().flatten().collect();
        if lines.windows(2).any(|pair| pair[0] != pair[1]) {
            let why = "position, line and new_line differ";
            return Err(refuse(400, why).violating(why));
        }
        let on = self.subject(Which::Change(number))?.clone();
        let head = on.change.as_ref().map(|change| change.head.clone()).unwrap_or_default();
        let act = self.act();
        let anchor = remark.path.zip(remark.position);
        let anchor = anchor.map(|(path, line)| Anchor::new_line(&path, line));
        let fits = |anchor: &Anchor| self.model.check_anchor(on.id, &head, anchor).is_ok();
        let (comment, thread) = match anchor.filter(fits) {
            Some(anchor) => {
                let inline = Inline { anchor, body: remark.body };
                let opened = self.model.open_thread(on.id, &head, &inline, None, act);
                let (thread, comment) = opened.map_err(refusal)?;
                (comment, Some(thread))
            }
            None => {
                let place = Spot::Conversation;
                let added = self.model.add_comment(on.id, place, &remark.body, act);
                (added.map_err(refusal)?, None)
            }
        };
        self.created(number, comment, thread)
    }

    pub(super) fn reply(&mut self, number: u64, discussion: &str) -> Result<Answer, Answer> {
        let Body { body } = read(self.asked)?;
        let change = self.subject(Which::Change(number))?.id;
        let act = self.act();
        let comment = match self.discussion(change, discussion)? {
            Discussion::Inline(thread) => self.model.reply(thread, &body, None, act),
            Discussion::Talk(first) => {
                self.model.add_comment(change, Spot::Under(first), &body, act)
            }
        };
        let comment = comment.map_err(refusal)?;
        let thread = thread_of(self.model, &comment);
        self.created(number, comment, thread)
    }

    pub(super) fn settle(&mut self, number: u64, discussion: &str) -> Result<Answer, Answer> {
        let Resolution { resolved } = read(self.asked)?;
        let change = self.subject(Which::Change(number))?.id;
        let Discussion::Inline(thread) = self.discussion(change, discussion)? else {
            return Err(refuse(400, "the discussion cannot be resolved"));
        };
        let by = &self.bearer.account;
        let thread = match resolved {
            true => self.model.resolve(thread, by),
            false => self.model.unresolve(thread, by),
        };
        let what = settled(self.model, thread.map_err(refusal)?).map_err(refusal)?;
        self.tell(Answer::new(StatusCode::OK, json!({})), [what])
    }

    pub(super) fn comment(&self, family: Family, id: u64) -> Result<Answer, Answer> {
        let comment = self.found(family, id)?;
        Ok(Answer::new(StatusCode::OK, self.alone(&comment)?))
    }

    pub(super) fn edit(&mut self, family: Family, id: u64) -> Result<Answer, Answer> {
        let Body { body } = read(self.asked)?;
        let found = self.found(family, id)?;
        let act = self.act();
        let edited = self.model.edit(self.repo, found.kind(), id, &body, act);
        let (comment, before) = edited.map_err(refusal)?;
        let answer = Answer::new(StatusCode::OK, self.alone(&comment)?);
        let on = self.model.subject(comment.subject).map_err(refusal)?.clone();
        let thread = thread_of(self.model, &comment);
        self.tell(answer, [What::CommentEdited { on, comment, thread, before }])
    }

    pub(super) fn delete(&mut self, family: Family, id: u64) -> Result<Answer, Answer> {
        let found = self.found(family, id)?;
        let thread = thread_of(self.model, &found);
        let deleted = self.model.delete(self.repo, found.kind(), id, &self.bearer.account);
        let comment = deleted.map_err(refusal)?;
        let on = self.model.subject(comment.subject).map_err(refusal)?.clone();
        let answer = Answer::new(StatusCode::NO_CONTENT, Value::Null);
        self.tell(answer, [What::CommentDeleted { on, comment, thread }])
    }

    /// The answer to a new comment of a change: its `id` is the discussion's.
    fn created(
        &self,
        number: u64,
        comment: FakeComment,
        thread: Option<FakeThread>,
    ) -> Result<Answer, Answer> {
        let shown = json!({
            "id": shape::discussion(&comment),
            "note_id": comment.id,
            "body": comment.body,
        });
        let on = self.subject(Which::Change(number))?.clone();
        let answer = Answer::new(StatusCode::CREATED, shown);
        self.tell(answer, [What::Commented { on, comment, thread }])
    }

    fn alone(&self, comment: &FakeComment) -> Result<Value, Answer> {
        let on = self.model.subject(comment.subject).map_err(refusal)?;
        Ok(match on.kind() {
            SubjectKind::Issue => shape::issue_comment(self.url, comment, on),
            _ => {
                let thread = thread_of(self.model, comment);
                shape::lone_comment(self.url, comment, thread.as_ref(), on)
            }
        })
    }

    /// Finds a comment of the family: issues' comments are not found among the changes'.
    fn found(&self, family: Family, id: u64) -> Result<FakeComment, Answer> {
        let of = |kind| self.model.comment(self.repo, kind, id);
        let comment = of(CommentKind::Conversation).or_else(|_| of(CommentKind::Line));
        let comment = comment.map_err(refusal)?;
        let on = self.model.subject(comment.subject).map_err(refusal)?.kind();
        let expected = match family {
            Family::Issues => SubjectKind::Issue,
            Family::Pulls => SubjectKind::Change,
        };
        match on == expected {
            true => Ok(comment.clone()),
            false => Err(not_found()),
        }
    }

    fn discussion(&self, change: u64, name: &str) -> Result<Discussion, Answer> {
        let said = self.model.said(change);
        let root = said.iter().find(|comment| shape::discussion(comment) == name);
        let root = root.ok_or_else(|| refusal(Refusal::Missing(format!("discussion {name}"))))?;
        Ok(match root.place {
            Spot::Inline { thread, .. } => Discussion::Inline(thread),
            Spot::Conversation => Discussion::Talk(root.id),
            Spot::Under(first) => Discussion::Talk(first),
        })
    }

    fn listing(
        &mut self,
        query: &Query,
        subject: u64,
        kind: CommentKind,
    ) -> Result<Vec<FakeComment>, Answer> {
        let viewer = &self.bearer.account;
        let listed = self.model.listing(subject, kind, viewer, self.now).map_err(refusal)?;
        if query.page == 1 {
            self.model.count_listing(subject, kind);
        }
        Ok(listed)
    }
}
