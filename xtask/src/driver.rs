//! `cargo xtask bench` and `cargo xtask chaos`: starting testkit's drivers.
//!
//! A driver is built first, so that a build that fails is "could not run" and never "broken".
//! It learns of PostgreSQL and of the program under test from the environment, and it ends with
//! its own line `NAME: key=value …`.

use std::env;
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

/// What a driver needs beside itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    /// The program under test, and PostgreSQL where it can be had.
    Product,
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
    // What reads diffs and what runs git are part of the driver itself.
    let needs = match options.arguments.first() {
        Some(what) if what == "diff" || what == "git" => Needs::Nothing,
        _ => Needs::Product,
    };
    drive(workspace, "bench", Build::Release, needs, options)
}

pub(crate) fn chaos(workspace: &Workspace, options: &Options) -> Result<Verdict> {
    // Without it the driver says itself what it cannot do.
    if find_program("strace").is_none()
        && let Err(why) = package::install("strace", "strace")
    {
        eprintln!("chaos: {why:#}");
    }
    drive(workspace, "chaos", Build::Dev, Needs::Product, options)
}

fn drive(
    workspace: &Workspace,
    name: &str,
    build: Build,
    needs: Needs,
    options: &Options,
) -> Result<Verdict> {
    let programs = build_programs(workspace, name, build, needs)?;
    let mut command = workspace.command(programs.join(name));
    // Files are named as the person sees them.
    let here = env::current_dir().context("cannot tell where this was started")?;
    command.current_dir(here).args(&options.arguments);
    let database = match needs {
        Needs::Nothing => None,
        Needs::Product => Some(Database::prepare()?),
    };
    if let Some(database) = &database {
        command.env(PROGRAM_VARIABLE, programs.join("patchwright"));
        if let Database::Missing(why) = database {
            eprintln!("{name}: nothing runs on PostgreSQL: {why}");
        }
        if let Some(address) = database.address() {
            command.env(ADDRESS_VARIABLE, address);
        }
    }
    let status = command.status().with_context(|| format!("cannot start the driver `{name}`"))?;
    Ok(Verdict::of_driver(status))
}

/// Builds a driver and what it needs, and returns the folder of both.
pub(crate) fn build_programs(
    workspace: &Workspace,
    name: &str,
    build: Build,
    needs: Needs,
) -> Result<PathBuf> {
    let mut command = workspace.cargo();
    command.args(["build", "--quiet", "--package", "testkit", "--bin", name]);
    if needs == Needs::Product {
        command.args(["--package", "patchwright", "--bin", "patchwright"]);
    }
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
