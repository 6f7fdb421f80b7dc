//! Commits, bundles and pushes (E8).

use git::{Content, Edit, Error, Expected, Made, NewCommit, Oid, Push, Pushed, RefName, Remote};

use crate::rig::{Repo, Rig, edit, make, person};

fn target() -> RefName {
    RefName::branch("main").unwrap()
}

fn fix() -> RefName {
    RefName::branch("patchwright/fix").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn e8_a_commit_is_made_bundled_judged_and_pushed_as_exactly_that_id() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n"), ("d/b", "two\n"), ("gone", "x\n")]);
    let (mirror, head) = rig.fetched("r").await;
    let scratch = mirror.scratch().unwrap();
    let edits = vec![
        edit("a", "changed\n"),
        Edit { path: b"run.sh".into(), content: Content::Executable(b"#!/bin/sh\n".into()) },
        Edit { path: b"link".into(), content: Content::Link(b"a".into()) },
        Edit { path: b"gone".into(), content: Content::Removed },
        edit("gone/now-a-folder", "y\n"),
    ];
    let commit = make(&scratch, &head, edits).await;
    let again = make(&scratch, &head, vec![edit("a", "changed\n")]).await;
    assert_eq!(again, make(&mirror.scratch().unwrap(), &head, vec![edit("a", "changed\n")]).await);
    let copy = scratch.worktree(&commit).await.unwrap();
    assert_eq!(std::fs::read(copy.path().join("gone/now-a-folder")).unwrap(), b"y\n");
    assert!(!mirror.has_commit(&commit).await.unwrap(), "the mirror knows nothing of it");

    let bundle = scratch.bundle(&commit, &head, &fix()).await.unwrap();
    drop(scratch);
    let sender = mirror.scratch().unwrap();
    let expected = Expected { target: &fix(), head: &head, allows: &|_| true };
    assert_eq!(sender.unbundle(&bundle, &expected).await.unwrap(), commit);
    let push = Push { commit: &commit, target: &fix(), expected: None, never: &[target()] };
    assert_eq!(sender.push(&rig.access("r"), &push).await.unwrap(), Pushed::Done);
    assert_eq!(repo.head("refs/heads/patchwright/fix"), commit);
    assert_eq!(repo.git(&["show", "patchwright/fix:a"]), "changed\n");
    repo.git(&["fsck", "--strict"]);
    assert_eq!(sender.push(&rig.access("r"), &push).await.unwrap(), Pushed::AlreadyThere);
}

#[tokio::test(flavor = "multi_thread")]
async fn e8_a_partial_mirror_can_push_although_the_remote_moved_on() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n"), ("d/b", "two\n")]);
    let mirror = rig.mirror();
    let wants = [crate::rig::branch("main")];
    let head = mirror.fetch(&rig.access("r"), &wants).await.unwrap().commits.remove(0);
    repo.commit(&[("c", "the base moved on\n")]);
    let scratch = mirror.scratch().unwrap();
    let commit = make(&scratch, &head, vec![edit("a", "changed\n")]).await;
    let bundle = scratch.bundle(&commit, &head, &fix()).await.unwrap();
    let sender = mirror.scratch().unwrap();
    let expected = Expected { target: &fix(), head: &head, allows: &|_| true };
    sender.unbundle(&bundle, &expected).await.unwrap();
    let push = Push { commit: &commit, target: &fix(), expected: None, never: &[] };
    assert_eq!(sender.push(&rig.access("r"), &push).await.unwrap(), Pushed::Done);
    repo.git(&["fsck", "--strict"]);
    assert_eq!(repo.head("refs/heads/patchwright/fix"), commit);
}

/// Pushes a commit on `head` to `main`, which must be at `expected`.
async fn push_to_main(rig: &Rig, head: &Oid, expected: Option<&Oid>, never: &[RefName]) -> Pushed {
    let scratch = rig.mirror().scratch().unwrap();
    let commit = make(&scratch, head, vec![edit("p", "pushed\n")]).await;
    let push = Push { commit: &commit, target: &target(), expected, never };
    scratch.push(&rig.access("r"), &push).await.unwrap()
}

fn refuse_pushes(repo: &Repo) {
    let hook = repo.folder.join(".git/hooks/update");
    std::fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn e8_a_head_that_moved_is_not_overwritten() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n")]);
    let (_mirror, head) = rig.fetched("r").await;
    let moved = repo.commit(&[("a", "theirs\n")]);
    let pushed = push_to_main(&rig, &head, Some(&head), &[]).await;
    assert_eq!(pushed, Pushed::Moved { to: Some(moved.clone()) });
    assert_eq!(repo.head("main"), moved);
    let pushed = push_to_main(&rig, &head, None, &[]).await;
    assert_eq!(pushed, Pushed::Moved { to: Some(moved) }, "a new branch must not exist");
}

#[tokio::test(flavor = "multi_thread")]
async fn e8_a_default_branch_is_never_pushed_to_and_a_protected_one_refuses() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n")]);
    let (_mirror, head) = rig.fetched("r").await;
    let before = rig.server.requests().len();
    let pushed = push_to_main(&rig, &head, Some(&head), &[target()]).await;
    assert!(matches!(pushed, Pushed::Refused { .. }), "{pushed:?}");
    assert_eq!(rig.server.requests().len(), before, "nobody was asked");
    refuse_pushes(&repo);
    let pushed = push_to_main(&rig, &head, Some(&head), &[]).await;
    assert!(
        matches!(&pushed, Pushed::Refused { why } if why.contains("hook declined")),
        "{pushed:?}"
    );
    assert_eq!(repo.head("main"), head);
}

#[tokio::test(flavor = "multi_thread")]
async fn e8_a_lost_answer_is_looked_up() {
    let rig = Rig::new();
    rig.repository("r", &[("a", "one\n")]);
    let (_mirror, head) = rig.fetched("r").await;
    rig.server.lose_answer("git-receive-pack");
    let pushed = push_to_main(&rig, &head, Some(&head), &[]).await;
    assert_eq!(pushed, Pushed::AlreadyThere, "it had arrived");
}

#[tokio::test(flavor = "multi_thread")]
async fn e8_an_answer_that_stays_unknown_is_told_as_lost() {
    let rig = Rig::with(crate::rig::short_network());
    let repo = rig.repository("r", &[("a", "one\n")]);
    let remote = Remote::Folder(repo.folder.clone());
    let mirror = rig.mirror();
    let wants = [crate::rig::branch("main")];
    let head = mirror.fetch(&remote, &wants).await.unwrap().commits.remove(0);
    let scratch = mirror.scratch().unwrap();
    let commit = make(&scratch, &head, vec![edit("p", "pushed\n")]).await;
    rig.server.hold("git-receive-pack");
    let push = Push { commit: &commit, target: &target(), expected: Some(&head), never: &[] };
    let pushed = scratch.push(&rig.access("r"), &push).await;
    assert!(matches!(pushed, Err(Error::Lost { .. })), "{pushed:?}");
    rig.server.release();
}

#[tokio::test(flavor = "multi_thread")]
async fn e8_a_bundle_that_is_not_what_was_expected_is_refused() {
    let rig = Rig::new();
    rig.repository("r", &[("a", "one\n"), ("ci.yml", "safe\n")]);
    let (mirror, head) = rig.fetched("r").await;
    let scratch = mirror.scratch().unwrap();
    let one = make(&scratch, &head, vec![edit("a", "1\n")]).await;
    let two = make(&scratch, &one, vec![edit("ci.yml", "2\n")]).await;
    let good = scratch.bundle(&one, &head, &fix()).await.unwrap();
    let deep = scratch.bundle(&two, &head, &fix()).await.unwrap();
    let check = async |bundle: &[u8], head: &Oid, allowed: &'static [u8]| {
        let sender = mirror.scratch().unwrap();
        let allows = move |change: &git::read::Change| change.path() == allowed;
        let expected = Expected { target: &fix(), head, allows: &allows };
        sender.unbundle(bundle, &expected).await
    };
    assert_eq!(check(&good, &head, b"a").await.unwrap(), one);
    let refused = |result: Result<Oid, Error>| {
        assert!(matches!(result, Err(Error::Hostile { .. })), "{result:?}");
    };
    refused(check(&good, &head, b"b").await);
    refused(check(&deep, &head, b"a").await);
    refused(check(b"no bundle", &head, b"a").await);
    let mut renamed = good.clone();
    let at = renamed.windows(3).position(|three| three == b"fix").unwrap();
    renamed[at] = b'm';
    refused(check(&renamed, &head, b"a").await);
    for cut in [good.len() - 1, good.len() - 25, good.len() / 2 + 60] {
        assert!(check(&good[..cut], &head, b"a").await.is_err(), "cut at {cut}");
    }
    let mut torn = good.clone();
    let end = torn.len() - 30;
    torn[end] ^= 0xff;
    assert!(check(&torn, &head, b"a").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn edits_that_change_nothing_make_no_commit_and_bad_paths_are_refused() {
    let rig = Rig::new();
    rig.repository("r", &[("a", "one\n")]);
    let (mirror, head) = rig.fetched("r").await;
    let scratch = mirror.scratch().unwrap();
    let new = |path: &str| NewCommit {
        parent: head.clone(),
        edits: vec![edit(path, "one\n")],
        author: person(),
        committer: person(),
        message: "none".to_owned(),
    };
    assert_eq!(scratch.commit_edits(&new("a")).await.unwrap(), Made::Unchanged);
    for path in [".git/config", "x/.GIT/hooks/y", "../x", "/etc/x", "git~1/config", "", "a/"] {
        let made = scratch.commit_edits(&new(path)).await;
        assert!(matches!(made, Err(Error::Hostile { .. })), "{path:?}: {made:?}");
    }
    let mut forged = new("a");
    forged.author.name = "x> 1 +0000\nparent 0".to_owned();
    assert!(matches!(scratch.commit_edits(&forged).await, Err(Error::Hostile { .. })));
}
