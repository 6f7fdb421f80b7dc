//! Comments as GitCode tells them: in a list, alone, or as the answer to a write, each a little
//! differently.

use domain::anchor::{Line, LineKind, Spot};
use domain::event::Place;
use domain::{Actor, Subject};
use serde::Deserialize;

use super::{User, author, loose, time};
use crate::error::Error;
use crate::port::Said;

/// A comment of a conversation or of an inline thread.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in super::super) struct Comment {
    /// The number; in some answers the thread's name instead.
    #[serde(deserialize_with = "loose::text")]
    id: Option<String>,
    #[serde(deserialize_with = "loose::number")]
    note_id: Option<u64>,
    #[serde(rename = "noteId", deserialize_with = "loose::number")]
    note_id_too: Option<u64>,
    #[serde(deserialize_with = "loose::text")]
    discussion_id: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    body: Option<String>,
    #[serde(deserialize_with = "loose::object")]
    user: Option<User>,
    created_at: Option<String>,
    updated_at: Option<String>,
    html_url: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    comment_type: Option<String>,
    #[serde(deserialize_with = "loose::flag")]
    resolved: Option<bool>,
    #[serde(deserialize_with = "loose::object")]
    resolved_by: Option<User>,
    #[serde(deserialize_with = "loose::text")]
    diff_file: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    path: Option<String>,
    #[serde(deserialize_with = "loose::object")]
    diff_position: Option<DiffPosition>,
    #[serde(deserialize_with = "loose::object")]
    position: Option<Position>,
    #[serde(deserialize_with = "loose::text")]
    commit_id: Option<String>,
    #[serde(deserialize_with = "loose::flag")]
    is_outdated: Option<bool>,
    #[serde(deserialize_with = "loose::list")]
    reply: Vec<Self>,
    #[serde(deserialize_with = "loose::object")]
    target: Option<Target>,
}

/// Where a comment of a list stands.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DiffPosition {
    #[serde(deserialize_with = "loose::number")]
    start_new_line: Option<u64>,
    #[serde(deserialize_with = "loose::number")]
    end_new_line: Option<u64>,
    #[serde(deserialize_with = "loose::number")]
    start_old_line: Option<u64>,
    #[serde(deserialize_with = "loose::number")]
    end_old_line: Option<u64>,
}

/// Where a comment that is read alone stands.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Position {
    #[serde(deserialize_with = "loose::text")]
    new_path: Option<String>,
    #[serde(deserialize_with = "loose::text")]
    old_path: Option<String>,
    #[serde(deserialize_with = "loose::number")]
    new_line: Option<u64>,
    #[serde(deserialize_with = "loose::number")]
    old_line: Option<u64>,
    #[serde(deserialize_with = "loose::text")]
    head_sha: Option<String>,
}

/// What a comment belongs to.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Target {
    #[serde(deserialize_with = "loose::object")]
    issue: Option<Numbered>,
    #[serde(deserialize_with = "loose::object")]
    pull_request: Option<Numbered>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Numbered {
    #[serde(deserialize_with = "loose::number")]
    number: Option<u64>,
    /// GitCode's own spelling, on issues.
    #[serde(deserialize_with = "loose::number")]
    nubmer: Option<u64>,
}

/// The first and the last line, which are the same for a single one.
type Span = (u64, u64);

/// Where a new comment turned out to stand.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Landing {
    Right,
    /// Somewhere else, in words.
    Elsewhere(String),
    /// The answer does not tell.
    Unsaid,
}

impl Comment {
    /// Returns the number, by which a comment is read, edited and removed.
    pub(in super::super) fn number(&self) -> Option<u64> {
        let id = || self.id.as_deref().and_then(|id| id.parse().ok());
        self.note_id.or(self.note_id_too).or_else(id)
    }

    /// Returns the name of the thread.
    pub(in super::super) fn thread(&self) -> Option<&str> {
        let id = || self.id.as_deref().filter(|id| id.parse::<u64>().is_err());
        self.discussion_id.as_deref().or_else(id)
    }

    /// Returns what tells the comment from others in a list.
    pub(in super::super) fn key(&self) -> String {
        self.number().map(|number| number.to_string()).or(self.id.clone()).unwrap_or_default()
    }

    /// Whether it stands on code; `None` where GitCode does not say.
    pub(in super::super) fn is_inline(&self) -> Option<bool> {
        self.comment_type.as_deref().map(|kind| matches!(kind, "diff_comment" | "DiffNote"))
    }

    pub(in super::super) fn resolved(&self) -> Option<bool> {
        self.resolved
    }

    pub(in super::super) fn resolved_by(&self) -> Option<Actor> {
        self.resolved_by.clone().map(User::into_actor)
    }

    pub(in super::super) fn is_outdated(&self) -> bool {
        self.is_outdated.unwrap_or_default()
    }

    pub(in super::super) fn take_replies(&mut self) -> Vec<Self> {
        std::mem::take(&mut self.reply)
    }

    /// Returns the path of the file, where it is told.
    fn file(&self) -> Option<&str> {
        let position = self.position.as_ref();
        self.diff_file
            .as_deref()
            .or(self.path.as_deref())
            .or_else(|| position?.new_path.as_deref())
            .or_else(|| position?.old_path.as_deref())
    }

    /// Returns the lines on the new side and on the old one.
    fn lines(&self) -> (Option<Span>, Option<Span>) {
        let span = |start: Option<u64>, end: Option<u64>| {
            // 0 stands for "not on this side".
            let end = end.or(start).filter(|line| *line > 0)?;
            Some((start.filter(|line| *line > 0).unwrap_or(end), end))
        };
        match (&self.position, &self.diff_position) {
            (Some(position), _) if position.new_line.is_some() || position.old_line.is_some() => {
                (span(None, position.new_line), span(None, position.old_line))
            }
            (_, Some(position)) => (
                span(position.start_new_line, position.end_new_line),
                span(position.start_old_line, position.end_old_line),
            ),
            (_, None) => (None, None),
        }
    }

    /// Returns where the comment stands, as far as GitCode tells. Lists do not name the commit:
    /// then it is empty.
    pub(in super::super) fn spot(&self) -> Option<Spot> {
        let path = self.file()?.to_owned();
        let place = |kind, old, new| Line { kind, old, new };
        let (start, line) = match self.lines() {
            (Some((first, last)), None) => {
                (place(LineKind::Added, first, first), place(LineKind::Added, last, last))
            }
            (Some((first, last)), Some((first_old, last_old))) => (
                place(LineKind::Context, first_old, first),
                place(LineKind::Context, last_old, last),
            ),
            (None, Some((first, last))) => {
                (place(LineKind::Removed, first, first), place(LineKind::Removed, last, last))
            }
            (None, None) => return None,
        };
        let head = self.position.as_ref().and_then(|position| position.head_sha.clone());
        Some(Spot {
            path,
            old_path: None,
            side: line.side(),
            start: (start.number(line.side()) != line.number(line.side())).then_some(start),
            line,
            commit: head.or(self.commit_id.clone()).unwrap_or_default(),
        })
    }

    /// Compares where it stands with where it was to stand.
    pub(in super::super) fn landing(&self, wanted: &Spot) -> Landing {
        let line = self.lines().0.map(|(_, last)| last);
        let file = self.file();
        if self.is_inline() == Some(false) {
            return Landing::Elsewhere("in the conversation".to_owned());
        }
        if file.is_some_and(|file| file != wanted.path)
            || line.is_some_and(|line| line != wanted.line.new)
        {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            return Landing::Elsewhere(format!("at {}{line}", file.unwrap_or("another place")));
        }
        match (line, self.is_inline()) {
            (Some(_), _) | (None, Some(true)) => Landing::Right,
            (None, _) => Landing::Unsaid,
        }
    }

    /// Returns the place of a comment of the thread.
    pub(in super::super) fn place_in(&self, thread: Option<&str>, reply: Option<bool>) -> Place {
        Place::Thread {
            thread: thread.or(self.thread()).map(str::to_owned),
            reply,
            path: self.file().map(str::to_owned),
        }
    }

    /// Returns the comment in the words of the ports, if it has a number.
    pub(in super::super) fn into_said(self, place: Place, what: &str) -> Result<Said, Error> {
        let Some(id) = self.number() else {
            let why = "a comment has no number".to_owned();
            return Err(Error::Garbled { what: what.to_owned(), why });
        };
        Ok(Said {
            id,
            place,
            author: author(self.user),
            body: self.body.unwrap_or_default(),
            created_at: self.created_at.as_deref().and_then(time),
            updated_at: self.updated_at.as_deref().and_then(time),
            url: self.html_url,
            open: None,
        })
    }

    /// Gives it the number under which it was asked for, where the answer leaves it out.
    pub(in super::super) fn numbered(mut self, number: u64) -> Self {
        self.note_id = self.number().or(Some(number));
        self
    }

    /// Whether it stands on another subject: a remembered number may have become another's (T9).
    pub(in super::super) fn is_foreign_to(&self, subject: &Subject) -> bool {
        let home = self
            .target
            .as_ref()
            .and_then(|target| target.issue.as_ref().or(target.pull_request.as_ref()));
        let number = home.and_then(|home| home.number.or(home.nubmer));
        number.is_some_and(|number| number != subject.number)
    }
}
