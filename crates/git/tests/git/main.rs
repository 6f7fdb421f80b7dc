//! git against real remotes: a server of git's own over HTTP, and folders.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests make repositories with plain git, and a rig that breaks is a test that fails"
)]

mod fetching;
mod hostile;
mod pushing;
mod reading;
mod rig;
mod secrecy;
mod server;
mod space;
