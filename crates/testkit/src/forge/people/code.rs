//! Branches, forks, pushes, and the life of a change.

use super::told;
use crate::forge::FakeForge;
use crate::forge::diff::FakeDiff;
use crate::forge::happened::{Happened, What};
use crate::forge::model::{Edit, Moved};
use crate::forge::object::{FakeBranch, FakeRepo, FakeRun, HeadRepo, Which};

impl FakeForge {
    /// Creates a fork, as the owner that its name begins with.
    #[track_caller]
    pub fn forks(&self, repo: &str, full_name: &str) -> FakeRepo {
        let model = &mut *self.shared.model();
        let origin = told(model.repo_named(repo)).id;
        told(model.fork(origin, full_name))
    }

    /// Deletes the fork that a change comes from, as far as the change can tell.
    #[track_caller]
    pub fn loses_fork(&self, repo: &str, change: u64) {
        let id = self.subject(repo, Which::Change(change)).id;
        told(self.shared.model().lose_fork(id));
    }

    /// Protects a branch: pushes and files are refused there.
    #[track_caller]
    pub fn protects(&self, repo: &str, branch: &str) {
        let model = &mut *self.shared.model();
        let id = told(model.repo_named(repo)).id;
        told(model.protect(id, branch));
    }

    /// Returns a branch as it stands now.
    #[track_caller]
    pub fn branch(&self, repo: &str, branch: &str) -> FakeBranch {
        let model = self.shared.model();
        let id = told(model.repo_named(repo)).id;
        told(model.branch(id, branch)).clone()
    }

    /// Points a branch, new or old, to a commit: what a git server beside the forge tells it. The
    /// first that it returns is the push, the others are the changes that follow.
    #[track_caller]
    pub fn moves_branch(
        &self,
        actor: &str,
        repo: &str,
        branch: &str,
        head: &str,
        diff: Option<FakeDiff>,
    ) -> Vec<Happened> {
        told(self.act_at_length(actor, repo, |model, repo, act| {
            Ok(told_of(model.move_branch(repo, branch, head, diff, act)?))
        }))
    }

    /// Pushes one more commit to the branch of a change.
    #[track_caller]
    pub fn pushes(&self, actor: &str, repo: &str, change: u64) -> Happened {
        self.pushes_to_change(actor, repo, change, None)
    }

    /// Pushes one more commit, after which the change has another diff.
    #[track_caller]
    pub fn pushes_diff(&self, actor: &str, repo: &str, change: u64, diff: FakeDiff) -> Happened {
        self.pushes_to_change(actor, repo, change, Some(diff))
    }

    #[track_caller]
    pub fn marks_ready(&self, actor: &str, repo: &str, change: u64) -> Happened {
        let edit = Edit { draft: Some(false), ..Edit::default() };
        self.sets(actor, repo, Which::Change(change), edit, |change, _| What::Readied(change))
    }

    #[track_caller]
    pub fn marks_draft(&self, actor: &str, repo: &str, change: u64) -> Happened {
        let edit = Edit { draft: Some(true), ..Edit::default() };
        self.sets(actor, repo, Which::Change(change), edit, |change, _| What::Drafted(change))
    }

    #[track_caller]
    pub fn merges(&self, actor: &str, repo: &str, change: u64) -> Happened {
        told(self.act(actor, repo, |model, repo, act| {
            let id = model.find(repo, Which::Change(change))?.id;
            Ok(What::Closed(model.merge(id, act)?))
        }))
    }

    /// Asks one more account for a review.
    #[track_caller]
    pub fn requests_review(
        &self,
        actor: &str,
        repo: &str,
        change: u64,
        reviewer: &str,
    ) -> Happened {
        let which = Which::Change(change);
        let reviewer = told(self.shared.model().account(reviewer).cloned());
        let asked = self.subject(repo, which).change;
        let mut reviewers = asked.map(|change| change.reviewers).unwrap_or_default();
        reviewers.push(reviewer.clone());
        let edit = Edit { reviewers: Some(reviewers), ..Edit::default() };
        self.sets(actor, repo, which, edit, |change, _| What::ReviewRequested { change, reviewer })
    }

    /// Returns the runs that were asked for in the repository, oldest first.
    #[track_caller]
    pub fn runs(&self, repo: &str) -> Vec<FakeRun> {
        let model = self.shared.model();
        let id = told(model.repo_named(repo)).id;
        model.runs(id).into_iter().cloned().collect()
    }

    #[track_caller]
    fn pushes_to_change(
        &self,
        actor: &str,
        repo: &str,
        number: u64,
        diff: Option<FakeDiff>,
    ) -> Happened {
        let all = self.act_at_length(actor, repo, |model, repo, act| {
            let (subject, change) = model.change(model.find(repo, Which::Change(number))?.id)?;
            let id = subject.id;
            let home = match change.head_repo {
                HeadRepo::Fork(fork) => fork,
                HeadRepo::Same | HeadRepo::Gone => repo,
            };
            let branch = change.head_branch.clone();
            let mut moved = model.push(home, &branch, diff, act)?;
            moved.changes.retain(|change| change.id == id);
            Ok(told_of(moved))
        });
        match told(all).pop() {
            Some(happened) => happened,
            None => panic!("the story does not fit the fake forge: nothing was pushed"),
        }
    }
}

/// Tells a push, then each change that it moved.
pub(crate) fn told_of(moved: Moved) -> Vec<What> {
    let Moved { branch, before, after, changes } = moved;
    let old = before.clone().unwrap_or_default();
    let push = What::BranchMoved { branch, before, after: Some(after) };
    let changes = changes.into_iter().map(|change| What::Pushed { change, before: old.clone() });
    std::iter::once(push).chain(changes).collect()
}
