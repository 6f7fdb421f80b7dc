//! Known weaknesses of dependencies, where a database of them is at hand.
//!
//! It is never fetched here: a check that depends on the network's mood is no check. Where the
//! tool or the database is missing, that is said.

use std::fmt::{self, Display};
use std::path::PathBuf;
use std::process::Stdio;
use std::{env, fs};

use crate::command::Workspace;

/// What is known about weaknesses of the packages in `Cargo.lock`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Advisories {
    Clean,
    Found,
    Unchecked(&'static str),
}

impl Advisories {
    pub(super) fn is_complaint(&self) -> bool {
        *self == Self::Found
    }
}

impl Display for Advisories {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clean => write!(out, "none known to the local database"),
            Self::Found => write!(out, "`cargo audit` complains, see above"),
            Self::Unchecked(why) => write!(out, "unchecked: {why}"),
        }
    }
}

/// Asks `cargo audit` about its local database.
pub(super) fn check(workspace: &Workspace) -> Advisories {
    let database = cargo_home().map(|home| home.join("advisory-db"));
    if !database.is_some_and(|folder| fs::exists(folder).unwrap_or(false)) {
        return Advisories::Unchecked("no advisory database at hand");
    }
    let installed = workspace
        .cargo()
        .args(["audit", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !installed.is_ok_and(|status| status.success()) {
        return Advisories::Unchecked("no `cargo audit` at hand");
    }
    match workspace.cargo().args(["audit", "--no-fetch", "--quiet"]).status() {
        Ok(status) if status.success() => Advisories::Clean,
        Ok(_) => Advisories::Found,
        Err(_) => Advisories::Unchecked("`cargo audit` does not start"),
    }
}

fn cargo_home() -> Option<PathBuf> {
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".cargo"));
    env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}
