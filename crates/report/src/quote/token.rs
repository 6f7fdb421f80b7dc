//! The pieces of a line on which a forge or another bot would act.
//!
//! Only recognises; [`super::prose`] and [`mod@super::title`] decide how each piece is made inert.
//! A closing keyword (`fixes`, `resolves`, `implements`, or whatever an administrator configured)
//! acts only on a reference. So every reference is recognised, and no list of keywords is needed,
//! in any language.

/// A piece of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// `@name`, `@org/team`, `@all`.
    Mention(&'a str),
    /// `#1`, `!1`, `&1`, `GH-1`, `[issue:1]`.
    Reference(&'a str),
    /// `ABC-1`: the issue of another tracker, or just `UTF-8`.
    TrackerKey(&'a str),
    /// The address of an issue or a change, on whatever host.
    ReferenceUrl(&'a str),
    /// An address that nothing can be hidden in or behind. It may be shown as a link.
    PlainUrl(&'a str),
    /// An address with signs in it that Markdown or a forge reads in its own way.
    OddUrl(&'a str),
    /// Letters and digits.
    Word(&'a str),
    Sign(char),
}

impl Token<'_> {
    pub(super) fn len(self) -> usize {
        match self {
            Self::Mention(text)
            | Self::Reference(text)
            | Self::TrackerKey(text)
            | Self::ReferenceUrl(text)
            | Self::PlainUrl(text)
            | Self::OddUrl(text)
            | Self::Word(text) => text.len(),
            Self::Sign(sign) => sign.len_utf8(),
        }
    }
}

/// Reads the piece at the start of the text; `None` at its end. The text must not begin in the
/// middle of a word.
pub(super) fn first(text: &str) -> Option<Token<'_>> {
    let sign = text.chars().next()?;
    let rest = &text[sign.len_utf8()..];
    Some(match sign {
        '@' | '＠' => match name_length(rest) {
            Some(length) => Token::Mention(&text[..sign.len_utf8() + length]),
            None => Token::Sign(sign),
        },
        '#' | '!' | '&' => match number_length(sign, rest) {
            Some(length) => Token::Reference(&text[..1 + length]),
            None => Token::Sign(sign),
        },
        '[' => match bracketed_length(rest) {
            Some(length) => Token::Reference(&text[..1 + length]),
            None => Token::Sign(sign),
        },
        _ if sign.is_alphanumeric() => word(text),
        _ => Token::Sign(sign),
    })
}

fn name_length(rest: &str) -> Option<usize> {
    let first = rest.chars().next().filter(|&c| c.is_alphanumeric() || c == '_' || c == '-')?;
    if !first.is_ascii() {
        return Some(run(rest, char::is_alphanumeric));
    }
    let name =
        &rest[..run(rest, |c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/'))];
    let name = name.trim_end_matches(['.', '/', '-']);
    // A name of nothing but hyphens is kept as it is: it must not stand bare either.
    Some(name.len().max(1))
}

fn number_length(sign: char, rest: &str) -> Option<usize> {
    let number = &rest[..run(rest, |c| c.is_ascii_alphanumeric())];
    let refers = match sign {
        // Some hosts number issues with letters and digits.
        '#' => number.contains(|c: char| c.is_ascii_digit()),
        _ => number.starts_with(|c: char| c.is_ascii_digit()),
    };
    refers.then_some(number.len())
}

/// GitLab's `[issue:1]`, `[work_item:group/project/1]` and their like.
fn bracketed_length(rest: &str) -> Option<usize> {
    let kind = run(rest, |c| c.is_ascii_lowercase() || c == '_');
    let inside = rest[kind..].strip_prefix(':').filter(|_| kind > 0)?;
    let inside = run(inside, |c| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-' | '.'));
    let length = kind + 1 + inside;
    rest[length..].starts_with(']').then_some(length + 1)
}

fn word(text: &str) -> Token<'_> {
    // Scripts without spaces write words of two alphabets together.
    let length = if text.starts_with(|c: char| c.is_ascii()) {
        run(text, |c| c.is_ascii_alphanumeric() || c == '_')
    } else {
        run(text, |c| !c.is_ascii() && c.is_alphanumeric())
    };
    let (word, rest) = text.split_at(length);
    let address = if rest.starts_with("://") {
        ["https", "http", "ftp"].into_iter().find_map(|scheme| ends_with(word, scheme))
    } else if rest.starts_with('.') {
        ends_with(word, "www")
    } else {
        None
    };
    match address {
        Some("") => return url(text),
        Some(before) => return Token::Word(before),
        None => {}
    }
    let digits = rest.strip_prefix('-').map_or(0, |rest| run(rest, |c| c.is_ascii_digit()));
    let key = &text[..length + 1.min(digits) + digits];
    if digits > 0 && (word.eq_ignore_ascii_case("gh") || word.eq_ignore_ascii_case("gl")) {
        Token::Reference(key)
    } else if digits > 0
        && word.starts_with(|c: char| c.is_ascii_uppercase())
        && !word.contains(|c: char| c.is_ascii_lowercase())
    {
        Token::TrackerKey(key)
    } else {
        Token::Word(word)
    }
}

/// Returns what stands before the ending, whatever its case.
fn ends_with<'a>(word: &'a str, ending: &str) -> Option<&'a str> {
    let (before, end) = word.split_at_checked(word.len().checked_sub(ending.len())?)?;
    end.eq_ignore_ascii_case(ending).then_some(before)
}

fn url(text: &str) -> Token<'_> {
    const REFERRING: [&str; 9] = [
        "/issues/",
        "/issue/",
        "/pull/",
        "/pulls/",
        "/merge_requests/",
        "/work_items/",
        "/epics/",
        "/browse/",
        "/discussions/",
    ];
    let url = &text[..run(text, |c| c.is_ascii_graphic() && !matches!(c, '<' | '>' | '"' | '`'))];
    let url = url.trim_end_matches(|c: char| c.is_ascii_punctuation() && c != '/');
    let lower = url.to_ascii_lowercase();
    let plain = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '-' | '.' | '_' | '/' | ':' | '?' | '=' | '&' | '%' | '+' | ',' | ';')
    };
    if REFERRING.iter().any(|part| lower.contains(part)) {
        Token::ReferenceUrl(url)
    } else if url.chars().all(plain) && !refers_by_number(url) && ends_alone(&text[url.len()..]) {
        Token::PlainUrl(url)
    } else {
        Token::OddUrl(url)
    }
}

/// Whether `&1` stands in it. An address that is none in the eyes of a host is text there.
fn refers_by_number(url: &str) -> bool {
    url.split('&').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether what follows an address, up to the next space, is the same bare and in an address. Hosts
/// take all of it into the link, and would take the backticks of code with it.
fn ends_alone(rest: &str) -> bool {
    let inert = |c: char| !c.is_ascii_alphanumeric() && !"@＠#!&[]`\\<~$".contains(c);
    rest.chars().take_while(|c| !c.is_ascii_whitespace()).all(inert)
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}
