//! Characters that a reader cannot see, or that change what the reader sees: shown as escapes.

use std::borrow::Cow;
use std::fmt::Write;

use domain::unseen::is_unseen;

/// Shows each unseen character as `\u{202e}`. Line ends become `\n`; tabs and line ends stay.
pub(super) fn show(text: &str) -> Cow<'_, str> {
    if !holds_any(text) && !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut before = None;
    for (at, c) in text.char_indices() {
        match c {
            '\r' if text[at + 1..].starts_with('\n') => {}
            _ if is_unseen(c, before) => {
                let _infallible = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            _ => shown.push(c),
        }
        before = Some(c);
    }
    Cow::Owned(shown)
}

/// Whether the text has a character that a reader would not see. A line end is none.
pub(super) fn holds_any(text: &str) -> bool {
    let mut before = None;
    text.char_indices().any(|(at, c)| {
        let line_end = c == '\r' && text[at + 1..].starts_with('\n');
        let unseen = !line_end && is_unseen(c, before);
        before = Some(c);
        unseen
    })
}
