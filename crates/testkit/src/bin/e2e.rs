//! The driver behind `cargo xtask e2e`: see [`testkit::e2e`].
//!
//! The program under test is named by `PATCHWRIGHT_TEST_PROGRAM` or lies beside this one.

#![expect(
    clippy::print_stderr,
    reason = "a command line program says on standard error why it could not run"
)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use testkit::bench::program_beside;
use testkit::e2e::{Options, Verdict, run};

/// Acts as people would on a real forge, and checks what they see.
///
/// Exit codes: 0 every story is true, 1 one is not, 2 wrong usage, 3 it could not run.
#[derive(Debug, Parser)]
#[command(name = "e2e", bin_name = "cargo xtask e2e")]
struct Arguments {
    /// The program under test [default: the one beside this program]
    #[arg(long, value_name = "FILE", env = "PATCHWRIGHT_TEST_PROGRAM")]
    program: Option<PathBuf>,
    /// The forge's server
    #[arg(long, value_name = "FILE")]
    gitea: PathBuf,
    /// The source of the server, with its templates
    #[arg(long, value_name = "DIR")]
    gitea_source: PathBuf,
    /// Tell only the stories whose name holds this
    #[arg(long, value_name = "TEXT")]
    story: Vec<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let told = arguments.program.map_or_else(program_beside, Ok).and_then(|program| {
        run(&Options {
            program,
            gitea: arguments.gitea,
            source: arguments.gitea_source,
            stories: arguments.story,
        })
    });
    match told {
        Ok(Verdict::Held) => ExitCode::SUCCESS,
        Ok(Verdict::Broken) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("e2e: could not run: {error:#}");
            ExitCode::from(3)
        }
    }
}
