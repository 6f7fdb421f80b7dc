//! `cargo xtask e2e`: people, a real Gitea and the real program.
//!
//! Builds the server once ([`crate::gitea`]) and starts testkit's driver `e2e`, which tells the
//! stories. `cargo xtask test` runs the same as one of its steps.

use std::ffi::OsString;

use anyhow::{Context, Result};
use clap::Args;

use crate::command::Workspace;
use crate::driver::{Build, Needs, PROGRAM_VARIABLE, build_programs};
use crate::gitea::{self, Gitea};
use crate::suite::Outcome;
use crate::verdict::Verdict;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The version of the server.
    #[arg(long, value_name = "VERSION", default_value = gitea::VERSION, value_parser = gitea::version)]
    gitea: String,
    /// Tell only the stories whose name holds this.
    #[arg(long, value_name = "TEXT")]
    story: Vec<OsString>,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<Verdict> {
    match Gitea::find_or_build(&options.gitea) {
        Ok(server) => drive(workspace, options, &server),
        Err(why) => {
            eprintln!("e2e: NOT RUN: there is no Gitea {}: {why:#}", options.gitea);
            println!("e2e: gitea={} passed=0 failed=0 skipped=1", options.gitea);
            Ok(Verdict::Unable)
        }
    }
}

/// Runs the whole as a step of `test`.
pub(crate) fn step(workspace: &Workspace) -> Result<Outcome> {
    let options = Options { gitea: gitea::VERSION.to_owned(), story: Vec::new() };
    let server = match Gitea::find_or_build(&options.gitea) {
        Ok(server) => server,
        Err(why) => {
            return Ok(Outcome::Skipped(format!(
                "there is no Gitea {}: {why:#}; this leaves out every story against a real \
                 forge. It needs Go, and the source by Go's own means",
                options.gitea
            )));
        }
    };
    Ok(match drive(workspace, &options, &server)? {
        Verdict::Held => Outcome::Passed,
        Verdict::Broken => Outcome::Failed("see the stories above".to_owned()),
        Verdict::Misused | Verdict::Unable => {
            Outcome::Failed("the stories could not be told".to_owned())
        }
    })
}

fn drive(workspace: &Workspace, options: &Options, server: &Gitea) -> Result<Verdict> {
    let programs = build_programs(workspace, "e2e", Build::Dev, Needs::Product)?;
    let mut command = workspace.command(programs.join("e2e"));
    command.env(PROGRAM_VARIABLE, programs.join("patchwright"));
    command.arg("--gitea").arg(&server.program).arg("--gitea-source").arg(&server.source);
    for story in &options.story {
        command.arg("--story").arg(story);
    }
    let status = command.status().context("cannot start the driver `e2e`")?;
    Ok(Verdict::of_driver(status))
}
