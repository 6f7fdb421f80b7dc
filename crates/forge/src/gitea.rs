//! Gitea and Forgejo, over `HOST/api/v1`. Forgejo is Gitea with another accent.
//!
//! Issues and changes share their numbers and their conversations here. Inline comments have no
//! threads by name and cannot be read one by one: they are listed review by review, and those on
//! one line are a thread (`review`). What a server can do depends on its version and is asked
//! once (`server`).

mod moves;
mod permission;
mod read;
mod review;
mod server;
pub mod webhook;
mod wire;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::{AccountId, Repo, RepoKey, Subject, SubjectKind};
use http::Method;
use http::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderValue};
use secrecy::SecretString;
use serde::Serialize;
use url::Url;

use crate::error::Error;
use crate::http::{Answer, Client, Connection, Content, Deadline, Misconfigured, Next, Pages};
use crate::ours::Ours;
use crate::port::{Read, Together};
use server::Server;

const PAGES: Pages = Pages { size: ("limit", 50), next: Next::Total };

/// A review is one request, but the server asks git about the lines of each comment.
const TOGETHER: Together = Together { most: 30, each: Duration::from_millis(500) };

/// A connection to a Gitea or a Forgejo.
#[derive(Debug)]
pub struct Gitea {
    client: Client,
    token: SecretString,
    ours: Arc<Ours>,
    /// What the server can do, once it was asked.
    server: OnceLock<Server>,
    /// The account that the token belongs to, once it was asked.
    account: OnceLock<AccountId>,
}

impl Gitea {
    pub fn new(connection: Connection, ours: Arc<Ours>) -> Result<Self, Misconfigured> {
        let headers =
            HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        let token = connection.token.clone();
        let client =
            Client::new(connection, headers)?.speaking_as(AUTHORIZATION, "token ", &token)?;
        Ok(Self { client, token, ours, server: OnceLock::new(), account: OnceLock::new() })
    }

    /// Builds an address below a repository.
    fn url(&self, full_name: &str, tail: &[&str]) -> Result<Url, Error> {
        let Some((owner, name)) = full_name.split_once('/').filter(|(_, name)| !name.contains('/'))
        else {
            return Err(Error::Gone { what: format!("the repository {full_name}") });
        };
        let mut segments = vec!["repos", owner, name];
        segments.extend(tail);
        self.client.url(&segments)
    }

    /// Returns the address of the web pages, below which the API stands.
    fn web(&self) -> Url {
        let mut url = self.client.base().clone();
        let path = url.path().trim_end_matches('/').trim_end_matches("/api/v1").to_owned();
        url.set_path(&path);
        url
    }

    async fn raw_issue(&self, subject: &Subject, by: Deadline) -> Result<wire::Issue, Error> {
        let url = self.url(&subject.repo.full_name, &["issues", &thread_number(subject)?])?;
        self.client.read(&subject.to_string(), url, by).await
    }

    async fn raw_change(&self, subject: &Subject, by: Deadline) -> Result<wire::Pull, Error> {
        let url = self.url(&subject.repo.full_name, &["pulls", &change_number(subject)?])?;
        self.client.read(&subject.to_string(), url, by).await
    }

    /// Sends a write below a repository. If the repository goes by another name by now, the name
    /// is read anew and the write repeated: the redirect itself changed nothing.
    async fn write<B: Serialize + Sync>(
        &self,
        what: &str,
        repo: &Repo,
        (method, tail): (Method, &[&str]),
        body: Option<&B>,
        content: Content,
        by: Deadline,
    ) -> Result<Answer, Error> {
        let call = (method.clone(), self.url(&repo.full_name, tail)?);
        match self.client.write(what, call, body, content, by).await {
            Err(Error::Refused { status: 301 | 302 | 307 | 308, .. }) => {
                let today = self.repository(&repo.full_name).await?;
                if matches!(repo.key, RepoKey::Id(_)) && today.key != repo.key {
                    return Err(Error::Gone { what: format!("the repository {}", repo.full_name) });
                }
                let call = (method, self.url(&today.full_name, tail)?);
                self.client.write(what, call, body, content, by).await
            }
            answer => answer,
        }
    }
}

/// Returns the number of the subject's thread. A branch has none.
fn thread_number(subject: &Subject) -> Result<String, Error> {
    match subject.kind {
        SubjectKind::Issue | SubjectKind::Change => Ok(subject.number.to_string()),
        SubjectKind::Branch => Err(Error::Gone { what: format!("a conversation on {subject}") }),
    }
}

/// Returns the number of a change. Issues and branches are none.
fn change_number(subject: &Subject) -> Result<String, Error> {
    match subject.kind {
        SubjectKind::Change => Ok(subject.number.to_string()),
        SubjectKind::Issue | SubjectKind::Branch => {
            Err(Error::Gone { what: format!("a change at {subject}") })
        }
    }
}

/// Appends a name that may hold slashes: some routes take the rest of the path as one.
fn path_below<'a>(head: &'a str, name: &'a str) -> Vec<&'a str> {
    let mut tail = vec![head];
    tail.extend(name.split('/'));
    tail
}

#[cfg(test)]
mod tests;
