//! What is wanted, read from the words that follow an address.
//!
//! The first words decide, courtesies aside: an explicit verb must stand there. Otherwise there is
//! no order here, and [`super::parse`] leaves the text to the model or to a question.

use std::collections::HashSet;

use super::script;
use super::spoken::Spoken;
use super::verb::{self, Courtesy, Verb};
use super::{Command, ReviewScope, Which, words};

/// Reads the explicit order that stands at `start` in the spoken text. `text` is the whole
/// instruction as it was written, for the commands that keep it.
pub(super) fn read(spoken: &Spoken<'_>, start: usize, text: &str) -> Option<Command> {
    let mut rest = skip_signs(spoken.text().get(start..)?);
    let mut courtesies = Courtesy::Plain;
    let (verb, after) = loop {
        if let Some((verb, length)) = verb::at(rest) {
            break (verb, &rest[length..]);
        }
        let (courtesy, length) = verb::courtesy(rest)?;
        if courtesy == Courtesy::Question {
            courtesies = courtesy;
        }
        rest = skip_signs(&rest[length..]);
    };
    if verb.changes_something() && courtesies == Courtesy::Plain && verb::is_question(after) {
        return None;
    }
    let arguments = spoken.source_after(spoken.text().len() - after.len());
    let alone = |command| verb::is_only_filler(after).then_some(command);
    match verb {
        Verb::Help => alone(Command::Help),
        Verb::Status => alone(Command::Status),
        Verb::Pause => alone(Command::Pause),
        Verb::Resume => alone(Command::Resume),
        Verb::Cancel => alone(Command::Cancel),
        Verb::Detect => alone(Command::Detect),
        Verb::Repair => alone(Command::Repair),
        Verb::Ignore => alone(Command::Ignore),
        Verb::Resolve => resolve(arguments),
        Verb::Dismiss => dismiss(arguments),
        Verb::Review => Some(Command::Review { scope: scope(after) }),
        Verb::FullReview => Some(Command::Review { scope: ReviewScope::Full }),
        Verb::Fix => Some(Command::Fix { which: which(arguments), text: text.to_owned() }),
        Verb::FixAll => Some(Command::Fix { which: Which::All, text: text.to_owned() }),
        // "update: the tests pass now" is news, not an order.
        Verb::Edit if after.starts_with([':', '：']) => None,
        Verb::Edit => {
            let which = match which(arguments) {
                // "add all" does not speak of findings.
                Which::All => Which::Unsaid,
                which => which,
            };
            Some(Command::Fix { which, text: text.to_owned() })
        }
    }
}

/// Returns the instruction that follows an address, without the signs that touch the address.
pub(super) fn as_written<'a>(spoken: &Spoken<'a>, address_end: usize) -> &'a str {
    let touching = |c| {
        matches!(c, ',' | ':' | ';' | '.' | '!' | '?' | ')' | '*' | '_' | '~' | '，' | '：' | '、')
    };
    spoken.source_after(address_end).trim_start_matches(touching).trim()
}

/// Whether the words after a mention are `ignore` and no more.
pub(super) fn is_ignore(after: &str) -> bool {
    let rest = skip_signs(after);
    verb::length_of(Verb::Ignore, rest).is_some_and(|length| verb::is_only_filler(&rest[length..]))
}

/// Skips what may stand between a mention and its verb. A line break may not: what stands on the
/// next line is a new thought.
fn skip_signs(text: &str) -> &str {
    text.trim_start_matches(|c| {
        script::is_gap(c)
            || matches!(
                c,
                ',' | ':' | ';' | '!' | '.' | '-' | '–' | '—' | '，' | '：' | '、' | '。' | '！'
            )
    })
}

fn scope(after: &str) -> ReviewScope {
    let (sentence, _) = script::first_sentence(after);
    if words::has(words::FULLY, sentence.trim()) { ReviewScope::Full } else { ReviewScope::New }
}

/// Reads which findings are meant.
///
/// They are named only if the sentence holds nothing but ids and fillers ([`Argument::Id`] says what
/// an id is): `fix F1 and F2 please`. `fix utf-8 handling` names none; its text says what is wanted.
fn which(arguments: &str) -> Which {
    let mut ids = Vec::new();
    let mut named = HashSet::new();
    let mut all = false;
    for argument in Arguments(arguments) {
        match argument {
            Argument::Word(word) if words::has(words::ALL, word) && ids.is_empty() => all = true,
            Argument::Word(word) if all && words::has(words::WITH_ALL, word) => {}
            Argument::Word(word) if words::has(words::BETWEEN_IDS, word) => {}
            Argument::Id(id) if !all => {
                if named.insert(id) {
                    ids.push(id.to_owned());
                }
            }
            Argument::Word(_) | Argument::Id(_) => return Which::Unsaid,
        }
    }
    match (all, ids.is_empty()) {
        (true, _) => Which::All,
        (false, false) => Which::These(ids),
        (false, true) => Which::Unsaid,
    }
}

fn resolve(arguments: &str) -> Option<Command> {
    match which(arguments) {
        Which::These(ids) => match <[String; 1]>::try_from(ids) {
            Ok([finding]) => Some(Command::Resolve { finding }),
            Err(_) => None,
        },
        Which::Unsaid | Which::All => None,
    }
}

/// Reads `ID [why]`. The reason runs to the end of the text.
fn dismiss(arguments: &str) -> Option<Command> {
    let mut rest = arguments.trim_start_matches(script::is_gap);
    if let (word, after) = script::split_word(rest)
        && word.eq_ignore_ascii_case("finding")
    {
        rest = after.trim_start_matches(script::is_gap);
    }
    let end = rest.find(parts_arguments).unwrap_or(rest.len());
    let (token, why) = rest.split_at(end);
    let Argument::Id(id) = Argument::of(token) else { return None };
    let why = why
        .trim_start_matches(|c: char| {
            c.is_whitespace() || matches!(c, ':' | ',' | '-' | '–' | '—' | '，')
        })
        .trim_end();
    Some(Command::Dismiss {
        finding: id.to_owned(),
        why: (!why.is_empty()).then(|| why.to_owned()),
    })
}

/// The arguments of a verb up to the end of its sentence, with sentence signs and quotes removed.
struct Arguments<'a>(&'a str);

impl<'a> Iterator for Arguments<'a> {
    type Item = Argument<'a>;

    fn next(&mut self) -> Option<Argument<'a>> {
        loop {
            self.0 =
                self.0.trim_start_matches(|c| script::is_gap(c) || matches!(c, ',' | '，' | '、'));
            let end = self.0.find(parts_arguments).unwrap_or(self.0.len());
            let (token, rest) = self.0.split_at(end);
            let ends = token.is_empty()
                || matches!(token, "-" | "–" | "—")
                || token.ends_with(ENDS_ARGUMENTS);
            self.0 = if ends { "" } else { rest };
            if token.is_empty() {
                return None;
            }
            // Signs and emoji between the arguments say nothing.
            if token.contains(char::is_alphanumeric) {
                return Some(Argument::of(token));
            }
        }
    }
}

const ENDS_ARGUMENTS: [char; 9] = ['.', '!', '?', ';', ':', '。', '！', '？', '；'];

fn parts_arguments(c: char) -> bool {
    c.is_whitespace() || matches!(c, ',' | '，' | '、')
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument<'a> {
    /// A finding's id: up to 200 letters, digits and `_ . : / -` that begin with none of the last
    /// four, and either stand in backticks or cannot be a word: they hold a colon, or a digit beside
    /// something else, or at least six digits. Code spans are not spoken, but they may be named.
    Id(&'a str),
    Word(&'a str),
}

impl<'a> Argument<'a> {
    fn of(token: &'a str) -> Self {
        let bare = token.trim_end_matches(ENDS_ARGUMENTS).trim_matches(['*', '"', '\'', '(', ')']);
        let quoted = bare.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
        let name = quoted.unwrap_or(bare);
        let is_name = (1..=200).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '/' | '-'));
        let digits = name.chars().filter(char::is_ascii_digit).count();
        let is_no_word = name.contains(':') || digits >= 6 || (digits > 0 && digits < name.len());
        if is_name && (quoted.is_some() || is_no_word) { Self::Id(name) } else { Self::Word(bare) }
    }
}
