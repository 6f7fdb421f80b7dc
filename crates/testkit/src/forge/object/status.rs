//! What is said about a commit: statuses, and checks with annotations.

use domain::Time;

use super::account::Account;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeStatus {
    pub id: u64,
    pub repo: u64,
    pub commit: String,
    pub context: String,
    pub state: StatusState,
    pub description: String,
    pub url: Option<String>,
    pub by: Account,
    pub at: Time,
}

/// Every word that some host has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusState {
    Pending,
    Running,
    Success,
    Failure,
    Error,
    Canceled,
    Skipped,
    Warning,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FakeCheck {
    pub id: u64,
    pub repo: u64,
    /// The App that made it.
    pub app: u64,
    pub name: String,
    pub commit: String,
    /// `queued`, `in_progress` or `completed`.
    pub status: String,
    pub conclusion: Option<String>,
    pub details_url: Option<String>,
    pub external_id: Option<String>,
    pub started_at: Option<Time>,
    pub completed_at: Option<Time>,
    pub title: Option<String>,
    pub summary: Option<String>,
    pub text: Option<String>,
    pub annotations: Vec<Annotation>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    pub path: String,
    pub start_line: u64,
    pub end_line: u64,
    pub start_column: Option<u64>,
    pub end_column: Option<u64>,
    /// `notice`, `warning` or `failure`.
    pub level: String,
    pub message: String,
    pub title: Option<String>,
    pub raw_details: Option<String>,
}

impl StatusState {
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Error => "error",
            Self::Canceled => "canceled",
            Self::Skipped => "skipped",
            Self::Warning => "warning",
        }
    }
}
