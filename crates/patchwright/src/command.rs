//! One file per command. [`run()`] resolves the settings, starts the log and hands over.

use std::io::Write;
use std::sync::Arc;

use report::redact::Redactor;
use tokio::runtime::Runtime;

pub mod config;
pub mod demo;
pub mod doctor;
pub mod jobs;
pub mod manual;
pub mod migrate;
pub mod replay;
pub mod run;
pub mod serve;

use crate::cli::{self, Cli, Command};
use crate::complaint::{Complaint, Exit, Paint};
use crate::env::Environment;
use crate::log;
use crate::settings::Settings;
use crate::settings::field::Source;
use crate::settings::value::Level;

/// Runs the command that was asked for.
pub fn run(
    cli: &Cli,
    environment: &Environment,
    redactor: &Arc<Redactor>,
    paint: Paint,
    out: &mut dyn Write,
) -> Result<Exit, Complaint> {
    let prepare = || Prepared::new(cli, environment, redactor, paint);
    let sending = cli.global.sending();
    match &cli.command {
        // The first five need no settings: they must work even where those are wrong.
        Command::Completions { shell } => manual::completions(*shell, out),
        Command::Man => manual::page(out),
        Command::GitCredential { socket, operation } => {
            git::relay(socket, operation, std::io::stdin(), &mut &mut *out)?;
            Ok(Exit::Done)
        }
        Command::Docs { out: folder } => manual::docs(folder),
        Command::Config(cli::Config::Example) => config::example(out),
        Command::Config(cli::Config::Show) => config::show(&prepare()?.settings, out),
        Command::Config(cli::Config::Check) => config::check(&prepare()?.settings, out),
        Command::Serve(serve) => {
            let Prepared { settings, runtime } = prepare()?;
            runtime.block_on(serve::run(serve.role, &settings, sending, redactor, out))
        }
        Command::Run(command) => {
            let Prepared { settings, runtime } = prepare()?;
            runtime.block_on(run::run(command, &settings, environment, sending, redactor, out))
        }
        Command::Replay(command) => {
            let Prepared { settings, runtime } = prepare()?;
            runtime.block_on(replay::run(command, &settings, sending, redactor, out))
        }
        Command::Jobs(command) => {
            let Prepared { settings, runtime } = prepare()?;
            runtime.block_on(jobs::run(command, &settings, &sending.0, out))
        }
        Command::Doctor => {
            let Prepared { settings, runtime } = prepare()?;
            runtime.block_on(doctor::run(&settings, redactor, out))
        }
        Command::Migrate => {
            let Prepared { settings, runtime } = prepare()?;
            runtime.block_on(migrate::run(&settings, &sending.0, out))
        }
        Command::Demo => {
            let Prepared { settings, runtime } = prepare()?;
            runtime.block_on(demo::run(&settings, redactor, out))
        }
    }
}

/// What every command that does something starts from.
struct Prepared {
    settings: Settings,
    runtime: Runtime,
}

impl Prepared {
    /// Resolves the settings, tells the redactor their secrets, and starts the log.
    fn new(
        cli: &Cli,
        environment: &Environment,
        redactor: &Arc<Redactor>,
        paint: Paint,
    ) -> Result<Self, Complaint> {
        let settings = Settings::load(&cli.flags(), environment).map_err(Complaint::about)?;
        for secret in settings.secrets() {
            redactor.add(&secret);
        }
        log::start(level(&cli.command, &settings), &settings.log, paint, Arc::clone(redactor));
        Ok(Self { settings, runtime: Runtime::new()? })
    }
}

/// A server logs what it does; a command that prints what it does logs only what is wrong, unless
/// somebody asked for more.
fn level(command: &Command, settings: &Settings) -> Level {
    match (command, &settings.log.level.source) {
        (Command::Serve(_), _) => *settings.log.level,
        (_, Source::Default) => Level::Warn,
        _ => *settings.log.level,
    }
}
