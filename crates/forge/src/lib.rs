//! Code hosts, in the words of the domain.
//!
//! Incoming: [`webhook`] verifies a delivery and decodes it into a [`domain::Event`].
//! Outgoing: [`Read`] asks for the conversation and the facts, [`Write`] sends publications.
//! Each host is one file with its `wire` (JSON shapes, which never leave it) and its `webhook`; what
//! it lacks is told by its [`Capabilities`], and the next best thing is found once, in `write`.
//!
//! What other tools offer as methods of a platform has its counterpart here:
//!
//! | method | here |
//! |---|---|
//! | `get_issue` | [`Read::issue`] |
//! | `comment_issue`, `comment_pr` | [`Effect::Comment`](domain::publication::Effect::Comment), sent by [`Write::send`] |
//! | `create_pr` | [`Effect::Change`](domain::publication::Effect::Change) |
//! | `update_pr_body` | [`Effect::Describe`](domain::publication::Effect::Describe): our block only |
//! | `mark_pr_ready` | [`Effect::Ready`](domain::publication::Effect::Ready) |
//! | `get_repo`, `get_default_branch` | [`Read::repository`] |
//! | `create_branch` | [`Effect::Branch`](domain::publication::Effect::Branch) |
//! | `create_or_update_file` | [`Effect::File`](domain::publication::Effect::File), where git cannot push |
//! | `get_file_content` | from git, for every forge |
//! | `get_token` | [`Read::git_access`]: an App's installation before a personal token |
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
