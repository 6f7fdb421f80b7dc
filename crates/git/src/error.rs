//! What can go wrong with git, named by what the caller does about it.

use std::time::Duration;

/// A failure of a git operation. Its words are free of secrets.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The repository or the ref is not there, or not for us to see.
    #[error("{what} does not exist or is not visible to this account")]
    Gone { what: String },
    /// The credential is not accepted.
    #[error("the remote does not accept the credential: {why}")]
    Unauthenticated { why: String },
    /// The account may not do this.
    #[error("the remote forbids it: {why}")]
    Forbidden { why: String },
    /// No answer; nothing was changed there.
    #[error("the remote cannot be reached: {why}")]
    Unreachable { why: String },
    /// No answer after something was sent: it may have had its effect.
    #[error("the remote's answer was lost: {why}")]
    Lost { why: String },
    /// The disk is full up to the reserve: the job waits (J10).
    #[error("no room on the disk: {why}")]
    NoSpace { why: String },
    /// Objects that are not in the mirror: fetch them first.
    #[error("the mirror lacks {what}")]
    Missing { what: String },
    /// The answer is longer than the caller takes.
    #[error("{what} is larger than {limit} bytes")]
    TooLarge { what: String, limit: u64 },
    /// It took longer than it may, and was killed with all that it had started.
    #[error("`{command}` took longer than {} s", limit.as_secs())]
    TimedOut { command: String, limit: Duration },
    /// Something that no honest repository or bundle holds.
    #[error("refused: {what}")]
    Hostile { what: String },
    /// git said no, in a way that we do not know.
    #[error("`{command}` ended with {status}: {stderr}")]
    Failed { command: String, status: String, stderr: String },
    /// Our own folders or processes fail us.
    #[error("{what}: {why}")]
    Broken { what: String, why: String },
}

/// When to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    Never,
    Backoff,
}

impl Error {
    pub fn retry(&self) -> Retry {
        match self {
            Self::Unauthenticated { .. }
            | Self::Unreachable { .. }
            | Self::Lost { .. }
            | Self::NoSpace { .. }
            | Self::TimedOut { .. }
            | Self::Broken { .. } => Retry::Backoff,
            Self::Gone { .. }
            | Self::Forbidden { .. }
            | Self::Missing { .. }
            | Self::TooLarge { .. }
            | Self::Hostile { .. }
            | Self::Failed { .. } => Retry::Never,
        }
    }

    /// Whether the fault lies with something that every job of the connection shares (J6).
    pub fn is_outage(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Lost { .. } | Self::Unauthenticated { .. })
    }

    /// Names what of ours failed, for an error of the operating system.
    pub(crate) fn broken(what: &str) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |why| match why.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Self::NoSpace { why: format!("{what}: {why}") }
            }
            _ => Self::Broken { what: what.to_owned(), why: why.to_string() },
        }
    }
}
