//! GitLab, of gitlab.com and self-managed, over its REST API of version 4.
//!
//! Issues and changes have numbers and conversations of their own here. Paths use the project's
//! numeric id where it is known, so that a rename costs nothing. Every discussion has an id; those
//! on code are threads, all others belong to the conversation.

mod drafts;
mod moves;
mod read;
pub mod webhook;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use domain::{Repo, RepoKey, Subject, SubjectKind};
use http::Method;
use http::header::{AUTHORIZATION, HeaderMap};
use secrecy::SecretString;
use serde::Serialize;
use tokio::sync::OnceCell;
use url::Url;

use crate::capability::Capabilities;
use crate::error::Error;
use crate::http::{Answer, Client, Connection, Content, Deadline, Misconfigured, Next, Pages};
use crate::ours::Ours;
use crate::port::{Said, Together};
use crate::write::moves::Home;

const PAGES: Pages = Pages { size: ("per_page", 100), next: Next::Header };

/// A comment of a batch is a draft of its own first, and where somebody else's drafts wait as
/// well, a publication of its own; on paced hosts these are a second apart.
const TOGETHER: Together = Together { most: 20, each: Duration::from_secs(3) };

/// How often a list that changes while it is read is read anew (E2).
const READINGS: usize = 3;

/// A connection to GitLab.
#[derive(Debug)]
pub struct GitLab {
    client: Client,
    token: SecretString,
    ours: Arc<Ours>,
    able: OnceCell<Capabilities>,
}

impl GitLab {
    pub fn new(connection: Connection, ours: Arc<Ours>) -> Result<Self, Misconfigured> {
        let token = connection.token.clone();
        // Personal, project, group and OAuth tokens are all taken in this form.
        let client = Client::new(connection, HeaderMap::new())?.speaking_as(
            AUTHORIZATION,
            "Bearer ",
            &token,
        )?;
        Ok(Self { client, token, ours, able: OnceCell::new() })
    }

    /// Builds an address below a project.
    fn url(&self, repo: &Repo, tail: &[&str]) -> Result<Url, Error> {
        match &repo.key {
            RepoKey::Id(id) => self.url_of(&id.to_string(), tail),
            RepoKey::Name(_) => self.url_of(name(&repo.full_name)?, tail),
        }
    }

    fn url_of(&self, project: &str, tail: &[&str]) -> Result<Url, Error> {
        let mut segments = vec!["projects", project];
        segments.extend(tail);
        self.client.url(&segments)
    }

    /// Returns the address that people use: of the instance itself, which may stand in a folder.
    fn site(&self) -> Url {
        let mut url = self.client.base().clone();
        let path = url.path().trim_end_matches('/').trim_end_matches("/api/v4").to_owned();
        url.set_path(&path);
        url
    }

    /// Returns the page of a subject. Notes tell no address of their own.
    fn page(&self, subject: &Subject) -> Option<String> {
        let family = family(subject).ok()?;
        let mut url = self.site();
        url.path_segments_mut()
            .ok()?
            .pop_if_empty()
            .extend(subject.repo.full_name.split('/'))
            .extend(["-", family, &subject.number.to_string()]);
        Some(url.into())
    }

    async fn raw_change(&self, subject: &Subject, by: Deadline) -> Result<wire::Change, Error> {
        let url = self.url(&subject.repo, &["merge_requests", &change_number(subject)?])?;
        self.client.read(&subject.to_string(), url, by).await
    }

    /// Reads a note if it stands on this subject, and not only for members.
    async fn note(
        &self,
        subject: &Subject,
        home: Home<'_>,
        id: u64,
        by: Deadline,
    ) -> Result<Said, Error> {
        let what = format!("comment {id} of {subject}");
        let (family, number, id) = (family(subject)?, subject.number.to_string(), id.to_string());
        let url = self.url(&subject.repo, &notes(family, &number, home, &[&id]))?;
        let note: wire::Note = self.client.read(&what, url, by).await?;
        match note.is_for_everybody() {
            true => Ok(note.into_said(self.page(subject).as_deref(), home)),
            false => Err(Error::Gone { what }),
        }
    }

    /// Sends a write below a project.
    async fn write<B: Serialize + Sync>(
        &self,
        what: &str,
        repo: &Repo,
        (method, tail): (Method, &[&str]),
        body: Option<&B>,
        by: Deadline,
    ) -> Result<Answer, Error> {
        let call = (method, self.url(repo, tail)?);
        self.client.write(what, call, body, Content::Answer, by).await
    }
}

/// Takes a full name; a number in its place would be read as an id.
fn name(full_name: &str) -> Result<&str, Error> {
    match full_name.contains('/') {
        true => Ok(full_name),
        false => Err(Error::Gone { what: format!("the repository {full_name}") }),
    }
}

/// Returns the path below which a subject stands. A branch has no conversation.
fn family(subject: &Subject) -> Result<&'static str, Error> {
    match subject.kind {
        SubjectKind::Issue => Ok("issues"),
        SubjectKind::Change => Ok("merge_requests"),
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

/// Returns the path of the notes of a subject: all of them, or those of one discussion.
fn notes<'a>(family: &'a str, number: &'a str, home: Home<'a>, tail: &[&'a str]) -> Vec<&'a str> {
    let mut path = vec![family, number];
    if let Home::Thread(thread) = home {
        path.extend(["discussions", thread]);
    }
    path.push("notes");
    path.extend(tail);
    path
}

#[cfg(test)]
mod tests;
