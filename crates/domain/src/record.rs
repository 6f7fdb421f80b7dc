//! What was done, for the live stream, the dashboard and the log: every entry is kept (H4).

use serde::{Deserialize, Serialize};

/// One entry of a job's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub enum Record {
    /// The job's state changed.
    State {
        from: String,
        to: String,
        #[serde(default)]
        why: Option<String>,
    },
    /// A stage began.
    StageBegan { stage: String, attempt: u32 },
    /// A stage ended with this result (the contract of seed 001 §6: `success`, `comment`, and the
    /// stage's own fields).
    StageEnded { stage: String, attempt: u32, result: StageResult },
    /// An attempt ended without reaching the end of its stage.
    AttemptFailed { stage: String, attempt: u32, error: String, counted: bool },
    /// A publication was sent, given up or withdrawn.
    Publication { slot: String, effect: String, outcome: String },
    /// A workflow noted something.
    Note { text: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageResult {
    pub success: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    #[serde(flatten)]
    pub fields: serde_json::Map<String, serde_json::Value>,
}

impl StageResult {
    pub fn success() -> Self {
        Self { success: true, comment: None, fields: serde_json::Map::new() }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.fields.insert(name.to_owned(), value.into());
        self
    }
}

impl Record {
    /// Returns the kind of the entry, as the event name of the live stream.
    pub fn stream_event(&self) -> &'static str {
        match self {
            Self::State { .. } => "state",
            Self::StageBegan { .. } | Self::StageEnded { .. } => "stage",
            Self::AttemptFailed { .. } | Self::Note { .. } => "record",
            Self::Publication { .. } => "publication",
        }
    }
}
