//! The folder of a trial and the group of its processes: both are gone when the driver is.
//!
//! A guard process holds one end of a pipe. When the other end closes, because the driver ended,
//! failed, was interrupted or was killed, the guard kills the group that every process of the trial
//! has joined, and removes the folder. An anchor, which does nothing, keeps the group alive.

use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// What the guard does when the pipe closes. What was written into it may spare the folder.
const GUARD: &str = r#"word=$(cat); kill -s KILL -- "-$2"; [ "$word" = keep ] || rm -rf -- "$1""#;

/// The group of processes that ends with its nest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Group(i32);

impl Group {
    /// Makes a program join the group.
    pub(super) fn adopt(self, command: &mut Command) {
        command.process_group(self.0);
    }
}

#[derive(Debug)]
pub(super) struct Nest {
    folder: PathBuf,
    group: Group,
    anchor: Child,
    guard: Child,
}

impl Nest {
    pub(super) fn build() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("patchwright-chaos-")
            .tempdir()
            .context("cannot create a temporary folder")?;
        let anchor = idle("sleep").arg("infinity").spawn();
        let mut anchor = anchor.context("cannot start the anchor of the trial")?;
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
                Err(error).context("cannot start the guard of the trial")
            }
        }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the group that every process of the trial joins.
    pub(super) fn group(&self) -> Group {
        self.group
    }

    /// Leaves the folder where it is, for somebody to look at.
    pub(super) fn keep(&mut self) -> Result<()> {
        let pipe = self.guard.stdin.as_mut().context("the guard of the trial is gone")?;
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
                println!("  cannot wait for what guards the trial: {error}");
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
        let nest = Nest::build().unwrap();
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
        let mut nest = Nest::build().unwrap();
        let folder = nest.folder().to_owned();
        nest.keep().unwrap();
        drop(nest);
        assert!(folder.is_dir());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
