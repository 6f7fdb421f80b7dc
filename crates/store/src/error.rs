//! What can go wrong with the store, named by what the caller does about it.

/// A failure of an operation. Whatever it is, the transaction had no effect, or (only for
/// [`Error::Unreachable`] on PostgreSQL) its fate is unknown and the operation is safe to repeat.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Somebody else holds the database for longer than we wait. Try again.
    #[error("the database is busy")]
    Busy,
    /// The database does not answer.
    #[error("the database cannot be reached: {0}")]
    Unreachable(String),
    /// The lease is not ours any more: stop, quietly.
    #[error("the lease was lost")]
    Fenced,
    /// The state does not allow it.
    #[error("a {found} job cannot be {wanted}")]
    WrongState { found: domain::job::State, wanted: &'static str },
    /// There is no such thing.
    #[error("there is no {0}")]
    Absent(&'static str),
    /// The database says no: a constraint, a value it cannot hold, a full disk.
    #[error("the database refused: {0}")]
    Refused(String),
    /// The database was written by a newer version: this one must not touch it.
    #[error(
        "the database has schema {found}, this version knows up to {known}: run the newer version"
    )]
    Newer { found: i64, known: i64 },
    /// What stands in the database is not what we wrote.
    #[error("a stored {what} cannot be read: {why}")]
    Corrupt { what: &'static str, why: String },
    /// The configured place cannot be used.
    #[error("the database cannot be opened: {0}")]
    Open(String),
    /// The store is shutting down, or an operation panicked.
    #[error("the store has stopped")]
    Stopped,
}

impl Error {
    /// Whether the same operation may succeed a little later.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Busy | Self::Unreachable(_))
    }
}
