//! A text as it reads once its escapes are undone, with the way back to the original.
//!
//! A secret hides behind escapes in more ways than can be listed as patterns: one writer escapes a
//! slash, the next does not. So the text is read through each kind of escape, two deep (a URL in
//! a JSON string, JSON in JSON), and searched as it reads. A view is only built where it differs.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memchr;

/// How deep escapes may be nested.
const DEPTH: usize = 2;

/// One reading of the original.
pub(super) struct View<'a> {
    bytes: Cow<'a, [u8]>,
    /// What this is a reading of, and the way back; `None` for the original itself.
    of: Option<(&'a Self, Vec<Step>)>,
}

/// From here to the next step, a reading follows what it is a reading of byte by byte.
struct Step {
    here: usize,
    there: usize,
}

impl View<'_> {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns what a range of the reading is in the original.
    pub(super) fn source(&self, range: Range<usize>) -> Range<usize> {
        self.origin(range.start)..self.origin(range.end)
    }

    fn origin(&self, at: usize) -> usize {
        let Some((outer, steps)) = &self.of else { return at };
        let next = steps.partition_point(|step| step.here <= at);
        let there = steps[..next].last().map_or(at, |step| step.there + (at - step.here));
        outer.origin(there)
    }
}

/// Shows every reading of the bytes, the original first.
pub(super) fn each(bytes: &[u8], mut show: impl FnMut(&View<'_>)) {
    let original = View { bytes: bytes.into(), of: None };
    show(&original);
    deeper(&original, DEPTH, &mut show);
}

fn deeper(view: &View<'_>, depth: usize, show: &mut impl FnMut(&View<'_>)) {
    if depth == 0 {
        return;
    }
    for escape in ESCAPES {
        if let Some(next) = escape.undone(view) {
            show(&next);
            deeper(&next, depth - 1, show);
        }
    }
}

/// One kind of escape: the sign that begins it, and how it reads.
struct Escape {
    sign: u8,
    /// Given what follows the sign: writes what the escape stands for and returns how many of
    /// these bytes belong to it. `None`: the sign is just itself.
    undo: fn(&[u8], &mut Vec<u8>) -> Option<usize>,
}

const ESCAPES: [Escape; 3] = [
    Escape { sign: b'%', undo: percent },
    Escape { sign: b'\\', undo: backslash },
    Escape { sign: b'&', undo: entity },
];

impl Escape {
    /// Returns the view with this kind of escape undone; `None` if there is none of it.
    fn undone<'a>(&self, view: &'a View<'a>) -> Option<View<'a>> {
        let bytes = view.bytes();
        let (mut read, mut steps) = (Vec::new(), Vec::new());
        let mut stands_for = Vec::new();
        // Up to `at` everything is looked at, and up to `copied` everything is in `read`.
        let (mut at, mut copied) = (0, 0);
        while let Some(sign) = memchr(self.sign, &bytes[at..]) {
            let start = at + sign;
            at = start + 1;
            stands_for.clear();
            // A sign that is just itself is copied with what follows it.
            let Some(length) = (self.undo)(&bytes[at..], &mut stands_for) else { continue };
            at += length;
            read.extend_from_slice(&bytes[copied..start]);
            copied = at;
            // Every byte that the escape stands for begins where the escape begins.
            let here = read.len()..read.len() + stands_for.len();
            steps.extend(here.map(|here| Step { here, there: start }));
            read.extend_from_slice(&stands_for);
            steps.push(Step { here: read.len(), there: at });
        }
        if steps.is_empty() {
            return None;
        }
        read.extend_from_slice(&bytes[copied..]);
        Some(View { bytes: read.into(), of: Some((view, steps)) })
    }
}

/// `%2F`.
fn percent(rest: &[u8], read: &mut Vec<u8>) -> Option<usize> {
    read.push(u8::try_from(hex_number(rest.get(..2)?)?).ok()?);
    Some(2)
}

/// The escapes of JSON, of Rust's `{:?}`, and of Markdown (a backslash before any punctuation).
fn backslash(rest: &[u8], read: &mut Vec<u8>) -> Option<usize> {
    let (stands_for, length) = match *rest.first()? {
        b'n' => ('\n', 1),
        b'r' => ('\r', 1),
        b't' => ('\t', 1),
        b'b' => ('\u{8}', 1),
        b'f' => ('\u{c}', 1),
        b'x' => (char::from_u32(hex_number(rest.get(1..3)?)?)?, 3),
        b'u' if rest.get(1) == Some(&b'{') => {
            let digits = rest[2..].iter().take(7).position(|&byte| byte == b'}')?;
            (char::from_u32(hex_number(&rest[2..2 + digits])?)?, digits + 3)
        }
        b'u' => match hex_number(rest.get(1..5)?)? {
            high @ 0xd800..0xdc00 => {
                let low = rest.get(5..11)?.strip_prefix(b"\\u").and_then(hex_number)?;
                let low = low.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                (char::from_u32(0x10000 + ((high - 0xd800) << 10) + low)?, 11)
            }
            unit => (char::from_u32(unit)?, 5),
        },
        sign if sign.is_ascii_punctuation() => (char::from(sign), 1),
        _ => return None,
    };
    read.extend_from_slice(stands_for.encode_utf8(&mut [0; 4]).as_bytes());
    Some(length)
}

/// The entities that a writer of HTML or Markdown uses for its own signs, and numbers.
fn entity(rest: &[u8], read: &mut Vec<u8>) -> Option<usize> {
    const LONGEST: usize = 9;
    let end = rest.iter().take(LONGEST).position(|&byte| byte == b';')?;
    let stands_for = match &rest[..end] {
        b"lt" => '<',
        b"gt" => '>',
        b"amp" => '&',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(hex_number(digits)?)?,
        [b'#', digits @ ..] => char::from_u32(std::str::from_utf8(digits).ok()?.parse().ok()?)?,
        _ => return None,
    };
    read.extend_from_slice(stands_for.encode_utf8(&mut [0; 4]).as_bytes());
    Some(end + 1)
}

fn hex_number(digits: &[u8]) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u32, |number, &digit| {
        Some(number.checked_mul(16)? + char::from(digit).to_digit(16)?)
    })
}
