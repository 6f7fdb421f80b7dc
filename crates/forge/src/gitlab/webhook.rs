//! GitLab's deliveries.
//!
//! One `update` can mean many things: what really changed is read from `oldrev` and `changes`.
//! Payloads may be templates of the administrator, so that a missing `object_kind` or action is no
//! fault. Authors are often given by id alone; such an actor has an empty login.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use domain::event::{Change, Comment, Happening, Issue, Place};
use domain::{AccountId, Actor, Event, Repo, SubjectKind, Time};
use http::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};

use crate::host::Host;
use crate::webhook::node::Node;
use crate::webhook::shape::Told;
use crate::webhook::{Content, Delivery, Incoming, Malformed, Verdict, header, shape, signature};

/// How far the time stamp of a signed delivery may be from our clock.
const TOLERANCE_SECONDS: u64 = 5 * 60;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Checks the signature if the secret is a signing token (`whsec_…`), else the token sent in clear.
///
/// Who holds a signing token never takes less: the clear token is not looked at.
pub(crate) fn verify(
    headers: &HeaderMap,
    body: &[u8],
    secret: &SecretString,
    now: Time,
) -> Verdict {
    let secret = secret.expose_secret();
    match secret.strip_prefix("whsec_") {
        Some(key) => verify_signed(headers, body, key, now),
        None => match headers.get("x-gitlab-token") {
            Some(token) => signature::check_token(token.as_bytes(), secret.as_bytes()),
            None => Verdict::Unsigned,
        },
    }
}

/// Checks a signature of the scheme Standard Webhooks.
fn verify_signed(headers: &HeaderMap, body: &[u8], key: &str, now: Time) -> Verdict {
    let one = |name| header::first(headers, &[name]);
    let (Some(id), Some(timestamp), Some(signatures)) =
        (one("webhook-id"), one("webhook-timestamp"), one("webhook-signature"))
    else {
        return Verdict::Unsigned;
    };
    let Ok(key) = BASE64.decode(key) else { return Verdict::Wrong };
    let signed = [id.as_bytes(), b".", timestamp.as_bytes(), b".", body];
    let fits = signatures
        .split_ascii_whitespace()
        .filter_map(|entry| entry.strip_prefix("v1,"))
        .filter_map(|code| BASE64.decode(code).ok())
        .any(|code| signature::is_code_of(&code, &key, &signed));
    if !fits {
        return Verdict::Wrong;
    }
    match timestamp.parse::<i64>() {
        Ok(made) if made.abs_diff(now.0.div_euclid(1_000)) <= TOLERANCE_SECONDS => {
            Verdict::Authentic
        }
        _ => Verdict::Stale,
    }
}

pub(crate) fn decode(incoming: &Incoming) -> Result<Delivery, Malformed> {
    let event_type =
        header::first(incoming.headers, &["x-gitlab-event"]).ok_or(Malformed::NoEvent)?;
    let payload = &incoming.payload;
    let content = match tell(payload)? {
        Told::Nothing(reason) => Content::Ignored(reason),
        Told::Happened(happening) => Content::Event(Box::new(Event {
            repo: repo(incoming)?,
            actor: actor(payload)?,
            happening,
        })),
    };
    Ok(Delivery {
        host: Host::GitLab,
        id: delivery_id(incoming),
        event_type: event_type.to_owned(),
        content,
    })
}

/// Returns an id that is the same for every attempt at one delivery. Before 17.4 none was sent: the
/// id of the request chain, which several hooks share, is told apart by the body.
fn delivery_id(incoming: &Incoming) -> Option<String> {
    if let Some(id) = header::first(incoming.headers, &["webhook-id", "idempotency-key"]) {
        return Some(id.to_owned());
    }
    let chain = header::first(incoming.headers, &["x-gitlab-event-uuid"])?;
    let digest = Sha256::new()
        .chain_update(chain)
        .chain_update(b"\n")
        .chain_update(incoming.body)
        .finalize();
    Some(format!("sha256:{}", hex::encode(digest)))
}

fn tell(payload: &Node) -> Result<Told, Malformed> {
    let Some(kind) = payload.at("object_kind").words() else {
        return Ok(Told::nothing("no `object_kind`: a system hook or a custom template"));
    };
    match kind.as_str() {
        "work_item" if !payload.at("project").is_present() => {
            Ok(Told::nothing("a work item of a group, which has no repository"))
        }
        "issue" | "work_item" | "merge_request"
            if !payload.at("object_attributes").at("iid").is_present() =>
        {
            Ok(Told::nothing("no `object_attributes.iid`: a custom template"))
        }
        "issue" | "work_item" => issue_changed(&kind, payload),
        "merge_request" => merge_request_changed(payload),
        "note" => noted(payload),
        "push" => {
            let listed = || payload.at("commits").count();
            let commits = payload.at("total_commits_count").number().or_else(listed).unwrap_or(0);
            shape::push(payload, commits)
        }
        _ => Ok(Told::unused_event(&kind)),
    }
}

fn issue_changed(kind: &str, payload: &Node) -> Result<Told, Malformed> {
    let assigned = |to| Ok(Told::Happened(Happening::IssueAssigned { issue: issue(payload)?, to }));
    match payload.at("object_attributes").at("action").words().as_deref() {
        None => Ok(Told::nothing("an issue without an action: a test delivery")),
        // GitLab sends one delivery for both: who opens an issue for somebody also assigns it.
        Some("open") => {
            let assignees = people(&payload.at("assignees"));
            Ok(Told::Happened(Happening::IssueOpened(Issue { assignees, ..issue(payload)? })))
        }
        Some("update") if payload.at("changes").at("assignees").is_present() => {
            match newcomers(&payload.at("changes").at("assignees")) {
                nobody if nobody.is_empty() => Ok(Told::nothing("nobody new was assigned")),
                assignees => assigned(assignees),
            }
        }
        Some(action) => Ok(Told::unused_action(kind, action)),
    }
}

fn merge_request_changed(payload: &Node) -> Result<Told, Malformed> {
    let change = || change(payload);
    Ok(Told::Happened(match payload.at("object_attributes").at("action").words().as_deref() {
        None => return Ok(Told::nothing("a merge request without an action: a test delivery")),
        Some("open") => Happening::ChangeOpened(change()?),
        Some("reopen") => Happening::ChangeReopened(change()?),
        Some("close") => Happening::ChangeClosed { change: change()?, merged: false },
        Some("merge") => Happening::ChangeClosed { change: change()?, merged: true },
        Some("update") => return merge_request_updated(payload),
        Some(action) => return Ok(Told::unused_action("merge_request", action)),
    }))
}

/// Finds out what an update changed. A push comes first: old versions repeat earlier changes of
/// people and labels with it.
fn merge_request_updated(payload: &Node) -> Result<Told, Malformed> {
    let changes = payload.at("changes");
    let change = || change(payload);
    if payload.at("object_attributes").at("oldrev").words().is_some() {
        return Ok(Told::Happened(Happening::ChangePushed(change()?)));
    }
    if changes.at("target_branch").is_present() {
        return Ok(Told::Happened(Happening::BaseChanged(change()?)));
    }
    if was_cleared(&changes.at("draft")) || was_cleared(&changes.at("work_in_progress")) {
        return Ok(Told::Happened(Happening::ChangeReady(change()?)));
    }
    let reviewers = newcomers(&changes.at("reviewers"));
    if !reviewers.is_empty() {
        return Ok(Told::Happened(Happening::ReviewRequested { change: change()?, of: reviewers }));
    }
    Ok(Told::nothing("an update of a merge request that brings no commits and asks nobody"))
}

fn was_cleared(flag: &Node) -> bool {
    flag.at("previous").flag() && flag.at("current").is_present() && !flag.at("current").flag()
}

fn noted(payload: &Node) -> Result<Told, Malformed> {
    let note = payload.at("object_attributes");
    if note.at("system").flag() {
        return Ok(Told::nothing("a note that GitLab itself wrote"));
    }
    let (on, subject) = match note.at("noteable_type").required_words()?.as_str() {
        "Issue" | "WorkItem" if payload.at("work_item").is_present() => {
            (SubjectKind::Issue, payload.at("work_item"))
        }
        "Issue" | "WorkItem" => (SubjectKind::Issue, payload.at("issue")),
        "MergeRequest" => (SubjectKind::Change, payload.at("merge_request")),
        other => return Ok(Told::Nothing(format!("a note on a {other}"))),
    };
    if is_internal(payload, &note, &subject) {
        return Ok(Told::nothing("an internal note: an answer to it would be public"));
    }
    let actor = actor(payload)?;
    let comment = Comment {
        id: note.at("id").number(),
        place: place(&note),
        author: author(&note, &actor),
        body: note.at("note").required_text()?,
        on,
        number: subject.at("iid").required_number()?,
        display_number: None,
        title: subject.at("title").text().unwrap_or_default(),
        subject_author: subject.at("author_id").is_present().then(|| author(&subject, &actor)),
        updated_at: note.at("updated_at").words(),
    };
    match note.at("action").words().as_deref() {
        // Before 16.11 there was no action, and nothing was sent for an edit.
        None | Some("create") => Ok(Told::Happened(Happening::Commented(comment))),
        Some("update") => Ok(Told::Happened(Happening::CommentEdited { comment, before: None })),
        Some(action) => Ok(Told::unused_action("note", action)),
    }
}

/// Whether only members of the project see a note. Every note on a confidential issue arrives as
/// confidential; there an answer is as confidential as the question.
fn is_internal(payload: &Node, note: &Node, subject: &Node) -> bool {
    let is_confidential =
        payload.at("event_type").text().is_some_and(|kind| kind == "confidential_note");
    note.at("internal").flag()
        || note.at("confidential").flag()
        || (is_confidential && !subject.at("confidential").flag())
}

fn place(note: &Node) -> Place {
    if note.at("type").text().is_none_or(|kind| kind != "DiffNote") {
        return Place::Conversation;
    }
    let position = note.at("position");
    Place::Thread {
        thread: note.at("discussion_id").words(),
        // A reply shares the discussion with what it answers; nothing says which is which.
        reply: None,
        path: position.at("new_path").words().or_else(|| position.at("old_path").words()),
    }
}

fn change(payload: &Node) -> Result<Change, Malformed> {
    let node = payload.at("object_attributes");
    Ok(Change {
        number: node.at("iid").required_number()?,
        title: node.at("title").text().unwrap_or_default(),
        body: node.at("description").text().unwrap_or_default(),
        author: author(&node, &actor(payload)?),
        draft: node.at("draft").flag() || node.at("work_in_progress").flag(),
        head: node.at("last_commit").at("id").words(),
        head_branch: node.at("source_branch").words(),
        base_branch: node.at("target_branch").words(),
        updated_at: node.at("updated_at").words(),
    })
}

fn issue(payload: &Node) -> Result<Issue, Malformed> {
    let node = payload.at("object_attributes");
    Ok(Issue {
        assignees: Vec::new(),
        number: node.at("iid").required_number()?,
        display_number: None,
        title: node.at("title").text().unwrap_or_default(),
        body: node.at("description").text().unwrap_or_default(),
        author: author(&node, &actor(payload)?),
        updated_at: node.at("updated_at").words(),
    })
}

fn repo(incoming: &Incoming) -> Result<Repo, Malformed> {
    let node = incoming.payload.at("project");
    let path = node.at("path_with_namespace");
    let name = shape::full_name(&node, "path_with_namespace", || path.required_words())?;
    let id = [node.at("id"), incoming.payload.at("project_id")].into_iter().find(Node::is_present);
    Ok(shape::repo(incoming.origin, &id.unwrap_or(path), name, &node.at("default_branch")))
}

/// Reads who did it: `user`, or on pushes a few flat fields.
fn actor(payload: &Node) -> Result<Actor, Malformed> {
    let user = payload.at("user");
    if let Some(actor) = person(&user) {
        return Ok(actor);
    }
    match payload.at("user_username").words() {
        Some(login) => {
            Ok(Actor { id: payload.at("user_id").number().map(AccountId), login, bot: false })
        }
        None => Err(user.at("username").complaint("a user name")),
    }
}

/// Reads the author of an object, of which GitLab gives only the id.
fn author(object: &Node, actor: &Actor) -> Actor {
    match object.at("author_id").number().map(AccountId) {
        None => actor.clone(),
        Some(id) if actor.id == Some(id) => actor.clone(),
        Some(id) => Actor { id: Some(id), login: String::new(), bot: false },
    }
}

fn people(list: &Node) -> Vec<Actor> {
    list.items().iter().filter_map(person).collect()
}

/// Returns those who were added to a list of people, or asked once more.
fn newcomers(change: &Node) -> Vec<Actor> {
    let is_asked_again = |node: &Node| node.at("re_requested").flag();
    let current = change.at("current").items();
    let mut new = shape::newcomers(
        &people(&change.at("previous")),
        current.iter().filter_map(person).collect(),
    );
    let again = current.iter().filter(|node| is_asked_again(node)).filter_map(person).collect();
    let again = shape::newcomers(&new, again);
    new.extend(again);
    new
}

fn person(node: &Node) -> Option<Actor> {
    let login = node.at("username").words()?;
    Some(Actor { id: node.at("id").number().map(AccountId), login, bot: false })
}
