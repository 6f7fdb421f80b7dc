//! Mirrors: what is fetched, by whom, how often.

use std::os::unix::fs::PermissionsExt;

use git::{Access, Error, Fetched, RefName, Remote, Want};
use url::Url;

use crate::rig::{Rig, branch, short_network};

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_holds_history_and_fetches_contents_when_they_are_needed() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n"), ("d/b", "two\n")]);
    let first = repo.head("HEAD");
    let head = repo.commit(&[("a", "changed\n")]);
    let (mirror, remote) = (rig.mirror(), rig.access("r"));
    let fetched = mirror.fetch(&remote, &[branch("main")]).await.unwrap();
    assert_eq!(fetched, Fetched { commits: vec![head.clone()], whole: false });
    assert!(matches!(mirror.worktree(&head).await, Err(Error::Missing { .. })));
    assert!(matches!(mirror.file(&head, b"a", 99).await, Err(Error::Missing { .. })));

    mirror.fetch_changes(&remote, &first, &head).await.unwrap();
    assert_eq!(mirror.file(&head, b"a", 99).await.unwrap().unwrap().content, b"changed\n");
    assert!(matches!(mirror.file(&head, b"d/b", 99).await, Err(Error::Missing { .. })));
    mirror.fetch_files(&remote, &head).await.unwrap();
    let tree = mirror.worktree(&head).await.unwrap();
    assert_eq!(std::fs::read(tree.path().join("d/b")).unwrap(), b"two\n");

    let before = rig.server.requests().len();
    mirror.fetch_files(&remote, &head).await.unwrap();
    mirror.fetch(&remote, &[Want::Commit(head)]).await.unwrap();
    assert_eq!(rig.server.requests().len(), before, "what is there is not asked for again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_partial_clones_sends_everything_and_that_is_told() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n")]);
    repo.git(&["config", "uploadpack.allowFilter", "false"]);
    let mirror = rig.mirror();
    let fetched = mirror.fetch(&rig.access("r"), &[branch("main")]).await.unwrap();
    assert!(fetched.whole);
    assert!(mirror.worktree(&fetched.commits[0]).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_of_changes_and_forks_are_fetched_side_by_side() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n")]);
    let fork = rig.repository("fork", &[("a", "one\n"), ("f", "theirs\n")]);
    let head = repo.head("HEAD");
    repo.git(&["update-ref", "refs/pull/7/head", head.as_str()]);
    repo.git(&["update-ref", "refs/heads/x/y", head.as_str()]);
    let mirror = rig.mirror();
    let wants = [
        Want::Ref(RefName::new("refs/pull/7/head").unwrap()),
        branch("x/y"),
        Want::Commit(head.clone()),
    ];
    let fetched = mirror.fetch(&rig.access("r"), &wants).await.unwrap();
    assert_eq!(fetched.commits, [head.clone(), head.clone(), head.clone()]);
    let theirs = mirror.fetch(&rig.access("fork"), &[branch("main")]).await.unwrap();
    assert_eq!(theirs.commits, [fork.head("HEAD")]);

    // A branch whose name was a folder of another one's, and one that was forced elsewhere.
    repo.git(&["update-ref", "-d", "refs/heads/x/y"]);
    let moved = repo.commit(&[("a", "two\n")]);
    repo.git(&["update-ref", "refs/heads/x", moved.as_str()]);
    let fetched = mirror.fetch(&rig.access("r"), &[branch("x")]).await.unwrap();
    assert_eq!(fetched.commits, [moved]);
}

#[tokio::test(flavor = "multi_thread")]
async fn j10_one_question_of_many_jobs_is_asked_once() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n")]);
    let remote = rig.access("r");
    let one = async || {
        let mirror = rig.mirror();
        mirror.fetch(&remote, &[branch("main")]).await.unwrap().commits.remove(0)
    };
    rig.server.hold("upload-pack");
    let server = rig.server.clone();
    let release = rig.server.once_held(move || server.release());
    let (a, b, c, d, ()) = tokio::join!(one(), one(), one(), one(), release);
    assert!([a, b, c, d].iter().all(|head| *head == repo.head("HEAD")));
    let packs = rig.server.requests().iter().filter(|one| one.ends_with("upload-pack")).count();
    // One for the refs and one for the pack, for whoever came first and for all others at most.
    assert!(packs <= 4, "{packs} requests");
}

#[tokio::test(flavor = "multi_thread")]
async fn several_jobs_use_one_mirror_at_once() {
    let rig = Rig::new();
    rig.repository("r", &[("a", "one\n"), ("b", "two\n")]);
    let (mirror, head) = rig.fetched("r").await;
    let jobs = (0..8).map(|n| {
        let (mirror, head, remote) = (mirror.clone(), head.clone(), rig.access("r"));
        tokio::spawn(async move {
            if n % 2 == 0 {
                mirror.fetch(&remote, &[branch("main")]).await.unwrap();
            }
            let tree = mirror.worktree(&head).await.unwrap();
            assert_eq!(std::fs::read(tree.path().join("b")).unwrap(), b"two\n");
            tree.path()
        })
    });
    for job in jobs.collect::<Vec<_>>() {
        assert!(!job.await.unwrap().exists(), "a worktree vanishes with its value");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_named_by_what_to_do_about_them() {
    let rig = Rig::new();
    rig.repository("r", &[("a", "one\n")]);
    let mirror = rig.mirror();
    let wrong = rig.access_with("r", "wrong-token");
    let error = mirror.fetch(&wrong, &[branch("main")]).await.unwrap_err();
    assert!(matches!(error, Error::Unauthenticated { .. }), "{error:?}");
    let error = mirror.fetch(&rig.access("none"), &[branch("main")]).await.unwrap_err();
    assert!(matches!(error, Error::Gone { .. }), "{error:?}");
    let error = mirror.fetch(&rig.access("r"), &[branch("none")]).await.unwrap_err();
    assert!(matches!(error, Error::Gone { .. }), "{error:?}");
    let url = Url::parse("http://127.0.0.1:1/r").unwrap();
    let nobody = Access::new(&domain::Origin::new("http://127.0.0.1:1"), url, None).unwrap();
    let error = mirror.fetch(&Remote::Forge(nobody), &[branch("main")]).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn t5_git_follows_no_redirect() {
    let (rig, other) = (Rig::new(), Rig::new());
    rig.repository("r", &[("a", "one\n")]);
    other.repository("r", &[("a", "one\n")]);
    rig.server.redirect(&format!("http://{}", other.server.address));
    let error = rig.mirror().fetch(&rig.access("r"), &[branch("main")]).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert_eq!(other.server.requests(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_that_never_answers_is_given_up_with_its_processes() {
    let rig = Rig::with(short_network());
    rig.repository("r", &[("a", "one\n")]);
    rig.server.hold("upload-pack");
    let error = rig.mirror().fetch(&rig.access("r"), &[branch("main")]).await.unwrap_err();
    assert!(matches!(error, Error::TimedOut { .. }), "{error:?}");
    rig.server.release();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_the_operator_named_is_a_remote() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n")]);
    let remote = Remote::Folder(repo.folder.clone());
    let mirror = rig.mirror();
    let head = mirror.fetch(&remote, &[branch("main")]).await.unwrap().commits.remove(0);
    mirror.fetch_files(&remote, &head).await.unwrap();
    assert_eq!(mirror.file(&head, b"a", 99).await.unwrap().unwrap().content, b"one\n");
    assert_eq!(rig.server.requests(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_git_left_in_a_mirror_is_no_obstacle() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n")]);
    let (mirror, _) = rig.fetched("r").await;
    let folder = std::fs::read_dir(rig.folder.path().join("cache/mirrors")).unwrap();
    let folder = folder.flatten().next().unwrap().path().join("repo.git");
    for left in ["packed-refs.lock", "shallow.lock", "objects/pack/tmp_pack_x"] {
        std::fs::write(folder.join(left), "left").unwrap();
    }
    for place in std::fs::read_dir(folder.join("refs/mirror")).unwrap().flatten() {
        std::fs::write(place.path().with_extension("lock"), "").unwrap();
    }
    let moved = repo.commit(&[("a", "two\n")]);
    let fetched = mirror.fetch(&rig.access("r"), &[branch("main")]).await.unwrap();
    assert_eq!(fetched.commits, [moved]);
    assert!(!folder.join("objects/pack/tmp_pack_x").exists());
    let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "a mirror is for this account alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirror_that_is_fetched_often_stays_small_and_loses_nothing() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n")]);
    let remote = Remote::Folder(repo.folder.clone());
    let mirror = rig.mirror();
    let first = mirror.fetch(&remote, &[branch("main")]).await.unwrap().commits.remove(0);
    repo.git(&["checkout", "--quiet", "--orphan", "other"]);
    for n in 0..42 {
        repo.commit(&[("a", &format!("{n}\n"))]);
        repo.git(&["branch", "--force", "main"]);
        mirror.fetch(&remote, &[branch("main")]).await.unwrap();
    }
    let folder = std::fs::read_dir(rig.folder.path().join("cache/mirrors")).unwrap();
    let folder = folder.flatten().next().unwrap().path().join("repo.git/objects/pack");
    let packs = std::fs::read_dir(folder).unwrap().flatten();
    let packs = packs.filter(|one| one.path().extension().is_some_and(|end| end == "pack")).count();
    assert!(packs < 10, "{packs} packs");
    assert!(mirror.has_commit(&first).await.unwrap(), "what no ref names any more is still there");
}
