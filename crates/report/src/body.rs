//! Bodies made of *ours* and *theirs* (T4).
//!
//! A [`Sentence`] is put together from our own words, which are constants, and from values, which
//! are quoted when the sentence is written for a host. A [`Body`] is put together from sentences
//! and from text of others. There is no way to put a foreign string into either without a quote.

use crate::flavour::Flavour;
use crate::quote;

/// Something that we say, with what we say it about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sentence {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Ours(&'static str),
    Number(u64),
    Code(String),
    Theirs(String),
}

impl Sentence {
    /// Adds words of ours. They are constants, and Markdown.
    #[must_use]
    pub fn ours(self, words: &'static str) -> Self {
        self.with(Part::Ours(words))
    }

    #[must_use]
    pub fn number(self, number: impl Into<u64>) -> Self {
        self.with(Part::Number(number.into()))
    }

    /// Adds a name, an id or a command, set as code.
    #[must_use]
    pub fn code(self, text: impl Into<String>) -> Self {
        self.with(Part::Code(text.into()))
    }

    /// Adds words of others, as part of the line.
    #[must_use]
    pub fn theirs(self, text: impl Into<String>) -> Self {
        self.with(Part::Theirs(text.into()))
    }

    /// Adds another sentence of ours.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.parts.extend(other.parts);
        self
    }

    fn with(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }

    fn write(&self, flavour: Flavour, out: &mut String) {
        for part in &self.parts {
            match part {
                Part::Ours(words) => join(words, out),
                Part::Number(number) => join(&number.to_string(), out),
                Part::Code(text) => join(&quote::code_inline(text), out),
                Part::Theirs(text) => join(&quote::quote_line(text, flavour), out),
            }
        }
    }
}

impl From<&'static str> for Sentence {
    fn from(words: &'static str) -> Self {
        Self::default().ours(words)
    }
}

/// The text of a comment, in the making.
#[derive(Clone, Debug)]
pub struct Body {
    flavour: Flavour,
    markdown: String,
    last: Block,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Block {
    Paragraph,
    Item,
}

impl Body {
    pub fn new(flavour: Flavour) -> Self {
        Self { flavour, markdown: String::new(), last: Block::Paragraph }
    }

    /// Adds a paragraph of ours.
    #[must_use]
    pub fn ours(mut self, sentence: impl Into<Sentence>) -> Self {
        self.begin(Block::Paragraph);
        sentence.into().write(self.flavour, &mut self.markdown);
        self
    }

    /// Adds an item of ours to a list.
    #[must_use]
    pub fn item(mut self, sentence: impl Into<Sentence>) -> Self {
        self.begin(Block::Item);
        self.markdown.push_str("- ");
        sentence.into().write(self.flavour, &mut self.markdown);
        self
    }

    /// Adds text of others, with its own paragraphs.
    #[must_use]
    pub fn theirs(self, text: &str) -> Self {
        let quoted = quote(text, self.flavour);
        self.block(&quoted)
    }

    /// Adds text of others as a block quote.
    #[must_use]
    pub fn quoted(self, text: &str) -> Self {
        let quoted = quote::quote_block(text, self.flavour);
        self.block(&quoted)
    }

    /// Adds code of others.
    #[must_use]
    pub fn code(self, text: &str, language: &str) -> Self {
        let code = quote::code_block(text, language);
        self.block(&code.markdown)
    }

    pub fn into_markdown(self) -> String {
        self.markdown
    }

    fn block(mut self, markdown: &str) -> Self {
        self.begin(Block::Paragraph);
        self.markdown.push_str(markdown);
        self
    }

    /// A blank line keeps theirs from reaching into ours: a list, a quote or a heading ends there.
    fn begin(&mut self, next: Block) {
        if !self.markdown.is_empty() {
            let tight = self.last == Block::Item && next == Block::Item;
            self.markdown.push_str(if tight { "\n" } else { "\n\n" });
        }
        self.last = next;
    }
}

/// Puts a piece behind another so that neither changes what the other means: two runs of backticks
/// would be one, a sign at the end could become a mention or a reference, and an address would
/// take what follows into its link.
fn join(piece: &str, out: &mut String) {
    let ticks = out.ends_with('`') && piece.starts_with('`');
    let sign =
        out.ends_with(['@', '＠', '#', '!', '&']) && piece.starts_with(char::is_alphanumeric);
    // Only a space or a tab ends a link.
    let last_word = out.rsplit(|c: char| c.is_ascii_whitespace()).next().unwrap_or("");
    let address = (last_word.contains("://") || last_word.contains("www."))
        && !piece.starts_with(|c: char| c.is_ascii_whitespace());
    if ticks || sign || address {
        out.push(' ');
    }
    out.push_str(piece);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t4_whatever_is_not_ours_in_a_body_is_quoted() {
        let body = Body::new(Flavour::GitLab)
            .ours(
                Sentence::from("Sorry ").theirs("@all\n/close").ours(", in ").code("a`b").ours(":"),
            )
            .item("one")
            .item(Sentence::default().theirs("- #2").ours("!"))
            .theirs("/merge\n\n<!-- x -->")
            .quoted("/label ~x\n@y")
            .code("/close\n```", "suggestion");
        expect_test::expect![[r#"
            Sorry `@all` /close, in ``a`b``:

            - one
            - \- `#2`!

            \/merge

            &lt;!-- x -->

            > \/label \~x
            > `@y`

            ````
            \/close
            ```
            ````"#]]
        .assert_eq(&body.into_markdown());
    }

    #[test]
    fn t4_neighbours_do_not_make_a_mention_a_reference_or_one_code_of_two() {
        let body = |sentence| Body::new(Flavour::GitHub).ours(sentence).into_markdown();
        assert_eq!(body(Sentence::from("a ").theirs("x @").ours("team")), "a x @ team");
        assert_eq!(body(Sentence::from("a ").theirs("fixes #").number(3_u32)), "a fixes # 3");
        assert_eq!(body(Sentence::default().code("@x").code("`@y")), "`@x` `` `@y ``");
        assert_eq!(body(Sentence::default().theirs("x`").code("@y")), "x\\` `@y`");
        assert_eq!(
            body(Sentence::default().theirs("http://x.y/z").ours("，").code("@y")),
            "http://x.y/z ，`@y`"
        );
    }
}
