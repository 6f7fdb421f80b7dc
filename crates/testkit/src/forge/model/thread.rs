//! Inline threads: where they stand, replies, resolving, and what a push does to them.

use std::sync::Arc;

use super::{Account, Act, Anchors, LoneComments, Model, Refusal, take};
use crate::forge::diff::FakeDiff;
use crate::forge::object::{
    Anchor, CommentKind, FakeComment, FakeSubject, FakeThread, Inline, ReviewState, Spot, Version,
};

impl Model {
    /// Checks that a comment on that commit of the change may stand there.
    pub(crate) fn check_anchor(
        &self,
        subject: u64,
        commit: &str,
        anchor: &Anchor,
    ) -> Result<(), Refusal> {
        let version = self.version(subject, commit)?;
        match self.habits.anchors {
            Anchors::Checked => Ok(version.diff.check(anchor)?),
            Anchors::Unchecked => Ok(()),
        }
    }

    /// Begins a thread on a commit that the change has or had. Within a review that is pending, its
    /// author alone sees it.
    pub(crate) fn open_thread(
        &mut self,
        subject: u64,
        commit: &str,
        inline: &Inline,
        review: Option<u64>,
        act: Act<'_>,
    ) -> Result<(FakeThread, FakeComment), Refusal> {
        self.check_anchor(subject, commit, &inline.anchor)?;
        let review = match (review, self.habits.lone_comments) {
            (None, LoneComments::Reviewed) => Some(self.review_of_its_own(subject, commit, act)?),
            (review, _) => review,
        };
        let id = take(&mut self.next.thread);
        let place = Spot::Inline { thread: id, reply_to: None, review };
        let comment = self.insert_comment(subject, place, &inline.body, act)?;
        let (change, _) = self.change(subject)?;
        let thread = FakeThread {
            id,
            repo: change.repo,
            subject,
            number: change.number,
            anchor: inline.anchor.clone(),
            original: inline.anchor.clone(),
            commit: commit.to_owned(),
            comments: vec![comment.id],
            resolved_by: None,
            outdated: false,
        };
        let change = change.clone();
        self.threads.insert(id, thread);
        self.follow_threads(&change);
        Ok((self.thread(id)?.clone(), comment))
    }

    /// Adds a comment to a thread.
    pub(crate) fn reply(
        &mut self,
        thread: u64,
        body: &str,
        review: Option<u64>,
        act: Act<'_>,
    ) -> Result<FakeComment, Refusal> {
        let found = self.thread(thread)?;
        let (subject, first) = (found.subject, self.thread_comments(found).first().copied());
        let review = match (review, self.habits.lone_comments) {
            (None, LoneComments::Reviewed) => first.and_then(FakeComment::review),
            (review, _) => review,
        };
        let place = Spot::Inline { thread, reply_to: first.map(|first| first.id), review };
        let comment = self.insert_comment(subject, place, body, act)?;
        if let Some(thread) = self.threads.get_mut(&thread) {
            thread.comments.push(comment.id);
        }
        Ok(comment)
    }

    /// Resolves a thread. The change's author may, and whoever may write.
    pub(crate) fn resolve(&mut self, thread: u64, by: &Account) -> Result<FakeThread, Refusal> {
        self.settle_thread(thread, by, Some(by.clone()))
    }

    pub(crate) fn unresolve(&mut self, thread: u64, by: &Account) -> Result<FakeThread, Refusal> {
        self.settle_thread(thread, by, None)
    }

    pub(crate) fn thread(&self, id: u64) -> Result<&FakeThread, Refusal> {
        self.threads.get(&id).ok_or_else(|| Refusal::Missing(format!("thread {id}")))
    }

    /// Returns the thread's comments, the first one first.
    pub(crate) fn thread_comments(&self, thread: &FakeThread) -> Vec<&FakeComment> {
        let kind = CommentKind::Line;
        thread.comments.iter().filter_map(|id| self.comments.get(&(kind, *id))).collect()
    }

    /// Returns all threads of a change, oldest first.
    pub(crate) fn threads(&self, subject: u64) -> Vec<&FakeThread> {
        self.threads.values().filter(|thread| thread.subject == subject).collect()
    }

    /// Returns the diff of the change at a commit that it has or had.
    pub(crate) fn diff_at(&self, subject: u64, commit: &str) -> Arc<FakeDiff> {
        self.version(subject, commit).map(|version| Arc::clone(&version.diff)).unwrap_or_default()
    }

    /// Moves the threads of a change to where their lines stand in its newest version.
    pub(super) fn follow_threads(&mut self, subject: &FakeSubject) {
        let Some(change) = &subject.change else { return };
        for thread in self.threads.values_mut().filter(|thread| thread.subject == subject.id) {
            let at = change.versions.iter().position(|version| version.head == thread.commit);
            let mut versions = change.versions.iter().skip(at.unwrap_or_default());
            let Some(mut before) = versions.next() else { continue };
            (thread.anchor, thread.outdated) = (thread.original.clone(), false);
            for version in versions {
                match version.diff.follow(&before.diff, &thread.anchor) {
                    Some(anchor) => thread.anchor = anchor,
                    None => {
                        thread.outdated = true;
                        break;
                    }
                }
                before = version;
            }
        }
    }

    /// Takes a comment out of its thread, and the thread away with its last one.
    pub(super) fn leave_thread(&mut self, thread: u64, comment: u64) {
        let Some(found) = self.threads.get_mut(&thread) else { return };
        found.comments.retain(|id| *id != comment);
        if found.comments.is_empty() {
            self.threads.remove(&thread);
        }
    }

    fn settle_thread(
        &mut self,
        thread: u64,
        by: &Account,
        resolved_by: Option<Account>,
    ) -> Result<FakeThread, Refusal> {
        let FakeThread { repo, subject, comments, .. } = self.thread(thread)?;
        let first = comments.first().and_then(|id| self.comments.get(&(CommentKind::Line, *id)));
        let review = first.and_then(FakeComment::review).and_then(|id| self.reviews.get(&id));
        if review.is_some_and(|review| review.state == ReviewState::Pending) {
            return Err(Refusal::Impossible("a thread that is not submitted cannot be resolved"));
        }
        if self.subject(*subject)?.author.id != by.id {
            self.require_write(*repo, by, "resolve threads")?;
        }
        match self.threads.get_mut(&thread) {
            Some(thread) => {
                thread.resolved_by = resolved_by;
                Ok(thread.clone())
            }
            None => Err(Refusal::Missing(format!("thread {thread}"))),
        }
    }

    fn version(&self, subject: u64, commit: &str) -> Result<&Version, Refusal> {
        let (_, change) = self.change(subject)?;
        let found = change.versions.iter().rev().find(|version| version.head == commit);
        found.ok_or_else(|| Refusal::Missing(format!("commit {commit} in the change")))
    }
}
