//! Text of others in one plain line: a title, a commit's subject, the description of a status.
//!
//! Nobody renders Markdown there, so nothing can be set in code: a space, or a hyphen that no
//! tracker takes for one, breaks what would act. Both can be seen or do not change what is read.

use super::prose::command_length;
use super::token::{self, Token};

/// Words in brackets by which a commit asks that nothing is checked.
const SKIPPING: [&str; 7] =
    ["skip ci", "ci skip", "no ci", "skip actions", "actions skip", "skip checks", "skip pipeline"];

/// Writes the text as one line. Unseen characters have been dealt with.
pub(super) fn one_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("<!--", "<!- -");
    let mut out = String::with_capacity(text.len() + 8);
    if text.starts_with('/') || command_length(&text).is_some() {
        out.push_str("> ");
    }
    let mut rest = text.as_str();
    while let Some(token) = token::first(rest) {
        match token {
            Token::Mention(text) | Token::Reference(text) => {
                // After its sign, or at the hyphen of `GH-1`.
                let signed = text.chars().next().filter(|sign| !sign.is_alphanumeric());
                let at = signed.map(char::len_utf8).or_else(|| text.find('-').map(|at| at + 1));
                let (sign, name) = text.split_at(at.unwrap_or(text.len()));
                out.extend([sign, " ", name]);
            }
            Token::TrackerKey(key) => out.push_str(&key.replace('-', "\u{2011}")),
            Token::ReferenceUrl(url) | Token::OddUrl(url) => {
                for sign in url.replacen("://", ":// ", 1).chars() {
                    out.push(sign);
                    if matches!(sign, '@' | '#' | '!' | '&') {
                        out.push(' ');
                    }
                }
            }
            Token::PlainUrl(text) | Token::Word(text) => out.push_str(text),
            Token::Sign('[') if skips(rest) => out.push_str("[ "),
            Token::Sign(sign) => out.push(sign),
        }
        rest = &rest[token.len()..];
    }
    out
}

fn skips(rest: &str) -> bool {
    SKIPPING.iter().any(|words| {
        let inside = rest.get(1..=words.len());
        inside.is_some_and(|inside| inside.eq_ignore_ascii_case(words))
            && rest[1 + words.len()..].starts_with(']')
    })
}
