//! Where an inline comment can stand, best place first: the one place where what a host lacks
//! becomes the next best thing that a person sees.

use domain::anchor::{Side, Spot};
use domain::publication::Inline;
use report::suggestion::{self, Offer};

use crate::capability::{Capabilities, FileComments, Ranges, Sides, Suggestions};

/// A place to try, with the text for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rung {
    pub(crate) at: Stand,
    pub(crate) markdown: String,
    /// Why the comment does not stand where it was to stand; `None` on the first choice.
    pub(crate) moved: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    Lines(Spot),
    File(Spot),
    Conversation,
}

const NO_LINE: &str = "the forge takes no comment on these lines";
const NO_OLD_SIDE: &str = "this forge has no comments on removed lines";

/// Returns the places for a comment, best first; never empty, and the last one is always possible.
pub(crate) fn rungs(inline: &Inline, able: &Capabilities) -> Vec<Rung> {
    let spot = &inline.at;
    let is_range = spot.span().0 != spot.span().1;
    let mut rungs = Vec::new();
    let lines_possible = able.sides == Sides::Both || spot.side == Side::New;
    if lines_possible {
        if !is_range {
            rungs.push(Rung {
                at: Stand::Lines(spot.last_line()),
                markdown: text(inline, offer(inline, able, 0), Named::No),
                moved: None,
            });
        } else {
            let (first, last) = spot.span();
            if able.ranges == Ranges::Yes {
                rungs.push(Rung {
                    at: Stand::Lines(spot.clone()),
                    markdown: text(
                        inline,
                        offer(inline, able, last.saturating_sub(first)),
                        Named::No,
                    ),
                    moved: None,
                });
            }
            let offer = match able.suggestions {
                Suggestions::Offsets => offer(inline, able, last.saturating_sub(first)),
                // On the last line alone the block would replace that line only.
                Suggestions::Lines | Suggestions::Shown => Offer::Shown,
            };
            rungs.push(Rung {
                at: Stand::Lines(spot.last_line()),
                markdown: text(inline, offer, Named::Yes),
                // Where the host has no ranges, the last line is the first choice.
                moved: (able.ranges == Ranges::Yes)
                    .then(|| "the forge takes no comment on this range of lines".to_owned()),
            });
        }
    }
    let why = if lines_possible { NO_LINE } else { NO_OLD_SIDE };
    if able.files == FileComments::Yes {
        rungs.push(Rung {
            at: Stand::File(spot.last_line()),
            markdown: text(inline, Offer::Shown, Named::Yes),
            moved: Some(why.to_owned()),
        });
    }
    rungs.push(Rung {
        at: Stand::Conversation,
        markdown: text(inline, Offer::Shown, Named::Yes),
        moved: Some(why.to_owned()),
    });
    rungs
}

/// Returns the text for an edit of a comment that stands already.
pub(crate) fn text_where_it_stands(
    inline: &Inline,
    able: &Capabilities,
    thread: Option<&str>,
    moved: Option<&str>,
) -> String {
    let rungs = rungs(inline, able);
    let same = rungs.iter().find(|rung| {
        (rung.at == Stand::Conversation) == thread.is_none() && rung.moved.as_deref() == moved
    });
    match same.or_else(|| rungs.last()) {
        Some(rung) => rung.markdown.clone(),
        None => inline.body.markdown.clone(),
    }
}

/// Whether the text itself names the lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Yes,
    No,
}

fn text(inline: &Inline, offer: Offer, named: Named) -> String {
    let Inline { body, at, suggestion, .. } = inline;
    let mut parts = Vec::new();
    if named == Named::Yes {
        let (first, last) = at.span();
        parts.push(suggestion::place(&at.path, Some(first), last));
    }
    parts.push(body.markdown.clone());
    if let Some(offered) = suggestion {
        parts.push(suggestion::suggestion(&offered.before, &offered.after, offer));
    }
    parts.join("\n\n")
}

fn offer(inline: &Inline, able: &Capabilities, above: u64) -> Offer {
    match able.suggestions {
        // Only lines of the new version can be replaced.
        _ if inline.at.side == Side::Old => Offer::Shown,
        Suggestions::Lines => Offer::Lines,
        Suggestions::Offsets => Offer::LinesAbove(above),
        Suggestions::Shown => Offer::Shown,
    }
}

#[cfg(test)]
mod tests;
