//! The spine: a delivery becomes a durable job, the job runs, its publications are sent once.
//!
//! [`ingest`] takes deliveries (verify, decode, route, one transaction); [`worker`] claims jobs and
//! runs their stages; [`publish`] sends what they published; [`schedule`] does what must happen
//! although nobody asks; [`Engine`] starts and stops all of it.
//!
//! **Invariant.** No product logic: what a task means is decided by `domain::route`, what is done
//! about it by `workflow`. Here is only when, how often and in which order.

pub mod connection;
mod discretion;
mod engine;
mod heartbeat;
pub mod ingest;
mod journal;
pub mod publish;
mod push;
pub mod reconcile;
pub mod schedule;
pub mod speaker;
pub mod worker;

pub use connection::{Connection, Connections};
pub use engine::{Engine, Tempo, learn_account, learn_accounts};
pub use ingest::{Answer, Door, Ingest};
pub use speaker::Speaker;
