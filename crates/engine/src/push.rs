//! Commits on their way to a branch (E8).
//!
//! The commit was made and verified before; it travels as a bundle among the job's artifacts. Just
//! before it leaves, everything that may have changed since is asked again: who may write, where
//! the branch is, what the commit touches. Sending it twice does no harm.

use domain::publication::{Push, Target};
use domain::{Origin, Repo, RepoKey, Subject};
use forge::Error as ForgeError;
use forge::port::{ChangeNow, GitAccess};
use git::{Access, Account, Expected, Mirrors, Oid, Pushed, RefName, Remote, Want};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::connection::Connection;

/// Why a push did not happen now.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Forge(#[from] ForgeError),
    #[error(transparent)]
    Git(#[from] git::Error),
}

/// What came of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The branch stands at the commit.
    Stands,
    /// It is not to be, for this reason.
    Refused(String),
}

/// Where the push goes, as it was found just now.
struct Ground {
    repo: Repo,
    branch: RefName,
    /// Where the branch must be; none for a new one.
    expected: Option<Oid>,
    /// The commit that ours stands on.
    parent: Oid,
}

/// Checks everything again and pushes.
pub(crate) async fn push(
    connection: &Connection,
    mirrors: &Mirrors,
    (subject, push): (&Subject, &Push),
    bundle: &[u8],
) -> Result<Outcome, Error> {
    let read = &connection.read;
    // The numeric id counts: a login may belong to somebody else by now (T9).
    if push.requester.id.is_none() {
        return Ok(Outcome::Refused("it is not known who asked for it".to_owned()));
    }
    // So may a repository's name: rights there say nothing about this one.
    if read.repository(&subject.repo.full_name).await?.key != subject.repo.key {
        let why = format!("{} is another repository by now", subject.repo.full_name);
        return Ok(Outcome::Refused(why));
    }
    if !read.permission(&subject.repo, &push.requester).await?.may_write() {
        let why = format!("{} may not write to {}", push.requester.login, subject.repo.full_name);
        return Ok(Outcome::Refused(why));
    }
    let ground = match find_ground(connection, subject, push).await? {
        Ok(ground) => ground,
        Err(outcome) => return Ok(outcome),
    };
    let Some(allowed) = patterns(&push.paths) else {
        return Ok(Outcome::Refused("its list of paths cannot be read".to_owned()));
    };
    let Ok(commit) = push.commit.parse::<Oid>() else {
        return Ok(Outcome::Refused(format!("{:?} names no commit", push.commit)));
    };
    let RepoKey::Id(id) = ground.repo.key else {
        return Ok(Outcome::Refused("the repository has no id".to_owned()));
    };
    let remote = remote(read.git_access(&ground.repo).await?)?;
    let mirror = mirrors.hold(&ground.repo.origin, id)?;
    mirror.fetch(&remote, &[Want::Commit(ground.parent.clone())]).await?;
    let scratch = mirror.scratch()?;
    let allows = |change: &git::read::Change| match &allowed {
        Some(set) => std::str::from_utf8(change.path()).is_ok_and(|path| set.is_match(path)),
        None => true,
    };
    let expected = Expected { target: &ground.branch, head: &ground.parent, allows: &allows };
    let brought = match scratch.unbundle(bundle, &expected).await {
        Ok(brought) => brought,
        Err(git::Error::Hostile { what }) => return Ok(Outcome::Refused(what)),
        Err(error) => return Err(error.into()),
    };
    if brought != commit {
        let why = format!("the bundle brings {brought}, and {commit} was verified");
        return Ok(Outcome::Refused(why));
    }
    let never = default_branch(&ground.repo).into_iter().collect::<Vec<_>>();
    let order = git::Push {
        commit: &commit,
        target: &ground.branch,
        expected: ground.expected.as_ref(),
        never: &never,
    };
    Ok(match scratch.push(&remote, &order).await? {
        Pushed::Done | Pushed::AlreadyThere => Outcome::Stands,
        Pushed::Moved { to: Some(to) } => {
            Outcome::Refused(format!("the branch stands at {to} by now"))
        }
        Pushed::Moved { to: None } => Outcome::Refused("the branch is gone".to_owned()),
        Pushed::Refused { why } => Outcome::Refused(why),
    })
}

/// Finds the branch to push to, or says why there is nothing to do.
async fn find_ground(
    connection: &Connection,
    subject: &Subject,
    push: &Push,
) -> Result<Result<Ground, Outcome>, Error> {
    let refused = |why: String| Ok(Err(Outcome::Refused(why)));
    let branch = push.target.branch();
    let Ok(name) = RefName::new(&format!("refs/heads/{branch}")) else {
        return refused(format!("{branch:?} is no name of a branch"));
    };
    let (repo, before) = match &push.target {
        Target::HeadOfChange { source, expected, .. } => {
            let change = connection.read.change(subject).await?;
            if let Some(why) = is_elsewhere(&change, source, branch) {
                return refused(why);
            }
            if change.head == push.commit {
                return Ok(Err(Outcome::Stands));
            }
            if change.head != *expected {
                return refused(format!("the change stands at {} by now", change.head));
            }
            (source.clone(), expected)
        }
        Target::NewBranch { base, .. } => (subject.repo.clone(), base),
    };
    // The names of today: the default branch may have been moved, the repository renamed.
    let today = connection.read.repository(&repo.full_name).await?;
    if today.key != repo.key {
        return refused(format!("{} is another repository by now", repo.full_name));
    }
    if today.default_branch.as_deref() == Some(branch) {
        return refused(format!("{branch} is the default branch"));
    }
    let standing = connection.read.branch(&today, branch).await?;
    if standing.as_ref().is_some_and(|standing| standing.protected) {
        return refused(format!("{branch} is protected"));
    }
    let Ok(parent) = before.parse::<Oid>() else {
        return refused(format!("{before:?} names no commit"));
    };
    let expected = match (&push.target, standing) {
        (Target::HeadOfChange { .. }, _) => Some(parent.clone()),
        (Target::NewBranch { .. }, None) => None,
        (Target::NewBranch { .. }, Some(standing)) if standing.head == push.commit => {
            return Ok(Err(Outcome::Stands));
        }
        (Target::NewBranch { .. }, Some(_)) => return refused(format!("{branch} exists already")),
    };
    Ok(Ok(Ground { repo: today, branch: name, expected, parent }))
}

/// Says why a change is no longer the one that the request was about.
fn is_elsewhere(change: &ChangeNow, source: &Repo, branch: &str) -> Option<String> {
    if !change.open {
        return Some("the change is not open any more".to_owned());
    }
    match &change.source.repo {
        None => Some("the repository of its branch is gone".to_owned()),
        Some(repo) if repo.key != source.key => {
            Some("its branch is in another repository by now".to_owned())
        }
        Some(_) if change.source.branch != branch => {
            Some("the change has another branch by now".to_owned())
        }
        Some(_) => None,
    }
}

/// Joins the patterns; the inner `None` means that there is no limit.
fn patterns(paths: &[String]) -> Option<Option<GlobSet>> {
    if paths.is_empty() {
        return Some(None);
    }
    let mut set = GlobSetBuilder::new();
    for path in paths {
        set.add(GlobBuilder::new(path).literal_separator(true).build().ok()?);
    }
    set.build().ok().map(Some)
}

/// The forge's own account, for the forge's own address (T5).
fn remote(access: GitAccess) -> Result<Remote, git::Error> {
    let origin = Origin::new(&access.url.origin().ascii_serialization());
    let account = access.token.map(|token| Account { username: access.username.clone(), token });
    Ok(Remote::Forge(Access::new(&origin, access.url, account)?))
}

fn default_branch(repo: &Repo) -> Option<RefName> {
    let name = repo.default_branch.as_deref()?;
    RefName::new(&format!("refs/heads/{name}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn e8_only_files_that_the_patterns_name_may_differ() {
        let set = patterns(&["src/**".to_owned(), "*.md".to_owned()]).unwrap().unwrap();
        for inside in ["src/a.rs", "src/a/b.rs", "README.md"] {
            assert!(set.is_match(inside), "{inside}");
        }
        for outside in ["srcx/a.rs", "a/README.md", ".github/workflows/ci.yml", "SRC/a.rs"] {
            assert!(!set.is_match(outside), "{outside}");
        }
        assert!(patterns(&[]).unwrap().is_none());
        assert!(
            patterns(&["a{".to_owned()]).is_none(),
            "a list that cannot be read allows nothing"
        );
    }
}
