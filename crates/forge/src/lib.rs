//! Code hosts, in the words of the domain.
//!
//! Incoming: [`webhook`] verifies a delivery and decodes it into a [`domain::Event`].
//! Outgoing: [`Read`] asks for the conversation and the facts, [`Write`] sends publications.
//! Each host is one file with its `wire` (JSON shapes, which never leave it) and its `webhook`.
//!
//! **Invariant.** No host's JSON leaves its `wire` or `webhook` module. Nothing here runs git.

pub mod capability;
pub mod error;
pub mod gitcode;
pub mod gitea;
pub mod github;
pub mod gitlab;
pub mod host;
pub mod http;
pub mod local;
pub mod ours;
pub mod port;
#[cfg(test)]
mod rig;
pub mod webhook;
mod write;

pub use capability::Capabilities;
pub use error::{Error, Retry};
pub use host::Host;
pub use ours::Ours;
pub use port::{Look, Permission, Read, Said, Write};
