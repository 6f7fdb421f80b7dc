//! What the forge is like from moment to moment: it lags, limits, breaks off and loses answers.

use std::time::{Duration, Instant};

use domain::Clock;

use super::dice::Dice;
use crate::WallClock;
use crate::forge::{FakeForge, Fault, Lag, Limit, Often, On, Outage};

/// The longest time for which a new comment stays out of listings. Together with the time for which
/// a request is held it stays well below the configured `look-for`.
const LONGEST_LAG: u64 = 2500;

/// The faults of single requests that weather sets.
const FAULTS: [Fault; 4] =
    [Fault::CutBefore, Fault::FailBefore, Fault::LoseAnswer, Fault::BreakAnswer];

#[derive(Debug)]
pub(super) struct Weather {
    dice: Dice,
    clock: WallClock,
    until: Instant,
}

impl Weather {
    pub(super) fn new(dice: Dice) -> Self {
        Self { dice, clock: WallClock::default(), until: Instant::now() }
    }

    /// Lets the weather change when its time has come.
    pub(super) fn pass(&mut self, forge: &FakeForge, runtime: &tokio::runtime::Handle) {
        if Instant::now() < self.until {
            return;
        }
        Self::clear(forge, runtime);
        self.until = Instant::now() + self.dice.millis(1200, 3000);
        let faults = forge.faults();
        faults.slow(self.dice.millis(2, 25));
        if self.dice.percent(60) {
            let lag = self.dice.millis(100, LONGEST_LAG).as_millis();
            forge.lags(Lag::Milliseconds(u64::try_from(lag).unwrap_or(LONGEST_LAG)));
        }
        for fault in FAULTS {
            if self.dice.percent(20) {
                faults.add(fault, On::Writes, Often::InThousand(200));
            }
        }
        match self.dice.below(100) {
            0..10 => {
                let limit = *self.dice.pick(&[Limit::TooMany, Limit::Secondary]);
                faults.limit(limit, self.clock.now() + self.dice.millis(400, 1000));
            }
            10..18 => {
                let outage = *self.dice.pick(&[Outage::Refusing, Outage::Unavailable]);
                runtime.block_on(faults.outage(outage));
                self.until = Instant::now() + self.dice.millis(200, 700);
            }
            _ => {}
        }
    }

    /// Makes everything well. Requests that are held stay held.
    pub(super) fn clear(forge: &FakeForge, runtime: &tokio::runtime::Handle) {
        let faults = forge.faults();
        for fault in FAULTS {
            faults.add(fault, On::Writes, Often::Next(0));
        }
        faults.lift_limit();
        faults.slow(Duration::ZERO);
        forge.lags(Lag::None);
        runtime.block_on(faults.outage(Outage::None));
    }
}
