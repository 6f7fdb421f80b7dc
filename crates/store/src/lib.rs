//! What must survive: deliveries, jobs, attempts, checkpoints, journal, outbox, receipts, records
//! and artifacts, on SQLite by default and on PostgreSQL for a fleet.
//!
//! [`Store`] is the only entry. Every operation is one *synchronous* function over [`db::Db`], run as
//! one transaction: it cannot wait for a model, a forge or a command while the transaction is open,
//! because it cannot wait at all (H5). The same function and the same SQL text serve both databases;
//! [`db`] knows the few words in which they differ.
//!
//! Where things are: [`intake`] takes deliveries; [`claim`], [`settle`] and [`sweep`] carry a job from
//! queued to final; [`outbox`] carries publications to the forge; [`lane`] keeps the order of both;
//! [`journal`] is a job's memory and record; [`breaker`] holds back what a shared outage would waste;
//! [`job`] answers questions and takes an operator's orders.
//!
//! **Invariant.** No SQL type leaves this crate, and nothing here decides what a task means.

pub mod breaker;
pub mod budget;
pub mod claim;
pub mod db;
pub mod error;
pub mod intake;
pub mod job;
pub mod journal;
pub mod lane;
pub mod outbox;
pub mod owner;
pub mod schema;
pub mod settle;
mod store;
pub mod sweep;
pub mod text;
pub mod watermark;

pub use claim::{Claimed, Hands};
pub use error::Error;
pub use intake::{Accepted, Intake};
pub use owner::Owner;
pub use settle::Settlement;
pub use store::{Apologise, Place, Store, TimeSource};
