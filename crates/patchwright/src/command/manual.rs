//! What is generated from the command line and the settings: completions, manual page, reference.

use std::fs;
use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::complaint::{Complaint, Exit};
use crate::settings::reference;

/// Prints completions for a shell.
pub fn completions(shell: Shell, out: &mut dyn Write) -> Result<Exit, Complaint> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "patchwright", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Done)
}

/// Prints the manual page.
pub fn page(out: &mut dyn Write) -> Result<Exit, Complaint> {
    out.write_all(&roff()?)?;
    Ok(Exit::Done)
}

/// Writes the part of the project's documentation that the program itself knows.
pub fn docs(folder: &Path) -> Result<Exit, Complaint> {
    write(&folder.join("configure.md"), reference::markdown().as_bytes())?;
    Ok(Exit::Done)
}

fn roff() -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .context("cannot write the manual page")?;
    Ok(page)
}

fn write(path: &Path, content: &[u8]) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn docs_writes_the_reference_of_settings_and_variables() {
        let folder = tempfile::tempdir().unwrap();
        docs(&folder.path().join("new")).unwrap();
        let reference = fs::read_to_string(folder.path().join("new/configure.md")).unwrap();
        assert!(
            reference.contains("| `listen` | `\"127.0.0.1:8080\"` | `--listen` |"),
            "{reference}"
        );
        assert!(reference.contains("| `GITCODE_TOKEN`, `GITCODE_PAT` | yes |"), "{reference}");
    }

    #[test]
    fn the_manual_page_and_completions_name_every_command() {
        let (mut manual, mut script) = (Vec::new(), Vec::new());
        page(&mut manual).unwrap();
        completions(Shell::Bash, &mut script).unwrap();
        let (manual, script) =
            (String::from_utf8(manual).unwrap(), String::from_utf8(script).unwrap());
        for command in Cli::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            assert!(manual.contains(command.get_name()), "{}", command.get_name());
            assert!(script.contains(command.get_name()), "{}", command.get_name());
        }
    }
}
