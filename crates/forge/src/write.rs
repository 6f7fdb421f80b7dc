//! [`Write`] for every host, once: an adapter supplies its [`moves`], and gets here what makes
//! them safe (slots, [`slot`]) and what becomes of a publication that the host cannot take as it
//! is ([`ladder`]).

mod ladder;
pub(crate) mod moves;
mod slot;
mod together;

use async_trait::async_trait;
use domain::publication::{Branch, Effect, FileWrite, NewChange};
use domain::{Publication, Receipt, Repo, Slot, Subject};

use crate::error::Error;
use crate::http::Deadline;
use crate::port::{Look, Together, Write};
use moves::Moves;
use slot::{Aim, Slots};

#[async_trait]
impl<M: Moves> Write for M {
    async fn send(
        &self,
        publication: &Publication,
        earlier: Option<&Receipt>,
    ) -> Result<Receipt, Error> {
        let Publication { subject, slot, effect } = publication;
        let (by, repo) = (Deadline::starting(self.clock()), &subject.repo);
        let (place, slots) = ((subject, slot), Slots(self));
        match effect {
            Effect::Comment(body) => {
                slots.publish(place, (Aim::Conversation, body), earlier, by).await
            }
            Effect::Inline(inline) => {
                slots.publish(place, (Aim::Inline(inline), &inline.body), earlier, by).await
            }
            Effect::Reply(reply) => {
                slots.publish(place, (Aim::Reply(&reply.thread), &reply.body), earlier, by).await
            }
            Effect::Withdraw => slots.withdraw(place, earlier, by).await,
            Effect::Reaction { on, sign } => done(self.react(subject, on, *sign, by).await),
            Effect::Settle { thread, settling } => {
                done(self.settle_thread(subject, thread, *settling, by).await)
            }
            Effect::Change(change) => open_change(self, repo, change, by).await,
            Effect::Describe { markdown } => {
                // Read just before it is written: what people changed meanwhile stays (E6).
                let before = self.change(subject).await?.body;
                let after = report::block::replaced(&before, &self.redactor().clean(markdown));
                match before == after {
                    true => Ok(Receipt::Done),
                    false => done(self.describe(subject, &after, by).await),
                }
            }
            Effect::Ready => done(self.make_ready(subject, by).await),
            Effect::Status(status) => done(self.set_status(repo, status, by).await),
            Effect::Branch(branch) => create_branch(self, repo, branch, by).await,
            Effect::File(file) => write_file(self, repo, file, by).await,
            Effect::Dispatch(dispatch) => done(self.dispatch(repo, dispatch, by).await),
            Effect::Push(_) => {
                let why = "a push goes by git, not over the forge's API".to_owned();
                Ok(Receipt::Refused { why })
            }
        }
    }

    async fn send_together(&self, publications: &[Publication]) -> Result<Vec<Receipt>, Error> {
        together::send(self, publications).await
    }

    fn together(&self) -> Together {
        self.batches()
    }

    async fn find(&self, publication: &Publication) -> Look {
        let Publication { subject, slot, effect } = publication;
        let slots = Slots(self);
        match effect {
            Effect::Comment(_) => slots.find(subject, slot, Aim::Conversation).await,
            Effect::Inline(inline) => slots.find(subject, slot, Aim::Inline(inline)).await,
            Effect::Reply(reply) => slots.find(subject, slot, Aim::Reply(&reply.thread)).await,
            Effect::Change(change) => match find_change(self, &subject.repo, change).await {
                Ok(Some(receipt)) => Look::Found { receipt, authentic: true },
                Ok(None) => Look::Absent,
                Err(error) => Look::Unknown { why: error.to_string() },
            },
            Effect::File(file) => match self.file_stands(&subject.repo, file).await {
                Ok(true) => Look::Found { receipt: Receipt::Done, authentic: true },
                Ok(false) => Look::Absent,
                Err(error) => Look::Unknown { why: error.to_string() },
            },
            Effect::Dispatch(dispatch) => self.find_dispatch(&subject.repo, dispatch).await,
            // Harmless twice: it is repeated, not looked for.
            Effect::Withdraw
            | Effect::Reaction { .. }
            | Effect::Settle { .. }
            | Effect::Describe { .. }
            | Effect::Ready
            | Effect::Status(_)
            | Effect::Branch(_)
            | Effect::Push(_) => Look::Absent,
        }
    }

    async fn settle_claim(
        &self,
        subject: &Subject,
        slot: &Slot,
        own: &Receipt,
    ) -> Result<Receipt, Error> {
        Slots(self).settle(subject, slot, own).await
    }
}

fn done(result: Result<(), Error>) -> Result<Receipt, Error> {
    result.map(|()| Receipt::Done)
}

/// Opens a change, or continues with the one that is open for the branch already.
async fn open_change<M: Moves>(
    host: &M,
    repo: &Repo,
    change: &NewChange,
    by: Deadline,
) -> Result<Receipt, Error> {
    if let Some(receipt) = find_change(host, repo, change).await? {
        return Ok(receipt);
    }
    let body = host.redactor().clean(&change.body.markdown).into_owned();
    let opened = host.open_change(repo, change, &body, by).await?;
    Ok(Receipt::Change { number: opened.number, url: opened.url, head: Some(opened.head) })
}

async fn find_change<M: Moves>(
    host: &M,
    repo: &Repo,
    change: &NewChange,
) -> Result<Option<Receipt>, Error> {
    let open = host.changes_of_branch(repo, &change.head_branch).await?;
    let found = open.into_iter().find(|open| open.base_branch == change.base_branch);
    Ok(found.map(|open| Receipt::Change {
        number: open.number,
        url: open.url,
        head: Some(open.head),
    }))
}

/// Creates a branch; one that stands at the commit already is as good.
async fn create_branch<M: Moves>(
    host: &M,
    repo: &Repo,
    branch: &Branch,
    by: Deadline,
) -> Result<Receipt, Error> {
    let stands = Receipt::Commit { id: branch.at.clone() };
    match host.create_branch(repo, branch, by).await {
        Ok(()) => Ok(stands),
        Err(error @ (Error::Refused { .. } | Error::Conflict { .. })) => {
            match host.branch(repo, &branch.name).await? {
                Some(there) if there.head == branch.at => Ok(stands),
                Some(there) => Ok(Receipt::Refused {
                    why: format!("the branch {} exists and stands at {}", there.name, there.head),
                }),
                None => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// Writes a file; one that stands there already with this content is as good.
async fn write_file<M: Moves>(
    host: &M,
    repo: &Repo,
    file: &FileWrite,
    by: Deadline,
) -> Result<Receipt, Error> {
    match host.write_file(repo, file, by).await {
        Err(error @ (Error::Refused { .. } | Error::Conflict { .. })) => {
            match host.file_stands(repo, file).await? {
                true => Ok(Receipt::Done),
                false => Err(error),
            }
        }
        written => done(written),
    }
}
