//! The name of an object: SHA-1 or SHA-256, in lower-case hexadecimal digits.

use std::fmt;
use std::str::FromStr;

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(String);

/// A text that names no object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the name of an object")]
pub struct NotAnOid;

impl Oid {
    /// Returns the tree without entries, to compare a first commit with.
    pub fn empty_tree() -> Self {
        Self("4b825dc642cb6eb9a060e54bf8d69288fbee4904".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, NotAnOid> {
        std::str::from_utf8(bytes).map_err(|_| NotAnOid)?.parse()
    }
}

impl FromStr for Oid {
    type Err = NotAnOid;

    fn from_str(text: &str) -> Result<Self, NotAnOid> {
        let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex && matches!(text.len(), 40 | 64) {
            Ok(Self(text.to_owned()))
        } else {
            Err(NotAnOid)
        }
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_lower_case_names_are_names() {
        assert!("4b825dc642cb6eb9a060e54bf8d69288fbee4904".parse::<Oid>().is_ok());
        assert!("a".repeat(64).parse::<Oid>().is_ok());
        for text in ["", "HEAD", "4b825dc", "--upload-pack=x", &"A".repeat(40), &"a".repeat(41)] {
            assert_eq!(text.parse::<Oid>(), Err(NotAnOid), "{text}");
        }
    }
}
