//! Commits: what they say, in which order they come, and what they have in common.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use domain::Time;

use super::tree::garbled;
use crate::command::Limit;
use crate::error::Error;
use crate::oid::Oid;
use crate::repository::Repository;

/// One field after the other, each ended by NUL; `-z` ends a commit with one more.
const FORMAT: &str = "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B%x00";
const FIELDS: usize = 10;

/// A commit, as its author wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    pub oid: Oid,
    pub tree: Oid,
    pub parents: Vec<Oid>,
    pub author: Person,
    pub committer: Person,
    /// Text that is not ours; bytes that are no text are replaced.
    pub message: String,
}

/// Who did something, and when. The names are claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    pub name: String,
    pub email: String,
    pub at: Time,
}

impl Repository {
    /// Reads one commit.
    pub async fn commit(&self, oid: &Oid) -> Result<Commit, Error> {
        let command = self.log_command(1).args(["--no-walk=unsorted", oid.as_str()]);
        let mut commits = parse(&command.run().await?.stdout)?;
        commits.pop().ok_or_else(|| garbled("log"))
    }

    /// Returns the commits that `new` has and `old` has not, newest first, at most `most`.
    pub async fn log(&self, old: &Oid, new: &Oid, most: usize) -> Result<Vec<Commit>, Error> {
        let command = self.log_command(most).arg("--topo-order");
        let command = command.arg(new.as_str()).arg(format!("^{old}"));
        parse(&command.run().await?.stdout)
    }

    /// Returns the commits that touched a path, newest first, at most `most`.
    pub async fn log_of_path(
        &self,
        new: &Oid,
        path: &[u8],
        most: usize,
    ) -> Result<Vec<Commit>, Error> {
        let command = self.log_command(most).arg(new.as_str());
        parse(&command.arg("--").arg(OsStr::from_bytes(path)).run().await?.stdout)
    }

    /// Returns the best common ancestor, if there is one.
    pub async fn merge_base(&self, one: &Oid, other: &Oid) -> Result<Option<Oid>, Error> {
        let command = self.command("merge-base", Limit::Local).accepting(&[0, 1]);
        let output = command.args([one.as_str(), other.as_str()]).run().await?;
        if output.status == 1 {
            return Ok(None);
        }
        let line = output.stdout.strip_suffix(b"\n").unwrap_or(&output.stdout);
        Oid::from_bytes(line).map(Some).map_err(|_| garbled("merge-base"))
    }

    pub async fn is_ancestor(&self, old: &Oid, new: &Oid) -> Result<bool, Error> {
        let command = self.command("merge-base", Limit::Local).accepting(&[0, 1]);
        let command = command.args(["--is-ancestor", old.as_str(), new.as_str()]);
        Ok(command.run().await?.status == 0)
    }

    /// Tells whether a commit is there.
    pub async fn has_commit(&self, commit: &Oid) -> Result<bool, Error> {
        let check = self.command("cat-file", Limit::Quick).arg("--batch-check=%(objecttype)");
        Ok(check.input(format!("{commit}\n")).run().await?.stdout == b"commit\n")
    }

    /// Returns the commit that a ref of ours points to, through a tag if need be.
    pub(crate) async fn commit_of(&self, name: &str) -> Result<Oid, Error> {
        let command =
            self.command("rev-parse", Limit::Quick).args(["--verify", "--end-of-options"]);
        let answer = command.arg(format!("{name}^{{commit}}")).run().await?.stdout;
        let line = answer.strip_suffix(b"\n").unwrap_or(&answer);
        Oid::from_bytes(line).map_err(|_| garbled("rev-parse"))
    }

    fn log_command<'a>(&self, most: usize) -> crate::command::Command<'a> {
        self.command("log", Limit::Local)
            .args(["-z", FORMAT, "--no-color", "--no-notes", "--no-show-signature"])
            .args(["--no-decorate", "--no-patch"])
            .arg(format!("--max-count={most}"))
            .at_most(self.git.limits().answer)
    }
}

fn parse(answer: &[u8]) -> Result<Vec<Commit>, Error> {
    // Each commit ends with the NUL of its last field and the one that `-z` writes.
    let fields: Vec<&[u8]> = answer.split(|&byte| byte == 0).collect();
    let whole = fields.strip_suffix(&[b"".as_slice()]).unwrap_or(&fields);
    let commits = whole.chunks(FIELDS + 1);
    commits.map(|fields| parse_commit(fields).ok_or_else(|| garbled("log"))).collect()
}

fn parse_commit(fields: &[&[u8]]) -> Option<Commit> {
    let [oid, tree, parents, an, ae, at, cn, ce, ct, message, ..] = fields else { return None };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let person = |name: &[u8], email: &[u8], at: &[u8]| {
        // A commit may claim a time that is none.
        let seconds: i64 = std::str::from_utf8(at).ok().and_then(|at| at.parse().ok()).unwrap_or(0);
        Person { name: text(name), email: text(email), at: Time(seconds.saturating_mul(1000)) }
    };
    let parents = parents.split(|&byte| byte == b' ').filter(|parent| !parent.is_empty());
    Some(Commit {
        oid: Oid::from_bytes(oid).ok()?,
        tree: Oid::from_bytes(tree).ok()?,
        parents: parents.map(|parent| Oid::from_bytes(parent).ok()).collect::<Option<_>>()?,
        author: person(an, ae, at),
        committer: person(cn, ce, ct),
        message: text(message),
    })
}
