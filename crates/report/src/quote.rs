//! The one way by which text that is not ours reaches a reader (T4).
//!
//! Model output, comments of others, file names, tool output: all of it passes here before it
//! stands in a comment, description, title, commit message or status. What comes out, outside
//! code, has no HTML, no mention, no reference that a closing keyword could act on, no command of
//! a bot at the start of a line, no image and no link but bare addresses; unseen characters are
//! shown as escapes. The same rules serve every host: each is as strict as the strictest of them,
//! so that a new quirk of one host is mended for all.

mod code;
mod prose;
mod title;
mod token;
mod unseen;

pub use code::{CodeBlock, Committable, code_block, code_inline};

use crate::flavour::Flavour;

/// Quotes text of one or more lines. Its paragraphs, lists, emphasis and code are kept.
pub fn quote(text: &str, flavour: Flavour) -> String {
    let text = unseen::show(text);
    if flavour.is_rendered() { prose::paragraphs(&text) } else { plain(&text) }
}

/// Quotes text as part of a line: line ends become spaces.
pub fn quote_line(text: &str, flavour: Flavour) -> String {
    let text = unseen::show(text);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if !flavour.is_rendered() {
        return plain(&line);
    }
    let mut out = String::with_capacity(line.len() + 8);
    prose::inline(&line, &mut out);
    out
}

/// Quotes text as a block quote: every line of it stands behind a `>`.
pub fn quote_block(text: &str, flavour: Flavour) -> String {
    let quoted = quote(text.trim_end(), flavour);
    let mut out = String::with_capacity(quoted.len() + 16);
    for line in quoted.split('\n') {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(if line.is_empty() { ">" } else { "> " });
        out.push_str(line);
    }
    out
}

/// Quotes text for a place without Markdown and with one line: a title, the subject of a commit,
/// the description of a status.
pub fn title(text: &str, flavour: Flavour) -> String {
    let text = unseen::show(text);
    if flavour.is_rendered() {
        title::one_line(&text)
    } else {
        plain(&text.split_whitespace().collect::<Vec<_>>().join(" "))
    }
}

/// For a terminal or a file: nothing acts on the text, but our own markers are read there too.
fn plain(text: &str) -> String {
    text.replace("<!--", "<!- -")
}

#[cfg(test)]
pub(crate) mod tests;
