//! Everything random of a run, from one seed. What the machine adds by its own timing stays random.

use std::time::Duration;

use crate::forge::SplitMix;

#[derive(Debug)]
pub(super) struct Dice(SplitMix);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(SplitMix(seed))
    }

    /// Returns another row of numbers that follows from this one.
    pub(super) fn split(&mut self) -> Self {
        Self::new(self.0.next())
    }

    /// Returns a number below `bound`; 0 if nothing is below it.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        // The remainder is below a usize.
        usize::try_from(self.0.next() % (bound.max(1) as u64)).unwrap_or(0)
    }

    /// Says yes in so many of a hundred cases.
    pub(super) fn percent(&mut self, share: usize) -> bool {
        self.below(100) < share
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for at in (1..list.len()).rev() {
            list.swap(at, self.below(at + 1));
        }
    }

    /// Returns a time between two numbers of milliseconds.
    pub(super) fn millis(&mut self, from: u64, to: u64) -> Duration {
        Duration::from_millis(from + self.0.next() % to.saturating_sub(from).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffled_list_keeps_its_members_and_follows_from_the_seed() {
        let shuffled = |seed| {
            let mut list: Vec<u32> = (0..20).collect();
            Dice::new(seed).shuffle(&mut list);
            list
        };
        assert_eq!(shuffled(3), shuffled(3));
        assert_ne!(shuffled(3), shuffled(4));
        let mut sorted = shuffled(3);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..20).collect::<Vec<_>>());
    }
}
