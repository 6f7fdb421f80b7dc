//! Reviews and inline comments.
//!
//! The server knows no threads: comments on the same line of the same commit are one, named after
//! its first comment and the review that this one stands in. A review is not atomic: comments are
//! put one by one into the account's only unsubmitted review, which is then submitted with
//! whatever else is in it. So nothing is sent while somebody's own words wait there.

use std::collections::BTreeMap;

use domain::anchor::{Line, LineKind, Spot};
use domain::{AccountId, Actor, Subject, SubjectKind};
use http::Method;

use super::wire::{NewReview, Review, ReviewComment, User};
use super::{Gitea, PAGES, change_number};
use crate::error::Error;
use crate::http::{Content, Deadline};
use crate::port::{Read, Said, Thread};

/// How often a review is sent that the server breaks off at: an error of its own may pass.
const TRIES: usize = 2;

/// The name of a thread: `review-comment`, by its first comment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) review: Option<u64>,
    pub(super) comment: u64,
}

impl Name {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text.split_once('-') {
            Some((review, comment)) => {
                Some(Self { review: Some(review.parse().ok()?), comment: comment.parse().ok()? })
            }
            None => Some(Self { review: None, comment: text.parse().ok()? }),
        }
    }

    fn of(review: u64, comment: &ReviewComment) -> String {
        let review = comment.pull_request_review_id.unwrap_or(review);
        format!("{review}-{}", comment.id)
    }
}

/// The line that a comment stands on: what makes comments one thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ground {
    path: String,
    kind: LineKind,
    line: u64,
    commit: Option<String>,
}

impl Ground {
    fn of(comment: &ReviewComment) -> Self {
        let (kind, first) = match comment.original_position {
            0 => (LineKind::Added, comment.position),
            old => (LineKind::Removed, old),
        };
        Self {
            path: comment.path.clone(),
            kind,
            line: first + comment.extra_lines_count,
            commit: comment.commit_id.clone(),
        }
    }
}

/// A thread with what is needed to answer in it.
#[derive(Debug)]
pub(super) struct InlineThread {
    pub(super) name: String,
    /// The review that it began in, and its first comment.
    pub(super) review: u64,
    pub(super) first: ReviewComment,
    at: Spot,
    resolved_by: Option<Actor>,
    said: Vec<Said>,
}

impl From<InlineThread> for Thread {
    fn from(thread: InlineThread) -> Self {
        Self {
            id: thread.name,
            at: Some(thread.at),
            // Not told: the line keeps its number of the day when the comment was written.
            outdated: false,
            resolved: Some(thread.resolved_by.is_some()),
            resolved_by: thread.resolved_by,
            comments: thread.said,
        }
    }
}

impl InlineThread {
    /// Returns where it stands, as the head was when it began.
    pub(super) fn spot(&self) -> &Spot {
        &self.at
    }
}

impl Gitea {
    /// Lists the reviews of a change, oldest first, with those that wait to be submitted.
    pub(super) async fn raw_reviews(&self, subject: &Subject) -> Result<Vec<Review>, Error> {
        let number = change_number(subject)?;
        let url = self.url(&subject.repo.full_name, &["pulls", &number, "reviews"])?;
        let what = format!("the reviews of {subject}");
        let id = |review: &Review| review.id.to_string();
        let mut reviews = self.client.read_all(&what, url, PAGES, id).await?.items;
        reviews.sort_by_key(|review| review.id);
        Ok(reviews)
    }

    /// Lists the comments of one review. They come all at once, in no order.
    async fn comments_of(
        &self,
        subject: &Subject,
        review: u64,
        by: Deadline,
    ) -> Result<Vec<ReviewComment>, Error> {
        let (number, id) = (change_number(subject)?, review.to_string());
        let tail = ["pulls", &number, "reviews", &id, "comments"];
        let url = self.url(&subject.repo.full_name, &tail)?;
        let what = format!("the comments of review {review} of {subject}");
        let mut comments: Vec<ReviewComment> = self.client.read_whole(&what, url, by).await?;
        comments.sort_by_key(|comment| comment.id);
        Ok(comments)
    }

    /// Reads all threads. What waits to be submitted is nobody's business yet.
    pub(super) async fn inline_threads(
        &self,
        subject: &Subject,
    ) -> Result<Vec<InlineThread>, Error> {
        let mut all = Vec::new();
        for review in self.raw_reviews(subject).await? {
            if review.is_pending() || !review.may_have_comments() {
                continue;
            }
            let comments = match self.comments_of(subject, review.id, self.client.now()).await {
                Ok(comments) => comments,
                // Removed since it was listed.
                Err(Error::Gone { .. }) => continue,
                Err(error) => return Err(error),
            };
            all.extend(comments.into_iter().map(|comment| (review.clone(), comment)));
        }
        Ok(threads_of(all))
    }

    /// Finds a thread by the name of any comment in it.
    pub(super) async fn thread_named(
        &self,
        subject: &Subject,
        name: &str,
    ) -> Result<InlineThread, Error> {
        let gone = || Error::Gone { what: format!("thread {name} of {subject}") };
        let Name { comment, .. } = Name::parse(name).ok_or_else(gone)?;
        let threads = self.inline_threads(subject).await?;
        let found =
            threads.into_iter().find(|thread| thread.said.iter().any(|said| said.id == comment));
        found.ok_or_else(gone)
    }

    /// Reads one comment of a thread: from the review that the thread's name tells, else from all.
    pub(super) async fn said_inline(
        &self,
        subject: &Subject,
        thread: Option<&str>,
        id: u64,
        by: Deadline,
    ) -> Result<Said, Error> {
        let what = || format!("comment {id} of {subject}");
        if let Some((name, review)) =
            thread.and_then(|name| Name::parse(name)?.review.map(|review| (name, review)))
        {
            let comments = match self.comments_of(subject, review, by).await {
                Err(Error::Gone { .. }) => Vec::new(),
                listed => listed?,
            };
            if let Some(comment) = comments.into_iter().find(|comment| comment.id == id) {
                let began = Name::parse(name).is_some_and(|name| name.comment == id);
                return Ok(comment.into_said(name.to_owned(), Some(!began)));
            }
        }
        let threads = self.inline_threads(subject).await?;
        let mut said = threads.into_iter().flat_map(|thread| thread.said);
        said.find(|said| said.id == id).ok_or_else(|| Error::Gone { what: what() })
    }

    /// Reads a comment that is only known by its id. An inline one is known to the server, but
    /// not shown: deliveries do not tell which of both it is.
    pub(super) async fn said_by_id(
        &self,
        subject: &Subject,
        id: u64,
        by: Deadline,
    ) -> Result<Said, Error> {
        let what = format!("comment {id} of {subject}");
        let tail = ["issues", "comments", &id.to_string()];
        let url = self.url(&subject.repo.full_name, &tail)?;
        let answer = self.client.read_raw(&what, url, by).await?;
        match subject.kind {
            _ if !answer.is_empty() => {
                answer.parse::<super::wire::Comment>(&what)?.on(subject, &what)
            }
            SubjectKind::Change => self.said_inline(subject, None, id, by).await,
            SubjectKind::Issue | SubjectKind::Branch => Err(Error::Gone { what }),
        }
    }

    /// Sends comments as one review and returns them as they were listed.
    pub(super) async fn send_review(
        &self,
        subject: &Subject,
        comments: &[(&Spot, &str)],
        by: Deadline,
    ) -> Result<Vec<Said>, Error> {
        let what = format!("a review of {subject}");
        let Some((Spot { commit, .. }, _)) = comments.first() else { return Ok(Vec::new()) };
        let number = change_number(subject)?;
        let call: (_, &[&str]) = (Method::POST, &["pulls", &number, "reviews"]);
        let body = NewReview::new(commit, comments.iter().copied());
        self.clear_leftovers(subject, by).await?;
        for left in (0..TRIES).rev() {
            let call = call.clone();
            let sent = self.write(&what, &subject.repo, call, Some(&body), Content::Answer, by);
            let why = match sent.await {
                Ok(answer) => {
                    let id = answer.parse::<Review>(&what)?.id;
                    // From here on the review stands: what fails now is looked up, not sent
                    // again (E2).
                    let lost = |error: Error| Error::Lost { why: error.to_string() };
                    let listed = self.comments_of(subject, id, by).await.map_err(lost)?;
                    return Ok(said_of(id, listed));
                }
                Err(Error::Lost { why }) => why,
                Err(error) => return Err(error),
            };
            // What was left unsubmitted shows that the server broke off in the middle.
            match self.clear_leftovers(subject, by).await {
                Ok(Leftovers::Removed) if left > 0 => {}
                Ok(Leftovers::Removed) => return Err(Error::Refused { what, status: 500, why }),
                Ok(Leftovers::None) | Err(_) => return Err(Error::Lost { why }),
            }
        }
        Err(Error::Unreachable { why: format!("{what} was never sent") })
    }

    /// Removes what an earlier try left unsubmitted. What is not ours in there stays, and then no
    /// review can be sent: it would be published along with it.
    async fn clear_leftovers(&self, subject: &Subject, by: Deadline) -> Result<Leftovers, Error> {
        let account = self.account(by).await?;
        let reviews = self.raw_reviews(subject).await?;
        let Some(waiting) =
            reviews.into_iter().find(|review| review.is_pending() && review.is_by(account))
        else {
            return Ok(Leftovers::None);
        };
        let id = waiting.id;
        let comments = said_of(id, self.comments_of(subject, id, by).await?);
        let text = waiting.into_said();
        let ours = text.body.trim().is_empty()
            && comments.iter().all(|said| self.ours.marked(subject, said).is_some());
        let what = format!("the unsubmitted review {id} of {subject}");
        if !ours {
            let why = "somebody's own review waits under our account to be submitted".to_owned();
            return Err(Error::Refused { what, status: 0, why });
        }
        let (number, id) = (change_number(subject)?, id.to_string());
        let call: (_, &[&str]) = (Method::DELETE, &["pulls", &number, "reviews", &id]);
        match self.write::<()>(&what, &subject.repo, call, None, Content::Answer, by).await {
            Ok(_) | Err(Error::Gone { .. }) => Ok(Leftovers::Removed),
            Err(error) => Err(error),
        }
    }

    /// Returns the account that the token belongs to, which never changes.
    async fn account(&self, by: Deadline) -> Result<AccountId, Error> {
        if let Some(id) = self.account.get() {
            return Ok(*id);
        }
        let what = "our own account".to_owned();
        if by.left(self.client.clock()).is_none() {
            return Err(Error::Unreachable { why: format!("no time was left to ask for {what}") });
        }
        let why = "the account has no id".to_owned();
        self.own_account().await?.id.ok_or(Error::Garbled { what, why })
    }
}

/// What was found of an earlier try.
enum Leftovers {
    None,
    Removed,
}

/// Names the comments of one review: those on one line are one thread.
fn said_of(review: u64, comments: Vec<ReviewComment>) -> Vec<Said> {
    let mut names: BTreeMap<Ground, String> = BTreeMap::new();
    let said = comments.into_iter().map(|comment| {
        let own = Name::of(review, &comment);
        let name = names.entry(Ground::of(&comment)).or_insert_with(|| own.clone()).clone();
        let reply = name != own;
        comment.into_said(name, Some(reply))
    });
    said.collect()
}

/// Puts comments on the same line together, oldest first.
fn threads_of(mut comments: Vec<(Review, ReviewComment)>) -> Vec<InlineThread> {
    comments.sort_by_key(|(_, comment)| comment.id);
    let mut places: BTreeMap<Ground, usize> = BTreeMap::new();
    let mut threads: Vec<InlineThread> = Vec::new();
    for (review, comment) in comments {
        let next = threads.len();
        let place = *places.entry(Ground::of(&comment)).or_insert(next);
        if place == next {
            threads.push(InlineThread {
                name: Name::of(review.id, &comment),
                review: comment.pull_request_review_id.unwrap_or(review.id),
                at: spot(&review, &comment),
                resolved_by: comment.resolver.clone().map(User::into_actor),
                first: comment.clone(),
                said: Vec::new(),
            });
        }
        if let Some(thread) = threads.get_mut(place) {
            let reply = place != next;
            thread.said.push(comment.into_said(thread.name.clone(), Some(reply)));
        }
    }
    threads
}

fn spot(review: &Review, comment: &ReviewComment) -> Spot {
    let Ground { path, kind, line, commit } = Ground::of(comment);
    let at = |number| Line { kind, old: number, new: number };
    let head = review.commit_id.clone().filter(|commit| !commit.is_empty());
    let first = line - comment.extra_lines_count;
    Spot {
        path,
        old_path: None,
        side: at(line).side(),
        start: (first != line).then(|| at(first)),
        line: at(line),
        commit: head.or(commit).unwrap_or_default(),
    }
}
