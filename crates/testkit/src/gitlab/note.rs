//! Notes, the discussions that they stand in, and reactions.

use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Call, Query, missing, read};
use super::endpoint::{Family, On};
use super::position::Position;
use super::shape::{conversation_id, thread_id};
use super::{not_found, refusal, refuse_with};
use crate::forge::{
    Answer, CommentKind, FakeComment, FakeSubject, Inline, Reacted, Spot, Target, What, settled,
    thread_of,
};

const AWARDS: [&str; 4] = ["eyes", "thumbsup", "thumbsdown", "confused"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewNote {
    body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewDiscussion {
    body: String,
    position: Option<Position>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Resolution {
    resolved: Flag,
}

/// GitLab takes a flag from the query as a word.
#[derive(Deserialize)]
#[serde(untagged)]
enum Flag {
    Flag(bool),
    Word(Word),
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    True,
    False,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Award {
    name: String,
}

/// What a discussion's id leads to.
#[derive(Clone, Copy)]
enum Discussion {
    Thread(u64),
    /// The first note of one that is not on code.
    Conversation(u64),
}

impl Call<'_> {
    pub(super) fn list_notes(&mut self, on: &On) -> Result<Answer, Answer> {
        let known: &[(&str, &[&str])] =
            &[("sort", &["asc", "desc"]), ("order_by", &["created_at", "updated_at"])];
        let query = Query::read(self.asked, known)?;
        let mut listed = self.listed(on)?;
        if let Some(id) = &on.discussion {
            let within = self.discussion(on, id)?;
            listed.retain(|note| self.is_within(note, within));
        } else if query.filter("sort") != Some("asc") {
            listed.reverse();
        }
        if query.page == 1 {
            let subject = self.subject(on.family, on.number)?.id;
            self.model.count_listing(subject, CommentKind::Conversation);
            self.model.count_listing(subject, CommentKind::Line);
        }
        let shown: Vec<Value> =
            listed.iter().map(|note| self.shown(note)).collect::<Result<_, _>>()?;
        Ok(self.page(&query, &tail(on, "notes"), &shown))
    }

    pub(super) fn create_note(&mut self, on: &On) -> Result<Answer, Answer> {
        let NewNote { body } = read(self.asked)?;
        let subject = self.subject(on.family, on.number)?.clone();
        let act = self.act();
        let added = match &on.discussion {
            None => self.model.add_comment(subject.id, Spot::Conversation, &body, act),
            Some(id) => match self.discussion(on, id)? {
                Discussion::Thread(thread) => self.model.reply(thread, &body, None, act),
                Discussion::Conversation(first) => {
                    self.model.add_comment(subject.id, Spot::Under(first), &body, act)
                }
            },
        };
        let note = added.map_err(|why| refusal("Discussion", &why))?;
        let answer = Answer::new(StatusCode::CREATED, self.shown(&note)?);
        self.tell_of(answer, on, note)
    }

    pub(super) fn read_note(&self, on: &On, id: u64) -> Result<Answer, Answer> {
        let note = self.note(on, id)?;
        Ok(Answer::new(StatusCode::OK, self.shown(&note)?))
    }

    pub(super) fn edit_note(&mut self, on: &On, id: u64) -> Result<Answer, Answer> {
        let NewNote { body } = read(self.asked)?;
        let kind = self.note(on, id)?.kind();
        let act = self.act();
        let edited = self.model.edit(self.repo, kind, id, &body, act);
        let (comment, before) = edited.map_err(|why| refusal("Note", &why))?;
        let answer = Answer::new(StatusCode::OK, self.shown(&comment)?);
        let (on, thread) =
            (self.subject(on.family, on.number)?.clone(), thread_of(self.model, &comment));
        self.tell(answer, [What::CommentEdited { on, comment, thread, before }])
    }

    pub(super) fn delete_note(&mut self, on: &On, id: u64) -> Result<Answer, Answer> {
        let note = self.note(on, id)?;
        let thread = thread_of(self.model, &note);
        let deleted = self.model.delete(self.repo, note.kind(), id, &self.bearer.account);
        let comment = deleted.map_err(|why| refusal("Note", &why))?;
        let on = self.subject(on.family, on.number)?.clone();
        self.nothing([What::CommentDeleted { on, comment, thread }])
    }

    pub(super) fn list_discussions(&mut self, on: &On) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[])?;
        let listed = self.listed(on)?;
        if query.page == 1 {
            let subject = self.subject(on.family, on.number)?.id;
            self.model.count_listing(subject, CommentKind::Conversation);
            self.model.count_listing(subject, CommentKind::Line);
        }
        let mut shown: Vec<(String, Vec<Value>)> = Vec::new();
        for note in &listed {
            let (id, value) = (self.discussion_of(note), self.shown(note)?);
            match shown.iter_mut().find(|(known, _)| *known == id) {
                Some((_, notes)) => notes.push(value),
                None => shown.push((id, vec![value])),
            }
        }
        let shown: Vec<Value> =
            shown.into_iter().map(|(id, notes)| discussion(&id, notes)).collect();
        Ok(self.page(&query, &tail(on, "discussions"), &shown))
    }

    pub(super) fn create_discussion(&mut self, on: &On) -> Result<Answer, Answer> {
        let NewDiscussion { body, position } = read(self.asked)?;
        let subject = self.subject(on.family, on.number)?.clone();
        let act = self.act();
        let note = match (position, &subject.change) {
            (Some(position), Some(change)) => {
                let inline = Inline { anchor: position.anchor(change)?, body };
                let head = position.head_sha;
                let opened = self.model.open_thread(subject.id, &head, &inline, None, act);
                opened.map_err(|why| refusal("Discussion", &why))?.1
            }
            (Some(_), None) => {
                let refused = refuse_with(400, json!("position is invalid"));
                return Err(refused.violating("an issue has no positions"));
            }
            (None, _) => {
                let added = self.model.add_comment(subject.id, Spot::Conversation, &body, act);
                added.map_err(|why| refusal("Discussion", &why))?
            }
        };
        let shown = discussion(&self.discussion_of(&note), vec![self.shown(&note)?]);
        self.tell_of(Answer::new(StatusCode::CREATED, shown), on, note)
    }

    pub(super) fn read_discussion(&self, on: &On) -> Result<Answer, Answer> {
        let id = on.discussion.as_deref().unwrap_or_default();
        Ok(Answer::new(StatusCode::OK, self.shown_discussion(on, id)?))
    }

    pub(super) fn resolve(&mut self, on: &On) -> Result<Answer, Answer> {
        let Resolution { resolved } = read(self.asked)?;
        let id = on.discussion.clone().unwrap_or_default();
        let Discussion::Thread(thread) = self.discussion(on, &id)? else {
            return Err(refuse_with(400, json!("400 Bad request - Discussion is not resolvable")));
        };
        let by = self.bearer.account.clone();
        let done = match resolved {
            Flag::Flag(true) | Flag::Word(Word::True) => self.model.resolve(thread, &by),
            Flag::Flag(false) | Flag::Word(Word::False) => self.model.unresolve(thread, &by),
        };
        let thread = done.map_err(|why| refusal("Discussion", &why))?;
        let what = settled(self.model, thread).map_err(missing)?;
        self.tell(Answer::new(StatusCode::OK, self.shown_discussion(on, &id)?), [what])
    }

    pub(super) fn list_awards(&self, on: &On, note: Option<u64>) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[])?;
        let reactions = match note {
            None => self.subject(on.family, on.number)?.reactions.clone(),
            Some(id) => self.note(on, id)?.reactions,
        };
        let view = self.view()?;
        let shown: Vec<Value> = reactions.iter().map(|reaction| view.award(reaction)).collect();
        Ok(self.page(&query, &tail(on, "award_emoji"), &shown))
    }

    /// Puts a sign there. One that stands already is refused, with a 404.
    pub(super) fn award(&mut self, on: &On, note: Option<u64>) -> Result<Answer, Answer> {
        let Award { name } = read(self.asked)?;
        if !AWARDS.contains(&name.as_str()) {
            return Err(not_found("Award Emoji").violating(format!("the emoji {name}")));
        }
        let target = match note {
            None => Target::Subject(self.subject(on.family, on.number)?.id),
            Some(id) => Target::Comment(self.note(on, id)?.kind(), id),
        };
        let reacted = self.model.react(self.repo, target, &self.bearer.account, &name);
        match reacted.map_err(missing)? {
            (reaction, Reacted::Now) => {
                Ok(Answer::new(StatusCode::CREATED, self.view()?.award(&reaction)))
            }
            (_, Reacted::Before) => Err(not_found("Award Emoji Name has already been taken")),
        }
    }

    /// Shows a note as it stands.
    pub(super) fn shown(&self, note: &FakeComment) -> Result<Value, Answer> {
        let subject = self.model.subject(note.subject).map_err(missing)?;
        let thread = thread_of(self.model, note);
        Ok(self.view()?.note(note, subject, thread.as_ref()))
    }

    /// Tells of a new note.
    pub(super) fn tell_of(
        &self,
        answer: Answer,
        on: &On,
        comment: FakeComment,
    ) -> Result<Answer, Answer> {
        let (on, thread) =
            (self.subject(on.family, on.number)?.clone(), thread_of(self.model, &comment));
        self.tell(answer, [What::Commented { on, comment, thread }])
    }

    /// Returns what a listing shows now, oldest first: both kinds of notes are one list.
    fn listed(&self, on: &On) -> Result<Vec<FakeComment>, Answer> {
        let subject = self.subject(on.family, on.number)?.id;
        let of = |kind| self.model.listing(subject, kind, &self.bearer.account, self.now);
        let mut listed = of(CommentKind::Conversation).map_err(missing)?;
        listed.extend(of(CommentKind::Line).map_err(missing)?);
        listed.sort_by_key(|note| note.id);
        Ok(listed)
    }

    /// Returns a note of the subject, and of the discussion if one is named.
    fn note(&self, on: &On, id: u64) -> Result<FakeComment, Answer> {
        let subject = self.subject(on.family, on.number)?.id;
        let kinds = [CommentKind::Conversation, CommentKind::Line];
        let found = kinds.iter().find_map(|kind| self.model.comment(self.repo, *kind, id).ok());
        let found = found.filter(|note| note.subject == subject);
        let note = found.cloned().ok_or_else(|| not_found("Note"))?;
        match &on.discussion {
            Some(discussion) if !self.is_within(&note, self.discussion(on, discussion)?) => {
                Err(not_found("Note").violating("the note stands in another discussion"))
            }
            Some(_) | None => Ok(note),
        }
    }

    fn discussion(&self, on: &On, id: &str) -> Result<Discussion, Answer> {
        let subject: &FakeSubject = self.subject(on.family, on.number)?;
        let thread = self.model.threads(subject.id).into_iter().find(|it| thread_id(it.id) == id);
        if let Some(thread) = thread {
            return Ok(Discussion::Thread(thread.id));
        }
        let said = self.model.said(subject.id);
        let first = said
            .iter()
            .find(|note| note.place == Spot::Conversation && conversation_id(note.id) == id);
        first.map(|note| Discussion::Conversation(note.id)).ok_or_else(|| not_found("Discussion"))
    }

    fn is_within(&self, note: &FakeComment, discussion: Discussion) -> bool {
        match discussion {
            Discussion::Thread(thread) => note.thread() == Some(thread),
            Discussion::Conversation(first) => {
                note.id == first && note.thread().is_none() || note.place == Spot::Under(first)
            }
        }
    }

    fn discussion_of(&self, note: &FakeComment) -> String {
        match note.place {
            Spot::Conversation => conversation_id(note.id),
            Spot::Under(first) => conversation_id(first),
            Spot::Inline { thread, .. } => thread_id(thread),
        }
    }

    fn shown_discussion(&self, on: &On, id: &str) -> Result<Value, Answer> {
        let within = self.discussion(on, id)?;
        let subject = self.subject(on.family, on.number)?.id;
        let said = self.model.said(subject);
        let notes = said.iter().filter(|note| self.is_within(note, within));
        let notes = notes.map(|note| self.shown(note)).collect::<Result<_, _>>()?;
        Ok(discussion(id, notes))
    }
}

fn discussion(id: &str, notes: Vec<Value>) -> Value {
    let alone = notes.len() == 1 && notes[0]["type"].is_null();
    json!({"id": id, "individual_note": alone, "notes": notes})
}

fn tail(on: &On, last: &str) -> String {
    let family = match on.family {
        Family::Issues => "issues",
        Family::Changes => "merge_requests",
    };
    format!("/{family}/{}/{last}", on.number)
}
