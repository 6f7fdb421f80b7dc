//! Deliveries: whose they are, whether they are authentic, and what they say.

use domain::Event;

use crate::host::Host;

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
