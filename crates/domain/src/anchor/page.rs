//! One side of a file as lines with tags.

use std::fmt;

use memchr::memchr_iter;
use sha2::{Digest, Sha256};

use super::Side;
use crate::path::FilePath;

/// So many lines on either side of a line count for its hash.
const NEIGHBOURS: u64 = 2;

/// Digits and small letters without the four that are taken for others.
const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// Three letters are few tokens. One tag in 32768 is right by accident; a pointer is compared
/// with seven lines at most, which makes one in 4681, or 0.02 %.
const LENGTH: usize = 3;

/// The lines of one side of a file.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    path: &'a FilePath,
    side: Side,
    content: &'a [u8],
    /// Where each line begins.
    starts: Vec<usize>,
}

impl<'a> Page<'a> {
    /// Takes the whole content of the file on that side.
    pub fn new(path: &'a FilePath, side: Side, content: &'a [u8]) -> Self {
        let mut starts = Vec::new();
        if !content.is_empty() {
            starts.push(0);
            starts.extend(memchr_iter(b'\n', content).map(|end| end + 1));
            starts.pop_if(|start| *start == content.len());
        }
        Self { path, side, content, starts }
    }

    pub fn path(&self) -> &FilePath {
        self.path
    }

    pub fn side(&self) -> Side {
        self.side
    }

    /// How many lines there are.
    pub fn len(&self) -> u64 {
        self.starts.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    /// Returns a line without its line feed. Lines count from 1.
    pub fn line(&self, number: u64) -> Option<&'a [u8]> {
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let start = *self.starts.get(index)?;
        let end = self.starts.get(index + 1).copied().unwrap_or(self.content.len());
        let line = self.content.get(start..end)?;
        Some(line.strip_suffix(b"\n").unwrap_or(line))
    }

    /// Whether the lines from `start` on read like the quoted ones.
    pub(super) fn reads(&self, start: u64, quoted: &[&[u8]]) -> bool {
        quoted.iter().zip(0..).all(|(quoted, behind)| {
            let line = start.checked_add(behind).and_then(|number| self.line(number));
            line.is_some_and(|line| reads_the_same(line, quoted))
        })
    }

    /// Returns the tag under which a line is shown to a model.
    pub fn tag(&self, line: u64) -> Option<Tag> {
        Some(Tag { line, hash: self.hash(line)? })
    }

    /// Hashes what makes a line that line: the file, the side, the number, and the text of the
    /// line and its neighbours without white space. So lines that read the same differ, and the
    /// tag of another file, side or version does not fit.
    pub(super) fn hash(&self, line: u64) -> Option<Hash> {
        self.line(line)?;
        let mut sha = Sha256::new();
        sha.update((self.path.as_bytes().len() as u64).to_le_bytes());
        sha.update(self.path.as_bytes());
        sha.update([match self.side {
            Side::Old => b'-',
            Side::New => b'+',
        }]);
        sha.update(line.to_le_bytes());
        for near in line.saturating_sub(NEIGHBOURS)..=line + NEIGHBOURS {
            // Texts hold no line feed, so none can pass for two.
            if let Some(text) = self.line(near) {
                pieces(text).for_each(|piece| sha.update(piece));
                sha.update(b"\n");
            }
        }
        let [first, second, ..]: [u8; 32] = sha.finalize().into();
        let bits = usize::from(u16::from_le_bytes([first, second]));
        Some(Hash([0, 5, 10].map(|shift| LETTERS[bits >> shift & 31])))
    }
}

/// How a line is named to a model: `LINE#HASH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tag {
    pub(super) line: u64,
    pub(super) hash: Hash,
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.line, self.hash)
    }
}

/// What proves a line's number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Hash([u8; LENGTH]);

impl Hash {
    /// Reads a hash in small or capital letters.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let letters: [u8; LENGTH] = text.to_ascii_lowercase().into_bytes().try_into().ok()?;
        letters.iter().all(|letter| LETTERS.contains(letter)).then_some(Self(letters))
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|letter| write!(f, "{}", char::from(*letter)))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

/// Whether two texts differ in white space at most.
fn reads_the_same(one: &[u8], other: &[u8]) -> bool {
    pieces(one).flatten().eq(pieces(other).flatten())
}

/// Whether a text is nothing but white space.
pub(super) fn is_blank(text: &[u8]) -> bool {
    pieces(text).next().is_none()
}

/// Splits a text at white space of every script, and drops that. What is no text stays.
fn pieces(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.utf8_chunks().flat_map(|chunk| {
        let words = chunk.valid().split_whitespace().map(str::as_bytes);
        words.chain((!chunk.invalid().is_empty()).then_some(chunk.invalid()))
    })
}
