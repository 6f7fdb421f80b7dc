//! What the forge did and never told us (J9): some forges never repeat a delivery that got lost.
//!
//! By state, not by history: open changes and issues assigned to us that were touched since the
//! last time, and whose head has no job yet, are taken as if their delivery had come. Whatever was
//! delivered after all has its job, or collapses onto it (J4).

use std::sync::Arc;
use std::time::Duration;

use domain::event::{Change, Happening, Issue};
use domain::task::Work;
use domain::{Clock, Event, Repo, Subject, Time};
use forge::port::{ChangeNow, IssueNow};
use store::Store;
use tokio_util::sync::CancellationToken;

use crate::connection::{Connection, Connections};
use crate::ingest::Ingest;

/// How often the forges are asked.
const EVERY: Duration = Duration::from_mins(10);
/// Clocks differ, and forges list late: what was seen is looked at again for so long.
const OVERLAP: Duration = Duration::from_mins(10);
/// How far back the first look goes.
const FIRST: Duration = Duration::from_hours(24);
/// So many ended jobs of a subject are looked through for its head.
const ENDED: u32 = 50;

/// Asks the forges what we missed.
#[derive(Clone, Debug)]
pub struct Reconciler {
    pub store: Store,
    pub ingest: Ingest,
    pub connections: Connections,
    pub clock: Arc<dyn Clock>,
}

/// Why a repository could not be asked.
#[derive(Debug, thiserror::Error)]
enum Missed {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Forge(#[from] forge::Error),
    #[error(
        "{name} is the name of another repository by now; its next delivery tells the new name"
    )]
    Renamed { name: String },
}

/// What one round found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// Jobs that nobody had told us of.
    pub taken: usize,
    /// Repositories that could not be asked; they are asked again from where they were.
    pub failed: usize,
}

impl Reconciler {
    /// Asks again and again until it is told to stop.
    pub async fn run(self, stop: CancellationToken) {
        while !stop.is_cancelled() {
            tokio::select! {
                () = stop.cancelled() => return,
                () = self.clock.sleep_until(self.clock.now() + EVERY) => {}
            }
            let round = self.once().await;
            if round != Round::default() {
                tracing::info!(
                    round.taken,
                    round.failed,
                    "what the forges did not deliver was looked for"
                );
            }
        }
    }

    /// Asks every connection about every repository that it ever had a job for.
    pub async fn once(&self) -> Round {
        let mut round = Round::default();
        for connection in self.connections.iter() {
            let repos = match self.store.known_repos(&connection.origin).await {
                Ok(repos) => repos,
                Err(error) => {
                    tracing::warn!(%error, "the known repositories could not be read");
                    round.failed += 1;
                    continue;
                }
            };
            for repo in repos {
                match self.look(connection, &repo).await {
                    Ok(taken) => round.taken += taken,
                    Err(why) => {
                        tracing::warn!(repo = %repo.id(), %why, "what was missed could not be looked for");
                        round.failed += 1;
                    }
                }
            }
        }
        round
    }

    async fn look(&self, connection: &Connection, repo: &Repo) -> Result<usize, Missed> {
        let began = self.clock.now();
        let known = self.store.watermark(repo).await?;
        let since = known.map_or(Time(began.0 - millis(FIRST)), |at| Time(at.0 - millis(OVERLAP)));
        // A name may have passed to another repository: nothing is taken from that one (T9).
        let today = connection.read.repository(&repo.full_name).await?;
        if today.key != repo.key {
            return Err(Missed::Renamed { name: repo.full_name.clone() });
        }
        let repo = today;
        let touched = connection.read.touched_since(&repo, since).await?;
        let mut taken = 0;
        for change in touched.changes {
            taken += usize::from(self.take_change(&repo, change).await?);
        }
        for issue in touched.issues {
            taken += usize::from(self.take_issue(&repo, issue).await?);
        }
        self.store.raise_watermark(&repo, began).await?;
        Ok(taken)
    }

    async fn take_change(&self, repo: &Repo, now: ChangeNow) -> Result<bool, store::Error> {
        let subject = Subject::change(repo.clone(), now.number);
        let jobs = self.store.jobs_of(&subject, ENDED).await?;
        if jobs.iter().any(|job| job.task.head.as_deref() == Some(&now.head)) {
            return Ok(false);
        }
        let is_known = !jobs.is_empty();
        let actor = now.author.clone();
        let change = Change {
            number: now.number,
            title: now.title,
            body: now.body,
            author: now.author,
            draft: now.draft,
            head: Some(now.head),
            head_branch: Some(now.source.branch),
            base_branch: Some(now.base_branch),
            updated_at: None,
        };
        let happening = match is_known {
            true => Happening::ChangePushed(change),
            false => Happening::ChangeOpened(change),
        };
        self.ingest.take_event(Event { repo: repo.clone(), actor, happening }).await
    }

    async fn take_issue(&self, repo: &Repo, now: IssueNow) -> Result<bool, store::Error> {
        let subject = Subject::issue(repo.clone(), now.number);
        let jobs = self.store.jobs_of(&subject, ENDED).await?;
        if jobs.iter().any(|job| matches!(job.task.work, Work::Fix { .. })) {
            return Ok(false);
        }
        let (actor, to) = (now.author.clone(), now.assignees.clone());
        let issue = Issue {
            number: now.number,
            display_number: None,
            title: now.title,
            body: now.body,
            author: now.author,
            assignees: now.assignees,
            updated_at: now.updated_at.map(|at| at.0.to_string()),
        };
        let happening = Happening::IssueAssigned { issue, to };
        self.ingest.take_event(Event { repo: repo.clone(), actor, happening }).await
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
