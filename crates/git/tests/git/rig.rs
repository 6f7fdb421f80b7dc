//! A folder with remote repositories, a server in front of them, and mirrors that read from it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use domain::{Origin, Time};
use git::read::Person;
use git::{
    Access, Account, Content, Edit, Git, Limits, Made, Mirror, Mirrors, NewCommit, Oid, RefName,
    Remote, Scratch, Settings, Space, Want,
};
use report::Redactor;
use report::redact::REDACTED;
use secrecy::SecretString;
use tempfile::TempDir;
use url::Url;

use crate::server::Server;

/// The credential that must never be seen.
pub(crate) const CANARY: &str = "canary-5f3a9c0d17";

/// A secret that a remote speaks out; it is known to the redactor.
pub(crate) const SPOKEN: &str = "spoken-81be44d2c6";

/// Everything of one test.
pub(crate) struct Rig {
    pub(crate) folder: TempDir,
    pub(crate) server: Server,
    pub(crate) git: Git,
    pub(crate) mirrors: Mirrors,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    pub(crate) fn with(limits: Limits) -> Self {
        let folder = TempDir::new().unwrap();
        let remotes = folder.path().join("remotes");
        std::fs::create_dir(&remotes).unwrap();
        let server = Server::start(&remotes, Some(&format!("bot:{CANARY}")));
        let git = Git::new(settings(folder.path(), limits)).unwrap();
        let cache = folder.path().join("cache");
        let space = Space::on_disk(folder.path().to_owned(), u64::MAX, 0);
        let mirrors = Mirrors::open(git.clone(), &cache, space).unwrap();
        Self { folder, server, git, mirrors }
    }

    pub(crate) fn origin(&self) -> Origin {
        Origin::new(&format!("http://{}", self.server.address))
    }

    /// Makes a remote repository with a first commit on `main`.
    pub(crate) fn repository(&self, name: &str, files: &[(&str, &str)]) -> Repo {
        let folder = self.folder.path().join("remotes").join(name);
        std::fs::create_dir(&folder).unwrap();
        let repo = Repo { folder };
        repo.git(&["init", "--quiet", "--initial-branch=main"]);
        repo.git(&["config", "uploadpack.allowFilter", "true"]);
        repo.git(&["config", "http.receivepack", "true"]);
        repo.git(&["config", "receive.denyCurrentBranch", "ignore"]);
        repo.commit(files);
        repo
    }

    pub(crate) fn access(&self, name: &str) -> Remote {
        self.access_with(name, CANARY)
    }

    pub(crate) fn access_with(&self, name: &str, token: &str) -> Remote {
        let url = Url::parse(&format!("{}/{name}/.git", self.origin())).unwrap();
        let account = Account { username: "bot".to_owned(), token: SecretString::from(token) };
        Remote::Forge(Access::new(&self.origin(), url, Some(account)).unwrap())
    }

    pub(crate) fn mirror(&self) -> Mirror {
        self.mirrors.hold(&self.origin(), 1).unwrap()
    }

    /// A mirror with the files of `main`.
    pub(crate) async fn fetched(&self, name: &str) -> (Mirror, Oid) {
        let (mirror, remote) = (self.mirror(), self.access(name));
        let head = mirror.fetch(&remote, &[branch("main")]).await.unwrap().commits.remove(0);
        mirror.fetch_files(&remote, &head).await.unwrap();
        (mirror, head)
    }
}

pub(crate) fn settings(folder: &Path, limits: Limits) -> Settings {
    let path = std::env::var_os("PATH").unwrap();
    let is_git = |folder: &PathBuf| folder.join("git").is_file();
    let found = std::env::split_paths(&path).find(is_git).unwrap();
    Settings {
        program: found.join("git"),
        search_path: path,
        relay: vec![env!("CARGO_BIN_EXE_git-relay").into()],
        runtime: folder.to_owned(),
        redactor: Arc::new(Redactor::new(&[CANARY, SPOKEN].map(SecretString::from))),
        authorities: None,
        proxy: None,
        limits,
    }
}

pub(crate) fn branch(name: &str) -> Want {
    Want::Ref(RefName::branch(name).unwrap())
}

/// A limit that a test can wait for.
pub(crate) fn short_network() -> Limits {
    Limits { network: Duration::from_secs(3), ..Limits::default() }
}

/// A remote repository, worked on with plain git as a person would.
pub(crate) struct Repo {
    pub(crate) folder: PathBuf,
}

impl Repo {
    pub(crate) fn git<T: AsRef<OsStr>>(&self, arguments: &[T]) -> String {
        plain_git(&self.folder, arguments)
    }

    /// Writes files, commits them, and returns the commit.
    pub(crate) fn commit(&self, files: &[(&str, &str)]) -> Oid {
        for (path, content) in files {
            let path = self.folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        self.commit_all()
    }

    pub(crate) fn commit_all(&self) -> Oid {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", "a change"]);
        self.head("HEAD")
    }

    pub(crate) fn head(&self, name: &str) -> Oid {
        self.git(&["rev-parse", name]).trim().parse().unwrap()
    }
}

pub(crate) fn plain_git<T: AsRef<OsStr>>(folder: &Path, arguments: &[T]) -> String {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_AUTHOR_NAME", "A Person")
        .env("GIT_AUTHOR_EMAIL", "person@example.com")
        .env("GIT_COMMITTER_NAME", "A Person")
        .env("GIT_COMMITTER_EMAIL", "person@example.com")
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).replace(CANARY, REDACTED);
    assert!(output.status.success(), "{stderr}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn person() -> Person {
    Person { name: "Bot".into(), email: "bot@example.com".into(), at: Time(1_700_000_000_000) }
}

pub(crate) fn edit(path: &str, content: &str) -> Edit {
    Edit { path: path.into(), content: Content::File(content.into()) }
}

/// Makes a commit in a private repository.
pub(crate) async fn make(scratch: &Scratch, parent: &Oid, edits: Vec<Edit>) -> Oid {
    let new = NewCommit {
        parent: parent.clone(),
        edits,
        author: person(),
        committer: person(),
        message: "fix: a thing\n".to_owned(),
    };
    match scratch.commit_edits(&new).await.unwrap() {
        Made::New(commit) => commit,
        Made::Unchanged => panic!("the edits change nothing"),
    }
}
