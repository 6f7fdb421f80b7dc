//! What we do on GitLab, one move at a time.

use async_trait::async_trait;
use domain::anchor::Spot;
use domain::publication::{
    Branch, Dispatch, FileWrite, NewChange, ReactionTarget, Settling, Sign, Status,
};
use domain::{Clock, Receipt, Repo, Subject, Time};
use http::Method;
use report::redact::Redactor;

use super::wire::{NewThread, Outgoing, Position, State, Upload, Variable};
use super::{GitLab, TOGETHER, change_number, family, notes, wire};
use crate::error::Error;
use crate::http::{Content, Deadline};
use crate::ours::Ours;
use crate::port::{ChangeNow, Look, Read, Said, Together};
use crate::write::moves::{Home, Moves, Seat};

/// How long ago a run of unknown fate was asked for at most.
const RUNS_SINCE_MS: i64 = 48 * 3600 * 1000;
/// The most runs whose variables are looked through.
const RUNS: usize = 100;

impl GitLab {
    async fn say(
        &self,
        subject: &Subject,
        method: Method,
        (home, tail): (Home<'_>, &[&str]),
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        let what = format!("a comment on {subject}");
        let number = subject.number.to_string();
        let path = notes(family(subject)?, &number, home, tail);
        let body = Outgoing::Note { body };
        let answer = self.write(&what, &subject.repo, (method, &path), Some(&body), by).await?;
        Ok(answer.parse::<wire::Note>(&what)?.into_said(self.page(subject).as_deref(), home))
    }

    /// Finds the version of the change whose lines a comment speaks of.
    pub(super) async fn version_at(
        &self,
        subject: &Subject,
        commit: &str,
    ) -> Result<wire::Version, Error> {
        let tail = ["merge_requests", &change_number(subject)?, "versions"];
        let url = self.url(&subject.repo, &tail)?;
        let what = format!("the versions of {subject}");
        let id = |version: &wire::Version| version.id.to_string();
        // Newest first: a change that was aimed at another branch has several of one head.
        let versions = self.list(&what, &url, id).await?;
        if versions.is_empty() {
            // The first one is computed after the change was opened: a moment later it is there.
            return Err(Error::Conflict { what });
        }
        let at = |version: &wire::Version| version.head_commit_sha.as_deref() == Some(commit);
        versions.into_iter().find(at).ok_or_else(|| Error::Refused {
            what: format!("an inline comment on {subject}"),
            status: 0,
            why: format!("{commit} was never its head"),
        })
    }

    /// Whether a sign of ours stands there already.
    async fn has_reacted(&self, repo: &Repo, tail: &[&str], name: &str) -> Result<bool, Error> {
        let ourselves = self.own_account().await?;
        let url = self.url(repo, tail)?;
        let id = |award: &wire::Award| award.id.to_string();
        let awards = self.list("the reactions", &url, id).await?;
        Ok(awards.into_iter().any(|award| award.is(name, &ourselves)))
    }

    /// Finds the branch of an open change with this commit at its tip: a fork's commit stands on
    /// no branch here.
    async fn branch_of_change(&self, repo: &Repo, commit: &str) -> Result<Option<String>, Error> {
        let url = self.url(repo, &["repository", "commits", commit, "merge_requests"])?;
        let what = format!("the changes with {commit}");
        let id = |change: &wire::Change| change.iid.to_string();
        let changes = self.list(&what, &url, id).await?;
        Ok(changes.into_iter().find(wire::Change::is_open).map(|change| change.source_branch))
    }

    async fn file(&self, repo: &Repo, file: &FileWrite) -> Result<Option<wire::File>, Error> {
        let what = format!("the file {} of {}", file.path, repo.full_name);
        let mut url = self.url(repo, &["repository", "files", &file.path])?;
        url.query_pairs_mut().append_pair("ref", &file.branch);
        match self.client.read(&what, url, self.client.now()).await {
            Ok(found) => Ok(Some(found)),
            Err(Error::Gone { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Lists our own runs of late, newest first, and asks each for its variables.
    async fn find_run(&self, repo: &Repo, branch: &str, of: (&str, &str)) -> Result<Look, Error> {
        let ourselves = self.own_account().await?.login;
        let now = self.client.clock().now();
        let since = Time(now.0.saturating_sub(RUNS_SINCE_MS));
        let mut url = self.url(repo, &["pipelines"])?;
        url.query_pairs_mut()
            .append_pair("ref", branch)
            .append_pair("username", &ourselves)
            .append_pair("updated_after", &wire::stamp(since))
            .append_pair("order_by", "id")
            .append_pair("sort", "desc");
        let what = format!("the pipelines of {}", repo.full_name);
        let id = |run: &wire::Pipeline| run.id.to_string();
        let runs = self.list(&what, &url, id).await?;
        for run in runs.iter().take(RUNS) {
            let tail = ["pipelines", &run.id.to_string(), "variables"];
            let variables: Vec<wire::RunVariable> =
                self.client.read(&what, self.url(repo, &tail)?, self.client.now()).await?;
            if variables.iter().any(|variable| variable.is(of)) {
                return Ok(Look::Found { receipt: Receipt::Done, authentic: true });
            }
        }
        Ok(match runs.len() > RUNS {
            true => Look::Unknown { why: format!("{what} are more than {RUNS}") },
            false => Look::Absent,
        })
    }
}

#[async_trait]
impl Moves for GitLab {
    fn ours(&self) -> &Ours {
        &self.ours
    }

    fn redactor(&self) -> &Redactor {
        self.client.redactor()
    }

    fn clock(&self) -> &dyn Clock {
        self.client.clock()
    }

    fn batches(&self) -> Together {
        TOGETHER
    }

    async fn one(
        &self,
        subject: &Subject,
        home: Home<'_>,
        id: u64,
        by: Deadline,
    ) -> Result<Said, Error> {
        self.note(subject, home, id, by).await
    }

    async fn create(&self, subject: &Subject, body: &str, by: Deadline) -> Result<Said, Error> {
        self.say(subject, Method::POST, (Home::Conversation, &[]), body, by).await
    }

    async fn edit(
        &self,
        subject: &Subject,
        (home, id): (Home<'_>, u64),
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        self.say(subject, Method::PUT, (home, &[&id.to_string()]), body, by).await
    }

    async fn delete(
        &self,
        subject: &Subject,
        home: Home<'_>,
        id: u64,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("comment {id} of {subject}");
        let (number, id) = (subject.number.to_string(), id.to_string());
        let path = notes(family(subject)?, &number, home, &[&id]);
        self.write::<()>(&what, &subject.repo, (Method::DELETE, &path), None, by).await?;
        Ok(())
    }

    async fn create_inline(
        &self,
        subject: &Subject,
        seat: Seat<'_>,
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        let what = format!("an inline comment on {subject}");
        let (Seat::Lines(spot) | Seat::File(spot)) = seat;
        let version = self.version_at(subject, &spot.commit).await?;
        let body = NewThread { body, position: Position::new(seat, &version)? };
        let tail = ["merge_requests", &change_number(subject)?, "discussions"];
        let answer =
            self.write(&what, &subject.repo, (Method::POST, &tail), Some(&body), by).await?;
        let discussion: wire::Discussion = answer.parse(&what)?;
        discussion
            .into_first(self.page(subject).as_deref())
            .ok_or_else(|| Error::Garbled { what, why: "the thread is empty".to_owned() })
    }

    async fn create_review(
        &self,
        subject: &Subject,
        comments: &[(Spot, String)],
        by: Deadline,
    ) -> Result<Vec<Said>, Error> {
        self.publish_together(subject, comments, by).await
    }

    async fn reply(
        &self,
        subject: &Subject,
        thread: &str,
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        self.say(subject, Method::POST, (Home::Thread(thread), &[]), body, by).await
    }

    async fn settle_thread(
        &self,
        subject: &Subject,
        thread: &str,
        settling: Settling,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("thread {thread} of {subject}");
        let body = Outgoing::Resolution { resolved: settling == Settling::Resolve };
        let tail = ["merge_requests", &change_number(subject)?, "discussions", thread];
        self.write(&what, &subject.repo, (Method::PUT, &tail), Some(&body), by).await?;
        Ok(())
    }

    async fn react(
        &self,
        subject: &Subject,
        on: &ReactionTarget,
        sign: Sign,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("a reaction on {subject}");
        let (number, target);
        number = subject.number.to_string();
        let mut tail = vec![family(subject)?, &number];
        if let ReactionTarget::Comment { id, .. } = on {
            target = id.to_string();
            tail.extend(["notes", &target]);
        }
        tail.push("award_emoji");
        let name = wire::reaction(sign);
        let call = (Method::POST, self.url(&subject.repo, &tail)?);
        let body = Outgoing::Award { name };
        match self.client.write(&what, call, Some(&body), Content::Aside, by).await {
            // One that stands there already is refused with a status that varies.
            Err(error @ (Error::Gone { .. } | Error::Conflict { .. } | Error::Refused { .. })) => {
                match self.has_reacted(&subject.repo, &tail, name).await {
                    Ok(true) => Ok(()),
                    Ok(false) | Err(_) => Err(error),
                }
            }
            sent => sent.map(drop),
        }
    }

    async fn open_change(
        &self,
        repo: &Repo,
        change: &NewChange,
        body: &str,
        by: Deadline,
    ) -> Result<ChangeNow, Error> {
        let what = format!("a change from {} in {}", change.head_branch, repo.full_name);
        let body = wire::NewChange::draft(change, body);
        let call: (_, &[&str]) = (Method::POST, &["merge_requests"]);
        let answer = self.write(&what, repo, call, Some(&body), by).await?;
        let opened = answer.parse::<wire::Change>(&what)?;
        let number = opened.iid;
        match self.changes_now(repo, vec![opened]).await?.into_iter().next() {
            Some(opened) => Ok(opened),
            // Its head is told a moment later.
            None => self
                .change(&Subject::change(repo.clone(), number))
                .await
                .map_err(|error| Error::Lost { why: error.to_string() }),
        }
    }

    async fn describe(&self, subject: &Subject, body: &str, by: Deadline) -> Result<(), Error> {
        let what = format!("the description of {subject}");
        let tail = ["merge_requests", &change_number(subject)?];
        let body = Outgoing::Description { description: body };
        self.write(&what, &subject.repo, (Method::PUT, &tail), Some(&body), by).await?;
        Ok(())
    }

    async fn make_ready(&self, subject: &Subject, by: Deadline) -> Result<(), Error> {
        let what = format!("the draft {subject}");
        let change = self.raw_change(subject, by).await?;
        if !change.is_draft() {
            return Ok(());
        }
        // The title alone makes a draft.
        let title = wire::without_draft(&change.title);
        if title == change.title || title.is_empty() {
            let why = format!("its title does not say why it is one: {}", change.title);
            return Err(Error::Refused { what, status: 0, why });
        }
        let tail = ["merge_requests", &change_number(subject)?];
        let body = Outgoing::Title { title };
        self.write(&what, &subject.repo, (Method::PUT, &tail), Some(&body), by).await?;
        Ok(())
    }

    async fn set_status(&self, repo: &Repo, status: &Status, by: Deadline) -> Result<(), Error> {
        let what = format!("the status of {}", status.commit);
        let tail = ["statuses", status.commit.as_str()];
        let mut state = State::new(status);
        loop {
            match self.write(&what, repo, (Method::POST, &tail), Some(&state), by).await {
                Ok(_) => return Ok(()),
                Err(Error::Refused { why, .. }) if state.stands_already(&why) => return Ok(()),
                Err(Error::Refused { why, .. }) if state.can_be_older(&why) => {}
                Err(Error::Gone { .. }) if state.branch.is_none() => {
                    match self.branch_of_change(repo, &status.commit).await? {
                        Some(branch) => state.branch = Some(branch),
                        None => return Err(Error::Gone { what }),
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn create_branch(&self, repo: &Repo, branch: &Branch, by: Deadline) -> Result<(), Error> {
        let what = format!("the branch {} of {}", branch.name, repo.full_name);
        let body = Outgoing::Branch { branch: &branch.name, at: &branch.at };
        let call: (_, &[&str]) = (Method::POST, &["repository", "branches"]);
        self.write(&what, repo, call, Some(&body), by).await?;
        Ok(())
    }

    async fn write_file(&self, repo: &Repo, file: &FileWrite, by: Deadline) -> Result<(), Error> {
        let what = format!("the file {} of {}", file.path, repo.full_name);
        let tail = ["repository", "files", file.path.as_str()];
        let Some(blob) = &file.replaces else {
            let body = Upload::new(file, None);
            self.write(&what, repo, (Method::POST, &tail), Some(&body), by).await?;
            return Ok(());
        };
        // GitLab compares commits, not blobs: the one that made this blob.
        match self.file(repo, file).await? {
            Some(there) if there.blob_id == *blob => {
                let body = Upload::new(file, Some(&there.last_commit_id));
                self.write(&what, repo, (Method::PUT, &tail), Some(&body), by).await?;
                Ok(())
            }
            Some(_) | None => Err(Error::Conflict { what }),
        }
    }

    async fn file_stands(&self, repo: &Repo, file: &FileWrite) -> Result<bool, Error> {
        Ok(self.file(repo, file).await?.is_some_and(|there| there.is(&file.content)))
    }

    async fn dispatch(&self, repo: &Repo, dispatch: &Dispatch, by: Deadline) -> Result<(), Error> {
        let what = format!("a pipeline of {}", repo.full_name);
        let variables = dispatch.variables.iter().map(|(key, value)| Variable { key, value });
        let body = Outgoing::Run { branch: &dispatch.on_branch, variables: variables.collect() };
        let call: (_, &[&str]) = (Method::POST, &["pipeline"]);
        self.write(&what, repo, call, Some(&body), by).await?;
        Ok(())
    }

    async fn find_dispatch(&self, repo: &Repo, dispatch: &Dispatch) -> Look {
        let Some((key, value)) =
            dispatch.variables.iter().find(|(name, _)| *name == dispatch.identity)
        else {
            return Look::Unknown { why: "the run has no identity".to_owned() };
        };
        match self.find_run(repo, &dispatch.on_branch, (key, value)).await {
            Ok(look) => look,
            Err(error) => Look::Unknown { why: error.to_string() },
        }
    }
}
