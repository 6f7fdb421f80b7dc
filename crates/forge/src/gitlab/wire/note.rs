//! Notes, discussions and where they stand in a difference.

use domain::anchor::{Line, LineKind, Spot};
use domain::event::Place;
use domain::{AccountId, Actor};
use serde::Deserialize;

use super::{User, author, time};
use crate::port::{Said, Thread};
use crate::write::moves::Home;

/// A comment, or what GitLab itself wrote into the conversation.
#[derive(Debug, Deserialize)]
pub(crate) struct Note {
    pub(crate) id: u64,
    #[serde(rename = "type")]
    kind: Option<String>,
    body: Option<String>,
    author: Option<User>,
    created_at: Option<String>,
    updated_at: Option<String>,
    #[serde(default)]
    system: bool,
    internal: Option<bool>,
    /// What older servers say instead of `internal`.
    confidential: Option<bool>,
    resolvable: Option<bool>,
    resolved: Option<bool>,
    resolved_by: Option<User>,
    position: Option<Position>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Discussion {
    pub(crate) id: String,
    notes: Vec<Note>,
}

#[derive(Debug, Deserialize)]
struct Position {
    head_sha: Option<String>,
    old_path: Option<String>,
    new_path: Option<String>,
    old_line: Option<u64>,
    new_line: Option<u64>,
    line_range: Option<LineRange>,
}

#[derive(Debug, Deserialize)]
struct LineRange {
    start: Option<Boundary>,
}

#[derive(Debug, Deserialize)]
struct Boundary {
    old_line: Option<u64>,
    new_line: Option<u64>,
}

/// A note that its author alone sees until it is published.
#[derive(Debug, Deserialize)]
pub(crate) struct Draft {
    pub(crate) id: u64,
    author_id: i64,
    note: Option<String>,
}

/// The difference of a change as it was after a push.
#[derive(Debug, Deserialize)]
pub(crate) struct Version {
    pub(crate) id: u64,
    pub(crate) head_commit_sha: Option<String>,
    pub(crate) base_commit_sha: Option<String>,
    pub(crate) start_commit_sha: Option<String>,
}

impl Note {
    /// Whether everybody who sees the subject sees it. What only members see stays among them:
    /// an answer would be public.
    pub(crate) fn is_for_everybody(&self) -> bool {
        !self.internal.or(self.confidential).unwrap_or_default()
    }

    /// Whether somebody said it in the conversation, for everybody to read.
    pub(crate) fn is_conversation(&self) -> bool {
        !self.system && !self.is_on_code() && self.is_for_everybody()
    }

    fn is_on_code(&self) -> bool {
        self.kind.as_deref() == Some("DiffNote")
    }

    /// Returns the note; `page` is the page of its subject.
    pub(crate) fn into_said(self, page: Option<&str>, home: Home<'_>) -> Said {
        self.into_said_at(page, home, None)
    }

    fn into_said_at(self, page: Option<&str>, home: Home<'_>, reply: Option<bool>) -> Said {
        let path = self.position.as_ref().and_then(Position::path);
        let place = match home {
            Home::Thread(thread) => {
                Place::Thread { thread: Some(thread.to_owned()), reply, path: path.cloned() }
            }
            Home::Conversation if self.is_on_code() => {
                Place::Thread { thread: None, reply, path: path.cloned() }
            }
            Home::Conversation => Place::Conversation,
        };
        Said {
            id: self.id,
            place,
            author: author(self.author),
            body: self.body.unwrap_or_default(),
            created_at: time(self.created_at.as_deref()),
            updated_at: time(self.updated_at.as_deref()),
            url: page.map(|page| format!("{page}#note_{}", self.id)),
            open: None,
        }
    }
}

impl Discussion {
    /// Whether it stands on code.
    pub(crate) fn is_thread(&self) -> bool {
        self.notes.first().is_some_and(|note| note.is_on_code() && !note.system)
    }

    /// Returns its first note.
    pub(crate) fn into_first(self, page: Option<&str>) -> Option<Said> {
        let home = Home::Thread(&self.id);
        self.notes.into_iter().next().map(|note| note.into_said_at(page, home, Some(false)))
    }

    /// Returns the thread; `head` is the tip of the change now. GitLab moves the position of a
    /// note along with its lines: one that it left at an earlier head is about lines that changed.
    pub(crate) fn into_thread(self, page: Option<&str>, head: Option<&str>) -> Option<Thread> {
        let first = self.notes.first()?;
        let position = first.position.as_ref();
        let stands_at = position.and_then(|position| position.head_sha.as_deref());
        let outdated = matches!((stands_at, head), (Some(then), Some(now)) if then != now);
        let at = position.and_then(Position::spot);
        // Each note of a discussion has a state; the discussion is settled if all of them are.
        let mut resolvable = self.notes.iter().filter(|note| note.resolvable == Some(true));
        let resolved = first.resolvable.map(|_| {
            resolvable.clone().next().is_some()
                && resolvable.all(|note| note.resolved == Some(true))
        });
        let mut resolved_by = None;
        let mut comments = Vec::new();
        for (index, mut note) in self.notes.into_iter().enumerate() {
            resolved_by = note.resolved_by.take().map(User::into_actor).or(resolved_by);
            if !note.system && note.is_for_everybody() {
                let home = Home::Thread(&self.id);
                comments.push(note.into_said_at(page, home, Some(index > 0)));
            }
        }
        let resolved_by = resolved_by.filter(|_| resolved == Some(true));
        let id = self.id;
        (!comments.is_empty()).then_some(Thread {
            id,
            at,
            outdated,
            resolved,
            resolved_by,
            comments,
        })
    }
}

impl Position {
    /// Returns the path after the change; of a removed file, the one before it.
    fn path(&self) -> Option<&String> {
        self.new_path.as_ref().or(self.old_path.as_ref())
    }

    /// Returns the lines; a comment on a whole file has none.
    fn spot(&self) -> Option<Spot> {
        let start = self.line_range.as_ref().and_then(|range| range.start.as_ref());
        let path = self.path()?.clone();
        let last = line(self.old_line, self.new_line)?;
        Some(Spot {
            side: last.side(),
            old_path: self.old_path.clone().filter(|old| *old != path),
            path,
            start: start.and_then(|start| line(start.old_line, start.new_line)),
            line: last,
            commit: self.head_sha.clone()?,
        })
    }
}

/// Reads a line from its numbers: it has one on each side where it exists.
fn line(old: Option<u64>, new: Option<u64>) -> Option<Line> {
    match (old, new) {
        (Some(old), Some(new)) => Some(Line { kind: LineKind::Context, old, new }),
        // The other side is not told; the number on this side counts.
        (None, Some(new)) => Some(Line { kind: LineKind::Added, old: new, new }),
        (Some(old), None) => Some(Line { kind: LineKind::Removed, old, new: old }),
        (None, None) => None,
    }
}

impl Draft {
    /// Returns the draft as what it will be once it is published.
    pub(crate) fn as_said(&self) -> Said {
        let id = Some(AccountId(self.author_id));
        Said {
            id: self.id,
            place: Place::Conversation,
            author: Actor { id, login: String::new(), bot: false },
            body: self.note.clone().unwrap_or_default(),
            created_at: None,
            updated_at: None,
            url: None,
            open: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn note(id: u64, more: &Value) -> Value {
        let mut note = json!({
            "id": id, "type": "DiffNote", "body": "text", "system": false,
            "author": {"id": 41, "username": "bot"}, "resolvable": true, "resolved": false,
            "position": {"base_sha": "b", "start_sha": "s", "head_sha": "h", "position_type": "text",
                         "old_path": "a.rs", "new_path": "a.rs", "old_line": null, "new_line": 5},
        });
        note.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        note
    }

    fn thread(notes: &[Value], head: &str) -> Option<Thread> {
        let discussion: Discussion =
            serde_json::from_value(json!({"id": "d1", "notes": notes})).unwrap();
        discussion.into_thread(Some("https://h/p/-/merge_requests/3"), Some(head))
    }

    #[test]
    fn a_discussion_is_settled_when_all_its_notes_are() {
        let open = note(1, &json!({}));
        let done = note(2, &json!({"resolved": true, "resolved_by": {"id": 5, "username": "ann"}}));
        let told = |notes: &[Value]| {
            let thread = thread(notes, "h").unwrap();
            (thread.resolved, thread.resolved_by.map(|by| by.login))
        };
        assert_eq!(told(&[open.clone(), done.clone()]), (Some(false), None));
        assert_eq!(told(&[done.clone(), done.clone()]), (Some(true), Some("ann".to_owned())));
        assert_eq!(told(&[done, note(3, &json!({"resolvable": false}))]).0, Some(true));
        assert_eq!(told(&[note(1, &json!({"resolvable": null}))]).0, None, "not told");
    }

    #[test]
    fn a_position_left_at_an_earlier_head_is_outdated() {
        let notes = [note(1, &json!({}))];
        assert!(!thread(&notes, "h").unwrap().outdated);
        assert!(thread(&notes, "later").unwrap().outdated);
    }

    #[test]
    fn a_line_is_known_by_the_sides_on_which_it_has_a_number() {
        let spot = |position: Value| {
            let position: Position = serde_json::from_value(position).unwrap();
            position.spot().map(|spot| (spot.line.kind, spot.span(), spot.old_path))
        };
        let base = json!({"head_sha": "h", "old_path": "o.rs", "new_path": "n.rs"});
        let with = |more: Value| {
            let mut position = base.clone();
            position.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            spot(position)
        };
        let old = Some("o.rs".to_owned());
        assert_eq!(with(json!({"new_line": 4})), Some((LineKind::Added, (4, 4), old.clone())));
        assert_eq!(with(json!({"old_line": 3})), Some((LineKind::Removed, (3, 3), old.clone())));
        let range = json!({"old_line": 3, "new_line": 4,
            "line_range": {"start": {"line_code": "x_1_2", "type": null, "old_line": 1, "new_line": 2},
                           "end": {"line_code": "x_3_4"}}});
        assert_eq!(with(range), Some((LineKind::Context, (2, 4), old)));
        assert_eq!(with(json!({"position_type": "file"})), None, "a whole file");
    }

    #[test]
    fn what_only_members_see_is_no_part_of_a_thread() {
        let secret = note(2, &json!({"internal": true, "body": "secret"}));
        let thread = thread(&[note(1, &json!({})), secret], "h").unwrap();
        assert_eq!(thread.comments.len(), 1);
        assert_eq!(
            thread.comments[0].url.as_deref(),
            Some("https://h/p/-/merge_requests/3#note_1")
        );
    }
}
