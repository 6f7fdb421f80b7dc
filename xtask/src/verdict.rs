//! What a task found, and the exit code that says so.
//!
//! Every task of `main` answers with a [`Verdict`]; an error means that it could not run.

use std::process::{ExitCode, ExitStatus};

/// The end of a task that could be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It ran and nothing is broken.
    Held,
    /// It ran and something is broken.
    Broken,
    /// It was asked in a way that it does not understand.
    Misused,
    /// It could not run, and has said why.
    Unable,
}

impl Verdict {
    /// Reads the verdict of a driver from its exit status.
    ///
    /// A driver that panics or is killed has proven nothing either way, so it was unable to run.
    pub(crate) fn of_driver(status: ExitStatus) -> Self {
        match status.code() {
            Some(0) => Self::Held,
            Some(1) => Self::Broken,
            Some(2) => Self::Misused,
            _ => Self::Unable,
        }
    }
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        Self::from(match verdict {
            Verdict::Held => 0,
            Verdict::Broken => 1,
            Verdict::Misused => 2,
            Verdict::Unable => 3,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    #[test]
    fn a_driver_that_panics_or_is_killed_could_not_run() {
        let exit = |code: i32| ExitStatus::from_raw(code << 8);
        assert_eq!(Verdict::of_driver(exit(0)), Verdict::Held);
        assert_eq!(Verdict::of_driver(exit(1)), Verdict::Broken);
        assert_eq!(Verdict::of_driver(exit(2)), Verdict::Misused);
        assert_eq!(Verdict::of_driver(exit(3)), Verdict::Unable);
        assert_eq!(Verdict::of_driver(exit(101)), Verdict::Unable);
        assert_eq!(Verdict::of_driver(ExitStatus::from_raw(9)), Verdict::Unable);
    }
}
