//! GitHub: github.com, GHE.com and GitHub Enterprise Server, over REST, and over GraphQL where
//! REST has no way (the state of threads and of drafts).
//!
//! Issues and changes share their numbers and their conversations here. Paths use the
//! repository's name of the event; a rename since then costs a redirect for a read, and one look
//! for today's name before a write is sent again.

mod app;
mod check;
mod graph;
mod moves;
mod read;
pub mod webhook;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use domain::{Repo, RepoKey, Subject, SubjectKind};
use http::Method;
use http::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::SecretString;
use serde::Serialize;
use serde::de::DeserializeOwned;
use url::Url;

use crate::error::Error;
use crate::http::{
    Answer, Client, Connection, Content, Deadline, Listing, Misconfigured, Next, Pages,
};
use crate::ours::Ours;
use crate::port::{Read, Said, Together};
use app::App;

const PAGES: Pages = Pages { size: ("per_page", 100), next: Next::Link };

/// A review is one request, however many comments it has, and one that lists them.
const TOGETHER: Together = Together { most: 60, each: Duration::from_millis(100) };

/// A connection to GitHub.
#[derive(Debug)]
pub struct GitHub {
    /// Speaks for nobody; see [`GitHub::client`].
    anonymous: Client,
    identity: Identity,
    ours: Arc<Ours>,
}

/// Who we are to GitHub.
#[derive(Debug)]
enum Identity {
    Token(SecretString),
    App(Box<App>),
}

impl GitHub {
    /// Speaks as the account of a token.
    pub fn new(connection: Connection, ours: Arc<Ours>) -> Result<Self, Misconfigured> {
        let token = connection.token.clone();
        let anonymous = client(connection)?;
        // A token that no header can carry is told now, not with the first request.
        anonymous.speaking_as(AUTHORIZATION, "Bearer ", &token)?;
        Ok(Self { anonymous, identity: Identity::Token(token), ours })
    }

    /// Speaks as a GitHub App, in every installation that it has. The connection's token is the
    /// App's private key.
    pub fn as_app(
        connection: Connection,
        app_id: &str,
        ours: Arc<Ours>,
    ) -> Result<Self, Misconfigured> {
        let app = App::new(app_id, &connection.token)?;
        Ok(Self { anonymous: client(connection)?, identity: Identity::App(Box::new(app)), ours })
    }

    /// Returns the token that is good for a repository at this moment.
    async fn token(&self, full_name: &str) -> Result<SecretString, Error> {
        match &self.identity {
            Identity::Token(token) => Ok(token.clone()),
            Identity::App(app) => app.token(&self.anonymous, full_name).await,
        }
    }

    /// Returns the client that speaks for us in a repository.
    async fn client(&self, full_name: &str) -> Result<Client, Error> {
        let token = self.token(full_name).await?;
        self.anonymous
            .speaking_as(AUTHORIZATION, "Bearer ", &token)
            .map_err(|error| Error::Unauthenticated { why: error.to_string() })
    }

    /// Passes an answer on. After a 401 what we know of ourselves is forgotten: the next request
    /// asks anew who we are.
    async fn noticing<T>(&self, full_name: &str, answer: Result<T, Error>) -> Result<T, Error> {
        if let (Err(Error::Unauthenticated { .. }), Identity::App(app)) = (&answer, &self.identity)
        {
            app.forget(full_name).await;
        }
        answer
    }

    /// Reads one object of a repository.
    async fn read_one<T: DeserializeOwned>(
        &self,
        what: &str,
        full_name: &str,
        url: Url,
        by: Deadline,
    ) -> Result<T, Error> {
        let answer = self.client(full_name).await?.read(what, url, by).await;
        self.noticing(full_name, answer).await
    }

    /// Reads a whole list of a repository.
    async fn read_all<T: DeserializeOwned>(
        &self,
        what: &str,
        full_name: &str,
        url: Url,
        id: impl Fn(&T) -> String,
    ) -> Result<Listing<T>, Error> {
        let answer = self.client(full_name).await?.read_all(what, url, PAGES, id).await;
        self.noticing(full_name, answer).await
    }

    fn now(&self) -> Deadline {
        self.anonymous.now()
    }

    /// Builds an address below a repository.
    fn url(&self, full_name: &str, tail: &[&str]) -> Result<Url, Error> {
        let Some((owner, name)) = full_name.split_once('/').filter(|(_, name)| !name.contains('/'))
        else {
            return Err(Error::Gone { what: format!("the repository {full_name}") });
        };
        let mut segments = vec!["repos", owner, name];
        segments.extend(tail);
        self.anonymous.url(&segments)
    }

    async fn raw_issue(&self, subject: &Subject, by: Deadline) -> Result<wire::Issue, Error> {
        let url = self.url(&subject.repo.full_name, &["issues", &thread_number(subject)?])?;
        self.read_one(&subject.to_string(), &subject.repo.full_name, url, by).await
    }

    async fn raw_change(&self, subject: &Subject, by: Deadline) -> Result<wire::Pull, Error> {
        let url = self.url(&subject.repo.full_name, &["pulls", &change_number(subject)?])?;
        self.read_one(&subject.to_string(), &subject.repo.full_name, url, by).await
    }

    /// Reads a comment by its id. Conversations (`issues`) and inline threads (`pulls`) have ids
    /// of their own.
    async fn one_of(
        &self,
        family: &str,
        subject: &Subject,
        id: u64,
        by: Deadline,
    ) -> Result<Said, Error> {
        let what = format!("comment {id} of {subject}");
        let url = self.url(&subject.repo.full_name, &[family, "comments", &id.to_string()])?;
        let comment: wire::Comment = self.read_one(&what, &subject.repo.full_name, url, by).await?;
        comment.on(subject, &what)
    }

    async fn listing(
        &self,
        subject: &Subject,
        tail: &[&str],
    ) -> Result<Listing<wire::Comment>, Error> {
        let url = self.url(&subject.repo.full_name, tail)?;
        let what = format!("the conversation of {subject}");
        let id = |comment: &wire::Comment| comment.id.to_string();
        self.read_all(&what, &subject.repo.full_name, url, id).await
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
        let client = self.client(&repo.full_name).await?;
        let answer = client.write(what, call, body, content, by).await;
        match self.noticing(&repo.full_name, answer).await {
            Err(Error::Refused { status: 301 | 302 | 307 | 308, .. }) => {
                let today = self.repository(&repo.full_name).await?;
                if matches!(repo.key, RepoKey::Id(_)) && today.key != repo.key {
                    return Err(Error::Gone { what: format!("the repository {}", repo.full_name) });
                }
                let call = (method, self.url(&today.full_name, tail)?);
                self.client(&today.full_name).await?.write(what, call, body, content, by).await
            }
            answer => answer,
        }
    }
}

fn client(connection: Connection) -> Result<Client, Misconfigured> {
    let headers = HeaderMap::from_iter([
        (ACCEPT, HeaderValue::from_static("application/vnd.github+json")),
        // Supported until 2028, and the only one that older servers know.
        (HeaderName::from_static("x-github-api-version"), HeaderValue::from_static("2022-11-28")),
    ]);
    Client::new(connection, headers)
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

#[cfg(test)]
mod tests;
