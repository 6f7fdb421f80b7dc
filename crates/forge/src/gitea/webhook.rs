//! Gitea's and Forgejo's deliveries.
//!
//! They borrow GitHub's words and shapes, with traps: the fine event type counts, not the coarse
//! event; a review carries its text but no id; what was edited must be read from `changes`.

use domain::event::{Change, Comment, Happening, Issue, Place};
use domain::{AccountId, Actor, Event, Repo, SubjectKind};
use http::HeaderMap;
use secrecy::{ExposeSecret, SecretString};

use crate::host::Host;
use crate::webhook::node::Node;
use crate::webhook::shape::Told;
use crate::webhook::{
    Content, Delivery, Incoming, Malformed, Verdict, body, header, shape, signature,
};

/// Checks the signature, which is over the JSON, also where that travels in a form.
pub(crate) fn verify(headers: &HeaderMap, body: &[u8], secret: &SecretString) -> Verdict {
    const SIGNATURES: [&str; 3] =
        ["x-forgejo-signature", "x-gitea-signature", "x-hub-signature-256"];
    let Some(value) = header::first(headers, &SIGNATURES) else { return Verdict::Unsigned };
    let key = secret.expose_secret().as_bytes();
    if !body::is_form(headers) {
        return signature::check_hex(value, key, body);
    }
    match body::form_payload(body) {
        Some(payload) => signature::check_hex(value, key, &payload),
        None => Verdict::Wrong,
    }
}

pub(crate) fn decode(incoming: &Incoming) -> Result<Delivery, Malformed> {
    const DELIVERIES: [&str; 2] = ["x-forgejo-delivery", "x-gitea-delivery"];
    let event_type = event_type(incoming.headers).ok_or(Malformed::NoEvent)?;
    let content = match tell(event_type, &incoming.payload)? {
        Told::Nothing(reason) => Content::Ignored(reason),
        Told::Happened(happening) => {
            let actor = sender(&incoming.payload)?;
            Content::Event(Box::new(Event { repo: repo(incoming)?, actor, happening }))
        }
    };
    Ok(Delivery {
        host: Host::Gitea,
        id: header::first(incoming.headers, &DELIVERIES).map(str::to_owned),
        event_type: event_type.to_owned(),
        content,
    })
}

/// Returns the fine type of the event, which old versions do not send: the coarse one then means
/// something else where it says `pull_request_comment`.
fn event_type(headers: &HeaderMap) -> Option<&str> {
    let fine = header::first(headers, &["x-forgejo-event-type", "x-gitea-event-type"]);
    fine.or_else(|| match header::first(headers, &["x-forgejo-event", "x-gitea-event"])? {
        "pull_request_comment" => Some("pull_request_review_comment"),
        "pull_request_approved" => Some("pull_request_review_approved"),
        "pull_request_rejected" => Some("pull_request_review_rejected"),
        coarse => Some(coarse),
    })
}

fn tell(event_type: &str, payload: &Node) -> Result<Told, Malformed> {
    match event_type {
        "issues" | "issue_assign" => issues(event_type, payload),
        "issue_comment" | "pull_request_comment" => commented(event_type, payload),
        "pull_request" | "pull_request_sync" | "pull_request_review_request" => {
            pull_request(event_type, payload)
        }
        "pull_request_review_approved"
        | "pull_request_review_rejected"
        | "pull_request_review_comment" => review(event_type, payload),
        "push" => {
            let listed = || payload.at("commits").count();
            let commits = payload.at("total_commits").number().or_else(listed).unwrap_or(0);
            shape::push(payload, commits)
        }
        _ => Ok(Told::unused_event(event_type)),
    }
}

fn issues(event_type: &str, payload: &Node) -> Result<Told, Malformed> {
    let node = payload.at("issue");
    let action = payload.at("action").required_words()?;
    let happening = match action.as_str() {
        "opened" => Happening::IssueOpened(issue(&node)?),
        // Nobody says who was just assigned, only who is.
        "assigned" => {
            let mut to: Vec<Actor> =
                node.at("assignees").items().iter().filter_map(person).collect();
            if to.is_empty() {
                to.extend(person(&node.at("assignee")));
            }
            Happening::IssueAssigned { issue: issue(&node)?, to }
        }
        other => return Ok(Told::unused_action(event_type, other)),
    };
    Ok(Told::Happened(happening))
}

/// Reads a comment in the conversation. A reply in an inline thread looks the same: only the forge
/// can tell its thread.
fn commented(event_type: &str, payload: &Node) -> Result<Told, Malformed> {
    let action = payload.at("action").required_words()?;
    if !matches!(action.as_str(), "created" | "edited") {
        return Ok(Told::unused_action(event_type, &action));
    }
    let issue = payload.at("issue");
    let on_change = event_type == "pull_request_comment"
        || payload.at("is_pull").flag()
        || issue.at("pull_request").is_present();
    let node = payload.at("comment");
    let comment = Comment {
        id: node.at("id").number(),
        place: Place::Conversation,
        author: author(&node),
        body: node.at("body").required_text()?,
        on: if on_change { SubjectKind::Change } else { SubjectKind::Issue },
        number: issue.at("number").required_number()?,
        display_number: None,
        title: issue.at("title").text().unwrap_or_default(),
        subject_author: person(&issue.at("user")),
        updated_at: node.at("updated_at").words(),
    };
    Ok(Told::Happened(match action.as_str() {
        "created" => Happening::Commented(comment),
        _ => Happening::CommentEdited {
            comment,
            before: payload.at("changes").at("body").at("from").text(),
        },
    }))
}

fn pull_request(event_type: &str, payload: &Node) -> Result<Told, Malformed> {
    let node = payload.at("pull_request");
    let action = payload.at("action").required_words()?;
    let happening = match action.as_str() {
        "opened" => Happening::ChangeOpened(change(&node)?),
        "reopened" => Happening::ChangeReopened(change(&node)?),
        "closed" => {
            Happening::ChangeClosed { change: change(&node)?, merged: node.at("merged").flag() }
        }
        "synchronized" => Happening::ChangePushed(change(&node)?),
        "review_requested" => match person(&payload.at("requested_reviewer")) {
            Some(reviewer) => {
                Happening::ReviewRequested { change: change(&node)?, of: vec![reviewer] }
            }
            None => {
                return Ok(Told::nothing("a team was asked for a review, and nobody says which"));
            }
        },
        "edited" if payload.at("changes").at("ref").is_present() => {
            Happening::BaseChanged(change(&node)?)
        }
        "edited" if was_made_ready(payload) => Happening::ChangeReady(change(&node)?),
        other => return Ok(Told::unused_action(event_type, other)),
    };
    Ok(Told::Happened(happening))
}

/// Whether an edit of the title took its draft prefix away. There is no other sign of it.
fn was_made_ready(payload: &Node) -> bool {
    let before = payload.at("changes").at("title").at("from").text();
    let change = payload.at("pull_request");
    before.is_some_and(|title| marks_draft(&title)) && !is_draft(&change)
}

fn is_draft(change: &Node) -> bool {
    change.at("draft").flag() || change.at("title").text().is_some_and(|title| marks_draft(&title))
}

/// Whether a title begins with one of the prefixes that mark a draft unless a server changed them.
fn marks_draft(title: &str) -> bool {
    let title = title.trim_start();
    ["WIP:", "[WIP]"].iter().any(|prefix| {
        title.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    })
}

/// Reads a submitted review as a comment. Neither its id nor its inline comments are in it.
fn review(event_type: &str, payload: &Node) -> Result<Told, Malformed> {
    let action = payload.at("action").required_words()?;
    if action != "reviewed" {
        return Ok(Told::unused_action(event_type, &action));
    }
    let Some(body) = payload.at("review").at("content").words() else {
        return Ok(Told::nothing(
            "a review without text, and its inline comments are not in the delivery",
        ));
    };
    let change = payload.at("pull_request");
    Ok(Told::Happened(Happening::Commented(Comment {
        id: None,
        place: Place::Review { review: None },
        author: sender(payload)?,
        body,
        on: SubjectKind::Change,
        number: change.at("number").required_number()?,
        display_number: None,
        title: change.at("title").text().unwrap_or_default(),
        subject_author: person(&change.at("user")),
        updated_at: None,
    })))
}

fn change(node: &Node) -> Result<Change, Malformed> {
    Ok(Change {
        number: node.at("number").required_number()?,
        title: node.at("title").text().unwrap_or_default(),
        body: node.at("body").text().unwrap_or_default(),
        author: author(node),
        draft: is_draft(node),
        head: node.at("head").at("sha").words(),
        head_branch: node.at("head").at("ref").words(),
        base_branch: node.at("base").at("ref").words(),
        updated_at: node.at("updated_at").words(),
    })
}

fn issue(node: &Node) -> Result<Issue, Malformed> {
    Ok(Issue {
        assignees: Vec::new(),
        number: node.at("number").required_number()?,
        display_number: None,
        title: node.at("title").text().unwrap_or_default(),
        body: node.at("body").text().unwrap_or_default(),
        author: author(node),
        updated_at: node.at("updated_at").words(),
    })
}

fn repo(incoming: &Incoming) -> Result<Repo, Malformed> {
    let node = incoming.payload.at("repository");
    let owner = || known(&node.at("owner")).map(|owner| owner.login);
    let name = shape::full_name(&node, "full_name", owner)?;
    Ok(shape::repo(incoming.origin, &node.at("id"), name, &node.at("default_branch")))
}

fn sender(payload: &Node) -> Result<Actor, Malformed> {
    known(&payload.at("sender"))
}

fn known(node: &Node) -> Result<Actor, Malformed> {
    person(node).ok_or_else(|| node.at("login").complaint("a login"))
}

/// Reads `user`. What deleted accounts wrote is shown as written by `Ghost`.
fn author(node: &Node) -> Actor {
    person(&node.at("user")).unwrap_or_else(|| Actor::named("Ghost"))
}

fn person(node: &Node) -> Option<Actor> {
    let login = node.at("login").words().or_else(|| node.at("username").words())?;
    Some(Actor { id: node.at("id").number().map(AccountId), login, bot: false })
}
