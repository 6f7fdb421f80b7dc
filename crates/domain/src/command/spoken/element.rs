//! HTML elements that hide what stands in them from being spoken, as Markdown's own code and
//! quotes do. A tag scanner, not an HTML parser: it only knows what opens and what closes.

/// Elements whose content is code, a quote, struck out, or not text at all.
const NAMES: [&str; 14] = [
    "pre",
    "code",
    "blockquote",
    "script",
    "style",
    "textarea",
    "template",
    "samp",
    "kbd",
    "tt",
    "xmp",
    "del",
    "s",
    "strike",
];

/// How many of the elements that hide their content are open.
#[derive(Clone, Debug, Default)]
pub(super) struct Unspoken {
    open: [usize; NAMES.len()],
}

impl Unspoken {
    pub(super) fn is_closed(&self) -> bool {
        self.open.iter().all(|&count| count == 0)
    }

    /// Notes the tags in a piece of HTML. One that is never closed hides the rest of the text.
    pub(super) fn read(&mut self, html: &str) {
        let mut rest = html;
        while let Some(start) = rest.find('<') {
            let tag = &rest[start..];
            let end = if tag.starts_with("<!--") { comment_end(tag) } else { self.read_tag(tag) };
            rest = tag.get(end..).unwrap_or_default();
        }
    }

    /// Notes one tag and returns where it ends.
    fn read_tag(&mut self, tag: &str) -> usize {
        let closes = tag.starts_with("</");
        let name_start = if closes { 2 } else { 1 };
        let name = name(&tag[name_start..]);
        if name.is_empty() {
            return name_start;
        }
        if let Some(index) = NAMES.iter().position(|known| known.eq_ignore_ascii_case(name)) {
            let count = &mut self.open[index];
            *count = if closes { count.saturating_sub(1) } else { count.saturating_add(1) };
        }
        tag_end(tag)
    }
}

/// Whether a tag is `<br>`.
pub(super) fn is_line_break(html: &str) -> bool {
    html.strip_prefix('<').is_some_and(|tag| name(tag).eq_ignore_ascii_case("br"))
}

fn name(tag: &str) -> &str {
    let end = tag.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(tag.len());
    &tag[..end]
}

fn comment_end(comment: &str) -> usize {
    comment.find("-->").map_or(comment.len(), |end| end + "-->".len())
}

/// Returns the offset after the `>` that ends the tag: one in a quoted attribute does not.
fn tag_end(tag: &str) -> usize {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    tag.len()
}
