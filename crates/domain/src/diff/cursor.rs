//! Where a reader of a diff stands: the bytes that are left, and the number of the next line.

use memchr::memchr;

use super::Error;

/// The rest of a diff.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
    /// The number of the line that the rest begins with, counted from 1.
    number: u64,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(diff: &'a [u8]) -> Self {
        Self { rest: diff, number: 1 }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether the next line begins so.
    pub(super) fn sees(&self, prefix: &[u8]) -> bool {
        self.rest.starts_with(prefix)
    }

    /// Returns what is left, to measure later how much of it was taken.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns what was taken since the rest was `before`.
    pub(super) fn taken(&self, before: &'a [u8]) -> &'a [u8] {
        before.get(..before.len() - self.rest.len()).unwrap_or_default()
    }

    /// Takes the next line without its line end. git ends every line, so one without is half a
    /// line of a diff that was cut.
    #[inline]
    pub(super) fn line(&mut self, expected: &'static str) -> Result<&'a [u8], Error> {
        let Some(end) = memchr(b'\n', self.rest) else {
            return Err(self.cut(expected));
        };
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        self.number += 1;
        Ok(line)
    }

    /// Says that the next line is not what was expected.
    #[cold]
    pub(super) fn expected(&self, expected: &'static str) -> Error {
        if self.is_at_end() {
            return Error::malformed(self.number, expected, None);
        }
        let end = memchr(b'\n', self.rest).unwrap_or(self.rest.len());
        Error::malformed(self.number, expected, self.rest.get(..end))
    }

    /// Says that the line that was taken last is not what was expected.
    #[cold]
    pub(super) fn wrong(&self, line: &[u8], expected: &'static str) -> Error {
        Error::malformed(self.number - 1, expected, Some(line))
    }

    /// Says that the next line belongs to a combined diff.
    pub(super) fn combined(&self) -> Error {
        Error::Combined { line: self.number }
    }

    #[cold]
    fn cut(&self, expected: &'static str) -> Error {
        if self.is_at_end() { self.expected(expected) } else { self.expected("a whole line") }
    }
}
