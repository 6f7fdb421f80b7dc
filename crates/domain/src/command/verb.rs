//! The verbs of every language, and the small words around them.
//!
//! A verb counts where it stands as a whole word; in scripts without word borders, where the
//! instruction begins with it. The words themselves are data and stand in [`words`].

use super::script;
use super::words::{self, entries};

/// What a person may want. Several verbs can make the same [`super::Command`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Help,
    Status,
    Pause,
    Resume,
    Cancel,
    Resolve,
    Dismiss,
    Review,
    FullReview,
    Detect,
    /// Mends what was found.
    Fix,
    FixAll,
    /// Changes the code in another way: `add`, `implement` …
    Edit,
    Repair,
    Ignore,
}

impl Verb {
    /// Whether obeying changes something, so that a question must not be taken for an order.
    pub(super) fn changes_something(self) -> bool {
        match self {
            Self::Help | Self::Status | Self::Review | Self::FullReview | Self::Detect => false,
            Self::Pause
            | Self::Resume
            | Self::Cancel
            | Self::Resolve
            | Self::Dismiss
            | Self::Fix
            | Self::FixAll
            | Self::Edit
            | Self::Repair
            | Self::Ignore => true,
        }
    }
}

/// Returns the verb that the text begins with, and its length with the gap before it.
pub(super) fn at(text: &str) -> Option<(Verb, usize)> {
    let spaced = longest(words::SPACED, |word| phrase_length(text, word));
    let (verb, length) = match spaced {
        Some(found) => found,
        None => longest(words::UNSPACED, |word| unspaced_length(text, word))?,
    };
    is_an_order(&text[..length], &text[length..]).then_some((verb, length))
}

/// Returns the length of this verb where the text begins with it. Much cheaper than [`at`] where it
/// does not, for texts that are full of mentions.
pub(super) fn length_of(verb: Verb, text: &str) -> Option<usize> {
    let words_of = |table: &'static [(Verb, &'static str)]| {
        table.iter().filter(move |row| row.0 == verb).flat_map(|row| entries(row.1))
    };
    let may_be = words_of(words::SPACED).any(|word| phrase_length(text, word).is_some())
        || words_of(words::UNSPACED).any(|word| unspaced_length(text, word).is_some());
    let found = if may_be { at(text) } else { None };
    found.filter(|found| found.0 == verb).map(|found| found.1)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Courtesy {
    Plain,
    /// It makes a question of the order.
    Question,
}

/// Returns the courtesy that the text begins with, and its length with the gap before it.
pub(super) fn courtesy(text: &str) -> Option<(Courtesy, usize)> {
    let question =
        entries(words::COURTEOUS_QUESTIONS).find_map(|phrase| phrase_length(text, phrase));
    if let Some(length) = question {
        return Some((Courtesy::Question, length));
    }
    let spaced = entries(words::COURTESIES).find_map(|phrase| phrase_length(text, phrase));
    let unspaced =
        || entries(words::COURTESIES_UNSPACED).find_map(|word| unspaced_length(text, word));
    spaced.or_else(unspaced).map(|length| (Courtesy::Plain, length))
}

/// Whether a word before a mention is a mere courtesy.
pub(super) fn is_courtesy(word: &str) -> bool {
    courtesy(word).is_some_and(|(_, length)| length == word.len())
}

/// Whether nothing but fillers follows until the sentence ends.
pub(super) fn is_only_filler(text: &str) -> bool {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c| {
            script::is_gap(c) || matches!(c, ',' | '，' | '、' | ')' | '"')
        });
        if rest.is_empty() || rest.starts_with('\n') || rest.starts_with(script::ENDS_SENTENCE) {
            return true;
        }
        let spaced = entries(words::FILLERS).find_map(|phrase| phrase_length(rest, phrase));
        let unspaced =
            || entries(words::FILLERS_UNSPACED).find_map(|word| unspaced_length(rest, word));
        match spaced.or_else(unspaced) {
            Some(length) => rest = &rest[length..],
            None => return false,
        }
    }
}

/// Whether the sentence that the text begins with is a question.
pub(super) fn is_question(text: &str) -> bool {
    let (sentence, sign) = script::first_sentence(text);
    matches!(sign, Some('?' | '？'))
        || entries(words::ASKS).any(|ending| sentence.trim_end().ends_with(ending))
}

/// Whether a verb orders something, by what follows it.
fn is_an_order(verb: &str, after: &str) -> bool {
    let (word, _) = script::split_word(after);
    if words::has(words::NOT_AN_ORDER, &word.replace('’', "'")) {
        return false;
    }
    let touching = after.trim_start_matches(script::is_gap);
    if entries(words::STILL_AN_ORDER_UNSPACED).any(|start| touching.starts_with(start)) {
        return true;
    }
    // A Chinese verb with kana after it is a Japanese noun: 修正しました says that it is done.
    let ends_in_han = verb.ends_with(|c| script::is_unspaced(c) && !script::is_kana(c));
    let is_japanese_noun = ends_in_han && after.starts_with(script::is_kana);
    !is_japanese_noun
        && !entries(words::NOT_AN_ORDER_UNSPACED).any(|start| touching.starts_with(start))
}

fn longest(
    table: &[(Verb, &'static str)],
    length: impl Fn(&str) -> Option<usize>,
) -> Option<(Verb, usize)> {
    let rows = table.iter().flat_map(|&(verb, list)| entries(list).map(move |word| (verb, word)));
    rows.filter_map(|(verb, word)| Some((verb, length(word)?))).max_by_key(|&(_, length)| length)
}

/// Returns the length of a phrase that the text begins with, word by word.
fn phrase_length(text: &str, phrase: &str) -> Option<usize> {
    let mut rest = text;
    for expected in phrase.split(' ') {
        rest = rest.trim_start_matches(script::is_gap);
        // The cheap look first: nearly every phrase differs here.
        if !rest.get(..expected.len())?.eq_ignore_ascii_case(expected) {
            return None;
        }
        let (word, after) = script::split_word(rest);
        if word.len() != expected.len() {
            return None;
        }
        rest = after;
    }
    Some(text.len() - rest.len())
}

fn unspaced_length(text: &str, word: &str) -> Option<usize> {
    let rest = text.trim_start_matches(script::is_gap).strip_prefix(word)?;
    Some(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_of_the_tables_is_found_as_the_verb_of_its_row() {
        for (verb, list) in words::SPACED.iter().chain(words::UNSPACED) {
            for word in entries(list) {
                assert_eq!(at(word), Some((*verb, word.len())), "{word}");
            }
        }
    }

    #[test]
    fn words_with_borders_are_found_whole_and_in_any_case() {
        assert_eq!(at(" FIX it"), Some((Verb::Fix, 4)));
        assert_eq!(at("fix这个"), Some((Verb::Fix, 3)));
        for text in [
            "fixture", "fixes", "prefix", "address", "add-on", "changes", "reviewer", "checkout",
            "helpful",
        ] {
            assert_eq!(at(text), None, "{text}");
        }
    }

    #[test]
    fn what_follows_a_verb_can_make_it_a_noun() {
        for text in [
            "fix is wrong",
            "change of plans",
            "review was good",
            "fix didn’t work",
            "修复了",
            "修复后报错",
            "更新的代码",
            "修改建议",
            "修正しました",
            "更新は",
            "修正しています",
            "修正してない",
            "수정했어",
            "수정해야",
            "แก้ไขแล้ว",
        ] {
            assert_eq!(at(text), None, "{text}");
        }
        for text in [
            "修改后端",
            "添加过滤器",
            "修复过期的令牌",
            "修正してください",
            "수정해주세요",
            "แก้ไขบั๊ก",
        ] {
            assert!(at(text).is_some(), "{text}");
        }
    }

    #[test]
    fn fillers_end_with_the_sentence() {
        for text in [
            "",
            " please",
            ", please!",
            " the reviews. The tests are red.",
            "\nmore",
            "一下吧",
            "をお願いします",
        ] {
            assert!(is_only_filler(text), "{text:?}");
        }
        for text in [" me understand this", " the subscription", "订阅功能"] {
            assert!(!is_only_filler(text), "{text:?}");
        }
    }

    #[test]
    fn a_question_is_known_by_its_sign_or_its_particle() {
        for text in [" this?", " this？ no", "这个吗", "これを直しますか"] {
            assert!(is_question(text), "{text:?}");
        }
        for text in ["", " this. Why?", " this\nwhy?"] {
            assert!(!is_question(text), "{text:?}");
        }
    }
}
