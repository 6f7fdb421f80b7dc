//! The path of a file in a repository: any bytes but NUL, as git keeps them.
//!
//! `diff` reads paths here and everybody shows them from here. Shown, a path is one line of text
//! in which nothing is hidden, and which [`FilePath::parse`] reads back byte by byte. Whether a
//! path may be opened or written is not decided here.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::unseen::is_unseen;

/// A path with forward slashes, relative to the root of its repository.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(Box<[u8]>);

impl FilePath {
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Self {
        Self(bytes.into())
    }

    /// Reads a path as git and [`fmt::Display`] write it: plain, or in double quotes with C-style
    /// escapes. Returns nothing for quotes that do not close, or close early, or unknown escapes.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.first() != Some(&b'"') {
            return Some(Self::new(text));
        }
        let (path, rest) = Self::parse_quoted(text)?;
        rest.is_empty().then_some(path)
    }

    /// Reads the quoted path that the text begins with, and returns what follows it.
    pub(crate) fn parse_quoted(text: &[u8]) -> Option<(Self, &[u8])> {
        let mut rest = text.strip_prefix(b"\"")?;
        let mut bytes = Vec::new();
        loop {
            let (&byte, after) = rest.split_first()?;
            rest = after;
            match byte {
                b'"' => return Some((Self::new(bytes), rest)),
                b'\\' => bytes.push(escaped(&mut rest)?),
                _ => bytes.push(byte),
            }
        }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the path as text, which is all that a forge's interface can name.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    fn needs_quotes(&self) -> bool {
        self.as_str().is_none_or(|text| {
            let mut before = None;
            text.chars().any(|c| is_hidden(c, before.replace(c)) || matches!(c, '"' | '\\'))
        })
    }
}

/// Takes what follows a backslash: a letter, or three octal digits.
fn escaped(rest: &mut &[u8]) -> Option<u8> {
    let (&letter, after) = rest.split_first()?;
    *rest = after;
    Some(match letter {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        b'"' | b'\\' => letter,
        b'0'..=b'3' => {
            let (digits, after) = after.split_at_checked(2)?;
            *rest = after;
            digits.iter().try_fold(letter - b'0', |value, digit| {
                matches!(digit, b'0'..=b'7').then(|| value * 8 + (digit - b'0'))
            })?
        }
        _ => return None,
    })
}

fn is_hidden(c: char, before: Option<char>) -> bool {
    c.is_control() || is_unseen(c, before)
}

/// The path as it is where that is plain to see, else quoted as git quotes it. Letters of every
/// script stay readable; what is hidden or is no text becomes octal bytes.
impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.needs_quotes() {
            return f.write_str(self.as_str().unwrap_or_default());
        }
        f.write_str("\"")?;
        for chunk in self.0.utf8_chunks() {
            let mut before = None;
            for c in chunk.valid().chars() {
                let hidden = is_hidden(c, before.replace(c));
                match c {
                    '"' | '\\' => write!(f, "\\{c}")?,
                    '\t' => f.write_str("\\t")?,
                    '\n' => f.write_str("\\n")?,
                    '\r' => f.write_str("\\r")?,
                    _ if hidden => write_octal(f, c.encode_utf8(&mut [0; 4]).as_bytes())?,
                    _ => write!(f, "{c}")?,
                }
            }
            write_octal(f, chunk.invalid())?;
        }
        f.write_str("\"")
    }
}

fn write_octal(f: &mut fmt::Formatter<'_>, bytes: &[u8]) -> fmt::Result {
    bytes.iter().try_for_each(|byte| write!(f, "\\{byte:03o}"))
}

impl fmt::Debug for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FilePath({self})")
    }
}

impl From<&str> for FilePath {
    fn from(text: &str) -> Self {
        Self::new(text.as_bytes())
    }
}

impl Serialize for FilePath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FilePath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(text.as_bytes())
            .ok_or_else(|| de::Error::custom("a path in quotes that cannot be read"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], shown: &str) {
        let path = FilePath::new(bytes);
        assert_eq!(path.to_string(), shown);
        assert_eq!(FilePath::parse(shown.as_bytes()), Some(path));
    }

    #[test]
    fn a_path_is_shown_plainly_or_quoted_as_git_quotes_it() {
        check(b"src/lib.rs", "src/lib.rs");
        check(b"with space and 'quote", "with space and 'quote");
        check("文档/é.md".as_bytes(), "文档/é.md");
        check(b"a\tb\nc\rd", r#""a\tb\nc\rd""#);
        check(b"say \"hi\\\"", r#""say \"hi\\\"""#);
        check(b"caf\xe9", r#""caf\351""#);
        check("\u{202e}gpj.exe".as_bytes(), r#""\342\200\256gpj.exe""#);
        check(b"\x1b[31m", r#""\033[31m""#);
    }

    #[test]
    fn what_git_would_never_quote_so_is_refused() {
        for text in [r#"""#, r#""a"#, r#""a"b"#, r#""\q""#, r#""\3""#, r#""\38x""#, r#""\400""#] {
            assert_eq!(FilePath::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(FilePath::parse(br#""\a\b\v\f\101""#), Some("\x07\x08\x0b\x0cA".into()));
    }

    proptest! {
        #[test]
        fn any_bytes_are_shown_in_one_line_and_read_back(bytes: Vec<u8>) {
            let path = FilePath::new(bytes);
            let shown = path.to_string();
            prop_assert!(!shown.contains(char::is_control));
            prop_assert_eq!(FilePath::parse(shown.as_bytes()), Some(path.clone()));
            let json = serde_json::to_string(&path).unwrap();
            prop_assert_eq!(serde_json::from_str::<FilePath>(&json).unwrap(), path);
        }
    }
}
