//! What GitCode tells.

use std::collections::HashMap;

use async_trait::async_trait;
use domain::event::Place;
use domain::{Actor, Repo, Subject, SubjectKind, Time};
use url::Url;

use super::wire::Identity;
use super::{GitCode, OLDER, PAGES, wire};
use crate::capability::{Ability, Capabilities, FileComments, Ranges, Sides, Suggestions};
use crate::error::Error;
use crate::host::Host;
use crate::port::{
    BranchNow, ChangeNow, GitAccess, IssueNow, Permission, Read, Review, Said, Thread, Touched,
};

pub(super) const NO_REACTIONS: &str = "GitCode's API has no reactions that can be added";

/// The public hosts whose API stands on a host of its own: `api.` before the name.
const PUBLIC: [&str; 2] = ["gitcode.com", "atomgit.com"];

#[async_trait]
impl Read for GitCode {
    fn host(&self) -> Host {
        Host::GitCode
    }

    async fn capabilities(&self) -> Result<Capabilities, Error> {
        Ok(Capabilities {
            version: None,
            ranges: Ranges::LastLine,
            sides: Sides::NewOnly,
            files: FileComments::No,
            suggestions: Suggestions::Shown,
            replies: Ability::Yes,
            resolving: Ability::Yes,
            reactions: Ability::No(NO_REACTIONS.to_owned()),
            drafts: Ability::Yes,
            statuses: self.no_statuses.get().map_or(Ability::Yes, |why| Ability::No(why.clone())),
        })
    }

    async fn own_account(&self) -> Result<Actor, Error> {
        let what = "our own account";
        let url = self.client.url(&["user"])?;
        let user: wire::User = self.client.read(what, url, self.client.now()).await?;
        let account = user.into_actor();
        account.id.into_iter().for_each(|id| self.ours.learn(id));
        if account.id.is_none_or(wire::is_numeric) {
            return Ok(account);
        }
        // Deliveries name us by a number: the older API knows it.
        let url = self.client.url_beside(OLDER, &["user"])?;
        match self.older.read::<wire::User>(what, url, self.client.now()).await {
            Ok(user) => match user.into_actor().id.filter(|id| wire::is_numeric(*id)) {
                Some(number) => {
                    self.ours.learn(number);
                    Ok(Actor { id: Some(number), ..account })
                }
                None => Ok(account),
            },
            Err(error) if error.is_outage() => Err(error),
            Err(error) => {
                tracing::warn!(%error, "GitCode does not tell the number of our own account");
                Ok(account)
            }
        }
    }

    async fn repository(&self, full_name: &str) -> Result<Repo, Error> {
        let url = self.url(full_name, &[])?;
        let what = format!("the repository {full_name}");
        let repository: wire::Repository = self.client.read(&what, url, self.client.now()).await?;
        Ok(repository.into_repo(self.client.origin(), full_name))
    }

    async fn comment(&self, subject: &Subject, id: u64, place: &Place) -> Result<Said, Error> {
        let comment = self.raw_comment(subject, id, self.client.now()).await?;
        let place = match place {
            Place::Thread { thread, reply, .. } => comment.place_in(thread.as_deref(), *reply),
            Place::Conversation | Place::Review { .. } => Place::Conversation,
        };
        comment.into_said(place, &format!("comment {id} of {subject}"))
    }

    async fn opening(&self, subject: &Subject) -> Result<Said, Error> {
        let (author, body, created_at, updated_at, url, open) = match subject.kind {
            SubjectKind::Change => {
                let now = self.change(subject).await?;
                (now.author, now.body, now.created_at, now.updated_at, now.url, now.open)
            }
            SubjectKind::Issue | SubjectKind::Branch => {
                let now = self.issue(subject).await?;
                (now.author, now.body, now.created_at, now.updated_at, now.url, now.open)
            }
        };
        let (place, open) = (Place::Conversation, Some(open));
        Ok(Said { id: 0, place, author, body, created_at, updated_at, url, open })
    }

    async fn issue(&self, subject: &Subject) -> Result<IssueNow, Error> {
        match subject.kind {
            SubjectKind::Issue => Ok(self.raw_issue(subject).await?.into_now()),
            SubjectKind::Change | SubjectKind::Branch => {
                Err(Error::Gone { what: format!("an issue at {subject}") })
            }
        }
    }

    async fn change(&self, subject: &Subject) -> Result<ChangeNow, Error> {
        let change = self.raw_change(subject, self.client.now()).await?;
        change.into_now(&self.client.origin(), &subject.to_string())
    }

    async fn conversation(&self, subject: &Subject) -> Result<Vec<Said>, Error> {
        let kind = (subject.kind == SubjectKind::Change).then_some("pr_comment");
        let what = format!("the conversation of {subject}");
        let listed = self.comments(subject, kind).await?;
        let mut said = Vec::with_capacity(listed.len());
        // The filter is checked: one that is not honoured must not mix code into the talk.
        for mut comment in listed.into_iter().filter(|comment| comment.is_inline() != Some(true)) {
            let replies = comment.take_replies();
            for comment in std::iter::once(comment).chain(replies) {
                said.push(comment.into_said(Place::Conversation, &what)?);
            }
        }
        said.sort_by_key(|said| said.id);
        Ok(said)
    }

    async fn threads(&self, subject: &Subject) -> Result<Vec<Thread>, Error> {
        super::change_number(subject)?;
        let what = format!("the threads of {subject}");
        let listed = self.comments(subject, Some("diff_comment")).await?;
        let mut threads: Vec<Thread> = Vec::new();
        let mut known = HashMap::new();
        for mut comment in listed.into_iter().filter(|comment| comment.is_inline() != Some(false)) {
            let name = comment.thread().map_or_else(|| comment.key(), str::to_owned);
            let place = *known.entry(name.clone()).or_insert(threads.len());
            if place == threads.len() {
                threads.push(Thread {
                    id: name.clone(),
                    at: comment.spot(),
                    outdated: comment.is_outdated(),
                    resolved: comment.resolved(),
                    resolved_by: comment.resolved_by(),
                    comments: Vec::new(),
                });
            }
            let Some(thread) = threads.get_mut(place) else { continue };
            // Replies stand inside the first comment, or behind it under the same name.
            let replies = comment.take_replies();
            for comment in std::iter::once(comment).chain(replies) {
                let at = comment.place_in(Some(&name), Some(!thread.comments.is_empty()));
                thread.comments.push(comment.into_said(at, &what)?);
            }
        }
        threads.iter_mut().for_each(|thread| thread.comments.sort_by_key(|said| said.id));
        Ok(threads)
    }

    async fn reviews(&self, subject: &Subject) -> Result<Vec<Review>, Error> {
        Ok(self.raw_change(subject, self.client.now()).await?.into_reviews())
    }

    async fn permission(&self, repo: &Repo, actor: &Actor) -> Result<Permission, Error> {
        let what = format!("the permission of {} on {}", actor.login, repo.full_name);
        let url = self.url(&repo.full_name, &["collaborators", &actor.login, "permission"]);
        let asked = match url {
            Ok(url) => self.client.read::<wire::Collaborator>(&what, url, self.client.now()).await,
            Err(error) => Err(error),
        };
        let collaborator = match asked {
            Ok(collaborator) => collaborator,
            Err(Error::Gone { .. }) => return Ok(Permission::None),
            Err(error) => return Err(error),
        };
        match collaborator.identity(actor) {
            Identity::Same => Ok(collaborator.permission()),
            Identity::Other => Ok(Permission::None),
            Identity::Incomparable => match self.is_still(actor, &what).await? {
                true => Ok(collaborator.permission()),
                false => Ok(Permission::None),
            },
        }
    }

    async fn branch(&self, repo: &Repo, name: &str) -> Result<Option<BranchNow>, Error> {
        let what = format!("the branch {name} of {}", repo.full_name);
        let url = self.url(&repo.full_name, &["branches", name])?;
        match self.client.read::<wire::Branch>(&what, url, self.client.now()).await {
            Ok(branch) => Ok(Some(branch.into_now(&what)?)),
            Err(Error::Gone { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn changes_of_branch(&self, repo: &Repo, branch: &str) -> Result<Vec<ChangeNow>, Error> {
        let url = self.open_changes(repo, "created_at")?;
        let what = format!("the open changes of {}", repo.full_name);
        let listing = self.client.read_all(&what, url, PAGES, wire::Pull::key).await?;
        let origin = self.client.origin();
        let mut changes = Vec::new();
        for pull in listing.items {
            let change = pull.into_now(&origin, &what)?;
            let at_home = change.source.repo.as_ref().is_none_or(|source| {
                source.key == repo.key || source.full_name.eq_ignore_ascii_case(&repo.full_name)
            });
            if change.open && at_home && change.source.branch == branch {
                changes.push(change);
            }
        }
        Ok(changes)
    }

    async fn touched_since(&self, repo: &Repo, since: Time) -> Result<Touched, Error> {
        let what = format!("the open changes of {}", repo.full_name);
        let url = self.open_changes(repo, "updated_at")?;
        let before = |pull: &wire::Pull| pull.was_touched_before(since);
        let pulls = self.client.read_until(&what, url, PAGES, wire::Pull::key, before).await?;
        let origin = self.client.origin();
        let fresh = pulls.items.into_iter().filter(|pull| !before(pull));
        let changes = fresh.map(|pull| pull.into_now(&origin, &what)).collect::<Result<_, _>>()?;

        // Makes us known to `ours`, by whatever id the API gives here.
        self.own_account().await?;
        let what = format!("the open issues of {}", repo.full_name);
        let mut url = self.url(&repo.full_name, &["issues"])?;
        url.query_pairs_mut()
            .append_pair("state", "open")
            .append_pair("order_by", "updated_at")
            .append_pair("sort", "desc");
        let before = |issue: &wire::Issue| issue.was_touched_before(since);
        let listing = self.client.read_until(&what, url, PAGES, wire::Issue::key, before).await?;
        let fresh = listing.items.into_iter().filter(|issue| !before(issue));
        let issues = fresh.map(wire::Issue::into_now);
        let ours =
            |issue: &IssueNow| issue.assignees.iter().any(|assignee| self.ours.wrote(assignee));
        Ok(Touched { changes, issues: issues.filter(|issue| issue.open && ours(issue)).collect() })
    }

    async fn git_access(&self, repo: &Repo) -> Result<GitAccess, Error> {
        let what = || format!("the repository {}", repo.full_name);
        let mut url = self.client.base().clone();
        if let Some(host) = url.host_str().and_then(|host| host.strip_prefix("api."))
            && PUBLIC.contains(&host)
        {
            let host = host.to_owned();
            url.set_host(Some(&host)).map_err(|_| Error::Gone { what: what() })?;
        }
        let path = url.path().trim_end_matches('/').trim_end_matches("/api/v5").to_owned();
        url.set_path(&format!("{path}/{}.git", repo.full_name));
        Ok(GitAccess { url, username: "oauth2".to_owned(), token: Some(self.token.clone()) })
    }
}

impl GitCode {
    /// Returns the address of the open changes, newest first. Changes and issues want their
    /// direction under different names.
    fn open_changes(&self, repo: &Repo, order: &str) -> Result<Url, Error> {
        let mut url = self.url(&repo.full_name, &["pulls"])?;
        url.query_pairs_mut()
            .append_pair("state", "open")
            .append_pair("order_by", order)
            .append_pair("direction", "desc");
        Ok(url)
    }

    /// Whether the actor's login still belongs to the number that a delivery gave (T9). The older
    /// API knows the numbers; if it does not tell, nobody's permission is believed.
    async fn is_still(&self, actor: &Actor, what: &str) -> Result<bool, Error> {
        let mut url = self.client.url_beside(OLDER, &["users"])?;
        url.query_pairs_mut().append_pair("username", &actor.login);
        match self.older.read::<Vec<wire::User>>(what, url, self.client.now()).await {
            Ok(users) => {
                let mut users = users.into_iter().map(wire::User::into_actor);
                Ok(users.any(|user| user.id == actor.id && user.is_called(&actor.login)))
            }
            Err(error) if error.is_outage() => Err(error),
            Err(error) => {
                let why = format!("the number of {} cannot be compared: {error}", actor.login);
                Err(Error::Refused { what: what.to_owned(), status: 0, why })
            }
        }
    }
}
