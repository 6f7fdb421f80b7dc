//! Inline comments that travel together: drafts, which their author alone sees, published at once.
//!
//! The account may be a person's, with drafts of their own. Those are never published and never
//! removed; where some wait, ours are published one by one.

use domain::Subject;
use domain::anchor::Spot;
use http::Method;

use super::wire::{NewDraft, Position};
use super::{GitLab, change_number, wire};
use crate::error::Error;
use crate::http::Deadline;
use crate::ours::Belief;
use crate::port::{Read, Said};
use crate::write::moves::Seat;

/// The drafts of our account on a change.
struct Drafts {
    ours: Vec<u64>,
    /// How many there are that we did not write.
    others: usize,
}

impl GitLab {
    /// Publishes comments as one review. Until the last step nobody sees anything.
    pub(super) async fn publish_together(
        &self,
        subject: &Subject,
        comments: &[(Spot, String)],
        by: Deadline,
    ) -> Result<Vec<Said>, Error> {
        let Some((Spot { commit, .. }, _)) = comments.first() else { return Ok(Vec::new()) };
        if !self.ours.knows_itself() {
            self.own_account().await?;
        }
        let version = self.version_at(subject, commit).await?;
        for leftover in self.drafts(subject).await?.ours {
            self.remove_draft(subject, leftover, by).await.map_err(unseen)?;
        }
        let mut made = Vec::with_capacity(comments.len());
        for (spot, note) in comments {
            match self.draft(subject, (spot, note), &version, by).await {
                Ok(id) => made.push(id),
                Err(error @ (Error::Refused { .. } | Error::TooLong)) => {
                    self.take_back(subject, &made, by).await;
                    return Err(error);
                }
                Err(error) => return Err(unseen(error)),
            }
        }
        // Read again just before: somebody may have begun to write meanwhile.
        let others = self.drafts(subject).await?.others;
        self.publish(subject, &made, others, by).await?;
        // From here on they stand: what fails now is looked up, not sent again (E2).
        let lost = |error: Error| Error::Lost { why: error.to_string() };
        let discussions = self.discussions(subject).await.map_err(lost)?;
        let page = self.page(subject);
        let first = |discussion: wire::Discussion| discussion.into_first(page.as_deref());
        Ok(discussions.into_iter().filter(wire::Discussion::is_thread).filter_map(first).collect())
    }

    /// Lists the drafts of our account. Those count as ours whose marker we believe (T9).
    async fn drafts(&self, subject: &Subject) -> Result<Drafts, Error> {
        let tail = ["merge_requests", &change_number(subject)?, "draft_notes"];
        let url = self.url(&subject.repo, &tail)?;
        let what = format!("the drafts on {subject}");
        let id = |draft: &wire::Draft| draft.id.to_string();
        let (mut ours, mut others) = (Vec::new(), 0);
        for draft in self.list(&what, &url, id).await? {
            match self.ours.marked(subject, &draft.as_said()).map(|marked| marked.belief) {
                Some(Belief::Believed) => ours.push(draft.id),
                Some(Belief::Doubted) | None => others += 1,
            }
        }
        Ok(Drafts { ours, others })
    }

    async fn draft(
        &self,
        subject: &Subject,
        (spot, note): (&Spot, &str),
        version: &wire::Version,
        by: Deadline,
    ) -> Result<u64, Error> {
        let what = format!("an inline comment on {subject}");
        let body = NewDraft { note, position: Position::new(Seat::Lines(spot), version)? };
        let tail = ["merge_requests", &change_number(subject)?, "draft_notes"];
        let call: (_, &[&str]) = (Method::POST, &tail);
        let answer = self.write(&what, &subject.repo, call, Some(&body), by).await?;
        Ok(answer.parse::<wire::Draft>(&what)?.id)
    }

    async fn publish(
        &self,
        subject: &Subject,
        drafts: &[u64],
        others: usize,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("a review of {subject}");
        let number = change_number(subject)?;
        if others == 0 {
            let tail = ["merge_requests", &number, "draft_notes", "bulk_publish"];
            let call: (_, &[&str]) = (Method::POST, &tail);
            self.write::<()>(&what, &subject.repo, call, None, by).await?;
            return Ok(());
        }
        for (published, draft) in drafts.iter().enumerate() {
            let id = draft.to_string();
            let tail = ["merge_requests", &number, "draft_notes", &id, "publish"];
            let call: (_, &[&str]) = (Method::PUT, &tail);
            match self.write::<()>(&what, &subject.repo, call, None, by).await {
                Ok(_) => {}
                Err(error) if published == 0 => return Err(error),
                // Some stand already: which, a look tells.
                Err(error) => return Err(Error::Lost { why: error.to_string() }),
            }
        }
        Ok(())
    }

    async fn remove_draft(&self, subject: &Subject, id: u64, by: Deadline) -> Result<(), Error> {
        let what = format!("a draft on {subject}");
        let tail = ["merge_requests", &change_number(subject)?, "draft_notes", &id.to_string()];
        let call: (_, &[&str]) = (Method::DELETE, &tail);
        match self.write::<()>(&what, &subject.repo, call, None, by).await {
            Ok(_) | Err(Error::Gone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Removes drafts that will not be published.
    async fn take_back(&self, subject: &Subject, drafts: &[u64], by: Deadline) {
        for draft in drafts {
            if let Err(error) = self.remove_draft(subject, *draft, by).await {
                // Nobody sees it, and the next batch removes it.
                tracing::warn!(%subject, draft, %error, "a draft of ours could not be removed");
            }
        }
    }
}

/// Whatever became of a draft, nobody sees it: the whole can be done again without a look.
fn unseen(error: Error) -> Error {
    match error.is_of_unknown_fate() {
        true => Error::Unreachable { why: error.to_string() },
        false => error,
    }
}
