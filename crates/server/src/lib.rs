//! The gateway and the admin API: everything that this program answers over HTTP.
//!
//! [`serve()`] listens, [`router()`] knows every route. A delivery goes through [`webhook`]: read within
//! limits, verified, decoded, made durable by `engine::ingest`, answered; no network call is made on
//! this way (T1). What an operator may see and order stands in [`admin`] and [`events`], behind
//! [`guard`] (T10). [`access`] is around all of it.
//!
//! **Invariant.** An answer never carries the internals of a failure: it carries an id, and the log
//! has the rest under it. Nothing here decides what an event means.

mod access;
mod admin;
mod answer;
mod app;
mod body;
mod error;
mod events;
mod flood;
mod guard;
mod job;
mod metrics;
mod openapi;
#[cfg(test)]
mod rig;
mod router;
mod serve;
mod status;
mod webhook;

pub use app::{App, Limits};
pub use router::router;
pub use serve::serve;

/// Returns the description of the interface (`OpenAPI` 3.1) as JSON.
pub fn openapi() -> String {
    router::described()
}
