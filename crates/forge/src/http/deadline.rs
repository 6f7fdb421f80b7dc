//! The moment by which a request must be over, on the clock that never jumps (E5).

use std::time::Duration;

use domain::Clock;

use super::REQUEST_DEADLINE;
use crate::port::Together;

/// A moment of [`Clock::monotonic`]. Sending a publication has one for all its requests together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Duration);

impl Deadline {
    /// Returns the deadline of something that begins now.
    pub(crate) fn starting(clock: &dyn Clock) -> Self {
        Self(clock.monotonic() + REQUEST_DEADLINE)
    }

    /// Returns the deadline of comments that travel together from now on.
    pub(crate) fn in_time(clock: &dyn Clock, together: Together, comments: usize) -> Self {
        Self(clock.monotonic() + together.deadline(comments))
    }

    /// Returns the time that is left, `None` once it is over.
    pub(crate) fn left(self, clock: &dyn Clock) -> Option<Duration> {
        self.0.checked_sub(clock.monotonic()).filter(|left| !left.is_zero())
    }
}
