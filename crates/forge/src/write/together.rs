//! Inline comments that travel together (E3): one request or few, a receipt for each.

use domain::publication::{Effect, Inline};
use domain::{Publication, Receipt};

use super::ladder::{self, Stand};
use super::moves::Moves;
use super::slot::{Slots, receipt};
use crate::error::Error;
use crate::http::Deadline;

/// Sends inline comments of one change as one review. Whatever could not stand on its lines by
/// what the host is known to lack is refused for the whole: the caller sends it alone.
pub(super) async fn send<M: Moves>(
    host: &M,
    publications: &[Publication],
) -> Result<Vec<Receipt>, Error> {
    let Some(Publication { subject, .. }) = publications.first() else { return Ok(Vec::new()) };
    let slots = Slots(host);
    let able = host.capabilities().await?;
    let mut comments = Vec::with_capacity(publications.len());
    for publication in publications {
        let Effect::Inline(inline @ Inline { body, .. }) = &publication.effect else {
            return Err(misfit("it is no inline comment"));
        };
        if publication.subject != *subject {
            return Err(misfit("it stands on another change"));
        }
        let first = ladder::rungs(inline, &able).into_iter().next();
        let Some((Stand::Lines(spot), markdown)) = first.map(|rung| (rung.at, rung.markdown))
        else {
            return Err(misfit("it cannot stand on its lines"));
        };
        let marker = slots.marker(&publication.slot, body, 1);
        comments.push((spot, slots.sign(subject, &marker, &markdown)));
    }
    let by = Deadline::in_time(host.clock(), host.batches(), comments.len());
    let listed = host.create_review(subject, &comments, by).await?;
    listed.first().into_iter().for_each(|said| slots.learn(said));
    let receipts = publications.iter().map(|publication| {
        let ours = listed.iter().filter(|said| {
            let marked = host.ours().marked(subject, said);
            marked.is_some_and(|marked| marked.marker.slot == publication.slot)
        });
        ours.min_by_key(|said| said.id).map(|said| receipt(said, 1, None))
    });
    receipts
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| Error::Lost { why: "a comment of the review is not listed yet".to_owned() })
}

fn misfit(why: &str) -> Error {
    Error::Refused { what: "a review".to_owned(), status: 0, why: why.to_owned() }
}
