//! What must hold for comments, descriptions and bodies that anybody may write.

use std::sync::LazyLock;

use domain::command;
use domain::{Origin, Repo, RepoKey, Subject};
use report::fit::fit;
use report::marker::{self, MarkerKey};
use report::quote;
use report::redact::{REDACTED, Redactor, mask_shapes};
use report::{Flavour, Language};
use secrecy::SecretString;

/// A secret that no input knows in all of its forms.
const SECRET: &str = "correct horse/battery+staple=";

/// Commands: the same text never counts as an edit that asks for something.
pub(super) fn command(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let names = bot_names();
    let asked = command::parse(&text, &names);
    assert_eq!(command::parse_added(&text, &text, &names), None);
    assert_eq!(command::parse_added("", &text, &names), asked);
    drop(command::parse_order(&text));
}

/// The words that make a change be left alone: only a mention can say them.
pub(super) fn ignore(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let ignored = command::asks_to_ignore(&text, &bot_names());
    assert!(!ignored || text.contains('@'));
}

/// Markers: what is read is written again letter by letter, and a stranger's is not believed.
pub(super) fn marker(input: &[u8]) {
    let body = String::from_utf8_lossy(input);
    let Some(found) = marker::read(&body) else {
        assert_eq!(marker::strip(&body), body);
        return;
    };
    let (key, subject) = (MarkerKey::new(SECRET.as_bytes()), subject());
    assert!(!key.believes(&subject, &found), "nobody else can write with our key");
    let line = key.write(&subject, &found.marker);
    let again = marker::read(&line).expect("what we write can be read");
    assert_eq!(again.marker, found.marker);
    assert!(key.believes(&subject, &again));
    assert_eq!(marker::strip(&marker::attach(&line, marker::strip(&body))), marker::strip(&body));
}

/// The redactor: whatever stands around a secret, the secret is gone, and cleaning ends there.
pub(super) fn redact(input: &[u8]) {
    static REDACTOR: LazyLock<Redactor> =
        LazyLock::new(|| Redactor::new([&SecretString::from(SECRET)]));
    let mut text = String::from_utf8_lossy(input).into_owned();
    assert!(!REDACTOR.clean(&text).contains(SECRET));
    text.insert_str(text.floor_char_boundary(text.len() / 2), SECRET);
    let clean = REDACTOR.clean(&text).into_owned();
    assert!(!clean.contains(SECRET));
    assert_eq!(REDACTOR.clean(&clean), clean);
}

/// Known shapes of secrets: what is reported is what is masked, and nothing else changes.
pub(super) fn shape(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let (masked, found) = mask_shapes(&text);
    let mut expected = String::new();
    let mut done = 0;
    for one in &found {
        assert!(!one.at.is_empty(), "there is something to mask");
        expected.push_str(text.get(done..one.at.start).expect("in order and on characters"));
        expected.push_str(REDACTED);
        done = one.at.end;
    }
    expected.push_str(text.get(done..).expect("within the text"));
    assert_eq!(masked, expected);
}

/// Quotes: whatever others wrote, a forge's reader of it sees no order, and it fits.
pub(super) fn quoted(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    for flavour in [Flavour::GitHub, Flavour::GitLab, Flavour::GitCode, Flavour::Gitea] {
        let line = quote::quote_line(&text, flavour);
        assert!(!line.contains('\n'));
        for body in [quote(&text, flavour), quote::quote_block(&text, flavour), line] {
            assert_harmless(&body);
            let body = fit(&body, flavour, Language::En);
            assert!(body.chars().count() <= flavour.body_cap());
            assert_harmless(&body);
        }
        assert!(!quote::title(&text, flavour).contains(char::is_control));
    }
}

/// Code: it stays in its fence, whatever it looks like.
pub(super) fn code(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    assert_harmless(&quote::code_inline(&text));
    let block = quote::code_block(&text, &text).markdown;
    assert_harmless(&block);
    assert_harmless(&format!("{block}\n{block}"));
}

/// Reads a text as we read comments ourselves: it asks nothing and carries no marker.
#[track_caller]
fn assert_harmless(markdown: &str) {
    assert_eq!(command::parse(markdown, &bot_names()), None, "{markdown:?}");
    assert_eq!(marker::read(markdown), None, "{markdown:?}");
}

fn bot_names() -> Vec<String> {
    ["patchwright", "Bot", "修"].map(str::to_owned).to_vec()
}

fn subject() -> Subject {
    let repo = Repo {
        origin: Origin::new("https://forge.example"),
        key: RepoKey::Id(7),
        full_name: "ann/tools".to_owned(),
        default_branch: None,
    };
    Subject::issue(repo, 1)
}
