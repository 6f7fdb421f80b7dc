//! What a model says when it means a place, as far as it can be read.

use super::Tag;
use super::page::{Hash, is_blank};

/// A model's word for a place: a number, a hash, a quote, or some of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pointer {
    pub(super) line: Option<u64>,
    pub(super) hash: Option<Hash>,
    pub(super) quote: Option<String>,
}

impl Pointer {
    /// Reads `LINE#HASH` or `LINE`, in backticks or not, and what a model copies along with it: an
    /// `L` before the number, and the text of the line behind `|`. Anything else is no pointer.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_matches('`').trim_start();
        let (name, quote) = match text.split_once('|') {
            Some((name, quote)) => (name, Some(quote.to_owned())),
            None => (text, None),
        };
        let name = name.trim();
        let name = name.strip_prefix(['L', 'l']).unwrap_or(name);
        let (line, hash) = match name.split_once('#') {
            Some((line, hash)) => (line, Some(Hash::parse(hash)?)),
            None => (name, None),
        };
        // A sign or a space is no part of a number.
        let is_number = !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit());
        let line = line.parse().ok().filter(|_| is_number)?;
        Some(Self { line: Some(line), hash, quote })
    }

    /// Points at a line by its number alone: nothing proves it until a quote is added.
    pub fn at(line: u64) -> Self {
        Self { line: Some(line), ..Self::default() }
    }

    /// Adds the code that the model quotes for the place. It may run over several lines.
    #[must_use]
    pub fn quoting(self, code: &str) -> Self {
        Self { quote: Some(code.to_owned()), ..self }
    }

    /// Points at whatever lines read like this.
    pub fn quote(code: &str) -> Self {
        Self::default().quoting(code)
    }

    /// The quoted lines, without blank ones around them; one blank line if all are.
    pub(super) fn quoted_lines(&self) -> Option<Vec<&[u8]>> {
        let mut lines: Vec<_> = self.quote.as_ref()?.split('\n').map(str::as_bytes).collect();
        while lines.len() > 1 && lines.last().is_some_and(|line| is_blank(line)) {
            lines.pop();
        }
        let blank = lines.iter().take_while(|line| is_blank(line)).count();
        Some(lines.split_off(blank.min(lines.len() - 1)))
    }
}

impl From<Tag> for Pointer {
    fn from(tag: Tag) -> Self {
        Self { line: Some(tag.line), hash: Some(tag.hash), quote: None }
    }
}
