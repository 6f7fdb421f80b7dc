//! Slots on any host: a comment of ours per slot, found again by its marker.
//!
//! The adapters supply small moves ([`Moves`]); everything that makes them safe stands here once:
//! E1 (whose marker counts), E2 (looking and healing), E6 (no old over new), E7 (which deployment
//! speaks). The engine decides when to look and when to send.

use std::time::Duration;

use domain::publication::{CommentBody, Inline};
use domain::{Receipt, Slot, Subject, SubjectKind, Time};
use report::marker::{self, Marker};

use super::ladder::{self, Rung, Stand};
use super::moves::{Home, Moves, Seat};
use crate::capability::Ability;
use crate::error::Error;
use crate::http::Deadline;
use crate::ours::{Belief, Marked};
use crate::port::{Look, Said};

/// The pauses between looks for our own new comment, before it is taken as listed (E7).
const PAUSES: [Duration; 5] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];

/// The slots of one host.
pub(crate) struct Slots<'a, M: ?Sized>(pub(crate) &'a M);

/// Where the comment of a slot is to stand.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Aim<'a> {
    Conversation,
    /// On lines of a change, or at the next best place.
    Inline(&'a Inline),
    /// In a thread, or in the conversation where the host has no replies.
    Reply(&'a str),
    /// Wherever it stands.
    Anywhere,
}

/// A comment of ours that carries the slot's marker.
struct Standing {
    said: Said,
    marked: Marked,
}

/// Whether a remembered comment may be changed (E6).
enum Verdict {
    Ours(Belief),
    /// Nothing stands there any more.
    Gone,
    /// Something stands there that must not be touched.
    Theirs {
        said: Box<Said>,
        why: String,
    },
}

impl<M: Moves + ?Sized> Slots<'_, M> {
    /// Creates the slot's comment, or edits the one of the earlier receipt.
    pub(crate) async fn publish(
        &self,
        (subject, slot): (&Subject, &Slot),
        (aim, body): (Aim<'_>, &CommentBody),
        earlier: Option<&Receipt>,
        by: Deadline,
    ) -> Result<Receipt, Error> {
        let standing = match earlier {
            Some(receipt @ Receipt::Comment { .. }) => receipt,
            // The run that this continues has yielded; only a new claim may ask again.
            Some(yielded @ Receipt::Yielded { .. }) if body.claim.is_none() => {
                return Ok(yielded.clone());
            }
            Some(_) | None => {
                return self.create(subject, aim, &self.marker(slot, body, 1), body, by).await;
            }
        };
        let Receipt::Comment { id, revision: before, thread, moved, .. } = standing else {
            return Ok(standing.clone());
        };
        let (home, marker) =
            (Home::of(standing), self.marker(slot, body, before.saturating_add(1)));
        let markdown = match aim {
            Aim::Inline(inline) => {
                let able = self.0.capabilities().await?;
                ladder::text_where_it_stands(inline, &able, thread.as_deref(), moved.as_deref())
            }
            Aim::Conversation | Aim::Reply(_) | Aim::Anywhere => body.markdown.clone(),
        };
        match self.check((subject, slot), (home, *id), *before, by).await? {
            Verdict::Ours(_) => {
                match self.edit(subject, (home, *id), &marker, &markdown, by).await {
                    Ok(said) => Ok(receipt(&said, marker.revision, moved.clone())),
                    Err(Error::Gone { .. }) => self.create(subject, aim, &marker, body, by).await,
                    Err(error) => Err(error),
                }
            }
            Verdict::Gone => self.create(subject, aim, &marker, body, by).await,
            Verdict::Theirs { said, why } => {
                // It may be this very edit, whose answer was lost.
                let text = self.sign(subject, &marker, &markdown);
                match self.0.ours().wrote(&said.author) && same_text(&said.body, &text) {
                    true => Ok(receipt(&said, marker.revision, moved.clone())),
                    false => Ok(Receipt::Yielded { why }),
                }
            }
        }
    }

    /// Removes the slot's comment, if it is still the one that we know.
    pub(crate) async fn withdraw(
        &self,
        (subject, slot): (&Subject, &Slot),
        earlier: Option<&Receipt>,
        by: Deadline,
    ) -> Result<Receipt, Error> {
        let standing = match earlier {
            Some(receipt) => receipt.clone(),
            None => match self.find(subject, slot, Aim::Anywhere).await {
                Look::Found { receipt, .. } => receipt,
                Look::Absent => return Ok(Receipt::Done),
                Look::Unknown { why } => return Err(Error::Unreachable { why }),
            },
        };
        let Receipt::Comment { id, revision, .. } = standing else { return Ok(Receipt::Done) };
        let home = Home::of(&standing);
        match self.check((subject, slot), (home, id), revision, by).await? {
            Verdict::Ours(Belief::Believed) => {
                self.remove(subject, (home, id), by).await?;
                Ok(Receipt::Done)
            }
            Verdict::Ours(Belief::Doubted) => Ok(Receipt::Yielded {
                why: format!("the marker of comment {id} is not one that we wrote"),
            }),
            Verdict::Gone => Ok(Receipt::Done),
            Verdict::Theirs { why, .. } => Ok(Receipt::Yielded { why }),
        }
    }

    /// Looks for the slot's comment and removes copies of it (E2).
    pub(crate) async fn find(&self, subject: &Subject, slot: &Slot, aim: Aim<'_>) -> Look {
        let standing = match self.standing(subject, slot, aim).await {
            Ok(standing) => standing,
            Err(error) => return Look::Unknown { why: error.to_string() },
        };
        let (believed, doubted): (Vec<_>, Vec<_>) =
            standing.into_iter().partition(|standing| standing.marked.belief == Belief::Believed);
        let Some((first, copies)) = believed.split_first() else {
            return match doubted.first() {
                // Nothing in its marker counts, its revision neither.
                Some(standing) => {
                    Look::Found { receipt: receipt(&standing.said, 0, None), authentic: false }
                }
                None => Look::Absent,
            };
        };
        for copy in copies {
            let (home, id) = (Home::of_said(&copy.said), copy.said.id);
            if let Err(error) = self.remove(subject, (home, id), self.now()).await {
                // The next look tries again; what was found is found.
                tracing::warn!(%subject, %slot, id, %error, "a copy of our comment could not be removed");
            }
        }
        let moved = match aim {
            Aim::Inline(_) if first.said.thread().is_none() => {
                Some("it was moved to the conversation by an earlier try".to_owned())
            }
            _ => None,
        };
        let revision = first.marked.marker.revision;
        Look::Found { receipt: receipt(&first.said, revision, moved), authentic: true }
    }

    /// Settles which deployment speaks in the slot (E7): the lowest id whose claim has not
    /// expired. An expired one is taken over by an edit that trusts nothing in it.
    pub(crate) async fn settle(
        &self,
        subject: &Subject,
        slot: &Slot,
        own: &Receipt,
    ) -> Result<Receipt, Error> {
        let Receipt::Comment { id: own_id, revision, .. } = own else { return Ok(own.clone()) };
        let mut pauses = PAUSES.iter();
        let standing = loop {
            let standing = self.standing(subject, slot, Aim::Conversation).await?;
            let listed = standing.iter().any(|standing| standing.said.id == *own_id);
            match pauses.next() {
                Some(pause) if !listed => {
                    self.0.clock().sleep_until(self.0.clock().now() + *pause).await;
                }
                Some(_) | None => break standing,
            }
        };
        let now = self.0.clock().now();
        let before_us: Vec<_> =
            standing.iter().filter(|standing| standing.said.id < *own_id).collect();
        if let Some(winner) = before_us.iter().find(|standing| holds(&standing.marked.marker, now))
        {
            self.withdraw((subject, slot), Some(own), self.now()).await?;
            // An earlier send of our own that was listed late: it is what we wanted to say.
            let ours = winner.marked.marker.instance.as_deref() == Some(self.0.ours().instance());
            if ours && winner.marked.belief == Belief::Believed {
                return Ok(receipt(&winner.said, winner.marked.marker.revision, None));
            }
            let speaker =
                winner.marked.marker.instance.as_deref().unwrap_or("another deployment of ours");
            let why = format!("{speaker} speaks in this slot with comment {}", winner.said.id);
            return Ok(Receipt::Yielded { why });
        }
        match before_us.first() {
            Some(expired) => self.take_over((subject, slot), expired, (*own_id, *revision)).await,
            None => Ok(own.clone()),
        }
    }

    /// Moves our text into an older comment of ours whose claim has expired, and removes our own.
    async fn take_over(
        &self,
        (subject, slot): (&Subject, &Slot),
        expired: &Standing,
        (own_id, revision): (u64, u32),
    ) -> Result<Receipt, Error> {
        let by = self.now();
        let own = self.0.one(subject, Home::Conversation, own_id, by).await?;
        let Some(Marked { marker, belief: Belief::Believed }) = self.0.ours().marked(subject, &own)
        else {
            return Ok(Receipt::Yielded { why: format!("our own comment {own_id} was changed") });
        };
        let stood = match expired.marked.belief {
            Belief::Believed => expired.marked.marker.revision,
            Belief::Doubted => 0,
        };
        let there = (Home::Conversation, expired.said.id);
        let settled = match self.check((subject, slot), there, stood, by).await? {
            Verdict::Ours(_) => {
                let marker = Marker { revision: stood.max(revision).saturating_add(1), ..marker };
                let said = self.edit(subject, there, &marker, marker::strip(&own.body), by).await?;
                receipt(&said, marker.revision, None)
            }
            // It went away meanwhile: then ours is the oldest.
            Verdict::Gone => return Ok(receipt(&own, revision, None)),
            Verdict::Theirs { why, .. } => Receipt::Yielded { why },
        };
        self.remove(subject, (Home::Conversation, own_id), self.now()).await?;
        Ok(settled)
    }

    /// Reads a remembered comment and says whether it may be changed (E6, T9): it must be ours,
    /// in this slot, and not newer than what we know of it. One whose marker is doubted may only
    /// be changed after its claim has expired (E1).
    async fn check(
        &self,
        (subject, slot): (&Subject, &Slot),
        (home, id): (Home<'_>, u64),
        known: u32,
        by: Deadline,
    ) -> Result<Verdict, Error> {
        self.know_ourselves().await?;
        let said = match self.0.one(subject, home, id, by).await {
            Ok(said) => said,
            Err(Error::Gone { .. }) => return Ok(Verdict::Gone),
            Err(error) => return Err(error),
        };
        let why = match self.0.ours().marked(subject, &said) {
            None if !self.0.ours().wrote(&said.author) => {
                format!("comment {id} is not by one of our accounts")
            }
            Some(Marked { marker, belief }) if marker.slot == *slot => match belief {
                Belief::Believed if marker.revision > known => {
                    format!(
                        "revision {} stands in comment {id}, newer than {known}",
                        marker.revision
                    )
                }
                Belief::Doubted if holds(&marker, self.0.clock().now()) => {
                    format!(
                        "the marker of comment {id} is not one that we wrote, and it holds the slot"
                    )
                }
                Belief::Believed | Belief::Doubted => return Ok(Verdict::Ours(belief)),
            },
            Some(_) | None => format!("comment {id} no longer carries our marker for this slot"),
        };
        Ok(Verdict::Theirs { said: Box::new(said), why })
    }

    /// Lists our comments that carry the slot's marker, lowest id first.
    async fn standing(
        &self,
        subject: &Subject,
        slot: &Slot,
        aim: Aim<'_>,
    ) -> Result<Vec<Standing>, Error> {
        self.know_ourselves().await?;
        let mut said = self.0.conversation(subject).await?;
        let threads = match aim {
            Aim::Conversation => Vec::new(),
            Aim::Inline(_) | Aim::Reply(_) => self.0.threads(subject).await?,
            Aim::Anywhere => match subject.kind {
                SubjectKind::Change => self.0.threads(subject).await?,
                SubjectKind::Issue | SubjectKind::Branch => Vec::new(),
            },
        };
        said.extend(threads.into_iter().flat_map(|thread| thread.comments));
        let mut standing: Vec<_> = said
            .into_iter()
            .filter_map(|said| {
                let marked = self.0.ours().marked(subject, &said)?;
                (marked.marker.slot == *slot).then_some(Standing { said, marked })
            })
            .collect();
        standing.sort_by_key(|standing| standing.said.id);
        Ok(standing)
    }

    async fn create(
        &self,
        subject: &Subject,
        aim: Aim<'_>,
        marker: &Marker,
        body: &CommentBody,
        by: Deadline,
    ) -> Result<Receipt, Error> {
        let sign = |markdown: &str| self.sign(subject, marker, markdown);
        let (said, moved) = match aim {
            Aim::Conversation | Aim::Anywhere => {
                (self.0.create(subject, &sign(&body.markdown), by).await?, None)
            }
            Aim::Reply(thread) => {
                let able = self.0.capabilities().await?;
                match able.replies {
                    Ability::Yes => {
                        (self.0.reply(subject, thread, &sign(&body.markdown), by).await?, None)
                    }
                    Ability::No(why) => {
                        (self.0.create(subject, &sign(&body.markdown), by).await?, Some(why))
                    }
                }
            }
            Aim::Inline(inline) => self.descend(subject, inline, &sign, by).await?,
        };
        self.learn(&said);
        Ok(receipt(&said, marker.revision, moved))
    }

    /// Starts a thread at the best place that the host takes.
    async fn descend(
        &self,
        subject: &Subject,
        inline: &Inline,
        sign: &(dyn Fn(&str) -> String + Sync),
        by: Deadline,
    ) -> Result<(Said, Option<String>), Error> {
        let able = self.0.capabilities().await?;
        let mut refused = Error::Gone { what: format!("a place for a comment on {subject}") };
        for Rung { at, markdown, moved } in ladder::rungs(inline, &able) {
            let text = sign(&markdown);
            let tried = match &at {
                Stand::Lines(spot) => {
                    self.0.create_inline(subject, Seat::Lines(spot), &text, by).await
                }
                Stand::File(spot) => {
                    self.0.create_inline(subject, Seat::File(spot), &text, by).await
                }
                Stand::Conversation => self.0.create(subject, &text, by).await,
            };
            match tried {
                Err(error @ Error::Refused { .. }) => refused = error,
                Ok(said) => return Ok((said, moved)),
                Err(error) => return Err(error),
            }
        }
        Err(refused)
    }

    /// Takes note of the account that the forge let us speak as.
    pub(crate) fn learn(&self, said: &Said) {
        said.author.id.into_iter().for_each(|id| self.0.ours().learn(id));
    }

    async fn edit(
        &self,
        subject: &Subject,
        there: (Home<'_>, u64),
        marker: &Marker,
        markdown: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        self.0.edit(subject, there, &self.sign(subject, marker, markdown), by).await
    }

    /// Removes a comment; that it is gone already is fine.
    async fn remove(
        &self,
        subject: &Subject,
        (home, id): (Home<'_>, u64),
        by: Deadline,
    ) -> Result<(), Error> {
        match self.0.delete(subject, home, id, by).await {
            Ok(()) | Err(Error::Gone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn now(&self) -> Deadline {
        Deadline::starting(self.0.clock())
    }

    async fn know_ourselves(&self) -> Result<(), Error> {
        if self.0.ours().knows_itself() {
            return Ok(());
        }
        let Some(id) = self.0.own_account().await?.id else {
            let why = "the account has no id".to_owned();
            return Err(Error::Garbled { what: "our own account".to_owned(), why });
        };
        self.0.ours().learn(id);
        Ok(())
    }

    pub(super) fn marker(&self, slot: &Slot, body: &CommentBody, revision: u32) -> Marker {
        let claim = body.claim.as_ref();
        Marker {
            kind: body.kind.clone(),
            slot: slot.clone(),
            revision,
            instance: claim.map(|_| self.0.ours().instance().to_owned()),
            head: claim.map(|claim| claim.head.clone()).filter(|head| !head.is_empty()),
            expires: claim.map(|claim| claim.expires),
        }
    }

    /// Makes the text that leaves: redacted (T6), behind its marker.
    pub(super) fn sign(&self, subject: &Subject, marker: &Marker, markdown: &str) -> String {
        self.0.ours().sign(subject, marker, &self.0.redactor().clean(markdown))
    }
}

/// Whether a comment with this marker keeps others from speaking in its slot.
fn holds(marker: &Marker, now: Time) -> bool {
    marker.expires.is_none_or(|at| at > now)
}

pub(super) fn receipt(said: &Said, revision: u32, moved: Option<String>) -> Receipt {
    let thread = said.thread().map(str::to_owned);
    Receipt::Comment { id: said.id, revision, url: said.url.clone(), thread, moved }
}

/// Compares texts as forges keep them: line ends and outer white space may change on the way.
fn same_text(one: &str, other: &str) -> bool {
    let lines =
        |text: &str| text.trim().lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    lines(one) == lines(other)
}

#[cfg(test)]
mod tests;
