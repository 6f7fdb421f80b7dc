//! GitCode's deliveries.
//!
//! GitLab's shapes, told less exactly: fields move, ids may be texts, and much is undocumented. So
//! whatever is not needed may be missing, and everything is looked for where it has been seen.

use domain::event::{Change, Comment, Happening, Issue, Place};
use domain::{AccountId, Actor, Event, Repo, SubjectKind};
use http::HeaderMap;
use secrecy::{ExposeSecret, SecretString};

use crate::host::Host;
use crate::webhook::node::Node;
use crate::webhook::shape::Told;
use crate::webhook::{Content, Delivery, Incoming, Malformed, Verdict, header, shape, signature};

/// Checks a signature if there is one, else the token: a password in clear, or (as some senders do)
/// a signature too.
pub(crate) fn verify(headers: &HeaderMap, body: &[u8], secret: &SecretString) -> Verdict {
    const SIGNATURES: [&str; 5] = [
        "x-gitcode-signature-256",
        "x-gitcode-signature",
        "x-gitcode-sign",
        "x-signature",
        "x-gitcode-webhook-signature",
    ];
    let key = secret.expose_secret().as_bytes();
    let signatures: Vec<_> =
        SIGNATURES.iter().filter_map(|name| header::first(headers, &[name])).collect();
    if !signatures.is_empty() {
        let fits =
            signatures.iter().any(|value| signature::check_hex(value, key, body).is_authentic());
        return if fits { Verdict::Authentic } else { Verdict::Wrong };
    }
    match headers.get("x-gitcode-token") {
        None => Verdict::Unsigned,
        Some(token) => match signature::check_token(token.as_bytes(), key) {
            Verdict::Wrong => signature::check_hex(token.to_str().unwrap_or("?"), key, body),
            verdict => verdict,
        },
    }
}

pub(crate) fn decode(incoming: &Incoming) -> Result<Delivery, Malformed> {
    let event_type =
        header::first(incoming.headers, &["x-gitcode-event"]).ok_or(Malformed::NoEvent)?;
    let payload = &incoming.payload;
    let content = match tell(event_type, payload)? {
        Told::Nothing(reason) => Content::Ignored(reason),
        Told::Happened(happening) => Content::Event(Box::new(Event {
            repo: repo(incoming)?,
            actor: actor(payload)?,
            happening,
        })),
    };
    let id = header::first(incoming.headers, &["x-gitcode-delivery"]).map(str::to_owned);
    Ok(Delivery {
        host: Host::GitCode,
        id: id.or_else(|| payload.at("uuid").words()),
        event_type: event_type.to_owned(),
        content,
    })
}

fn tell(event_type: &str, payload: &Node) -> Result<Told, Malformed> {
    let kind = payload.at("object_kind").words();
    let kind = kind.as_deref().unwrap_or(match event_type {
        "Note Hook" | "issue_comment" => "note",
        "Issue Hook" | "issues" => "issue",
        "Merge Request Hook" => "merge_request",
        "Push Hook" => "push",
        other => other,
    });
    match kind {
        "note" => noted(payload),
        "issue" => issue_changed(payload),
        "merge_request" => merge_request_changed(payload),
        "push" => {
            let listed = || payload.at("commits").count();
            let commits = payload.at("total_commits_count").number().or_else(listed).unwrap_or(0);
            shape::push(payload, commits)
        }
        other => Ok(Told::unused_event(other)),
    }
}

/// Reads the action of the delivery. The one inside `merge_request` is stale and never asked.
fn action(payload: &Node) -> Option<String> {
    payload.at("object_attributes").at("action").words().or_else(|| payload.at("action").words())
}

fn issue_changed(payload: &Node) -> Result<Told, Malformed> {
    let assigned = |to| Ok(Told::Happened(Happening::IssueAssigned { issue: issue(payload)?, to }));
    match action(payload).as_deref() {
        None | Some("open" | "opened") => {
            Ok(Told::Happened(Happening::IssueOpened(issue(payload)?)))
        }
        Some("assign" | "assigned") => assigned(assignees(payload)),
        Some("update") => match newcomers(&payload.at("changes"), &ASSIGNEE_FIELDS) {
            nobody if nobody.is_empty() => Ok(Told::nothing("an update that assigns nobody new")),
            new => assigned(new),
        },
        Some(other) => Ok(Told::unused_action("issue", other)),
    }
}

const ASSIGNEE_FIELDS: [&str; 4] = ["assignees", "assignee", "assignee_ids", "assignee_id"];

/// Reads who is assigned now, from whichever of the places has somebody.
fn assignees(payload: &Node) -> Vec<Actor> {
    let places = [&payload.at("object_attributes"), payload, &payload.at("issue")];
    let mut lists =
        places.into_iter().flat_map(|place| ASSIGNEE_FIELDS.map(|field| people(&place.at(field))));
    lists.find(|list| !list.is_empty()).unwrap_or_default()
}

/// Returns those whom an update added to one of the fields: the first one that has somebody.
fn newcomers(changes: &Node, fields: &[&str]) -> Vec<Actor> {
    let added = |field: &&str| {
        let list = changes.at(field);
        shape::newcomers(&people(&list.at("previous")), people(&list.at("current")))
    };
    fields.iter().map(added).find(|list| !list.is_empty()).unwrap_or_default()
}

fn merge_request_changed(payload: &Node) -> Result<Told, Malformed> {
    let change = || change(payload);
    Ok(Told::Happened(match action(payload).as_deref() {
        Some("open" | "opened") => Happening::ChangeOpened(change()?),
        Some("reopen" | "reopened") => Happening::ChangeReopened(change()?),
        Some("close" | "closed") => Happening::ChangeClosed { change: change()?, merged: false },
        Some("merge" | "merged") => Happening::ChangeClosed { change: change()?, merged: true },
        Some("update") => return merge_request_updated(payload),
        Some(other) => return Ok(Told::unused_action("merge_request", other)),
        None => return Err(payload.at("object_attributes").at("action").complaint("an action")),
    }))
}

fn merge_request_updated(payload: &Node) -> Result<Told, Malformed> {
    let node = payload.at("object_attributes");
    let changes = payload.at("changes");
    let change = || change(payload);
    let reason = node.at("update_reason").words().or_else(|| payload.at("update_reason").words());
    // `oldrev` is there but empty when nothing was pushed.
    if node.at("oldrev").words().is_some() || reason.is_some_and(|reason| reason == "source update")
    {
        return Ok(Told::Happened(Happening::ChangePushed(change()?)));
    }
    if changes.at("target_branch").is_present() {
        return Ok(Told::Happened(Happening::BaseChanged(change()?)));
    }
    if was_made_ready(&changes) {
        return Ok(Told::Happened(Happening::ChangeReady(change()?)));
    }
    let reviewers = newcomers(&changes, &["reviewers", "reviewer_list", "approver_list"]);
    if !reviewers.is_empty() {
        return Ok(Told::Happened(Happening::ReviewRequested { change: change()?, of: reviewers }));
    }
    Ok(Told::nothing("an update of a merge request that brings no commits and asks nobody"))
}

/// Whether an update made a draft ready: by its flag, or by the title that mirrors it.
fn was_made_ready(changes: &Node) -> bool {
    let was_cleared = |flag: &Node| {
        flag.at("previous").flag() && flag.at("current").is_present() && !flag.at("current").flag()
    };
    let marks_draft = |title: &Node| title.text().map(|title| title.starts_with("[WIP]"));
    let title = changes.at("title");
    was_cleared(&changes.at("draft"))
        || was_cleared(&changes.at("work_in_progress"))
        || (marks_draft(&title.at("previous")) == Some(true)
            && marks_draft(&title.at("current")) == Some(false))
}

fn noted(payload: &Node) -> Result<Told, Malformed> {
    let note = payload.at("object_attributes");
    if note.at("system").flag() {
        return Ok(Told::nothing("a note that GitCode itself wrote"));
    }
    let (on, subject) = match note.at("noteable_type").words().as_deref() {
        Some("Issue") => (SubjectKind::Issue, payload.at("issue")),
        Some("MergeRequest" | "PullRequest") => (SubjectKind::Change, payload.at("merge_request")),
        None if payload.at("merge_request").is_present() => {
            (SubjectKind::Change, payload.at("merge_request"))
        }
        None => (SubjectKind::Issue, payload.at("issue")),
        Some(other) => return Ok(Told::Nothing(format!("a note on a {other}"))),
    };
    let actor = actor(payload)?;
    let text = note.at("note");
    let comment = Comment {
        id: note.at("id").number(),
        place: place(&note),
        author: author(&note, &actor),
        body: match text.text().or_else(|| note.at("description").text()) {
            Some(body) => body,
            None => return Err(text.complaint("a text")),
        },
        on,
        number: number(&subject)?,
        display_number: None,
        title: subject.at("title").text().unwrap_or_default(),
        subject_author: said_author(&subject),
        updated_at: note.at("updated_at").words(),
    };
    match action(payload).as_deref() {
        None | Some("create" | "created" | "comment") => {
            Ok(Told::Happened(Happening::Commented(comment)))
        }
        Some("update" | "updated" | "edit" | "edited") => {
            Ok(Told::Happened(Happening::CommentEdited { comment, before: None }))
        }
        Some(other) => Ok(Told::unused_action("note", other)),
    }
}

fn place(note: &Node) -> Place {
    if note.at("type").text().is_none_or(|kind| kind != "DiffNote") {
        return Place::Conversation;
    }
    let position = note.at("position");
    Place::Thread {
        thread: note.at("discussion_id").words(),
        reply: None,
        path: position.at("new_path").words().or_else(|| position.at("old_path").words()),
    }
}

fn change(payload: &Node) -> Result<Change, Malformed> {
    let node = payload.at("object_attributes");
    let title = node.at("title").text().unwrap_or_default();
    Ok(Change {
        number: number(&node)?,
        body: node.at("description").text().unwrap_or_default(),
        author: author(&node, &actor(payload)?),
        draft: node.at("draft").flag()
            || node.at("work_in_progress").flag()
            || title.starts_with("[WIP]"),
        title,
        head: node.at("last_commit").at("id").words(),
        head_branch: node.at("source_branch").words(),
        base_branch: node.at("target_branch").words(),
        updated_at: node.at("updated_at").words(),
    })
}

fn issue(payload: &Node) -> Result<Issue, Malformed> {
    let attributes = payload.at("object_attributes");
    let node = if attributes.is_present() { attributes } else { payload.at("issue") };
    Ok(Issue {
        assignees: Vec::new(),
        number: number(&node)?,
        display_number: None,
        title: node.at("title").text().unwrap_or_default(),
        body: node.at("description").text().or_else(|| node.at("body").text()).unwrap_or_default(),
        author: author(&node, &actor(payload)?),
        updated_at: node.at("updated_at").words(),
    })
}

/// Reads the number that addresses carry. The `id` is that of a row and never stands in for it.
fn number(node: &Node) -> Result<u64, Malformed> {
    match node.at("number").number() {
        Some(number) => Ok(number),
        None => node.at("iid").required_number(),
    }
}

fn repo(incoming: &Incoming) -> Result<Repo, Malformed> {
    let node = incoming.payload.at("project");
    let name = shape::full_name(&node, "path_with_namespace", || namespace(&node.at("namespace")))?;
    let id = [node.at("id"), incoming.payload.at("project_id")].into_iter().find(Node::is_present);
    Ok(shape::repo(incoming.origin, &id.unwrap_or(node.clone()), name, &node.at("default_branch")))
}

/// Reads a namespace, which is a text or an object.
fn namespace(node: &Node) -> Result<String, Malformed> {
    let fields = ["full_path", "path", "name"];
    let named = || fields.into_iter().find_map(|field| node.at(field).words());
    match node.words().or_else(named) {
        Some(name) => Ok(name),
        None if node.is_object() => node.at("name").required_words(),
        None => Err(node.complaint("a name")),
    }
}

/// Reads who did it: `user`, or on pushes a few flat fields.
fn actor(payload: &Node) -> Result<Actor, Malformed> {
    let user = payload.at("user");
    if let Some(actor) = person(&user) {
        return Ok(actor);
    }
    match payload.at("user_username").words().or_else(|| payload.at("user_name").words()) {
        Some(login) => Ok(Actor { id: account(&payload.at("user_id")), login, bot: false }),
        None => Err(user.at("username").complaint("a user name")),
    }
}

/// Reads the author of an object. Where it says nothing of one, it is who did it.
fn author(object: &Node, actor: &Actor) -> Actor {
    match said_author(object) {
        Some(author) if !author.login.is_empty() || author.id != actor.id => author,
        _ => actor.clone(),
    }
}

/// Reads the author as the object gives it: whole, or only the id.
fn said_author(object: &Node) -> Option<Actor> {
    person(&object.at("author")).or_else(|| known_by_id(&object.at("author_id")))
}

/// Reads people from a list or a single one, each an object, a name or an id.
fn people(node: &Node) -> Vec<Actor> {
    let named = |node: &Node| {
        let login = node.words().filter(|login| login.parse::<i64>().is_err())?;
        Some(Actor::named(&login))
    };
    let one = |node: &Node| person(node).or_else(|| known_by_id(node)).or_else(|| named(node));
    match node.items() {
        items if items.is_empty() => one(node).into_iter().collect(),
        items => items.iter().filter_map(one).collect(),
    }
}

fn person(node: &Node) -> Option<Actor> {
    let login =
        ["username", "login", "name"].into_iter().find_map(|field| node.at(field).words())?;
    Some(Actor { id: account(&node.at("id")), login, bot: false })
}

fn known_by_id(node: &Node) -> Option<Actor> {
    account(node).map(|id| Actor { id: Some(id), login: String::new(), bot: false })
}

/// Reads an account's id. A negative one (-9999 has been seen) and 0 stand for "unknown": many share
/// them, so that they are nobody's identity.
fn account(node: &Node) -> Option<AccountId> {
    node.number().filter(|id| *id > 0).map(AccountId)
}
