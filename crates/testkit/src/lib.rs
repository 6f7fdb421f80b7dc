//! The world that tests Patchwright. It never ships.
//!
//! [`forge`] is a fake forge that a real adapter talks to over HTTP; [`github`], [`gitlab`],
//! [`gitcode`] and `gitea` are its faces and their deliveries, [`signature`] how every forge signs,
//! [`description`] what hosts publish of their APIs,
//! [`thread`] its conversations as text, [`clock`] time that a test moves by hand;
//! [`world`] puts the whole product around it; [`mod@bench`] measures it, [`chaos`] kills it,
//! and [`e2e`] puts it before people and a real forge.

pub mod bench;
pub mod chaos;
pub mod clock;
pub mod description;
pub mod e2e;
pub mod forge;
pub mod fuzz;
pub mod gitcode;
mod gitea;
pub mod github;
pub mod gitlab;
mod nest;
pub mod signature;
pub mod thread;
pub mod world;

pub use self::forge::FakeForge;
pub use clock::{HandClock, WallClock};
pub use github::SignedDelivery;
pub use world::World;
