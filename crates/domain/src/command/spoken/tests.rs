//! What is spoken and what is not: tables and properties.

use proptest::prelude::*;

use super::Spoken;

#[track_caller]
fn check(markdown: &str, spoken: &str) {
    assert_eq!(Spoken::of(markdown).text(), spoken, "{markdown}");
}

#[test]
fn plain_text_is_spoken() {
    check("hello *dear* **bot**", "hello dear bot\n");
    check("one\ntwo\n\nthree", "one\ntwo\nthree\n");
    check("# head\n\n- item\n- [ ] task\n1. first", "head\nitem\ntask\nfirst\n");
    check("a [link](https://example.com) and <b>bold</b><br>end", "a link and bold\nend\n");
}

#[test]
fn fenced_code_is_not_spoken() {
    check("a\n```\nx\n```\nb", "a\nb\n");
    check("a\n~~~~ rust\nx\n~~~\ny\n~~~~\nb", "a\nb\n");
    check("a\n````\n```\nx\n```\n````\nb", "a\nb\n");
    check("- a\n  ```\n  x\n  ```\n- b", "a\nb\n");
    check("a\n```\nnever closed", "a\n");
}

#[test]
fn indented_code_is_not_spoken_but_an_indented_continuation_is() {
    check("a\n\n    x\n\nb", "a\nb\n");
    check("a\n    b", "a\nb\n");
}

#[test]
fn a_code_span_leaves_a_backtick() {
    check("a `x` b ``y ` y`` c", "a ` b ` c\n");
    check("a ` b", "a ` b\n");
}

#[test]
fn a_quote_is_not_spoken_with_the_lines_that_belong_to_it() {
    check("> x\n\na", "a\n");
    check("> x\ny\n\na", "a\n");
    check("- > x\n- a", "\na\n");
    check("> [!NOTE]\n> x\n\na", "a\n");
}

#[test]
fn html_comments_are_not_spoken_even_when_they_never_end() {
    check("a <!-- x --> b", "a  b\n");
    check("<!-- x\n\ny -->\na", "a\n");
    check("<!-- x\n\ny", "");
    check("a <!-- x\n\ny", "a       \n \n");
    check("a <!-- x\n\ny --> b", "a       \n      b\n");
}

#[test]
fn html_elements_that_mean_code_or_quote_are_not_spoken() {
    check("a <code>x</code> b", "a  b\n");
    check("<pre>\nx\n\ny\n</pre>\n\na", "a\n");
    check("<blockquote>\n\nx\n\n</blockquote>\n\na", "a\n");
    check("<div title=\"<pre>\">\n\na", "a\n");
    check("<!-- <pre> -->\n\na", "a\n");
    check("> <pre>\n\na", "a\n");
}

#[test]
fn struck_out_text_and_descriptions_of_images_are_not_spoken() {
    check("a ~~x~~ b ![x](y) c", "a   b   c\n");
}

#[test]
fn an_escaped_or_encoded_sign_stays_as_it_was_written() {
    check(r"\@bot &#64;bot", "\\@bot &#64;bot\n");
}

#[test]
fn the_source_is_found_again_from_the_spoken_text() {
    let spoken = Spoken::of("> quote\n\n**@bot** `x` fix\n\n```\ncode\n```");
    let end = spoken.text().find("bot").unwrap() + "bot".len();
    assert_eq!(spoken.source_after(end), "** `x` fix\n\n```\ncode\n```");
    let end = spoken.text().find("fix").unwrap() + "fix".len();
    assert_eq!(spoken.source_after(end), "\n\n```\ncode\n```");
}

proptest! {
    #[test]
    fn any_text_can_be_heard(text in any::<String>()) {
        let spoken = Spoken::of(&text);
        for (at, _) in spoken.text().char_indices() {
            prop_assert!(text.ends_with(spoken.source_after(at)));
        }
    }

    #[test]
    fn any_markup_can_be_heard(text in r#"([-`~>*_<!/#@ \\\n\t&;\[\]()"']|<!--|-->|</?pre>|</?code>|a|ä|修){0,80}"#) {
        let spoken = Spoken::of(&text);
        for (at, c) in spoken.text().char_indices() {
            let after = spoken.source_after(at + c.len_utf8());
            if c.is_alphabetic() {
                prop_assert!(text[..text.len() - after.len()].ends_with(c), "{at} {c}");
            }
        }
    }
}
