//! Cutting what is too long, so that the reader sees that it was cut (H1, H3).

use std::borrow::Cow;

use crate::body::Body;
use crate::flavour::Flavour;
use crate::words::Language;

/// Kept free in every body for its marker.
const MARKER_ROOM: usize = 1_024;

/// Kept free in a body that is cut for the word about it and for closing a fence.
const CUT_ROOM: usize = 512;

/// A fence longer than this is not closed: the code is left out whole.
const LONGEST_FENCE: usize = 128;

/// Cuts text of others, before it is quoted, to at most so many characters. A number at its end
/// says how many are missing, in no language: `… [+120]`. It is there even if nothing else fits.
pub fn clip(text: &str, max_chars: usize) -> Cow<'_, str> {
    let total = text.chars().count();
    if total <= max_chars {
        return Cow::Borrowed(text);
    }
    // The number is longest if everything is cut; that much room is enough.
    let longest_note = note(total).chars().count();
    let kept = max_chars.saturating_sub(longest_note);
    Cow::Owned(format!("{}{}", first_chars(text, kept), note(total - kept)))
}

fn note(missing: usize) -> String {
    format!("… [+{missing}]")
}

/// Cuts a finished body to what the host takes, its marker included. It is cut between lines, or in
/// a very long line between words and never inside code; an open fence is closed, and the last
/// paragraph says how much is missing.
pub fn fit(markdown: &str, flavour: Flavour, language: Language) -> Cow<'_, str> {
    let cap = flavour.body_cap() - MARKER_ROOM;
    let total = markdown.chars().count();
    if total <= cap {
        return Cow::Borrowed(markdown);
    }
    let head = cut(markdown, first_chars(markdown, cap - CUT_ROOM).len());
    let left_out = total - head.chars().count();
    let mut fitted = head.to_owned();
    if let Some(fence) = open_fence(head) {
        fitted.push('\n');
        fitted.extend(std::iter::repeat_n('`', fence.length));
    }
    let word = language.words().left_out(left_out as u64);
    fitted.push_str("\n\n");
    fitted.push_str(&Body::new(flavour).ours(word).into_markdown());
    Cow::Owned(fitted)
}

/// Returns the beginning of the body that may stand by itself, at most `end` bytes.
fn cut(markdown: &str, end: usize) -> &str {
    let line = markdown[..end].rfind('\n').unwrap_or(0);
    let fence = open_fence(&markdown[..line]);
    let head = match fence {
        Some(fence) if fence.length > LONGEST_FENCE => &markdown[..fence.start],
        // A line that is most of the body is too much to lose.
        Some(_) if line < end / 2 => &markdown[..end],
        None if line < end / 2 => &markdown[..line + last_gap(&markdown[line..], end - line)],
        _ => &markdown[..line],
    };
    head.trim_end()
}

/// Returns the last place before `end` where a line may be cut: a space that is not in code.
fn last_gap(line: &str, end: usize) -> usize {
    let line = line
        .split_once('\n')
        .filter(|(first, _)| !first.is_empty())
        .map_or(line, |(first, _)| first);
    let bytes = line.as_bytes();
    let ticks = |at: usize| bytes[at..].iter().take_while(|&&byte| byte == b'`').count();
    let mut gap = 0;
    let mut at = 0;
    while at < end.min(bytes.len()) {
        match bytes[at] {
            b'\\' => at += 2,
            b'`' => {
                let open = ticks(at);
                at += open;
                while at < bytes.len() {
                    let run = ticks(at);
                    at += run.max(1);
                    if run == open {
                        break;
                    }
                }
            }
            b' ' => {
                gap = at;
                at += 1;
            }
            _ => at += 1,
        }
    }
    gap
}

struct OpenFence {
    start: usize,
    length: usize,
}

/// Returns the fence that is still open at the end of the text. Bodies are made here: their fences
/// are of backticks and stand at the start of a line.
fn open_fence(markdown: &str) -> Option<OpenFence> {
    let mut open: Option<OpenFence> = None;
    let mut start = 0;
    for line in markdown.split('\n') {
        let length = line.len() - line.trim_start_matches('`').len();
        open = match open {
            Some(fence) if length >= fence.length && length == line.trim_end().len() => None,
            None if length >= 3 && !line[length..].contains('`') => {
                Some(OpenFence { start, length })
            }
            unchanged => unchanged,
        };
        start += line.len() + 1;
    }
    open
}

fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::quote;

    #[test]
    fn h1_a_clipped_text_says_how_much_is_missing() {
        assert_eq!(clip("short", 5), "short");
        assert_eq!(clip("ein längerer Satz", 12), "ein l… [+12]");
        assert_eq!(clip(&"界".repeat(1_000), 20), format!("{}… [+989]", "界".repeat(11)));
        assert_eq!(clip("abcdefghijklm", 3), "… [+13]");
    }

    #[test]
    fn a_body_that_fits_is_left_alone() {
        for flavour in Flavour::ALL {
            let body = "x".repeat(flavour.body_cap() - MARKER_ROOM);
            assert!(matches!(fit(&body, flavour, Language::En), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn h3_a_body_that_is_cut_says_so_and_closes_its_code() {
        let body = format!("Hello\n\n```rust\n{}", "let a = 1;\n".repeat(6_000));
        let fitted = fit(&body, Flavour::GitCode, Language::En);
        assert!(fitted.chars().count() <= 60_000 - MARKER_ROOM);
        let (code, word) = fitted.split_at(fitted.rfind("This").unwrap());
        assert!(code.ends_with("\nlet a = 1;\n```\n\n"), "{code}");
        let missing = body.len() - (code.len() - "\n```\n\n".len());
        assert_eq!(word, format!("This text was too long: {missing} characters are left out."));
    }

    #[test]
    fn h3_a_long_line_is_cut_between_words_and_not_in_code() {
        let body = "a `@b c` ".repeat(10_000);
        let fitted = fit(&body, Flavour::GitCode, Language::En);
        assert!(fitted.chars().count() > 50_000);
        quote::tests::assert_harmless(&fitted);
    }

    #[test]
    fn h3_code_in_a_monstrous_fence_is_left_out_whole() {
        let body = format!("Hello\n\n{}", quote::code_block(&"`".repeat(70_000), "").markdown);
        assert!(
            fit(&body, Flavour::GitHub, Language::En)
                .starts_with("Hello\n\nThis text was too long")
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn h3_no_cut_makes_a_quoted_text_dangerous(text in quote::tests::hostile()) {
            prop_assume!(!text.is_empty());
            let quoted = quote(&text.repeat(60_000 / text.len() + 1), Flavour::GitCode);
            let fitted = fit(&quoted, Flavour::GitCode, Language::En);
            prop_assert!(fitted.chars().count() <= 60_000 - MARKER_ROOM);
            quote::tests::assert_harmless(&fitted);
        }
    }
}
