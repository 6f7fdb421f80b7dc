//! The wall clock: the only place that reads time. Tests use a clock that is moved by hand.

use std::time::Duration;

use async_trait::async_trait;
use domain::{Clock, Time};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Real time, as this machine tells it.
#[derive(Clone, Copy, Debug, Default)]
pub struct WallClock;

/// The longest sleep without a look at the clock: the time of day may jump, and the machine may
/// have been suspended.
const LONGEST_NAP: Duration = Duration::from_secs(30);

#[async_trait]
impl Clock for WallClock {
    fn now(&self) -> Time {
        let now = clock_gettime(ClockId::Realtime);
        Time(now.tv_sec.saturating_mul(1_000).saturating_add(now.tv_nsec / 1_000_000))
    }

    fn monotonic(&self) -> Duration {
        since_boot()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the one place that waits for real time")]
    async fn sleep_until(&self, at: Time) {
        loop {
            let left = at.since(self.now());
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.min(LONGEST_NAP)).await;
        }
    }
}

/// Counts on while the process is stopped and, on Linux, while the machine is suspended (E5).
fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Boottime);
    #[cfg(not(target_os = "linux"))]
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(tv_sec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(u64::try_from(tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_day_is_after_this_was_written() {
        assert!(WallClock.now() > Time(1_700_000_000_000));
    }

    #[test]
    fn e5_monotonic_time_never_goes_back() {
        let first = WallClock.monotonic();
        assert!(WallClock.monotonic() >= first);
        assert!(first > Duration::ZERO);
    }

    #[tokio::test]
    async fn sleeping_until_a_moment_ends_after_it() {
        let at = WallClock.now() + Duration::from_millis(5);
        WallClock.sleep_until(at).await;
        assert!(WallClock.now() >= at);
    }
}
