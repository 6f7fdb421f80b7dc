//! What a person asks for with `@bot …`: the grammar of commands.
//!
//! The parser itself is [`parse`]; which text counts as spoken (outside code, quotes and HTML
//! comments) is decided in [`spoken`], how a mention is recognised in [`mention`], which words
//! mean which verb, in every language, stands in [`words`], and how an order with its arguments is
//! read in [`instruction`]. Nothing here knows where the text stands: [`crate::route::route`] does.
//!
//! The first address in a text decides, and only that one: a text is one order. A verb counts when
//! its mention opens a sentence and the verb follows it at once, courtesies aside. Everything else
//! is [`Command::Free`], so that no edit happens by accident: the model decides, or asks.

use serde::{Deserialize, Serialize};

mod instruction;
mod mention;
mod script;
pub mod spoken;
mod verb;
mod words;

use spoken::Spoken;

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
    Resolve {
        finding: String,
    },
    /// `dismiss ID [why]`
    Dismiss {
        finding: String,
        why: Option<String>,
    },
    Review {
        scope: ReviewScope,
    },
    Detect,
    /// `fix`, `fix ID…`, `fix all`, and what means the same on a change (`apply`, `implement` …).
    /// `text` is the instruction as it was written after the mention, verb included.
    Fix {
        which: Which,
        text: String,
    },
    Repair,
    /// The mention stands alone or is followed by free text that no verb explains: a model decides.
    /// `text` is what follows the mention; the whole text where the mention stands in a sentence.
    Free {
        text: String,
    },
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

/// Reads the command that a text addresses to one of `bot_names`.
///
/// `None` means that it does not address us at all. Seed 001's `/agent fix` at the start of a line
/// needs no mention.
pub fn parse(text: &str, bot_names: &[String]) -> Option<Command> {
    // Most comments address nobody: they need not be read as Markdown.
    if !text.contains(['@', '/']) {
        return None;
    }
    let spoken = Spoken::of(text);
    let address = mention::first(spoken.text(), bot_names)?;
    let (before, end) = (&spoken.text()[..address.range.start], address.range.end);
    let instruction = instruction::as_written(&spoken, end);
    let order = || instruction::read(&spoken, end, instruction);
    match address.kind {
        mention::Kind::Slash => order(),
        mention::Kind::Mention if mention::opens_a_sentence(before) => {
            Some(order().unwrap_or_else(|| Command::Free { text: instruction.to_owned() }))
        }
        mention::Kind::Mention => Some(Command::Free { text: text.trim().to_owned() }),
    }
}

/// Reads the command that an edit added: `None` where the text addressed us before.
pub fn parse_added(before: &str, after: &str, bot_names: &[String]) -> Option<Command> {
    if parse(before, bot_names).is_some() {
        return None;
    }
    parse(after, bot_names)
}

/// Reads a command as it would be written after a mention.
pub fn parse_order(text: &str) -> Command {
    let spoken = Spoken::of(text);
    instruction::read(&spoken, 0, text.trim())
        .unwrap_or_else(|| Command::Free { text: text.trim().to_owned() })
}

/// Whether the description of a change asks us to leave it alone: `@bot ignore`, `@bot: ignore`,
/// and seed 003's `@coderabbitai: ignore`.
pub fn asks_to_ignore(description: &str, bot_names: &[String]) -> bool {
    if !description.contains('@') {
        return false;
    }
    let spoken = Spoken::of(description);
    let names: Vec<&str> = bot_names.iter().map(String::as_str).chain(["coderabbitai"]).collect();
    mention::mentions(spoken.text(), &names)
        .any(|range| instruction::is_ignore(&spoken.text()[range.end..]))
}

#[cfg(test)]
mod tests;
