//! The marker by which we know a comment of ours again (E1).
//!
//! It is the first line of the body and nothing else is on that line. There is one way to write a
//! marker; whatever deviates by a byte is no marker. Reading gives an [`Unverified`]: it says what
//! stood there, and only [`MarkerKey::believes`] says whether we wrote it there. Whose account
//! wrote the comment is for the caller to check: a right MAC alone is not enough.
//!
//! ```text
//! <!-- patchwright:1 kind=K slot=S rev=N [instance=I] [head=H] [expires=MS] mac=64 hex digits -->
//! ```

use std::borrow::Cow;
use std::fmt;

use domain::{Slot, Subject, Time};
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use secrecy::{ExposeSecret, SecretSlice, SecretString};
use sha2::Sha256;

/// How every marker of ours begins, of whatever version.
pub(crate) const FAMILY: &str = "<!-- patchwright:";

const OPENING: &str = "<!-- patchwright:1 ";
const CLOSING: &str = " -->";
const MAC_LENGTH: usize = 32;

/// What a value may hold unescaped: what a slot may hold. No `>`, so no value ends the comment.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b':').remove(b'-').remove(b'_').remove(b'.');

/// What a comment of ours says about itself to machines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// What the comment is: `answer`, `status`, `apology` …
    pub kind: String,
    pub slot: Slot,
    pub revision: u32,
    /// Which deployment wrote it, on the first comment of a run (E7).
    pub instance: Option<String>,
    /// The commit that the run is about (E7).
    pub head: Option<String>,
    /// From this moment on another deployment may take the slot over (E7).
    pub expires: Option<Time>,
}

/// A marker as it stood in a body, not yet believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unverified {
    pub marker: Marker,
    mac: [u8; MAC_LENGTH],
}

/// Reads the marker of a body: from its first line only, and only in its canonical writing.
pub fn read(body: &str) -> Option<Unverified> {
    let (line, _) = first_line(body);
    let fields = line.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
    let mut fields = Fields(fields.split(' ').peekable());
    let marker = Marker {
        kind: fields.text("kind")?,
        slot: Slot::parse(fields.take("slot")?)?,
        revision: fields.take("rev")?.parse().ok()?,
        instance: fields.text("instance"),
        head: fields.text("head"),
        expires: fields.take("expires").and_then(|text| text.parse().ok()).map(Time),
    };
    let mut mac = [0; MAC_LENGTH];
    hex::decode_to_slice(fields.take("mac")?, &mut mac).ok()?;
    // Writing it again settles every question of form: order, case, leading zeros, repeats, and a
    // value that is there and could not be read.
    (render(&marker, &mac) == line).then_some(Unverified { marker, mac })
}

/// Puts a marker's line in front of a body.
pub fn attach(line: &str, markdown: &str) -> String {
    format!("{line}\n{markdown}")
}

/// Returns the body without its marker, if it has one.
pub fn strip(body: &str) -> &str {
    match read(body) {
        Some(_) => first_line(body).1,
        None => body,
    }
}

/// The secret with which markers are signed. It can be used, never seen.
#[derive(Clone)]
pub struct MarkerKey(SecretSlice<u8>);

impl MarkerKey {
    /// Takes a key as it was configured or kept in the store.
    pub fn new(bytes: &[u8]) -> Self {
        Self(SecretSlice::from(bytes.to_vec()))
    }

    /// Derives a key from a secret that serves another end, one key for each purpose.
    pub fn derive(secret: &SecretString, purpose: &str) -> Self {
        let mut mac = keyed(secret.expose_secret().as_bytes());
        absorb(&mut mac, b"patchwright marker key");
        absorb(&mut mac, purpose.as_bytes());
        Self::new(&mac.finalize().into_bytes())
    }

    /// Writes the marker for a comment on this subject: the whole first line, without its end.
    pub fn write(&self, subject: &Subject, marker: &Marker) -> String {
        let mac: [u8; MAC_LENGTH] = self.seal(subject, marker).finalize().into_bytes().into();
        render(marker, &mac)
    }

    /// Whether the marker was written with this key for this subject. Compares in constant time.
    pub fn believes(&self, subject: &Subject, found: &Unverified) -> bool {
        self.seal(subject, &found.marker).verify_slice(&found.mac).is_ok()
    }

    /// Feeds everything that the marker stands for into the MAC. Each field carries its length, so
    /// no two different markers give the same bytes.
    fn seal(&self, subject: &Subject, marker: &Marker) -> Hmac<Sha256> {
        let Subject { repo, kind, number, branch } = subject;
        let Marker { kind: marker_kind, slot, revision, instance, head, expires } = marker;
        let mut mac = keyed(self.0.expose_secret());
        absorb(&mut mac, b"patchwright marker 1");
        absorb(&mut mac, repo.origin.as_str().as_bytes());
        absorb(&mut mac, repo.key.to_string().as_bytes());
        absorb(&mut mac, kind.as_str().as_bytes());
        absorb(&mut mac, &number.to_be_bytes());
        absorb_optional(&mut mac, branch.as_deref().map(str::as_bytes));
        absorb(&mut mac, marker_kind.as_bytes());
        absorb(&mut mac, slot.as_str().as_bytes());
        absorb(&mut mac, &revision.to_be_bytes());
        absorb_optional(&mut mac, instance.as_deref().map(str::as_bytes));
        absorb_optional(&mut mac, head.as_deref().map(str::as_bytes));
        absorb_optional(
            &mut mac,
            expires.map(|at| at.0.to_be_bytes()).as_ref().map(<[u8; 8]>::as_slice),
        );
        mac
    }
}

impl fmt::Debug for MarkerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MarkerKey(..)")
    }
}

#[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes a key of any length")
}

fn absorb(mac: &mut Hmac<Sha256>, field: &[u8]) {
    mac.update(&(field.len() as u64).to_be_bytes());
    mac.update(field);
}

fn absorb_optional(mac: &mut Hmac<Sha256>, field: Option<&[u8]>) {
    mac.update(&[u8::from(field.is_some())]);
    absorb(mac, field.unwrap_or_default());
}

/// Splits a body into its first line, without its end, and the rest. Some forges store CRLF.
fn first_line(body: &str) -> (&str, &str) {
    let (line, rest) = body.split_once('\n').unwrap_or((body, ""));
    (line.strip_suffix('\r').unwrap_or(line), rest)
}

fn render(marker: &Marker, mac: &[u8; MAC_LENGTH]) -> String {
    let Marker { kind, slot, revision, instance, head, expires } = marker;
    let mut line = OPENING.trim_end().to_owned();
    let mut add = |name: &str, value: &str| {
        line.extend([" ", name, "="]);
        line.extend(utf8_percent_encode(value, ESCAPED));
    };
    add("kind", kind);
    add("slot", slot.as_str());
    add("rev", &revision.to_string());
    if let Some(instance) = instance {
        add("instance", instance);
    }
    if let Some(head) = head {
        add("head", head);
    }
    if let Some(expires) = expires {
        add("expires", &expires.0.to_string());
    }
    add("mac", &hex::encode(mac));
    line.push_str(CLOSING);
    line
}

/// The fields of a marker, taken in their one order.
struct Fields<'a>(std::iter::Peekable<std::str::Split<'a, char>>);

impl<'a> Fields<'a> {
    fn take(&mut self, name: &str) -> Option<&'a str> {
        let value = self.0.peek()?.strip_prefix(name)?.strip_prefix('=')?;
        self.0.next();
        Some(value)
    }

    fn text(&mut self, name: &str) -> Option<String> {
        percent_decode_str(self.take(name)?).decode_utf8().ok().map(Cow::into_owned)
    }
}

#[cfg(test)]
mod tests {
    use domain::{Origin, Repo, RepoKey};
    use proptest::prelude::*;

    use super::*;

    fn repo() -> Repo {
        Repo {
            origin: Origin::new("https://forge.example"),
            key: RepoKey::Id(7),
            full_name: "o/r".to_owned(),
            default_branch: None,
        }
    }

    fn subject() -> Subject {
        Subject::issue(repo(), 3)
    }

    fn key() -> MarkerKey {
        MarkerKey::new(b"a key for tests")
    }

    fn marker() -> Marker {
        Marker {
            kind: "answer".to_owned(),
            slot: Slot::reply("c17"),
            revision: 2,
            instance: Some("web 1".to_owned()),
            head: Some("abc".to_owned()),
            expires: Some(Time(1_700_000_000_000)),
        }
    }

    fn body() -> String {
        attach(&key().write(&subject(), &marker()), "Hello.\n\nMore.")
    }

    #[track_caller]
    fn is_believed(subject: &Subject, body: &str) -> bool {
        read(body).is_some_and(|found| key().believes(subject, &found))
    }

    #[test]
    fn a_marker_is_one_line_in_one_writing() {
        expect_test::expect![[r#"
            <!-- patchwright:1 kind=answer slot=reply:c17 rev=2 instance=web%201 head=abc expires=1700000000000 mac=3588efc34c09fc1aca530cfd7b02f142507f047d55902c5f8723770392c75e69 -->
            Hello.

            More."#]]
        .assert_eq(&body());
    }

    #[test]
    fn e1_our_own_marker_is_believed_on_its_subject() {
        assert!(is_believed(&subject(), &body()));
        assert!(is_believed(&subject(), &body().replace('\n', "\r\n")));
        assert_eq!(read(&body()).map(|found| found.marker), Some(marker()));
    }

    #[test]
    fn e1_a_marker_moved_elsewhere_is_not_believed() {
        let elsewhere = [
            Subject::issue(repo(), 4),
            Subject::change(repo(), 3),
            Subject::issue(Repo { key: RepoKey::Id(8), ..repo() }, 3),
            Subject::issue(Repo { key: RepoKey::Name("7".to_owned()), ..repo() }, 3),
            Subject::issue(Repo { origin: Origin::new("https://other.example"), ..repo() }, 3),
            Subject { branch: Some(String::new()), ..subject() },
        ];
        for subject in elsewhere {
            assert!(!is_believed(&subject, &body()), "{subject}");
        }
        let renamed = Repo { full_name: "new/name".to_owned(), ..repo() };
        assert!(is_believed(&Subject::issue(renamed, 3), &body()));
    }

    #[test]
    fn e1_a_forged_or_edited_marker_is_not_believed() {
        let other_key = MarkerKey::new(b"another key").write(&subject(), &marker());
        assert!(!is_believed(&subject(), &other_key));
        for (from, to) in [
            ("slot=reply:c17", "slot=reply:c18"),
            ("rev=2", "rev=3"),
            ("kind=answer", "kind=status"),
            ("head=abc ", ""),
            ("head=abc", "head=abd"),
            ("expires=17", "expires=27"),
            ("instance=web%201", "instance=web"),
        ] {
            let edited = body().replacen(from, to, 1);
            assert_ne!(edited, body());
            assert!(read(&edited).is_some(), "{edited}");
            assert!(!is_believed(&subject(), &edited), "{edited}");
        }
    }

    #[test]
    fn e1_a_marker_stands_alone_on_the_first_line_or_is_none() {
        let body = body();
        for other in [
            format!("\n{body}"),
            format!(" {body}"),
            format!("Hello\n{body}"),
            format!("> {body}"),
            format!("```\n{body}\n```"),
            format!("\u{feff}{body}"),
            body.replacen(" -->", " --> ", 1),
            body.replacen(" -->", "  -->", 1),
            body.replacen(" -->", " x=1 -->", 1),
            body.replacen(" -->\n", " --> and more\n", 1),
            body.replacen("rev=2", "rev=02", 1),
            body.replacen("rev=2", "rev=+2", 1),
            body.replacen("rev=2 instance=web%201", "instance=web%201 rev=2", 1),
            body.replacen("web%201", "w%65b%201", 1),
            body.replacen("web%201", "%ff", 1),
            body.replacen("expires=1", "expires=x", 1),
            body.replacen("patchwright:1", "patchwright:2", 1),
            body.to_uppercase(),
        ] {
            assert_eq!(read(&other), None, "{other}");
            assert_eq!(strip(&other), other);
        }
    }

    #[test]
    fn a_body_is_read_without_its_marker() {
        assert_eq!(strip(&body()), "Hello.\n\nMore.");
        assert_eq!(strip(&body().replace('\n', "\r\n")), "Hello.\r\n\r\nMore.");
        assert_eq!(strip(&key().write(&subject(), &marker())), "");
        assert_eq!(strip("Hello."), "Hello.");
    }

    #[test]
    fn a_derived_key_depends_on_secret_and_purpose_and_is_never_shown() {
        let derive =
            |secret: &str, purpose| MarkerKey::derive(&SecretString::from(secret), purpose);
        let line = derive("s3cret-value", "marker").write(&subject(), &marker());
        let found = read(&line).unwrap();
        assert!(derive("s3cret-value", "marker").believes(&subject(), &found));
        assert!(!derive("s3cret-value", "other").believes(&subject(), &found));
        assert!(!derive("s3cret-valuf", "marker").believes(&subject(), &found));
        assert_eq!(format!("{:?}", derive("s3cret-value", "marker")), "MarkerKey(..)");
    }

    #[test]
    fn a_value_can_not_end_the_comment() {
        let hostile = Marker {
            kind: "--> <img src=x>".to_owned(),
            slot: Slot::reply("--> x"),
            instance: Some("a\nb mac=00 -->".to_owned()),
            ..marker()
        };
        let line = key().write(&subject(), &hostile);
        assert_eq!(line.matches("-->").count(), 1, "{line}");
        assert!(!line.contains('\n'));
    }

    prop_compose! {
        fn any_marker()(
            kind in any::<String>(),
            slot in "[A-Za-z0-9:._-]{1,120}",
            revision in any::<u32>(),
            instance in any::<Option<String>>(),
            head in any::<Option<String>>(),
            expires in any::<Option<i64>>(),
        ) -> Marker {
            let slot = Slot::parse(&slot).unwrap();
            Marker { kind, slot, revision, instance, head, expires: expires.map(Time) }
        }
    }

    proptest! {
        #[test]
        fn e1_what_is_written_is_read_and_believed(marker in any_marker(), rest in any::<String>()) {
            let body = attach(&key().write(&subject(), &marker), &rest);
            let found = read(&body).unwrap();
            prop_assert_eq!(&found.marker, &marker);
            prop_assert!(key().believes(&subject(), &found));
            prop_assert_eq!(strip(&body), rest);
        }

        #[test]
        fn e1_no_marker_with_one_byte_changed_is_believed(marker in any_marker(), at in any::<prop::sample::Index>(), byte in 0u8..128) {
            let line = key().write(&subject(), &marker);
            let mut bytes = line.clone().into_bytes();
            let at = at.index(bytes.len());
            prop_assume!(bytes[at] != byte);
            bytes[at] = byte;
            prop_assert!(!is_believed(&subject(), &String::from_utf8(bytes).unwrap()));
        }

        #[test]
        fn reading_never_panics(body in any::<String>(), fields in "[a-z0-9=%: -]{0,80}") {
            read(&body);
            read(&format!("{OPENING}{fields}{CLOSING}"));
        }
    }
}
