//! The redactor that stands in front of every outgoing text (T6): log, comment, record, artifact,
//! error.
//!
//! [`Redactor`] knows our own secrets, in every form in which they could slip out. It is built by
//! the composition root and shared; tokens minted at run time are added to it. What merely looks
//! like a secret, in code that is not ours, is the matter of [`mask_shapes`].

mod form;
mod shape;
mod view;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::{PoisonError, RwLock};

use aho_corasick::{AhoCorasick, MatchKind};
use secrecy::{ExposeSecret, SecretString};

pub use shape::{Found, Shape, mask_shapes};

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// A shorter secret is not masked: it would garble every text and hide nothing.
pub const SHORTEST: usize = 6;

/// Takes secrets out of texts.
#[derive(Default)]
pub struct Redactor {
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    forms: BTreeSet<Vec<u8>>,
    /// `None` while nothing is known.
    search: Option<Search>,
}

/// Almost every text holds no secret, and to find that out is several times faster than to find all
/// matches of all forms.
struct Search {
    any: AhoCorasick,
    /// Overlapping ones too: where two secrets overlap, what the longest match leaves over would be
    /// the rest of the other one.
    all: AhoCorasick,
}

impl Redactor {
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a SecretString>) -> Self {
        let redactor = Self::default();
        redactor.learn(secrets);
        redactor
    }

    /// Learns one more secret, such as a token minted at run time.
    pub fn add(&self, secret: &SecretString) {
        self.learn([secret]);
    }

    /// Whether a secret is too short to be masked. Configuration warns of it.
    pub fn too_short(secret: &SecretString) -> bool {
        secret.expose_secret().trim().len() < SHORTEST
    }

    /// Returns the text with every known secret replaced, in whatever form it stands there.
    pub fn clean<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.clean_bytes(text.as_bytes()) {
            Cow::Borrowed(_) => Cow::Borrowed(text),
            Cow::Owned(bytes) => Cow::Owned(match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            }),
        }
    }

    /// Like [`Self::clean`], for what may not be text.
    pub fn clean_bytes<'a>(&self, bytes: &'a [u8]) -> Cow<'a, [u8]> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(search) = &known.search else { return Cow::Borrowed(bytes) };
        let mut secret = Vec::new();
        view::each(bytes, |view| {
            if search.any.is_match(view.bytes()) {
                for found in search.all.find_overlapping_iter(view.bytes()) {
                    add(view.source(found.range()), &mut secret);
                }
            }
        });
        replace(bytes, secret)
    }

    fn learn<'a>(&self, secrets: impl IntoIterator<Item = &'a SecretString>) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let before = known.forms.len();
        for secret in secrets {
            form::of_secret(secret.expose_secret(), &mut known.forms);
        }
        if known.forms.len() > before {
            known.search = Some(Search::of(&known.forms));
        }
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Redactor(..)")
    }
}

impl Search {
    fn of(forms: &BTreeSet<Vec<u8>>) -> Self {
        #[expect(
            clippy::expect_used,
            reason = "the automaton's limit is 2^31 states, gigabytes of secrets"
        )]
        let automaton = |kind: MatchKind| {
            let built = AhoCorasick::builder().match_kind(kind).build(forms);
            built.expect("secrets are shorter than gigabytes")
        };
        let (any, all) = (automaton(MatchKind::LeftmostFirst), automaton(MatchKind::Standard));
        Self { any, all }
    }
}

/// Adds a range, to the last one if it touches it: a text of nothing but secrets stays small.
fn add(range: Range<usize>, ranges: &mut Vec<Range<usize>>) {
    match ranges.last_mut() {
        Some(last) if last.start <= range.start && range.start < last.end => {
            last.end = last.end.max(range.end);
        }
        _ => ranges.push(range),
    }
}

/// Replaces ranges, which may overlap and come in any order.
fn replace(bytes: &[u8], mut ranges: Vec<Range<usize>>) -> Cow<'_, [u8]> {
    if ranges.is_empty() {
        return Cow::Borrowed(bytes);
    }
    ranges.sort_unstable_by_key(|range| range.start);
    let mut clean = Vec::with_capacity(bytes.len());
    let mut done = 0;
    for range in ranges {
        if range.start >= done {
            clean.extend_from_slice(&bytes[done..range.start]);
            clean.extend_from_slice(REDACTED.as_bytes());
        }
        done = done.max(range.end);
    }
    clean.extend_from_slice(&bytes[done..]);
    Cow::Owned(clean)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
    use percent_encoding::{CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
    use proptest::prelude::*;

    use super::*;

    /// With signs that every encoding treats in its own way.
    const CANARY: &str = "c4n/ary+\"§ <&>%~_~?";

    fn knowing(secrets: &[&str]) -> Redactor {
        let secrets: Vec<_> = secrets.iter().map(|&secret| SecretString::from(secret)).collect();
        Redactor::new(&secrets)
    }

    #[track_caller]
    fn check(secrets: &[&str], text: &str, expected: &str) {
        assert_eq!(knowing(secrets).clean(text), expected);
    }

    #[test]
    fn t6_a_secret_is_replaced_wherever_it_stands() {
        check(
            &["hunter22"],
            "a hunter22, hunter22hunter22.",
            "a [redacted], [redacted][redacted].",
        );
        check(&["hunter22"], "nothing here", "nothing here");
        assert!(matches!(knowing(&["hunter22"]).clean("nothing here"), Cow::Borrowed(_)));
        assert!(matches!(knowing(&[]).clean("%41 \\n &lt;"), Cow::Borrowed(_)));
    }

    #[test]
    fn t6_overlapping_secrets_leave_nothing_of_each_other() {
        check(&["abcdef", "defghi", "abcdefghijkl"], "xabcdefghix", "x[redacted]x");
        check(&["abcdef", "abcdefghijkl"], "xabcdefghijklx", "x[redacted]x");
    }

    #[test]
    fn t6_every_encoding_of_a_secret_is_replaced() {
        let every_byte: String = CANARY.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let json = serde_json::to_string(CANARY).unwrap();
        for encoded in [
            CANARY.to_owned(),
            hex::encode(CANARY),
            hex::encode_upper(CANARY),
            every_byte.to_uppercase(),
            every_byte,
            utf8_percent_encode(CANARY, NON_ALPHANUMERIC).to_string(),
            utf8_percent_encode(CANARY, CONTROLS).to_string().replace('%', "%25"),
            utf8_percent_encode(CANARY, NON_ALPHANUMERIC).to_string().replace("%20", "+"),
            json.trim_matches('"').to_owned(),
            json.replace('/', "\\/").replace('§', "\\u00a7").trim_matches('"').to_owned(),
            serde_json::to_string(&json).unwrap().replace("\"\\\"", "").replace("\\\"\"", ""),
            CANARY.escape_debug().to_string(),
            CANARY.escape_default().to_string(),
            "c4n/ary+\"§ &lt;&amp;&gt;%\\~\\_\\~?".to_owned(),
        ] {
            check(&[CANARY], &format!("x {encoded} y"), "x [redacted] y");
        }
    }

    #[test]
    fn t6_base64_is_replaced_at_every_alignment() {
        for before in ["", "u", "u:", "us:", "use:"] {
            for after in ["", "z", "zz", "zzz"] {
                let pair = format!("{before}{CANARY}{after}");
                for engine in [&STANDARD, &STANDARD_NO_PAD, &URL_SAFE, &URL_SAFE_NO_PAD] {
                    let encoded = engine.encode(&pair);
                    let cleaned = knowing(&[CANARY]).clean(&encoded).into_owned();
                    assert!(cleaned.contains(REDACTED), "{pair}: {encoded}");
                    // What is left are the neighbours and the digits shared with them.
                    let left = cleaned.len() - REDACTED.len();
                    assert!(left <= (before.len() + after.len()) * 4 / 3 + 5, "{pair}: {cleaned}");
                }
            }
        }
    }

    #[test]
    fn t6_a_private_key_is_replaced_line_by_line() {
        let key = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA1234\nabcdefghijklmnopqrstuv\nshort\n-----END KEY-----\n";
        check(&[key], &format!("key: {key}"), "key: [redacted]\n");
        check(&[key], &key.replace('\n', "\\n"), "[redacted]\\n");
        check(&[key], "line 2 is abcdefghijklmnopqrstuv.", "line 2 is [redacted].");
        check(&[&key.replace('\n', "\\n")], "abcdefghijklmnopqrstuv", "[redacted]");
        check(&[key], "-----BEGIN KEY-----", "-----BEGIN KEY-----");
        check(&[key], "short", "short");
    }

    #[test]
    fn t6_a_secret_read_from_a_file_is_known_without_its_line_end() {
        check(&["hunter22\n"], "hunter22!", "[redacted]!");
    }

    #[test]
    fn t6_a_short_secret_is_said_to_be_too_short_and_not_masked() {
        check(&["abcde"], "abcde", "abcde");
        check(&["     \n"], "a      b", "a      b");
        assert!(Redactor::too_short(&SecretString::from(" abcde \n")));
        assert!(!Redactor::too_short(&SecretString::from("abcdef")));
    }

    #[test]
    fn t6_a_token_minted_at_run_time_is_added() {
        let redactor = knowing(&["hunter22"]);
        assert_eq!(redactor.clean("ghs_minted hunter22"), "ghs_minted [redacted]");
        redactor.add(&SecretString::from("ghs_minted"));
        assert_eq!(redactor.clean("ghs_minted hunter22"), "[redacted] [redacted]");
    }

    #[test]
    fn t6_bytes_that_are_no_text_are_cleaned_too() {
        let cleaned = knowing(&["hunter22"]).clean_bytes(b"\xff\xfehunter22\xff").into_owned();
        assert_eq!(cleaned, b"\xff\xfe[redacted]\xff");
    }

    #[test]
    fn t6_a_redactor_does_not_show_what_it_knows() {
        assert_eq!(format!("{:?}", knowing(&["hunter22"])), "Redactor(..)");
    }

    proptest! {
        #[test]
        fn t6_no_text_with_a_secret_keeps_it(before in any::<String>(), after in any::<String>(), secret in "\\PC{6,40}") {
            prop_assume!(secret.trim().len() >= SHORTEST);
            // The word in its place could itself be the secret, or make it with its neighbours.
            prop_assume!(!REDACTED.contains(secret.trim()) && !secret.contains(['[', ']']));
            let cleaned = knowing(&[&secret]).clean(&format!("{before}{secret}{after}")).into_owned();
            prop_assert!(cleaned.contains(REDACTED));
            prop_assert!(!cleaned.contains(secret.trim()));
        }

        #[test]
        fn cleaning_never_panics(text in "[%\\\\&u{}x0-9a-f;#d8D—]{0,60}") {
            knowing(&["hunter22"]).clean(&text);
        }
    }
}
