//! Numbers of several rounds, and how a person reads them.

use std::fmt;
use std::time::Duration;

/// One number, measured in several rounds.
#[derive(Clone, Debug, Default)]
pub(super) struct Figure {
    rounds: Vec<f64>,
}

impl Figure {
    pub(super) fn add(&mut self, value: f64) {
        self.rounds.push(value);
        self.rounds.sort_unstable_by(f64::total_cmp);
    }

    /// Returns the number in the middle, the lower one of two.
    pub(super) fn median(&self) -> f64 {
        self.rounds.get(self.rounds.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
    }

    fn least(&self) -> f64 {
        self.rounds.first().copied().unwrap_or(f64::NAN)
    }

    fn most(&self) -> f64 {
        self.rounds.last().copied().unwrap_or(f64::NAN)
    }
}

/// The median, and the spread in brackets.
impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(0);
        write!(f, "{:.digits$} [{:.digits$}–{:.digits$}]", self.median(), self.least(), self.most())
    }
}

/// Returns the time that `share` of all do not exceed, in milliseconds.
pub(super) fn percentile_ms(sorted: &[Duration], share: f64) -> f64 {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    let time = sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default();
    time.as_secs_f64() * 1000.0
}

/// What we would like a number to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Aim {
    AtLeast(f64),
    Under(f64),
}

impl Aim {
    /// Says what the aim is and whether it was met.
    pub(super) fn judge(self, value: f64) -> String {
        let (aim, met) = match self {
            Self::AtLeast(least) => (format!("at least {least}"), value >= least),
            Self::Under(most) => (format!("under {most}"), value < most),
        };
        format!("aim: {aim}, {}", if met { "met" } else { "missed" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_shows_its_median_and_its_spread() {
        let mut figure = Figure::default();
        for round in [3.0, 1.0, 2.0] {
            figure.add(round);
        }
        assert_eq!(format!("{figure:.1}"), "2.0 [1.0–3.0]");
        figure.add(9.0);
        assert_eq!(format!("{figure}"), "2 [1–9]");
    }

    #[test]
    fn percentiles_are_times_that_were_really_measured() {
        let times: Vec<_> = (1..=200).map(Duration::from_millis).collect();
        assert_eq!(percentile_ms(&times, 0.5), 100.0);
        assert_eq!(percentile_ms(&times, 0.99), 198.0);
        assert_eq!(percentile_ms(&times[..1], 0.99), 1.0);
        assert_eq!(percentile_ms(&[], 0.99), 0.0);
    }

    #[test]
    fn an_aim_says_whether_it_was_met() {
        assert_eq!(Aim::AtLeast(0.7).judge(0.7), "aim: at least 0.7, met");
        assert_eq!(Aim::Under(20.0).judge(20.0), "aim: under 20, missed");
    }
}
