//! What Gitea and Forgejo tell.

use async_trait::async_trait;
use domain::event::Place;
use domain::{Actor, Repo, Subject, Time};

use super::{Gitea, PAGES, path_below, thread_number, wire};
use crate::capability::Capabilities;
use crate::error::Error;
use crate::host::Host;
use crate::port::{
    BranchNow, ChangeNow, GitAccess, IssueNow, Permission, Read, Review, Said, Thread, Touched,
};

/// With a token as password the name does not matter.
const GIT_USER: &str = "patchwright";

#[async_trait]
impl Read for Gitea {
    fn host(&self) -> Host {
        Host::Gitea
    }

    async fn capabilities(&self) -> Result<Capabilities, Error> {
        Ok(self.server().await?.capabilities())
    }

    async fn own_account(&self) -> Result<Actor, Error> {
        let url = self.client.url(&["user"])?;
        let what = "our own account";
        let user: wire::User = self.client.read(what, url, self.client.now()).await?;
        let actor = user.into_actor();
        if let Some(id) = actor.id {
            self.ours.learn(id);
            self.account.get_or_init(|| id);
        }
        Ok(actor)
    }

    async fn repository(&self, full_name: &str) -> Result<Repo, Error> {
        let url = self.url(full_name, &[])?;
        let what = format!("the repository {full_name}");
        let repository: wire::Repository = self.client.read(&what, url, self.client.now()).await?;
        Ok(repository.into_repo(self.client.origin()))
    }

    async fn comment(&self, subject: &Subject, id: u64, place: &Place) -> Result<Said, Error> {
        let by = self.client.now();
        match place {
            Place::Conversation => self.said_by_id(subject, id, by).await,
            Place::Thread { thread, .. } => {
                self.said_inline(subject, thread.as_deref(), id, by).await
            }
            Place::Review { review } => {
                let id = review.unwrap_or(id).to_string();
                let what = format!("review {id} of {subject}");
                let tail = ["pulls", &thread_number(subject)?, "reviews", &id];
                let url = self.url(&subject.repo.full_name, &tail)?;
                let review: wire::Review = self.client.read(&what, url, by).await?;
                Ok(review.into_said())
            }
        }
    }

    async fn opening(&self, subject: &Subject) -> Result<Said, Error> {
        Ok(self.raw_issue(subject, self.client.now()).await?.into_said())
    }

    async fn issue(&self, subject: &Subject) -> Result<IssueNow, Error> {
        Ok(self.raw_issue(subject, self.client.now()).await?.into_now())
    }

    async fn change(&self, subject: &Subject) -> Result<ChangeNow, Error> {
        let change = self.raw_change(subject, self.client.now()).await?;
        Ok(change.into_now(&self.client.origin()))
    }

    async fn conversation(&self, subject: &Subject) -> Result<Vec<Said>, Error> {
        let tail = ["issues", &thread_number(subject)?, "comments"];
        let url = self.url(&subject.repo.full_name, &tail)?;
        let what = format!("the conversation of {subject}");
        let comments = self.client.read_whole(&what, url, self.client.now()).await?;
        Ok(comments.into_iter().map(wire::Comment::into_said).collect())
    }

    async fn threads(&self, subject: &Subject) -> Result<Vec<Thread>, Error> {
        Ok(self.inline_threads(subject).await?.into_iter().map(Thread::from).collect())
    }

    async fn reviews(&self, subject: &Subject) -> Result<Vec<Review>, Error> {
        let reviews = self.raw_reviews(subject).await?;
        Ok(reviews.into_iter().filter_map(wire::Review::into_review).collect())
    }

    async fn permission(&self, repo: &Repo, actor: &Actor) -> Result<Permission, Error> {
        self.permission_of(repo, actor).await
    }

    async fn branch(&self, repo: &Repo, name: &str) -> Result<Option<BranchNow>, Error> {
        let what = format!("the branch {name} of {}", repo.full_name);
        let url = self.url(&repo.full_name, &path_below("branches", name))?;
        match self.client.read::<wire::Branch>(&what, url, self.client.now()).await {
            Ok(branch) => Ok(Some(branch.into_now())),
            Err(Error::Gone { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All open changes are read: older servers have no filter for it, and ignore one silently.
    async fn changes_of_branch(&self, repo: &Repo, branch: &str) -> Result<Vec<ChangeNow>, Error> {
        let mut url = self.url(&repo.full_name, &["pulls"])?;
        url.query_pairs_mut().append_pair("state", "open");
        let what = format!("the open changes of {}", repo.full_name);
        let id = |pull: &wire::Pull| pull.number.to_string();
        let mut pulls = self.client.read_all(&what, url, PAGES, id).await?.items;
        pulls.retain(|pull| pull.comes_from(repo, branch));
        pulls.sort_by_key(|pull| std::cmp::Reverse(pull.number));
        let origin = self.client.origin();
        Ok(pulls.into_iter().map(|pull| pull.into_now(&origin)).collect())
    }

    async fn touched_since(&self, repo: &Repo, since: Time) -> Result<Touched, Error> {
        let mut url = self.url(&repo.full_name, &["pulls"])?;
        url.query_pairs_mut().append_pair("state", "open").append_pair("sort", "recentupdate");
        let what = format!("the open changes of {}", repo.full_name);
        let before = |pull: &wire::Pull| pull.was_touched_before(since);
        let id = |pull: &wire::Pull| pull.number.to_string();
        let pulls = self.client.read_until(&what, url, PAGES, id, before).await?;
        let origin = self.client.origin();
        let fresh = pulls.items.into_iter().filter(|pull| !before(pull));
        let changes = fresh.map(|pull| pull.into_now(&origin)).collect();

        let ourselves = self.own_account().await?.login;
        let mut url = self.url(&repo.full_name, &["issues"])?;
        url.query_pairs_mut()
            .append_pair("type", "issues")
            .append_pair("state", "open")
            .append_pair("assigned_by", &ourselves)
            .append_pair("since", &wire::stamp(since));
        let what = format!("the issues of {} that are assigned to us", repo.full_name);
        let id = |issue: &wire::Issue| issue.number.to_string();
        let listing = self.client.read_all(&what, url, PAGES, id).await?;
        let issues = listing.items.into_iter().filter(|issue| issue.pull_request.is_none());
        Ok(Touched { changes, issues: issues.map(wire::Issue::into_now).collect() })
    }

    async fn git_access(&self, repo: &Repo) -> Result<GitAccess, Error> {
        let mut url = self.web();
        let path = format!("{}/{}.git", url.path().trim_end_matches('/'), repo.full_name);
        url.set_path(&path);
        let token = Some(self.token.clone());
        Ok(GitAccess { url, username: GIT_USER.to_owned(), token })
    }
}
