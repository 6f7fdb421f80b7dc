//! What is wrong with a configuration, in words that say what to do about it.

use std::fmt;
use std::path::PathBuf;

/// One thing that is wrong, or worth a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub place: Option<Place>,
    pub message: String,
    pub hints: Vec<String>,
}

/// A place in the configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub file: PathBuf,
    /// Counted from 1, as editors do.
    pub line: usize,
    pub column: usize,
}

impl Problem {
    pub fn new(message: impl Into<String>) -> Self {
        Self { place: None, message: message.into(), hints: Vec::new() }
    }

    #[must_use]
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds a hint where there is one.
    #[must_use]
    pub fn perhaps(mut self, hint: Option<String>) -> Self {
        self.hints.extend(hint);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { file, line, column }) = &self.place {
            write!(f, "{}:{line}:{column}: ", file.display())?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Problem {}

/// Puts problems in the order of the file, those of other sources after them.
pub fn in_order(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|problem| {
        problem.place.as_ref().map_or((usize::MAX, 0), |place| (place.line, place.column))
    });
    problems
}

/// Returns "did you mean …?" if one of the words is close to what was written.
pub fn suggestion<'a>(written: &str, words: impl IntoIterator<Item = &'a str>) -> Option<String> {
    /// Below this likeness a suggestion confuses more than it helps.
    const LIKE_ENOUGH: f64 = 0.7;
    let written = written.to_lowercase();
    words
        .into_iter()
        .map(|word| (strsim::jaro_winkler(&written, word), word))
        .filter(|(likeness, _)| *likeness >= LIKE_ENOUGH)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, word)| format!("did you mean `{word}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_close_word_is_suggested_and_a_far_one_is_not() {
        let words = ["listen", "test-mode", "admin-token"];
        assert_eq!(suggestion("lisen", words).unwrap(), "did you mean `listen`?");
        assert_eq!(suggestion("test_mode", words).unwrap(), "did you mean `test-mode`?");
        assert_eq!(suggestion("zzz", words), None);
    }
}
