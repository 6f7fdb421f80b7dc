//! From a pointer to a place: by two witnesses that agree, or not at all.
//!
//! A number, a hash and a quote are witnesses. A number alone proves nothing, because models
//! miscount; a hash is bound to its line's number, so a stale one fits nowhere; a quote counts
//! near its number, or alone when it fits one place in the whole file.

use super::page::is_blank;
use super::{Anchor, Page, Pointer};

/// A model's number may be off by so many lines.
const REACH: u64 = 3;

/// What became of a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    Found { anchor: Anchor, by: Evidence },
    Refused(Refusal),
}

/// What a place was found by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// Number and hash are right.
    Tag,
    /// The hash belongs to a line near the number.
    NearTag,
    /// The line of that number reads like the quote.
    Quote,
    /// One line near the number reads like the quote.
    NearQuote,
    /// One place in the file reads like the quote.
    QuoteAlone,
}

/// Why a pointer leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("neither a line nor a quote is given")]
    Nothing,
    #[error("a line number alone, with no hash and no quote that proves it")]
    Unproven,
    #[error("the hash fits no line near that number: it was copied wrongly, or the file changed")]
    Stale,
    #[error("no line near that number reads like the quote")]
    NotThere,
    #[error("no line of the file reads like the quote")]
    Nowhere,
    #[error("several places fit")]
    Ambiguous,
    #[error("the quote has nothing but white space")]
    BlankQuote,
    #[error("the hash belongs to a line near that number, but the quote does not")]
    QuoteDiffers,
    #[error("the range ends before it begins")]
    Backwards,
}

impl Page<'_> {
    /// Finds the place that a pointer means. A quote of several lines makes it a range.
    pub fn resolve(&self, pointer: &Pointer) -> Resolution {
        self.find(pointer).map_or_else(Resolution::Refused, |place| self.found(place))
    }

    /// Finds the range that two pointers mean. Both must be found.
    pub fn resolve_range(&self, start: &Pointer, end: &Pointer) -> Resolution {
        let both = self.find(start).and_then(|first| {
            let last = self.find(end)?;
            if first.start > last.end {
                return Err(Refusal::Backwards);
            }
            // The weaker evidence counts for the whole.
            let by = if first.by == Evidence::Tag { last.by } else { first.by };
            Ok(Place { start: first.start, end: last.end, by })
        });
        both.map_or_else(Resolution::Refused, |place| self.found(place))
    }

    fn found(&self, Place { start, end, by }: Place) -> Resolution {
        let anchor = Anchor { path: self.path().clone(), side: self.side(), start, end };
        Resolution::Found { anchor, by }
    }

    fn find(&self, pointer: &Pointer) -> Result<Place, Refusal> {
        let quoted = pointer.quoted_lines();
        match (pointer.line, pointer.hash, quoted) {
            (Some(line), Some(hash), quoted) => {
                let fits = |near: u64| self.hash(near) == Some(hash);
                let (start, by) = if fits(line) {
                    (line, Evidence::Tag)
                } else {
                    (
                        only(near(line).filter(|near| fits(*near)), Refusal::Stale)?,
                        Evidence::NearTag,
                    )
                };
                match quoted {
                    Some(quoted) if self.reads(start, &quoted) => {
                        Ok(Place::of_quote(start, &quoted, by))
                    }
                    // A right number with its hash is proof enough; people quote loosely.
                    Some(_) if by == Evidence::NearTag => Err(Refusal::QuoteDiffers),
                    _ => Ok(Place { start, end: start, by }),
                }
            }
            (Some(line), None, Some(quoted)) => {
                if self.reads(line, &quoted) {
                    return Ok(Place::of_quote(line, &quoted, Evidence::Quote));
                }
                if quoted.iter().all(|line| is_blank(line)) {
                    return Err(Refusal::BlankQuote);
                }
                let fitting = near(line).filter(|near| self.reads(*near, &quoted));
                let start = only(fitting, Refusal::NotThere)?;
                Ok(Place::of_quote(start, &quoted, Evidence::NearQuote))
            }
            (Some(_), None, None) => Err(Refusal::Unproven),
            (None, _, Some(quoted)) => {
                if quoted.iter().all(|line| is_blank(line)) {
                    return Err(Refusal::BlankQuote);
                }
                let fitting = (1..=self.len()).filter(|line| self.reads(*line, &quoted));
                let start = only(fitting, Refusal::Nowhere)?;
                Ok(Place::of_quote(start, &quoted, Evidence::QuoteAlone))
            }
            (None, _, None) => Err(Refusal::Nothing),
        }
    }
}

/// Lines of a page, and what they were found by.
struct Place {
    start: u64,
    end: u64,
    by: Evidence,
}

impl Place {
    fn of_quote(start: u64, quoted: &[&[u8]], by: Evidence) -> Self {
        Self { start, end: start + quoted.len() as u64 - 1, by }
    }
}

/// The lines that a number may have meant, itself left out.
fn near(line: u64) -> impl Iterator<Item = u64> {
    (line.saturating_sub(REACH)..=line.saturating_add(REACH)).filter(move |near| *near != line)
}

/// Returns the one line that fits.
fn only(mut fitting: impl Iterator<Item = u64>, none: Refusal) -> Result<u64, Refusal> {
    let first = fitting.next().ok_or(none)?;
    if fitting.next().is_some() { Err(Refusal::Ambiguous) } else { Ok(first) }
}
