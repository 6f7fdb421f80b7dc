//! What a day of automatic work may cost a repository (J5), as a pure count.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::time::Time;

/// A limit of jobs per day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// Jobs that one repository may start in a day.
    pub repository: u32,
    /// Jobs that one author without write permission may cause in a day, on one repository.
    pub stranger: u32,
}

impl Default for Budget {
    fn default() -> Self {
        Self { repository: 2_000, stranger: 100 }
    }
}

/// What counting one more job against a budget says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spent {
    Within,
    /// This job is the first beyond the limit: it is told once.
    JustExhausted,
    Exhausted,
}

/// Compares the count of this day, the new job included, with the limit. A limit of zero is none.
pub fn spend(limit: u32, count: u32) -> Spent {
    match limit {
        0 => Spent::Within,
        _ if count <= limit => Spent::Within,
        _ if count == limit.saturating_add(1) => Spent::JustExhausted,
        _ => Spent::Exhausted,
    }
}

/// Returns the number of the day (UTC) that a moment falls in: budgets are kept per day.
pub fn day(now: Time) -> i64 {
    const DAY: i64 = Duration::from_hours(24).as_millis() as i64;
    now.0.div_euclid(DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhaustion_is_told_once() {
        let told: Vec<_> = (1..=5).map(|count| spend(3, count)).collect();
        assert_eq!(
            told,
            [Spent::Within, Spent::Within, Spent::Within, Spent::JustExhausted, Spent::Exhausted]
        );
    }

    #[test]
    fn a_limit_of_zero_is_no_limit() {
        assert_eq!(spend(0, u32::MAX), Spent::Within);
    }

    #[test]
    fn a_day_ends_at_midnight_utc_also_before_the_epoch() {
        assert_eq!(day(Time(0)), 0);
        assert_eq!(day(Time(86_399_999)), 0);
        assert_eq!(day(Time(86_400_000)), 1);
        assert_eq!(day(Time(-1)), -1);
    }
}
