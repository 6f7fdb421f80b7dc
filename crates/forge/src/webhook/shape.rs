//! What the payloads of all hosts have in common, once their fields are found.

use domain::event::{Happening, Push};
use domain::{Actor, Origin, Repo, RepoKey};

use super::Malformed;
use super::node::Node;

/// What a payload tells: a happening, or nothing that we use, with the reason.
#[expect(
    clippy::large_enum_variant,
    reason = "it lives for one return, and the event is boxed next"
)]
pub(crate) enum Told {
    Happened(Happening),
    Nothing(String),
}

impl Told {
    pub(crate) fn nothing(reason: &str) -> Self {
        Self::Nothing(reason.to_owned())
    }

    /// Says that nobody uses this event.
    pub(crate) fn unused_event(event: &str) -> Self {
        Self::Nothing(format!("event `{event}` is not used"))
    }

    /// Says that nobody uses this action of the event.
    pub(crate) fn unused_action(event: &str, action: &str) -> Self {
        Self::Nothing(format!("action `{action}` of `{event}` is not used"))
    }
}

/// Names the repository of an event. Without a numeric id it is keyed by its name (T9).
pub(crate) fn repo(origin: &Origin, id: &Node, full_name: String, default_branch: &Node) -> Repo {
    let key = match id.number() {
        Some(id) => RepoKey::Id(id),
        None => RepoKey::Name(full_name.to_ascii_lowercase()),
    };
    Repo { origin: origin.clone(), key, full_name, default_branch: default_branch.words() }
}

/// Reads the full name of a repository: from the field that holds it, else of owner and name.
pub(crate) fn full_name(
    repository: &Node,
    field: &str,
    owner: impl FnOnce() -> Result<String, Malformed>,
) -> Result<String, Malformed> {
    let place = repository.at(field);
    match place.words() {
        Some(name) if is_full_name(&name) => Ok(name),
        Some(_) => Err(place.complaint("the full name of a repository")),
        None => {
            let name = format!("{}/{}", owner()?, repository.at("name").required_words()?);
            if is_full_name(&name) {
                Ok(name)
            } else {
                Err(repository.complaint("a repository with an owner and a name"))
            }
        }
    }
}

/// Whether a text is a path of at least two plain segments: it is shown to people and becomes part
/// of addresses.
fn is_full_name(name: &str) -> bool {
    let is_odd = |c: char| {
        c.is_control()
            || c.is_whitespace()
            || matches!(c, '\\' | '?' | '#' | '%' | ':' | '@' | '<' | '>')
    };
    let is_plain = |segment: &str| !matches!(segment, "" | "." | "..") && !segment.contains(is_odd);
    name.contains('/') && name.split('/').all(is_plain)
}

/// Reads a push that has `ref`, `before` and `after` at the top of its payload.
pub(crate) fn push(payload: &Node, commits: u64) -> Result<Told, Malformed> {
    let reference = payload.at("ref").required_words()?;
    let Some(branch) = reference.strip_prefix("refs/heads/").filter(|name| !name.is_empty()) else {
        return Ok(Told::Nothing(format!("a push to `{reference}`, which is no branch")));
    };
    let before = payload.at("before").required_text()?;
    let after = payload.at("after").required_text()?;
    Ok(Told::Happened(Happening::Pushed(Push {
        branch: branch.to_owned(),
        created: is_null_commit(&before),
        deleted: is_null_commit(&after),
        before,
        after,
        commits,
    })))
}

/// Whether an id is the one that stands for "no commit": only zeros.
fn is_null_commit(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|byte| byte == b'0')
}

/// Returns those of `now` who are not among `before`, by account where both sides tell it.
pub(crate) fn newcomers(before: &[Actor], now: Vec<Actor>) -> Vec<Actor> {
    let was_there = |person: &Actor| {
        before.iter().any(|other| match (person.id, other.id) {
            (Some(id), Some(other)) => id == other,
            _ => person.is_called(&other.login),
        })
    };
    now.into_iter().filter(|person| !was_there(person)).collect()
}
