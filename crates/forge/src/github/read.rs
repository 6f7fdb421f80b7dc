//! What GitHub tells.

use std::collections::BTreeMap;

use async_trait::async_trait;
use domain::event::Place;
use domain::{AccountId, Actor, Repo, Subject, Time};
use secrecy::{ExposeSecret, SecretString};

use super::{GitHub, Identity, PAGES, change_number, thread_number, wire};
use crate::capability::{Ability, Capabilities, FileComments, Ranges, Sides, Suggestions};
use crate::error::Error;
use crate::host::Host;
use crate::http::Listing;
use crate::port::{
    BranchNow, ChangeNow, GitAccess, IssueNow, Permission, Read, Review, Said, Thread, Touched,
};

/// How often a conversation that changes while it is read is read anew.
const READINGS: usize = 3;

/// The account of Actions' own token, which may not ask who it is.
const ACTIONS: (i64, &str) = (41_898_282, "github-actions[bot]");

impl GitHub {
    async fn account_of(&self, token: &SecretString) -> Result<Actor, Error> {
        let url = self.anonymous.url(&["user"])?;
        match self.read_one::<wire::User>("our own account", "", url, self.now()).await {
            Ok(user) => Ok(user.into_actor()),
            // On github.com the token of an Actions run is always this account's.
            Err(Error::Forbidden { .. })
                if token.expose_secret().starts_with("ghs_")
                    && self.anonymous.base().host_str() == Some("api.github.com") =>
            {
                let (id, login) = ACTIONS;
                Ok(Actor { id: Some(AccountId(id)), login: login.to_owned(), bot: true })
            }
            Err(error) => Err(error),
        }
    }
}

#[async_trait]
impl Read for GitHub {
    fn host(&self) -> Host {
        Host::GitHub
    }

    async fn capabilities(&self) -> Result<Capabilities, Error> {
        Ok(Capabilities {
            version: None,
            ranges: Ranges::Yes,
            sides: Sides::Both,
            files: FileComments::Yes,
            suggestions: Suggestions::Lines,
            replies: Ability::Yes,
            resolving: Ability::Yes,
            reactions: Ability::Yes,
            drafts: Ability::Yes,
            statuses: Ability::Yes,
        })
    }

    async fn own_account(&self) -> Result<Actor, Error> {
        let actor = match &self.identity {
            Identity::App(app) => app.account(&self.anonymous).await?,
            Identity::Token(token) => self.account_of(token).await?,
        };
        actor.id.into_iter().for_each(|id| self.ours.learn(id));
        Ok(actor)
    }

    async fn repository(&self, full_name: &str) -> Result<Repo, Error> {
        let url = self.url(full_name, &[])?;
        let what = format!("the repository {full_name}");
        let repository: wire::Repository = self.read_one(&what, full_name, url, self.now()).await?;
        Ok(repository.into_repo(self.anonymous.origin()))
    }

    async fn comment(&self, subject: &Subject, id: u64, place: &Place) -> Result<Said, Error> {
        let by = self.now();
        match place {
            Place::Conversation => self.one_of("issues", subject, id, by).await,
            Place::Thread { .. } => self.one_of("pulls", subject, id, by).await,
            Place::Review { review } => {
                let id = review.unwrap_or(id).to_string();
                let what = format!("review {id} of {subject}");
                let tail = ["pulls", &thread_number(subject)?, "reviews", &id];
                let url = self.url(&subject.repo.full_name, &tail)?;
                let review: wire::Review =
                    self.read_one(&what, &subject.repo.full_name, url, by).await?;
                Ok(review.into_said())
            }
        }
    }

    async fn opening(&self, subject: &Subject) -> Result<Said, Error> {
        Ok(self.raw_issue(subject, self.now()).await?.into_said())
    }

    async fn issue(&self, subject: &Subject) -> Result<IssueNow, Error> {
        Ok(self.raw_issue(subject, self.now()).await?.into_now())
    }

    async fn change(&self, subject: &Subject) -> Result<ChangeNow, Error> {
        let change = self.raw_change(subject, self.now()).await?;
        Ok(change.into_now(&self.anonymous.origin()))
    }

    async fn conversation(&self, subject: &Subject) -> Result<Vec<Said>, Error> {
        let said = |listing: Listing<wire::Comment>| {
            listing.items.into_iter().map(wire::Comment::into_said).collect()
        };
        let number = thread_number(subject)?;
        let tail = ["issues", &number, "comments"];
        let listing = self.listing(subject, &tail).await?;
        if listing.pages <= 1 {
            return Ok(said(listing));
        }
        // A comment removed while pages are read hides another one: the count tells.
        for _ in 0..READINGS {
            let before = self.raw_issue(subject, self.now()).await?.comments;
            let listing = self.listing(subject, &tail).await?;
            if self.raw_issue(subject, self.now()).await?.comments == before {
                return Ok(said(listing));
            }
        }
        let what = format!("the conversation of {subject}");
        Err(Error::Conflict { what })
    }

    async fn threads(&self, subject: &Subject) -> Result<Vec<Thread>, Error> {
        let number = change_number(subject)?;
        let listing = self.listing(subject, &["pulls", &number, "comments"]).await?;
        if listing.items.is_empty() {
            return Ok(Vec::new());
        }
        let states = match self.thread_states(subject).await {
            Ok(states) => states,
            // A token without the right sees the words, but not whether they are settled.
            Err(Error::Forbidden { .. } | Error::Gone { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let states: BTreeMap<u64, _> =
            states.into_iter().map(|state| (state.root, state)).collect();
        let mut threads: BTreeMap<u64, Thread> = BTreeMap::new();
        for comment in listing.items {
            let (root, at, outdated) = (comment.root(), comment.spot(), comment.is_outdated());
            let state = states.get(&root);
            let thread = threads.entry(root).or_insert_with(|| Thread {
                id: root.to_string(),
                at,
                outdated: state.map_or(outdated, |state| state.outdated),
                resolved: state.map(|state| state.resolved),
                resolved_by: state.and_then(|state| state.resolved_by.as_deref()).map(Actor::named),
                comments: Vec::new(),
            });
            thread.comments.push(comment.into_said());
        }
        Ok(threads.into_values().collect())
    }

    async fn reviews(&self, subject: &Subject) -> Result<Vec<Review>, Error> {
        let url =
            self.url(&subject.repo.full_name, &["pulls", &change_number(subject)?, "reviews"])?;
        let what = format!("the reviews of {subject}");
        let id = |review: &wire::Review| review.id.to_string();
        let listing = self.read_all(&what, &subject.repo.full_name, url, id).await?;
        Ok(listing.items.into_iter().filter_map(wire::Review::into_review).collect())
    }

    async fn permission(&self, repo: &Repo, actor: &Actor) -> Result<Permission, Error> {
        let url = self.url(&repo.full_name, &["collaborators", &actor.login, "permission"])?;
        let what = format!("the permission of {} on {}", actor.login, repo.full_name);
        match self.read_one::<wire::Collaborator>(&what, &repo.full_name, url, self.now()).await {
            Ok(collaborator) => Ok(collaborator.permission_of(actor)),
            Err(Error::Gone { .. }) => Ok(Permission::None),
            Err(error) => Err(error),
        }
    }

    async fn branch(&self, repo: &Repo, name: &str) -> Result<Option<BranchNow>, Error> {
        let what = format!("the branch {name} of {}", repo.full_name);
        let url = self.url(&repo.full_name, &["branches", name])?;
        match self.read_one::<wire::Branch>(&what, &repo.full_name, url, self.now()).await {
            Ok(branch) => Ok(Some(branch.into_now())),
            Err(Error::Gone { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn changes_of_branch(&self, repo: &Repo, branch: &str) -> Result<Vec<ChangeNow>, Error> {
        let mut url = self.url(&repo.full_name, &["pulls"])?;
        let (owner, _) = repo.owner_and_name();
        url.query_pairs_mut()
            .append_pair("state", "open")
            .append_pair("head", &format!("{owner}:{branch}"))
            .append_pair("sort", "created")
            .append_pair("direction", "desc");
        let what = format!("the changes of {branch} in {}", repo.full_name);
        let listing = self
            .read_all(&what, &repo.full_name, url, |pull: &wire::Pull| pull.number.to_string())
            .await?;
        let origin = self.anonymous.origin();
        let changes = listing.items.into_iter().map(|pull| pull.into_now(&origin));
        // The forge's filter goes by names; a fork may have the same branch.
        Ok(changes.filter(|change| change.source.branch == branch).collect())
    }

    async fn touched_since(&self, repo: &Repo, since: Time) -> Result<Touched, Error> {
        let mut url = self.url(&repo.full_name, &["pulls"])?;
        url.query_pairs_mut()
            .append_pair("state", "open")
            .append_pair("sort", "updated")
            .append_pair("direction", "desc");
        let what = format!("the open changes of {}", repo.full_name);
        let before = |pull: &wire::Pull| pull.was_touched_before(since);
        let id = |pull: &wire::Pull| pull.number.to_string();
        let pulls =
            self.client(&repo.full_name).await?.read_until(&what, url, PAGES, id, before).await?;
        let origin = self.anonymous.origin();
        let fresh = pulls.items.into_iter().filter(|pull| !before(pull));
        let changes = fresh.map(|pull| pull.into_now(&origin)).collect();

        let ourselves = self.own_account().await?.login;
        let mut url = self.url(&repo.full_name, &["issues"])?;
        url.query_pairs_mut()
            .append_pair("state", "open")
            .append_pair("assignee", &ourselves)
            .append_pair("since", &wire::stamp(since));
        let what = format!("the issues of {} that are assigned to us", repo.full_name);
        let id = |issue: &wire::Issue| issue.number.unwrap_or_default().to_string();
        let listing = self.read_all(&what, &repo.full_name, url, id).await?;
        let issues = listing.items.into_iter().filter(|issue| issue.pull_request.is_none());
        Ok(Touched { changes, issues: issues.map(wire::Issue::into_now).collect() })
    }

    async fn git_access(&self, repo: &Repo) -> Result<GitAccess, Error> {
        let what = || format!("the repository {}", repo.full_name);
        let mut url = self.anonymous.base().clone();
        // The API of the public hosts stands on a host of its own: `api.` before the name.
        if let Some(host) = url.host_str().and_then(|host| host.strip_prefix("api."))
            && (host == "github.com" || host.ends_with(".ghe.com"))
        {
            let host = host.to_owned();
            url.set_host(Some(&host)).map_err(|_| Error::Gone { what: what() })?;
        }
        let path = url.path().trim_end_matches('/').trim_end_matches("/api/v3").to_owned();
        url.set_path(&format!("{path}/{}.git", repo.full_name));
        Ok(GitAccess {
            url,
            username: "x-access-token".to_owned(),
            token: Some(self.token(&repo.full_name).await?),
        })
    }
}
