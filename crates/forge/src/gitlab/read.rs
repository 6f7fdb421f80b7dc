//! What GitLab tells.

use std::collections::BTreeMap;

use async_trait::async_trait;
use domain::event::Place;
use domain::{AccountId, Actor, Repo, RepoKey, Subject, SubjectKind, Time};
use serde::de::DeserializeOwned;
use url::Url;

use super::{GitLab, PAGES, READINGS, change_number, family, name, wire};
use crate::capability::{Ability, Capabilities, FileComments, Ranges, Sides, Suggestions};
use crate::error::Error;
use crate::host::Host;
use crate::port::{
    BranchNow, ChangeNow, GitAccess, IssueNow, Permission, Read, Review, Said, Thread, Touched,
};
use crate::write::moves::Home;

/// The first version whose comments can stand on whole files.
const FILE_COMMENTS: (u64, u64) = (16, 4);

impl GitLab {
    /// Reads a whole list, anew if it changed meanwhile.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        what: &str,
        url: &Url,
        id: impl Fn(&T) -> String,
    ) -> Result<Vec<T>, Error> {
        let mut readings = READINGS;
        loop {
            readings -= 1;
            match self.client.read_all(what, url.clone(), PAGES, &id).await {
                Err(Error::Conflict { .. }) if readings > 0 => {}
                listing => return Ok(listing?.items),
            }
        }
    }

    pub(super) async fn discussions(
        &self,
        subject: &Subject,
    ) -> Result<Vec<wire::Discussion>, Error> {
        let tail = ["merge_requests", &change_number(subject)?, "discussions"];
        let url = self.url(&subject.repo, &tail)?;
        let id = |discussion: &wire::Discussion| discussion.id.clone();
        self.list(&format!("the threads of {subject}"), &url, id).await
    }

    async fn raw_issue(&self, subject: &Subject) -> Result<wire::Issue, Error> {
        let what = subject.to_string();
        if subject.kind != SubjectKind::Issue {
            return Err(Error::Gone { what: format!("an issue at {what}") });
        }
        let url = self.url(&subject.repo, &["issues", &subject.number.to_string()])?;
        self.client.read(&what, url, self.client.now()).await
    }

    /// Puts changes into our words. GitLab tells the number of a fork only: its name is read anew,
    /// once for each. One whose difference is not computed yet has no head to speak of; it is
    /// touched again when that is done.
    pub(super) async fn changes_now(
        &self,
        repo: &Repo,
        changes: Vec<wire::Change>,
    ) -> Result<Vec<ChangeNow>, Error> {
        let mut forks: BTreeMap<u64, Option<Repo>> = BTreeMap::new();
        let mut told = Vec::with_capacity(changes.len());
        for change in changes {
            let source = match change.source_project_id {
                None => None,
                Some(id) if id == change.target_project_id => {
                    Some(Repo { key: RepoKey::Id(id), ..repo.clone() })
                }
                Some(id) => match forks.get(&id) {
                    Some(known) => known.clone(),
                    None => {
                        let fork = self.fork(id).await?;
                        forks.entry(id).or_insert(fork).clone()
                    }
                },
            };
            told.extend(change.into_now(source));
        }
        Ok(told)
    }

    async fn fork(&self, id: u64) -> Result<Option<Repo>, Error> {
        match self.project(&id.to_string()).await {
            Ok(repo) => Ok(Some(repo)),
            // A private fork that we may not see cannot be pushed to either.
            Err(Error::Gone { .. } | Error::Forbidden { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn project(&self, project: &str) -> Result<Repo, Error> {
        let what = format!("the repository {project}");
        let url = self.url_of(project, &[])?;
        let project: wire::Project = self.client.read(&what, url, self.client.now()).await?;
        Ok(project.into_repo(self.client.origin()))
    }

    /// Finds the account that has a name at this moment.
    async fn account(&self, login: &str) -> Result<Option<AccountId>, Error> {
        let mut url = self.client.url(&["users"])?;
        url.query_pairs_mut().append_pair("username", login);
        let what = format!("the account {login}");
        let found: Vec<wire::User> = self.client.read(&what, url, self.client.now()).await?;
        Ok(found.into_iter().find(|user| user.is_called(login)).map(|user| AccountId(user.id)))
    }

    async fn probe(&self) -> Result<Capabilities, Error> {
        let url = self.client.url(&["version"])?;
        let what = "the version of GitLab";
        let version = match self.client.read(what, url, self.client.now()).await {
            Ok(wire::Release { version }) => Some(version),
            // Not every token may ask. What is refused then finds its next best place anyway.
            Err(Error::Forbidden { .. } | Error::Gone { .. }) => None,
            Err(error) => return Err(error),
        };
        let files = match version.as_deref().and_then(number) {
            Some(version) if version < FILE_COMMENTS => FileComments::No,
            Some(_) | None => FileComments::Yes,
        };
        Ok(Capabilities {
            version,
            ranges: Ranges::Yes,
            sides: Sides::Both,
            files,
            suggestions: Suggestions::Offsets,
            replies: Ability::Yes,
            resolving: Ability::Yes,
            reactions: Ability::Yes,
            drafts: Ability::Yes,
            statuses: Ability::Yes,
        })
    }
}

/// Reads the first two numbers of a version like `17.3.1-ee`.
fn number(version: &str) -> Option<(u64, u64)> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[async_trait]
impl Read for GitLab {
    fn host(&self) -> Host {
        Host::GitLab
    }

    async fn capabilities(&self) -> Result<Capabilities, Error> {
        self.able.get_or_try_init(|| self.probe()).await.cloned()
    }

    async fn own_account(&self) -> Result<Actor, Error> {
        let url = self.client.url(&["user"])?;
        let user: wire::User = self.client.read("our own account", url, self.client.now()).await?;
        let actor = user.into_actor();
        actor.id.into_iter().for_each(|id| self.ours.learn(id));
        Ok(actor)
    }

    async fn repository(&self, full_name: &str) -> Result<Repo, Error> {
        self.project(name(full_name)?).await
    }

    async fn comment(&self, subject: &Subject, id: u64, place: &Place) -> Result<Said, Error> {
        let home = match place {
            Place::Thread { thread: Some(thread), .. } => Home::Thread(thread),
            Place::Conversation | Place::Thread { thread: None, .. } => Home::Conversation,
            Place::Review { .. } => {
                let what = format!("review {id} of {subject}: GitLab has no texts of reviews");
                return Err(Error::Gone { what });
            }
        };
        self.note(subject, home, id, self.client.now()).await
    }

    async fn opening(&self, subject: &Subject) -> Result<Said, Error> {
        match subject.kind {
            SubjectKind::Change => {
                Ok(self.raw_change(subject, self.client.now()).await?.into_said())
            }
            SubjectKind::Issue | SubjectKind::Branch => {
                Ok(self.raw_issue(subject).await?.into_said())
            }
        }
    }

    async fn issue(&self, subject: &Subject) -> Result<IssueNow, Error> {
        Ok(self.raw_issue(subject).await?.into_now())
    }

    async fn change(&self, subject: &Subject) -> Result<ChangeNow, Error> {
        let change = self.raw_change(subject, self.client.now()).await?;
        let told = self.changes_now(&subject.repo, vec![change]).await?;
        // Its difference is computed after it was opened: a moment later it is there.
        told.into_iter().next().ok_or_else(|| Error::Conflict { what: subject.to_string() })
    }

    async fn conversation(&self, subject: &Subject) -> Result<Vec<Said>, Error> {
        let what = format!("the conversation of {subject}");
        let tail = [family(subject)?, &subject.number.to_string(), "notes"];
        let mut url = self.url(&subject.repo, &tail)?;
        url.query_pairs_mut().append_pair("sort", "asc").append_pair("order_by", "created_at");
        let notes = self.list(&what, &url, |note: &wire::Note| note.id.to_string()).await?;
        let page = self.page(subject);
        let said = |note: wire::Note| note.into_said(page.as_deref(), Home::Conversation);
        Ok(notes.into_iter().filter(wire::Note::is_conversation).map(said).collect())
    }

    async fn threads(&self, subject: &Subject) -> Result<Vec<Thread>, Error> {
        let mut discussions = self.discussions(subject).await?;
        discussions.retain(wire::Discussion::is_thread);
        if discussions.is_empty() {
            return Ok(Vec::new());
        }
        let change = self.raw_change(subject, self.client.now()).await?;
        let page = self.page(subject);
        let thread =
            |discussion: wire::Discussion| discussion.into_thread(page.as_deref(), change.head());
        Ok(discussions.into_iter().filter_map(thread).collect())
    }

    async fn reviews(&self, subject: &Subject) -> Result<Vec<Review>, Error> {
        let number = change_number(subject)?;
        let what = format!("the reviews of {subject}");
        let url = self.url(&subject.repo, &["merge_requests", &number, "approvals"])?;
        let approvals: wire::Approvals = self.client.read(&what, url, self.client.now()).await?;
        let url = self.url(&subject.repo, &["merge_requests", &number, "reviewers"])?;
        let id = |reviewer: &wire::Reviewer| reviewer.user.id.to_string();
        let reviewers = match self.list(&what, &url, id).await {
            Ok(reviewers) => reviewers,
            // Older servers tell approvals only.
            Err(Error::Gone { .. }) => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut reviews = approvals.into_reviews();
        reviews.extend(reviewers.into_iter().filter_map(wire::Reviewer::into_review));
        reviews.sort_by_key(|review| review.submitted_at);
        Ok(reviews)
    }

    async fn permission(&self, repo: &Repo, actor: &Actor) -> Result<Permission, Error> {
        let account = match actor.id {
            Some(id) => Some(id),
            None => self.account(&actor.login).await?,
        };
        let Some(account) = account else { return Ok(Permission::None) };
        let what = format!("the permission of {} on {}", actor.login, repo.full_name);
        // With those who are members by a group or an invitation of one.
        let url = self.url(repo, &["members", "all", &account.0.to_string()])?;
        match self.client.read::<wire::Member>(&what, url, self.client.now()).await {
            Ok(member) => Ok(member.permission_of(account)),
            Err(Error::Gone { .. }) => Ok(Permission::None),
            Err(error) => Err(error),
        }
    }

    async fn branch(&self, repo: &Repo, name: &str) -> Result<Option<BranchNow>, Error> {
        let what = format!("the branch {name} of {}", repo.full_name);
        let url = self.url(repo, &["repository", "branches", name])?;
        match self.client.read::<wire::Branch>(&what, url, self.client.now()).await {
            Ok(branch) => Ok(Some(branch.into_now())),
            Err(Error::Gone { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn changes_of_branch(&self, repo: &Repo, branch: &str) -> Result<Vec<ChangeNow>, Error> {
        let mut url = self.url(repo, &["merge_requests"])?;
        url.query_pairs_mut()
            .append_pair("state", "opened")
            .append_pair("source_branch", branch)
            .append_pair("order_by", "created_at")
            .append_pair("sort", "desc");
        let what = format!("the changes of {branch} in {}", repo.full_name);
        let id = |change: &wire::Change| change.iid.to_string();
        let mut changes = self.list(&what, &url, id).await?;
        // A fork may have a branch of the same name.
        changes.retain(|change| {
            change.source_project_id == Some(change.target_project_id)
                && change.source_branch == branch
        });
        self.changes_now(repo, changes).await
    }

    async fn touched_since(&self, repo: &Repo, since: Time) -> Result<Touched, Error> {
        let since = wire::stamp(since);
        let mut url = self.url(repo, &["merge_requests"])?;
        // Ordered by what does not change while it is read.
        url.query_pairs_mut()
            .append_pair("state", "opened")
            .append_pair("updated_after", &since)
            .append_pair("order_by", "created_at")
            .append_pair("sort", "asc");
        let what = format!("the open changes of {}", repo.full_name);
        let id = |change: &wire::Change| change.iid.to_string();
        let changes = self.list(&what, &url, id).await?;
        let changes = self.changes_now(repo, changes).await?;

        let ourselves = self.own_account().await?.id.unwrap_or(AccountId(0));
        let mut url = self.url(repo, &["issues"])?;
        url.query_pairs_mut()
            .append_pair("state", "opened")
            .append_pair("assignee_id", &ourselves.0.to_string())
            .append_pair("updated_after", &since)
            .append_pair("order_by", "created_at")
            .append_pair("sort", "asc");
        let what = format!("the issues of {} that are assigned to us", repo.full_name);
        let issues = self.list(&what, &url, |issue: &wire::Issue| issue.iid.to_string()).await?;
        Ok(Touched { changes, issues: issues.into_iter().map(wire::Issue::into_now).collect() })
    }

    async fn git_access(&self, repo: &Repo) -> Result<GitAccess, Error> {
        let mut url = self.site();
        let path = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{path}/{}.git", repo.full_name));
        // Any name but an empty one goes with a token.
        Ok(GitAccess { url, username: "oauth2".to_owned(), token: Some(self.token.clone()) })
    }
}
