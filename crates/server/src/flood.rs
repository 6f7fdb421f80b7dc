//! Counts wrong signatures per address, so that guessing is slowed down.
//!
//! The gateway asks only after a signature was found wrong: whoever knows the secret is never
//! counted and never held back. Memory is bounded whatever the number of addresses. An address is the
//! peer's own: headers in which a proxy names another one can be written by anybody and are not read.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// So many failures within [`WINDOW`] are answered as such; the next one is told to wait.
const FAILURES: usize = 60;

const WINDOW: Duration = Duration::from_mins(1);

/// Addresses remembered in each of the two generations.
const ADDRESSES: usize = 4096;

/// The failures of the last minute.
#[derive(Debug, Default)]
pub(crate) struct Flood {
    generations: Mutex<Generations>,
}

/// When the younger one is full it becomes the older one, whose addresses are forgotten unless they
/// fail again: an address that keeps failing is kept, and forgetting costs no search.
#[derive(Debug, Default)]
struct Generations {
    younger: HashMap<IpAddr, VecDeque<Duration>>,
    older: HashMap<IpAddr, VecDeque<Duration>>,
}

impl Flood {
    /// Counts a failure at the monotonic time `now`; returns how long the address should wait if it
    /// had failed too often before.
    pub(crate) fn failed(&self, address: IpAddr, now: Duration) -> Option<Duration> {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        let failures = generations.of(network(address));
        while failures.front().is_some_and(|earliest| now.saturating_sub(*earliest) >= WINDOW) {
            failures.pop_front();
        }
        failures.push_back(now);
        if failures.len() <= FAILURES {
            return None;
        }
        failures.pop_front();
        failures.front().map(|earliest| WINDOW.saturating_sub(now.saturating_sub(*earliest)))
    }
}

impl Generations {
    fn of(&mut self, network: IpAddr) -> &mut VecDeque<Duration> {
        if self.younger.len() >= ADDRESSES && !self.younger.contains_key(&network) {
            self.older = std::mem::take(&mut self.younger);
        }
        let known = self.older.remove(&network);
        self.younger.entry(network).or_insert_with(|| known.unwrap_or_default())
    }
}

/// One customer of an IPv6 network usually has a /64 of addresses to choose from.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn the_sixty_first_failure_within_a_minute_is_told_to_wait() {
        let flood = Flood::default();
        let guesser = address("192.0.2.1");
        for n in 0..60 {
            assert_eq!(flood.failed(guesser, SECOND * n / 2), None, "failure {n}");
        }
        // The first failure that still counts then was at half a second.
        assert_eq!(flood.failed(guesser, SECOND * 30), Some(SECOND * 61 / 2));
        assert_eq!(flood.failed(address("192.0.2.2"), SECOND * 30), None);
    }

    #[test]
    fn after_a_minute_of_silence_an_address_starts_anew() {
        let flood = Flood::default();
        let guesser = address("192.0.2.1");
        for _ in 0..61 {
            flood.failed(guesser, SECOND);
        }
        assert_eq!(flood.failed(guesser, SECOND * 60), Some(SECOND));
        assert_eq!(flood.failed(guesser, SECOND * 61), None);
    }

    #[test]
    fn an_ipv6_network_and_a_mapped_address_count_as_one() {
        let flood = Flood::default();
        for n in 0..60 {
            flood.failed(address(&format!("2001:db8:1:2::{n:x}")), SECOND);
            flood.failed(address("::ffff:192.0.2.1"), SECOND);
        }
        assert!(flood.failed(address("2001:db8:1:2:ffff::1"), SECOND).is_some());
        assert!(flood.failed(address("2001:db8:1:3::1"), SECOND).is_none());
        assert!(flood.failed(address("192.0.2.1"), SECOND).is_some());
    }

    #[test]
    fn memory_is_bounded_and_whoever_keeps_failing_is_not_forgotten() {
        let flood = Flood::default();
        let guesser = address("192.0.2.1");
        for n in 0..20_000_u32 {
            flood.failed(IpAddr::from(n.to_be_bytes()), SECOND);
            if n % 100 == 0 {
                flood.failed(guesser, SECOND);
            }
        }
        let generations = flood.generations.lock().unwrap();
        assert!(generations.younger.len() + generations.older.len() <= 2 * ADDRESSES);
        drop(generations);
        assert!(flood.failed(guesser, SECOND).is_some());
    }
}
