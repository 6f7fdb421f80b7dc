//! Prose of others as Markdown that keeps paragraphs, lists, emphasis and code, and can do nothing.
//!
//! Code is recognised here and written anew, so that no host can disagree about where it ends. In
//! all other text every sign is escaped by which code, HTML, a link, an image or a table could
//! begin (a table ends its cells inside code), and
//! whatever a forge or a bot would act on is set in inline code: entities and backslashes do not
//! help there, since some hosts look for mentions in the text as rendered.

use std::collections::HashMap;

use super::code::{code_block, code_inline};
use super::token::{self, Token};

/// Beginnings by which a line commands some bot, besides a slash or a mention.
const COMMANDS: [&str; 11] = [
    "bors",
    "homu",
    "jenkins",
    "lgtm",
    "ok to test",
    "r+",
    "r=",
    "r?",
    "recheck",
    "retest",
    "test this",
];

/// More block marks than this in front of a line are taken as text.
const DEEPEST: usize = 6;

/// Writes text of several lines. Unseen characters have been dealt with.
pub(super) fn paragraphs(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut lines = text.split('\n');
    let mut first = true;
    while let Some(line) = lines.next() {
        if !std::mem::take(&mut first) {
            out.push('\n');
        }
        match Fence::opened_by(line) {
            Some(fence) => {
                let code: Vec<_> =
                    lines.by_ref().take_while(|line| !fence.is_closed_by(line)).collect();
                let code: Vec<_> =
                    code.into_iter().map(|line| fence.without_indent(line)).collect();
                out.push_str(&code_block(&code.join("\n"), fence.language).markdown);
            }
            None => block_line(line, &mut out),
        }
    }
    out
}

/// Writes text as part of a line: block marks mean nothing in it.
pub(super) fn inline(text: &str, out: &mut String) {
    if let Some(mark) = Mark::first(text) {
        let (word, rest) = text.split_at(mark.sign_at());
        out.push_str(word);
        out.push('\\');
        let sign = rest.chars().next().map_or(0, char::len_utf8);
        out.push_str(&rest[..sign]);
        tokens(&rest[sign..], out);
    } else {
        content(text, out);
    }
}

/// Sets a piece in inline code. Two runs of backticks must not touch: they would read as one.
pub(super) fn push_code(text: &str, out: &mut String) {
    if out.ends_with('`') {
        out.push(' ');
    }
    out.push_str(&code_inline(text));
}

/// Returns the length of the bot's command with which a line begins, if it does.
pub(super) fn command_length(line: &str) -> Option<usize> {
    COMMANDS.into_iter().find_map(|command| {
        let length = command.len();
        let begins = line.get(..length)?.eq_ignore_ascii_case(command);
        let goes_on = line[length..].starts_with(char::is_alphanumeric)
            && command.ends_with(char::is_alphanumeric);
        (begins && !goes_on).then_some(length)
    })
}

/// A fence in the text, of backticks or tildes.
struct Fence<'a> {
    indent: usize,
    sign: char,
    length: usize,
    language: &'a str,
}

impl<'a> Fence<'a> {
    fn opened_by(line: &'a str) -> Option<Self> {
        let rest = line.trim_start();
        let sign = rest.chars().next().filter(|&sign| sign == '`' || sign == '~')?;
        let after = rest.trim_start_matches(sign);
        let length = rest.len() - after.len();
        let opens = length >= 3 && !(sign == '`' && after.contains('`'));
        let language = after.split_whitespace().next().unwrap_or("");
        opens.then_some(Self { indent: line.len() - rest.len(), sign, length, language })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|c| c == self.sign)
    }

    /// Takes off as much indentation as the fence itself had.
    fn without_indent<'b>(&self, line: &'b str) -> &'b str {
        let spaces = line.len() - line.trim_start_matches([' ', '\t']).len();
        &line[spaces.min(self.indent)..]
    }
}

/// A mark that makes a block of a line.
enum Mark {
    Quote,
    Heading(usize),
    /// How long the mark is: `-` is 1, `12.` is 3.
    Item(usize),
}

impl Mark {
    fn first(line: &str) -> Option<Self> {
        let followed_by_space =
            |length: usize| line[length..].starts_with([' ', '\t']) || line.len() == length;
        let run = |c: char| line.len() - line.trim_start_matches(c).len();
        match line.chars().next()? {
            '>' => Some(Self::Quote),
            '#' => Some(run('#'))
                .filter(|&length| length <= 6 && followed_by_space(length))
                .map(Self::Heading),
            '-' | '+' | '*' => followed_by_space(1).then_some(Self::Item(1)),
            '0'..='9' => {
                let digits =
                    line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
                let item = digits <= 9
                    && line[digits..].starts_with(['.', ')'])
                    && followed_by_space(digits + 1);
                item.then_some(Self::Item(digits + 1))
            }
            _ => None,
        }
    }

    fn len(&self) -> usize {
        match *self {
            Self::Quote => 1,
            Self::Heading(length) | Self::Item(length) => length,
        }
    }

    /// Where the sign stands that an escape takes the meaning from.
    fn sign_at(&self) -> usize {
        match *self {
            Self::Quote | Self::Heading(_) => 0,
            Self::Item(length) => length - 1,
        }
    }
}

/// Writes a line that may be an item, a quote or a heading.
fn block_line(line: &str, out: &mut String) {
    let mut rest = line.trim_start();
    let indent = (line.len() - rest.len()).min(8);
    if matches!(Mark::first(rest), Some(Mark::Item(_))) {
        out.extend(std::iter::repeat_n(' ', indent));
    }
    for _ in 0..DEEPEST {
        let Some(mark) = Mark::first(rest) else { return content(rest, out) };
        // The space keeps GitLab's `>>>` from opening a quote that swallows what follows.
        out.push_str(&rest[..mark.len()]);
        out.push(' ');
        rest = rest[mark.len()..].trim_start();
        if matches!(mark, Mark::Heading(_)) {
            return content(rest, out);
        }
    }
    inline(rest, out);
}

/// Writes what stands behind the block marks: no command of a bot may begin it.
fn content(text: &str, out: &mut String) {
    if text.starts_with('/') || text.starts_with("::") || is_ruling(text) {
        out.push('\\');
        out.push_str(&text[..1]);
        tokens(&text[1..], out);
    } else if let Some(length) = command_length(text) {
        push_code(&text[..length], out);
        tokens(&text[length..], out);
    } else {
        tokens(text, out);
    }
}

/// Whether the line rules off the head of a table of one column, which needs no other sign.
fn is_ruling(text: &str) -> bool {
    text.contains(':') && text.chars().all(|c| matches!(c, ':' | '-' | ' ' | '\t'))
}

fn tokens(text: &str, out: &mut String) {
    let spans = CodeSpans::of(text);
    let mut at = 0;
    while let Some(token) = token::first(&text[at..]) {
        if let Some((code, length)) = spans.at(text, at) {
            push_code(code, out);
            at += length;
            continue;
        }
        at += token.len();
        match token {
            Token::Mention(text)
            | Token::Reference(text)
            | Token::TrackerKey(text)
            | Token::ReferenceUrl(text)
            | Token::OddUrl(text) => push_code(text, out),
            Token::PlainUrl(url) => out.push_str(&url.replace('&', "&amp;")),
            Token::Word(word) => out.push_str(word),
            Token::Sign(sign) => push_sign(sign, out),
        }
    }
}

fn push_sign(sign: char, out: &mut String) {
    match sign {
        '<' => out.push_str("&lt;"),
        '&' => out.push_str("&amp;"),
        '\t' => out.push(' '),
        '\\' | '`' | '[' | ']' | '~' | '$' | '|' => out.extend(['\\', sign]),
        _ => out.push(sign),
    }
}

/// The code spans of a line: a run of backticks and the next run of the same length.
struct CodeSpans {
    /// Where a run begins, how long it is, and where its partner begins.
    spans: HashMap<usize, (usize, usize)>,
}

impl CodeSpans {
    fn of(line: &str) -> Self {
        let mut spans = HashMap::new();
        if !line.contains('`') {
            return Self { spans };
        }
        // From the right, so that the nearest run of each length is at hand.
        let mut nearest: HashMap<usize, usize> = HashMap::new();
        let mut end = line.len();
        while let Some(last) = line[..end].rfind('`') {
            let start = line[..=last].trim_end_matches('`').len();
            let length = last + 1 - start;
            if let Some(partner) = nearest.insert(length, start) {
                spans.insert(start, (length, partner));
            }
            end = start;
        }
        Self { spans }
    }

    /// Returns the code that begins here and the length of its span.
    fn at<'a>(&self, line: &'a str, at: usize) -> Option<(&'a str, usize)> {
        let &(length, partner) = self.spans.get(&at)?;
        let code = &line[at + length..partner];
        let padded = code.strip_prefix(' ').and_then(|code| code.strip_suffix(' '));
        let code = padded.filter(|code| !code.trim().is_empty()).unwrap_or(code);
        Some((code, partner + length - at))
    }
}
