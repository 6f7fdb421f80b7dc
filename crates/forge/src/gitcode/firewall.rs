//! GitCode's web firewall refuses texts that look like an attack, code above all. What it refuses
//! is sent again without the code, and says so.

/// The status with which the firewall refuses.
pub(super) const REFUSED: u16 = 418;

const LEFT_OUT: &str = "*(A block of code stood here. GitCode's firewall refused it.)*";

/// Replaces the blocks of code of a text. `None` if it has none.
pub(super) fn without_code(markdown: &str) -> Option<String> {
    let mut kept = Vec::new();
    let mut fence: Option<&str> = None;
    let mut replaced = false;
    for line in markdown.lines() {
        match (fence, fence_of(line)) {
            (None, Some((open, _))) => {
                fence = Some(open);
                replaced = true;
                kept.push(LEFT_OUT);
            }
            (None, None) => kept.push(line),
            // A block ends with at least as long a run, and nothing behind it.
            (Some(open), Some((close, ""))) if close.starts_with(open) => fence = None,
            (Some(_), _) => {}
        }
    }
    replaced.then(|| kept.join("\n"))
}

/// Returns the run of characters that opens or closes a block of code, and what stands behind it.
fn fence_of(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(['>', ' ']).trim_end();
    ["`", "~"].into_iter().find_map(|mark| {
        let behind = line.trim_start_matches(mark);
        let run = line.len() - behind.len();
        (run >= 3).then(|| (&line[..run], behind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_of_code_are_replaced() {
        let text = "<!-- marker -->\nBefore\n\n````sh\nrm -rf /\n```\n````\n\nafter `code`";
        assert_eq!(
            without_code(text).unwrap(),
            format!("<!-- marker -->\nBefore\n\n{LEFT_OUT}\n\nafter `code`")
        );
        assert_eq!(without_code("no ``` block").as_deref(), None);
    }

    #[test]
    fn a_block_that_never_ends_is_replaced_to_the_end() {
        assert_eq!(without_code("a\n> ~~~\n> x\n").unwrap(), format!("a\n{LEFT_OUT}"));
        let quoted = "> ```\n> x\n> ```\nb";
        assert_eq!(without_code(quoted).unwrap(), format!("{LEFT_OUT}\nb"));
    }
}
