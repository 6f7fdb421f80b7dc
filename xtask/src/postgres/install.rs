//! Finding PostgreSQL's server programs, and installing them by their ordinary package name.
//!
//! Debian keeps them off the PATH, one folder per version; the newest version wins.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::command::{find_program, succeed};

/// Returns the folder that holds `initdb` and `pg_ctl`.
pub(super) fn find_or_install() -> Result<PathBuf> {
    if let Some(binaries) = find() {
        return Ok(binaries);
    }
    install()?;
    find().context("the package `postgresql` is installed but its `initdb` cannot be found")
}

fn find() -> Option<PathBuf> {
    if let Some(initdb) = find_program("initdb").and_then(|path| fs::canonicalize(path).ok()) {
        return initdb.parent().map(Path::to_path_buf);
    }
    newest(Path::new("/usr/lib/postgresql"))
}

fn newest(versions: &Path) -> Option<PathBuf> {
    fs::read_dir(versions)
        .ok()?
        .flatten()
        .filter_map(|entry| {
            let version: u32 = entry.file_name().to_str()?.parse().ok()?;
            let binaries = entry.path().join("bin");
            binaries.join("initdb").is_file().then_some((version, binaries))
        })
        .max()
        .map(|(_, binaries)| binaries)
}

fn install() -> Result<()> {
    if find_program("apt-get").is_none() {
        bail!("PostgreSQL's `initdb` is not installed, and there is no apt-get to install it with");
    }
    let Some(prefix) = privilege() else {
        bail!("PostgreSQL's `initdb` is not installed, and installing `postgresql` needs root");
    };
    println!("postgresql: installing the package `postgresql`");
    succeed(&mut apt(&prefix, &["update", "-qq"]))?;
    succeed(&mut apt(&prefix, &["install", "-y", "-qq", "--no-install-recommends", "postgresql"]))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_that_has_a_server_wins() {
        let folder = tempfile::tempdir().unwrap();
        for version in ["9", "15", "17"] {
            fs::create_dir_all(folder.path().join(version).join("bin")).unwrap();
        }
        for version in ["9", "15"] {
            fs::write(folder.path().join(version).join("bin/initdb"), "").unwrap();
        }
        assert_eq!(newest(folder.path()), Some(folder.path().join("15/bin")));
        assert_eq!(newest(&folder.path().join("nowhere")), None);
    }
}
