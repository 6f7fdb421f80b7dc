//! GitHub's deliveries.

use domain::event::{Change, Comment, Happening, Issue, Place};
use domain::{AccountId, Actor, Event, Repo, SubjectKind};
use http::HeaderMap;
use secrecy::{ExposeSecret, SecretString};

use crate::host::Host;
use crate::webhook::node::Node;
use crate::webhook::shape::Told;
use crate::webhook::{Content, Delivery, Incoming, Malformed, Verdict, header, shape, signature};

/// Checks `X-Hub-Signature-256`, which GitHub computes over the raw body, a form body too.
pub(crate) fn verify(headers: &HeaderMap, body: &[u8], secret: &SecretString) -> Verdict {
    match header::first(headers, &["x-hub-signature-256"]) {
        None => Verdict::Unsigned,
        Some(value) if value.starts_with("sha256=") => {
            signature::check_hex(value, secret.expose_secret().as_bytes(), body)
        }
        Some(_) => Verdict::Wrong,
    }
}

pub(crate) fn decode(incoming: &Incoming) -> Result<Delivery, Malformed> {
    let event_type =
        header::first(incoming.headers, &["x-github-event"]).ok_or(Malformed::NoEvent)?;
    let content = match tell(event_type, &incoming.payload)? {
        Told::Nothing(reason) => Content::Ignored(reason),
        Told::Happened(happening) => {
            let actor = sender(&incoming.payload)?;
            Content::Event(Box::new(Event { repo: repo(incoming)?, actor, happening }))
        }
    };
    Ok(Delivery {
        host: Host::GitHub,
        id: header::first(incoming.headers, &["x-github-delivery"]).map(str::to_owned),
        event_type: event_type.to_owned(),
        content,
    })
}

fn tell(event_type: &str, payload: &Node) -> Result<Told, Malformed> {
    match event_type {
        "ping" => Ok(Told::nothing("ping")),
        "issues" => issues(payload),
        "issue_comment" => issue_comment(payload),
        "pull_request" => pull_request(payload),
        "pull_request_review" => review(payload),
        "pull_request_review_comment" => review_comment(payload),
        "push" => shape::push(payload, payload.at("commits").count().unwrap_or(0)),
        _ => Ok(Told::unused_event(event_type)),
    }
}

fn issues(payload: &Node) -> Result<Told, Malformed> {
    Ok(Told::Happened(match payload.at("action").required_words()?.as_str() {
        "opened" => Happening::IssueOpened(issue(payload)?),
        "assigned" => {
            let assignee = payload.at("assignee");
            let to =
                vec![person(&assignee).ok_or_else(|| assignee.at("login").complaint("a login"))?];
            Happening::IssueAssigned { issue: issue(payload)?, to }
        }
        other => return Ok(Told::unused_action("issues", other)),
    }))
}

fn issue_comment(payload: &Node) -> Result<Told, Malformed> {
    let issue = payload.at("issue");
    // Changes are issues too; only this field tells them apart.
    let on = if issue.at("pull_request").is_present() {
        SubjectKind::Change
    } else {
        SubjectKind::Issue
    };
    commented(payload, "issue_comment", &issue, on, Place::Conversation)
}

fn review_comment(payload: &Node) -> Result<Told, Malformed> {
    let comment = payload.at("comment");
    let root = comment.at("in_reply_to_id").number::<u64>();
    let place = Place::Thread {
        thread: root.or_else(|| comment.at("id").number()).map(|id| id.to_string()),
        reply: Some(root.is_some()),
        path: comment.at("path").words(),
    };
    let change = payload.at("pull_request");
    commented(payload, "pull_request_review_comment", &change, SubjectKind::Change, place)
}

/// Reads `comment`, which stands on `subject`.
fn commented(
    payload: &Node,
    event_type: &str,
    subject: &Node,
    on: SubjectKind,
    place: Place,
) -> Result<Told, Malformed> {
    let action = payload.at("action").required_words()?;
    if !matches!(action.as_str(), "created" | "edited") {
        return Ok(Told::unused_action(event_type, &action));
    }
    let node = payload.at("comment");
    let mut author = author(&node);
    // An app that speaks in a person's name is still a machine.
    author.bot |= node.at("performed_via_github_app").is_present();
    let comment = Comment {
        id: node.at("id").number(),
        place,
        author,
        body: node.at("body").required_text()?,
        on,
        number: subject.at("number").required_number()?,
        display_number: None,
        title: subject.at("title").text().unwrap_or_default(),
        subject_author: person(&subject.at("user")),
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

/// Reads a review as a comment. GitHub sends its inline comments one by one as well, and a reply in
/// a thread as a review without text: whoever answered both would answer twice.
fn review(payload: &Node) -> Result<Told, Malformed> {
    let action = payload.at("action").required_words()?;
    if !matches!(action.as_str(), "submitted" | "edited") {
        return Ok(Told::unused_action("pull_request_review", &action));
    }
    let node = payload.at("review");
    if !node.is_present() {
        return Err(node.complaint("an object"));
    }
    let Some(body) = node.at("body").words() else {
        return Ok(Told::nothing(
            "a review without text: its comments arrive as deliveries of their own",
        ));
    };
    let change = payload.at("pull_request");
    let id = node.at("id").number();
    let edited_at = node.at("updated_at").words();
    let mut comment = Comment {
        id,
        place: Place::Review { review: id },
        author: author(&node),
        body,
        on: SubjectKind::Change,
        number: change.at("number").required_number()?,
        display_number: None,
        title: change.at("title").text().unwrap_or_default(),
        subject_author: person(&change.at("user")),
        updated_at: edited_at,
    };
    Ok(Told::Happened(if action == "submitted" {
        comment.updated_at = comment.updated_at.or_else(|| node.at("submitted_at").words());
        Happening::Commented(comment)
    } else {
        Happening::CommentEdited {
            comment,
            before: payload.at("changes").at("body").at("from").text(),
        }
    }))
}

fn pull_request(payload: &Node) -> Result<Told, Malformed> {
    let action = payload.at("action").required_words()?;
    let change = || change(&payload.at("pull_request"));
    Ok(Told::Happened(match action.as_str() {
        "opened" => Happening::ChangeOpened(change()?),
        "reopened" => Happening::ChangeReopened(change()?),
        "ready_for_review" => Happening::ChangeReady(change()?),
        "synchronize" => Happening::ChangePushed(change()?),
        "edited" if payload.at("changes").at("base").is_present() => {
            Happening::BaseChanged(change()?)
        }
        "review_requested" => {
            Happening::ReviewRequested { change: change()?, of: vec![asked(payload)?] }
        }
        "closed" => {
            let merged = payload.at("pull_request").at("merged").flag();
            Happening::ChangeClosed { change: change()?, merged }
        }
        other => return Ok(Told::unused_action("pull_request", other)),
    }))
}

/// Reads who was asked for a review. A team is called `owner/team`, which no account can be.
fn asked(payload: &Node) -> Result<Actor, Malformed> {
    let team = payload.at("requested_team").at("slug").words();
    match (person(&payload.at("requested_reviewer")), team) {
        (Some(reviewer), _) => Ok(reviewer),
        (None, Some(slug)) => {
            let owner = payload.at("repository").at("owner").at("login").required_words()?;
            Ok(Actor::named(&format!("{owner}/{slug}")))
        }
        (None, None) => Err(payload.at("requested_reviewer").at("login").complaint("a login")),
    }
}

fn change(node: &Node) -> Result<Change, Malformed> {
    Ok(Change {
        number: node.at("number").required_number()?,
        title: node.at("title").text().unwrap_or_default(),
        body: node.at("body").text().unwrap_or_default(),
        author: author(node),
        draft: node.at("draft").flag(),
        head: node.at("head").at("sha").words(),
        head_branch: node.at("head").at("ref").words(),
        base_branch: node.at("base").at("ref").words(),
        updated_at: node.at("updated_at").words(),
    })
}

fn issue(payload: &Node) -> Result<Issue, Malformed> {
    let node = payload.at("issue");
    Ok(Issue {
        assignees: Vec::new(),
        number: node.at("number").required_number()?,
        display_number: None,
        title: node.at("title").text().unwrap_or_default(),
        body: node.at("body").text().unwrap_or_default(),
        author: author(&node),
        updated_at: node.at("updated_at").words(),
    })
}

fn repo(incoming: &Incoming) -> Result<Repo, Malformed> {
    let node = incoming.payload.at("repository");
    let name =
        shape::full_name(&node, "full_name", || node.at("owner").at("login").required_words())?;
    Ok(shape::repo(incoming.origin, &node.at("id"), name, &node.at("default_branch")))
}

fn sender(payload: &Node) -> Result<Actor, Malformed> {
    let node = payload.at("sender");
    person(&node).ok_or_else(|| node.at("login").complaint("a login"))
}

/// Reads `user`. GitHub shows what deleted accounts wrote as written by `ghost`.
fn author(node: &Node) -> Actor {
    person(&node.at("user")).unwrap_or_else(|| Actor::named("ghost"))
}

fn person(node: &Node) -> Option<Actor> {
    let login = node.at("login").words()?;
    let is_bot =
        node.at("type").text().is_some_and(|kind| kind == "Bot") || login.ends_with("[bot]");
    Some(Actor { id: node.at("id").number().map(AccountId), login, bot: is_bot })
}
