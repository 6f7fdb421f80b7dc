//! `cargo xtask docs`: writes the part of the documentation that the program itself knows.
//!
//! The binary's hidden command `docs --out FOLDER` writes the reference of its settings and
//! variables; this task puts it into `docs/`, or checks that what is there is up to date.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use crate::command::{Workspace, succeed};
use crate::verdict::Verdict;

#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Change nothing; fail when a file differs from what would be written.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<Verdict> {
    if options.check {
        let stale = check(workspace)?;
        for complaint in &stale {
            eprintln!("docs: {complaint}");
        }
        return Ok(if stale.is_empty() { Verdict::Held } else { Verdict::Broken });
    }
    generate(workspace, &workspace.path("docs"))?;
    Ok(Verdict::Held)
}

/// Names every generated file that is missing or differs.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let fresh = tempfile::tempdir().context("cannot create a temporary folder")?;
    generate(workspace, fresh.path())?;
    differences(fresh.path(), &workspace.path("docs"))
}

fn generate(workspace: &Workspace, folder: &Path) -> Result<()> {
    succeed(workspace.cargo().args(["build", "--quiet", "--package", "patchwright"]))?;
    let program = workspace.target()?.join("debug/patchwright");
    succeed(workspace.command(program).arg("docs").arg("--out").arg(folder))
        .context("the program cannot write its documentation")
}

fn differences(fresh: &Path, present: &Path) -> Result<Vec<String>> {
    let mut stale = Vec::new();
    for file in files_below(fresh)? {
        let name = file.strip_prefix(fresh)?;
        let kept = fs::read(present.join(name));
        if kept.is_err() || kept.ok() != Some(fs::read(&file)?) {
            stale
                .push(format!("docs/{} is not up to date: run `cargo xtask docs`", name.display()));
        }
    }
    Ok(stale)
}

fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_differs_or_is_missing_is_named() {
        let (fresh, present) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(fresh.path().join("man")).unwrap();
        for name in ["configure.md", "same.md", "man/patchwright.1"] {
            fs::write(fresh.path().join(name), "new").unwrap();
        }
        fs::write(present.path().join("configure.md"), "old").unwrap();
        fs::write(present.path().join("same.md"), "new").unwrap();
        fs::write(present.path().join("by-hand.md"), "ours").unwrap();

        let stale = differences(fresh.path(), present.path()).unwrap();

        assert_eq!(
            stale,
            [
                "docs/configure.md is not up to date: run `cargo xtask docs`",
                "docs/man/patchwright.1 is not up to date: run `cargo xtask docs`",
            ]
        );
    }
}
