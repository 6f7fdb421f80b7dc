//! What is read from a mirror, in any bytes, and never short.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use git::read::{Context, Mode, Status};
use git::{Error, Limits, Oid};

use crate::rig::{Rig, branch};

#[tokio::test(flavor = "multi_thread")]
async fn file_names_of_any_bytes_are_read_and_written() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n")]);
    let name: &[u8] = b"d\xff/ \"x\"\n\t:*?\\-\xc3\xa4";
    let file = repo.folder.join(OsStr::from_bytes(name));
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "needle\n").unwrap();
    let old = repo.head("HEAD");
    let head = repo.commit_all();
    let (mirror, _) = rig.fetched("r").await;
    mirror.fetch_changes(&rig.access("r"), &old, &head).await.unwrap();

    let listed = mirror.list(&head, None).await.unwrap();
    assert!(listed.iter().any(|entry| entry.path == name));
    let below = mirror.list(&head, Some(b"d\xff/")).await.unwrap();
    assert_eq!(below.len(), 1);
    assert_eq!(mirror.file(&head, name, 99).await.unwrap().unwrap().content, b"needle\n");
    assert_eq!(mirror.changes(&old, &head).await.unwrap()[0].path(), name);
    assert_eq!(mirror.log_of_path(&head, name, 9).await.unwrap().len(), 1);
    let diff = mirror.diff(&old, &head, Context::Lines(3), &[name]).await.unwrap();
    assert!(String::from_utf8_lossy(&diff.text).contains("+needle"));
    let matches = mirror.grep(&head, "needle", 9).await.unwrap();
    assert_eq!((matches.found[0].path.as_slice(), matches.found[0].line), (name, 1));
    let tree = mirror.worktree(&head).await.unwrap();
    assert_eq!(std::fs::read(tree.path().join(OsStr::from_bytes(name))).unwrap(), b"needle\n");
    assert_eq!(tree.differences().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn renames_are_found_and_history_is_told() {
    let rig = Rig::new();
    let text: String = (0..50).map(|n| format!("line {n}\n")).collect();
    let repo = rig.repository("r", &[("old.txt", &text)]);
    let base = repo.head("HEAD");
    repo.git(&["mv", "old.txt", "new.txt"]);
    let head = repo.commit(&[("new.txt", &format!("{text}more\n"))]);
    repo.git(&["checkout", "--quiet", "-b", "side", base.as_str()]);
    let side = repo.commit(&[("s", "s\n")]);
    let (mirror, remote) = (rig.mirror(), rig.access("r"));
    mirror.fetch(&remote, &[branch("main"), branch("side")]).await.unwrap();
    mirror.fetch_changes(&remote, &base, &head).await.unwrap();

    let changes = mirror.changes(&base, &head).await.unwrap();
    assert_eq!(changes.len(), 1);
    assert_eq!(changes[0].status, Status::Renamed);
    assert_eq!(changes[0].old.as_ref().unwrap().path, b"old.txt");
    assert_eq!(changes[0].new.as_ref().unwrap().mode, Mode::File);
    let diff = mirror.diff(&base, &head, Context::Lines(3), &[]).await.unwrap();
    let text = String::from_utf8(diff.text).unwrap();
    assert!(text.contains("rename from old.txt") && text.contains("+more"), "{text}");
    assert!(!text.contains("line 20\n"));
    let whole = mirror.diff(&base, &head, Context::Whole, &[]).await.unwrap();
    assert!(String::from_utf8(whole.text).unwrap().contains(" line 20\n"));
    let first = mirror.diff(&Oid::empty_tree(), &base, Context::Lines(3), &[]).await.unwrap();
    assert!(String::from_utf8(first.text).unwrap().contains("+line 49"));

    let log = mirror.log(&base, &head, 9).await.unwrap();
    assert_eq!(
        (log.len(), log[0].oid.clone(), log[0].parents.clone()),
        (1, head.clone(), vec![base.clone()])
    );
    assert_eq!(log[0].author.name, "A Person");
    assert_eq!(log[0].message, "a change\n");
    assert_eq!(mirror.merge_base(&head, &side).await.unwrap(), Some(base.clone()));
    assert!(mirror.is_ancestor(&base, &head).await.unwrap());
    assert!(!mirror.is_ancestor(&side, &head).await.unwrap());
    assert_eq!(mirror.find(&head, b"old.txt").await.unwrap(), None);
    assert_eq!(mirror.find(&head, b"../x").await.unwrap(), None);
    assert!(!mirror.has_commit(&"1".repeat(40).parse().unwrap()).await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_is_an_error_and_never_a_short_answer() {
    let rig = Rig::new();
    let files: Vec<(String, String)> =
        (0..200).map(|n| (format!("f{n:03}"), format!("text {n} needle\n").repeat(50))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(p, c)| (p.as_str(), c.as_str())).collect();
    rig.repository("r", &files);
    let (mirror, head) = rig.fetched("r").await;
    assert_eq!(mirror.grep(&head, "needle", 100_000).await.unwrap().found.len(), 10_000);
    let some = mirror.grep(&head, "needle", 10).await.unwrap();
    assert_eq!((some.found.len(), some.more), (10, true));

    // One content in the middle goes missing.
    let gone = mirror.find(&head, b"f150").await.unwrap().unwrap().oid;
    let folder = std::fs::read_dir(rig.folder.path().join("cache/mirrors")).unwrap();
    let folder = folder.flatten().next().unwrap().path().join("repo.git");
    let packs = folder.join("objects/pack");
    let aside = rig.folder.path().join("aside");
    std::fs::rename(&packs, &aside).unwrap();
    std::fs::create_dir(&packs).unwrap();
    for pack in std::fs::read_dir(&aside).unwrap().flatten() {
        if pack.path().extension() == Some(OsStr::new("pack")) {
            let input = std::fs::File::open(pack.path()).unwrap();
            let status = std::process::Command::new("git")
                .args(["unpack-objects", "-q"])
                .env("GIT_DIR", &folder)
                .stdin(input)
                .status();
            assert!(status.unwrap().success());
        }
    }
    let (start, rest) = gone.as_str().split_at(2);
    std::fs::remove_file(folder.join("objects").join(start).join(rest)).unwrap();
    assert!(mirror.worktree(&head).await.is_err());
    assert!(mirror.grep(&head, "needle", 100_000).await.is_err());
    let diff = mirror.diff(&Oid::empty_tree(), &head, Context::Lines(3), &[]).await;
    assert!(diff.is_err());
    assert_eq!(mirror.list(&head, None).await.unwrap().len(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_too_long_is_an_error() {
    let rig = Rig::with(Limits { answer: 1000, worktree: 10_000, ..Limits::default() });
    let repo = rig.repository("r", &[("big", &"x".repeat(20_000))]);
    let head = repo.head("HEAD");
    let (mirror, _) = rig.fetched("r").await;
    let diff = mirror.diff(&Oid::empty_tree(), &head, Context::Lines(3), &[]).await;
    assert!(matches!(diff, Err(Error::TooLarge { .. })), "{diff:?}");
    let file = mirror.file(&head, b"big", 5000).await;
    assert!(matches!(file, Err(Error::TooLarge { limit: 5000, .. })), "{file:?}");
    let tree = mirror.worktree(&head).await;
    assert!(matches!(tree, Err(Error::TooLarge { limit: 10_000, .. })), "{tree:?}");
}
