//! Commits on their way: packed into a bundle, and opened again by whoever sends them (E8).
//!
//! A bundle is opened in a private repository, indexed strictly, and judged before anything else
//! sees it.

use super::Scratch;
use crate::command::Limit;
use crate::error::Error;
use crate::name::RefName;
use crate::oid::Oid;
use crate::read::{Change, Mode};

/// The first line of every bundle of ours.
const SIGNATURE: &[u8] = b"# v2 git bundle\n";

/// What a bundle must bring.
pub struct Expected<'a> {
    /// The ref that it carries.
    pub target: &'a RefName,
    /// The commit that the new one stands on.
    pub head: &'a Oid,
    /// Whether policy lets this file be changed.
    pub allows: &'a (dyn Fn(&Change) -> bool + Send + Sync),
}

impl Scratch {
    /// Packs a commit and what it has beyond `head`, as `target`.
    pub async fn bundle(
        &self,
        commit: &Oid,
        head: &Oid,
        target: &RefName,
    ) -> Result<Vec<u8>, Error> {
        let pack = self
            .command("pack-objects", Limit::Local)
            .args(["--revs", "--stdout", "--quiet", "--delta-base-offset"])
            .at_most(self.git.limits().answer)
            .input(format!("{commit}\n^{head}\n"));
        let pack = pack.run().await?.stdout;
        let mut bundle = SIGNATURE.to_vec();
        bundle.extend_from_slice(format!("-{head} \n{commit} {target}\n\n").as_bytes());
        bundle.extend_from_slice(&pack);
        Ok(bundle)
    }

    /// Opens a bundle and returns its commit if it is exactly what is expected.
    pub async fn unbundle(&self, bundle: &[u8], expected: &Expected<'_>) -> Result<Oid, Error> {
        let Head { commit, target, needs, pack } = read_head(bundle)?;
        if target != expected.target.as_str() {
            return refuse(format!("a bundle for {target:?} instead of {}", expected.target));
        }
        for needed in &needs {
            if !self.has_commit(needed).await? {
                return Err(Error::Missing { what: format!("the commit {needed} of a bundle") });
            }
        }
        // Each object is checked as `git fsck` does. Links are checked below, against the head:
        // here contents of unchanged files may be missing, because the mirror is partial.
        let index = self.command("index-pack", Limit::Local);
        index.args(["--fsck-objects", "--stdin", "--fix-thin"]).input(pack).run().await?;
        if !self.has_commit(&commit).await? {
            return refuse("a bundle without its own commit".to_owned());
        }
        let links = self.command("rev-list", Limit::Local).args(["--objects", "--quiet"]);
        links.args([commit.as_str(), &format!("^{}", expected.head)]).run().await?;
        self.judge(&commit, expected).await?;
        Ok(commit)
    }

    async fn judge(&self, commit: &Oid, expected: &Expected<'_>) -> Result<(), Error> {
        let head = expected.head;
        if self.commit(commit).await?.parents.first() != Some(head) {
            return refuse(format!("a commit that does not stand on {head}"));
        }
        for change in self.raw_changes(head, commit).await? {
            let shown = String::from_utf8_lossy(change.path()).into_owned();
            if change.new.as_ref().is_some_and(|new| new.mode == Mode::Gitlink) {
                return refuse(format!("a commit with a submodule at {shown:?}"));
            }
            if !(expected.allows)(&change) {
                return refuse(format!("a commit that changes {shown:?}, against policy"));
            }
        }
        Ok(())
    }
}

fn refuse<T>(what: String) -> Result<T, Error> {
    Err(Error::Hostile { what })
}

#[derive(Debug, PartialEq, Eq)]
struct Head<'a> {
    commit: Oid,
    target: String,
    needs: Vec<Oid>,
    pack: &'a [u8],
}

/// Reads the head of a bundle, which must carry one ref.
fn read_head(bundle: &[u8]) -> Result<Head<'_>, Error> {
    let broken = || Error::Hostile { what: "a bundle that is none".to_owned() };
    let mut rest = bundle.strip_prefix(SIGNATURE).ok_or_else(broken)?;
    let (mut needs, mut refs) = (Vec::new(), Vec::new());
    loop {
        let end = rest.iter().position(|&byte| byte == b'\n').ok_or_else(broken)?;
        let line = std::str::from_utf8(&rest[..end]).map_err(|_| broken())?;
        rest = &rest[end + 1..];
        match line.strip_prefix('-') {
            _ if line.is_empty() => break,
            Some(needed) => {
                let oid = needed.split(' ').next().unwrap_or_default();
                needs.push(oid.parse().map_err(|_| broken())?);
            }
            None => {
                let (oid, name) = line.split_once(' ').ok_or_else(broken)?;
                refs.push((oid.parse::<Oid>().map_err(|_| broken())?, name.to_owned()));
            }
        }
    }
    match <[_; 1]>::try_from(refs) {
        Ok([(commit, target)]) => Ok(Head { commit, target, needs, pack: rest }),
        Err(refs) => refuse(format!("a bundle with {} refs", refs.len())),
    }
}

impl std::fmt::Debug for Expected<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Expected")
            .field("target", &self.target)
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn e8_a_bundle_carries_one_ref() {
        let oid = "a".repeat(40);
        let read = |head: &str| read_head(format!("# v2 git bundle\n{head}").as_bytes()).is_ok();
        assert!(read(&format!("-{oid} why\n{oid} refs/heads/x\n\nPACK")));
        assert!(!read(&format!("{oid} refs/heads/x\n{oid} refs/heads/y\n\nPACK")));
        assert!(!read("\nPACK"));
        assert!(!read(&format!("{oid} refs/heads/x\n")));
        assert!(!read("HEAD refs/heads/x\n\n"));
    }

    proptest! {
        #[test]
        fn reading_a_head_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            drop(read_head(&bytes));
            drop(read_head(&[SIGNATURE, &bytes].concat()));
        }
    }
}
