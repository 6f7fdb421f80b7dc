//! Real git: mirrors of repositories, worktrees for sandboxes, diffs, commits, pushes.
//!
//! 1. [`Git`]: how the program git is started, and under which limits.
//! 2. [`Remote`], [`Access`]: where code comes from, pinned to its connection's origin (T5);
//!    [`relay`] carries credentials.
//! 3. [`Mirrors`], [`Mirror`]: the cache, by numeric id (T9), within a [`Space`] (J10).
//! 4. [`read`]: diffs, history, files, by object names, from what was fetched.
//! 5. [`Worktree`]: the files of a commit without `.git`, and what untrusted code changed in them (T7).
//! 6. [`Scratch`]: a private repository in which commits are made, bundles are judged, and from
//!    which they are pushed (E8).
//!
//! What other tools offer over a checkout has its counterpart here:
//!
//! | operation | here | limit |
//! |---|---|---|
//! | `clone_repo` | [`Mirrors::hold`], [`Mirror::fetch`], [`Mirror::fetch_files`], [`Repository::worktree`](repository::Repository::worktree) | network 600 s a fetch, local 120 s |
//! | `create_branch` | no local branches: [`Scratch::push`] with `expected: None` makes one on the remote | network 600 s |
//! | `add_file`, `add_all` | [`Edit`]s of a [`NewCommit`]; [`Worktree::differences`] finds them | local 120 s |
//! | `commit`, `commit_changes` | [`Scratch::commit_edits`]; no change is [`Made::Unchanged`] | local 120 s a step |
//! | `push`, `push_branch` | [`Scratch::push`], always with a lease | network 600 s |
//! | `get_changed_files` | [`Repository::changes`](repository::Repository::changes), [`Worktree::differences`] | local 120 s |
//! | `write_file`, `append_file` | [`Edit`]s; in a worktree the sandbox writes | local 120 s |
//! | `file_exists` | [`Repository::find`](repository::Repository::find) | quick 30 s |
//! | `list_files` | [`Repository::list`](repository::Repository::list) | local 120 s |
//!
//! The limits are [`Limits`]; a call that exceeds one is killed with all that it started.
//!
//! **Invariant.** No credential stands in an argument, a variable, an address or a file. No git
//! process ever has a work tree. Only a command that is given a [`Remote`] can reach a network.

mod command;
mod credential;
mod error;
mod mirror;
mod name;
mod oid;
pub mod read;
mod remote;
pub mod repository;
mod scratch;
mod space;
mod workshop;
mod worktree;

pub use command::{Git, Limits, Settings};
pub use credential::relay;
pub use error::{Error, Retry};
pub use mirror::{Fetched, Mirror, Mirrors, Want};
pub use name::{Fault, RefName, check_path};
pub use oid::{NotAnOid, Oid};
pub use remote::{Access, Account, Remote};
pub use scratch::{Content, Edit, Expected, Made, NewCommit, Push, Pushed, Scratch};
pub use space::{FreeBytes, Space};
pub use worktree::{Difference, Kind, LeftOut, Why, Worktree};
