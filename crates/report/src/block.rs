//! Our block in a description that belongs to somebody else: what people wrote around it stays.
//!
//! The block is bounded by two lines of ours. It is no state (state is read from markers of our
//! own comments only, E1): whatever stands between the lines is replaced and never believed.

const OPENING: &str = "<!-- patchwright-block: what stands here is replaced -->";
const CLOSING: &str = "<!-- /patchwright-block -->";

/// Returns the description with our block as it should be now. Outer text is kept byte by byte; a
/// block without an end is taken to end with its line, so that no text of a person is lost.
pub fn replaced(description: &str, markdown: &str) -> String {
    let block = format!("{OPENING}\n{}\n{CLOSING}", inner(markdown));
    let Some((before, rest)) = description.split_once(OPENING) else {
        return match description.trim_end() {
            "" => block,
            text => format!("{text}\n\n{block}"),
        };
    };
    // The end counts only if no second block begins before it.
    let after = match (rest.split_once(CLOSING), rest.find(OPENING)) {
        (Some((inside, after)), second) if second.is_none_or(|at| at > inside.len()) => after,
        _ => rest,
    };
    format!("{before}{block}{after}")
}

/// Our own text cannot end the block: it is made of quotes and sentences, but a title of a file
/// may hold anything.
fn inner(markdown: &str) -> String {
    markdown
        .trim_end()
        .replace("<!-- patchwright-block", "<!- - patchwright-block")
        .replace("<!-- /patchwright-block", "<!- - /patchwright-block")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_description_without_a_block_gets_one_at_its_end() {
        let once = replaced("Fixes a thing.\n", "notes");
        assert_eq!(once, format!("Fixes a thing.\n\n{OPENING}\nnotes\n{CLOSING}"));
        assert_eq!(replaced("", "notes"), format!("{OPENING}\nnotes\n{CLOSING}"));
    }

    #[test]
    fn what_people_wrote_around_the_block_stays() {
        let once = replaced("before", "one");
        let edited = format!("{once}\n\nafter, by a person");
        let twice = replaced(&edited, "two");
        assert!(twice.starts_with("before\n\n") && twice.ends_with("after, by a person"));
        assert!(twice.contains("two") && !twice.contains("one"));
    }

    #[test]
    fn a_block_whose_end_was_removed_loses_no_text_of_a_person() {
        let cut = format!("before\n{OPENING}\nold\na person's words");
        let mended = replaced(&cut, "new");
        assert!(mended.contains("a person's words") && mended.contains("new"));
    }

    proptest! {
        #[test]
        fn replacing_twice_is_replacing_once(text in "[ -~\n]{0,200}", one in ".{0,60}", two in ".{0,60}") {
            let first = replaced(&text, &one);
            prop_assert_eq!(replaced(&first, &two), replaced(&text, &two));
        }
    }
}
