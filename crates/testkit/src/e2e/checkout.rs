//! A person's own clone of the repository, with real git over HTTP.
//!
//! Git gets its credential from a file of the run, so that no token is in an argument, an address
//! or the environment.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use secrecy::ExposeSecret;
use url::Url;

use super::person::{NAME, OWNER, Person};

/// A folder with commits in it.
#[derive(Debug)]
pub(super) struct Checkout {
    folder: PathBuf,
    credential: PathBuf,
    remote: Url,
    login: String,
}

impl Checkout {
    /// Begins a repository that can be pushed to the forge.
    pub(super) fn begin(nest: &Path, site: &Url, person: &Person) -> Result<Self> {
        let folder = nest.join(format!("checkout-{}", person.login));
        let credential = nest.join(format!("credential-{}", person.login));
        let mut known = site.clone();
        // A file of lines, each an address with a name and a token, is what git's `store` reads.
        if known.set_username(&person.login).is_err()
            || known.set_password(Some(person.token.expose_secret())).is_err()
        {
            bail!("the forge's address cannot carry a credential");
        }
        fs::write(&credential, "")?;
        fs::set_permissions(&credential, fs::Permissions::from_mode(0o600))?;
        fs::write(&credential, format!("{}\n", known.as_str().trim_end_matches('/')))?;
        fs::create_dir(&folder)?;
        let remote = site.join(&format!("{OWNER}/{NAME}.git"))?;
        let checkout = Self { folder, credential, remote, login: person.login.clone() };
        checkout.git(&["init", "--quiet", "--initial-branch=main"])?;
        Ok(checkout)
    }

    /// Begins a branch at another one.
    pub(super) fn branch(&self, name: &str, from: &str) -> Result<()> {
        self.git(&["switch", "--quiet", "--create", name, from]).map(drop)
    }

    /// Commits these files on the branch, and returns the commit. Without a text a file is removed.
    pub(super) fn commit(&self, message: &str, files: &[(&str, Option<&str>)]) -> Result<String> {
        for (path, text) in files {
            let path = self.folder.join(path);
            match text {
                Some(text) => {
                    fs::create_dir_all(path.parent().context("a file has no folder")?)?;
                    fs::write(path, text)?;
                }
                None => fs::remove_file(path)?,
            }
        }
        self.git(&["add", "--all"])?;
        self.git(&["commit", "--quiet", "--message", message])?;
        Ok(self.git(&["rev-parse", "HEAD"])?.trim().to_owned())
    }

    /// Pushes a branch; a refusal is an error with the forge's words.
    pub(super) fn push(&self, branch: &str) -> Result<()> {
        let wish = format!("refs/heads/{branch}:refs/heads/{branch}");
        self.git(&["push", "--quiet", self.remote.as_str(), &wish]).map(drop)
    }

    /// Packs what a branch has beyond a commit, for somebody who has that commit.
    pub(super) fn bundle(&self, branch: &str, beyond: &str) -> Result<Vec<u8>> {
        let file = self.folder.join(".git/bundle");
        let path = file.to_str().context("the folder has a strange name")?;
        let wish = format!("refs/heads/{branch}");
        self.git(&["bundle", "create", "--quiet", path, &wish, &format!("^{beyond}")])?;
        Ok(fs::read(&file)?)
    }

    fn git(&self, arguments: &[&str]) -> Result<String> {
        let email = format!("{}@forge.example", self.login);
        let output = Command::new("git")
            .env_clear()
            .envs(env::var_os("PATH").map(|path| ("PATH", path)))
            .env("HOME", &self.folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_AUTHOR_NAME", &self.login)
            .env("GIT_AUTHOR_EMAIL", &email)
            .env("GIT_COMMITTER_NAME", &self.login)
            .env("GIT_COMMITTER_EMAIL", &email)
            .arg("-c")
            .arg(format!("credential.helper=store --file={}", self.credential.display()))
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .context("cannot start git")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`git {}` ended with {}: {said}", arguments.join(" "), output.status);
        }
        Ok(String::from_utf8(output.stdout)?)
    }
}
