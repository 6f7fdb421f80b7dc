//! What we do on GitCode, one move at a time.

use async_trait::async_trait;
use domain::anchor::Spot;
use domain::event::Place;
use domain::publication::{
    Branch, Dispatch, FileWrite, NewChange, ReactionTarget, Settling, Sign, Status,
};
use domain::{Clock, Repo, RepoKey, Subject};
use http::Method;
use report::redact::Redactor;

use super::read::NO_REACTIONS;
use super::wire::{ChangeEdit, Landing, NewBranch, NewPull, Remark, Resolution, State, Upload};
use super::{GitCode, OLDER, address, change_number, firewall, wire};
use crate::error::Error;
use crate::http::{Content, Deadline};
use crate::ours::Ours;
use crate::port::{ChangeNow, Look, Read, Said};
use crate::write::moves::{Home, Moves, Seat};

const NO_RUNS: &str = "GitCode's API starts no runs";

impl GitCode {
    /// Sends a comment. A text that the firewall refuses is sent again without its code.
    async fn say(
        &self,
        subject: &Subject,
        (method, tail): (Method, &[&str]),
        remark: Remark<'_>,
        by: Deadline,
    ) -> Result<wire::Comment, Error> {
        let what = format!("a comment on {subject}");
        let call = (method, tail);
        let sent = self.write(&what, &subject.repo, call.clone(), Some(&remark), by).await;
        let answer = match sent {
            Err(Error::Refused { status: firewall::REFUSED, why, what: refused }) => {
                let Some(text) = firewall::without_code(remark.body()) else {
                    return Err(Error::Refused { what: refused, status: firewall::REFUSED, why });
                };
                self.write(&what, &subject.repo, call, Some(&remark.saying(&text)), by).await?
            }
            sent => sent?,
        };
        answer.parse(&what)
    }

    /// Creates a comment and returns its answer with its number. One without a number stands, but
    /// where is not known: it must be looked for (E2).
    async fn begin(
        &self,
        subject: &Subject,
        tail: &[&str],
        remark: Remark<'_>,
        by: Deadline,
    ) -> Result<(wire::Comment, u64), Error> {
        let comment = self.say(subject, (Method::POST, tail), remark, by).await?;
        let lost =
            || Error::Lost { why: "the answer does not tell the comment's number".to_owned() };
        let number = comment.number().ok_or_else(lost)?;
        Ok((comment, number))
    }

    /// Reads a new inline comment back: where it stands is not always where it was to stand.
    async fn landing(
        &self,
        subject: &Subject,
        number: u64,
        spot: &Spot,
        by: Deadline,
    ) -> Result<Landing, Error> {
        match self.raw_comment(subject, number, by).await?.landing(spot) {
            Landing::Unsaid => {
                let threads = self.threads(subject).await?;
                let mut inline = threads.iter().flat_map(|thread| &thread.comments);
                Ok(match inline.any(|said| said.id == number) {
                    true => Landing::Right,
                    false => Landing::Elsewhere("in the conversation".to_owned()),
                })
            }
            told => Ok(told),
        }
    }

    async fn change_pull(
        &self,
        subject: &Subject,
        edit: &ChangeEdit<'_>,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = subject.to_string();
        let number = change_number(subject)?;
        let call: (_, &[&str]) = (Method::PATCH, &["pulls", &number]);
        self.write(&what, &subject.repo, call, Some(edit), by).await?;
        Ok(())
    }
}

#[async_trait]
impl Moves for GitCode {
    fn ours(&self) -> &Ours {
        &self.ours
    }

    fn redactor(&self) -> &Redactor {
        self.client.redactor()
    }

    fn clock(&self) -> &dyn Clock {
        self.client.clock()
    }

    async fn one(
        &self,
        subject: &Subject,
        home: Home<'_>,
        id: u64,
        by: Deadline,
    ) -> Result<Said, Error> {
        let comment = self.raw_comment(subject, id, by).await?;
        comment.into_said(home.place(), &format!("comment {id} of {subject}"))
    }

    async fn create(&self, subject: &Subject, body: &str, by: Deadline) -> Result<Said, Error> {
        let (family, number) = address(subject)?;
        let tail = [family, number.as_str(), "comments"];
        let (comment, _) = self.begin(subject, &tail, Remark::plain(body), by).await?;
        comment.into_said(Place::Conversation, "a comment")
    }

    async fn edit(
        &self,
        subject: &Subject,
        (home, id): (Home<'_>, u64),
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        let (family, _) = address(subject)?;
        let number = id.to_string();
        let call: (_, &[&str]) = (Method::PATCH, &[family, "comments", &number]);
        let comment = self.say(subject, call, Remark::plain(body), by).await?;
        comment.numbered(id).into_said(home.place(), "a comment")
    }

    async fn delete(
        &self,
        subject: &Subject,
        _home: Home<'_>,
        id: u64,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("comment {id} of {subject}");
        let (family, _) = address(subject)?;
        let id = id.to_string();
        let call: (_, &[&str]) = (Method::DELETE, &[family, "comments", &id]);
        self.write::<()>(&what, &subject.repo, call, None, by).await?;
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
        let refused = |why: String| Error::Refused { what: what.clone(), status: 0, why };
        let Seat::Lines(spot) = seat else {
            return Err(refused("GitCode has no comments on whole files".to_owned()));
        };
        let pull = change_number(subject)?;
        let tail = ["pulls", pull.as_str(), "comments"];
        let remark = Remark::inline(body, spot);
        let (comment, number) = self.begin(subject, &tail, remark, by).await?;
        // From here on the comment stands: what fails now is looked up, not sent again (E2).
        let lost = |error: Error| Error::Lost { why: error.to_string() };
        match self.landing(subject, number, spot, by).await.map_err(lost)? {
            Landing::Right | Landing::Unsaid => {
                let place = comment.place_in(None, Some(false));
                comment.into_said(place, &what)
            }
            Landing::Elsewhere(place) => {
                // It must not stay as a stray: the text finds its next best place by itself.
                self.delete(subject, Home::Conversation, number, by).await.map_err(lost)?;
                Err(refused(format!("GitCode put it {place}")))
            }
        }
    }

    async fn create_review(
        &self,
        subject: &Subject,
        _comments: &[(Spot, String)],
        _by: Deadline,
    ) -> Result<Vec<Said>, Error> {
        let why = "GitCode takes inline comments one at a time".to_owned();
        Err(Error::Refused { what: format!("a review of {subject}"), status: 0, why })
    }

    async fn reply(
        &self,
        subject: &Subject,
        thread: &str,
        body: &str,
        by: Deadline,
    ) -> Result<Said, Error> {
        let number = change_number(subject)?;
        let tail = ["pulls", number.as_str(), "discussions", thread, "comments"];
        let (comment, _) = self.begin(subject, &tail, Remark::plain(body), by).await?;
        let place = comment.place_in(Some(thread), Some(true));
        comment.into_said(place, "a reply")
    }

    async fn settle_thread(
        &self,
        subject: &Subject,
        thread: &str,
        settling: Settling,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("thread {thread} of {subject}");
        let number = change_number(subject)?;
        let call: (_, &[&str]) = (Method::PUT, &["pulls", &number, "comments", thread]);
        let body = Resolution { resolved: settling == Settling::Resolve };
        self.write(&what, &subject.repo, call, Some(&body), by).await?;
        Ok(())
    }

    async fn react(
        &self,
        subject: &Subject,
        _on: &ReactionTarget,
        _sign: Sign,
        _by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("a reaction on {subject}");
        Err(Error::Refused { what, status: 0, why: NO_REACTIONS.to_owned() })
    }

    async fn open_change(
        &self,
        repo: &Repo,
        change: &NewChange,
        body: &str,
        by: Deadline,
    ) -> Result<ChangeNow, Error> {
        let what = format!("a change from {} in {}", change.head_branch, repo.full_name);
        let call: (_, &[&str]) = (Method::POST, &["pulls"]);
        let pull = NewPull::draft(change, body);
        let answer = self.write(&what, repo, call, Some(&pull), by).await?;
        answer.parse::<wire::Pull>(&what)?.into_now(&self.client.origin(), &what)
    }

    async fn describe(&self, subject: &Subject, body: &str, by: Deadline) -> Result<(), Error> {
        self.change_pull(subject, &ChangeEdit::Body { body }, by).await
    }

    async fn make_ready(&self, subject: &Subject, by: Deadline) -> Result<(), Error> {
        self.change_pull(subject, &ChangeEdit::Draft { draft: false }, by).await?;
        // The flag is mirrored in the title, which may have been written by hand.
        let change = self.raw_change(subject, by).await?;
        match change.title_of_draft() {
            Some(title) => self.change_pull(subject, &ChangeEdit::Title { title }, by).await,
            None => Ok(()),
        }
    }

    async fn set_status(&self, repo: &Repo, status: &Status, by: Deadline) -> Result<(), Error> {
        let what = format!("the status of {}", status.commit);
        if let Some(why) = self.no_statuses.get() {
            return Err(Error::Refused { what, status: 0, why: why.clone() });
        }
        let project = match &repo.key {
            RepoKey::Id(id) => id.to_string(),
            RepoKey::Name(_) => repo.full_name.clone(),
        };
        let tail = ["projects", &project, "statuses", &status.commit];
        let call = (Method::POST, self.client.url_beside(OLDER, &tail)?);
        let body = State::new(status);
        match self.older.write(&what, call, Some(&body), Content::Answer, by).await {
            // The older API is half hidden: one that is closed to us stays closed.
            Err(
                error @ (Error::Gone { .. }
                | Error::Forbidden { .. }
                | Error::Unauthenticated { .. }
                | Error::Refused { status: 405, .. }),
            ) => {
                let why = format!("GitCode takes no statuses from this account: {error}");
                let why = self.no_statuses.get_or_init(|| why).clone();
                Err(Error::Refused { what, status: 0, why })
            }
            sent => sent.map(drop),
        }
    }

    async fn create_branch(&self, repo: &Repo, branch: &Branch, by: Deadline) -> Result<(), Error> {
        let what = format!("the branch {} of {}", branch.name, repo.full_name);
        let call: (_, &[&str]) = (Method::POST, &["branches"]);
        self.write(&what, repo, call, Some(&NewBranch::new(branch)), by).await?;
        Ok(())
    }

    async fn write_file(&self, repo: &Repo, file: &FileWrite, by: Deadline) -> Result<(), Error> {
        let what = format!("the file {} of {}", file.path, repo.full_name);
        let tail = contents(&file.path);
        // A new file and a new version of one are told apart by the method.
        let method = if file.replaces.is_some() { Method::PUT } else { Method::POST };
        self.write(&what, repo, (method, &tail), Some(&Upload::new(file)), by).await?;
        Ok(())
    }

    async fn file_stands(&self, repo: &Repo, file: &FileWrite) -> Result<bool, Error> {
        let what = format!("the file {} of {}", file.path, repo.full_name);
        let mut url = self.url(&repo.full_name, &contents(&file.path))?;
        url.query_pairs_mut().append_pair("ref", &file.branch);
        match self.client.read::<wire::Content>(&what, url, self.client.now()).await {
            Ok(content) => Ok(content.is(&file.content)),
            Err(Error::Gone { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    async fn dispatch(&self, repo: &Repo, _: &Dispatch, _by: Deadline) -> Result<(), Error> {
        let what = format!("a run in {}", repo.full_name);
        Err(Error::Refused { what, status: 0, why: NO_RUNS.to_owned() })
    }

    /// None is ever started here.
    async fn find_dispatch(&self, _repo: &Repo, _dispatch: &Dispatch) -> Look {
        Look::Absent
    }
}

fn contents(path: &str) -> Vec<&str> {
    let mut tail = vec!["contents"];
    tail.extend(path.split('/'));
    tail
}
