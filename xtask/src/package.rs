//! Installing what a task needs, by its ordinary package name, where that is allowed.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};

use crate::command::{find_program, succeed};

/// Installs a package; `what` names the missing thing for people.
pub(crate) fn install(package: &str, what: &str) -> Result<()> {
    if find_program("apt-get").is_none() {
        bail!("{what} is not installed, and there is no apt-get to install it with");
    }
    let Some(prefix) = privilege() else {
        bail!("{what} is not installed, and installing `{package}` needs root");
    };
    println!("installing the package `{package}`");
    succeed(&mut apt(&prefix, &["update", "-qq"]))?;
    succeed(&mut apt(&prefix, &["install", "-y", "-qq", "--no-install-recommends", package]))
}

/// Returns the words to put before a command that needs root, or nothing when root is out of reach.
fn privilege() -> Option<Vec<OsString>> {
    if rustix::process::geteuid().is_root() {
        return Some(Vec::new());
    }
    let allowed = Command::new(find_program("sudo")?)
        .args(["-n", "true"])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    allowed.then(|| vec!["sudo".into(), "-n".into()])
}

fn apt(prefix: &[OsString], arguments: &[&str]) -> Command {
    let mut words = prefix.to_vec();
    words.extend(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"].map(OsString::from));
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(arguments).stdin(Stdio::null()).stdout(Stdio::null());
    command
}
