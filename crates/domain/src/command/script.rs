//! What the grammar knows of writing: which signs part words and sentences, and which scripts
//! write words without a space between them.

/// Signs that end a sentence.
pub(super) const ENDS_SENTENCE: [char; 8] = ['.', '!', '?', ';', '。', '！', '？', '；'];

/// Signs that part words beside white space. A full stop is not among them: it stands in names.
const PARTS_WORDS: [char; 20] = [
    ',', ';', ':', '!', '?', '(', ')', '"', '“', '”', '…', '，', '。', '！', '？', '；', '：',
    '、', '（', '）',
];

/// Whether the script writes words without borders: Han, kana, Hangul (whose particles touch the
/// word before them), Thai.
pub(super) fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E00}'..='\u{0E7F}'
        | '\u{1100}'..='\u{11FF}'
        | '\u{3040}'..='\u{30FF}'
        | '\u{3130}'..='\u{318F}'
        | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7AF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{3FFFF}')
}

pub(super) fn is_kana(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}')
}

/// Whether the character continues a word that touches it.
pub(super) fn joins_words(c: char) -> bool {
    c.is_alphanumeric() && !is_unspaced(c)
}

/// Longer than any word of the grammar. The search for a word's end stops here, so that its cost
/// does not grow with the text.
const LONGEST_WORD: usize = 64;

/// Splits off the first word of a line: `(word, rest)`. The word is empty at the end of the line
/// and before a sign. It ends where a script without word borders touches one that has them.
pub(super) fn split_word(line: &str) -> (&str, &str) {
    let line = line.trim_start_matches(is_gap);
    let spaced = !line.starts_with(is_unspaced);
    let ends = |(at, c): (usize, char)| {
        c.is_whitespace()
            || PARTS_WORDS.contains(&c)
            || (spaced && is_unspaced(c))
            || is_full_stop(line, at)
    };
    let mut chars = line.char_indices().take(LONGEST_WORD);
    let end = match chars.by_ref().find(|&found| ends(found)) {
        Some((at, _)) => at,
        None => line.char_indices().nth(LONGEST_WORD).map_or(line.len(), |(at, _)| at),
    };
    line.split_at(end)
}

/// Whether the character is white space within a line.
pub(super) fn is_gap(c: char) -> bool {
    c.is_whitespace() && c != '\n'
}

/// Whether at `at` a full stop ends a word: one inside a name or a number does not.
fn is_full_stop(text: &str, at: usize) -> bool {
    text[at..].strip_prefix('.').is_some_and(|after| !after.starts_with(char::is_alphanumeric))
}

/// Splits off the first sentence: `(sentence without its sign, the sign)`. A line break ends it too.
pub(super) fn first_sentence(text: &str) -> (&str, Option<char>) {
    let end = text.char_indices().find(|&(at, c)| match c {
        '\n' => true,
        '.' => is_full_stop(text, at),
        c => ENDS_SENTENCE.contains(&c),
    });
    match end {
        Some((at, c)) => (&text[..at], Some(c)),
        None => (text, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_ends_at_a_gap_or_a_sign_but_not_inside_a_name() {
        assert_eq!(split_word("  fix, now"), ("fix", ", now"));
        assert_eq!(split_word("fix. Now"), ("fix", ". Now"));
        assert_eq!(split_word("main.rs x"), ("main.rs", " x"));
        assert_eq!(split_word("add-on"), ("add-on", ""));
        assert_eq!(split_word("fix这个"), ("fix", "这个"));
        assert_eq!(split_word("修复x y"), ("修复x", " y"));
        assert_eq!(split_word("\nfix"), ("", "\nfix"));
        assert_eq!(split_word(""), ("", ""));
    }

    #[test]
    fn a_sentence_ends_at_its_sign_or_its_line() {
        assert_eq!(first_sentence("fix it? No."), ("fix it", Some('?')));
        assert_eq!(first_sentence("fix main.rs\nnow"), ("fix main.rs", Some('\n')));
        assert_eq!(first_sentence("修复这个。谢谢"), ("修复这个", Some('。')));
        assert_eq!(first_sentence("fix it"), ("fix it", None));
    }
}
