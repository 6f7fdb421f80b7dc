//! Where a spoken text addresses us: `@name` as a whole name, or seed 001's `/agent fix`.
//!
//! Names are compared without regard to ASCII case. What a forge would read as a longer name, an
//! address or a path (`@bot2`, `@bot-x`, `me@bot.com`, `@org/bot`, `@bot.dev`) is no mention.

use std::ops::Range;

use super::script;
use super::verb::{self, Verb};

/// A place in a spoken text that addresses us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    /// The bytes that make the address; the instruction follows.
    pub range: Range<usize>,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Mention,
    /// `/agent` at the start of a line, with `fix` after it.
    Slash,
}

/// Finds the first address: a mention of one of `names`, or `/agent fix`.
pub(super) fn first<'a, N: AsRef<str>>(spoken: &'a str, names: &'a [N]) -> Option<Address> {
    let mention = mentions(spoken, names).next();
    let slash = slash(spoken);
    match (mention, slash) {
        (Some(mention), Some(slash)) if slash.start < mention.start => {
            Some(Address { range: slash, kind: Kind::Slash })
        }
        (Some(range), _) => Some(Address { range, kind: Kind::Mention }),
        (None, Some(range)) => Some(Address { range, kind: Kind::Slash }),
        (None, None) => None,
    }
}

/// Finds every mention of one of `names`.
pub(super) fn mentions<'a, N: AsRef<str>>(
    spoken: &'a str,
    names: &'a [N],
) -> impl Iterator<Item = Range<usize>> + 'a {
    spoken.match_indices('@').filter_map(move |(at, _)| {
        if !begins_a_name(&spoken[..at]) {
            return None;
        }
        let after = &spoken[at + 1..];
        names
            .iter()
            .find_map(|name| name_at(after, name.as_ref()))
            .map(|length| at..at + 1 + length)
    })
}

/// Returns the length of `name` at the start of `text`, with the `[bot]` of a GitHub App.
fn name_at(text: &str, name: &str) -> Option<usize> {
    let name = name.strip_suffix(BOT).unwrap_or(name);
    let start = text.get(..name.len())?;
    if name.is_empty() || !start.eq_ignore_ascii_case(name) {
        return None;
    }
    let after = &text[name.len()..];
    match after.get(..BOT.len()) {
        Some(suffix) if suffix.eq_ignore_ascii_case(BOT) => Some(name.len() + BOT.len()),
        _ => ends_a_name(after).then_some(name.len()),
    }
}

const BOT: &str = "[bot]";

/// Whether an `@` after this text can begin a mention.
fn begins_a_name(before: &str) -> bool {
    match before.chars().next_back() {
        None => true,
        Some('_' | '.' | '-' | '/' | '@' | '\\' | '+' | '=') => false,
        Some(c) => !script::joins_words(c),
    }
}

/// Whether a name that this text follows is complete.
fn ends_a_name(after: &str) -> bool {
    let mut chars = after.chars();
    match chars.next() {
        None => true,
        Some('_' | '-' | '/' | '@' | '[') => false,
        // The end of a sentence, or a longer name: `@bot.dev`, `@bot:example.org`.
        Some('.' | ':') => chars.next().is_none_or(|c| !c.is_alphanumeric()),
        Some(c) => !script::joins_words(c),
    }
}

/// Finds a line that begins with `/agent fix`, and returns the place of `/agent`.
fn slash(spoken: &str) -> Option<Range<usize>> {
    const AGENT: &str = "/agent";
    let mut line_start = 0;
    for line in spoken.split_inclusive('\n') {
        let words = line.trim_start();
        let start = line_start + (line.len() - words.len());
        line_start += line.len();
        let Some(agent) = words.get(..AGENT.len()) else { continue };
        let after = &words[AGENT.len()..];
        if agent.eq_ignore_ascii_case(AGENT)
            && after.starts_with(script::is_gap)
            && verb::length_of(Verb::Fix, after).is_some()
        {
            return Some(start..start + AGENT.len());
        }
    }
    None
}

/// Whether a mention after this text opens a sentence, so that the words after it are an order.
///
/// Greetings, other mentions and signs may stand before it. Anything else makes it a mention in
/// passing: in "why did @bot fix this" nobody asks for a fix.
pub(super) fn opens_a_sentence(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    for word in line.split_whitespace().rev() {
        if ends_a_sentence(word) {
            return true;
        }
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        if !bare.is_empty() && !word.starts_with('@') && !verb::is_courtesy(bare) {
            return false;
        }
    }
    true
}

fn ends_a_sentence(word: &str) -> bool {
    let Some(bare) = word.strip_suffix(script::ENDS_SENTENCE) else { return false };
    // "e.g." and "i.e." lead into what follows.
    !bare.contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, found: &[&str]) {
        let names = ["bot", "Other-Name"];
        let actual: Vec<&str> = mentions(text, &names).map(|range| &text[range]).collect();
        assert_eq!(actual, found, "{text}");
    }

    #[test]
    fn a_whole_name_is_a_mention_whatever_its_case() {
        check("@bot", &["@bot"]);
        check("hello @BOT and @other-name", &["@BOT", "@other-name"]);
        check("(@bot) \"@bot\" **@bot**", &["@bot", "@bot", "@bot"]);
    }

    #[test]
    fn punctuation_after_a_name_is_no_part_of_it() {
        for text in [
            "@bot.", "@bot. x", "@bot, x", "@bot: x", "@bot!", "@bot? x", "@bot) x", "@bot...",
            "@bot's",
        ] {
            check(text, &["@bot"]);
        }
    }

    #[test]
    fn longer_names_addresses_and_paths_are_no_mention() {
        for text in [
            "@bot2",
            "@bot-x",
            "@bot_x",
            "@bot-",
            "@bots",
            "@botö",
            "@bot.dev",
            "@bot:example.org",
            "@bot/team",
            "@org/bot",
            "@bot@example.org",
            "me@bot",
            "me@bot.com",
            "ö@bot",
            "a.b@bot",
            "https://example.org/@bot",
            "@@bot",
            r"\@bot",
            "@ bot",
            "bot",
            "@",
            "",
        ] {
            check(text, &[]);
        }
    }

    #[test]
    fn scripts_without_word_borders_may_touch_a_name() {
        check("@bot修复", &["@bot"]);
        check("请@bot修复", &["@bot"]);
        check("@bot，修复", &["@bot"]);
        check("@bot아 리뷰해줘", &["@bot"]);
    }

    #[test]
    fn the_account_of_an_app_is_mentioned_with_its_suffix() {
        check("@bot[bot] help", &["@bot[bot]"]);
        check("@bot[BOT]", &["@bot[BOT]"]);
        check("@bot[x]", &[]);
        let names = ["bot[bot]"];
        assert_eq!(mentions("@bot help", &names).next(), Some(0..4));
    }

    #[test]
    fn an_empty_name_is_never_mentioned() {
        assert_eq!(mentions("@ @x @", &[""]).next(), None);
        assert_eq!(mentions("@[bot]", &["[bot]"]).next(), None);
    }

    #[test]
    fn the_slash_form_begins_a_line_and_orders_a_fix() {
        let no_names: [&str; 0] = [];
        for text in ["/agent fix", "hello\n  /agent fix this", "/agent fix."] {
            assert_eq!(first(text, &no_names).map(|found| found.kind), Some(Kind::Slash), "{text}");
        }
        for text in [
            "see /agent fix",
            "/agent",
            "/agentfix",
            "/agents fix",
            "/agent prefix",
            "/agent fixture",
        ] {
            assert_eq!(first(text, &no_names), None, "{text}");
        }
    }

    #[test]
    fn the_first_address_wins() {
        let kind = |text| first(text, &["bot"]).map(|found| found.kind);
        assert_eq!(kind("/agent fix\n@bot review"), Some(Kind::Slash));
        assert_eq!(kind("@bot review\n/agent fix"), Some(Kind::Mention));
    }

    #[test]
    fn only_greetings_mentions_and_signs_may_stand_before_an_order() {
        for before in
            ["", "Hey ", "hi, ", "@alice ", "👉 ", "Looks good. ", "不错。", "text\n", "[ ] ", "请"]
        {
            assert!(opens_a_sentence(before), "{before:?}");
        }
        for before in ["why did ", "thanks ", "write e.g. ", "don't let ", "as discussed, "] {
            assert!(!opens_a_sentence(before), "{before:?}");
        }
    }
}
