//! Reading a repository by object names: trees and files, history, differences.
//!
//! Called by workflows through a mirror or a private repository. Nothing here needs a work tree or
//! reaches the network; contents that were not fetched are [`crate::Error::Missing`].

mod diff;
mod history;
mod tree;

pub use diff::{Change, Context, Diff, Side, Status};
pub use history::{Commit, Person};
pub(crate) use tree::garbled;
pub use tree::{Entry, Found, Match, Matches, Mode};
