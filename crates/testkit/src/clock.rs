//! Two clocks: one that only a test moves, and the real one for drivers.
//!
//! A [`World`](crate) gives the hand-moved clock to everything that waits, so that an hour of outage
//! takes no time and a test never sleeps. Neither is meant for production code.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use domain::{Clock, Time};
use tokio::sync::{oneshot, watch};

/// The moment at which a hand-moved clock starts: the first second of 2026, UTC.
pub const START: Time = Time(1_767_225_600_000);

/// A clock that stands still until somebody moves it.
#[derive(Debug)]
pub struct HandClock {
    state: Mutex<State>,
    /// The number of sleepers, for those who wait for it to change.
    sleepers: watch::Sender<usize>,
}

#[derive(Debug)]
struct State {
    now: Time,
    monotonic: Duration,
    next: u64,
    /// By deadline, and among equals by the order in which they lay down.
    sleepers: BTreeMap<(Time, u64), oneshot::Sender<()>>,
}

impl Default for HandClock {
    fn default() -> Self {
        Self::at(START)
    }
}

impl HandClock {
    /// Returns a clock that stands at `now`.
    pub fn at(now: Time) -> Self {
        Self {
            state: Mutex::new(State {
                now,
                monotonic: Duration::ZERO,
                next: 0,
                sleepers: BTreeMap::new(),
            }),
            sleepers: watch::Sender::new(0),
        }
    }

    /// Moves the clock on and wakes, in the order of their deadlines, all whose time has come.
    pub fn advance(&self, by: Duration) {
        let state = &mut *self.lock();
        state.now = state.now + by;
        state.monotonic += by;
        while let Some(sleeper) = state.sleepers.first_entry() {
            if sleeper.key().0 > state.now {
                break;
            }
            // A sleeper that gave up meanwhile has nobody to tell.
            sleeper.remove().send(()).unwrap_or(());
        }
        self.sleepers.send_replace(state.sleepers.len());
    }

    /// Moves the clock to the next deadline that somebody waits for. `None` if nobody waits.
    pub fn advance_to_next_wake(&self) -> Option<Time> {
        let at = self.next_wake()?;
        self.advance(at.since(self.now()));
        Some(at)
    }

    /// Returns the earliest deadline that somebody waits for.
    pub fn next_wake(&self) -> Option<Time> {
        self.lock().sleepers.first_key_value().map(|((at, _), _)| *at)
    }

    /// Returns how many wait for this clock.
    pub fn pending_sleepers(&self) -> usize {
        self.lock().sleepers.len()
    }

    /// Waits until at least `count` wait for this clock.
    pub async fn until_sleepers(&self, count: usize) {
        // The sender lives as long as `self`, so the wait cannot end otherwise.
        self.sleepers.subscribe().wait_for(|now| *now >= count).await.map(drop).unwrap_or(());
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lie_down(&self, at: Time) -> Option<(Bed<'_>, oneshot::Receiver<()>)> {
        let mut state = self.lock();
        if at <= state.now {
            return None;
        }
        let key = (at, state.next);
        state.next += 1;
        let (wake, woken) = oneshot::channel();
        state.sleepers.insert(key, wake);
        self.sleepers.send_replace(state.sleepers.len());
        Some((Bed { clock: self, key }, woken))
    }
}

#[async_trait]
impl Clock for HandClock {
    fn now(&self) -> Time {
        self.lock().now
    }

    fn monotonic(&self) -> Duration {
        self.lock().monotonic
    }

    async fn sleep_until(&self, at: Time) {
        if let Some((_bed, woken)) = self.lie_down(at) {
            // Nobody drops a sleeper's sender but by waking it or with the clock itself.
            woken.await.unwrap_or(());
        }
    }
}

/// Takes the sleeper out of the list however its sleep ends.
#[derive(Debug)]
struct Bed<'a> {
    clock: &'a HandClock,
    key: (Time, u64),
}

impl Drop for Bed<'_> {
    fn drop(&mut self) {
        let mut state = self.clock.lock();
        state.sleepers.remove(&self.key);
        self.clock.sleepers.send_replace(state.sleepers.len());
    }
}

/// The real time, for drivers that run real processes.
#[derive(Debug)]
pub struct WallClock {
    start: Instant,
}

#[expect(clippy::disallowed_methods, reason = "this is the clock of the drivers: time enters here")]
mod wall {
    use super::*;

    impl Default for WallClock {
        fn default() -> Self {
            Self { start: Instant::now() }
        }
    }

    #[async_trait]
    impl Clock for WallClock {
        fn now(&self) -> Time {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Time(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
        }

        fn monotonic(&self) -> Duration {
            self.start.elapsed()
        }

        async fn sleep_until(&self, at: Time) {
            tokio::time::sleep(at.since(self.now())).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test]
    async fn a_sleeper_wakes_when_its_time_has_come_and_not_before() {
        let clock = Arc::new(HandClock::default());
        let sleeper = {
            let clock = Arc::clone(&clock);
            tokio::spawn(async move { clock.sleep_until(START + Duration::from_secs(10)).await })
        };
        clock.until_sleepers(1).await;
        clock.advance(Duration::from_secs(9));
        assert_eq!(clock.pending_sleepers(), 1);
        assert_eq!(clock.next_wake(), Some(START + Duration::from_secs(10)));
        assert_eq!(clock.advance_to_next_wake(), Some(START + Duration::from_secs(10)));
        sleeper.await.unwrap();
        assert_eq!(clock.pending_sleepers(), 0);
        assert_eq!(clock.monotonic(), Duration::from_secs(10));
    }

    #[tokio::test]
    async fn a_sleep_that_is_given_up_leaves_no_sleeper_behind() {
        let clock = HandClock::default();
        {
            let sleep = clock.sleep_until(START + Duration::from_secs(1));
            tokio::pin!(sleep);
            assert!(futures_util::poll!(&mut sleep).is_pending());
            assert_eq!(clock.pending_sleepers(), 1);
        }
        assert_eq!(clock.pending_sleepers(), 0);
        assert_eq!(clock.advance_to_next_wake(), None);
    }

    #[tokio::test]
    async fn a_moment_that_has_passed_is_not_waited_for() {
        let clock = HandClock::default();
        clock.sleep_until(START).await;
        assert_eq!(clock.now(), START);
    }
}
