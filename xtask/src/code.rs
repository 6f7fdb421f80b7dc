//! Rust source with everything that is not code blanked out.
//!
//! `tidy` looks for names and attributes; it must not find them in comments and strings. This is
//! a scanner of tokens' borders, not a parser: it keeps every line where it was.

/// Replaces comments, strings and characters by spaces, keeping all line breaks.
pub(crate) fn blank_text(source: &str) -> String {
    let mut rest = source;
    let mut code = String::with_capacity(source.len());
    while let Some(first) = rest.chars().next() {
        let length = text_length(rest, code.chars().next_back());
        if length == 0 {
            code.push(first);
            rest = &rest[first.len_utf8()..];
        } else {
            let (text, after) = rest.split_at(length);
            code.extend(text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            rest = after;
        }
    }
    code
}

/// Splits code into its words and its other signs, leaving blanks out.
pub(crate) fn tokens(code: &str) -> impl Iterator<Item = &str> {
    let mut rest = code;
    std::iter::from_fn(move || {
        rest = rest.trim_start();
        let first = rest.chars().next()?;
        let length = if is_word(first) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            first.len_utf8()
        };
        let (token, after) = rest.split_at(length);
        rest = after;
        Some(token)
    })
}

/// Measures the comment, string or character that begins here; 0 if none does.
fn text_length(rest: &str, before: Option<char>) -> usize {
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return block_comment_length(rest);
    }
    if before.is_some_and(is_word) {
        // `r` and `b` at the end of a word begin no string; a quote after a word ends none either.
        return if rest.starts_with('"') { string_length(rest, 0) } else { 0 };
    }
    let prefix = rest.len() - rest.trim_start_matches(['b', 'c', 'r']).len();
    let quote = &rest[prefix..];
    if prefix > 0 && rest[..prefix].ends_with('r') && quote.starts_with(['"', '#']) {
        return raw_string_length(rest, prefix);
    }
    match quote.chars().next() {
        Some('"') if prefix <= 1 => string_length(rest, prefix),
        Some('\'') if prefix == 0 || &rest[..prefix] == "b" => character_length(rest, prefix),
        _ => 0,
    }
}

fn block_comment_length(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

fn string_length(rest: &str, prefix: usize) -> usize {
    let mut escaped = false;
    for (at, c) in rest[prefix + 1..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return prefix + 1 + at + 1,
            _ => {}
        }
    }
    rest.len()
}

fn raw_string_length(rest: &str, prefix: usize) -> usize {
    let hashes = rest[prefix..].len() - rest[prefix..].trim_start_matches('#').len();
    if !rest[prefix + hashes..].starts_with('"') {
        return 0;
    }
    let start = prefix + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    rest[start..].find(&end).map_or(rest.len(), |at| start + at + end.len())
}

/// Measures a character literal; a lifetime is none.
fn character_length(rest: &str, prefix: usize) -> usize {
    let mut inside = rest[prefix + 1..].char_indices();
    match inside.next() {
        Some((_, '\\')) => {
            let escape = inside.next().map_or(0, |(_, c)| 1 + c.len_utf8());
            rest[prefix + 1 + escape..].find('\'').map_or(0, |at| prefix + 1 + escape + at + 1)
        }
        Some((_, c)) if rest[prefix + 1 + c.len_utf8()..].starts_with('\'') => {
            prefix + 1 + c.len_utf8() + 1
        }
        _ => 0,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let code = blank_text(source);
        assert_eq!(code.lines().count(), source.lines().count());
        assert_eq!(tokens(&code).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn comments_of_every_kind_are_no_code() {
        check("a // fn b\nc", &["a", "c"]);
        check("a /* fn /* b */ still */ c", &["a", "c"]);
        check("//! fn a\n/// fn b\nfn c", &["fn", "c"]);
    }

    #[test]
    fn strings_of_every_kind_are_no_code() {
        check(r#"let a = "fn \" b"; c"#, &["let", "a", "=", ";", "c"]);
        check("let a = r#\"fn \" b\"#; c", &["let", "a", "=", ";", "c"]);
        check("a(b\"fn\", br##\"x\"# \"##, c\"y\") d", &["a", "(", ",", ",", ")", "d"]);
        check("a \"unfinished fn b", &["a"]);
    }

    #[test]
    fn characters_are_no_code_and_lifetimes_are() {
        check(r"('a', '\'', '\u{7f}', b'x', '世') z", &["(", ",", ",", ",", ",", ")", "z"]);
        check(
            "fn a<'b>(c: &'b str)",
            &["fn", "a", "<", "'", "b", ">", "(", "c", ":", "&", "'", "b", "str", ")"],
        );
    }

    #[test]
    fn words_that_end_like_a_string_prefix_stay_words() {
        check("bar br r rb", &["bar", "br", "r", "rb"]);
        check("r#type = 1", &["r", "#", "type", "=", "1"]);
    }

    #[test]
    fn a_long_text_is_read_in_one_go() {
        let source = "/*".repeat(50_000);
        assert_eq!(blank_text(&source).trim(), "");
    }
}
