//! The nouns and the decisions of Patchwright.
//!
//! Read the modules in the order in which a delivery meets them:
//!
//! 1. [`repo`], [`actor`], [`subject`]: who and where. Identity is numeric; names are labels.
//! 2. [`event`]: everything that can happen, as one closed enum in forge-neutral words.
//! 3. [`command`]: what a person asked for with `@bot …`, found by a grammar.
//! 4. [`policy`] and [`mod@route`]: `(Event, Policy) -> Decision`, the closed table of the product.
//! 5. [`task`] and [`job`]: what to do, and the durable request to do it with its legal states.
//! 6. [`publication`]: what is to be seen on the forge, as a value with a slot; its receipt.
//! 7. [`path`], [`mod@diff`], [`anchor`]: what changed in which file, and where a remark on it sits.
//! 8. [`record`], [`budget`]: what was done and what it may cost.
//! 9. [`journal`] and [`clock`]: the two tiny ports that a workflow remembers and waits through.
//!
//! **Where things go.** A new forge adds nothing here: it decodes into [`event::Event`] and sends
//! [`publication::Publication`]s. A new command is a variant of [`command::Command`], a row of its
//! grammar and a row of [`route::route`]. A new workflow is a variant of [`task::Work`], a row of
//! `route`, and a module in the crate `workflow` with its name in `workflow::AVAILABLE`; the compiler
//! names the other places that must know it.
//!
//! **Invariant.** Nothing here performs IO, reads a clock, draws a random number, or knows the JSON
//! of a forge or a vendor. The current time is always an argument. Values that are stored derive
//! serde and are tagged; their shape is a promise kept by the golden files of the crate `store`.

pub mod actor;
pub mod anchor;
pub mod budget;
pub mod clock;
pub mod command;
pub mod diff;
pub mod event;
pub mod job;
pub mod journal;
pub mod path;
pub mod policy;
pub mod publication;
pub mod record;
pub mod repo;
pub mod route;
pub mod subject;
pub mod task;
pub mod time;
pub mod unseen;

pub use actor::{AccountId, Actor};
pub use clock::Clock;
pub use event::Event;
pub use job::{Job, JobId};
pub use journal::Journal;
pub use path::FilePath;
pub use policy::Policy;
pub use publication::{Publication, Receipt, Slot};
pub use repo::{Origin, Repo, RepoKey};
pub use route::{Decision, route};
pub use subject::{Lane, Subject, SubjectKind};
pub use task::Task;
pub use time::Time;
