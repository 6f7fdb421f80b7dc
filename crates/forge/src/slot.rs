//! Slots on any host: a comment of ours per slot, found again by its marker.
//!
//! The adapters supply five small moves ([`Comments`]); everything that makes them safe stands
//! here once: E1 (whose marker counts), E2 (looking and healing), E6 (no old over new), E7 (which
//! deployment speaks). The engine decides when to look and when to send.

use std::time::Duration;

use async_trait::async_trait;
use domain::publication::CommentBody;
use domain::{Clock, Receipt, Slot, Subject, Time};
use report::marker::{self, Marker};
use report::redact::Redactor;

use crate::error::Error;
use crate::http::Deadline;
use crate::ours::{Belief, Marked, Ours};
use crate::port::{Look, Read, Said};

/// What a host can do with the comments of a conversation.
#[async_trait]
pub(crate) trait Comments: Read {
    async fn one(&self, subject: &Subject, id: u64, by: Deadline) -> Result<Said, Error>;
    async fn create(&self, subject: &Subject, body: &str, by: Deadline) -> Result<Said, Error>;
    async fn edit(
        &self,
        subject: &Subject,
        id: u64,
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error>;
    async fn delete(&self, subject: &Subject, id: u64, by: Deadline) -> Result<(), Error>;
}

/// The pauses between looks for our own new comment, before it is taken as listed (E7).
const PAUSES: [Duration; 5] = [
    Duration::from_millis(500),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];

/// The slots of one host.
pub(crate) struct Slots<'a> {
    pub(crate) comments: &'a dyn Comments,
    pub(crate) ours: &'a Ours,
    pub(crate) redactor: &'a Redactor,
    pub(crate) clock: &'a dyn Clock,
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

impl Slots<'_> {
    /// Creates the slot's comment, or edits the one of the earlier receipt.
    pub(crate) async fn publish(
        &self,
        (subject, slot): (&Subject, &Slot),
        body: &CommentBody,
        earlier: Option<&Receipt>,
        by: Deadline,
    ) -> Result<Receipt, Error> {
        let (id, before) = match earlier {
            Some(Receipt::Comment { id, revision, .. }) => (*id, *revision),
            // The run that this continues has yielded; only a new claim may ask again.
            Some(yielded @ Receipt::Yielded { .. }) if body.claim.is_none() => {
                return Ok(yielded.clone());
            }
            Some(Receipt::Done | Receipt::Refused { .. } | Receipt::Yielded { .. }) | None => {
                return self.create(subject, &self.marker(slot, body, 1), &body.markdown, by).await;
            }
        };
        let marker = self.marker(slot, body, before.saturating_add(1));
        match self.check((subject, slot), id, before, by).await? {
            Verdict::Ours(_) => match self.edit(subject, id, &marker, &body.markdown, by).await {
                Err(Error::Gone { .. }) => self.create(subject, &marker, &body.markdown, by).await,
                edited => edited,
            },
            Verdict::Gone => self.create(subject, &marker, &body.markdown, by).await,
            Verdict::Theirs { said, why } => {
                // It may be this very edit, whose answer was lost.
                let text = self.sign(subject, &marker, &body.markdown);
                match self.ours.wrote(&said.author) && same_text(&said.body, &text) {
                    true => Ok(receipt(&said, marker.revision)),
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
        let (id, revision) = match earlier {
            Some(Receipt::Comment { id, revision, .. }) => (*id, *revision),
            Some(_) => return Ok(Receipt::Done),
            None => match self.find(subject, slot).await {
                Look::Found { receipt: Receipt::Comment { id, revision, .. }, .. } => {
                    (id, revision)
                }
                Look::Found { .. } | Look::Absent => return Ok(Receipt::Done),
                Look::Unknown { why } => return Err(Error::Unreachable { why }),
            },
        };
        match self.check((subject, slot), id, revision, by).await? {
            Verdict::Ours(Belief::Believed) => {
                self.remove(subject, id, by).await?;
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
    pub(crate) async fn find(&self, subject: &Subject, slot: &Slot) -> Look {
        let standing = match self.standing(subject, slot).await {
            Ok(standing) => standing,
            Err(error) => return Look::Unknown { why: error.to_string() },
        };
        let (believed, doubted): (Vec<_>, Vec<_>) =
            standing.into_iter().partition(|standing| standing.marked.belief == Belief::Believed);
        let Some((first, copies)) = believed.split_first() else {
            return match doubted.first() {
                // Nothing in its marker counts, its revision neither.
                Some(standing) => {
                    Look::Found { receipt: receipt(&standing.said, 0), authentic: false }
                }
                None => Look::Absent,
            };
        };
        for copy in copies {
            let id = copy.said.id;
            if let Err(error) = self.remove(subject, id, Deadline::starting(self.clock)).await {
                // The next look tries again; what was found is found.
                tracing::warn!(%subject, %slot, id, %error, "a copy of our comment could not be removed");
            }
        }
        Look::Found { receipt: receipt(&first.said, first.marked.marker.revision), authentic: true }
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
            let standing = self.standing(subject, slot).await?;
            let listed = standing.iter().any(|standing| standing.said.id == *own_id);
            match pauses.next() {
                Some(pause) if !listed => self.clock.sleep_until(self.clock.now() + *pause).await,
                Some(_) | None => break standing,
            }
        };
        let now = self.clock.now();
        let before_us: Vec<_> =
            standing.iter().filter(|standing| standing.said.id < *own_id).collect();
        if let Some(winner) = before_us.iter().find(|standing| holds(&standing.marked.marker, now))
        {
            self.withdraw((subject, slot), Some(own), Deadline::starting(self.clock)).await?;
            // An earlier send of our own that was listed late: it is what we wanted to say.
            let ours = winner.marked.marker.instance.as_deref() == Some(self.ours.instance());
            if ours && winner.marked.belief == Belief::Believed {
                return Ok(receipt(&winner.said, winner.marked.marker.revision));
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
        let by = Deadline::starting(self.clock);
        let own = self.comments.one(subject, own_id, by).await?;
        let Some(Marked { marker, belief: Belief::Believed }) = self.ours.marked(subject, &own)
        else {
            return Ok(Receipt::Yielded { why: format!("our own comment {own_id} was changed") });
        };
        let stood = match expired.marked.belief {
            Belief::Believed => expired.marked.marker.revision,
            Belief::Doubted => 0,
        };
        let id = expired.said.id;
        let settled = match self.check((subject, slot), id, stood, by).await? {
            Verdict::Ours(_) => {
                let marker = Marker { revision: stood.max(revision).saturating_add(1), ..marker };
                self.edit(subject, id, &marker, marker::strip(&own.body), by).await?
            }
            // It went away meanwhile: then ours is the oldest.
            Verdict::Gone => return Ok(receipt(&own, revision)),
            Verdict::Theirs { why, .. } => Receipt::Yielded { why },
        };
        self.remove(subject, own_id, Deadline::starting(self.clock)).await?;
        Ok(settled)
    }

    /// Reads a remembered comment and says whether it may be changed (E6, T9): it must be ours,
    /// in this slot, and not newer than what we know of it. One whose marker is doubted may only
    /// be changed after its claim has expired (E1).
    async fn check(
        &self,
        (subject, slot): (&Subject, &Slot),
        id: u64,
        known: u32,
        by: Deadline,
    ) -> Result<Verdict, Error> {
        self.know_ourselves().await?;
        let said = match self.comments.one(subject, id, by).await {
            Ok(said) => said,
            Err(Error::Gone { .. }) => return Ok(Verdict::Gone),
            Err(error) => return Err(error),
        };
        let why = match self.ours.marked(subject, &said) {
            None if !self.ours.wrote(&said.author) => {
                format!("comment {id} is not by one of our accounts")
            }
            Some(Marked { marker, belief }) if marker.slot == *slot => match belief {
                Belief::Believed if marker.revision > known => {
                    format!(
                        "revision {} stands in comment {id}, newer than {known}",
                        marker.revision
                    )
                }
                Belief::Doubted if holds(&marker, self.clock.now()) => {
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
    async fn standing(&self, subject: &Subject, slot: &Slot) -> Result<Vec<Standing>, Error> {
        self.know_ourselves().await?;
        let mut standing: Vec<_> = self
            .comments
            .conversation(subject)
            .await?
            .into_iter()
            .filter_map(|said| {
                let marked = self
                    .ours
                    .marked(subject, &said)
                    .filter(|marked| marked.marker.slot == *slot)?;
                Some(Standing { said, marked })
            })
            .collect();
        standing.sort_by_key(|standing| standing.said.id);
        Ok(standing)
    }

    async fn create(
        &self,
        subject: &Subject,
        marker: &Marker,
        markdown: &str,
        by: Deadline,
    ) -> Result<Receipt, Error> {
        let said = self.comments.create(subject, &self.sign(subject, marker, markdown), by).await?;
        if let Some(id) = said.author.id {
            self.ours.learn(id);
        }
        Ok(receipt(&said, marker.revision))
    }

    async fn edit(
        &self,
        subject: &Subject,
        id: u64,
        marker: &Marker,
        markdown: &str,
        by: Deadline,
    ) -> Result<Receipt, Error> {
        let said =
            self.comments.edit(subject, id, &self.sign(subject, marker, markdown), by).await?;
        Ok(receipt(&said, marker.revision))
    }

    /// Removes a comment; that it is gone already is fine.
    async fn remove(&self, subject: &Subject, id: u64, by: Deadline) -> Result<(), Error> {
        match self.comments.delete(subject, id, by).await {
            Ok(()) | Err(Error::Gone { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    async fn know_ourselves(&self) -> Result<(), Error> {
        if self.ours.knows_itself() {
            return Ok(());
        }
        let Some(id) = self.comments.own_account().await?.id else {
            let why = "the account has no id".to_owned();
            return Err(Error::Garbled { what: "our own account".to_owned(), why });
        };
        self.ours.learn(id);
        Ok(())
    }

    fn marker(&self, slot: &Slot, body: &CommentBody, revision: u32) -> Marker {
        let claim = body.claim.as_ref();
        Marker {
            kind: body.kind.clone(),
            slot: slot.clone(),
            revision,
            instance: claim.map(|_| self.ours.instance().to_owned()),
            head: claim.map(|claim| claim.head.clone()).filter(|head| !head.is_empty()),
            expires: claim.map(|claim| claim.expires),
        }
    }

    /// Makes the text that leaves: redacted (T6), behind its marker.
    fn sign(&self, subject: &Subject, marker: &Marker, markdown: &str) -> String {
        self.ours.sign(subject, marker, &self.redactor.clean(markdown))
    }
}

/// Whether a comment with this marker keeps others from speaking in its slot.
fn holds(marker: &Marker, now: Time) -> bool {
    marker.expires.is_none_or(|at| at > now)
}

fn receipt(said: &Said, revision: u32) -> Receipt {
    Receipt::Comment { id: said.id, revision, url: said.url.clone() }
}

/// Compares texts as forges keep them: line ends and outer white space may change on the way.
fn same_text(one: &str, other: &str) -> bool {
    let lines =
        |text: &str| text.trim().lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>();
    lines(one) == lines(other)
}

#[cfg(test)]
mod tests;
