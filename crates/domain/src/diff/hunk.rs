//! A hunk: its ranges, and its lines with their numbers on both sides.

use serde::{Deserialize, Serialize};

use memchr::memchr;

use super::Error;
use super::cursor::Cursor;

/// A run of changed lines with the unchanged ones around them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hunk<'a> {
    pub old: LineSpan,
    pub new: LineSpan,
    /// How many lines are added and removed.
    pub added: u64,
    pub removed: u64,
    /// What git shows behind the ranges, often the enclosing function; empty when there is none.
    pub heading: &'a [u8],
    /// The lines with their signs, as they stand in the diff.
    body: &'a [u8],
}

impl<'a> Hunk<'a> {
    pub fn lines(&self) -> Lines<'a> {
        Lines { rest: self.body, old: self.old.start, new: self.new.start }
    }
}

/// Some lines of one side of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineSpan {
    /// The number of the first line, counted from 1. Of no lines at all, the number that the next
    /// line has.
    pub start: u64,
    pub len: u64,
}

impl LineSpan {
    /// The number of the line behind the last.
    pub fn end(self) -> u64 {
        self.start + self.len
    }

    pub fn contains(self, line: u64) -> bool {
        (self.start..self.end()).contains(&line)
    }
}

/// Which side has a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LineKind {
    /// Both, unchanged.
    Context,
    /// The new side only.
    Added,
    /// The old side only.
    Removed,
}

/// A line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    pub kind: LineKind,
    /// The text without its line feed. A carriage return before it belongs to the text.
    pub text: &'a [u8],
    /// The number on the old side; of an added line, the number that the next old line has.
    pub old: u64,
    /// The number on the new side; of a removed line, the number that the next new line has.
    pub new: u64,
    /// Whether it is the last one of its side and no line feed ends it.
    pub is_unended: bool,
}

/// The lines of a hunk in the order of the diff.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    rest: &'a [u8],
    old: u64,
    new: u64,
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        // The body was checked when it was read: every line has a known sign and an end.
        let end = memchr(b'\n', self.rest)?;
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        let (kind, text) = match line.split_first() {
            Some((b'+', text)) => (LineKind::Added, text),
            Some((b'-', text)) => (LineKind::Removed, text),
            Some((_, text)) => (LineKind::Context, text),
            None => (LineKind::Context, line),
        };
        let is_unended = self.rest.first() == Some(&b'\\');
        if is_unended {
            let end = memchr(b'\n', self.rest).map_or(self.rest.len(), |end| end + 1);
            self.rest = self.rest.get(end..).unwrap_or_default();
        }
        let (old, new) = (self.old, self.new);
        self.old += u64::from(kind != LineKind::Added);
        self.new += u64::from(kind != LineKind::Removed);
        Some(Line { kind, text, old, new, is_unended })
    }
}

/// Takes all hunks of a file, at least one.
pub(super) fn hunks<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<Hunk<'a>>, Error> {
    let mut hunks = Vec::new();
    // Both sides up to here. Between hunks both have the same lines.
    let (mut old_end, mut new_end) = (1, 1);
    let mut ended = false;
    loop {
        if ended {
            return Err(cursor.expected("no hunk behind the end of the file"));
        }
        let start = cursor.clone();
        let (old, new, heading) = header(cursor)?;
        let gap = old.start.checked_sub(old_end);
        if gap.is_none() || gap != new.start.checked_sub(new_end) {
            return Err(start.expected("a hunk that leaves out as many old lines as new ones"));
        }
        let hunk = body(cursor, old, new, heading, &mut ended)?;
        (old_end, new_end) = (old.end(), new.end());
        hunks.push(hunk);
        if !cursor.sees(b"@@ ") {
            return Ok(hunks);
        }
    }
}

/// Takes the line `@@ -1,2 +3,4 @@ heading`.
fn header<'a>(cursor: &mut Cursor<'a>) -> Result<(LineSpan, LineSpan, &'a [u8]), Error> {
    const EXPECTED: &str = "`@@ -LINE,COUNT +LINE,COUNT @@`";
    let line = cursor.line(EXPECTED)?;
    let read = || {
        let rest = line.strip_prefix(b"@@ -")?;
        let (old, rest) = span(rest)?;
        let (new, rest) = span(rest.strip_prefix(b" +")?)?;
        let heading = rest.strip_prefix(b" @@")?;
        let heading = match heading.split_first() {
            Some((b' ', heading)) => heading,
            Some(_) => return None,
            None => heading,
        };
        // A hunk that changes nothing would never have been printed.
        (old.len + new.len > 0).then_some((old, new, heading))
    };
    read().ok_or_else(|| cursor.wrong(line, EXPECTED))
}

/// Reads `LINE,COUNT` or `LINE`, which is one line.
fn span(text: &[u8]) -> Option<(LineSpan, &[u8])> {
    let (start, rest) = number(text)?;
    let (len, rest) = match rest.strip_prefix(b",") {
        Some(rest) => number(rest)?,
        None => (1, rest),
    };
    // Of no lines, git names the line before them.
    let start = if len == 0 { start + 1 } else { start };
    (start > 0).then_some((LineSpan { start, len }, rest))
}

/// Reads a number of at most 15 digits, so that sums of numbers cannot overflow.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(digits);
    let value = digits
        .iter()
        .fold(0, |value: u64, digit| value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')));
    matches!(digits.len(), 1..=15).then_some((value, rest))
}

/// Takes as many lines as the ranges say, whatever the lines look like.
fn body<'a>(
    cursor: &mut Cursor<'a>,
    old: LineSpan,
    new: LineSpan,
    heading: &'a [u8],
    ended: &mut bool,
) -> Result<Hunk<'a>, Error> {
    const LINE: &str = "a line that begins with a space, `+` or `-`";
    let before = cursor.rest();
    let (mut old_left, mut new_left) = (old.len, new.len);
    let (mut added, mut removed) = (0, 0);
    while old_left > 0 || new_left > 0 {
        let line = cursor.line(LINE)?;
        let left = match line.first() {
            // Without its space where `diff.suppressBlankEmpty` is set.
            Some(b' ') | None => {
                let left = old_left.checked_sub(1).zip(new_left.checked_sub(1));
                left.ok_or_else(|| cursor.wrong(line, "no unchanged line after so many"))?
            }
            Some(b'-') => {
                removed += 1;
                let left = old_left.checked_sub(1).map(|left| (left, new_left));
                left.ok_or_else(|| cursor.wrong(line, "no removed line after so many"))?
            }
            Some(b'+') => {
                added += 1;
                let left = new_left.checked_sub(1).map(|left| (old_left, left));
                left.ok_or_else(|| cursor.wrong(line, "no added line after so many"))?
            }
            Some(_) => return Err(cursor.wrong(line, LINE)),
        };
        let (had_old, had_new) = (old_left, new_left);
        (old_left, new_left) = left;
        if cursor.sees(b"\\") {
            let marker = cursor.line("`\\ No newline at end of file`")?;
            let is_last = |had: u64, left: u64| had == left || left == 0;
            if !is_last(had_old, old_left) || !is_last(had_new, new_left) {
                return Err(cursor.wrong(marker, "more lines, as the hunk counts them"));
            }
            *ended = true;
        }
    }
    Ok(Hunk { old, new, added, removed, heading, body: cursor.taken(before) })
}
