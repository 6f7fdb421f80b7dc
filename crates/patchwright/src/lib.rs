//! The binary as a library: configuration, command line and wiring.
//!
//! Entry is [`main`]: it reads the environment and the command line, resolves [`settings`], starts
//! the [`log`], and runs one of the files of [`command`]. This crate alone reads the environment
//! ([`mod@env`]), reads the clock ([`clock`]) and picks implementations; it contains no product logic.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use report::redact::Redactor;

pub mod cli;
pub mod clock;
pub mod code;
pub mod command;
pub mod complaint;
pub mod delivery;
pub mod env;
pub mod in_place;
pub mod log;
pub mod rehearsal;
pub mod settings;
pub mod wiring;

use cli::{Cli, Colour};
use complaint::{Complaint, Exit, Paint};
use env::{Environment, variable};

/// Runs the program with the arguments and the environment of this process.
pub fn main() -> ExitCode {
    let environment = Environment::of_process();
    let redactor = Arc::new(Redactor::new(&environment.secrets()));
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(said) => return said_by_clap(&said, &redactor, &environment).into(),
    };
    let paint = paint(cli.global.color, &environment);
    let ended = command::run(&cli, &environment, &redactor, paint, &mut io::stdout().lock());
    let ended = ended.and_then(|exit| io::stdout().flush().map(|()| exit).map_err(Complaint::from));
    match ended {
        Ok(exit) => exit.into(),
        Err(complaint) if complaint.is_broken_pipe() => Exit::Done.into(),
        Err(complaint) => {
            // If even the standard error output is gone, only the exit code is left to tell.
            let told = complaint.print(&mut io::stderr().lock(), &redactor, paint);
            told.map_or(Exit::Failure, |()| complaint.exit).into()
        }
    }
}

/// Prints help, version or a mistake on the command line, as clap words it. What was typed is part of
/// those words, so they are cleaned like everything else (T6).
fn said_by_clap(said: &clap::Error, redactor: &Redactor, environment: &Environment) -> Exit {
    if !said.use_stderr() {
        return match said.print() {
            Ok(()) => Exit::Done,
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
            Err(_) => Exit::Failure,
        };
    }
    let words = match paint(Colour::Auto, environment) {
        Paint::Coloured => said.render().ansi().to_string(),
        Paint::Plain => said.render().to_string(),
    };
    // If even the standard error output is gone, only the exit code is left to tell.
    let told = io::stderr().write_all(redactor.clean(&words).as_bytes());
    told.map_or(Exit::Failure, |()| Exit::Usage)
}

fn paint(colour: Colour, environment: &Environment) -> Paint {
    let coloured = match colour {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => io::stderr().is_terminal() && !environment.has(&variable::NO_COLOR.0),
    };
    if coloured { Paint::Coloured } else { Paint::Plain }
}
