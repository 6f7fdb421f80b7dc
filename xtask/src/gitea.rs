//! A real Gitea, built from its published source and kept in the user's cache folder.
//!
//! `e2e` calls [`Gitea::find_or_build`]. The build takes minutes the first time and nothing
//! afterwards. Nothing is put into the work tree, and no server that somebody else runs is touched.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::command::{find_program, succeed};

/// The version that the checks run against.
pub(crate) const VERSION: &str = "1.26.0";

const MODULE: &str = "code.gitea.io/gitea";

/// Without the second tag the server loses webhooks: its tables are locked at the wrong moment.
const TAGS: &str = "sqlite sqlite_unlock_notify";

/// A built server.
#[derive(Debug)]
pub(crate) struct Gitea {
    pub(crate) program: PathBuf,
    /// Its source, which also holds the templates that it reads as it runs.
    pub(crate) source: PathBuf,
}

impl Gitea {
    /// Takes the server from the cache, or builds it there. One builds, the others wait for it.
    pub(crate) fn find_or_build(version: &str) -> Result<Self> {
        let folder = cache_folder(|name| env::var_os(name))?.join(format!("gitea-{version}"));
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let lock = File::create(folder.join("lock")).context("cannot create the build's lock")?;
        lock.lock().context("cannot lock the folder of the build")?;
        let gitea = Self { program: folder.join("gitea"), source: folder.join("source") };
        // Both come to their places by a rename: what is there is whole.
        if !gitea.source.is_dir() {
            fetch(version, &gitea.source)?;
        }
        if !gitea.program.is_file() {
            println!("gitea: building {version} in {}, once: minutes", folder.display());
            gitea.build(version)?;
        }
        Ok(gitea)
    }

    fn build(&self, version: &str) -> Result<()> {
        let unfinished = self.program.with_extension("unfinished");
        succeed(
            go()?
                .current_dir(&self.source)
                .args(["build", "-buildvcs=false", "-tags", TAGS, "-ldflags"])
                .arg(format!("-s -w -X main.Version={version}"))
                .arg("-o")
                .arg(&unfinished)
                .arg("."),
        )?;
        fs::rename(&unfinished, &self.program).context("cannot put the built server in its place")
    }
}

/// Reads a version from the command line. It becomes part of a path.
pub(crate) fn version(text: &str) -> Result<String, String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    match text.split('.').count() == 3 && text.split('.').all(is_number) {
        true => Ok(text.to_owned()),
        false => Err(format!("expected three numbers, for example {VERSION}")),
    }
}

/// What `go mod download -json` says of a module.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Download {
    dir: Option<PathBuf>,
    error: Option<String>,
}

/// Copies the source out of Go's own cache, which is read-only. Its `go.mod` replaces modules, so
/// that `go install` would refuse it.
fn fetch(version: &str, source: &Path) -> Result<()> {
    println!("gitea: fetching the source of {version}");
    let answer = go()?
        // Any module's file would stand in the way, and there is none above the root.
        .current_dir("/")
        .args(["mod", "download", "-json"])
        .arg(format!("{MODULE}@v{version}"))
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start go")?;
    let module = downloaded(&answer.stdout)?;
    let unfinished = source.with_extension("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).context("cannot remove an unfinished copy")?;
    }
    copy(&module, &unfinished).context("cannot copy the source")?;
    fs::rename(&unfinished, source).context("cannot put the source in its place")
}

fn downloaded(answer: &[u8]) -> Result<PathBuf> {
    let download: Download =
        serde_json::from_slice(answer).context("go does not say where the source lies")?;
    match download {
        Download { error: Some(error), .. } => bail!("the source cannot be had: {error}"),
        Download { dir: Some(folder), .. } => Ok(folder),
        Download { .. } => bail!("go does not say where the source lies"),
    }
}

/// Copies a folder; the copies of folders can be written, unlike those in Go's cache.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            copy(&source, &target)?;
        } else {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

fn go() -> Result<Command> {
    let program = find_program("go").context("Go is not installed")?;
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    Ok(command)
}

/// Returns our folder in the user's cache folder.
fn cache_folder(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    let named = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    named("XDG_CACHE_HOME")
        .or_else(|| Some(named("HOME")?.join(".cache")))
        .map(|caches| caches.join("patchwright"))
        .context("there is no folder for caches: neither XDG_CACHE_HOME nor HOME is set")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_three_numbers_and_never_a_path() {
        assert_eq!(version("1.24.6").as_deref(), Ok("1.24.6"));
        for text in ["", "1.24", "1.24.", "1.24.6.1", "1.24.6-rc1", "../../etc", "1.2/3.4"] {
            assert!(version(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_cache_is_where_the_user_keeps_caches() {
        let folder = |xdg: Option<&'static str>, home: Option<&'static str>| {
            let pick = move |name: &str| if name == "HOME" { home } else { xdg };
            cache_folder(move |name| pick(name).map(OsString::from)).ok()
        };
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(folder(Some("/caches"), Some("/people/ada")), path("/caches/patchwright"));
        assert_eq!(folder(None, Some("/people/ada")), path("/people/ada/.cache/patchwright"));
        assert_eq!(folder(Some("relative"), Some("/h")), path("/h/.cache/patchwright"));
        assert_eq!(folder(None, None), None);
    }

    #[test]
    fn a_module_that_cannot_be_had_is_told_in_gos_words() {
        let error = downloaded(br#"{"Path": "x", "Error": "no such version"}"#).unwrap_err();
        assert_eq!(error.to_string(), "the source cannot be had: no such version");
        assert_eq!(downloaded(br#"{"Dir": "/m"}"#).unwrap(), PathBuf::from("/m"));
        assert!(downloaded(b"").is_err());
    }

    #[test]
    fn a_copied_folder_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("below")).unwrap();
        fs::write(from.join("below/file"), "text").unwrap();
        let mut mode = fs::metadata(from.join("below")).unwrap().permissions();
        mode.set_readonly(true);
        fs::set_permissions(from.join("below"), mode).unwrap();
        copy(&from, &to).unwrap();
        assert_eq!(fs::read_to_string(to.join("below/file")).unwrap(), "text");
        assert!(!fs::metadata(to.join("below")).unwrap().permissions().readonly());
    }
}
