//! Deliveries: whose they are, whether they are authentic, and what they say.
//!
//! The gateway calls [`detect`], [`verify`] and [`decode`], in this order. All three are pure: no
//! network, no clock, no state. What is particular to a host stands in its own `webhook` module.
//! Nothing here decides what to do about an event; that is `domain::route`.

use std::borrow::Cow;

use domain::{Event, Origin, Time};
use http::HeaderMap;
use secrecy::SecretString;

use crate::host::Host;
use crate::{gitcode, gitea, github, gitlab};

pub(crate) mod body;
pub(crate) mod header;
pub(crate) mod node;
pub(crate) mod shape;
pub(crate) mod signature;

pub use header::detect;

use node::Node;

/// A delivery whose signature was right, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    pub host: Host,
    /// The sender's id of the delivery, where it sends one that survives a redelivery.
    pub id: Option<String>,
    /// The host's own name of the event: `issue_comment`, `Note Hook` …
    pub event_type: String,
    pub content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Event(Box<Event>),
    /// An event or action that we do not use, with the reason.
    Ignored(String),
}

/// Why a delivery cannot be read. All of these are answered 400 (on GitLab 200, see the gateway).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("the body is not JSON: {0}")]
    NotJson(String),
    #[error("no known event header")]
    NoEvent,
    #[error("`{0}` is missing")]
    Missing(String),
    #[error("`{field}` is not {expected}")]
    Wrong { field: String, expected: &'static str },
}

/// Whether a delivery comes from somebody who knows the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Authentic,
    /// It carries no signature, or an empty one.
    Unsigned,
    /// Its signature does not fit the body and the secret.
    Wrong,
    /// Its signature fits, but was made too long ago or too far ahead: it may be a replay.
    Stale,
}

impl Verdict {
    pub fn is_authentic(self) -> bool {
        self == Self::Authentic
    }
}

/// Checks a delivery against one secret, over the raw bytes and in constant time.
///
/// Where several secrets are configured, the caller asks once for each. An empty secret never
/// verifies anything. `now` is only read where the host signs a time stamp.
pub fn verify(
    host: Host,
    headers: &HeaderMap,
    body: &[u8],
    secret: &SecretString,
    now: Time,
) -> Verdict {
    match host {
        Host::GitHub => github::webhook::verify(headers, body, secret),
        Host::GitLab => gitlab::webhook::verify(headers, body, secret, now),
        Host::GitCode => gitcode::webhook::verify(headers, body, secret),
        Host::Gitea => gitea::webhook::verify(headers, body, secret),
        Host::Local => Verdict::Unsigned,
    }
}

/// Reads a delivery of the host into the words of the domain.
pub fn decode(
    host: Host,
    headers: &HeaderMap,
    body: &[u8],
    origin: &Origin,
) -> Result<Delivery, Malformed> {
    let text = json(headers, body)?;
    let incoming = Incoming { headers, body, payload: Node::parse(&text)?, origin };
    match host {
        Host::GitHub => github::webhook::decode(&incoming),
        Host::GitLab => gitlab::webhook::decode(&incoming),
        Host::GitCode => gitcode::webhook::decode(&incoming),
        Host::Gitea => gitea::webhook::decode(&incoming),
        Host::Local => Err(Malformed::NoEvent),
    }
}

/// Returns the JSON text of a delivery, in a form that every JSON parser takes: taken out of a form
/// body where the host sent one, lone surrogates made visible, and not too deeply nested.
pub fn json<'a>(headers: &HeaderMap, body: &'a [u8]) -> Result<Cow<'a, str>, Malformed> {
    body::json(headers, body)
}

/// What a host's decoder gets to see.
pub(crate) struct Incoming<'a> {
    pub(crate) headers: &'a HeaderMap,
    /// The body as it arrived.
    pub(crate) body: &'a [u8],
    pub(crate) payload: Node<'a>,
    pub(crate) origin: &'a Origin,
}
