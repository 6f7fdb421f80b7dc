//! The objects of GitHub's GraphQL and the fields that are known of each.

use domain::Time;
use serde_json::{Map, Value, json};

use super::parse::{Field, Operation};
use super::{Wrong, state};
use crate::forge::{
    Account, AccountKind, CommentKind, FakeComment, FakeReview, FakeThread, Lines, Model, Named,
    Spot, Which,
};
use crate::github::shape;

/// How many nodes one page of a connection may have.
const LARGEST_PAGE: u64 = 100;

/// Something that fields are selected of.
#[derive(Clone, Debug)]
pub(super) enum Object {
    Root,
    Repository(u64),
    PullRequest(u64),
    Thread(u64),
    Comment(u64),
    Review(u64),
    Actor(Account),
    Connection(Connection),
    PageInfo {
        next: Option<String>,
        before: Option<String>,
    },
    /// The answer of a mutation, with the one object that it holds.
    Payload {
        of: &'static str,
        name: &'static str,
        object: Box<Self>,
    },
}

/// One page of a connection.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    of: &'static str,
    total: usize,
    nodes: Vec<Object>,
    /// Where the page begins and ends in the whole.
    from: usize,
    to: usize,
}

/// Reads the model for one viewer.
pub(super) struct Reader<'a> {
    pub(super) model: &'a Model,
    pub(super) viewer: &'a Account,
    pub(super) now: Time,
}

/// What a field holds.
enum Held {
    Leaf(Value),
    Object(Object),
    Objects(Vec<Object>),
    Nothing,
}

/// Counts the listings that a query made, for what is listed late.
pub(super) fn count_listings(model: &mut Model, operation: &Operation, data: &Map<String, Value>) {
    for repository in &operation.fields {
        let read = data.get(&repository.alias).is_some_and(Value::is_object);
        let named = repository.arguments.get("owner").zip(repository.arguments.get("name"));
        let Some((Value::String(owner), Value::String(name))) = named.filter(|_| read) else {
            continue;
        };
        let Some(Named::Now(repo)) = model.named(&format!("{owner}/{name}")) else { continue };
        for change in repository.fields.iter().filter(|field| field.name == "pullRequest") {
            let number = change.arguments.get("number").and_then(Value::as_u64).unwrap_or_default();
            // The first page alone is a new listing.
            let lists = change.fields.iter().any(|field| {
                field.name == "reviewThreads"
                    && field.arguments.get("after").is_none_or(Value::is_null)
            });
            let found = model.find(repo, Which::Change(number)).map(|change| change.id);
            if let Ok(id) = found
                && lists
            {
                model.count_listing(id, CommentKind::Line);
            }
        }
    }
}

impl Reader<'_> {
    /// Reads one field with what is selected below it.
    pub(super) fn field(&self, object: &Object, field: &Field) -> Result<Value, Wrong> {
        if field.name == "__typename" {
            return Ok(json!(object.type_name()));
        }
        let held = self.hold(object, field)?;
        let leaf = matches!(held, Held::Leaf(_));
        if leaf != field.fields.is_empty() && !matches!(held, Held::Nothing) {
            let message = format!("Field '{}' has the wrong kind of selection", field.name);
            return Err(Wrong::Spoken(message));
        }
        match held {
            Held::Leaf(value) => Ok(value),
            Held::Nothing => Ok(Value::Null),
            Held::Object(object) => self.select(&object, field),
            Held::Objects(objects) => {
                let all: Result<Vec<Value>, Wrong> =
                    objects.iter().map(|object| self.select(object, field)).collect();
                Ok(Value::Array(all?))
            }
        }
    }

    /// Reads everything that is selected below a field.
    pub(super) fn select(&self, object: &Object, field: &Field) -> Result<Value, Wrong> {
        let mut value = Map::new();
        for field in &field.fields {
            let applies = field.on.as_deref().is_none_or(|on| object.is_a(on));
            if applies {
                value.insert(field.alias.clone(), self.field(object, field)?);
            }
        }
        Ok(Value::Object(value))
    }

    fn hold(&self, object: &Object, field: &Field) -> Result<Held, Wrong> {
        let held = match object {
            Object::Root => self.of_root(field)?,
            Object::Repository(id) => self.of_repository(*id, field)?,
            Object::PullRequest(id) => self.of_change(*id, field)?,
            Object::Thread(id) => self.of_thread(*id, field)?,
            Object::Comment(id) => self.of_comment(*id, field)?,
            Object::Review(id) => self.of_review(*id, field)?,
            Object::Actor(account) => of_actor(account, field),
            Object::Connection(connection) => of_connection(connection, field),
            Object::PageInfo { next, before } => of_page(next.as_ref(), before.as_ref(), field),
            Object::Payload { name, object, .. } => match field.name.as_str() {
                "clientMutationId" => Some(Held::Leaf(Value::Null)),
                wanted if wanted == *name => Some(Held::Object((**object).clone())),
                _ => None,
            },
        };
        held.ok_or_else(|| {
            let type_name = object.type_name();
            Wrong::Spoken(format!("Field '{}' doesn't exist on type '{type_name}'", field.name))
        })
    }

    fn of_root(&self, field: &Field) -> Result<Option<Held>, Wrong> {
        Ok(Some(match field.name.as_str() {
            "repository" => {
                takes(field, &["owner", "name", "followRenames"])?;
                let (owner, name) = (text(field, "owner")?, text(field, "name")?);
                let full_name = format!("{owner}/{name}");
                // A former name leads to the repository, too.
                match self.model.named(&full_name) {
                    Some(Named::Now(id) | Named::Formerly(id)) => {
                        Held::Object(Object::Repository(id))
                    }
                    None => {
                        let message = format!(
                            "Could not resolve to a Repository with the name '{full_name}'."
                        );
                        return Err(Wrong::Refused("NOT_FOUND", message));
                    }
                }
            }
            "viewer" => Held::Object(Object::Actor(self.viewer.clone())),
            "node" => {
                takes(field, &["id"])?;
                let node = text(field, "id")?;
                let number = |prefix| node.strip_prefix(prefix).and_then(|id| id.parse().ok());
                match (number("PRRT_"), number("PR_")) {
                    (Some(id), _) if self.model.thread(id).is_ok() => {
                        Held::Object(Object::Thread(id))
                    }
                    (_, Some(id)) if self.model.change(id).is_ok() => {
                        Held::Object(Object::PullRequest(id))
                    }
                    _ => return Err(super::unresolved(&node)),
                }
            }
            _ => return Ok(None),
        }))
    }

    fn of_repository(&self, id: u64, field: &Field) -> Result<Option<Held>, Wrong> {
        let repo = self.model.repo(id).map_err(super::refused)?;
        Ok(Some(match field.name.as_str() {
            "id" => Held::Leaf(json!(format!("R_{id}"))),
            "databaseId" => Held::Leaf(json!(id)),
            "name" => Held::Leaf(json!(repo.name())),
            "nameWithOwner" => Held::Leaf(json!(repo.full_name)),
            "pullRequest" => {
                takes(field, &["number"])?;
                let number = field.arguments.get("number").and_then(Value::as_u64);
                let number =
                    number.ok_or_else(|| Wrong::Spoken("number is required".to_owned()))?;
                let Ok(change) = self.model.find(id, Which::Change(number)) else {
                    let message =
                        format!("Could not resolve to a PullRequest with the number of {number}.");
                    return Err(Wrong::Refused("NOT_FOUND", message));
                };
                Held::Object(Object::PullRequest(change.id))
            }
            _ => return Ok(None),
        }))
    }

    fn of_change(&self, id: u64, field: &Field) -> Result<Option<Held>, Wrong> {
        let (subject, change) = self.model.change(id).map_err(super::refused)?;
        let leaf = match field.name.as_str() {
            "id" => json!(format!("PR_{id}")),
            "databaseId" | "fullDatabaseId" => json!(id),
            "number" => json!(subject.number),
            "title" => json!(subject.title),
            "body" => json!(subject.body),
            "isDraft" => json!(change.draft),
            "merged" => json!(change.merged_at.is_some()),
            "state" if change.merged_at.is_some() => json!("MERGED"),
            "state" => json!(if subject.open { "OPEN" } else { "CLOSED" }),
            "headRefOid" => json!(change.head),
            "headRefName" => json!(change.head_branch),
            "baseRefOid" => json!(change.base),
            "baseRefName" => json!(change.base_branch),
            "updatedAt" => json!(shape::time(subject.updated_at)),
            "author" => return Ok(Some(Held::Object(Object::Actor(subject.author.clone())))),
            "reviewThreads" => {
                let visible = |thread: &&&FakeThread| !self.comments(thread).is_empty();
                let threads = self.model.threads(id);
                let all = threads.iter().filter(visible).map(|thread| Object::Thread(thread.id));
                let page = page("PullRequestReviewThreadConnection", all.collect(), field)?;
                return Ok(Some(Held::Object(Object::Connection(page))));
            }
            "reviews" => {
                let listed = self.model.review_listing(id, self.viewer, self.now);
                let all = listed.into_iter().map(|review| Object::Review(review.id)).collect();
                let page = page("PullRequestReviewConnection", all, field)?;
                return Ok(Some(Held::Object(Object::Connection(page))));
            }
            _ => return Ok(None),
        };
        Ok(Some(Held::Leaf(leaf)))
    }

    fn of_thread(&self, id: u64, field: &Field) -> Result<Option<Held>, Wrong> {
        let thread = self.model.thread(id).map_err(super::refused)?;
        let now = thread.anchor.lines.filter(|_| !thread.outdated);
        let first = thread.original.lines;
        let start = |lines: Option<Lines>| Some(lines?.start?.1);
        let may_resolve = || {
            let author = self.model.subject(thread.subject).map(|subject| subject.author.id);
            author.is_ok_and(|author| author == self.viewer.id)
                || self.model.require_write(thread.repo, self.viewer, "resolve threads").is_ok()
        };
        let leaf = match field.name.as_str() {
            "id" => json!(format!("PRRT_{id}")),
            "isResolved" => json!(thread.resolved_by.is_some()),
            "isOutdated" => json!(thread.outdated),
            "isCollapsed" => json!(thread.resolved_by.is_some() || thread.outdated),
            "viewerCanResolve" => json!(thread.resolved_by.is_none() && may_resolve()),
            "viewerCanUnresolve" => json!(thread.resolved_by.is_some() && may_resolve()),
            "viewerCanReply" => json!(true),
            "path" => json!(thread.anchor.path),
            "line" => json!(now.map(|lines| lines.line)),
            "startLine" => json!(start(now)),
            "originalLine" => json!(first.map(|lines| lines.line)),
            "originalStartLine" => json!(start(first)),
            "diffSide" => json!(first.map_or("RIGHT", |lines| shape::word(lines.side))),
            "startDiffSide" => {
                json!(first.and_then(|lines| lines.start).map(|(side, _)| shape::word(side)))
            }
            "subjectType" => json!(if first.is_some() { "LINE" } else { "FILE" }),
            "resolvedBy" => {
                let by = thread.resolved_by.clone().map(Object::Actor);
                return Ok(Some(by.map_or(Held::Nothing, Held::Object)));
            }
            "comments" => {
                let all = self.comments(thread).into_iter().map(|it| Object::Comment(it.id));
                let page = page("PullRequestReviewCommentConnection", all.collect(), field)?;
                return Ok(Some(Held::Object(Object::Connection(page))));
            }
            "pullRequest" => {
                return Ok(Some(Held::Object(Object::PullRequest(thread.subject))));
            }
            _ => return Ok(None),
        };
        Ok(Some(Held::Leaf(leaf)))
    }

    fn of_comment(&self, id: u64, field: &Field) -> Result<Option<Held>, Wrong> {
        let (comment, thread) = self.comment(id)?;
        let leaf = match field.name.as_str() {
            "id" => json!(format!("PRRC_{id}")),
            "databaseId" | "fullDatabaseId" => json!(id),
            "body" => json!(comment.body),
            "path" => json!(thread.anchor.path),
            "createdAt" => json!(shape::time(comment.created_at)),
            "updatedAt" => json!(shape::time(comment.updated_at)),
            "lastEditedAt" => {
                let edited = comment.updated_at != comment.created_at;
                json!(edited.then(|| shape::time(comment.updated_at)))
            }
            "outdated" => json!(thread.outdated),
            "state" => {
                let pending = comment.review().and_then(|id| self.model.review(id).ok());
                let pending = pending.is_some_and(|review| review.submitted_at.is_none());
                json!(if pending { "PENDING" } else { "SUBMITTED" })
            }
            "url" => json!(format!("https://github.example/discussion_r{id}")),
            "author" => return Ok(Some(Held::Object(Object::Actor(comment.author.clone())))),
            "replyTo" => {
                return Ok(Some(match comment.place {
                    Spot::Inline { reply_to: Some(first), .. } => {
                        Held::Object(Object::Comment(first))
                    }
                    _ => Held::Nothing,
                }));
            }
            "pullRequestReview" => {
                let review = comment.review().map(Object::Review);
                return Ok(Some(review.map_or(Held::Nothing, Held::Object)));
            }
            _ => return Ok(None),
        };
        Ok(Some(Held::Leaf(leaf)))
    }

    fn of_review(&self, id: u64, field: &Field) -> Result<Option<Held>, Wrong> {
        let review: &FakeReview = self.model.review(id).map_err(super::refused)?;
        let leaf = match field.name.as_str() {
            "id" => json!(format!("PRR_{id}")),
            "databaseId" | "fullDatabaseId" => json!(id),
            "body" => json!(review.body),
            "state" => json!(state(review.state)),
            "submittedAt" => json!(review.submitted_at.map(shape::time)),
            "author" => return Ok(Some(Held::Object(Object::Actor(review.author.clone())))),
            _ => return Ok(None),
        };
        Ok(Some(Held::Leaf(leaf)))
    }

    /// Returns the comments of a thread that the viewer sees in a listing.
    fn comments(&self, thread: &FakeThread) -> Vec<FakeComment> {
        let listed = self.model.listing(thread.subject, CommentKind::Line, self.viewer, self.now);
        let mut listed = listed.unwrap_or_default();
        listed.retain(|comment| comment.thread() == Some(thread.id));
        listed
    }

    fn comment(&self, id: u64) -> Result<(&FakeComment, &FakeThread), Wrong> {
        let comment = self.model.inline_comment(id).map_err(super::refused)?;
        let thread = comment.thread().unwrap_or_default();
        Ok((comment, self.model.thread(thread).map_err(super::refused)?))
    }
}

impl Object {
    fn type_name(&self) -> &'static str {
        match self {
            Self::Root => "Query",
            Self::Repository(_) => "Repository",
            Self::PullRequest(_) => "PullRequest",
            Self::Thread(_) => "PullRequestReviewThread",
            Self::Comment(_) => "PullRequestReviewComment",
            Self::Review(_) => "PullRequestReview",
            Self::Actor(account) => match account.kind {
                AccountKind::Person => "User",
                AccountKind::Bot => "Bot",
                AccountKind::Organization => "Organization",
            },
            Self::Connection(connection) => connection.of,
            Self::PageInfo { .. } => "PageInfo",
            Self::Payload { of, .. } => of,
        }
    }

    /// Tells whether a fragment for that type applies.
    fn is_a(&self, type_name: &str) -> bool {
        self.type_name() == type_name
            || match self {
                Self::Actor(_) => matches!(type_name, "Actor" | "Node"),
                Self::PullRequest(_) | Self::Thread(_) => type_name == "Node",
                _ => false,
            }
    }
}

fn of_actor(account: &Account, field: &Field) -> Option<Held> {
    let leaf = match field.name.as_str() {
        // GraphQL leaves the ending of a bot's login out.
        "login" => json!(account.login.strip_suffix("[bot]").unwrap_or(&account.login)),
        "databaseId" if field.on.is_some() => json!(account.id),
        "id" if field.on.is_some() => json!(format!("U_{}", account.id)),
        "url" => json!(format!("https://github.example/{}", account.login)),
        _ => return None,
    };
    Some(Held::Leaf(leaf))
}

fn of_connection(connection: &Connection, field: &Field) -> Option<Held> {
    Some(match field.name.as_str() {
        "totalCount" => Held::Leaf(json!(connection.total)),
        "nodes" => Held::Objects(connection.nodes.clone()),
        "pageInfo" => Held::Object(Object::PageInfo {
            next: (connection.to < connection.total).then(|| cursor(connection.to)),
            before: (connection.from > 0).then(|| cursor(connection.from)),
        }),
        _ => return None,
    })
}

fn of_page(next: Option<&String>, before: Option<&String>, field: &Field) -> Option<Held> {
    Some(Held::Leaf(match field.name.as_str() {
        "hasNextPage" => json!(next.is_some()),
        "endCursor" => json!(next),
        "hasPreviousPage" => json!(before.is_some()),
        "startCursor" => json!(before),
        _ => return None,
    }))
}

/// Cuts a page: the first so many after a cursor.
fn page(of: &'static str, all: Vec<Object>, field: &Field) -> Result<Connection, Wrong> {
    takes(field, &["first", "after"])?;
    let first = field.arguments.get("first").and_then(Value::as_u64);
    let Some(first) = first.filter(|first| (1..=LARGEST_PAGE).contains(first)) else {
        let message = format!("You must provide a `first` value of 1 to 100 on `{}`", field.name);
        return Err(Wrong::Spoken(message));
    };
    let from = match field.arguments.get("after") {
        None | Some(Value::Null) => 0,
        Some(after) => {
            let after = after.as_str().and_then(|after| after.strip_prefix("cursor:"));
            let after = after.and_then(|after| after.parse().ok());
            after.ok_or_else(|| Wrong::Spoken("`after` does not appear to be valid".to_owned()))?
        }
    };
    let size = usize::try_from(first).unwrap_or(usize::MAX);
    let total = all.len();
    let nodes: Vec<Object> = all.into_iter().skip(from).take(size).collect();
    let to = from.min(total) + nodes.len();
    Ok(Connection { of, total, nodes, from, to })
}

fn cursor(at: usize) -> String {
    format!("cursor:{at}")
}

/// Refuses arguments that the field does not have.
fn takes(field: &Field, known: &[&str]) -> Result<(), Wrong> {
    match field.arguments.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let message = format!("Field '{}' doesn't accept argument '{name}'", field.name);
            Err(Wrong::Spoken(message))
        }
    }
}

fn text(field: &Field, name: &str) -> Result<String, Wrong> {
    match field.arguments.get(name) {
        Some(Value::String(text)) => Ok(text.clone()),
        _ => Err(Wrong::Spoken(format!("Field '{}' is missing argument {name}", field.name))),
    }
}
