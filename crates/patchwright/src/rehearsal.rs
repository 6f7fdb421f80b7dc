//! `--dry-run`: what would be sent is told instead of sent.
//!
//! [`Rehearsed`] stands in for the writing port of every connection. Reading, jobs and the outbox
//! are the real ones, so a rehearsal shows exactly what would happen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use domain::publication::{
    Effect, Inline, ReactionTarget, Reply, Settling, Sign, Status, Suggestion,
};
use domain::{Publication, Receipt, Slot, Subject};
use forge::port::Together;
use forge::{Error, Look, Write};
use report::suggestion::Offer;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Whether publications leave the program.
#[derive(Clone, Debug)]
pub enum Sending {
    Real,
    /// `--dry-run`: they are told instead.
    Rehearsed(Arc<Rehearsed>),
}

/// Where the words of a rehearsal come out. Without a rehearsal none ever do.
#[derive(Debug)]
pub struct Told {
    words: UnboundedReceiver<String>,
    /// Keeps the way open, so that waiting for words never ends by itself.
    _open: UnboundedSender<String>,
}

/// Sends for real.
pub fn none() -> (Sending, Told) {
    let (open, words) = unbounded_channel();
    (Sending::Real, Told { words, _open: open })
}

/// Tells instead of sending.
pub fn begin() -> (Sending, Told) {
    let (told, words) = unbounded_channel();
    let rehearsed = Rehearsed { told: told.clone(), last_id: AtomicU64::new(0) };
    (Sending::Rehearsed(Arc::new(rehearsed)), Told { words, _open: told })
}

impl Told {
    /// Waits for the next words.
    pub async fn next(&mut self) -> String {
        match self.words.recv().await {
            Some(words) => words,
            None => std::future::pending().await,
        }
    }

    /// Returns words that are there already.
    pub fn already(&mut self) -> Option<String> {
        self.words.try_recv().ok()
    }
}

/// A writing port that only tells.
#[derive(Debug)]
pub struct Rehearsed {
    told: UnboundedSender<String>,
    /// Comments get ids, because later stages may point at them.
    last_id: AtomicU64,
}

impl Rehearsed {
    fn tell(&self, words: String) {
        // Nobody listens any more when the program ends: then nobody needs to be told.
        drop(self.told.send(words));
    }
}

#[async_trait]
impl Write for Rehearsed {
    async fn send(
        &self,
        publication: &Publication,
        earlier: Option<&Receipt>,
    ) -> Result<Receipt, Error> {
        self.tell(words(publication, earlier));
        let new_id = || self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        Ok(match (&publication.effect, earlier) {
            (
                Effect::Comment(_) | Effect::Inline(_) | Effect::Reply(_),
                Some(Receipt::Comment { id, revision, .. }),
            ) => Receipt::comment(*id, revision + 1),
            (Effect::Comment(_) | Effect::Inline(_) | Effect::Reply(_), _) => {
                Receipt::comment(new_id(), 1)
            }
            (Effect::Change(_), _) => Receipt::Change { number: new_id(), url: None, head: None },
            (Effect::Branch(branch), _) => Receipt::Commit { id: branch.at.clone() },
            (Effect::Push(push), _) => Receipt::Commit { id: push.commit.clone() },
            (
                Effect::Withdraw
                | Effect::Reaction { .. }
                | Effect::Settle { .. }
                | Effect::Describe { .. }
                | Effect::Ready
                | Effect::Status(_)
                | Effect::File(_)
                | Effect::Dispatch(_),
                _,
            ) => Receipt::Done,
        })
    }

    /// One by one, so that each is told.
    fn together(&self) -> Together {
        Together { most: 1, each: Duration::ZERO }
    }

    async fn send_together(&self, publications: &[Publication]) -> Result<Vec<Receipt>, Error> {
        let mut receipts = Vec::with_capacity(publications.len());
        for publication in publications {
            receipts.push(self.send(publication, None).await?);
        }
        Ok(receipts)
    }

    async fn find(&self, _publication: &Publication) -> Look {
        Look::Absent
    }

    async fn settle_claim(
        &self,
        _subject: &Subject,
        _slot: &Slot,
        own: &Receipt,
    ) -> Result<Receipt, Error> {
        Ok(own.clone())
    }
}

fn words(publication: &Publication, earlier: Option<&Receipt>) -> String {
    let Publication { subject, slot, effect } = publication;
    match effect {
        Effect::Comment(comment) => {
            let text = indented(&comment.markdown);
            format!("would {} on {subject} ({slot}):\n{text}", comment_or_edit(earlier))
        }
        Effect::Inline(Inline { body, at, suggestion, .. }) => {
            let (first, last) = at.span();
            let place = report::suggestion::place(&at.path, Some(first), last);
            let offer = suggestion.as_ref().map_or_else(String::new, |offered| {
                let Suggestion { before, after } = offered;
                indented(&report::suggestion::suggestion(before, after, Offer::Shown))
            });
            let text = indented(&body.markdown);
            format!(
                "would {} on {subject} at {place} ({slot}):\n{text}{offer}",
                comment_or_edit(earlier)
            )
        }
        Effect::Reply(Reply { body, thread }) => {
            let text = indented(&body.markdown);
            format!("would reply in thread {thread} of {subject} ({slot}):\n{text}")
        }
        Effect::Settle { thread, settling } => {
            let verb = match settling {
                Settling::Resolve => "resolve",
                Settling::Unresolve => "reopen",
            };
            format!("would {verb} thread {thread} of {subject}\n")
        }
        Effect::Change(change) => {
            let text = indented(&change.body.markdown);
            let (head, base) = (&change.head_branch, &change.base_branch);
            format!("would open a draft from {head} to {base}, \"{}\":\n{text}", change.title)
        }
        Effect::Describe { markdown } => {
            format!("would write into the description of {subject}:\n{}", indented(markdown))
        }
        Effect::Ready => format!("would make {subject} ready for review\n"),
        Effect::Status(status) => {
            let Status { commit, context, title, .. } = status;
            format!("would set the status {context} of {commit}: {title}\n")
        }
        Effect::Branch(branch) => {
            format!("would create the branch {} at {}\n", branch.name, branch.at)
        }
        Effect::File(file) => {
            format!("would write {} on {}:\n{}", file.path, file.branch, indented(&file.content))
        }
        Effect::Push(push) => {
            format!("would push {} to {}\n", push.commit, push.target.branch())
        }
        Effect::Dispatch(dispatch) => {
            let workflow = dispatch.workflow.as_deref().unwrap_or("a pipeline");
            format!("would start {workflow} on {}\n", dispatch.on_branch)
        }
        Effect::Withdraw => format!("would remove the comment on {subject} ({slot})\n"),
        Effect::Reaction { on, sign } => {
            let target = match on {
                ReactionTarget::Subject => subject.to_string(),
                ReactionTarget::Comment { id, .. } => format!("comment {id} on {subject}"),
            };
            let sign = match sign {
                Sign::Eyes => "eyes",
                Sign::ThumbsUp => "thumbs up",
                Sign::Confused => "confusion",
            };
            format!("would react with {sign} to {target}\n")
        }
    }
}

fn comment_or_edit(earlier: Option<&Receipt>) -> &'static str {
    match earlier {
        Some(Receipt::Comment { .. }) => "edit the comment",
        _ => "comment",
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  | {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use domain::event::Place;
    use domain::publication::CommentBody;
    use domain::{Origin, Repo, RepoKey};

    use super::*;

    fn publication(slot: Slot, effect: Effect) -> Publication {
        let repo = Repo {
            origin: Origin::new("https://forge.example"),
            key: RepoKey::Id(1),
            full_name: "acme/demo".to_owned(),
            default_branch: None,
        };
        Publication { subject: Subject::issue(repo, 7), slot, effect }
    }

    fn comment(markdown: &str) -> Effect {
        let markdown = markdown.to_owned();
        Effect::Comment(CommentBody {
            kind: "answer".to_owned(),
            markdown,
            claim: None,
            closing: None,
        })
    }

    #[tokio::test]
    async fn what_would_be_sent_is_told_and_gets_a_receipt_that_can_be_edited() {
        let (sending, mut told) = begin();
        let Sending::Rehearsed(port) = sending else { panic!("a rehearsal sends nothing") };
        let seen = ReactionTarget::Comment { id: 3, place: Place::Conversation };
        let reaction =
            publication(Slot::ack("c3"), Effect::Reaction { on: seen, sign: Sign::Eyes });
        assert_eq!(port.send(&reaction, None).await.unwrap(), Receipt::Done);
        let first =
            port.send(&publication(Slot::status(), comment("one\ntwo")), None).await.unwrap();
        assert_eq!(first, Receipt::comment(1, 1));
        let again =
            port.send(&publication(Slot::status(), comment("three")), Some(&first)).await.unwrap();
        assert_eq!(again, Receipt::comment(1, 2));

        let words: String = std::iter::from_fn(|| told.already()).collect();
        expect_test::expect![[r#"
            would react with eyes to comment 3 on acme/demo#7
            would comment on acme/demo#7 (status):
              | one
              | two
            would edit the comment on acme/demo#7 (status):
              | three
        "#]]
        .assert_eq(&words);
    }
}
