//! What can go wrong with a forge, named by what the caller does about it.

use domain::Time;

/// A failure of a request to a forge.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object is not there, or not for us to see.
    #[error("{what} does not exist or is not visible to this account")]
    Gone { what: String },
    /// The account may not do this.
    #[error("the forge forbids {what}: {why}")]
    Forbidden { what: String, why: String },
    /// The credential is not accepted at all.
    #[error("the forge does not accept the credential: {why}")]
    Unauthenticated { why: String },
    /// Too many requests; nothing was done.
    #[error("the forge asks to wait until {}", until.0)]
    Limited { until: Time },
    /// We have written enough for now, by our own pace; nothing was done.
    #[error("writes to the forge are paced: the next may go at {}", until.0)]
    Paced { until: Time },
    /// Somebody else was faster.
    #[error("{what} changed meanwhile")]
    Conflict { what: String },
    /// The text is longer than the forge takes.
    #[error("the text is too long for the forge")]
    TooLong,
    /// The forge understood and said no; it will say no again.
    #[error("the forge refused {what} with {status}: {why}")]
    Refused { what: String, status: u16, why: String },
    /// No answer, and the request surely had no effect (it never left, or it only reads).
    #[error("the forge cannot be reached: {why}")]
    Unreachable { why: String },
    /// No answer or a broken one, after the request left: it may have had its effect (E2).
    #[error("the forge's answer was lost: {why}")]
    Lost { why: String },
    /// An answer that we cannot read.
    #[error("the forge's answer to {what} makes no sense: {why}")]
    Garbled { what: String, why: String },
}

/// When to try again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    Never,
    After(Time),
    Backoff,
}

impl Error {
    pub fn retry(&self) -> Retry {
        match self {
            Self::Limited { until } | Self::Paced { until } => Retry::After(*until),
            Self::Unreachable { .. }
            | Self::Lost { .. }
            | Self::Conflict { .. }
            | Self::Garbled { .. } => Retry::Backoff,
            Self::Unauthenticated { .. } => Retry::Backoff,
            Self::Gone { .. } | Self::Forbidden { .. } | Self::TooLong | Self::Refused { .. } => {
                Retry::Never
            }
        }
    }

    /// Whether the fault lies with something that every job of the connection shares (J6): the
    /// breaker opens, and nobody's attempts are used up.
    pub fn is_outage(&self) -> bool {
        matches!(
            self,
            Self::Limited { .. }
                | Self::Unreachable { .. }
                | Self::Lost { .. }
                | Self::Unauthenticated { .. }
        )
    }

    /// Whether the request may have had its effect although it failed (E2).
    pub fn is_of_unknown_fate(&self) -> bool {
        matches!(self, Self::Lost { .. } | Self::Garbled { .. })
    }
}
