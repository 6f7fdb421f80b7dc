//! The world that tests Patchwright. It never ships.
//!
//! [`forge`] is a fake forge that a real adapter talks to over HTTP, [`github`] its face and its
//! deliveries, [`thread`] its conversations as text, [`clock`] time that a test moves by hand.

pub mod clock;
pub mod forge;
pub mod fuzz;
pub mod github;
pub mod thread;

pub use self::forge::FakeForge;
pub use clock::{HandClock, WallClock};
pub use github::SignedDelivery;
