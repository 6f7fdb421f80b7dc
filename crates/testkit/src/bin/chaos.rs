//! The driver behind `cargo xtask chaos`: see [`testkit::chaos`].
//!
//! The program under test is named by `PATCHWRIGHT_TEST_PROGRAM` or lies beside this one; the
//! PostgreSQL server is named by `PATCHWRIGHT_TEST_DATABASE_URL`.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a command line program reads its environment and says what keeps it from running"
)]

use std::env;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;
use testkit::chaos::{Options, Stores, Verdict, run};

/// Kills and stops real processes at every moment, and checks that nothing is lost, doubled or out
/// of order.
///
/// Exit codes: 0 nothing is broken, 1 something is, 2 wrong usage, 3 it could not run.
#[derive(Debug, Parser)]
#[command(name = "chaos", bin_name = "cargo xtask chaos --")]
struct Arguments {
    /// Where everything random starts from [default: another one each time]
    #[arg(long)]
    seed: Option<u64>,
    /// Kills over all databases
    #[arg(long, default_value_t = Options::KILLS, value_parser = clap::value_parser!(u32).range(1..))]
    kills: u32,
    /// Leave PostgreSQL out
    #[arg(long)]
    sqlite_only: bool,
    /// Leave SQLite out
    #[arg(long, conflicts_with = "sqlite_only")]
    postgres_only: bool,
}

fn main() -> ExitCode {
    match options(&Arguments::parse()).and_then(|options| run(&options)) {
        Ok(Verdict::Held) => ExitCode::SUCCESS,
        Ok(Verdict::Broken) => ExitCode::from(1),
        Err(error) => {
            eprintln!("chaos: could not run: {error:#}");
            ExitCode::from(3)
        }
    }
}

fn options(arguments: &Arguments) -> Result<Options> {
    let stores = match (arguments.sqlite_only, arguments.postgres_only) {
        (true, _) => Stores::SqliteOnly,
        (_, true) => Stores::PostgresOnly,
        _ => Stores::Both,
    };
    Ok(Options {
        program: program()?,
        server: env::var("PATCHWRIGHT_TEST_DATABASE_URL").ok(),
        stores,
        kills: arguments.kills,
        seed: arguments.seed.unwrap_or_else(|| uuid::Uuid::new_v4().as_u64_pair().0 >> 32),
    })
}

fn program() -> Result<PathBuf> {
    if let Some(program) = env::var_os("PATCHWRIGHT_TEST_PROGRAM") {
        return Ok(program.into());
    }
    let own = env::current_exe().context("cannot tell where this program lies")?;
    Ok(own.with_file_name("patchwright"))
}
