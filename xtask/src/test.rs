//! `cargo xtask test`: installs and starts what the checks need, then runs every check.
//!
//! `.ci/run` is just this. The tests come first among the long steps, because everybody else
//! uses what they build; `lint` and `docs` share the metadata that the lints make.

use std::env;
use std::process::Command;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::command::{Workspace, succeed};
use crate::postgres::{ADDRESS_VARIABLE, Database};
use crate::suite::{Outcome, Skips, Suite};
use crate::verdict::Verdict;
use crate::{docs, e2e, tidy};

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Run these steps alone.
    #[arg(long, value_name = "STEP", value_enum)]
    only: Vec<Step>,
    /// Leave these steps out.
    #[arg(long, value_name = "STEP", value_enum)]
    skip: Vec<Step>,
}

/// The steps, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Step {
    /// The code is formatted.
    Format,
    /// The shape of the project holds.
    Tidy,
    /// The payloads and descriptions that others publish are at hand.
    Fixtures,
    /// The clients that others wrote are at hand.
    Clients,
    /// Everything builds.
    Build,
    /// A PostgreSQL server for the tests.
    Postgresql,
    /// Unit, contract and scenario tests, over both databases.
    Test,
    /// Stories of people, a real forge and the real program.
    E2e,
    /// Clippy has no complaint.
    Lint,
    /// The documentation builds and the generated part is up to date.
    Docs,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<Verdict> {
    let steps = options.steps();
    if steps.is_empty() {
        eprintln!("error: `--skip` leaves nothing of what `--only` names");
        return Ok(Verdict::Misused);
    }
    let mut suite = Suite::default();
    let mut database = None;
    for step in steps {
        let builds = !suite.has_failed(&Step::Build.name());
        suite.step(step.name(), || match step {
            Step::Format => cargo(workspace, &["fmt", "--all", "--check"]),
            Step::Tidy => tidy_up(workspace),
            Step::Fixtures => passed(&mut workspace.command("scripts/fixtures.sh")),
            Step::Clients => install_clients(workspace),
            Step::Build => cargo(workspace, &["test", "--workspace", "--no-run", "--quiet"]),
            Step::Postgresql => start_database(&mut database),
            Step::Test if builds => test(workspace, database.as_ref()),
            Step::E2e if builds => e2e::step(workspace),
            Step::Test | Step::E2e => Ok(Outcome::Failed("not run: it does not build".to_owned())),
            Step::Lint => lint(workspace),
            Step::Docs => document(workspace),
        });
    }
    drop(database);

    let skips = if env::var("CI").is_ok_and(|value| value == "true") {
        Skips::Failures
    } else {
        Skips::Reported
    };
    println!("\n{suite}\n{}", suite.conclusion("test"));
    Ok(suite.verdict(skips))
}

impl Options {
    fn steps(&self) -> Vec<Step> {
        Step::value_variants().iter().copied().filter(|step| self.wants(*step)).collect()
    }

    fn wants(&self, step: Step) -> bool {
        let named = |steps: &[Step]| {
            // The server is there for the tests: whoever names them means both.
            steps.contains(&step) || step == Step::Postgresql && steps.contains(&Step::Test)
        };
        (self.only.is_empty() || named(&self.only)) && !named(&self.skip)
    }
}

impl Step {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

fn tidy_up(workspace: &Workspace) -> Result<Outcome> {
    Ok(match tidy::run(workspace)? {
        Verdict::Held => Outcome::Passed,
        Verdict::Broken | Verdict::Misused | Verdict::Unable => {
            Outcome::Failed("see the complaints above".to_owned())
        }
    })
}

fn install_clients(workspace: &Workspace) -> Result<Outcome> {
    Ok(match succeed(&mut workspace.command("scripts/clients.sh")) {
        Ok(()) => Outcome::Passed,
        Err(why) => Outcome::Skipped(format!(
            "{why:#}; this leaves out what the clients of others say about the fake forge"
        )),
    })
}

fn start_database(database: &mut Option<Database>) -> Result<Outcome> {
    let prepared = database.insert(Database::prepare()?);
    Ok(match prepared {
        Database::Given(_) | Database::Temporary(_) => Outcome::Passed,
        Database::Missing(why) => Outcome::Skipped(format!(
            "{why}; this leaves out every test over PostgreSQL: the store's suite and the \
             scenarios run on SQLite alone. Install `postgresql` or set {ADDRESS_VARIABLE}"
        )),
    })
}

fn test(workspace: &Workspace, database: Option<&Database>) -> Result<Outcome> {
    let mut command = workspace.cargo();
    command.args(["test", "--workspace", "--no-fail-fast"]);
    if let Some(address) = database.and_then(Database::address) {
        command.env(ADDRESS_VARIABLE, address);
    }
    passed(&mut command)
}

fn lint(workspace: &Workspace) -> Result<Outcome> {
    cargo(
        workspace,
        &["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"],
    )
}

fn document(workspace: &Workspace) -> Result<Outcome> {
    let mut command = workspace.cargo();
    command
        .args(["doc", "--workspace", "--no-deps", "--document-private-items", "--quiet"])
        .env("RUSTDOCFLAGS", "--deny warnings");
    let built = succeed(&mut command);
    let generated = docs::check(workspace);
    Ok(match (built, generated) {
        (Ok(()), Ok(stale)) if stale.is_empty() => Outcome::Passed,
        (built, generated) => {
            let mut complaints = Vec::new();
            complaints.extend(built.err().map(|error| format!("{error:#}")));
            match generated {
                Ok(stale) => complaints.extend(stale),
                Err(error) => complaints.push(format!("{error:#}")),
            }
            Outcome::Failed(complaints.join("; "))
        }
    })
}

fn cargo(workspace: &Workspace, arguments: &[&str]) -> Result<Outcome> {
    passed(workspace.cargo().args(arguments))
}

fn passed(command: &mut Command) -> Result<Outcome> {
    succeed(command).map(|()| Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(only: &[Step], skip: &[Step], expected: &[Step]) {
        let options = Options { only: only.to_vec(), skip: skip.to_vec() };
        assert_eq!(options.steps(), expected);
    }

    #[test]
    fn all_steps_run_unless_some_are_named() {
        check(&[], &[], Step::value_variants());
        check(&[Step::Tidy, Step::Format], &[], &[Step::Format, Step::Tidy]);
        check(&[Step::Tidy, Step::Format], &[Step::Tidy], &[Step::Format]);
    }

    #[test]
    fn the_database_comes_and_goes_with_the_tests() {
        check(&[Step::Test], &[], &[Step::Postgresql, Step::Test]);
        check(&[Step::Test], &[Step::Postgresql], &[Step::Test]);
        check(&[Step::Test, Step::Lint], &[Step::Test], &[Step::Lint]);
        check(&[Step::Test], &[Step::Test], &[]);
    }
}
