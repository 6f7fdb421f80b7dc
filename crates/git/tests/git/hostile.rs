//! Repositories and worktrees that want to run, read or write something elsewhere (T7).

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use git::read::{Context, Mode};
use git::{Difference, Error, Kind, LeftOut, Why};

use crate::rig::{Rig, branch, edit, make};

/// A script that leaves a trace if anybody runs it.
fn trap(folder: &Path) -> (std::path::PathBuf, std::path::PathBuf) {
    let (script, trace) = (folder.join("trap.sh"), folder.join("trace"));
    fs::write(&script, format!("#!/bin/sh\ntouch {}\ncat\n", trace.display())).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    (script, trace)
}

#[tokio::test(flavor = "multi_thread")]
async fn t7_links_out_of_the_tree_and_submodules_are_left_out_and_told() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n"), ("d/b", "two\n")]);
    for (link, target) in [
        ("inside", "d/b"),
        ("d/up", "../a"),
        ("out", "/etc/passwd"),
        ("d/over", "../../x"),
        ("by", "d/up/../../x"),
    ] {
        symlink(target, repo.folder.join(link)).unwrap();
    }
    let head = repo.head("HEAD");
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    repo.git(&["add", "--all", "d", "inside", "out", "by"]);
    repo.git(&["commit", "--quiet", "--message", "links"]);
    let (mirror, head) = rig.fetched("r").await;
    let tree = mirror.worktree(&head).await.unwrap();
    let mut left: Vec<LeftOut> = tree.left_out().to_vec();
    left.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    let out = |path: &str, why| LeftOut { path: path.into(), why };
    assert_eq!(
        left,
        [
            out("by", Why::LeadsOut),
            out("d/over", Why::LeadsOut),
            out("out", Why::LeadsOut),
            out("sub", Why::Gitlink)
        ]
    );
    assert_eq!(fs::read(tree.path().join("inside")).unwrap(), b"two\n");
    assert_eq!(fs::read(tree.path().join("d/up")).unwrap(), b"one\n");
    assert!(!tree.path().join(".git").exists() && !tree.path().join("sub").exists());
    assert_eq!(tree.differences().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn t7_attributes_filters_and_submodules_of_a_repository_run_nothing_and_change_nothing() {
    let rig = Rig::new();
    let (script, trace) = trap(rig.folder.path());
    let attributes = "* text eol=crlf ident filter=evil diff=evil merge=evil working-tree-encoding=UTF-16\n\
                      secret export-ignore\n";
    let modules = format!(
        "[submodule \"x\"]\n\tpath = x\n\turl = {}\n\tupdate = none\n",
        rig.folder.path().display()
    );
    // The files are made as they are, so that the person's own git does not convert them.
    let repo = rig.repository("r", &[("f", "$Id$\none\n"), ("secret", "s\n")]);
    for (path, content) in [(".gitattributes", attributes), (".gitmodules", &modules)] {
        fs::write(repo.folder.join("raw"), content).unwrap();
        let blob = repo.git(&["hash-object", "-w", "--no-filters", "raw"]);
        let info = format!("100644,{},{path}", blob.trim());
        repo.git(&["update-index", "--add", "--cacheinfo", &info]);
    }
    repo.git(&["commit", "--quiet", "--message", "attributes"]);
    for key in [
        "filter.evil.smudge",
        "filter.evil.clean",
        "diff.evil.textconv",
        "diff.evil.command",
        "core.fsmonitor",
    ] {
        repo.git(&["config", key, script.to_str().unwrap()]);
    }
    let (mirror, head) = rig.fetched("r").await;
    let tree = mirror.worktree(&head).await.unwrap();
    assert_eq!(fs::read(tree.path().join("f")).unwrap(), b"$Id$\none\n");
    assert!(tree.path().join("secret").exists());
    let scratch = mirror.scratch().unwrap();
    let next = make(&scratch, &head, vec![edit("f", "$Id$\ntwo\n")]).await;
    let diff = scratch.diff(&head, &next, Context::Lines(3), &[]).await.unwrap();
    assert!(String::from_utf8(diff.text).unwrap().contains("-one\n+two\n"));
    assert!(!trace.exists(), "something of the repository was run");
}

#[tokio::test(flavor = "multi_thread")]
async fn t7_a_tree_in_which_hostile_code_has_run_executes_nothing() {
    let rig = Rig::new();
    rig.repository("r", &[("a", "one\n"), ("sub/b", "two\n"), ("same", "same\n"), ("gone", "x\n")]);
    let (mirror, head) = rig.fetched("r").await;
    let tree = mirror.worktree(&head).await.unwrap();
    let root = tree.path();
    let (script, trace) = trap(rig.folder.path());
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tfsmonitor = {0}\n\thooksPath = {1}\n\
         [filter \"evil\"]\n\tclean = {0}\n\tsmudge = {0}\n\trequired = true\n",
        script.display(),
        rig.folder.path().display(),
    );
    // What untrusted code may do: replace `.git`, plant one below, filter everything.
    for git in [".git", "sub/.git", "sub/.GIT"] {
        fs::create_dir_all(root.join(git).join("objects")).unwrap();
        fs::create_dir_all(root.join(git).join("refs")).unwrap();
        fs::write(root.join(git).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(root.join(git).join("config"), &config).unwrap();
    }
    fs::write(root.join(".gitattributes"), "* filter=evil\n").unwrap();
    fs::write(root.join("a"), "ONE\n").unwrap();
    fs::remove_file(root.join("gone")).unwrap();
    symlink("/etc/passwd", root.join("gone")).unwrap();
    fs::write(root.join("sub/new"), "new\n").unwrap();
    fs::set_permissions(root.join("sub/new"), fs::Permissions::from_mode(0o755)).unwrap();
    std::process::Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();

    let differences = tree.differences().await.unwrap();
    let is = |path: &str, kind| Difference { path: path.into(), kind };
    assert_eq!(
        differences,
        [
            is(".git", Kind::Unfit),
            is(".gitattributes", Kind::Added(Mode::File)),
            is("a", Kind::Modified(Mode::File)),
            is("gone", Kind::Modified(Mode::Link)),
            is("pipe", Kind::Unfit),
            is("sub/.GIT", Kind::Unfit),
            is("sub/.git", Kind::Unfit),
            is("sub/new", Kind::Added(Mode::Executable)),
        ]
    );
    assert_eq!(tree.read(b"gone", 99).unwrap(), b"/etc/passwd", "a link is its target's name");
    assert!(matches!(tree.read(b"pipe", 99), Err(Error::Hostile { .. })));
    assert!(matches!(tree.read(b".git/config", 99), Err(Error::Hostile { .. })));
    let content = tree.read(b"a", 99).unwrap();
    let scratch = mirror.scratch().unwrap();
    let commit =
        make(&scratch, &head, vec![edit("a", std::str::from_utf8(&content).unwrap())]).await;
    assert_eq!(scratch.file(&commit, b"a", 99).await.unwrap().unwrap().content, b"ONE\n");
    assert!(!trace.exists(), "something of the tree was run");

    // A folder that became a link: nothing is read through it.
    fs::remove_dir_all(root.join("sub")).unwrap();
    symlink("/etc", root.join("sub")).unwrap();
    assert!(tree.read(b"sub/passwd", 99).is_err());
    assert!(tree.differences().await.unwrap().contains(&is("sub", Kind::Added(Mode::Link))));
}

#[tokio::test(flavor = "multi_thread")]
async fn t7_an_edit_that_keeps_size_and_times_is_seen() {
    let rig = Rig::new();
    rig.repository("r", &[("a", "one\n")]);
    let (mirror, head) = rig.fetched("r").await;
    let tree = mirror.worktree(&head).await.unwrap();
    let file = tree.path().join("a");
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    fs::write(&file, "0ne\n").unwrap();
    fs::File::open(&file).unwrap().set_modified(before).unwrap();
    let kinds: Vec<Kind> = tree.differences().await.unwrap().iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [Kind::Modified(Mode::File)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn t7_a_repository_with_dot_git_in_disguise_is_not_even_fetched() {
    for name in [".GIT", "git~1", ".g\u{200c}it"] {
        let rig = Rig::new();
        let repo = rig.repository("r", &[("a", "one\n")]);
        let blob = repo.git(&["rev-parse", "HEAD:a"]);
        let mut tree = format!("040000 tree X\t{name}");
        let file = format!("100644 blob {}\tconfig", blob.trim());
        fs::write(rig.folder.path().join("input"), format!("{file}\n")).unwrap();
        let mktree = |input: &str| {
            fs::write(rig.folder.path().join("input"), format!("{input}\n")).unwrap();
            let input = fs::File::open(rig.folder.path().join("input")).unwrap();
            let output = std::process::Command::new("git")
                .arg("mktree")
                .current_dir(&repo.folder)
                .stdin(input)
                .output()
                .unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let below = mktree(&file);
        tree = tree.replace('X', &below);
        let tree = mktree(&tree);
        let commit = repo.git(&["commit-tree", &tree, "-m", "evil"]);
        repo.git(&["update-ref", "refs/heads/evil", commit.trim()]);
        let mirror = rig.mirror();
        let error = mirror.fetch(&rig.access("r"), &[branch("evil")]).await.unwrap_err();
        assert!(matches!(error, Error::Hostile { .. }), "{name}: {error:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t7_a_huge_file_is_not_read_into_memory() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n")]);
    let huge = fs::File::create(repo.folder.join("huge")).unwrap();
    huge.set_len(64 * 1024 * 1024).unwrap();
    repo.commit_all();
    let (mirror, head) = rig.fetched("r").await;
    let file = mirror.file(&head, b"huge", 1024).await;
    assert!(matches!(file, Err(Error::TooLarge { limit: 1024, .. })), "{file:?}");
    let tree = mirror.worktree(&head).await.unwrap();
    assert_eq!(fs::metadata(tree.path().join("huge")).unwrap().len(), 64 * 1024 * 1024);
}
