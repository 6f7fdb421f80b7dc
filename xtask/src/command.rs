//! Where the workspace is, and how its tools are started.
//!
//! Every process of `xtask` is started from here: in the workspace's root and without standard
//! input, so that nothing can wait for an answer that never comes.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::metadata::Metadata;

/// The checkout that `xtask` works on.
#[derive(Debug)]
pub(crate) struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// Asks cargo where the workspace is, so that any folder inside it will do.
    pub(crate) fn locate() -> Result<Self> {
        let manifest = output(
            Command::new(cargo_path())
                .args(["locate-project", "--workspace", "--message-format", "plain"])
                .stdin(Stdio::null()),
        )?;
        let root = Path::new(manifest.trim()).parent().context("the manifest has no folder")?;
        Ok(Self { root: root.to_path_buf() })
    }

    pub(crate) fn path(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.root.join(relative)
    }

    /// Prepares a program that runs in the workspace's root.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null());
        command
    }

    /// Prepares the cargo that runs `xtask` itself.
    pub(crate) fn cargo(&self) -> Command {
        self.command(cargo_path())
    }

    /// Describes the workspace and everything it depends on, as `Cargo.lock` stands.
    pub(crate) fn metadata(&self) -> Result<Metadata> {
        let description = output(self.cargo().args([
            "metadata",
            "--locked",
            "--all-features",
            "--format-version=1",
        ]))?;
        Metadata::parse(&description)
    }

    /// Tells where cargo puts what it builds.
    pub(crate) fn target(&self) -> Result<PathBuf> {
        let description =
            output(self.cargo().args(["metadata", "--no-deps", "--format-version=1"]))?;
        Ok(Metadata::parse(&description)?.target_directory)
    }

    /// Lists the files of the project: tracked, or new and not ignored, and present.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>> {
        let listing = output(self.command("git").args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]))?;
        let mut files: Vec<PathBuf> = listing.split_terminator('\0').map(PathBuf::from).collect();
        files.retain(|file| self.path(file).is_file());
        files.sort();
        files.dedup();
        Ok(files)
    }
}

/// Runs a program to its end and says which one failed.
pub(crate) fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", name(command)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", spoken(command));
    }
    Ok(())
}

/// Runs a program to its end and returns what it wrote; its complaints go through.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {}", name(command)))?;
    if !output.status.success() {
        bail!("`{}` ended with {}", spoken(command), output.status);
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("`{}` wrote something that is not UTF-8", spoken(command)))
}

/// Finds a program as a shell would.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|folder| folder.join(name)).find(|program| program.is_file())
}

/// Writes a command as a person would type it.
pub(crate) fn spoken(command: &Command) -> String {
    let mut words = vec![name(command)];
    words.extend(command.get_args().map(|argument| argument.to_string_lossy().into_owned()));
    words.join(" ")
}

fn name(command: &Command) -> String {
    let program = Path::new(command.get_program());
    program.file_name().unwrap_or(program.as_os_str()).to_string_lossy().into_owned()
}

fn cargo_path() -> PathBuf {
    env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_named_with_its_arguments() {
        let error = succeed(Command::new("false").arg("--loudly")).unwrap_err();
        assert_eq!(error.to_string(), "`false --loudly` ended with exit status: 1");
    }

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(find_program("sh").is_some());
        assert!(find_program("no-such-program-anywhere").is_none());
    }
}
