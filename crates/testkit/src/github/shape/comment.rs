//! Comments of both kinds, reviews and reactions.

use serde_json::{Value, json};

use super::{View, account, association, time};
use crate::forge::{
    FakeComment, FakeDiff, FakeReview, FakeThread, Lines, Reaction, ReviewState, Side, Spot,
};

impl View<'_> {
    /// A comment of the conversation, or of the thread that is given: GitHub has two shapes.
    pub(in crate::github) fn comment(
        self,
        comment: &FakeComment,
        inline: Option<(&FakeThread, &FakeDiff)>,
    ) -> Value {
        match inline {
            None => self.issue_comment(comment),
            Some((thread, diff)) => self.line_comment(comment, thread, diff),
        }
    }

    pub(in crate::github) fn review(self, review: &FakeReview) -> Value {
        let html = self.page(&format!("/pull/{}#pullrequestreview-{}", review.number, review.id));
        let pull = self.api(&format!("/pulls/{}", review.number));
        let mut value = json!({
            "id": review.id,
            "node_id": format!("PRR_{}", review.id),
            "user": account(&review.author),
            "body": review.body,
            "state": review_state(review.state),
            "html_url": html,
            "pull_request_url": pull,
            "author_association": association(self.repo, &review.author),
            "commit_id": review.commit,
            "_links": {"html": {"href": html}, "pull_request": {"href": pull}},
        });
        if let Some(at) = review.submitted_at {
            value["submitted_at"] = json!(time(at));
        }
        value
    }

    pub(in crate::github) fn reaction(self, reaction: &Reaction) -> Value {
        json!({
            "id": reaction.id,
            "node_id": format!("REA_{}", reaction.id),
            "user": account(&reaction.by),
            "content": reaction.content,
            "created_at": "2026-01-01T00:00:00Z",
        })
    }

    pub(super) fn reactions(self, owner: &str, reactions: &[Reaction]) -> Value {
        let mut value =
            json!({"url": format!("{owner}/reactions"), "total_count": reactions.len()});
        for content in ["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"] {
            value[content] =
                json!(reactions.iter().filter(|reaction| reaction.content == content).count());
        }
        value
    }

    fn issue_comment(self, comment: &FakeComment) -> Value {
        let (id, number) = (comment.id, comment.number);
        let own = self.api(&format!("/issues/comments/{id}"));
        json!({
            "id": id,
            "node_id": format!("IC_{id}"),
            "url": own,
            "html_url": self.page(&format!("/issues/{number}#issuecomment-{id}")),
            "issue_url": self.api(&format!("/issues/{number}")),
            "user": account(&comment.author),
            "created_at": time(comment.created_at),
            "updated_at": time(comment.updated_at),
            "author_association": association(self.repo, &comment.author),
            "body": comment.body,
            "reactions": self.reactions(&own, &comment.reactions),
            "performed_via_github_app": null,
        })
    }

    fn line_comment(self, comment: &FakeComment, thread: &FakeThread, diff: &FakeDiff) -> Value {
        let (id, number) = (comment.id, comment.number);
        let own = self.api(&format!("/pulls/comments/{id}"));
        let pull = self.api(&format!("/pulls/{number}"));
        let html = self.page(&format!("/pull/{number}#discussion_r{id}"));
        // What is outdated has no line any more.
        let now = thread.anchor.lines.filter(|_| !thread.outdated);
        let first = thread.original.lines;
        let hunk = first.and_then(|lines| {
            let hunk = diff.file(&thread.original.path)?.hunk(lines.side, lines.line)?;
            Some(hunk.header.clone())
        });
        let line = |lines: Option<Lines>| lines.map(|lines| lines.line);
        let start = |lines: Option<Lines>| Some(lines?.start?.1);
        let mut value = json!({
            "id": id,
            "node_id": format!("PRRC_{id}"),
            "url": own,
            "pull_request_review_id": comment.review(),
            "diff_hunk": hunk.unwrap_or_default(),
            "path": thread.anchor.path,
            "position": line(now).map(|_| 1),
            "original_position": 1,
            "commit_id": thread.commit,
            "original_commit_id": thread.commit,
            "user": account(&comment.author),
            "body": comment.body,
            "created_at": time(comment.created_at),
            "updated_at": time(comment.updated_at),
            "html_url": html,
            "pull_request_url": pull,
            "author_association": association(self.repo, &comment.author),
            "_links": {
                "self": {"href": own},
                "html": {"href": html},
                "pull_request": {"href": pull},
            },
            "reactions": self.reactions(&own, &comment.reactions),
            "start_line": start(now),
            "original_start_line": start(first),
            "start_side": first.and_then(|lines| lines.start).map(|(side, _)| word(side)),
            "line": line(now),
            "original_line": line(first),
            "side": word(first.map_or(Side::New, |lines| lines.side)),
            "subject_type": if first.is_some() { "line" } else { "file" },
        });
        if let Spot::Inline { reply_to: Some(root), .. } = comment.place {
            value["in_reply_to_id"] = json!(root);
        }
        value
    }
}

pub(in crate::github) fn word(side: Side) -> &'static str {
    match side {
        Side::Old => "LEFT",
        Side::New => "RIGHT",
    }
}

fn review_state(state: ReviewState) -> &'static str {
    match state {
        ReviewState::Pending => "PENDING",
        ReviewState::Commented => "COMMENTED",
        ReviewState::Approved => "APPROVED",
        ReviewState::ChangesRequested => "CHANGES_REQUESTED",
        ReviewState::Dismissed => "DISMISSED",
    }
}
