//! GitHub: github.com, GHE.com and GitHub Enterprise Server, over REST.
//!
//! Issues and changes share their numbers and their conversations here. Paths use the
//! repository's name of the event; a rename since then costs a redirect for a read, and one look
//! for today's name before a write is sent again.

pub mod webhook;
mod wire;

use std::sync::Arc;

use async_trait::async_trait;
use domain::event::Place;
use domain::publication::{Effect, ReactionTarget, Sign};
use domain::{Actor, Publication, Receipt, Repo, RepoKey, Slot, Subject, SubjectKind};
use http::Method;
use http::header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use secrecy::ExposeSecret;
use url::Url;

use crate::error::Error;
use crate::host::Host;
use crate::http::{Answer, Client, Connection, Content, Deadline, Listing, Misconfigured};
use crate::ours::Ours;
use crate::port::{Look, Permission, Read, Said, Write};
use crate::slot::{Comments, Slots};

/// How often a conversation that changes while it is read is read anew.
const READINGS: usize = 3;

/// A connection to GitHub.
#[derive(Debug)]
pub struct GitHub {
    client: Client,
    ours: Arc<Ours>,
}

impl GitHub {
    pub fn new(connection: Connection, ours: Arc<Ours>) -> Result<Self, Misconfigured> {
        let bearer = format!("Bearer {}", connection.token.expose_secret());
        let mut authorization = HeaderValue::from_str(&bearer).map_err(|_| Misconfigured::Token)?;
        authorization.set_sensitive(true);
        let headers = HeaderMap::from_iter([
            (AUTHORIZATION, authorization),
            (ACCEPT, HeaderValue::from_static("application/vnd.github+json")),
            // Supported until 2028, and the only one that older servers know.
            (
                HeaderName::from_static("x-github-api-version"),
                HeaderValue::from_static("2022-11-28"),
            ),
        ]);
        Ok(Self { client: Client::new(connection, headers)?, ours })
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

    fn now(&self) -> Deadline {
        Deadline::starting(self.client.clock())
    }

    fn slots(&self) -> Slots<'_> {
        Slots {
            comments: self,
            ours: &self.ours,
            redactor: self.client.redactor(),
            clock: self.client.clock(),
        }
    }

    async fn issue(&self, subject: &Subject, by: Deadline) -> Result<wire::Issue, Error> {
        let url = self.url(&subject.repo.full_name, &["issues", &thread_number(subject)?])?;
        self.client.read(&subject.to_string(), url, by).await
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
        let comment: wire::Comment = self.client.read(&what, url, by).await?;
        comment.on(subject, &what)
    }

    async fn listing(&self, subject: &Subject) -> Result<Listing<wire::Comment>, Error> {
        let tail = ["issues", &thread_number(subject)?, "comments"];
        let url = self.url(&subject.repo.full_name, &tail)?;
        let what = format!("the conversation of {subject}");
        self.client.read_all(&what, url, |comment: &wire::Comment| comment.id).await
    }

    /// Sends a write below a repository. If the repository goes by another name by now, the name
    /// is read anew and the write repeated: the redirect itself changed nothing.
    async fn write(
        &self,
        what: &str,
        repo: &Repo,
        (method, tail): (Method, &[&str]),
        body: Option<&wire::Outgoing<'_>>,
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

    async fn react(
        &self,
        subject: &Subject,
        on: &ReactionTarget,
        sign: Sign,
    ) -> Result<Receipt, Error> {
        let number = thread_number(subject)?;
        let target;
        let tail: &[&str] = match on {
            ReactionTarget::Subject => &["issues", &number, "reactions"],
            ReactionTarget::Comment { id, place } => {
                target = id.to_string();
                match place {
                    Place::Conversation => &["issues", "comments", &target, "reactions"],
                    Place::Thread { .. } => &["pulls", "comments", &target, "reactions"],
                    Place::Review { .. } => {
                        let why = "GitHub has no reactions on the text of a review".to_owned();
                        return Ok(Receipt::Refused { why });
                    }
                }
            }
        };
        let body = wire::Outgoing::Reaction { content: wire::reaction(sign) };
        let what = format!("a reaction on {subject}");
        self.write(
            &what,
            &subject.repo,
            (Method::POST, tail),
            Some(&body),
            Content::Aside,
            self.now(),
        )
        .await?;
        Ok(Receipt::Done)
    }
}

#[async_trait]
impl Read for GitHub {
    fn host(&self) -> Host {
        Host::GitHub
    }

    async fn own_account(&self) -> Result<Actor, Error> {
        let url = self.client.url(&["user"])?;
        let user: wire::User = self.client.read("our own account", url, self.now()).await?;
        let actor = user.into_actor();
        actor.id.into_iter().for_each(|id| self.ours.learn(id));
        Ok(actor)
    }

    async fn repository(&self, full_name: &str) -> Result<Repo, Error> {
        let url = self.url(full_name, &[])?;
        let what = format!("the repository {full_name}");
        let repository: wire::Repository = self.client.read(&what, url, self.now()).await?;
        Ok(repository.into_repo(self.client.origin()))
    }

    async fn comment(&self, subject: &Subject, id: u64, place: &Place) -> Result<Said, Error> {
        match place {
            Place::Conversation => self.one_of("issues", subject, id, self.now()).await,
            Place::Thread { .. } => self.one_of("pulls", subject, id, self.now()).await,
            Place::Review { review } => {
                let id = review.unwrap_or(id).to_string();
                let what = format!("review {id} of {subject}");
                let tail = ["pulls", &thread_number(subject)?, "reviews", &id];
                let url = self.url(&subject.repo.full_name, &tail)?;
                let review: wire::Review = self.client.read(&what, url, self.now()).await?;
                Ok(review.into_said())
            }
        }
    }

    async fn opening(&self, subject: &Subject) -> Result<Said, Error> {
        Ok(self.issue(subject, self.now()).await?.into_said())
    }

    async fn conversation(&self, subject: &Subject) -> Result<Vec<Said>, Error> {
        let said = |listing: Listing<wire::Comment>| {
            listing.items.into_iter().map(wire::Comment::into_said).collect()
        };
        let listing = self.listing(subject).await?;
        if listing.pages <= 1 {
            return Ok(said(listing));
        }
        // A comment removed while pages are read hides another one: the count tells.
        for _ in 0..READINGS {
            let before = self.issue(subject, self.now()).await?.comments;
            let listing = self.listing(subject).await?;
            if self.issue(subject, self.now()).await?.comments == before {
                return Ok(said(listing));
            }
        }
        let what = format!("the conversation of {subject}");
        Err(Error::Conflict { what })
    }

    async fn permission(&self, repo: &Repo, actor: &Actor) -> Result<Permission, Error> {
        let url = self.url(&repo.full_name, &["collaborators", &actor.login, "permission"])?;
        let what = format!("the permission of {} on {}", actor.login, repo.full_name);
        match self.client.read::<wire::Collaborator>(&what, url, self.now()).await {
            Ok(collaborator) => Ok(collaborator.permission_of(actor)),
            Err(Error::Gone { .. }) => Ok(Permission::None),
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl Write for GitHub {
    async fn send(
        &self,
        publication: &Publication,
        earlier: Option<&Receipt>,
    ) -> Result<Receipt, Error> {
        let Publication { subject, slot, effect } = publication;
        match effect {
            Effect::Comment(body) => {
                self.slots().publish((subject, slot), body, earlier, self.now()).await
            }
            Effect::Withdraw => self.slots().withdraw((subject, slot), earlier, self.now()).await,
            Effect::Reaction { on, sign } => self.react(subject, on, *sign).await,
        }
    }

    async fn find(&self, subject: &Subject, slot: &Slot) -> Look {
        self.slots().find(subject, slot).await
    }

    async fn settle_claim(
        &self,
        subject: &Subject,
        slot: &Slot,
        own: &Receipt,
    ) -> Result<Receipt, Error> {
        self.slots().settle(subject, slot, own).await
    }
}

#[async_trait]
impl Comments for GitHub {
    async fn one(&self, subject: &Subject, id: u64, by: Deadline) -> Result<Said, Error> {
        self.one_of("issues", subject, id, by).await
    }

    async fn create(&self, subject: &Subject, body: &str, by: Deadline) -> Result<Said, Error> {
        let what = format!("a comment on {subject}");
        let (number, body) = (thread_number(subject)?, wire::Outgoing::Comment { body });
        let call: (_, &[&str]) = (Method::POST, &["issues", &number, "comments"]);
        let answer =
            self.write(&what, &subject.repo, call, Some(&body), Content::Answer, by).await?;
        Ok(answer.parse::<wire::Comment>(&what)?.into_said())
    }

    async fn edit(
        &self,
        subject: &Subject,
        id: u64,
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        let what = format!("comment {id} of {subject}");
        let (id, body) = (id.to_string(), wire::Outgoing::Comment { body });
        let call: (_, &[&str]) = (Method::PATCH, &["issues", "comments", &id]);
        let answer =
            self.write(&what, &subject.repo, call, Some(&body), Content::Answer, by).await?;
        Ok(answer.parse::<wire::Comment>(&what)?.into_said())
    }

    async fn delete(&self, subject: &Subject, id: u64, by: Deadline) -> Result<(), Error> {
        let what = format!("comment {id} of {subject}");
        let id = id.to_string();
        let call: (_, &[&str]) = (Method::DELETE, &["issues", "comments", &id]);
        self.write(&what, &subject.repo, call, None, Content::Answer, by).await?;
        Ok(())
    }
}

/// Returns the number of the subject's thread. A branch has none.
fn thread_number(subject: &Subject) -> Result<String, Error> {
    match subject.kind {
        SubjectKind::Issue | SubjectKind::Change => Ok(subject.number.to_string()),
        SubjectKind::Branch => Err(Error::Gone { what: format!("a conversation on {subject}") }),
    }
}

#[cfg(test)]
mod tests;
