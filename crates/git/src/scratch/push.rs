//! Pushing one commit to one branch, if the branch is still where it was (E8).

use super::Scratch;
use crate::command::Limit;
use crate::error::Error;
use crate::name::RefName;
use crate::oid::Oid;
use crate::read::garbled;
use crate::remote::Remote;
use crate::repository::Repository;

/// What is to be pushed.
#[derive(Clone, Debug)]
pub struct Push<'a> {
    pub commit: &'a Oid,
    pub target: &'a RefName,
    /// Where the branch must be; none for a branch that must not exist yet.
    pub expected: Option<&'a Oid>,
    /// Branches that are never pushed to, the default branch among them.
    pub never: &'a [RefName],
}

/// What came of a push.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pushed {
    Done,
    /// The branch was at this commit already.
    AlreadyThere,
    /// The branch is elsewhere: at this commit, or nowhere.
    Moved {
        to: Option<Oid>,
    },
    /// The remote, or we ourselves, will not have it.
    Refused {
        why: String,
    },
}

/// What git said of the one ref.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    Accepted,
    UpToDate,
    Stale,
    Refused(String),
}

impl Repository {
    /// Asks a remote where a ref is now.
    pub async fn remote_head(&self, remote: &Remote, name: &RefName) -> Result<Option<Oid>, Error> {
        let command = self.command("ls-remote", Limit::Network).to(remote);
        let answer = command.args(["--quiet", "mirror", name.as_str()]).run().await?.stdout;
        // The pattern also matches longer names that end alike.
        let lines = answer.split(|&byte| byte == b'\n');
        let line = lines.filter_map(|line| line.strip_suffix(name.as_str().as_bytes()));
        match line.filter_map(|rest| rest.strip_suffix(b"\t")).next() {
            Some(oid) => Oid::from_bytes(oid).map(Some).map_err(|_| garbled("ls-remote")),
            None => Ok(None),
        }
    }
}

impl Scratch {
    /// Pushes a commit of this repository.
    ///
    /// [`Error::Lost`] means that nobody knows whether it arrived: pushing the same again is safe.
    pub async fn push(&self, remote: &Remote, push: &Push<'_>) -> Result<Pushed, Error> {
        if !push.target.as_str().starts_with("refs/heads/") || push.never.contains(push.target) {
            let why = format!("{} is not pushed to by this program", push.target);
            return Ok(Pushed::Refused { why });
        }
        let lease = push.expected.map_or("", Oid::as_str);
        let command = self
            .command("push", Limit::Network)
            .args(["--porcelain", "--no-verify", "--no-follow-tags", "--no-signed"])
            .args(["--recurse-submodules=no", "--no-progress"])
            .arg(format!("--force-with-lease={}:{lease}", push.target))
            .arg("mirror")
            .arg(format!("{}:{}", push.commit, push.target))
            .to(remote)
            .accepting(&[0, 1]);
        let word = match command.run().await {
            Ok(output) => match word(&output.stdout, push.target) {
                Some(word) => word,
                None => return self.look_again(remote, push, "no word on the branch").await,
            },
            Err(
                error @ (Error::Unreachable { .. } | Error::TimedOut { .. } | Error::Failed { .. }),
            ) => {
                return self.look_again(remote, push, &error.to_string()).await;
            }
            Err(error) => return Err(error),
        };
        match word {
            Word::Accepted => Ok(Pushed::Done),
            Word::UpToDate => Ok(Pushed::AlreadyThere),
            Word::Refused(why) => Ok(Pushed::Refused { why: self.git.clean(&why) }),
            Word::Stale => match self.remote_head(remote, push.target).await? {
                Some(head) if head == *push.commit => Ok(Pushed::AlreadyThere),
                to => Ok(Pushed::Moved { to }),
            },
        }
    }

    /// Looks where the branch is after an answer that did not come.
    async fn look_again(
        &self,
        remote: &Remote,
        push: &Push<'_>,
        why: &str,
    ) -> Result<Pushed, Error> {
        match self.remote_head(remote, push.target).await {
            Ok(Some(head)) if head == *push.commit => Ok(Pushed::AlreadyThere),
            _ => Err(Error::Lost { why: why.to_owned() }),
        }
    }
}

/// Reads git's `--porcelain` line on a ref: `flag TAB from:to TAB summary (reason)`.
fn word(answer: &[u8], target: &RefName) -> Option<Word> {
    let answer = String::from_utf8_lossy(answer);
    let ending = format!(":{target}");
    answer.lines().find_map(|line| {
        let mut fields = line.splitn(3, '\t');
        let (flag, names, summary) = (fields.next()?, fields.next()?, fields.next()?);
        if !names.ends_with(&ending) {
            return None;
        }
        match flag {
            " " | "+" | "*" => Some(Word::Accepted),
            "=" => Some(Word::UpToDate),
            "!" if ["(stale info)", "(fetch first)", "(non-fast-forward)", "(needs force)"]
                .iter()
                .any(|reason| summary.ends_with(reason)) =>
            {
                Some(Word::Stale)
            }
            "!" => Some(Word::Refused(summary.to_owned())),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: Option<Word>) {
        let answer = format!("To https://forge.example/r.git\n{line}\nDone\n");
        assert_eq!(word(answer.as_bytes(), &RefName::branch("x").unwrap()), expected);
    }

    #[test]
    fn e8_every_word_of_git_on_a_push_is_understood() {
        check(" \tabc:refs/heads/x\tabc..def", Some(Word::Accepted));
        check("*\tabc:refs/heads/x\t[new branch]", Some(Word::Accepted));
        check("=\tabc:refs/heads/x\t[up to date]", Some(Word::UpToDate));
        check("!\tabc:refs/heads/x\t[rejected] (stale info)", Some(Word::Stale));
        let protected = "[remote rejected] (protected branch hook declined)";
        check(&format!("!\tabc:refs/heads/x\t{protected}"), Some(Word::Refused(protected.into())));
        check(" \tabc:refs/heads/y/x\tabc..def", None);
        check("", None);
    }
}
