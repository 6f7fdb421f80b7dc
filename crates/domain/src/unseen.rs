//! Characters that a reader cannot see, or that change what the reader sees.
//!
//! `path` and the crate `report` show them as escapes (T4). How they are shown is theirs.

/// Whether a reader would not see the character that follows `before`. Line feeds and tabs are seen.
pub fn is_unseen(c: char, before: Option<char>) -> bool {
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
