//! The moments in the life of a delivery at which a process is struck, and how often each was.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// Where a delivery was when a process was killed or stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Its request had reached the gateway and its transaction was not committed.
    BeforeCommit,
    /// It was committed, and the forge had no answer yet.
    Unanswered,
    /// It was answered 202, and nobody had claimed its job.
    Accepted,
    /// Its job ran, in the process that was struck.
    InStage,
    /// Its job was settled, and its answer waited in the outbox.
    Unsent,
    /// Its comment was on the way: the forge had the request and had not answered it.
    InCall,
    /// Another moment than the one that was aimed at.
    Elsewhere,
}

/// What is done to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blow {
    /// SIGKILL; it is started again at once.
    Kill,
    /// SIGSTOP, and SIGCONT after so long.
    Stop(Duration),
}

impl Phase {
    /// Those that every whole run must have struck several times.
    pub(super) const AIMS: [Self; 5] =
        [Self::BeforeCommit, Self::Accepted, Self::InStage, Self::Unsent, Self::InCall];

    pub(super) fn key(self) -> &'static str {
        match self {
            Self::BeforeCommit => "before_commit",
            Self::Unanswered => "unanswered",
            Self::Accepted => "accepted_phase",
            Self::InStage => "in_stage",
            Self::Unsent => "unsent",
            Self::InCall => "in_call",
            Self::Elsewhere => "elsewhere",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::BeforeCommit => "before commit",
            Self::Unanswered => "committed, not answered",
            Self::Accepted => "accepted, not claimed",
            Self::InStage => "in a stage",
            Self::Unsent => "settled but unsent",
            Self::InCall => "during the forge's call",
            Self::Elsewhere => "elsewhere",
        }
    }
}

/// How often each phase was struck.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    kills: BTreeMap<Phase, u32>,
    stops: BTreeMap<Phase, u32>,
    /// Stops that outlasted every lease.
    pub(super) long_stops: u32,
}

impl Tally {
    pub(super) fn count(&mut self, phase: Phase, blow: Blow) {
        let counts = match blow {
            Blow::Kill => &mut self.kills,
            Blow::Stop(length) => {
                self.long_stops += u32::from(length > store::claim::LEASE);
                &mut self.stops
            }
        };
        *counts.entry(phase).or_default() += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (ours, theirs) in [(&mut self.kills, &other.kills), (&mut self.stops, &other.stops)] {
            for (phase, count) in theirs {
                *ours.entry(*phase).or_default() += count;
            }
        }
        self.long_stops += other.long_stops;
    }

    pub(super) fn kills(&self) -> u32 {
        self.kills.values().sum()
    }

    pub(super) fn stops(&self) -> u32 {
        self.stops.values().sum()
    }

    pub(super) fn kills_in(&self, phase: Phase) -> u32 {
        self.kills.get(&phase).copied().unwrap_or(0)
    }

    pub(super) fn stops_in(&self, phase: Phase) -> u32 {
        self.stops.get(&phase).copied().unwrap_or(0)
    }

    /// Prints a table for people.
    pub(super) fn table(&self) -> String {
        let mut text = format!("  {:<26}{:>6}{:>6}\n", "phase", "kills", "stops");
        for phase in Phase::AIMS.into_iter().chain([Phase::Unanswered, Phase::Elsewhere]) {
            let (kills, stops) = (self.kills_in(phase), self.stops_in(phase));
            // Writing to a string cannot fail.
            writeln!(text, "  {:<26}{kills:>6}{stops:>6}", phase.words()).unwrap_or(());
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_and_stops_are_counted_apart_and_by_phase() {
        let mut tally = Tally::default();
        tally.count(Phase::InCall, Blow::Kill);
        tally.count(Phase::InCall, Blow::Kill);
        tally.count(Phase::InStage, Blow::Stop(Duration::from_secs(2)));
        let mut other = Tally::default();
        other.count(Phase::InCall, Blow::Stop(Duration::from_secs(40)));
        tally.add(&other);
        assert_eq!((tally.kills(), tally.stops(), tally.long_stops), (2, 2, 1));
        assert_eq!((tally.kills_in(Phase::InCall), tally.stops_in(Phase::InCall)), (2, 1));
        assert!(tally.table().contains("during the forge's call        2     1\n"));
    }
}
