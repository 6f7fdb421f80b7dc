//! The bodies of requests to GitLab.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use domain::anchor::{Line, LineKind, Spot};
use domain::publication::{self, FileWrite, Status, Verdict};
use serde::Serialize;
use sha1::{Digest, Sha1};

use super::Version;
use crate::error::Error;
use crate::write::moves::Seat;

/// The longest title of a change, and the longest description of a status.
const LINE: usize = 255;

/// Small bodies.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Outgoing<'a> {
    Note {
        body: &'a str,
    },
    Award {
        name: &'static str,
    },
    Resolution {
        resolved: bool,
    },
    Description {
        description: &'a str,
    },
    Title {
        title: &'a str,
    },
    Branch {
        branch: &'a str,
        #[serde(rename = "ref")]
        at: &'a str,
    },
    Run {
        #[serde(rename = "ref")]
        branch: &'a str,
        variables: Vec<Variable<'a>>,
    },
}

#[derive(Debug, Serialize)]
pub(crate) struct Variable<'a> {
    pub(crate) key: &'a str,
    pub(crate) value: &'a str,
}

/// A thread that is seen at once.
#[derive(Debug, Serialize)]
pub(crate) struct NewThread<'a> {
    pub(crate) body: &'a str,
    pub(crate) position: Position<'a>,
}

/// A thread that is seen once it is published.
#[derive(Debug, Serialize)]
pub(crate) struct NewDraft<'a> {
    pub(crate) note: &'a str,
    pub(crate) position: Position<'a>,
}

/// Where a thread stands. Lines have a number on each side where they exist.
#[derive(Debug, Serialize)]
pub(crate) struct Position<'a> {
    position_type: &'static str,
    base_sha: &'a str,
    start_sha: &'a str,
    head_sha: &'a str,
    old_path: &'a str,
    new_path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_range: Option<LineRange>,
}

#[derive(Debug, Serialize)]
struct LineRange {
    start: Boundary,
    end: Boundary,
}

#[derive(Debug, Serialize)]
struct Boundary {
    line_code: String,
    #[serde(rename = "type")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new_line: Option<u64>,
}

impl<'a> Position<'a> {
    /// Writes a place of a version of the change.
    pub(crate) fn new(seat: Seat<'a>, version: &'a Version) -> Result<Self, Error> {
        let told = |commit: &'a Option<String>| {
            let what = "the versions of a change".to_owned();
            let why = "a commit is missing".to_owned();
            commit.as_deref().ok_or(Error::Garbled { what, why })
        };
        let (spot, lines) = match seat {
            Seat::Lines(spot) => (spot, Some(spot)),
            Seat::File(spot) => (spot, None),
        };
        let (old_line, new_line) = lines.map_or((None, None), |spot| numbers(spot.line));
        Ok(Self {
            position_type: if lines.is_some() { "text" } else { "file" },
            base_sha: told(&version.base_commit_sha)?,
            start_sha: told(&version.start_commit_sha)?,
            head_sha: told(&version.head_commit_sha)?,
            // Both are wanted, also where the file has one path only.
            old_path: spot.path_before(),
            new_path: &spot.path,
            old_line,
            new_line,
            line_range: lines.and_then(LineRange::of),
        })
    }
}

impl LineRange {
    /// Returns the range of several lines; a single line has none.
    fn of(spot: &Spot) -> Option<Self> {
        let start = spot.start.filter(|_| spot.span().0 != spot.span().1)?;
        let boundary = |line| Boundary::new(&spot.path, line);
        Some(Self { start: boundary(start), end: boundary(spot.line) })
    }
}

impl Boundary {
    fn new(path: &str, line: Line) -> Self {
        let (old_line, new_line) = numbers(line);
        let kind = match line.kind {
            LineKind::Added => Some("new"),
            LineKind::Removed => Some("old"),
            LineKind::Context => None,
        };
        let file = hex::encode(Sha1::digest(path));
        Self { line_code: format!("{file}_{}_{}", line.old, line.new), kind, old_line, new_line }
    }
}

fn numbers(line: Line) -> (Option<u64>, Option<u64>) {
    match line.kind {
        LineKind::Added => (None, Some(line.new)),
        LineKind::Removed => (Some(line.old), None),
        LineKind::Context => (Some(line.old), Some(line.new)),
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct NewChange<'a> {
    source_branch: &'a str,
    target_branch: &'a str,
    title: String,
    description: &'a str,
}

impl<'a> NewChange<'a> {
    pub(crate) fn draft(change: &'a publication::NewChange, body: &'a str) -> Self {
        Self {
            source_branch: &change.head_branch,
            target_branch: &change.base_branch,
            title: report::fit::clip(&format!("Draft: {}", change.title), LINE).into_owned(),
            description: body,
        }
    }
}

/// A commit status.
#[derive(Debug, Serialize)]
pub(crate) struct State<'a> {
    state: &'static str,
    /// The branch whose pipeline shows it; GitLab finds one itself where a branch holds the commit.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<String>,
    name: &'a str,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_url: Option<&'a str>,
}

impl<'a> State<'a> {
    pub(crate) fn new(status: &'a Status) -> Self {
        Self {
            state: match status.verdict {
                Verdict::Pending => "pending",
                Verdict::Success => "success",
                // Neutral must not look green.
                Verdict::Neutral => "skipped",
                Verdict::Failure => "failed",
            },
            branch: None,
            name: &status.context,
            description: report::fit::clip(&status.title, LINE).into_owned(),
            target_url: status.url.as_deref(),
        }
    }
}

impl State<'_> {
    /// Whether the refusal says that the commit waits already: GitLab repeats no state.
    pub(crate) fn stands_already(&self, why: &str) -> bool {
        self.state == "pending"
            && why.contains("Cannot transition status")
            && ["from :pending", "from :running"].iter().any(|state| why.contains(state))
    }

    /// Takes the word of older servers, if the refusal says that the state has none there.
    pub(crate) fn can_be_older(&mut self, why: &str) -> bool {
        let can = self.state == "skipped" && why.contains("valid");
        if can {
            self.state = "canceled";
        }
        can
    }
}

/// A file that is created, or replaced where nobody has changed it since.
#[derive(Debug, Serialize)]
pub(crate) struct Upload<'a> {
    branch: &'a str,
    commit_message: &'a str,
    content: String,
    encoding: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_commit_id: Option<&'a str>,
}

impl<'a> Upload<'a> {
    pub(crate) fn new(file: &'a FileWrite, last_commit: Option<&'a str>) -> Self {
        Self {
            branch: &file.branch,
            commit_message: &file.message,
            content: BASE64.encode(&file.content),
            encoding: "base64",
            last_commit_id: last_commit,
        }
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn version() -> Version {
        let sha = |text: &str| Some(text.to_owned());
        Version {
            id: 1,
            head_commit_sha: sha("h"),
            base_commit_sha: sha("b"),
            start_commit_sha: sha("s"),
        }
    }

    fn spot(start: Option<Line>, line: Line) -> Spot {
        Spot {
            path: "src/new.rs".to_owned(),
            old_path: Some("src/old.rs".to_owned()),
            side: line.side(),
            start,
            line,
            commit: "h".to_owned(),
        }
    }

    #[track_caller]
    fn check(seat: Seat<'_>, expected: Expect) {
        let version = version();
        let position = Position::new(seat, &version).unwrap();
        expected.assert_eq(&serde_json::to_string(&position).unwrap());
    }

    #[test]
    fn a_line_is_named_on_each_side_where_it_exists() {
        let line = |kind| spot(None, Line { kind, old: 3, new: 4 });
        check(
            Seat::Lines(&line(LineKind::Added)),
            expect![[
                r#"{"position_type":"text","base_sha":"b","start_sha":"s","head_sha":"h","old_path":"src/old.rs","new_path":"src/new.rs","new_line":4}"#
            ]],
        );
        check(
            Seat::Lines(&line(LineKind::Removed)),
            expect![[
                r#"{"position_type":"text","base_sha":"b","start_sha":"s","head_sha":"h","old_path":"src/old.rs","new_path":"src/new.rs","old_line":3}"#
            ]],
        );
        check(
            Seat::Lines(&line(LineKind::Context)),
            expect![[
                r#"{"position_type":"text","base_sha":"b","start_sha":"s","head_sha":"h","old_path":"src/old.rs","new_path":"src/new.rs","old_line":3,"new_line":4}"#
            ]],
        );
        check(
            Seat::File(&line(LineKind::Added)),
            expect![[
                r#"{"position_type":"file","base_sha":"b","start_sha":"s","head_sha":"h","old_path":"src/old.rs","new_path":"src/new.rs"}"#
            ]],
        );
    }

    #[test]
    fn a_range_names_its_lines_by_their_codes() {
        let start = Line { kind: LineKind::Context, old: 2, new: 2 };
        let line = Line { kind: LineKind::Added, old: 3, new: 4 };
        check(
            Seat::Lines(&spot(Some(start), line)),
            expect![[
                r#"{"position_type":"text","base_sha":"b","start_sha":"s","head_sha":"h","old_path":"src/old.rs","new_path":"src/new.rs","new_line":4,"line_range":{"start":{"line_code":"0045bbd2766b7e4433e5b76b4802573be2c5621c_2_2","type":null,"old_line":2,"new_line":2},"end":{"line_code":"0045bbd2766b7e4433e5b76b4802573be2c5621c_3_4","type":"new","new_line":4}}}"#
            ]],
        );
    }

    #[test]
    fn a_version_that_is_not_told_whole_carries_nothing() {
        let line = Line { kind: LineKind::Added, old: 3, new: 4 };
        let half = Version { base_commit_sha: None, ..version() };
        let made = Position::new(Seat::Lines(&spot(None, line)), &half).map(drop);
        assert!(matches!(made, Err(Error::Garbled { .. })), "{made:?}");
    }
}
