//! `cargo xtask fuzz`: searches for inputs that break a parser of outside text.
//!
//! The targets are functions of `testkit::fuzz`; testkit's binary `fuzz` puts them under
//! libFuzzer, whose coverage the stable compiler provides through LLVM's own pass. A folder
//! `fuzz/corpus/TARGET` exists for each target, and `cargo test` replays what lies there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::command::{Workspace, output, succeed};
use crate::verdict::Verdict;

/// The variable that tells the binary which target it is.
const TARGET_VARIABLE: &str = "PATCHWRIGHT_FUZZ_TARGET";

/// What makes the stable compiler count the paths that an input takes.
const COVERAGE: [&str; 7] = [
    "--cfg=fuzzing",
    "-Ccodegen-units=1",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
];

/// The longest input that is tried; a comment on a forge may have 64 KiB.
const LONGEST_INPUT: usize = 65_536;

/// An input that takes longer than this is a finding too: parsers work in linear time.
const SLOWEST_SECONDS: u64 = 5;

/// libFuzzer's exit codes for an input that crashes, takes too long or too much memory.
const FOUND: [i32; 3] = [77, 70, 71];

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The target to search; all of them without it.
    target: Option<String>,
    /// How long to search each target.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    seconds: u64,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<Verdict> {
    let mut targets = targets(&workspace.path("fuzz/corpus"))?;
    if let Some(wanted) = &options.target {
        if !targets.contains(wanted) {
            eprintln!("error: there is no target `{wanted}`; there are: {}", targets.join(", "));
            return Ok(Verdict::Misused);
        }
        targets.retain(|target| target == wanted);
    }

    let build = workspace.target()?.join("fuzz");
    let program = build_program(workspace, &build)?;
    let mut crashes = 0;
    for target in &targets {
        let search = Search::new(&build, target);
        let status = search.run(workspace, &program, options.seconds)?;
        let log = fs::read_to_string(&search.log)?;
        match status.code() {
            Some(0) => println!("{target}: inputs={}", runs(&log).unwrap_or("unknown")),
            Some(code) if FOUND.contains(&code) => {
                crashes += 1;
                println!("{}\n{}", search.finding(), panic_of(&log).unwrap_or(&log));
            }
            _ => bail!("the fuzzer ended with {status} on `{target}`:\n{log}"),
        }
    }
    println!(
        "\nfuzz: targets={} seconds={} crashes={crashes}",
        targets.len(),
        options.seconds * targets.len() as u64
    );
    Ok(if crashes == 0 { Verdict::Held } else { Verdict::Broken })
}

/// Lists the targets by their folders; a test of testkit keeps folders and functions in step.
fn targets(corpus: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(corpus).context("cannot read the corpus")? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Builds the binary in a folder of its own, because the flags differ from everybody else's.
fn build_program(workspace: &Workspace, build: &Path) -> Result<PathBuf> {
    let host = host(&output(workspace.command("rustc").arg("-vV"))?)
        .context("rustc does not tell which machine it is for")?;
    let mut command = workspace.cargo();
    command
        .args(["build", "--release", "--quiet", "--package", "testkit"])
        .args(["--bin", "fuzz", "--features", "libfuzzer", "--target"])
        // Naming the target keeps the flags away from build scripts and procedural macros.
        .args([&host, "--target-dir"])
        .arg(build)
        .env("CARGO_ENCODED_RUSTFLAGS", COVERAGE.join("\u{1f}"))
        .env("CARGO_PROFILE_RELEASE_DEBUG", "line-tables-only")
        .env("CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS", "true")
        .env("CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS", "true");
    succeed(&mut command)?;
    Ok(build.join(host).join("release/fuzz"))
}

fn host(version: &str) -> Option<String> {
    version.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}

/// One search: where its inputs, findings and messages go.
struct Search<'a> {
    target: &'a str,
    /// The inputs that opened a new path, kept for the next search.
    grown: PathBuf,
    found: PathBuf,
    log: PathBuf,
}

impl<'a> Search<'a> {
    fn new(build: &Path, target: &'a str) -> Self {
        Self {
            target,
            grown: build.join("corpus").join(target),
            found: build.join("found").join(target),
            log: build.join("found").join(target).with_extension("log"),
        }
    }

    /// Searches from the kept inputs and the grown ones, for so long.
    fn run(&self, workspace: &Workspace, program: &Path, seconds: u64) -> Result<ExitStatus> {
        fs::create_dir_all(&self.grown)?;
        fs::create_dir_all(&self.found)?;
        workspace
            .command(program)
            .env(TARGET_VARIABLE, self.target)
            .arg(format!("-max_total_time={seconds}"))
            .arg(format!("-max_len={LONGEST_INPUT}"))
            .arg(format!("-timeout={SLOWEST_SECONDS}"))
            .arg(format!("-artifact_prefix={}/", self.found.display()))
            .args(["-print_final_stats=1", "-print_funcs=0", "-verbosity=0"])
            .arg(&self.grown)
            .arg(workspace.path("fuzz/corpus").join(self.target))
            .stderr(fs::File::create(&self.log)?)
            .status()
            .context("cannot start the fuzzer")
    }

    fn finding(&self) -> String {
        let (target, found) = (self.target, self.found.display());
        format!(
            "{target}: BROKEN by an input in {found}; once the parser is mended, move it to \
             fuzz/corpus/{target}, so that it never comes back. The whole story is in {}",
            self.log.display()
        )
    }
}

/// Reads how many inputs were tried.
fn runs(log: &str) -> Option<&str> {
    log.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:")).map(str::trim)
}

/// Cuts what the panic said out of the fuzzer's messages.
fn panic_of(log: &str) -> Option<&str> {
    let start = log.find("panicked at")?;
    let end = log[start..].find("stack backtrace:").map_or(log.len(), |length| start + length);
    Some(log[start..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_targets_are_the_folders_of_the_corpus() {
        let corpus = tempfile::tempdir().unwrap();
        fs::create_dir(corpus.path().join("quote")).unwrap();
        fs::create_dir(corpus.path().join("command")).unwrap();
        fs::write(corpus.path().join("README.md"), "").unwrap();
        assert_eq!(targets(corpus.path()).unwrap(), ["command", "quote"]);
        assert!(targets(&corpus.path().join("nowhere")).is_err());
    }

    #[test]
    fn the_machine_is_read_from_the_compilers_version() {
        let version = "rustc 1.95.0\nbinary: rustc\nhost: aarch64-unknown-linux-gnu\n";
        assert_eq!(host(version).as_deref(), Some("aarch64-unknown-linux-gnu"));
        assert_eq!(host("rustc"), None);
    }

    #[test]
    fn the_messages_of_the_fuzzer_are_cut_to_what_matters() {
        let log = "INFO: seed\nthread panicked at a.rs:1:2:\nno luck\nstack backtrace:\n  0: x\n\
                   stat::number_of_executed_units: 12\n";
        assert_eq!(runs(log), Some("12"));
        assert_eq!(panic_of(log), Some("panicked at a.rs:1:2:\nno luck"));
        assert_eq!((runs("INFO"), panic_of("INFO")), (None, None));
    }
}
