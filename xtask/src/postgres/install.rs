//! Finding PostgreSQL's server programs, installed where they are missing.
//!
//! Debian keeps them off the PATH, one folder per version; the newest version wins.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::command::find_program;
use crate::package;

/// Returns the folder that holds `initdb` and `pg_ctl`.
pub(super) fn find_or_install() -> Result<PathBuf> {
    if let Some(binaries) = find() {
        return Ok(binaries);
    }
    package::install("postgresql", "PostgreSQL's `initdb`")?;
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
