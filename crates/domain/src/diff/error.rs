//! Why a diff could not be read.

use std::fmt::Write as _;

/// A diff that is not what `git diff` prints, or is not all of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A line is not what must stand there.
    #[error("line {line} of the diff: expected {expected}, found {found}")]
    Malformed {
        /// The line of the diff, counted from 1.
        line: u64,
        expected: &'static str,
        /// The beginning of the line, on one line and with nothing hidden, or that there is none.
        found: String,
    },
    /// The diff of a merge against several parents: its lines belong to no single old side.
    #[error(
        "line {line} of the diff: a combined diff of a merge cannot be read; compare with one \
         parent at a time"
    )]
    Combined { line: u64 },
}

/// So many characters of a line are shown.
const SHOWN: usize = 60;

impl Error {
    /// Speaks of a line that should have been something else; `None` is the end of the diff.
    pub(super) fn malformed(line: u64, expected: &'static str, found: Option<&[u8]>) -> Self {
        let found = found.map_or_else(|| "the end of the diff".to_owned(), excerpt);
        Self::Malformed { line, expected, found }
    }
}

/// Shows the beginning of a line. Lines can be megabytes long, so only that much is looked at.
fn excerpt(line: &[u8]) -> String {
    let (start, cut) = match line.get(..SHOWN) {
        Some(start) if line.len() > SHOWN => (start, "…"),
        _ => (line, ""),
    };
    let mut shown = String::from("`");
    for byte in start {
        let _infallible = match byte {
            b' '..=b'~' => write!(shown, "{}", char::from(*byte)),
            _ => write!(shown, "\\x{byte:02x}"),
        };
    }
    shown + "`" + cut
}
