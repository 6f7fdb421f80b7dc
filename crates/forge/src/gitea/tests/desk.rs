//! Change 3 of `o/r` with its reviews and comments in memory, behind a [`Server`] that answers as
//! Gitea or Forgejo does: not atomic, and silent about inline comments that are asked for by id.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::rig::{Reply, Seen, Server};

pub(super) const OUR_ID: i64 = 41;
pub(super) const THEIR_ID: i64 = 52;

/// What the server lets its clients know and do.
#[derive(Clone, Debug, Default)]
pub(super) struct Product {
    /// What `GET /version` says.
    pub(super) version: &'static str,
    /// The paths of its description; without any it has none.
    pub(super) paths: Vec<(&'static str, &'static str)>,
    pub(super) has_ranges: bool,
    /// Whether it says yes to the removal of an inline comment and keeps it.
    pub(super) keeps_inline: bool,
}

#[derive(Debug)]
pub(super) struct Desk {
    state: Mutex<State>,
    product: Product,
}

#[derive(Debug, Default)]
struct State {
    reviews: BTreeMap<u64, Review>,
    comments: BTreeMap<u64, Comment>,
    last_id: u64,
    /// The next reviews break off before this comment.
    breaks: Vec<usize>,
    /// The next writes are done but not answered.
    lose: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Review {
    pub(super) author: i64,
    pub(super) state: &'static str,
    pub(super) body: String,
}

#[derive(Clone, Debug)]
pub(super) struct Comment {
    pub(super) author: i64,
    pub(super) body: String,
    /// The review, and where the comment stands; none in the conversation.
    pub(super) inline: Option<Inline>,
}

#[derive(Clone, Debug)]
pub(super) struct Inline {
    pub(super) review: u64,
    /// As the server was told.
    pub(super) at: Value,
    pub(super) resolver: Option<i64>,
}

impl Desk {
    pub(super) async fn open(product: Product) -> (Arc<Self>, Server) {
        let desk = Arc::new(Self { state: Mutex::default(), product });
        let answering = Arc::clone(&desk);
        (desk, Server::start(move |seen| answering.answer(seen)).await)
    }

    /// Puts a review with comments on lines of `src/a.rs` there, as somebody.
    pub(super) fn plant(&self, author: i64, state: &'static str, lines: &[(u64, &str)]) -> u64 {
        let mut desk = self.state.lock().unwrap();
        let review = desk.id();
        desk.reviews.insert(review, Review { author, state, body: String::new() });
        for (line, body) in lines {
            let at = json!({"path": "src/a.rs", "new_position": line, "old_position": 0});
            desk.add_inline(author, review, body, at);
        }
        review
    }

    pub(super) fn break_reviews_at(&self, comments: &[usize]) {
        self.state.lock().unwrap().breaks = comments.to_vec();
    }

    pub(super) fn lose_answers(&self, writes: usize) {
        self.state.lock().unwrap().lose = writes;
    }

    pub(super) fn reviews(&self) -> Vec<Review> {
        self.state.lock().unwrap().reviews.values().cloned().collect()
    }

    pub(super) fn comments(&self) -> Vec<(u64, Comment)> {
        let desk = self.state.lock().unwrap();
        desk.comments.iter().map(|(id, comment)| (*id, comment.clone())).collect()
    }

    fn answer(&self, seen: &Seen) -> Reply {
        let mut desk = self.state.lock().unwrap();
        let path = seen.path.split('?').next().unwrap_or_default();
        let body = serde_json::from_str(&seen.body).unwrap_or(Value::Null);
        let reply = match path {
            "/swagger.v1.json" => self.product.description(),
            "/api/v1/version" => Reply::json(200, json!({"version": self.product.version})),
            "/api/v1/user" => Reply::json(200, user(OUR_ID)),
            "/api/v1/repos/o/r/pulls/3" => Reply::json(200, super::pull(3, "a title")),
            _ => {
                let tail = path.strip_prefix("/api/v1/repos/o/r/").unwrap_or_default();
                let segments: Vec<_> = tail.split('/').collect();
                match self.allows(&seen.method, &segments) {
                    true => desk.answer(&seen.method, &segments, &body, &self.product),
                    false => nothing(),
                }
            }
        };
        match seen.method.as_str() {
            "GET" => reply,
            _ if desk.lose > 0 => {
                desk.lose -= 1;
                Reply::Cut
            }
            _ => reply,
        }
    }

    /// Whether the product has the way: those that not all have must be in its description.
    fn allows(&self, method: &str, segments: &[&str]) -> bool {
        let special = match (method, segments) {
            ("POST", ["pulls", "comments", _, _]) => "gitea-resolve",
            ("POST", ["pulls", _, "comments", _, "replies"]) => "gitea-replies",
            ("POST", ["pulls", _, "reviews", _, "comments", _, _]) => "forgejo-resolve",
            ("POST", ["pulls", _, "reviews", _, "comments"]) => "forgejo-into-review",
            ("DELETE", ["pulls", _, "reviews", _, "comments", _]) => "forgejo-delete",
            _ => return true,
        };
        self.product.paths.iter().any(|(name, _)| *name == special)
    }
}

impl Product {
    fn description(&self) -> Reply {
        let described: BTreeMap<_, _> = self
            .paths
            .iter()
            .filter(|(_, path)| !path.is_empty())
            .map(|(name, path)| {
                let method = if name.ends_with("delete") { "delete" } else { "post" };
                (*path, json!({ method: {} }))
            })
            .collect();
        if described.is_empty() {
            return nothing();
        }
        let mut properties = json!({"body": {}, "path": {}});
        if self.has_ranges {
            properties["extra_lines_count"] = json!({});
        }
        let definitions = json!({"CreatePullReviewComment": {"properties": properties}});
        let info = json!({"version": self.version});
        Reply::json(200, json!({"info": info, "paths": described, "definitions": definitions}))
    }
}

impl State {
    fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn add_inline(&mut self, author: i64, review: u64, body: &str, at: Value) -> u64 {
        let id = self.id();
        let inline = Some(Inline { review, at, resolver: None });
        self.comments.insert(id, Comment { author, body: body.to_owned(), inline });
        id
    }

    fn answer(
        &mut self,
        method: &str,
        segments: &[&str],
        body: &Value,
        product: &Product,
    ) -> Reply {
        let number = |text: &str| text.parse::<u64>().unwrap_or(0);
        let text = body["body"].as_str().unwrap_or_default();
        match (method, segments) {
            ("GET", ["pulls", "3", "reviews"]) => {
                let listed: Vec<_> = self.reviews.keys().map(|id| self.review(*id)).collect();
                let count = listed.len().to_string();
                Reply::json(200, json!(listed)).with("x-total-count", &count)
            }
            ("POST", ["pulls", "3", "reviews"]) => self.submit(body),
            ("DELETE", ["pulls", "3", "reviews", review]) => {
                let review = number(review);
                self.comments.retain(|_, comment| {
                    comment.inline.as_ref().is_none_or(|inline| inline.review != review)
                });
                match self.reviews.remove(&review) {
                    Some(_) => Reply::json(204, ""),
                    None => nothing(),
                }
            }
            ("GET", ["pulls", "3", "reviews", review, "comments"]) => {
                let review = number(review);
                // In no order that could be relied upon.
                let ids = self.comments.keys().rev();
                let listed: Vec<_> =
                    ids.filter_map(|id| self.inline(*id)).filter(of(review)).collect();
                Reply::json(200, json!(listed))
            }
            ("POST", ["pulls", "3", "reviews", review, "comments"]) => {
                let id = self.add_inline(OUR_ID, number(review), text, body.clone());
                Reply::json(200, json!(self.inline(id)))
            }
            ("POST", ["pulls", "3", "comments", comment, "replies"]) => {
                let Some(Inline { review, at, .. }) =
                    self.comments.get(&number(comment)).and_then(|comment| comment.inline.clone())
                else {
                    return nothing();
                };
                let id = self.add_inline(OUR_ID, review, text, at);
                Reply::json(201, json!(self.inline(id)))
            }
            ("POST", ["pulls", "comments", comment, word])
            | ("POST", ["pulls", "3", "reviews", _, "comments", comment, word]) => {
                match self.comments.get_mut(&number(comment)).and_then(|it| it.inline.as_mut()) {
                    Some(inline) => {
                        inline.resolver = (*word == "resolve").then_some(OUR_ID);
                        Reply::json(204, "")
                    }
                    None => nothing(),
                }
            }
            ("GET", ["issues", "3", "comments"]) => {
                let plain = self.comments.iter().filter(|(_, comment)| comment.inline.is_none());
                let listed: Vec<_> = plain.map(|(id, _)| self.plain(*id)).collect();
                let count = listed.len().to_string();
                Reply::json(200, json!(listed)).with("x-total-count", &count)
            }
            ("POST", ["issues", "3", "comments"]) => {
                let id = self.id();
                let comment = Comment { author: OUR_ID, body: text.to_owned(), inline: None };
                self.comments.insert(id, comment);
                Reply::json(201, self.plain(id))
            }
            ("GET", ["issues", "comments", id]) => match self.comments.get(&number(id)) {
                Some(Comment { inline: Some(_), .. }) => Reply::json(204, ""),
                Some(_) => Reply::json(200, self.plain(number(id))),
                None => nothing(),
            },
            ("PATCH", ["issues", "comments", id]) => match self.comments.get_mut(&number(id)) {
                Some(comment) => {
                    comment.body = text.to_owned();
                    Reply::json(200, self.plain(number(id)))
                }
                None => nothing(),
            },
            ("DELETE", ["issues", "comments", id])
            | ("DELETE", ["pulls", "3", "reviews", _, "comments", id]) => {
                let id = number(id);
                let inline = self.comments.get(&id).is_some_and(|it| it.inline.is_some());
                match product.keeps_inline && inline {
                    true => Reply::json(204, ""),
                    false => match self.comments.remove(&id) {
                        Some(_) => Reply::json(204, ""),
                        None => nothing(),
                    },
                }
            }
            _ => nothing(),
        }
    }

    /// Puts the comments one by one into the account's waiting review, and submits that.
    fn submit(&mut self, body: &Value) -> Reply {
        let waiting = self
            .reviews
            .iter()
            .find(|(_, review)| review.author == OUR_ID && review.state == "PENDING")
            .map(|(id, _)| *id);
        let id = match waiting {
            Some(id) => id,
            None => {
                let id = self.id();
                let review = Review { author: OUR_ID, state: "PENDING", body: String::new() };
                self.reviews.insert(id, review);
                id
            }
        };
        let breaks = if self.breaks.is_empty() { None } else { Some(self.breaks.remove(0)) };
        for (index, comment) in body["comments"].as_array().into_iter().flatten().enumerate() {
            if breaks == Some(index) {
                return Reply::json(500, json!({"message": ""}));
            }
            let text = comment["body"].as_str().unwrap_or_default();
            self.add_inline(OUR_ID, id, text, comment.clone());
        }
        if let Some(review) = self.reviews.get_mut(&id) {
            review.state = "COMMENT";
        }
        Reply::json(200, self.review(id))
    }

    fn review(&self, id: u64) -> Value {
        let review = &self.reviews[&id];
        let ids = self.comments.keys();
        let count = ids.filter_map(|comment| self.inline(*comment)).filter(of(id)).count();
        json!({
            "id": id, "user": user(review.author), "state": review.state, "body": review.body,
            "commit_id": "head", "comments_count": count,
            "submitted_at": "2023-11-14T22:13:20Z",
        })
    }

    fn inline(&self, id: u64) -> Option<Value> {
        let Comment { author, body, inline } = self.comments.get(&id)?;
        let Inline { review, at, resolver } = inline.as_ref()?;
        Some(json!({
            "id": id, "user": user(*author), "body": body, "pull_request_review_id": review,
            "path": at["path"], "position": at["new_position"],
            "original_position": at["old_position"], "commit_id": "blamed",
            "extra_lines_count": at["extra_lines_count"].as_u64().unwrap_or(0),
            "resolver": resolver.map(user),
        }))
    }

    fn plain(&self, id: u64) -> Value {
        let Comment { author, body, .. } = &self.comments[&id];
        json!({
            "id": id, "user": user(*author), "body": body, "issue_url": "",
            "pull_request_url": "https://git.example/o/r/pulls/3",
        })
    }
}

fn of(review: u64) -> impl Fn(&Value) -> bool {
    move |comment| comment["pull_request_review_id"] == review
}

pub(super) fn user(id: i64) -> Value {
    json!({"id": id, "login": format!("user{id}"), "username": format!("user{id}")})
}

/// Ways that are not there are answered in plain text.
fn nothing() -> Reply {
    Reply::json(404, "404 page not found\n")
}
