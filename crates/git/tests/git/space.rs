//! The disk: budget, reserve, eviction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use git::{Error, Mirrors, Space};

use crate::rig::{Rig, branch};

fn mirrors(rig: &Rig, budget: u64, free: &Arc<AtomicU64>) -> Mirrors {
    let free = free.clone();
    let space = Space {
        budget,
        reserve: 1000,
        free: Arc::new(move |_| Ok(free.load(Ordering::SeqCst))),
        folder: rig.folder.path().to_owned(),
    };
    Mirrors::open(rig.git.clone(), &rig.folder.path().join("spaced"), space).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn j10_a_full_disk_makes_jobs_wait_and_room_lets_them_go_on() {
    let rig = Rig::new();
    rig.repository("r", &[("a", "one\n")]);
    let free = Arc::new(AtomicU64::new(1000));
    let mirrors = mirrors(&rig, u64::MAX, &free);
    let mirror = mirrors.hold(&rig.origin(), 1).unwrap();
    let error = mirror.fetch(&rig.access("r"), &[branch("main")]).await.unwrap_err();
    assert!(matches!(error, Error::NoSpace { .. }), "{error:?}");
    assert_eq!(rig.server.requests(), [""; 0]);
    free.store(1001, Ordering::SeqCst);
    let fetched = mirror.fetch(&rig.access("r"), &[branch("main")]).await.unwrap();
    mirror.fetch_files(&rig.access("r"), &fetched.commits[0]).await.unwrap();
    assert!(mirror.worktree(&fetched.commits[0]).await.is_ok());
    free.store(1000, Ordering::SeqCst);
    let error = mirror.worktree(&fetched.commits[0]).await.unwrap_err();
    assert!(matches!(error, Error::NoSpace { .. }), "{error:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn j10_a_fetch_that_fills_the_disk_is_stopped_at_the_reserve() {
    let rig = Rig::new();
    rig.repository("r", &[("a", "one\n")]);
    let free = Arc::new(AtomicU64::new(5000));
    let mirror = mirrors(&rig, u64::MAX, &free).hold(&rig.origin(), 1).unwrap();
    rig.server.hold("upload-pack");
    let remote = rig.access("r");
    let wants = [branch("main")];
    let fill = rig.server.once_held(move || free.store(999, Ordering::SeqCst));
    let (fetched, ()) = tokio::join!(mirror.fetch(&remote, &wants), fill);
    assert!(matches!(fetched, Err(Error::NoSpace { .. })), "{fetched:?}");
    rig.server.release();
}

#[tokio::test(flavor = "multi_thread")]
async fn j10_the_least_recently_used_mirror_that_nobody_holds_is_evicted() {
    let rig = Rig::new();
    let big = "0123456789abcdef".repeat(4);
    rig.repository("r", &[("a", &big)]);
    let free = Arc::new(AtomicU64::new(5000));
    let mirrors = mirrors(&rig, 3_000, &free);
    let folder = rig.folder.path().join("spaced/mirrors");
    let count = || std::fs::read_dir(&folder).unwrap().count();
    let fill = async |id| {
        let mirror = mirrors.hold(&rig.origin(), id).unwrap();
        mirror.fetch(&rig.access("r"), &[branch("main")]).await.map(|_| mirror)
    };
    let held = fill(1).await.unwrap();
    drop(fill(2).await.unwrap());
    assert_eq!(count(), 2);
    let mut seen = None;
    for id in 3..20 {
        match fill(id).await {
            Ok(mirror) => drop(mirror),
            Err(error) => seen = Some(error),
        }
    }
    assert!(seen.is_none(), "{seen:?}");
    assert!(count() < 6, "{} mirrors stay", count());
    let head = held.fetch(&rig.access("r"), &[branch("main")]).await.unwrap().commits.remove(0);
    assert!(held.has_commit(&head).await.unwrap(), "a mirror that is held stays");

    let all: Vec<_> = (30..40).map(|id| mirrors.hold(&rig.origin(), id).unwrap()).collect();
    let mut full = false;
    for mirror in &all {
        let fetched = mirror.fetch(&rig.access("r"), &[branch("main")]).await;
        full |= matches!(fetched, Err(Error::NoSpace { .. }));
    }
    assert!(full, "the budget holds also when everything is in use");
}
