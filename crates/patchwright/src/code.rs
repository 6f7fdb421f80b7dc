//! The git of this process: where it is found, where mirrors are kept, and how it gets credentials.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use git::{Git, Limits, Mirrors, Space};
use report::redact::Redactor;
use tempfile::TempDir;

use crate::settings::Settings;

/// The hidden command that carries credentials to git.
pub const RELAY: &str = "git-credential";

const MEBIBYTE: u64 = 1024 * 1024;

/// Mirrors that are open.
#[derive(Debug)]
pub struct Code {
    pub mirrors: Mirrors,
    /// Sockets over which credentials travel; gone with the process.
    _runtime: TempDir,
}

/// Opens the mirrors below a folder. A machine without git can still talk: it is told, and nothing
/// is pushed from it.
pub fn open(settings: &Settings, folder: &Path, redactor: &Arc<Redactor>) -> Option<Code> {
    match try_open(settings, folder, redactor) {
        Ok(code) => Some(code),
        Err(why) => {
            tracing::warn!(%why, "no work on code in this process");
            None
        }
    }
}

fn try_open(settings: &Settings, folder: &Path, redactor: &Arc<Redactor>) -> anyhow::Result<Code> {
    let search_path = OsString::from(settings.git.search_path.value.clone());
    let program = program(settings)
        .ok_or_else(|| anyhow::anyhow!("there is no program `{}`", *settings.git.program))?;
    // Sockets have short names by nature, so this stands under the system's folder.
    let runtime = tempfile::Builder::new().prefix("pw-").tempdir()?;
    let itself = std::env::current_exe()?;
    let git = Git::new(git::Settings {
        program,
        search_path,
        relay: vec![itself.into_os_string(), OsString::from(RELAY)],
        runtime: runtime.path().to_owned(),
        redactor: Arc::clone(redactor),
        authorities: settings.connections.iter().find_map(|one| one.ca_bundle.clone()),
        proxy: None,
        limits: Limits::default(),
    })?;
    let space = Space::on_disk(
        folder.to_owned(),
        u64::from(settings.git.disk_budget.get()).saturating_mul(MEBIBYTE),
        u64::from(*settings.git.disk_reserve).saturating_mul(MEBIBYTE),
    );
    std::fs::create_dir_all(folder)?;
    let mirrors = Mirrors::open(git, &folder.join("git"), space)?;
    Ok(Code { mirrors, _runtime: runtime })
}

/// Finds the program git as configured.
pub fn program(settings: &Settings) -> Option<PathBuf> {
    let named = Path::new(settings.git.program.value.as_str());
    if named.is_absolute() {
        return named.is_file().then(|| named.to_owned());
    }
    std::env::split_paths(&settings.git.search_path.value)
        .map(|folder| folder.join(named))
        .find(|file| file.is_absolute() && file.is_file())
}
