//! What is said about commits, and the runs that are asked for.

use std::collections::BTreeMap;

use super::{Act, Model, Refusal, take};
use crate::forge::object::{FakeCheck, FakeRun, FakeStatus, StatusState};

impl Model {
    /// Adds a status. The newest of a context counts; the older ones are kept.
    pub(crate) fn set_status(
        &mut self,
        repo: u64,
        commit: &str,
        context: &str,
        (state, description, url): (StatusState, &str, Option<&str>),
        act: Act<'_>,
    ) -> Result<FakeStatus, Refusal> {
        self.require_write(repo, act.by, "set a status")?;
        if !self.knows_commit(repo, commit) {
            return Err(Refusal::Missing(format!("commit {commit}")));
        }
        let status = FakeStatus {
            id: take(&mut self.next.other),
            repo,
            commit: commit.to_owned(),
            context: context.to_owned(),
            state,
            description: description.to_owned(),
            url: url.map(str::to_owned),
            by: act.by.clone(),
            at: act.now,
        };
        self.statuses.push(status.clone());
        Ok(status)
    }

    /// Returns every status of a commit, oldest first.
    pub(crate) fn statuses(&self, repo: u64, commit: &str) -> Vec<&FakeStatus> {
        let of = |status: &&FakeStatus| status.repo == repo && status.commit == commit;
        self.statuses.iter().filter(of).collect()
    }

    /// Returns the newest status of each context of a commit, by context.
    pub(crate) fn current_statuses(&self, repo: u64, commit: &str) -> Vec<&FakeStatus> {
        let all = self.statuses(repo, commit).into_iter();
        let newest: BTreeMap<_, _> = all.map(|status| (&status.context, status)).collect();
        newest.into_values().collect()
    }

    /// Adds a check; its id is given here.
    pub(crate) fn add_check(&mut self, check: FakeCheck) -> Result<FakeCheck, Refusal> {
        if !self.knows_commit(check.repo, &check.commit) {
            return Err(Refusal::Missing(format!("commit {}", check.commit)));
        }
        let check = FakeCheck { id: take(&mut self.next.other), ..check };
        self.checks.insert(check.id, check.clone());
        Ok(check)
    }

    pub(crate) fn check(&self, repo: u64, id: u64) -> Result<&FakeCheck, Refusal> {
        let found = self.checks.get(&id).filter(|check| check.repo == repo);
        found.ok_or_else(|| Refusal::Missing(format!("check {id}")))
    }

    pub(crate) fn check_mut(&mut self, repo: u64, id: u64) -> Result<&mut FakeCheck, Refusal> {
        let found = self.checks.get_mut(&id).filter(|check| check.repo == repo);
        found.ok_or_else(|| Refusal::Missing(format!("check {id}")))
    }

    /// Returns the checks of a commit, oldest first.
    pub(crate) fn checks(&self, repo: u64, commit: &str) -> Vec<&FakeCheck> {
        let of = |check: &&FakeCheck| check.repo == repo && check.commit == commit;
        self.checks.values().filter(of).collect()
    }

    /// Takes down that a run was asked for on a branch.
    pub(crate) fn start_run(
        &mut self,
        repo: u64,
        workflow: &str,
        branch: &str,
        variables: BTreeMap<String, String>,
        act: Act<'_>,
    ) -> Result<FakeRun, Refusal> {
        self.require_write(repo, act.by, "start a run")?;
        self.branch(repo, branch)?;
        let run = FakeRun {
            id: take(&mut self.next.other),
            repo,
            workflow: workflow.to_owned(),
            branch: branch.to_owned(),
            variables,
            by: act.by.clone(),
        };
        self.runs.push(run.clone());
        Ok(run)
    }

    /// Returns the runs that were asked for, oldest first.
    pub(crate) fn runs(&self, repo: u64) -> Vec<&FakeRun> {
        self.runs.iter().filter(|run| run.repo == repo).collect()
    }
}
