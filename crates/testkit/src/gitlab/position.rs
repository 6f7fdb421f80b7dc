//! Where a note on code stands, as GitLab takes and checks it.

use serde::Deserialize;
use serde_json::json;
use sha1::{Digest, Sha1};

use super::{refuse, refuse_with};
use crate::forge::{
    Anchor, Answer, DiffFile, DiffLine, FakeChange, FakeThread, Lines, Side, Version,
};

/// A position as clients send it. All three commits and both paths are wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Position {
    base_sha: String,
    start_sha: String,
    pub(super) head_sha: String,
    position_type: Kind,
    old_path: String,
    new_path: String,
    old_line: Option<u64>,
    new_line: Option<u64>,
    line_range: Option<Range>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Text,
    File,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Range {
    start: Boundary,
    end: Boundary,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Boundary {
    line_code: String,
    r#type: Option<String>,
    old_line: Option<u64>,
    new_line: Option<u64>,
}

impl Position {
    /// Returns the place, if the change has such a version and such lines.
    pub(super) fn anchor(&self, change: &FakeChange) -> Result<Anchor, Answer> {
        let version = change.versions.iter().rev().find(|version| self.is_of(version));
        let Some(version) = version else {
            return Err(refuse(400, "400 Bad request - Note {:position=>[\"is incomplete\"]}")
                .violating("the commits are those of no version of the change"));
        };
        let Some(file) = version.diff.file(&self.new_path) else { return Err(no_line()) };
        if file.old_path != self.old_path {
            return Err(no_line().violating(format!("{} has another old path", self.new_path)));
        }
        let path = self.new_path.clone();
        if self.position_type == Kind::File {
            return Ok(Anchor { path, lines: None });
        }
        let (side, line) = line(file, self.old_line, self.new_line)?;
        let start = match &self.line_range {
            None => None,
            Some(Range { start, end }) => {
                let last = boundary(file, end)?;
                if last != (side, line) {
                    return Err(no_line().violating("the range does not end on the line"));
                }
                Some(boundary(file, start)?)
            }
        };
        Ok(Anchor { path, lines: Some(Lines { start, side, line }) })
    }

    fn is_of(&self, version: &Version) -> bool {
        (self.head_sha.as_str(), self.base_sha.as_str(), self.start_sha.as_str())
            == (version.head.as_str(), version.base.as_str(), version.base.as_str())
    }
}

/// Finds the line that has exactly these numbers: an unchanged one has both.
fn line(file: &DiffFile, old: Option<u64>, new: Option<u64>) -> Result<(Side, u64), Answer> {
    let (side, number) = match (old, new) {
        (_, Some(new)) => (Side::New, new),
        (Some(old), None) => (Side::Old, old),
        (None, None) => return Err(no_line().violating("a position without a line")),
    };
    let found = file.line(side, number).filter(|line| (line.old, line.new) == (old, new));
    found.map(|_| (side, number)).ok_or_else(no_line)
}

fn boundary(file: &DiffFile, boundary: &Boundary) -> Result<(Side, u64), Answer> {
    let found = line(file, boundary.old_line, boundary.new_line)?;
    let kind = match (boundary.old_line, boundary.new_line) {
        (None, _) => Some("new"),
        (_, None) => Some("old"),
        (Some(_), Some(_)) => None,
    };
    if boundary.r#type.as_deref() != kind {
        return Err(no_line().violating("the type of a boundary is not its line's"));
    }
    let expected = line_code(file, found);
    if expected.as_deref() != Some(boundary.line_code.as_str()) {
        let why = format!("the code of the line is {expected:?}, not {}", boundary.line_code);
        return Err(no_line().violating(why));
    }
    Ok(found)
}

/// Writes the code of a line: where it does not exist, the counter of that side stands for it.
fn line_code(file: &DiffFile, (side, number): (Side, u64)) -> Option<String> {
    let hunk = file.hunk(side, number)?;
    let mut starts = hunk.header.strip_prefix("@@ ")?.split(' ').map(|range| {
        let first = range.trim_start_matches(['-', '+']).split(',').next()?;
        first.parse::<u64>().ok()
    });
    let (mut old, mut new) = (starts.next()??, starts.next()??);
    for line in &hunk.lines {
        if line.number(side) == Some(number) {
            return Some(format!("{}_{old}_{new}", hex::encode(Sha1::digest(&file.path))));
        }
        old += u64::from(line.old.is_some());
        new += u64::from(line.new.is_some());
    }
    None
}

/// Shows where a thread stands: in today's version, or where it was left when it was outdated.
pub(super) fn shown(thread: &FakeThread, change: &FakeChange) -> serde_json::Value {
    let (head, anchor) = match thread.outdated {
        true => (&thread.commit, &thread.original),
        false => (&change.head, &thread.anchor),
    };
    let version = change.versions.iter().rev().find(|version| version.head == *head);
    let base = version.map_or(change.base.as_str(), |version| version.base.as_str());
    let file = version.and_then(|version| version.diff.file(&anchor.path));
    let numbers = |(side, number): (Side, u64)| {
        let line = file.and_then(|file| file.line(side, number));
        match (line, side) {
            (Some(DiffLine { old, new, .. }), _) => (*old, *new),
            (None, Side::Old) => (Some(number), None),
            (None, Side::New) => (None, Some(number)),
        }
    };
    let end = anchor.lines.map(|lines| (lines.side, lines.line));
    let (old_line, new_line) = end.map_or((None, None), numbers);
    let edge = |at: (Side, u64)| {
        let (old, new) = numbers(at);
        let kind = match (old, new) {
            (None, _) => Some("new"),
            (_, None) => Some("old"),
            (Some(_), Some(_)) => None,
        };
        let code = file.and_then(|file| line_code(file, at));
        json!({"line_code": code, "type": kind, "old_line": old, "new_line": new})
    };
    let range = anchor.lines.and_then(|lines| Some((lines.start?, (lines.side, lines.line))));
    json!({
        "base_sha": base,
        "start_sha": base,
        "head_sha": head,
        "old_path": file.map_or(anchor.path.as_str(), |file| file.old_path.as_str()),
        "new_path": anchor.path,
        "position_type": if end.is_some() { "text" } else { "file" },
        "old_line": old_line,
        "new_line": new_line,
        "line_range": range.map(|(start, end)| json!({"start": edge(start), "end": edge(end)})),
    })
}

fn no_line() -> Answer {
    refuse_with(
        400,
        json!(
            "400 Bad request - Note {:line_code=>[\"can't be blank\", \"must be a valid line code\"]}"
        ),
    )
}
