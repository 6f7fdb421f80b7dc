//! Measures one thing and ends with one line `bench NAME: key=value …`.
//!
//! Started by `cargo xtask bench`, which builds the program under test and starts PostgreSQL.
//! Exit codes: 0 it ran (a missed aim is no failure), 1 an invariant broke, 2 usage, 3 could not run.

#![expect(
    clippy::print_stderr,
    reason = "a command line program says on standard error why it could not run"
)]

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use testkit::bench::{self, Options, Verdict, checkout};
use url::Url;

/// Measures Patchwright.
#[derive(Debug, Parser)]
#[command(name = "bench")]
struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Durable accepts a second, latency at half of the bound, memory at rest and start.
    Gateway(Gateway),
    /// The time to a ready worktree, cold and warm, as a ratio to plain git.
    Git(Worktrees),
    /// Megabytes of a diff that are read in a second, and the memory that this takes beside it.
    Diff(Diff),
}

#[derive(Debug, Args)]
struct Diff {
    /// A diff as `git diff` prints it [default: one of 256 MiB that is made]
    file: Option<PathBuf>,
}

#[derive(Debug, Args)]
struct Gateway {
    /// The program under test [default: the one beside this program]
    #[arg(long, value_name = "FILE", env = "PATCHWRIGHT_TEST_PROGRAM")]
    program: Option<PathBuf>,
    /// A PostgreSQL server in which databases may be made; without it only SQLite is measured
    #[arg(long, value_name = "URL", env = "PATCHWRIGHT_TEST_DATABASE_URL", hide_env_values = true)]
    postgres: Option<Url>,
    /// Where files go; it must be on a disk [default: beside the program]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// How often everything is measured
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How long each part of a round lasts, in seconds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
}

#[derive(Debug, Args)]
struct Worktrees {
    /// Where files go [default: beside this program]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Where git is found
    #[arg(long, value_name = "PATH", env = "PATH", hide = true)]
    search_path: OsString,
    /// How often everything is measured
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How many files the repository has
    #[arg(long, value_name = "N", default_value_t = 4000)]
    files: u32,
    /// How many commits it has
    #[arg(long, value_name = "N", default_value_t = 400)]
    commits: u32,
}

fn main() -> ExitCode {
    let measured = match Arguments::parse().what {
        What::Gateway(gateway) => measure_gateway(gateway),
        What::Git(worktrees) => measure_git(worktrees),
        What::Diff(options) => bench::diff(options.file.as_deref(), &mut io::stdout()),
    };
    match measured {
        Ok(Verdict::Held) => ExitCode::SUCCESS,
        Ok(Verdict::Broken) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(3)
        }
    }
}

fn measure_gateway(gateway: Gateway) -> Result<Verdict> {
    let program = gateway.program.map_or_else(bench::program_beside, Ok)?;
    let options = Options {
        program,
        postgres: gateway.postgres,
        folder: gateway.folder,
        rounds: gateway.rounds,
        lasts: Duration::from_secs(gateway.seconds),
    };
    bench::gateway(&options, &mut io::stdout())
}

fn measure_git(worktrees: Worktrees) -> Result<Verdict> {
    let folder = match worktrees.folder {
        Some(folder) => folder,
        None => bench::program_beside()?.with_file_name(""),
    };
    let options = checkout::Options {
        folder,
        search_path: worktrees.search_path,
        rounds: worktrees.rounds,
        files: worktrees.files,
        commits: worktrees.commits,
    };
    checkout::git(&options, &mut io::stdout())
}
