//! Comments of both kinds: writing, editing, deleting, reacting, listing.

use domain::Time;

use super::{Account, Act, CommentIds, Entry, Model, Refusal, take};
use crate::forge::object::{CommentKind, FakeComment, Reaction, ReviewState, Spot};

/// Whether a reaction is a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reacted {
    Now,
    Before,
}

/// What a reaction is put on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// An issue or change, by its row.
    Subject(u64),
    Comment(CommentKind, u64),
}

impl Model {
    /// Adds a comment to the conversation, by itself or under another one.
    pub(crate) fn add_comment(
        &mut self,
        subject: u64,
        place: Spot,
        body: &str,
        act: Act<'_>,
    ) -> Result<FakeComment, Refusal> {
        if let Spot::Under(first) = place {
            let repo = self.subject(subject)?.repo;
            let first = self.comment(repo, CommentKind::Conversation, first)?;
            if first.subject != subject || first.place != Spot::Conversation {
                return Err(Refusal::Missing(format!("discussion {}", first.id)));
            }
        }
        self.insert_comment(subject, place, body, act)
    }

    /// Adds a comment at a spot that was checked.
    pub(super) fn insert_comment(
        &mut self,
        subject: u64,
        place: Spot,
        body: &str,
        act: Act<'_>,
    ) -> Result<FakeComment, Refusal> {
        self.check_body(body)?;
        let listed = self.listed(act.now);
        let in_line = matches!(place, Spot::Inline { .. });
        let on = self.subject_mut(subject)?;
        on.updated_at = act.now;
        on.comments += u64::from(!in_line);
        let (repo, number) = (on.repo, on.number);
        let id = if in_line && self.habits.comment_ids == CommentIds::Overlapping {
            take(&mut self.next.line)
        } else {
            take(&mut self.next.conversation)
        };
        let comment = FakeComment {
            id,
            repo,
            subject,
            number,
            place,
            author: act.by.clone(),
            body: body.to_owned(),
            created_at: act.now,
            updated_at: act.now,
            written_by: act.by.clone(),
            reactions: Vec::new(),
            listed,
        };
        let key = (comment.kind(), comment.id);
        self.timelines.entry(subject).or_default().push(Entry::Comment(key.0, key.1));
        self.comments.insert(key, comment.clone());
        Ok(comment)
    }

    pub(crate) fn comment(
        &self,
        repo: u64,
        kind: CommentKind,
        id: u64,
    ) -> Result<&FakeComment, Refusal> {
        let found = self.comments.get(&(kind, id)).filter(|comment| comment.repo == repo);
        found.ok_or_else(|| Refusal::Missing(format!("comment {id}")))
    }

    /// Returns the inline comment, in whichever repository.
    pub(crate) fn inline_comment(&self, id: u64) -> Result<&FakeComment, Refusal> {
        let found = self.comments.get(&(CommentKind::Line, id));
        found.ok_or_else(|| Refusal::Missing(format!("comment {id}")))
    }

    /// Replaces the text of a comment and returns it with the text that stood there before.
    pub(crate) fn edit(
        &mut self,
        repo: u64,
        kind: CommentKind,
        id: u64,
        body: &str,
        act: Act<'_>,
    ) -> Result<(FakeComment, String), Refusal> {
        self.check_body(body)?;
        self.may_change(repo, kind, id, act.by)?;
        let comment = self.comment_mut(repo, kind, id)?;
        let before = std::mem::replace(&mut comment.body, body.to_owned());
        comment.updated_at = act.now;
        comment.written_by = act.by.clone();
        Ok((comment.clone(), before))
    }

    /// Deletes a comment. A thread or discussion whose first comment goes keeps the rest, and goes
    /// with its last one.
    pub(crate) fn delete(
        &mut self,
        repo: u64,
        kind: CommentKind,
        id: u64,
        by: &Account,
    ) -> Result<FakeComment, Refusal> {
        self.may_change(repo, kind, id, by)?;
        self.remove_comment(kind, id)
    }

    pub(super) fn remove_comment(
        &mut self,
        kind: CommentKind,
        id: u64,
    ) -> Result<FakeComment, Refusal> {
        let removed = self.comments.remove(&(kind, id));
        let comment = removed.ok_or_else(|| Refusal::Missing(format!("comment {id}")))?;
        if let Some(timeline) = self.timelines.get_mut(&comment.subject) {
            timeline.retain(|entry| *entry != Entry::Comment(kind, id));
        }
        match comment.thread() {
            Some(thread) => self.leave_thread(thread, id),
            None => self.subject_mut(comment.subject)?.comments -= 1,
        }
        Ok(comment)
    }

    pub(crate) fn react(
        &mut self,
        repo: u64,
        target: Target,
        by: &Account,
        content: &str,
    ) -> Result<(Reaction, Reacted), Refusal> {
        let id = self.next.reaction;
        let reactions = match target {
            Target::Subject(subject) => &mut self.subject_mut(subject)?.reactions,
            Target::Comment(kind, id) => &mut self.comment_mut(repo, kind, id)?.reactions,
        };
        let same = |reaction: &&Reaction| reaction.by.id == by.id && reaction.content == content;
        if let Some(reaction) = reactions.iter().find(same) {
            return Ok((reaction.clone(), Reacted::Before));
        }
        let reaction = Reaction { id, by: by.clone(), content: content.to_owned() };
        reactions.push(reaction.clone());
        self.next.reaction += 1;
        Ok((reaction, Reacted::Now))
    }

    /// Returns what a listing of the subject's comments of a kind shows the viewer now, oldest first.
    pub(crate) fn listing(
        &self,
        subject: u64,
        kind: CommentKind,
        viewer: &Account,
        now: Time,
    ) -> Result<Vec<FakeComment>, Refusal> {
        self.subject(subject)?;
        let mut listed = self.said(subject);
        listed.retain(|comment| {
            comment.kind() == kind
                && comment.listed.is_listed(now)
                && self.is_visible(comment, viewer)
        });
        Ok(listed)
    }

    /// Counts one more listing of the subject for the comments of a kind that are still missing.
    pub(crate) fn count_listing(&mut self, subject: u64, kind: CommentKind) {
        for entry in self.timelines.get(&subject).into_iter().flatten() {
            if let Entry::Comment(of, id) = entry
                && *of == kind
                && let Some(comment) = self.comments.get_mut(&(*of, *id))
            {
                comment.listed.count();
            }
        }
    }

    /// Tells whether the viewer sees the comment: one that waits in a pending review is its
    /// author's alone.
    pub(crate) fn is_visible(&self, comment: &FakeComment, viewer: &Account) -> bool {
        let review = comment.review().and_then(|id| self.reviews.get(&id));
        review.is_none_or(|review| review.state != ReviewState::Pending)
            || comment.author.id == viewer.id
    }

    /// Returns all that was said on the subject, whatever a listing shows, oldest first.
    pub(crate) fn said(&self, subject: u64) -> Vec<FakeComment> {
        let timeline = self.timelines.get(&subject).into_iter().flatten();
        let said = timeline.filter_map(|entry| match entry {
            Entry::Comment(kind, id) => self.comments.get(&(*kind, *id)),
            Entry::Review(_) => None,
        });
        said.cloned().collect()
    }

    /// Returns the newest comment of the account.
    pub(crate) fn newest_of(&self, account: i64) -> Option<&FakeComment> {
        let own = self.comments.values().filter(|comment| comment.author.id == account);
        own.max_by_key(|comment| (comment.created_at, comment.kind(), comment.id))
    }

    fn comment_mut(
        &mut self,
        repo: u64,
        kind: CommentKind,
        id: u64,
    ) -> Result<&mut FakeComment, Refusal> {
        let found = self.comments.get_mut(&(kind, id)).filter(|comment| comment.repo == repo);
        found.ok_or_else(|| Refusal::Missing(format!("comment {id}")))
    }

    /// One's own comments, and everybody's for those who may write.
    fn may_change(
        &self,
        repo: u64,
        kind: CommentKind,
        id: u64,
        by: &Account,
    ) -> Result<(), Refusal> {
        let comment = self.comment(repo, kind, id)?;
        if comment.author.id == by.id {
            return Ok(());
        }
        self.require_write(repo, by, "change the comments of others")
    }
}
