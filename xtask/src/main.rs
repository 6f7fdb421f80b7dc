//! Automation of the project: `cargo xtask test|tidy|docs|bench|fuzz|chaos|e2e`.
//!
//! Called by people through the alias in `.cargo/config.toml` and by `.ci/run`.
//! It starts cargo, databases and drivers; it links no crate of ours, so it still builds and
//! reports when one of them does not.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a build tool starts processes, reads the environment and the clock, and prints"
)]

mod code;
mod command;
mod docs;
mod driver;
mod e2e;
mod fuzz;
mod gitea;
mod metadata;
mod package;
mod postgres;
mod suite;
mod test;
mod tidy;
mod verdict;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::command::Workspace;
use crate::verdict::Verdict;

/// Automation for Patchwright's developers.
///
/// Exit codes: 0 it ran and nothing is broken, 1 something is broken, 2 wrong usage,
/// 3 it could not run.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Install and start what the checks need, then run every check.
    Test(test::Options),
    /// Check the shape of the project: direction, dependencies, files, names, links, rule tests.
    Tidy,
    /// Write the generated documentation.
    Docs(docs::Options),
    /// Measure one thing: `bench gateway`, `bench diff [FILE]`, `bench git`.
    Bench(driver::Options),
    /// Search for inputs that break a parser of outside text.
    Fuzz(fuzz::Options),
    /// Kill and stop real processes at the worst moments and check that nothing is lost.
    Chaos(driver::Options),
    /// Act as people would on a real forge, and check what they see.
    E2e(e2e::Options),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments.task) {
        Ok(verdict) => verdict.into(),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(3)
        }
    }
}

fn run(task: Task) -> Result<Verdict> {
    let workspace = Workspace::locate()?;
    match task {
        Task::Test(options) => test::run(&workspace, &options),
        Task::Tidy => tidy::run(&workspace),
        Task::Docs(options) => docs::run(&workspace, &options),
        Task::Bench(options) => driver::bench(&workspace, &options),
        Task::Fuzz(options) => fuzz::run(&workspace, &options),
        Task::Chaos(options) => driver::chaos(&workspace, &options),
        Task::E2e(options) => e2e::run(&workspace, &options),
    }
}
