//! One issue of GitHub with its comments in memory, behind a [`Server`].

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::{Reply, Seen, Server};

pub(crate) const OUR_ID: i64 = 41;
pub(crate) const THEIR_ID: i64 = 52;

/// The comments of issue 3 of `o/r`.
#[derive(Debug, Default)]
pub(crate) struct Desk(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// By id: author and body.
    comments: BTreeMap<u64, (i64, String)>,
    last_id: u64,
    /// So many listings do not show the newest comment yet.
    lag: usize,
    /// The next writes are done but not answered.
    lose: usize,
}

impl Desk {
    pub(crate) async fn open() -> (Arc<Self>, Server) {
        let desk = Arc::new(Self::default());
        let answering = Arc::clone(&desk);
        (desk, Server::start(move |seen| answering.answer(seen)).await)
    }

    /// Puts a comment there as somebody.
    pub(crate) fn plant(&self, author: i64, body: &str) -> u64 {
        self.0.lock().unwrap().add(author, body)
    }

    pub(crate) fn lag(&self, listings: usize) {
        self.0.lock().unwrap().lag = listings;
    }

    pub(crate) fn lose_answers(&self, writes: usize) {
        self.0.lock().unwrap().lose = writes;
    }

    fn answer(&self, seen: &Seen) -> Reply {
        let mut state = self.0.lock().unwrap();
        let path = seen.path.split('?').next().unwrap_or_default().trim_start_matches('/');
        let segments: Vec<_> = path.split('/').collect();
        let body = serde_json::from_str::<Value>(&seen.body).ok();
        let text = body.as_ref().and_then(|body| body["body"].as_str()).unwrap_or_default();
        let id = segments.last().and_then(|segment| segment.parse().ok()).unwrap_or(0);
        let reply = match (seen.method.as_str(), segments.as_slice()) {
            ("GET", ["user"]) => {
                Reply::json(200, json!({"id": OUR_ID, "login": "bot", "type": "User"}))
            }
            ("GET", ["repos", "o", "r", "issues", "3", "comments"]) => state.list(),
            ("POST", ["repos", "o", "r", "issues", "3", "comments"]) => {
                let id = state.add(OUR_ID, text);
                state.one(201, id)
            }
            ("GET", ["repos", "o", "r", "issues", "comments", _]) => state.one(200, id),
            ("PATCH", ["repos", "o", "r", "issues", "comments", _]) => {
                if let Some(comment) = state.comments.get_mut(&id) {
                    comment.1 = text.to_owned();
                }
                state.one(200, id)
            }
            ("DELETE", ["repos", "o", "r", "issues", "comments", _]) => {
                match state.comments.remove(&id) {
                    Some(_) => Reply::json(204, ""),
                    None => Reply::json(404, "{}"),
                }
            }
            _ => Reply::json(404, json!({"message": "Not Found"})),
        };
        match seen.method.as_str() {
            "GET" => reply,
            _ if state.lose > 0 => {
                state.lose -= 1;
                Reply::Cut
            }
            _ => reply,
        }
    }
}

impl State {
    fn add(&mut self, author: i64, body: &str) -> u64 {
        self.last_id += 1;
        self.comments.insert(self.last_id, (author, body.to_owned()));
        self.last_id
    }

    fn one(&self, status: u16, id: u64) -> Reply {
        match self.comments.get(&id) {
            Some(comment) => Reply::json(status, json_of(id, comment)),
            None => Reply::json(404, json!({"message": "Not Found"})),
        }
    }

    fn list(&mut self) -> Reply {
        let hidden = usize::from(self.lag > 0);
        self.lag = self.lag.saturating_sub(1);
        let shown = self.comments.len().saturating_sub(hidden);
        let listed: Vec<_> =
            self.comments.iter().take(shown).map(|(id, comment)| json_of(*id, comment)).collect();
        Reply::json(200, json!(listed))
    }
}

fn json_of(id: u64, (author, body): &(i64, String)) -> Value {
    json!({
        "id": id,
        "body": body,
        "user": {"id": author, "login": "somebody", "type": "User"},
        "created_at": "2023-11-14T22:13:20Z",
        "updated_at": "2023-11-14T22:13:20Z",
        "html_url": format!("https://git.example/o/r/issues/3#issuecomment-{id}"),
        "issue_url": "https://git.example/repos/o/r/issues/3",
    })
}
