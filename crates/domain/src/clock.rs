//! The one source of time: the wall clock in production, a hand-moved one in tests.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;

use crate::time::Time;

#[async_trait]
pub trait Clock: Send + Sync + Debug {
    /// Returns the time of day. It may jump.
    fn now(&self) -> Time;

    /// Returns the time since some fixed moment of this process. It never jumps back, and goes on
    /// while the process is stopped (E5).
    fn monotonic(&self) -> Duration;

    /// Waits until `at`.
    async fn sleep_until(&self, at: Time);
}
