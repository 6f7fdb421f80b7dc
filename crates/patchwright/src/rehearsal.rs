//! `--dry-run`: what would be sent is told instead of sent.
//!
//! [`Rehearsed`] stands in for the writing port of every connection. Reading, jobs and the outbox
//! are the real ones, so a rehearsal shows exactly what would happen.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use domain::publication::{Effect, ReactionTarget, Sign};
use domain::{Publication, Receipt, Slot, Subject};
use forge::{Error, Look, Write};
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
        Ok(match (&publication.effect, earlier) {
            (Effect::Comment(_), Some(Receipt::Comment { id, revision, .. })) => {
                Receipt::Comment { id: *id, revision: revision + 1, url: None }
            }
            (Effect::Comment(_), _) => {
                let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
                Receipt::Comment { id, revision: 1, url: None }
            }
            (Effect::Withdraw | Effect::Reaction { .. }, _) => Receipt::Done,
        })
    }

    async fn find(&self, _subject: &Subject, _slot: &Slot) -> Look {
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
            let verb = if matches!(earlier, Some(Receipt::Comment { .. })) {
                "edit the comment"
            } else {
                "comment"
            };
            let text: String =
                comment.markdown.lines().map(|line| format!("  | {line}\n")).collect();
            format!("would {verb} on {subject} ({slot}):\n{text}")
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
        assert_eq!(first, Receipt::Comment { id: 1, revision: 1, url: None });
        let again =
            port.send(&publication(Slot::status(), comment("three")), Some(&first)).await.unwrap();
        assert_eq!(again, Receipt::Comment { id: 1, revision: 2, url: None });

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
