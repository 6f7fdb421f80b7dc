//! Code offered in place of lines, in the form that a host can apply, or else as a difference.

use std::fmt::Write as _;

use crate::quote::{Committable, code_block, code_inline};

/// How a host takes an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// A block that replaces the lines that the comment stands on (GitHub).
    Lines,
    /// A block that replaces so many lines above the last one, and that one (GitLab).
    LinesAbove(u64),
    /// Nothing that a click could apply.
    Shown,
}

/// The most lines above the last one that GitLab replaces.
const MOST_ABOVE: u64 = 100;

/// Writes an offer of `after` in place of `before`. What is not exactly what a reader sees is
/// never offered for a click (T4).
pub fn suggestion(before: &str, after: &str, offer: Offer) -> String {
    let block = code_block(after, "");
    let word = match offer {
        _ if block.committable == Committable::Never => return difference(before, after),
        Offer::Lines => "suggestion".to_owned(),
        Offer::LinesAbove(above) if above <= MOST_ABOVE => format!("suggestion:-{above}+0"),
        Offer::LinesAbove(_) | Offer::Shown => return difference(before, after),
    };
    let fence = block.markdown.chars().take_while(|c| *c == '`').count();
    format!("{}{word}{}", &block.markdown[..fence], &block.markdown[fence..])
}

/// Writes the place of a comment that does not stand there: a path and its lines.
pub fn place(path: &str, start: Option<u64>, line: u64) -> String {
    let lines = match start {
        Some(start) if start != line => format!("{start}-{line}"),
        Some(_) | None => line.to_string(),
    };
    code_inline(&format!("{path}:{lines}"))
}

fn difference(before: &str, after: &str) -> String {
    let mut text = String::with_capacity(before.len() + after.len() + 16);
    for (sign, lines) in [('-', before), ('+', after)] {
        for line in lines.lines() {
            // Writing to a string does not fail.
            let _infallible = writeln!(text, "{sign}{line}");
        }
    }
    code_block(&text, "diff").markdown
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(before: &str, after: &str, offer: Offer, expected: Expect) {
        expected.assert_eq(&suggestion(before, after, offer));
    }

    #[test]
    fn each_host_gets_the_form_that_it_can_apply() {
        check(
            "a\n",
            "b\nc\n",
            Offer::Lines,
            expect![[r"
            ```suggestion
            b
            c
            ```"]],
        );
        check(
            "a\nb",
            "c",
            Offer::LinesAbove(1),
            expect![[r"
            ```suggestion:-1+0
            c
            ```"]],
        );
        check(
            "a\nb\n",
            "c\n",
            Offer::Shown,
            expect![[r"
            ```diff
            -a
            -b
            +c
            ```"]],
        );
    }

    #[test]
    fn an_empty_offer_removes_the_lines() {
        check(
            "a\n",
            "",
            Offer::Lines,
            expect![[r"
            ```suggestion
            ```"]],
        );
    }

    #[test]
    fn code_with_fences_stands_in_a_longer_one() {
        check(
            "a",
            "```\nx\n```",
            Offer::Lines,
            expect![[r"
            ````suggestion
            ```
            x
            ```
            ````"]],
        );
    }

    #[test]
    fn t4_code_that_must_be_shown_escaped_is_never_offered_for_a_click() {
        check(
            "a",
            "/merge",
            Offer::Lines,
            expect![[r"
            ```diff
            -a
            +/merge
            ```"]],
        );
        for hidden in ["x\u{202e}y", "<!-- patchwright:1 kind=a -->", "a\u{0}b"] {
            let offered = suggestion("a", hidden, Offer::Lines);
            assert!(offered.starts_with("```diff\n"), "{offered}");
            assert!(!offered.contains('\u{202e}') && !offered.contains("<!-- patchwright:"));
        }
    }

    #[test]
    fn a_range_that_the_host_does_not_take_is_shown() {
        let offered = suggestion("a", "b", Offer::LinesAbove(101));
        assert!(offered.starts_with("```diff\n"), "{offered}");
    }

    #[test]
    fn a_place_is_a_path_and_its_lines() {
        assert_eq!(place("src/a.rs", None, 7), "`src/a.rs:7`");
        assert_eq!(place("src/a.rs", Some(3), 7), "`src/a.rs:3-7`");
        assert_eq!(place("a`b", Some(7), 7), "``a`b:7``");
    }
}
