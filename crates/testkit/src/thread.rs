//! A conversation on the fake forge as text, so that one snapshot is the specification of a story.
//!
//! Markers are shown by what they say and without their MAC, which no snapshot could hold. The
//! reader of markers here is its own and lenient, so that a slip of ours becomes visible.

use std::fmt::Write as _;

use domain::SubjectKind;

use crate::forge::{FakeComment, FakeSubject, Reaction, Spot};

/// The fields of a marker that a story shows.
const SHOWN: [&str; 3] = ["kind", "slot", "rev"];

/// Prints the subject and everything said on it, oldest first.
pub fn print(subject: &FakeSubject, said: &[FakeComment]) -> String {
    let kind = match subject.kind() {
        SubjectKind::Change => "change",
        _ => "issue",
    };
    let state = if subject.open { "" } else { " (closed)" };
    let mut text = format!("{kind} #{}: {}{state}\n", subject.number, subject.title);
    entry(&mut text, &subject.author.login, "", &subject.reactions, &subject.body);
    for comment in said {
        let spot = match &comment.place {
            Spot::Conversation => String::new(),
            Spot::Line { path, line, .. } => format!(" on {path}:{line}"),
        };
        let edited = match &comment.written_by {
            by if by.id != comment.author.id => format!(" (edited by {})", by.login),
            _ => String::new(),
        };
        let place = format!("{spot}{edited}");
        entry(&mut text, &comment.author.login, &place, &comment.reactions, &comment.body);
    }
    text
}

fn entry(text: &mut String, author: &str, place: &str, reactions: &[Reaction], body: &str) {
    text.push_str("\n--- ");
    text.push_str(author);
    text.push_str(place);
    for reaction in reactions {
        // Writing to a string cannot fail.
        write!(text, " [{} by {}]", reaction.content, reaction.by.login).unwrap_or(());
    }
    text.push('\n');
    for line in body.lines() {
        match marker(line) {
            Some(marker) => text.push_str(&marker),
            None => text.push_str(line),
        }
        text.push('\n');
    }
}

/// Returns a marker's line in short. A marker may stand on the wrong line: that is shown as well.
fn marker(line: &str) -> Option<String> {
    let fields = line.trim().strip_prefix("<!-- patchwright:")?.strip_suffix("-->")?;
    let shown = fields.split_whitespace().filter(|field| {
        let name = field.split_once('=').map_or(*field, |(name, _)| name);
        SHOWN.contains(&name)
    });
    let shown: Vec<&str> = shown.collect();
    Some(format!("[marker {}]", shown.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_shown_without_its_mac() {
        let line = "<!-- patchwright:1 kind=answer slot=reply:c17 rev=2 mac=abcdef -->";
        assert_eq!(marker(line).as_deref(), Some("[marker kind=answer slot=reply:c17 rev=2]"));
        assert_eq!(marker("<!-- something else -->"), None);
    }
}
