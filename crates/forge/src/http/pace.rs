//! How fast we write: at least a second apart, and within the public hosts' limits on content.
//!
//! Kept per process. Reads are never paced; a forge that limits them says so.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use domain::Clock;
use http::header::HeaderMap;
use serde::{Deserialize, Serialize};

use super::deadline::Deadline;
use crate::error::Error;

/// Whether writes are paced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// On for the public hosts, and for hosts that have sent rate-limit headers.
    #[default]
    Auto,
    On,
    Off,
}

/// What a write is to the person who waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Waits for its turn, a little while.
    Answer,
    /// A reaction: it goes if there is room at this moment, and no answer ever waits for it.
    Aside,
}

const SPACING: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
const PER_MINUTE: usize = 80;
/// GitCode counts all requests, 50 a minute. About one read goes with each write.
const PER_MINUTE_WITH_READS: usize = 25;
const PER_HOUR: usize = 500;
/// Hosts whose limits are known to bind everyone.
const PUBLIC: [&str; 9] = [
    "api.github.com",
    "github.com",
    "gitlab.com",
    "gitcode.com",
    "api.gitcode.com",
    "atomgit.com",
    "api.atomgit.com",
    "gitea.com",
    "codeberg.org",
];

/// Those of them that count reads too.
const COUNTING_READS: [&str; 4] =
    ["gitcode.com", "api.gitcode.com", "atomgit.com", "api.atomgit.com"];

/// The pace of one connection.
#[derive(Debug)]
pub(super) struct Pace {
    pacing: Pacing,
    /// The host is public, or has shown that it counts.
    limits: AtomicBool,
    turns: Mutex<Turns>,
    per_minute: usize,
}

/// The turns taken within the last hour, as moments of the monotonic clock, in order.
#[derive(Debug, Default)]
struct Turns {
    all: VecDeque<Duration>,
    last_answer: Option<Duration>,
}

impl Pace {
    pub(super) fn new(pacing: Pacing, host: &str) -> Self {
        let public = PUBLIC.contains(&host) || host.ends_with(".ghe.com");
        let per_minute = match COUNTING_READS.contains(&host) {
            true => PER_MINUTE_WITH_READS,
            false => PER_MINUTE,
        };
        Self { pacing, limits: AtomicBool::new(public), turns: Mutex::default(), per_minute }
    }

    /// Learns from any answer whether the host counts requests.
    pub(super) fn notice(&self, headers: &HeaderMap) {
        if headers.contains_key("x-ratelimit-limit") || headers.contains_key("ratelimit-limit") {
            self.limits.store(true, Ordering::Relaxed);
        }
    }

    /// Waits for the turn of a write, or says when there will be one.
    pub(super) async fn turn(
        &self,
        content: Content,
        clock: &dyn Clock,
        by: Deadline,
    ) -> Result<(), Error> {
        let on = match self.pacing {
            Pacing::On => true,
            Pacing::Off => false,
            Pacing::Auto => self.limits.load(Ordering::Relaxed),
        };
        if !on {
            return Ok(());
        }
        let longest = match content {
            // The caller holds a lease meanwhile (E5): whoever would wait longer is told when to
            // come back, and half of the time stays for the request itself.
            Content::Answer => by.left(clock).unwrap_or_default() / 2,
            Content::Aside => Duration::ZERO,
        };
        let turn = {
            let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
            turns.take(content, self.per_minute, clock.monotonic(), longest)
        };
        match turn {
            Ok(Duration::ZERO) => Ok(()),
            Ok(wait) => {
                clock.sleep_until(clock.now() + wait).await;
                Ok(())
            }
            Err(wait) => Err(Error::Paced { until: clock.now() + wait }),
        }
    }
}

impl Turns {
    /// Takes the next turn and returns the wait until then; if that is longer than `longest`,
    /// takes none and returns the wait as an error.
    fn take(
        &mut self,
        content: Content,
        per_minute: usize,
        now: Duration,
        longest: Duration,
    ) -> Result<Duration, Duration> {
        while self.all.front().is_some_and(|turn| *turn + HOUR <= now) {
            self.all.pop_front();
        }
        // Asides leave half of the room to answers, and answers do not keep their distance to
        // asides: so no answer waits for its reaction.
        let (last, share) = match content {
            Content::Answer => (self.last_answer, 1),
            Content::Aside => (self.all.back().copied(), 2),
        };
        let mut turn = last.map_or(now, |last| now.max(last + SPACING));
        for (limit, window) in [(per_minute / share, MINUTE), (PER_HOUR / share, HOUR)] {
            if let Some(oldest) = self.all.len().checked_sub(limit).and_then(|at| self.all.get(at))
            {
                turn = turn.max(*oldest + window);
            }
        }
        let wait = turn.saturating_sub(now);
        if wait > longest {
            return Err(wait);
        }
        let place = self.all.partition_point(|earlier| *earlier <= turn);
        self.all.insert(place, turn);
        if content == Content::Answer {
            self.last_answer = Some(turn);
        }
        Ok(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(7200);

    fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn answers_are_a_second_apart() {
        let mut turns = Turns::default();
        assert_eq!(turns.take(Content::Answer, PER_MINUTE, seconds(10), LONG), Ok(seconds(0)));
        assert_eq!(turns.take(Content::Answer, PER_MINUTE, seconds(10), LONG), Ok(seconds(1)));
        assert_eq!(turns.take(Content::Answer, PER_MINUTE, seconds(10), LONG), Ok(seconds(2)));
        assert_eq!(turns.take(Content::Answer, PER_MINUTE, seconds(20), LONG), Ok(seconds(0)));
    }

    #[test]
    fn no_minute_has_more_than_eighty_and_no_hour_more_than_five_hundred() {
        let mut turns = Turns::default();
        let mut now = Duration::ZERO;
        let mut taken = Vec::new();
        for _ in 0..1200 {
            now += turns.take(Content::Answer, PER_MINUTE, now, LONG).unwrap();
            taken.push(now);
        }
        for (window, limit) in [(MINUTE, PER_MINUTE), (HOUR, PER_HOUR)] {
            for (at, begin) in taken.iter().enumerate() {
                let within = taken[at..].iter().take_while(|turn| **turn < *begin + window).count();
                assert!(within <= limit, "{within} within {window:?}");
            }
        }
    }

    #[test]
    fn a_host_that_counts_reads_gets_fewer_writes() {
        assert_eq!(Pace::new(Pacing::Auto, "api.gitcode.com").per_minute, PER_MINUTE_WITH_READS);
        assert_eq!(Pace::new(Pacing::Auto, "api.github.com").per_minute, PER_MINUTE);
        let mut turns = Turns::default();
        let mut now = Duration::ZERO;
        for _ in 0..=PER_MINUTE_WITH_READS {
            now += turns.take(Content::Answer, PER_MINUTE_WITH_READS, now, LONG).unwrap();
        }
        assert_eq!(now, MINUTE);
    }

    #[test]
    fn a_turn_too_far_away_is_not_taken() {
        let mut turns = Turns::default();
        assert_eq!(turns.take(Content::Answer, PER_MINUTE, seconds(0), seconds(0)), Ok(seconds(0)));
        assert_eq!(
            turns.take(Content::Answer, PER_MINUTE, seconds(0), seconds(0)),
            Err(seconds(1))
        );
        assert_eq!(
            turns.take(Content::Answer, PER_MINUTE, seconds(0), seconds(0)),
            Err(seconds(1))
        );
        assert_eq!(turns.all.len(), 1);
    }

    #[test]
    fn an_answer_never_waits_for_its_reaction() {
        let mut turns = Turns::default();
        assert_eq!(turns.take(Content::Aside, PER_MINUTE, seconds(0), seconds(0)), Ok(seconds(0)));
        assert_eq!(turns.take(Content::Answer, PER_MINUTE, seconds(0), LONG), Ok(seconds(0)));
        assert_eq!(turns.take(Content::Aside, PER_MINUTE, seconds(0), seconds(0)), Err(seconds(1)));
        // However many reactions there are, half of every window is left.
        let mut turns = Turns::default();
        let went = (0..600)
            .filter(|n| turns.take(Content::Aside, PER_MINUTE, seconds(*n), Duration::ZERO).is_ok())
            .count();
        assert_eq!(went, PER_HOUR / 2);
        assert_eq!(turns.take(Content::Answer, PER_MINUTE, seconds(600), LONG), Ok(seconds(0)));
    }

    #[test]
    fn public_hosts_are_paced_and_others_once_they_count() {
        let on = |pace: &Pace| pace.limits.load(Ordering::Relaxed);
        assert!(on(&Pace::new(Pacing::Auto, "api.github.com")));
        assert!(on(&Pace::new(Pacing::Auto, "api.acme.ghe.com")));
        let own = Pace::new(Pacing::Auto, "git.example");
        assert!(!on(&own));
        own.notice(&HeaderMap::new());
        assert!(!on(&own));
        own.notice(&HeaderMap::from_iter([(
            http::HeaderName::from_static("x-ratelimit-limit"),
            http::HeaderValue::from_static("5000"),
        )]));
        assert!(on(&own));
    }
}
