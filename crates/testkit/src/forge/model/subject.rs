//! Issues and changes: opening, editing, closing, and what people set on them.

use domain::Time;

use super::{Account, Act, Model, Numbering, Refusal, take};
use crate::forge::object::{FakeChange, FakeSubject, HeadRepo, Version, Which};

/// A row of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Row {
    Issues,
    Changes,
}

/// A change that somebody asks for from a branch.
#[derive(Clone, Debug)]
pub(crate) struct Proposal {
    pub(crate) title: String,
    pub(crate) body: String,
    pub(crate) head_repo: u64,
    pub(crate) head_branch: String,
    pub(crate) base_branch: String,
    pub(crate) draft: bool,
    pub(crate) maintainer_may_edit: bool,
}

/// What an edit of a subject sets; what is `None` stays.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edit {
    pub(crate) title: Option<String>,
    pub(crate) body: Option<String>,
    pub(crate) open: Option<bool>,
    pub(crate) draft: Option<bool>,
    pub(crate) base_branch: Option<String>,
    pub(crate) labels: Option<Vec<String>>,
    pub(crate) assignees: Option<Vec<Account>>,
    pub(crate) reviewers: Option<Vec<Account>>,
    pub(crate) maintainer_may_edit: Option<bool>,
}

impl Model {
    /// Opens an issue, or with `change` a change, whose branch is made if it is not there.
    pub(crate) fn open(
        &mut self,
        repo: u64,
        title: &str,
        body: &str,
        change: Option<FakeChange>,
        act: Act<'_>,
    ) -> Result<FakeSubject, Refusal> {
        self.check_length(body)?;
        if title.trim().is_empty() {
            return Err(Refusal::Blank("title"));
        }
        self.repo(repo)?;
        let row = if change.is_some() { Row::Changes } else { Row::Issues };
        if let Some((change, version)) =
            change.as_ref().and_then(|change| Some((change, change.versions.last()?)))
        {
            match change.head_repo {
                HeadRepo::Same => self.lay_branch(repo, &change.head_branch, version),
                HeadRepo::Fork(fork) => self.lay_branch(fork, &change.head_branch, version),
                HeadRepo::Gone => {}
            }
        }
        let subject = FakeSubject {
            id: take(&mut self.next.subject),
            repo,
            number: self.next_number(repo, row),
            title: title.to_owned(),
            body: body.to_owned(),
            author: act.by.clone(),
            open: true,
            change,
            labels: Vec::new(),
            assignees: Vec::new(),
            created_at: act.now,
            updated_at: act.now,
            closed_at: None,
            comments: 0,
            reactions: Vec::new(),
            listed: self.listed(act.now),
        };
        self.numbers.insert((repo, row, subject.number), subject.id);
        self.subjects.insert(subject.id, subject.clone());
        Ok(subject)
    }

    /// Opens a change from a branch that must be there and have something new.
    pub(crate) fn propose(
        &mut self,
        repo: u64,
        proposal: Proposal,
        act: Act<'_>,
    ) -> Result<FakeSubject, Refusal> {
        let Proposal { head_repo, head_branch, base_branch, .. } = &proposal;
        let base = self.branch(repo, base_branch)?.head.clone();
        let head = self.branch(*head_repo, head_branch)?.head.clone();
        let from = if *head_repo == repo { HeadRepo::Same } else { HeadRepo::Fork(*head_repo) };
        let same = |subject: &&FakeSubject| {
            subject.repo == repo
                && subject.open
                && subject.change.as_ref().is_some_and(|change| {
                    change.head_repo == from
                        && change.head_branch == *head_branch
                        && change.base_branch == *base_branch
                })
        };
        if let Some(subject) = self.subjects.values().find(same) {
            return Err(Refusal::Exists(subject.number));
        }
        if self.is_contained(&head, repo, &base) {
            let (base, head) = (base_branch.clone(), head_branch.clone());
            return Err(Refusal::NoCommits { base, head });
        }
        let diff = self.diff_of(*head_repo, head_branch);
        let change = FakeChange {
            versions: vec![Version { head: head.clone(), base: base.clone(), diff }],
            head,
            head_branch: head_branch.clone(),
            head_repo: from,
            base,
            base_branch: base_branch.clone(),
            draft: proposal.draft,
            merged_at: None,
            maintainer_may_edit: proposal.maintainer_may_edit,
            reviewers: Vec::new(),
        };
        self.open(repo, &proposal.title, &proposal.body, Some(change), act)
    }

    /// Returns the issue or change.
    pub(crate) fn find(&self, repo: u64, which: Which) -> Result<&FakeSubject, Refusal> {
        let row = |row, number| {
            self.numbers.get(&(repo, row, number)).and_then(|id| self.subjects.get(id))
        };
        let (found, what, number) = match which {
            Which::Issue(number) => (row(Row::Issues, number), "issue", number),
            Which::Change(number) => (row(Row::Changes, number), "change", number),
            Which::Any(number) => {
                let found = (row(Row::Issues, number), row(Row::Changes, number));
                if let (Some(_), Some(_)) = found {
                    return Err(Refusal::Ambiguous(number));
                }
                (found.0.or(found.1), "issue or change", number)
            }
        };
        found.ok_or_else(|| Refusal::Missing(format!("{what} {number}")))
    }

    pub(crate) fn subject(&self, id: u64) -> Result<&FakeSubject, Refusal> {
        self.subjects.get(&id).ok_or_else(|| Refusal::Missing(format!("subject {id}")))
    }

    /// Returns the change among the subjects; an issue is none.
    pub(crate) fn change(&self, id: u64) -> Result<(&FakeSubject, &FakeChange), Refusal> {
        let subject = self.subject(id)?;
        let change = subject.change.as_ref();
        Ok((subject, change.ok_or_else(|| Refusal::Missing(format!("change {}", subject.number)))?))
    }

    /// Returns what a listing of the repository's issues and changes shows now, oldest first.
    pub(crate) fn subjects(&self, repo: u64, now: Time) -> Vec<&FakeSubject> {
        let all = self.subjects.values().filter(|subject| subject.repo == repo);
        all.filter(|subject| subject.listed.is_listed(now)).collect()
    }

    /// Counts one more listing of the repository's issues and changes.
    pub(crate) fn count_subjects_listing(&mut self, repo: u64) {
        let all = self.subjects.values_mut().filter(|subject| subject.repo == repo);
        all.for_each(|subject| subject.listed.count());
    }

    /// Sets what the edit names. The author may, and whoever may write.
    pub(crate) fn edit_subject(
        &mut self,
        id: u64,
        edit: Edit,
        act: Act<'_>,
    ) -> Result<FakeSubject, Refusal> {
        let subject = self.subject(id)?;
        let (repo, author) = (subject.repo, subject.author.id);
        if author != act.by.id {
            self.require_write(repo, act.by, "change this")?;
        }
        if edit.title.as_ref().is_some_and(|title| title.trim().is_empty()) {
            return Err(Refusal::Blank("title"));
        }
        edit.body.as_deref().map_or(Ok(()), |body| self.check_length(body))?;
        let base = match &edit.base_branch {
            Some(branch) => Some((branch.clone(), self.branch(repo, branch)?.head.clone())),
            None => None,
        };
        let subject = self.subject_mut(id)?;
        if subject.change.as_ref().is_some_and(|change| change.merged_at.is_some())
            && edit.open == Some(true)
        {
            return Err(Refusal::Impossible("a merged change cannot be opened again"));
        }
        subject.updated_at = act.now;
        set(&mut subject.title, edit.title);
        set(&mut subject.body, edit.body);
        set(&mut subject.labels, edit.labels);
        set(&mut subject.assignees, edit.assignees);
        if let Some(open) = edit.open {
            subject.open = open;
            subject.closed_at = (!open).then_some(act.now);
        }
        if let Some(change) = &mut subject.change {
            set(&mut change.draft, edit.draft);
            set(&mut change.reviewers, edit.reviewers);
            set(&mut change.maintainer_may_edit, edit.maintainer_may_edit);
            if let Some((branch, head)) = base {
                (change.base_branch, change.base) = (branch, head);
            }
        }
        Ok(subject.clone())
    }

    /// Merges a change that is open and no draft.
    pub(crate) fn merge(&mut self, id: u64, act: Act<'_>) -> Result<FakeSubject, Refusal> {
        let (subject, change) = self.change(id)?;
        self.require_write(subject.repo, act.by, "merge")?;
        if !subject.open || change.draft {
            return Err(Refusal::Impossible("the change cannot be merged"));
        }
        let subject = self.subject_mut(id)?;
        (subject.open, subject.updated_at) = (false, act.now);
        subject.closed_at = Some(act.now);
        if let Some(change) = &mut subject.change {
            change.merged_at = Some(act.now);
        }
        Ok(subject.clone())
    }

    /// Takes down that the fork with the change's branch is gone.
    pub(crate) fn lose_fork(&mut self, id: u64) -> Result<(), Refusal> {
        if let Some(change) = &mut self.subject_mut(id)?.change {
            change.head_repo = HeadRepo::Gone;
        }
        Ok(())
    }

    pub(super) fn subject_mut(&mut self, id: u64) -> Result<&mut FakeSubject, Refusal> {
        self.subjects.get_mut(&id).ok_or_else(|| Refusal::Missing(format!("subject {id}")))
    }

    fn next_number(&self, repo: u64, row: Row) -> u64 {
        let last = |row| {
            let mut numbers = self.numbers.range((repo, row, 0)..=(repo, row, u64::MAX));
            numbers.next_back().map_or(0, |((_, _, number), _)| *number)
        };
        1 + match self.habits.numbering {
            Numbering::Separate => last(row),
            Numbering::One => last(Row::Issues).max(last(Row::Changes)),
        }
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}
