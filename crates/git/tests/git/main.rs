//! git against real remotes: a server of git's own over HTTP, and folders.

#![expect(
    clippy::disallowed_methods,
    reason = "tests make repositories with plain git and find it through the environment"
)]

mod fetching;
mod hostile;
mod pushing;
mod reading;
mod rig;
mod secrecy;
mod server;
mod space;
