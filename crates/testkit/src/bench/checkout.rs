//! `cargo xtask bench git`: how long it takes until the files of a commit are ready, as a ratio to
//! what plain git needs for the same in the same run.
//!
//! Cold is a partial clone with its checkout against a new mirror and a worktree; warm is
//! `git worktree add` against a worktree of a mirror that has everything. Both must hold the same
//! files, or the bench is broken.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use domain::Origin;
use git::{Git, Limits, Mirrors, Oid, RefName, Remote, Settings, Space, Want};
use tempfile::TempDir;

use super::Verdict;
use super::figure::{Aim, Figure};

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where files go [default: beside the program].
    pub folder: PathBuf,
    /// Where git is found.
    pub search_path: std::ffi::OsString,
    pub rounds: u32,
    pub files: u32,
    pub commits: u32,
}

/// Measures worktrees and writes what it finds, ending with one line of figures.
pub fn git(options: &Options, out: &mut dyn Write) -> Result<Verdict> {
    let ground = TempDir::new_in(&options.folder)?;
    let source = ground.path().join("source.git");
    generate(&source, options)?;
    let (files, commits) = (options.files, options.commits);
    writeln!(out, "a repository of {files} files and {commits} commits")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut cold, mut warm) = (Pair::default(), Pair::default());
    let mut broken = false;
    for round in 1..=options.rounds {
        let folder = ground.path().join(format!("round{round}"));
        std::fs::create_dir(&folder)?;
        let plain = clone_and_add(&source, &folder)?;
        let ours = runtime.block_on(mirror_and_add(options, &source, &folder))?;
        writeln!(
            out,
            "round {round}: cold {:.0} ms against {:.0}, warm {:.0} ms against {:.0}",
            ours.cold, plain.cold, ours.warm, plain.warm
        )?;
        cold.add(ours.cold, plain.cold);
        warm.add(ours.warm, plain.warm);
        if ours.files != plain.files {
            broken = true;
            writeln!(out, "broken: {} files instead of {}", ours.files, plain.files)?;
        }
        std::fs::remove_dir_all(&folder)?;
    }
    let mut summary = String::new();
    for (name, pair) in [("cold", &cold), ("warm", &warm)] {
        let judged = Aim::Under(1.2).judge(pair.ratio.median());
        writeln!(out, "{name}: {:.0} ms, ratio {:.2} ({judged})", pair.ours, pair.ratio)?;
        let (ours, ratio) = (pair.ours.median(), pair.ratio.median());
        write!(summary, " {name}_ms={ours:.0} {name}_ratio={ratio:.2}")?;
    }
    writeln!(out, "bench git:{summary} files={files} commits={commits}")?;
    Ok(if broken { Verdict::Broken } else { Verdict::Held })
}

/// One figure of ours and its ratio to plain git's.
#[derive(Default)]
struct Pair {
    ours: Figure,
    ratio: Figure,
}

impl Pair {
    fn add(&mut self, ours: f64, plain: f64) {
        self.ours.add(ours);
        self.ratio.add(ours / plain);
    }
}

/// Times in milliseconds, and how many files were written.
struct Times {
    cold: f64,
    warm: f64,
    files: usize,
}

fn clone_and_add(source: &Path, folder: &Path) -> Result<Times> {
    let clone = folder.join("clone");
    let url = format!("file://{}", source.display());
    let began = Instant::now();
    let quiet = [OsStr::new("clone"), OsStr::new("--quiet"), OsStr::new("--filter=blob:none")];
    plain(folder, &[&quiet[..], &[OsStr::new(&url), clone.as_os_str()]].concat())?;
    let cold = milliseconds(began);
    let began = Instant::now();
    plain(&clone, &["worktree", "add", "--quiet", "--detach", "../added", "HEAD"])?;
    let warm = milliseconds(began);
    // `.git` is a file there.
    Ok(Times { cold, warm, files: count(&folder.join("added"))? - 1 })
}

async fn mirror_and_add(options: &Options, source: &Path, folder: &Path) -> Result<Times> {
    let mirrors = {
        let settings = Settings {
            program: find_git(&options.search_path)?,
            search_path: options.search_path.clone(),
            relay: Vec::new(),
            runtime: folder.to_owned(),
            redactor: Arc::default(),
            authorities: None,
            proxy: None,
            limits: Limits::default(),
        };
        let space = Space::on_disk(folder.to_owned(), u64::MAX, 0);
        Mirrors::open(Git::new(settings)?, &folder.join("cache"), space)?
    };
    let remote = Remote::Folder(source.to_owned());
    let main = Want::Ref(RefName::branch("main")?);
    let began = Instant::now();
    let mirror = mirrors.hold(&Origin::new("file://bench"), 1)?;
    let fetched = mirror.fetch(&remote, &[main]).await?;
    let head: &Oid = fetched.commits.first().context("nothing was fetched")?;
    mirror.fetch_files(&remote, head).await?;
    let tree = mirror.worktree(head).await?;
    let cold = milliseconds(began);
    drop(tree);
    let began = Instant::now();
    mirror.fetch(&remote, &[Want::Commit(head.clone())]).await?;
    let tree = mirror.worktree(head).await?;
    let warm = milliseconds(began);
    Ok(Times { cold, warm, files: count(&tree.path())? })
}

/// Makes a repository in which every commit changes a few files.
fn generate(source: &Path, options: &Options) -> Result<()> {
    let parent = source.parent().context("a folder has a parent")?;
    let init =
        [OsStr::new("init"), OsStr::new("--quiet"), OsStr::new("--bare"), source.as_os_str()];
    plain(parent, &init)?;
    plain(source, &["config", "uploadpack.allowFilter", "true"])?;
    plain(source, &["symbolic-ref", "HEAD", "refs/heads/main"])?;
    let mut child = command(source)
        .args(["fast-import", "--quiet"])
        .stdin(Stdio::piped())
        .spawn()
        .context("cannot start git fast-import")?;
    let mut input = std::io::BufWriter::new(child.stdin.take().context("no input")?);
    for commit in 0..options.commits.max(1) {
        writeln!(input, "commit refs/heads/main")?;
        writeln!(input, "committer Bench <bench@example.com> {} +0000", 1_700_000_000 + commit)?;
        writeln!(input, "data <<END\ncommit {commit}\nEND")?;
        for file in 0..options.files {
            if commit == 0 || file % options.commits.max(1) == commit {
                let text: String = (0..60)
                    .map(|line| {
                        format!("line {line} of file {file} at {commit}: {}\n", line * file)
                    })
                    .collect();
                writeln!(input, "M 100644 inline src/part{}/file{file}.txt", file % 97)?;
                writeln!(input, "data {}\n{text}", text.len())?;
            }
        }
    }
    drop(input);
    ensure!(child.wait()?.success(), "git fast-import failed");
    plain(source, &["repack", "-adq"])
}

fn command(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null").stdout(Stdio::null());
    command
}

fn plain<T: AsRef<OsStr>>(folder: &Path, arguments: &[T]) -> Result<()> {
    let status = command(folder).args(arguments).status().context("cannot start git")?;
    ensure!(status.success(), "git ended with {status}");
    Ok(())
}

fn find_git(search_path: &OsStr) -> Result<PathBuf> {
    let mut found = std::env::split_paths(search_path).map(|folder| folder.join("git"));
    match found.find(|file| file.is_file()) {
        Some(file) => Ok(file),
        None => bail!("git is not on the search path"),
    }
}

fn count(folder: &Path) -> Result<usize> {
    let mut files = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        files += if entry.file_type()?.is_dir() { count(&entry.path())? } else { 1 };
    }
    Ok(files)
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1000.0
}
