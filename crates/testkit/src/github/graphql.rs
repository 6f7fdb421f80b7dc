//! GitHub's GraphQL, as far as REST lacks it: reading threads with their state, settling them,
//! making a change ready or a draft again.
//!
//! It is as strict as the REST side: a field or argument that the schema does not have is an error
//! in GitHub's words and a violation.

mod object;
mod parse;

use domain::Time;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::call::read;
use super::not_found;
use crate::forge::{
    Access, Act, Answer, Asked, Bearer, Edit, FakeSubject, FakeThread, Happened, Model, Refusal,
    ReviewState, Verdict, What, settled, submitted,
};
use object::{Object, Reader};
use parse::{Field, OperationKind, parse};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    query: String,
    #[serde(default)]
    variables: Map<String, Value>,
    #[serde(default, rename = "operationName")]
    _operation_name: Option<String>,
}

/// What is wrong with a request.
#[derive(Debug)]
pub(super) enum Wrong {
    /// The client misspoke.
    Spoken(String),
    /// The forge refuses it, with the type of the error.
    Refused(&'static str, String),
}

/// Tells whether a request to GraphQL only reads.
pub(super) fn only_reads(asked: &Asked) -> bool {
    let body: Value = serde_json::from_slice(&asked.body).unwrap_or(Value::Null);
    let query = body["query"].as_str().unwrap_or_default();
    asked.uri.path().ends_with("/graphql") && !query.trim_start().starts_with("mutation")
}

pub(super) fn answer(
    model: &mut Model,
    asked: &Asked,
    bearer: &Bearer,
    now: Time,
) -> Result<Answer, Answer> {
    if asked.method != Method::POST {
        return Err(not_found().violating("GraphQL is asked with POST"));
    }
    let Request { query, variables, .. } = read(asked)?;
    let operation = match parse(&query, &variables) {
        Ok(operation) => operation,
        Err(why) => return Err(misspoken(&why)),
    };
    let mut data = Map::new();
    let (mut errors, mut happened) = (Vec::new(), Vec::new());
    for field in &operation.fields {
        let result = match operation.kind {
            OperationKind::Query => {
                let reader = Reader { model, viewer: &bearer.account, now };
                reader.field(&Object::Root, field)
            }
            OperationKind::Mutation => mutate(model, bearer, now, field).map(|(value, what)| {
                happened.extend(what);
                value
            }),
        };
        match result {
            Ok(value) => drop(data.insert(field.alias.clone(), value)),
            Err(Wrong::Spoken(why)) => return Err(misspoken(&why)),
            Err(Wrong::Refused(kind, message)) => {
                errors.push(json!({"type": kind, "path": [field.alias], "message": message}));
                data.insert(field.alias.clone(), Value::Null);
            }
        }
    }
    object::count_listings(model, &operation, &data);
    let mut body = json!({"data": data});
    if !errors.is_empty() {
        body["errors"] = Value::Array(errors);
    }
    let answer = Answer::new(StatusCode::OK, body);
    Ok(happened.into_iter().fold(answer, Answer::telling))
}

/// GraphQL says 200 whatever is wrong with the request.
fn misspoken(why: &str) -> Answer {
    Answer::new(StatusCode::OK, json!({"errors": [{"message": why}]}))
        .violating(format!("GraphQL: {why}"))
}

/// What a mutation did: the object that its payload holds, by its name, and what to tell.
type Done = (&'static str, Object, Vec<(u64, What)>);

fn mutate(
    model: &mut Model,
    bearer: &Bearer,
    now: Time,
    field: &Field,
) -> Result<(Value, Vec<Happened>), Wrong> {
    let mut input = input(field)?;
    let act = Act { by: &bearer.account, now };
    let (payload, (name, object, told)) = match field.name.as_str() {
        "resolveReviewThread" | "unresolveReviewThread" => {
            let thread = thread_named(model, bearer, &id(&mut input, "threadId")?)?;
            (payload_of(&field.name), settle(model, bearer, &field.name, &thread)?)
        }
        "addPullRequestReviewThreadReply" => {
            let thread =
                thread_named(model, bearer, &id(&mut input, "pullRequestReviewThreadId")?)?;
            let body = id(&mut input, "body")?;
            (payload_of(&field.name), reply(model, bearer, &thread, &body, act)?)
        }
        "markPullRequestReadyForReview" | "convertPullRequestToDraft" => {
            let change = change_named(model, &id(&mut input, "pullRequestId")?)?;
            (payload_of(&field.name), redraft(model, bearer, &field.name, &change, act)?)
        }
        name => {
            return Err(Wrong::Spoken(format!("Field '{name}' doesn't exist on type 'Mutation'")));
        }
    };
    if let Some(unknown) = input.keys().find(|name| *name != "clientMutationId") {
        let message = format!("InputObject doesn't accept argument '{unknown}'");
        return Err(Wrong::Spoken(message));
    }
    let reader = Reader { model, viewer: &bearer.account, now };
    let value =
        reader.select(&Object::Payload { of: payload, name, object: Box::new(object) }, field)?;
    let mut happened = Vec::new();
    for (repo, what) in told {
        happened.push(Happened::now(model, &bearer.account, repo, what).map_err(refused)?);
    }
    Ok((value, happened))
}

/// Resolves a thread, or takes that back. An installation needs to write contents for it as well.
fn settle(
    model: &mut Model,
    bearer: &Bearer,
    name: &str,
    thread: &FakeThread,
) -> Result<Done, Wrong> {
    let may = |permission| bearer.reaches(thread.repo, (permission, Access::Write));
    if !may("pull_requests") || !may("contents") {
        return Err(not_accessible());
    }
    let done = match name {
        "resolveReviewThread" => model.resolve(thread.id, &bearer.account),
        _ => model.unresolve(thread.id, &bearer.account),
    };
    let done = done.map_err(refused)?;
    let told = if done.resolved_by.is_some() == thread.resolved_by.is_some() {
        Vec::new()
    } else {
        vec![(done.repo, settled(model, done.clone()).map_err(refused)?)]
    };
    Ok(("thread", Object::Thread(done.id), told))
}

fn reply(
    model: &mut Model,
    bearer: &Bearer,
    thread: &FakeThread,
    body: &str,
    act: Act<'_>,
) -> Result<Done, Wrong> {
    if !bearer.reaches(thread.repo, ("pull_requests", Access::Write)) {
        return Err(not_accessible());
    }
    // A reply joins the pending review, if there is one.
    let pending = model.pending_review(thread.subject, act.by).map(|review| review.id);
    let review = match pending {
        Some(review) => review,
        None => {
            let review = model.start_review(thread.subject, &thread.commit, "", act);
            review.map_err(refused)?.id
        }
    };
    let comment = model.reply(thread.id, body, Some(review), act).map_err(refused)?;
    if pending.is_some() {
        return Ok(("comment", Object::Comment(comment.id), Vec::new()));
    }
    let review = model.submit_review(review, Verdict::Comment, None, act).map_err(refused)?;
    let told = submitted(model, &review).map_err(refused)?;
    let told = told.into_iter().map(|what| (thread.repo, what)).collect();
    Ok(("comment", Object::Comment(comment.id), told))
}

fn redraft(
    model: &mut Model,
    bearer: &Bearer,
    name: &str,
    change: &FakeSubject,
    act: Act<'_>,
) -> Result<Done, Wrong> {
    if !bearer.reaches(change.repo, ("pull_requests", Access::Write)) {
        return Err(not_accessible());
    }
    let draft = name == "convertPullRequestToDraft";
    let before = change.change.as_ref().is_some_and(|change| change.draft);
    let edit = Edit { draft: Some(draft), ..Edit::default() };
    let change = model.edit_subject(change.id, edit, act).map_err(refused)?;
    let (id, repo) = (change.id, change.repo);
    let told = match (before, draft) {
        (true, false) => vec![(repo, What::Readied(change))],
        (false, true) => vec![(repo, What::Drafted(change))],
        _ => Vec::new(),
    };
    Ok(("pullRequest", Object::PullRequest(id), told))
}

fn payload_of(mutation: &str) -> &'static str {
    match mutation {
        "resolveReviewThread" => "ResolveReviewThreadPayload",
        "unresolveReviewThread" => "UnresolveReviewThreadPayload",
        "addPullRequestReviewThreadReply" => "AddPullRequestReviewThreadReplyPayload",
        "markPullRequestReadyForReview" => "MarkPullRequestReadyForReviewPayload",
        _ => "ConvertPullRequestToDraftPayload",
    }
}

fn input(field: &Field) -> Result<Map<String, Value>, Wrong> {
    match field.arguments.get("input") {
        Some(Value::Object(input)) if field.arguments.len() == 1 => Ok(input.clone()),
        _ => Err(Wrong::Spoken(format!("Field '{}' takes one argument: input", field.name))),
    }
}

fn id(input: &mut Map<String, Value>, name: &str) -> Result<String, Wrong> {
    match input.remove(name) {
        Some(Value::String(id)) => Ok(id),
        _ => Err(Wrong::Spoken(format!("Argument '{name}' on InputObject is required"))),
    }
}

/// Returns the thread with the node id, if the bearer sees it.
fn thread_named(model: &Model, bearer: &Bearer, node: &str) -> Result<FakeThread, Wrong> {
    let id = node.strip_prefix("PRRT_").and_then(|id| id.parse().ok());
    let found = id.and_then(|id| model.thread(id).ok()).filter(|thread| {
        let first = model.thread_comments(thread);
        first.first().is_some_and(|first| model.is_visible(first, &bearer.account))
    });
    found.cloned().ok_or_else(|| unresolved(node))
}

fn change_named(model: &Model, node: &str) -> Result<FakeSubject, Wrong> {
    let id = node.strip_prefix("PR_").and_then(|id| id.parse().ok());
    let found = id.and_then(|id| model.subject(id).ok());
    found.filter(|subject| subject.change.is_some()).cloned().ok_or_else(|| unresolved(node))
}

fn unresolved(node: &str) -> Wrong {
    let message = format!("Could not resolve to a node with the global id of '{node}'");
    Wrong::Refused("NOT_FOUND", message)
}

fn not_accessible() -> Wrong {
    Wrong::Refused("FORBIDDEN", "Resource not accessible by integration".to_owned())
}

fn refused(refusal: Refusal) -> Wrong {
    match refusal {
        Refusal::Missing(what) => Wrong::Refused("NOT_FOUND", format!("Could not resolve {what}")),
        Refusal::Forbidden { login, what } => {
            let message = format!("{login} does not have the correct permissions to {what}");
            Wrong::Refused("FORBIDDEN", message)
        }
        other => Wrong::Refused("UNPROCESSABLE", other.to_string()),
    }
}

/// The word of a review's state.
fn state(state: ReviewState) -> &'static str {
    match state {
        ReviewState::Pending => "PENDING",
        ReviewState::Commented => "COMMENTED",
        ReviewState::Approved => "APPROVED",
        ReviewState::ChangesRequested => "CHANGES_REQUESTED",
        ReviewState::Dismissed => "DISMISSED",
    }
}
