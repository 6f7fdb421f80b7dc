//! `cargo xtask bench` and `cargo xtask chaos`: starting testkit's drivers.
//!
//! A driver is built first, so that a build that fails is "could not run" and never "broken".
//! It learns of PostgreSQL and of the program under test from the environment, and it ends with
//! its own line `NAME: key=value …`.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Args;

use crate::command::{Workspace, find_program, succeed};
use crate::package;
use crate::postgres::{ADDRESS_VARIABLE, Database};
use crate::verdict::Verdict;

/// The variable that names the program under test.
pub(crate) const PROGRAM_VARIABLE: &str = "PATCHWRIGHT_TEST_PROGRAM";

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// What to run and how, as the driver understands it (`-- --help` lists it).
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// How the driver and the program under test are built.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Build {
    /// As the tests are: nothing is built anew for it.
    Dev,
    /// Optimised, because its speed is the question.
    Release,
}

pub(crate) fn bench(workspace: &Workspace, options: &Options) -> Result<Verdict> {
    drive(workspace, "bench", Build::Release, options)
}

pub(crate) fn chaos(workspace: &Workspace, options: &Options) -> Result<Verdict> {
    // Without it the driver says itself what it cannot do.
    if find_program("strace").is_none()
        && let Err(why) = package::install("strace", "strace")
    {
        eprintln!("chaos: {why:#}");
    }
    drive(workspace, "chaos", Build::Dev, options)
}

fn drive(workspace: &Workspace, name: &str, build: Build, options: &Options) -> Result<Verdict> {
    let programs = build_programs(workspace, name, build)?;
    let database = Database::prepare()?;
    let mut command = workspace.command(programs.join(name));
    command.args(&options.arguments).env(PROGRAM_VARIABLE, programs.join("patchwright"));
    if let Database::Missing(why) = &database {
        eprintln!("{name}: nothing runs on PostgreSQL: {why}");
    }
    if let Some(address) = database.address() {
        command.env(ADDRESS_VARIABLE, address);
    }
    let status = command.status().with_context(|| format!("cannot start the driver `{name}`"))?;
    Ok(Verdict::of_driver(status))
}

/// Builds a driver and the program under test, and returns the folder of both.
pub(crate) fn build_programs(workspace: &Workspace, name: &str, build: Build) -> Result<PathBuf> {
    let mut command = workspace.cargo();
    command.args(["build", "--quiet", "--package", "patchwright", "--bin", "patchwright"]);
    command.args(["--package", "testkit", "--bin", name]);
    let folder = match build {
        Build::Dev => "debug",
        Build::Release => {
            command.arg("--release");
            "release"
        }
    };
    succeed(&mut command)?;
    Ok(workspace.target()?.join(folder))
}
