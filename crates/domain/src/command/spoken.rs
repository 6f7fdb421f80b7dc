//! Which part of a comment is spoken: what stands outside code, quotes and HTML comments.
//!
//! [`super::parse`] looks for mentions here and nowhere else. Markdown is read by a `CommonMark`
//! parser, so that code is what the forges show as code; time is linear in the text. Nothing here
//! renders, and nothing here knows a mention or a verb.

use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

mod element;

use element::Unspoken;

/// The spoken part of a Markdown text, and where in the text each part of it stands.
///
/// Not spoken are: fenced and indented code, code spans, block quotes (with the lines that
/// `CommonMark` counts to them), struck-out text, descriptions of images, raw HTML blocks, HTML
/// comments even when they never end, and whatever stands in HTML elements that mean the same
/// (`<pre>`, `<code>`, `<blockquote>` …). A code span leaves one backtick, so that what stands
/// before it and after it stay apart. An escaped character keeps its backslash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spoken<'a> {
    source: &'a str,
    text: String,
    /// Ascending in `at`. Within a piece, text and source run side by side.
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Piece {
    at: usize,
    source: usize,
}

impl<'a> Spoken<'a> {
    pub fn of(markdown: &'a str) -> Self {
        let mut listener = Listener::new(markdown);
        let options = Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
        for (event, range) in Parser::new_ext(markdown, options).into_offset_iter() {
            listener.hear(&event, range);
        }
        let mut spoken = listener.spoken;
        spoken.hide_stray_comments();
        spoken
    }

    /// The spoken text, one line for each line or block of the source.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the source that follows the spoken text which ends at `end`.
    pub fn source_after(&self, end: usize) -> &'a str {
        let offset = end.checked_sub(1).map_or(0, |last| self.offset(last) + 1);
        self.source.get(offset..).unwrap_or_default()
    }

    /// Maps an offset in the spoken text to one in the source.
    fn offset(&self, at: usize) -> usize {
        let following = self.pieces.partition_point(|piece| piece.at <= at);
        match following.checked_sub(1).and_then(|index| self.pieces.get(index)) {
            Some(piece) => piece.source + (at - piece.at),
            None => 0,
        }
    }

    /// The offset in the source up to which it was heard.
    fn heard(&self) -> usize {
        self.pieces.last().map_or(0, |last| last.source + (self.text.len() - last.at))
    }

    fn push(&mut self, text: &str, source: usize) {
        let at = self.text.len();
        if self.pieces.is_empty() || self.heard() != source {
            self.pieces.push(Piece { at, source });
        }
        self.text.push_str(text);
    }

    /// Blanks comments that Markdown does not know as such: those that never end, or that run
    /// over several blocks. Forges show them, but whoever wrote `<!--` meant to hide something.
    fn hide_stray_comments(&mut self) {
        let Some(first) = self.text.find("<!--") else { return };
        let mut blanked = String::with_capacity(self.text.len());
        let (before, mut rest) = self.text.split_at(first);
        blanked.push_str(before);
        while let Some(start) = rest.find("<!--") {
            let (before, comment) = rest.split_at(start);
            let end = comment.find("-->").map_or(comment.len(), |end| end + "-->".len());
            let (comment, after) = comment.split_at(end);
            blanked.push_str(before);
            // Byte for byte, because the pieces count bytes.
            blanked.extend(comment.bytes().map(|byte| if byte == b'\n' { '\n' } else { ' ' }));
            rest = after;
        }
        blanked.push_str(rest);
        self.text = blanked;
    }
}

/// Hears Markdown event by event and keeps what is spoken.
struct Listener<'a> {
    spoken: Spoken<'a>,
    /// How many open Markdown elements hide what is in them, and of these how many are quotes.
    hidden: usize,
    quotes: usize,
    html: Unspoken,
}

impl<'a> Listener<'a> {
    fn new(source: &'a str) -> Self {
        let spoken = Spoken { source, text: String::new(), pieces: Vec::new() };
        Self { spoken, hidden: 0, quotes: 0, html: Unspoken::default() }
    }

    fn hear(&mut self, event: &Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(*tag, range.end),
            Event::Text(_) => self.say(range),
            Event::Code(_) => self.mark("`", range.start),
            Event::SoftBreak | Event::HardBreak | Event::Rule => self.mark("\n", range.start),
            Event::InlineHtml(html) => {
                if element::is_line_break(html) {
                    self.mark("\n", range.start);
                }
                self.read_tags(html);
            }
            // The block was read as a whole when it started.
            Event::Html(_) => {}
            Event::TaskListMarker(_)
            | Event::FootnoteReference(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::BlockQuote(_) => {
                self.hidden += 1;
                self.quotes += 1;
            }
            Tag::CodeBlock(_) => self.hidden += 1,
            Tag::Image { .. } | Tag::Strikethrough => {
                self.mark(" ", range.start);
                self.hidden += 1;
            }
            Tag::HtmlBlock => {
                let html = self.spoken.source.get(range).unwrap_or_default();
                self.read_tags(html);
                self.hidden += 1;
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd, at: usize) {
        match tag {
            TagEnd::BlockQuote(_) => {
                self.hidden = self.hidden.saturating_sub(1);
                self.quotes = self.quotes.saturating_sub(1);
            }
            TagEnd::CodeBlock | TagEnd::HtmlBlock | TagEnd::Image | TagEnd::Strikethrough => {
                self.hidden = self.hidden.saturating_sub(1);
            }
            TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item => self.mark("\n", at),
            _ => {}
        }
    }

    fn is_spoken(&self) -> bool {
        self.hidden == 0 && self.html.is_closed()
    }

    /// Keeps a stretch of the source, as it is written there: an entity stays an entity, so that
    /// `&#64;` is no `@`.
    fn say(&mut self, range: Range<usize>) {
        if !self.is_spoken() {
            return;
        }
        let source = self.spoken.source;
        let start = match range.start.checked_sub(1) {
            Some(before) if source.as_bytes().get(before) == Some(&b'\\') => {
                before.max(self.spoken.heard())
            }
            _ => range.start,
        };
        self.spoken.push(source.get(start..range.end).unwrap_or_default(), start);
    }

    /// Keeps a sign that stands for something which is not text.
    fn mark(&mut self, sign: &str, source: usize) {
        if self.is_spoken() {
            self.spoken.push(sign, source);
        }
    }

    /// Notes the HTML elements that open and close, but not in a quote: what opens there ends there.
    fn read_tags(&mut self, html: &str) {
        if self.quotes == 0 {
            self.html.read(html);
        }
    }
}

#[cfg(test)]
mod tests;
