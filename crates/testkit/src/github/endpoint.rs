//! The endpoints of a repository: which paths exist, and what each method does there.

use domain::Time;
use forge::Permission;
use http::StatusCode;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{invalid, not_found, refusal, refuse, shape};
use crate::forge::{
    Account, Answer, Asked, CommentKind, FakeComment, FakeSubject, Happened, Model, Reacted,
    Refusal, Spot, Target, What,
};

/// The signs that GitHub knows.
const REACTIONS: [&str; 8] = ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];
const DEFAULT_PAGE: usize = 30;
const LARGEST_PAGE: usize = 100;

/// A path below a repository that exists.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Repository,
    Issue(u64),
    Comments(u64),
    Comment(u64),
    LineComment(u64),
    Reactions(Target),
    Permission(String),
}

/// One authenticated request to an endpoint.
pub(super) struct Call<'a> {
    pub(super) model: &'a mut Model,
    pub(super) asked: &'a Asked,
    pub(super) account: &'a Account,
    pub(super) repo: u64,
    pub(super) now: Time,
    pub(super) url: &'a str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    content: String,
}

impl Endpoint {
    pub(super) fn at(path: &[&str]) -> Option<Self> {
        let endpoint = match path {
            [] => Self::Repository,
            ["issues", "comments", id] => Self::Comment(id.parse().ok()?),
            ["issues", "comments", id, "reactions"] => {
                Self::Reactions(Target::Comment(CommentKind::Conversation, id.parse().ok()?))
            }
            ["pulls", "comments", id] => Self::LineComment(id.parse().ok()?),
            ["pulls", "comments", id, "reactions"] => {
                Self::Reactions(Target::Comment(CommentKind::Line, id.parse().ok()?))
            }
            ["issues", number] => Self::Issue(number.parse().ok()?),
            ["issues", number, "comments"] => Self::Comments(number.parse().ok()?),
            ["issues", number, "reactions"] => {
                Self::Reactions(Target::Subject(number.parse().ok()?))
            }
            ["collaborators", login, "permission"] => Self::Permission((*login).to_owned()),
            _ => return None,
        };
        Some(endpoint)
    }

    /// Answers; `Err` is an answer too, one that refuses.
    pub(super) fn answer(self, mut call: Call<'_>) -> Result<Answer, Answer> {
        match (self, call.asked.method.as_str()) {
            (Self::Repository, "GET") => call.repository(),
            (Self::Issue(number), "GET") => call.issue(number),
            (Self::Comments(number), "GET") => call.list(number),
            (Self::Comments(number), "POST") => call.create(number),
            (Self::Comment(id), "GET") => call.comment(CommentKind::Conversation, id),
            (Self::LineComment(id), "GET") => call.comment(CommentKind::Line, id),
            (Self::Comment(id), "PATCH") => call.edit(id),
            (Self::Comment(id), "DELETE") => call.delete(id),
            (Self::Reactions(target), "POST") => call.react(target),
            (Self::Permission(login), "GET") => call.permission(&login),
            (_, method) => Err(not_found().violating(format!("{method} is not answered here"))),
        }
    }
}

impl Call<'_> {
    fn repository(&self) -> Result<Answer, Answer> {
        let repo = self.model.repo(self.repo).map_err(missing)?;
        let mut body = shape::repository(self.url, repo);
        body["permissions"] = shape::permissions(repo.permission(self.account));
        Ok(Answer::new(StatusCode::OK, body))
    }

    fn issue(&self, number: u64) -> Result<Answer, Answer> {
        let repo = self.model.repo(self.repo).map_err(missing)?;
        let subject = self.model.subject(self.repo, number).map_err(missing)?;
        Ok(Answer::new(StatusCode::OK, shape::issue(self.url, repo, subject)))
    }

    fn list(&mut self, number: u64) -> Result<Answer, Answer> {
        let query = Query::read(self.asked)?;
        let listed = self.model.listing(self.repo, number, self.now).map_err(missing)?;
        if query.page == 1 {
            self.model.count_listing(self.repo, number);
        }
        let recent =
            |comment: &FakeComment| query.since.is_none_or(|since| comment.updated_at >= since);
        let listed: Vec<_> = listed.into_iter().filter(recent).collect();
        let repo = self.model.repo(self.repo).map_err(missing)?;
        let page = listed
            .iter()
            .skip((query.page - 1).saturating_mul(query.per_page))
            .take(query.per_page);
        let page: Vec<Value> =
            page.map(|comment| shape::comment(self.url, repo, comment)).collect();
        let answer = Answer::new(StatusCode::OK, Value::Array(page));
        // As GitHub does, links name the repository by its id.
        let path = format!("{}/repositories/{}/issues/{number}/comments", self.url, self.repo);
        Ok(match query.links(&path, listed.len()) {
            Some(links) => answer.with("link", &links),
            None => answer,
        })
    }

    fn create(&mut self, number: u64) -> Result<Answer, Answer> {
        let Body { body } = read(self.asked)?;
        let added = self.model.add_comment(
            self.repo,
            number,
            self.account,
            Spot::Conversation,
            &body,
            self.now,
        );
        let comment = added.map_err(|why| refusal("IssueComment", &why))?;
        let shown = self.shown(&comment)?;
        let what = What::Commented { on: self.subject_of(&comment)?, comment };
        self.tell(Answer::new(StatusCode::CREATED, shown), what)
    }

    fn comment(&self, kind: CommentKind, id: u64) -> Result<Answer, Answer> {
        let comment = self.model.comment(self.repo, kind, id).map_err(missing)?;
        Ok(Answer::new(StatusCode::OK, self.shown(comment)?))
    }

    fn edit(&mut self, id: u64) -> Result<Answer, Answer> {
        let Body { body } = read(self.asked)?;
        let kind = CommentKind::Conversation;
        let edited = self.model.edit(self.repo, kind, id, self.account, &body, self.now);
        let (comment, before) = edited.map_err(|why| refusal("IssueComment", &why))?;
        let shown = self.shown(&comment)?;
        let what = What::CommentEdited { on: self.subject_of(&comment)?, comment, before };
        self.tell(Answer::new(StatusCode::OK, shown), what)
    }

    fn delete(&mut self, id: u64) -> Result<Answer, Answer> {
        let deleted = self.model.delete(self.repo, CommentKind::Conversation, id, self.account);
        let comment = deleted.map_err(|why| refusal("IssueComment", &why))?;
        let what = What::CommentDeleted { on: self.subject_of(&comment)?, comment };
        self.tell(Answer::new(StatusCode::NO_CONTENT, Value::Null), what)
    }

    fn react(&mut self, target: Target) -> Result<Answer, Answer> {
        let Content { content } = read(self.asked)?;
        if !REACTIONS.contains(&content.as_str()) {
            let refused = invalid("Reaction", "invalid", "content", "content is not a reaction");
            return Err(refused.violating(format!("the reaction '{content}' does not exist")));
        }
        let (reaction, reacted) =
            self.model.react(self.repo, target, self.account, &content).map_err(missing)?;
        let status = match reacted {
            Reacted::Now => StatusCode::CREATED,
            Reacted::Before => StatusCode::OK,
        };
        Ok(Answer::new(status, shape::reaction(self.url, &reaction)))
    }

    fn permission(&self, login: &str) -> Result<Answer, Answer> {
        let repo = self.model.repo(self.repo).map_err(missing)?;
        if !repo.permission(self.account).may_write() {
            return Err(refuse(403, "Must have push access to view collaborator permission."));
        }
        let Ok(user) = self.model.account(login) else {
            return Err(refuse(404, &format!("{login} is not a user")));
        };
        let permission = repo.permission(user);
        // GitHub folds the finer roles into four words and names the role beside them.
        let coarse = match permission {
            Permission::None => "none",
            Permission::Read | Permission::Triage => "read",
            Permission::Write | Permission::Maintain => "write",
            Permission::Admin => "admin",
        };
        let body = json!({
            "permission": coarse,
            "role_name": shape::role(permission),
            "user": shape::account(user),
        });
        Ok(Answer::new(StatusCode::OK, body))
    }

    fn shown(&self, comment: &FakeComment) -> Result<Value, Answer> {
        let repo = self.model.repo(self.repo).map_err(missing)?;
        Ok(shape::comment(self.url, repo, comment))
    }

    fn subject_of(&self, comment: &FakeComment) -> Result<FakeSubject, Answer> {
        self.model.subject(self.repo, comment.number).cloned().map_err(missing)
    }

    fn tell(&self, answer: Answer, what: What) -> Result<Answer, Answer> {
        let repo = self.model.repo(self.repo).map_err(missing)?.clone();
        Ok(answer.telling(Happened { by: self.account.clone(), repo, what }))
    }
}

/// What a listing was asked for.
struct Query {
    page: usize,
    per_page: usize,
    since: Option<Time>,
}

impl Query {
    /// Reads the query. GitHub passes over what it does not know; here it is a mistake.
    fn read(asked: &Asked) -> Result<Self, Answer> {
        let mut query = Self { page: 1, per_page: DEFAULT_PAGE, since: None };
        let wrong = |name: &str, value: &str| {
            let why = format!("the query {name}={value} means nothing here");
            refuse(422, &why).violating(why)
        };
        for (name, value) in
            url::form_urlencoded::parse(asked.uri.query().unwrap_or_default().as_bytes())
        {
            let number = value.parse().ok().filter(|number| *number > 0);
            match (&*name, number) {
                ("page", Some(number)) => query.page = number,
                ("per_page", Some(number)) => query.per_page = number.min(LARGEST_PAGE),
                ("since", _) => {
                    let at: jiff::Timestamp = value.parse().map_err(|_| wrong(&name, &value))?;
                    query.since = Some(Time(at.as_millisecond()));
                }
                _ => return Err(wrong(&name, &value)),
            }
        }
        Ok(query)
    }

    /// Returns the `Link` header of this page, none if everything fits on one.
    fn links(&self, path: &str, total: usize) -> Option<String> {
        let last = total.div_ceil(self.per_page).max(1);
        let link = |page: usize, rel: &str| {
            let size = self.per_page;
            format!("<{path}?page={page}&per_page={size}>; rel=\"{rel}\"")
        };
        let mut links = Vec::new();
        if self.page > 1 {
            links.push(link((self.page - 1).min(last), "prev"));
        }
        if self.page < last {
            links.push(link(self.page + 1, "next"));
            links.push(link(last, "last"));
        }
        if self.page > 1 {
            links.push(link(1, "first"));
        }
        (!links.is_empty()).then(|| links.join(", "))
    }
}

/// Reads the fields of a body, and no others.
fn read<T: DeserializeOwned>(asked: &Asked) -> Result<T, Answer> {
    let Ok(value) = serde_json::from_slice::<Value>(&asked.body) else {
        return Err(refuse(400, "Problems parsing JSON").violating("the body is not JSON"));
    };
    if !value.is_object() {
        return Err(
            refuse(400, "Body should be a JSON object").violating("the body is no JSON object")
        );
    }
    serde_json::from_value(value).map_err(|why| {
        let message = format!("Invalid request.\n\n{why}");
        refuse(422, &message).violating(format!("the fields of the body are wrong: {why}"))
    })
}

fn missing(_: Refusal) -> Answer {
    not_found()
}
