//! Any text can be stored (J8): PostgreSQL takes no NUL in a text, SQLite's tools stop at one.
//!
//! Texts are escaped when they are bound and unescaped when they are read, so both databases behave
//! the same and nothing above this crate notices. Rust strings hold no lone surrogates; the decoders
//! of deliveries have made them visible before.

use std::borrow::Cow;

/// A private-use character that hardly ever stands in a text by itself.
const ESCAPE: char = '\u{e000}';

/// Returns a text without NUL from which [`unescape`] restores the original.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['\0', ESCAPE]) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\0' => out.extend([ESCAPE, '0']),
            ESCAPE => out.extend([ESCAPE, ESCAPE]),
            _ => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Returns the text that was given to [`escape`].
pub fn unescape(text: String) -> String {
    if !text.contains(ESCAPE) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != ESCAPE {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('0') => out.push('\0'),
            Some(other) => out.push(other),
            None => out.push(ESCAPE),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn j8_every_text_comes_back_and_none_is_stored_with_nul(
            text in prop_oneof![any::<String>(), "[\\x00\u{e000}0a]{0,12}"]
        ) {
            let stored = escape(&text).into_owned();
            prop_assert!(!stored.contains('\0'));
            prop_assert_eq!(unescape(stored), text);
        }
    }
}
