//! What looks like a secret in a text that is not ours: tokens by their prefixes, private keys.
//!
//! Used on code before it enters a prompt or a record (T6). What was masked is returned, so that
//! it can be reported. Secrets without a shape (a bare password) are not found; nothing says they
//! are.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, MatchKind};

use super::REDACTED;

/// Something that looks like a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub shape: Shape,
    /// Where it stands in the text, in bytes.
    pub at: Range<usize>,
}

/// The kinds of secrets that are known by their looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    GitHubToken,
    GitLabToken,
    SlackToken,
    /// The keys of `OpenAI` and Anthropic, and of those who took over their way of writing keys.
    ModelKey,
    AwsAccessKey,
    GoogleKey,
    NpmToken,
    PyPiToken,
    HuggingFaceToken,
    StripeKey,
    JsonWebToken,
    PrivateKey,
    /// The password in `scheme://user:password@host`.
    UrlPassword,
}

/// Masks whatever looks like a secret and says what it was and where.
pub fn mask_shapes(text: &str) -> (Cow<'_, str>, Vec<Found>) {
    let found = find(text);
    if found.is_empty() {
        return (Cow::Borrowed(text), found);
    }
    let mut masked = String::with_capacity(text.len());
    let mut done = 0;
    for Found { at, .. } in &found {
        masked.push_str(&text[done..at.start]);
        masked.push_str(REDACTED);
        done = at.end;
    }
    masked.push_str(&text[done..]);
    (Cow::Owned(masked), found)
}

/// How a secret of one shape goes on after its prefix.
#[derive(Clone, Copy)]
enum Tail {
    /// At least so many letters, digits, `_`, `-` and `.`.
    Token(usize),
    /// The same with a digit among them: words joined by hyphens begin alike.
    TokenWithDigit(usize),
    /// Exactly so many upper-case letters and digits.
    Upper(usize),
    /// Three parts of base64 with points between.
    JsonWebToken,
    PrivateKey,
    UrlPassword,
}

const PREFIXES: [(&str, Shape, Tail); 37] = [
    ("ghp_", Shape::GitHubToken, Tail::Token(16)),
    ("gho_", Shape::GitHubToken, Tail::Token(16)),
    ("ghu_", Shape::GitHubToken, Tail::Token(16)),
    ("ghs_", Shape::GitHubToken, Tail::Token(16)),
    ("ghr_", Shape::GitHubToken, Tail::Token(16)),
    ("github_pat_", Shape::GitHubToken, Tail::Token(16)),
    ("glpat-", Shape::GitLabToken, Tail::Token(16)),
    ("gldt-", Shape::GitLabToken, Tail::Token(16)),
    ("glrt-", Shape::GitLabToken, Tail::Token(16)),
    ("glft-", Shape::GitLabToken, Tail::Token(16)),
    ("glptt-", Shape::GitLabToken, Tail::Token(16)),
    ("glcbt-", Shape::GitLabToken, Tail::Token(16)),
    ("glimt-", Shape::GitLabToken, Tail::Token(16)),
    ("glsoat-", Shape::GitLabToken, Tail::Token(16)),
    ("glagent-", Shape::GitLabToken, Tail::Token(16)),
    ("gloas-", Shape::GitLabToken, Tail::Token(16)),
    ("xoxa-", Shape::SlackToken, Tail::TokenWithDigit(10)),
    ("xoxb-", Shape::SlackToken, Tail::TokenWithDigit(10)),
    ("xoxe-", Shape::SlackToken, Tail::TokenWithDigit(10)),
    ("xoxp-", Shape::SlackToken, Tail::TokenWithDigit(10)),
    ("xoxr-", Shape::SlackToken, Tail::TokenWithDigit(10)),
    ("xoxs-", Shape::SlackToken, Tail::TokenWithDigit(10)),
    ("xapp-", Shape::SlackToken, Tail::TokenWithDigit(10)),
    ("sk-", Shape::ModelKey, Tail::TokenWithDigit(20)),
    ("AKIA", Shape::AwsAccessKey, Tail::Upper(16)),
    ("ASIA", Shape::AwsAccessKey, Tail::Upper(16)),
    ("AIza", Shape::GoogleKey, Tail::Token(35)),
    ("npm_", Shape::NpmToken, Tail::Token(30)),
    ("pypi-", Shape::PyPiToken, Tail::Token(50)),
    ("hf_", Shape::HuggingFaceToken, Tail::Token(30)),
    ("sk_live_", Shape::StripeKey, Tail::Token(16)),
    ("rk_live_", Shape::StripeKey, Tail::Token(16)),
    ("sk_test_", Shape::StripeKey, Tail::Token(16)),
    ("whsec_", Shape::StripeKey, Tail::Token(16)),
    ("eyJ", Shape::JsonWebToken, Tail::JsonWebToken),
    ("-----BEGIN ", Shape::PrivateKey, Tail::PrivateKey),
    ("://", Shape::UrlPassword, Tail::UrlPassword),
];

#[expect(clippy::expect_used, reason = "the prefixes are constants")]
static SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(PREFIXES.map(|(prefix, ..)| prefix))
        .expect("a few short prefixes")
});

/// Finds them in order. Linear: a candidate that fails was either short, or begins where a word
/// begins, and the words do not overlap.
fn find(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for candidate in SEARCH.find_iter(text) {
        if found.last().is_some_and(|last| candidate.start() < last.at.end) {
            continue;
        }
        let (_, shape, tail) = PREFIXES[candidate.pattern().as_usize()];
        if let Some(at) = tail.range(text, candidate.range()) {
            found.push(Found { shape, at });
        }
    }
    found
}

impl Tail {
    /// Returns what to mask, given where the prefix stands.
    fn range(self, text: &str, prefix: Range<usize>) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        let before = prefix.start.checked_sub(1).map(|at| bytes[at]);
        let tail = &bytes[prefix.end..];
        let begins = |joins: fn(u8) -> bool| !before.is_some_and(joins);
        let token = || {
            let length = run(tail, |byte| is_word(byte) || byte == b'-' || byte == b'.');
            // A sentence may end behind it.
            length
                - tail[..length]
                    .iter()
                    .rev()
                    .take_while(|&&byte| matches!(byte, b'.' | b'-'))
                    .count()
        };
        match self {
            Self::Token(least) => {
                let length = if begins(is_word) { token() } else { 0 };
                (length >= least).then(|| prefix.start..prefix.end + length)
            }
            Self::TokenWithDigit(least) => {
                let length = if begins(|byte| is_word(byte) || byte == b'-') { token() } else { 0 };
                let convincing = length >= least && tail[..length].iter().any(u8::is_ascii_digit);
                convincing.then(|| prefix.start..prefix.end + length)
            }
            Self::Upper(exactly) => {
                let length = if begins(is_word) { run(tail, is_word) } else { 0 };
                let upper = tail[..length]
                    .iter()
                    .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
                (length == exactly && upper).then(|| prefix.start..prefix.end + length)
            }
            Self::JsonWebToken => {
                let part = |from: usize| run(&tail[from..], |byte| is_word(byte) || byte == b'-');
                if !begins(|byte| is_word(byte) || byte == b'-') {
                    return None;
                }
                let payload = part(0) + 1;
                let signature = tail
                    .get(payload - 1..)?
                    .starts_with(b".eyJ")
                    .then(|| payload + part(payload) + 1)?;
                let length = (tail.get(signature - 1) == Some(&b'.'))
                    .then(|| signature + part(signature))?;
                Some(prefix.start..prefix.end + length)
            }
            Self::PrivateKey => {
                const LONGEST_LABEL: usize = 40;
                let label = run(&tail[..tail.len().min(LONGEST_LABEL)], |byte| byte != b'-');
                let label = text.get(prefix.end..prefix.end + label)?;
                label.ends_with("PRIVATE KEY").then_some(())?;
                let ending = format!("-----END {label}-----");
                // A block without its end is masked to the end of the text: rather too much.
                let end = text[prefix.end..].find(&ending).map(|at| prefix.end + at + ending.len());
                Some(prefix.start..end.unwrap_or(text.len()))
            }
            Self::UrlPassword => {
                let user =
                    run(tail, |byte| is_word(byte) || matches!(byte, b'-' | b'.' | b'%' | b'+'));
                (tail.get(user) == Some(&b':')).then_some(())?;
                let password = run(&tail[user + 1..], |byte| {
                    byte.is_ascii_graphic()
                        && !matches!(byte, b'/' | b'@' | b'"' | b'\'' | b'`' | b'<' | b'>')
                });
                let start = prefix.end + user + 1;
                (password > 0 && bytes.get(start + password) == Some(&b'@'))
                    .then(|| start..start + password)
            }
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|&&byte| belongs(byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, masked: &str, shapes: &[Shape]) {
        let (cleaned, found) = mask_shapes(text);
        assert_eq!(cleaned, masked);
        assert_eq!(found.iter().map(|found| found.shape).collect::<Vec<_>>(), shapes);
    }

    #[test]
    fn t6_known_shapes_of_secrets_are_masked_and_reported() {
        let word = "aB3dE5gH7jK9mN1pQ3sT5vW7";
        for (text, shape) in [
            (format!("ghp_{word}"), Shape::GitHubToken),
            (format!("ghs_123456_eyJhbGciOi.{word}.{word}"), Shape::GitHubToken),
            (format!("github_pat_{word}"), Shape::GitHubToken),
            (format!("glpat-{word}"), Shape::GitLabToken),
            (format!("sk-{word}"), Shape::ModelKey),
            (format!("sk-ant-api03-{word}"), Shape::ModelKey),
            (format!("xoxb-123-{word}"), Shape::SlackToken),
            ("AKIAIOSFODNN7EXAMPLE".to_owned(), Shape::AwsAccessKey),
            (format!("AIza{word}{word}"), Shape::GoogleKey),
            (format!("npm_{word}{word}"), Shape::NpmToken),
            (format!("hf_{word}{word}"), Shape::HuggingFaceToken),
            (format!("sk_live_{word}"), Shape::StripeKey),
            ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl_-".to_owned(), Shape::JsonWebToken),
        ] {
            check(&format!("let k = \"{text}\";"), "let k = \"[redacted]\";", &[shape]);
            check(&format!("{text}."), "[redacted].", &[shape]);
            check(&format!("KEY={text}\n"), "KEY=[redacted]\n", &[shape]);
        }
    }

    #[test]
    fn t6_a_private_key_block_is_masked_whole_also_without_its_end() {
        let block = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----";
        check(&format!("a\n{block}\nb"), "a\n[redacted]\nb", &[Shape::PrivateKey]);
        check(&block[..50], "[redacted]", &[Shape::PrivateKey]);
        let public = "-----BEGIN PUBLIC KEY-----\nMIIE\n-----END PUBLIC KEY-----";
        check(public, public, &[]);
    }

    #[test]
    fn t6_only_the_password_of_a_url_is_masked() {
        check(
            "postgres://app:p4ss@db/x and http://host:80/@x",
            "postgres://app:[redacted]@db/x and http://host:80/@x",
            &[Shape::UrlPassword],
        );
    }

    #[test]
    fn ordinary_words_that_begin_alike_are_left_alone() {
        for text in [
            "risk-assessment-of-the-2nd-quarter-2024",
            "sk-spinner-with-a-long-css-class-name",
            "task-12345678901234567890",
            "ghp_short",
            "AKIAlowercaseletters1",
            "XAKIAIOSFODNN7EXAMPLE",
            "AKIAIOSFODNN7EXAMPLEX",
            "eyJhbGciOiJIUzI1NiJ9",
            "eyJhbGciOiJIUzI1NiJ9.plain.text",
            "see https://example.org/a:b@c",
        ] {
            check(text, text, &[]);
        }
    }

    #[test]
    fn pathological_texts_take_linear_time() {
        for unit in [
            "sk-",
            "eyJ-",
            "eyJ.eyJ.",
            "://a:",
            "-----BEGIN ",
            "ghp_",
            "-----BEGIN PRIVATE KEY-----",
        ] {
            mask_shapes(&unit.repeat(1_000_000 / unit.len()));
        }
    }
}
