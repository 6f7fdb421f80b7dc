//! The command line: what may be written, and its help. It decides nothing.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use forge::Host;

use crate::rehearsal::{self, Sending, Told};
use crate::settings::{Flags, Role};

const EXAMPLES: &str = "\
Examples:
  patchwright demo                        see it work, with nothing configured
  patchwright config example              print a configuration file to start from
  patchwright doctor                      check connections, secrets and the store
  patchwright serve                       take deliveries and do the work
  patchwright replay delivery.json --dry-run
                                          show what a delivery would lead to
  patchwright jobs list --state dead      look at what was given up

Exit codes: 0 done, 1 findings, 2 wrong usage or configuration, 3 failure.";

/// Reviews changes, keeps findings alive, fixes them, and turns issues into verified changes.
#[derive(Debug, Parser)]
#[command(name = "patchwright", version, after_help = EXAMPLES, subcommand_required = true)]
#[command(arg_required_else_help = true, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Everywhere")]
pub struct Global {
    /// Read the configuration from this file
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Keep everything in this folder [default: the user's data folder]
    #[arg(long, value_name = "DIR", global = true)]
    pub data: Option<String>,
    /// Print what would be sent instead of sending it
    #[arg(long, global = true)]
    pub dry_run: bool,
    /// Log more or less: error, warn, info, debug, trace
    #[arg(long, value_name = "LEVEL", global = true)]
    pub log_level: Option<String>,
    /// Use colours; auto: on a terminal where `NO_COLOR` is not set
    #[arg(long, value_name = "WHEN", global = true, default_value = "auto")]
    pub color: Colour,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Take deliveries and do the work they ask for
    Serve(Serve),
    /// Do the work of one event in place, as a CI step
    Run(Run),
    /// Pass a stored delivery through the program
    Replay(Replay),
    /// Look at jobs, stop them, start them again
    #[command(subcommand)]
    Jobs(Jobs),
    /// Show, check or begin a configuration
    #[command(subcommand)]
    Config(Config),
    /// Check everything that the program depends on, and say what to do
    Doctor,
    /// Bring the store's tables up to date (`serve` does it too)
    Migrate,
    /// Show the smallest whole story, with nothing configured and no network
    Demo,
    /// Print completions for a shell
    Completions { shell: Shell },
    /// Print the manual page
    Man,
    /// Carry a credential to git, which calls this by itself
    #[command(hide = true, name = crate::code::RELAY)]
    GitCredential {
        /// Where the credential is asked for
        socket: PathBuf,
        /// What git wants
        operation: String,
    },
    /// Write the generated documentation
    #[command(hide = true)]
    Docs {
        /// Folder to write into
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

#[derive(Clone, Debug, Args)]
pub struct Serve {
    /// Which part of the work this process takes
    #[arg(long, value_name = "ROLE", default_value = "all")]
    pub role: Role,
    /// Address to listen on [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<String>,
}

#[derive(Clone, Debug, Args)]
pub struct Run {
    /// File with the event [default: the one that the platform names]
    #[arg(long, value_name = "FILE")]
    pub event: Option<PathBuf>,
}

#[derive(Clone, Debug, Args)]
pub struct Replay {
    /// File with the body of a delivery, or with {"headers": …, "body": …}
    pub file: PathBuf,
    /// Which forge sent it [default: what the headers say]
    #[arg(long, value_name = "FORGE", value_parser = host)]
    pub forge: Option<Host>,
    /// The forge's name of the event, where the file has no headers
    #[arg(long, value_name = "NAME")]
    pub event: Option<String>,
}

#[derive(Clone, Debug, Subcommand)]
pub enum Jobs {
    /// List jobs, the newest first
    List {
        /// Only those in this state
        #[arg(long, value_name = "STATE")]
        state: Option<domain::job::State>,
        /// How many
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: u32,
    },
    /// Show a job with its whole record
    Show { id: String },
    /// Stop a job
    Cancel { id: String },
    /// Start a job again that did not succeed
    Retry { id: String },
}

#[derive(Clone, Copy, Debug, Subcommand)]
pub enum Config {
    /// Print the configuration in force and who set each value
    Show,
    /// Check the configuration and say what is missing
    Check,
    /// Print a configuration file with every setting explained
    Example,
}

impl Cli {
    /// Returns what the command line sets, for the settings.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::with_config(self.global.config.clone());
        flags.set("--data", self.global.data.as_ref());
        flags.set("--log-level", self.global.log_level.as_ref());
        if let Command::Serve(serve) = &self.command {
            flags.set("--listen", serve.listen.as_ref());
        }
        flags
    }
}

impl Global {
    /// Whether publications leave the program, and where they come out if they do not.
    pub fn sending(&self) -> (Sending, Told) {
        if self.dry_run { rehearsal::begin() } else { rehearsal::none() }
    }
}

fn host(text: &str) -> Result<Host, String> {
    use crate::settings::value::{Raw, Value};
    Host::read(&Raw::Text(text.to_owned())).ok_or_else(|| format!("expected {}", Host::EXPECTED))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::settings::section;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_flag_that_sets_a_setting_exists() {
        let mut command = Cli::command();
        command.build();
        let flags =
            section::ALL.iter().flat_map(|section| section.fields).filter_map(|field| field.flag);
        for flag in flags {
            let long = flag.trim_start_matches("--");
            let all = std::iter::once(&command).chain(command.get_subcommands());
            assert!(
                all.flat_map(clap::Command::get_arguments).any(|arg| arg.get_long() == Some(long)),
                "{flag}"
            );
        }
    }

    #[test]
    fn flags_are_handed_to_the_settings() {
        let line =
            ["patchwright", "serve", "--listen", "[::1]:9", "--data", "/d", "--log-level", "debug"];
        let flags = format!("{:?}", Cli::parse_from(line).flags());
        assert!(flags.contains(r#"("--listen", "[::1]:9")"#), "{flags}");
        assert!(flags.contains(r#"("--data", "/d")"#), "{flags}");
        assert!(flags.contains(r#"("--log-level", "debug")"#), "{flags}");
    }
}
