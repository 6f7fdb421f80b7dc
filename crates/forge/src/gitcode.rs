//! GitCode and its twin `AtomGit`, over the fifth version of their API; statuses, which it lacks,
//! over the fourth.
//!
//! Issues and changes have numbers of their own here, and comments of each kind have ids of their
//! own. There are no batches, no reactions, and inline comments on lines of the new version only:
//! each is read back, because GitCode has been seen to put them elsewhere.

mod firewall;
mod moves;
mod read;
pub mod webhook;
mod wire;

use std::sync::{Arc, OnceLock};

use domain::{Repo, RepoKey, Subject, SubjectKind};
use http::Method;
use http::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::SecretString;
use serde::Serialize;
use url::Url;

use crate::error::Error;
use crate::http::{
    Answer, Client, Connection, Content, Deadline, Listing, Misconfigured, Next, Pages,
};
use crate::ours::Ours;
use crate::port::Read;

const PAGES: Pages = Pages { size: ("per_page", 100), next: Next::Number };

/// How often a list that changes while it is read is read anew.
const READINGS: usize = 3;

/// The version of the API that has statuses, and the numbers of accounts.
const OLDER: &str = "v4";

/// A connection to GitCode.
#[derive(Debug)]
pub struct GitCode {
    client: Client,
    /// The same, with the credential as the older API wants it.
    older: Client,
    token: SecretString,
    ours: Arc<Ours>,
    /// Why the server takes no statuses, once it has said so.
    no_statuses: OnceLock<String>,
}

impl GitCode {
    pub fn new(connection: Connection, ours: Arc<Ours>) -> Result<Self, Misconfigured> {
        let headers =
            HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]);
        let token = connection.token.clone();
        let nobody = Client::new(connection, headers)?;
        // Some writes are refused with a token in the address: it goes in the header, always.
        let client = nobody.speaking_as(AUTHORIZATION, "Bearer ", &token)?;
        let older = nobody.speaking_as(HeaderName::from_static("private-token"), "", &token)?;
        Ok(Self { client, older, token, ours, no_statuses: OnceLock::new() })
    }

    /// Builds an address below a repository.
    fn url(&self, full_name: &str, tail: &[&str]) -> Result<Url, Error> {
        let Some((owner, name)) = full_name.rsplit_once('/') else {
            return Err(Error::Gone { what: format!("the repository {full_name}") });
        };
        let mut segments = vec!["repos", owner, name];
        segments.extend(tail);
        self.client.url(&segments)
    }

    /// Reads a comment by its number, if it stands on the subject.
    async fn raw_comment(
        &self,
        subject: &Subject,
        id: u64,
        by: Deadline,
    ) -> Result<wire::Comment, Error> {
        let what = format!("comment {id} of {subject}");
        let (family, _) = address(subject)?;
        let url = self.url(&subject.repo.full_name, &[family, "comments", &id.to_string()])?;
        let comment = self.client.read::<wire::Comment>(&what, url, by).await?.numbered(id);
        match comment.is_foreign_to(subject) {
            true => Err(Error::Gone { what }),
            false => Ok(comment),
        }
    }

    async fn raw_issue(&self, subject: &Subject) -> Result<wire::Issue, Error> {
        let number = subject.number.to_string();
        let url = self.url(&subject.repo.full_name, &["issues", &number])?;
        self.client.read(&subject.to_string(), url, self.client.now()).await
    }

    async fn raw_change(&self, subject: &Subject, by: Deadline) -> Result<wire::Pull, Error> {
        let number = change_number(subject)?;
        let url = self.url(&subject.repo.full_name, &["pulls", &number])?;
        self.client.read(&subject.to_string(), url, by).await
    }

    /// Lists comments of a subject, oldest first. A list that changed while it was read is read
    /// anew (E2). `kind` selects among those of a change.
    async fn comments(
        &self,
        subject: &Subject,
        kind: Option<&str>,
    ) -> Result<Vec<wire::Comment>, Error> {
        let what = format!("the comments of {subject}");
        let (family, number) = address(subject)?;
        let mut url = self.url(&subject.repo.full_name, &[family, &number, "comments"])?;
        if let Some(kind) = kind {
            url.query_pairs_mut().append_pair("comment_type", kind).append_pair("direction", "asc");
        }
        let mut moved = Error::Conflict { what: what.clone() };
        for _ in 0..READINGS {
            let listed = self.client.read_all(&what, url.clone(), PAGES, wire::Comment::key).await;
            match listed {
                Ok(Listing { mut items, .. }) => {
                    items.sort_by_key(wire::Comment::number);
                    return Ok(items);
                }
                Err(error @ Error::Conflict { .. }) => moved = error,
                Err(error) => return Err(error),
            }
        }
        Err(moved)
    }

    /// Sends a write below a repository. If the repository goes by another name by now, the name
    /// is read anew and the write repeated: the redirect itself changed nothing.
    async fn write<B: Serialize + Sync>(
        &self,
        what: &str,
        repo: &Repo,
        (method, tail): (Method, &[&str]),
        body: Option<&B>,
        by: Deadline,
    ) -> Result<Answer, Error> {
        let call = (method.clone(), self.url(&repo.full_name, tail)?);
        match self.client.write(what, call, body, Content::Answer, by).await {
            Err(Error::Refused { status: 301 | 302 | 307 | 308, .. }) => {
                let today = self.repository(&repo.full_name).await?;
                if matches!(repo.key, RepoKey::Id(_)) && today.key != repo.key {
                    return Err(Error::Gone { what: format!("the repository {}", repo.full_name) });
                }
                let call = (method, self.url(&today.full_name, tail)?);
                self.client.write(what, call, body, Content::Answer, by).await
            }
            answer => answer,
        }
    }
}

/// Returns the path under which the subject's conversation stands: issues and changes have one
/// each. A branch has none.
fn address(subject: &Subject) -> Result<(&'static str, String), Error> {
    match subject.kind {
        SubjectKind::Issue => Ok(("issues", subject.number.to_string())),
        SubjectKind::Change => Ok(("pulls", subject.number.to_string())),
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

#[cfg(test)]
mod tests;
