//! The product's own adapter, pointed at the real server, and the publications that the stories
//! send through it.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use domain::anchor::{Line, LineKind, Side, Spot};
use domain::publication::{CommentBody, Effect, Inline};
use domain::{Publication, Receipt, Slot, Subject};
use forge::Ours;
use forge::gitea::Gitea;
use forge::http::{Connection, Pacing};
use report::marker::MarkerKey;
use report::redact::Redactor;
use url::Url;

use super::person::Person;
use super::scene::FILE;
use crate::clock::WallClock;

/// Makes an adapter that acts under this account.
pub(super) fn adapter_of(site: &Url, person: &Person) -> Result<Gitea> {
    let connection = Connection {
        api: site.join("api/v1")?,
        token: person.token.clone(),
        pacing: Pacing::Off,
        proxy: None,
        ca_bundle: None,
        redactor: Arc::new(Redactor::new([&person.token])),
        clock: Arc::new(WallClock::default()),
    };
    let ours = Ours::new("e2e", Some(MarkerKey::new(b"the key of these stories")));
    Ok(Gitea::new(connection, Arc::new(ours))?)
}

/// Returns a line that the change adds.
pub(super) fn added(new: u64) -> Line {
    Line { kind: LineKind::Added, old: new, new }
}

/// Returns a line that the change removes.
pub(super) fn removed(old: u64) -> Line {
    Line { kind: LineKind::Removed, old, new: old }
}

/// Returns a line that the change leaves as it is, by its number on the new side.
pub(super) fn unchanged(old: u64, new: u64) -> Line {
    Line { kind: LineKind::Context, old, new }
}

/// Makes a comment on lines of the file that the changes are about.
pub(super) fn inline(
    subject: &Subject,
    head: &str,
    (start, line): (Option<Line>, Line),
    name: &str,
) -> Result<Publication> {
    let side = match line.kind {
        LineKind::Removed => Side::Old,
        LineKind::Added | LineKind::Context => Side::New,
    };
    let (path, commit) = (FILE.to_owned(), head.to_owned());
    let at = Spot { path, old_path: None, side, start, line, commit };
    let effect = Effect::Inline(Inline { body: text(name), at, suggestion: None, batch: None });
    publication(subject, &format!("thread:{name}"), effect)
}

pub(super) fn publication(subject: &Subject, slot: &str, effect: Effect) -> Result<Publication> {
    let slot = Slot::parse(slot).context("the name of a slot")?;
    Ok(Publication { subject: subject.clone(), slot, effect })
}

/// Makes a text that names itself, so that a person can tell it from the others.
pub(super) fn text(name: &str) -> CommentBody {
    CommentBody {
        kind: "finding".to_owned(),
        markdown: format!("Look at {name}."),
        claim: None,
        closing: None,
    }
}

/// Takes the id and the thread out of the receipt of a comment.
pub(super) fn comment_of(receipt: &Receipt) -> Result<(u64, Option<&str>)> {
    match receipt {
        Receipt::Comment { id, thread, .. } => Ok((*id, thread.as_deref())),
        other => bail!("no comment stands there: {other:?}"),
    }
}
