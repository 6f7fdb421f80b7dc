//! The folder of a driver's run and the group of its processes: both are gone when the driver is.
//!
//! A guard process holds one end of a pipe. When the other end closes, because the driver ended,
//! failed, was interrupted or was killed, the guard kills the group that every process of the run
//! has joined, and removes the folder. An anchor, which does nothing, keeps the group alive.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a driver starts processes and speaks on standard output"
)]

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// What the guard does when the pipe closes. What was written into it may spare the folder.
const GUARD: &str = r#"word=$(cat); kill -s KILL -- "-$2"; [ "$word" = keep ] || rm -rf -- "$1""#;

/// The group of processes that ends with its nest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group(i32);

impl Group {
    /// Makes a program join the group.
    pub(crate) fn adopt(self, command: &mut Command) {
        command.process_group(self.0);
    }
}

#[derive(Debug)]
pub(crate) struct Nest {
    folder: PathBuf,
    group: Group,
    anchor: Child,
    guard: Child,
}

impl Nest {
    /// Builds a nest; the name of its folder begins with `prefix`.
    pub(crate) fn build(prefix: &str) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix(prefix)
            .tempdir()
            .context("cannot create a temporary folder")?;
        let anchor = idle("sleep").arg("infinity").spawn();
        let mut anchor = anchor.context("cannot start the anchor of the run")?;
        let group = Group(i32::try_from(anchor.id())?);
        let guard = idle("sh")
            .args(["-c", GUARD, "guard"])
            .arg(folder.path())
            .arg(anchor.id().to_string())
            .stdin(Stdio::piped())
            .spawn();
        match guard {
            Ok(guard) => Ok(Self { folder: folder.keep(), group, anchor, guard }),
            Err(error) => {
                anchor.kill()?;
                anchor.wait()?;
                Err(error).context("cannot start the guard of the run")
            }
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the group that every process of the run joins.
    pub(crate) fn group(&self) -> Group {
        self.group
    }

    /// Leaves the folder where it is, for somebody to look at.
    pub(crate) fn keep(&mut self) -> Result<()> {
        let pipe = self.guard.stdin.as_mut().context("the guard of the run is gone")?;
        pipe.write_all(b"keep").context("cannot tell the guard to keep the folder")
    }
}

impl Drop for Nest {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        // Killing what is dead already is no news.
        self.anchor.kill().unwrap_or(());
        for child in [&mut self.guard, &mut self.anchor] {
            if let Err(error) = child.wait() {
                println!("  cannot wait for what guards the run: {error}");
            }
        }
    }
}

/// Prepares a program that is out of reach of the terminal's Ctrl-C.
fn idle(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.process_group(0);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nest_takes_its_folder_and_its_processes_with_it() {
        let nest = Nest::build("patchwright-nest-").unwrap();
        let folder = nest.folder().to_owned();
        let mut command = Command::new("sleep");
        command.arg("600");
        nest.group().adopt(&mut command);
        let mut child = command.spawn().unwrap();
        drop(nest);
        assert!(!folder.exists());
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn a_nest_that_is_kept_leaves_its_folder() {
        let mut nest = Nest::build("patchwright-nest-").unwrap();
        let folder = nest.folder().to_owned();
        nest.keep().unwrap();
        drop(nest);
        assert!(folder.is_dir());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
