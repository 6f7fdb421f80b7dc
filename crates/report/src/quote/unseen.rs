//! Characters that a reader cannot see, or that change what the reader sees: shown as escapes.

use std::borrow::Cow;
use std::fmt::Write;

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

fn is_unseen(c: char, before: Option<char>) -> bool {
    match c {
        '\n' | '\t' => false,
        // Joiners belong to Indic scripts and to emoji; next to ASCII they only hide something.
        '\u{200c}' | '\u{200d}' => before.is_none_or(|before| before.is_ascii()),
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{3164}' | '\u{feff}' | '\u{ffa0}' => true,
        '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        _ => c.is_control(),
    }
}
