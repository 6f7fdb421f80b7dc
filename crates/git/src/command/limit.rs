//! How long each kind of call may take, and how much it may answer.

use std::time::Duration;

/// What a short question may answer.
pub(crate) const SMALL_ANSWER: u64 = 1024 * 1024;

/// How long each kind of call may take, and how much a reader takes.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Fetching and pushing.
    pub network: Duration,
    /// Diffs, logs, listings, searches, worktrees, commits.
    pub local: Duration,
    /// Questions with a short answer.
    pub quick: Duration,
    /// The longest diff, listing, log or file that is read into memory, in bytes.
    pub answer: u64,
    /// The most bytes that a worktree may take.
    pub worktree: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            network: Duration::from_secs(600),
            local: Duration::from_secs(120),
            quick: Duration::from_secs(30),
            answer: 256 * 1024 * 1024,
            worktree: 16 * 1024 * 1024 * 1024,
        }
    }
}

/// The kinds of calls.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Limit {
    Network,
    Local,
    Quick,
}

impl Limit {
    pub(super) fn of(self, limits: &Limits) -> Duration {
        match self {
            Self::Network => limits.network,
            Self::Local => limits.local,
            Self::Quick => limits.quick,
        }
    }
}
