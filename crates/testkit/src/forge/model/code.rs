//! Branches, commits and files. Commits are ids and their parents: code itself comes from git.
//!
//! [`Model::move_branch`] is the one way in which a head moves, whether a story, the API or a git
//! server beside the forge moves it: open changes from that branch follow.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Act, Model, Refusal};
use crate::forge::diff::FakeDiff;
use crate::forge::object::{FakeBranch, FakeSubject, HeadRepo, Version, commit};

/// The branches and commits of one repository.
#[derive(Clone, Debug, Default)]
pub(super) struct Code {
    branches: BTreeMap<String, FakeBranch>,
    /// Every commit that a branch ever pointed to, with its parent.
    parents: BTreeMap<String, Option<String>>,
    /// What a branch changes, for the changes that are opened from it.
    diffs: BTreeMap<String, Arc<FakeDiff>>,
}

/// What came of moving a branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) branch: String,
    /// `None` for a new branch.
    pub(crate) before: Option<String>,
    pub(crate) after: String,
    /// The open changes whose head it is, as they stand now.
    pub(crate) changes: Vec<FakeSubject>,
}

impl Code {
    pub(super) fn starting_with(branch: &str) -> Self {
        let mut code = Self::default();
        code.point(branch, &commit(branch));
        code
    }

    fn point(&mut self, branch: &str, head: &str) {
        let parent = self.branches.get(branch).map(|branch| branch.head.clone());
        self.parents.entry(head.to_owned()).or_insert(parent);
        let new = FakeBranch { head: String::new(), protected: false, files: BTreeMap::new() };
        self.branches.entry(branch.to_owned()).or_insert(new).head = head.to_owned();
    }

    fn is_ancestor(&self, ancestor: &str, of: &str) -> bool {
        let parent = |id: &&str| self.parents.get(*id)?.as_deref();
        std::iter::successors(Some(of), parent).any(|id| id == ancestor)
    }
}

impl Model {
    pub(crate) fn branch(&self, repo: u64, name: &str) -> Result<&FakeBranch, Refusal> {
        let found = self.code(repo)?.branches.get(name);
        found.ok_or_else(|| Refusal::Missing(format!("branch {name}")))
    }

    pub(crate) fn branches(&self, repo: u64) -> Result<&BTreeMap<String, FakeBranch>, Refusal> {
        Ok(&self.code(repo)?.branches)
    }

    pub(crate) fn protect(&mut self, repo: u64, branch: &str) -> Result<(), Refusal> {
        let found = self.code_mut(repo)?.branches.get_mut(branch);
        found.ok_or_else(|| Refusal::Missing(format!("branch {branch}")))?.protected = true;
        Ok(())
    }

    /// Tells whether the commit is known in the repository, or as the head of a change to it.
    pub(crate) fn knows_commit(&self, repo: u64, id: &str) -> bool {
        self.code(repo).is_ok_and(|code| code.parents.contains_key(id))
            || self.subjects.values().filter(|subject| subject.repo == repo).any(|subject| {
                let versions = subject.change.iter().flat_map(|change| &change.versions);
                versions.into_iter().any(|version| version.head == id)
            })
    }

    /// Creates a branch at a commit that is known.
    pub(crate) fn create_branch(
        &mut self,
        repo: u64,
        name: &str,
        head: &str,
        act: Act<'_>,
    ) -> Result<Moved, Refusal> {
        self.require_write(repo, act.by, "push")?;
        if self.branch(repo, name).is_ok() {
            return Err(Refusal::Taken(format!("the branch {name}")));
        }
        if !self.knows_commit(repo, head) {
            return Err(Refusal::Missing(format!("commit {head}")));
        }
        self.move_branch(repo, name, head, None, act)
    }

    /// Deletes a branch. Changes from it stay as they are.
    pub(crate) fn delete_branch(
        &mut self,
        repo: u64,
        name: &str,
        act: Act<'_>,
    ) -> Result<(), Refusal> {
        self.require_write(repo, act.by, "push")?;
        if self.branch(repo, name)?.protected || self.repo(repo)?.default_branch == name {
            return Err(Refusal::Protected(name.to_owned()));
        }
        self.code_mut(repo)?.branches.remove(name);
        Ok(())
    }

    /// Tells whether a push to that head would leave no commit of the branch behind.
    pub(crate) fn is_fast_forward(&self, repo: u64, branch: &str, head: &str) -> bool {
        let Ok(code) = self.code(repo) else { return false };
        code.branches.get(branch).is_none_or(|branch| code.is_ancestor(&branch.head, head))
    }

    /// Points a branch, new or old, to a head; what it changes is `diff`, or the same as before.
    pub(crate) fn move_branch(
        &mut self,
        repo: u64,
        name: &str,
        head: &str,
        diff: Option<FakeDiff>,
        act: Act<'_>,
    ) -> Result<Moved, Refusal> {
        let code = self.code_mut(repo)?;
        let before = code.branches.get(name).map(|branch| branch.head.clone());
        code.point(name, head);
        if let Some(diff) = diff {
            code.diffs.insert(name.to_owned(), Arc::new(diff));
        }
        let diff = code.diffs.get(name).cloned();
        let follows = |subject: &&mut FakeSubject| {
            subject.open
                && subject.change.as_ref().is_some_and(|change| {
                    let home = match change.head_repo {
                        HeadRepo::Same => Some(subject.repo),
                        HeadRepo::Fork(fork) => Some(fork),
                        HeadRepo::Gone => None,
                    };
                    home == Some(repo) && change.head_branch == name && change.head != head
                })
        };
        let mut changes = Vec::new();
        for subject in self.subjects.values_mut().filter(follows) {
            subject.updated_at = act.now;
            if let Some(change) = &mut subject.change {
                head.clone_into(&mut change.head);
                let diff = diff.clone().unwrap_or_else(|| change.diff());
                let base = change.base.clone();
                change.versions.push(Version { head: head.to_owned(), base, diff });
            }
            changes.push(subject.clone());
        }
        for change in &changes {
            self.follow_threads(change);
        }
        Ok(Moved { branch: name.to_owned(), before, after: head.to_owned(), changes })
    }

    /// Puts a new commit at the tip of a branch.
    pub(crate) fn push(
        &mut self,
        repo: u64,
        branch: &str,
        diff: Option<FakeDiff>,
        act: Act<'_>,
    ) -> Result<Moved, Refusal> {
        let head = commit(&self.branch(repo, branch)?.head);
        self.move_branch(repo, branch, &head, diff, act)
    }

    /// Creates or replaces a file in a commit of its own. `expected` is the blob that stands there.
    pub(crate) fn write_file(
        &mut self,
        repo: u64,
        branch: &str,
        (path, content): (&str, &[u8]),
        expected: Option<&str>,
        act: Act<'_>,
    ) -> Result<Moved, Refusal> {
        self.require_write(repo, act.by, "push")?;
        let found = self.branch(repo, branch)?;
        if found.protected {
            return Err(Refusal::Protected(branch.to_owned()));
        }
        if found.files.get(path).map(commit).as_deref() != expected {
            return Err(Refusal::Stale(path.to_owned()));
        }
        let head = commit(format!("{}{path}{}", found.head, commit(content)));
        let moved = self.move_branch(repo, branch, &head, None, act)?;
        if let Some(branch) = self.code_mut(repo)?.branches.get_mut(branch) {
            branch.files.insert(path.to_owned(), content.to_owned());
        }
        Ok(moved)
    }

    /// Tells whether the head of one branch is part of another, which may stand in another
    /// repository.
    pub(super) fn is_contained(&self, head: &str, repo: u64, base: &str) -> bool {
        self.code(repo).is_ok_and(|code| code.is_ancestor(head, base))
    }

    pub(super) fn diff_of(&self, repo: u64, branch: &str) -> Arc<FakeDiff> {
        let diff = self.code(repo).ok().and_then(|code| code.diffs.get(branch));
        diff.cloned().unwrap_or_default()
    }

    /// Makes the branch of a change that a story brings along.
    pub(super) fn lay_branch(&mut self, repo: u64, name: &str, version: &Version) {
        if let Some(code) = self.code.get_mut(&repo) {
            code.point(name, &version.head);
            code.diffs.insert(name.to_owned(), Arc::clone(&version.diff));
        }
    }

    pub(super) fn code(&self, repo: u64) -> Result<&Code, Refusal> {
        self.code.get(&repo).ok_or_else(|| Refusal::Missing(format!("repository {repo}")))
    }

    fn code_mut(&mut self, repo: u64) -> Result<&mut Code, Refusal> {
        self.code.get_mut(&repo).ok_or_else(|| Refusal::Missing(format!("repository {repo}")))
    }
}
