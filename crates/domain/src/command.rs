//! What a person asks for with `@bot …`: the grammar of commands.
//!
//! The parser itself is [`parse`]; which text counts as spoken (outside code, quotes and HTML
//! comments) is decided in [`spoken`], how a mention is recognised in [`mention`], and which words
//! mean which verb, in every language, stands in [`verb`].

use serde::{Deserialize, Serialize};

/// What was asked for, once a mention was found.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case")]
pub enum Command {
    Help,
    Status,
    Pause,
    Resume,
    Cancel,
    /// `resolve ID`
    Resolve { finding: String },
    /// `dismiss ID [why]`
    Dismiss { finding: String, why: Option<String> },
    Review { scope: ReviewScope },
    Detect,
    /// `fix`, `fix ID…`, `fix all`, and what means the same on a change (`apply`, `implement` …).
    Fix { which: Which, text: String },
    Repair,
    /// The mention stands alone or is followed by free text that no verb explains: a model decides.
    Free { text: String },
    /// `ignore`: only meaningful in the description of a change.
    Ignore,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewScope {
    /// What is not reviewed yet.
    New,
    /// Everything, once more.
    Full,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "which", content = "ids", rename_all = "kebab-case")]
pub enum Which {
    /// Not said: the thread or the request decides.
    Unsaid,
    All,
    These(Vec<String>),
}
