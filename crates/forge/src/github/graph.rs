//! GitHub's GraphQL, for what REST cannot do: whether threads are resolved, and drafts.

use std::time::Duration;

use domain::{Repo, Subject};
use http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;

use super::{GitHub, change_number};
use crate::error::Error;
use crate::http::{Content, Deadline};

/// The most pages of threads that are read.
const PAGES: usize = 100;

/// A limit is told here without a time.
const UNSAID_WAIT: Duration = Duration::from_secs(60);

const THREADS: &str = "query($owner:String!,$name:String!,$number:Int!,$after:String){\
    repository(owner:$owner,name:$name){pullRequest(number:$number){\
    reviewThreads(first:100,after:$after){pageInfo{hasNextPage endCursor}\
    nodes{id isResolved isOutdated resolvedBy{login}\
    comments(first:1){nodes{databaseId}}}}}}}";

/// What GraphQL alone tells about a thread.
#[derive(Clone, Debug)]
pub(super) struct ThreadState {
    pub(super) node: String,
    /// The REST id of the thread's first comment.
    pub(super) root: u64,
    pub(super) resolved: bool,
    pub(super) outdated: bool,
    pub(super) resolved_by: Option<String>,
}

#[derive(Deserialize)]
struct Reply<T> {
    data: Option<T>,
    #[serde(default)]
    errors: Vec<Complaint>,
}

#[derive(Deserialize)]
struct Complaint {
    message: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Threads {
    repository: Option<ThreadsOfRepository>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadsOfRepository {
    pull_request: Option<ThreadsOfChange>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadsOfChange {
    review_threads: ThreadPage,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadPage {
    page_info: PageInfo,
    nodes: Vec<ThreadNode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ThreadNode {
    id: String,
    is_resolved: bool,
    is_outdated: bool,
    resolved_by: Option<Login>,
    comments: CommentPage,
}

#[derive(Deserialize)]
struct Login {
    login: String,
}

#[derive(Deserialize)]
struct CommentPage {
    nodes: Vec<CommentNode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommentNode {
    database_id: Option<u64>,
}

impl GitHub {
    /// Reads the state of all threads of a change.
    pub(super) async fn thread_states(&self, subject: &Subject) -> Result<Vec<ThreadState>, Error> {
        let what = format!("the threads of {subject}");
        change_number(subject)?;
        let (owner, name) = subject.repo.owner_and_name();
        let mut states = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..PAGES {
            let variables =
                json!({ "owner": owner, "name": name, "number": subject.number, "after": after });
            let page: Threads = self.ask(&what, &subject.repo, THREADS, variables).await?;
            let threads = page.repository.and_then(|repository| repository.pull_request);
            let Some(ThreadsOfChange { review_threads }) = threads else {
                return Err(Error::Gone { what: subject.to_string() });
            };
            states.extend(review_threads.nodes.into_iter().filter_map(|node| {
                let root = node.comments.nodes.first()?.database_id?;
                Some(ThreadState {
                    node: node.id,
                    root,
                    resolved: node.is_resolved,
                    outdated: node.is_outdated,
                    resolved_by: node.resolved_by.map(|by| by.login),
                })
            }));
            match review_threads.page_info {
                PageInfo { has_next_page: true, end_cursor: Some(cursor) } => after = Some(cursor),
                PageInfo { .. } => return Ok(states),
            }
        }
        Err(Error::Garbled { what, why: format!("they go on after {PAGES} pages") })
    }

    /// Asks a question. GraphQL reads by POST, so nothing is paced and nothing is lost.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        what: &str,
        repo: &Repo,
        query: &str,
        variables: Value,
    ) -> Result<T, Error> {
        let body = json!({ "query": query, "variables": variables });
        let client = self.client(&repo.full_name).await?;
        let asked = client.ask(what, self.graph_url()?, &body, self.now()).await;
        let answer = self.noticing(&repo.full_name, asked).await?;
        self.unwrap(what, answer.parse(what)?)
    }

    /// Changes something.
    pub(super) async fn change_by_graph(
        &self,
        what: &str,
        repo: &Repo,
        mutation: &str,
        variables: Value,
        by: Deadline,
    ) -> Result<(), Error> {
        let body = json!({ "query": mutation, "variables": variables });
        let call = (Method::POST, self.graph_url()?);
        let client = self.client(&repo.full_name).await?;
        let sent = client.write(what, call, Some(&body), Content::Answer, by).await;
        let answer = self.noticing(&repo.full_name, sent).await?;
        self.unwrap::<Value>(what, answer.parse(what)?).map(|_| ())
    }

    /// Errors come with status 200 here.
    fn unwrap<T>(&self, what: &str, reply: Reply<T>) -> Result<T, Error> {
        let what = what.to_owned();
        if let Some(Complaint { message: why, kind }) = reply.errors.into_iter().next() {
            return Err(match kind.as_deref() {
                Some("NOT_FOUND") => Error::Gone { what },
                Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => Error::Forbidden { what, why },
                Some("RATE_LIMITED") => {
                    Error::Limited { until: self.anonymous.clock().now() + UNSAID_WAIT }
                }
                _ => Error::Refused { what, status: 200, why },
            });
        }
        reply.data.ok_or_else(|| Error::Garbled { what, why: "it holds no data".to_owned() })
    }

    /// GraphQL stands beside REST: `/graphql`, on an Enterprise Server `/api/graphql`.
    fn graph_url(&self) -> Result<Url, Error> {
        let mut url = self.anonymous.base().clone();
        let on_server = url.path().trim_end_matches('/').ends_with("/api/v3");
        if on_server {
            let path = url.path().trim_end_matches('/').trim_end_matches("/v3").to_owned();
            url.set_path(&format!("{path}/graphql"));
            return Ok(url);
        }
        self.anonymous.url(&["graphql"])
    }
}
