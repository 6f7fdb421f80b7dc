//! Migrations, newer versions and the shape of what is stored (J8).

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use domain::{Slot, Subject};
use store::settle::Patience;
use store::{Error, Place, Store, TimeSource, schema};

use super::bench::{Bench, StandingClock, comment, fix, help, over_both, repo};

over_both!(
    j8_a_worker_that_meets_a_newer_schema_stops_claiming,
    several_processes_may_start_at_once,
    sample_rows_of_every_table_survive_a_new_start,
    secrets_of_the_store_are_made_once,
);

async fn j8_a_worker_that_meets_a_newer_schema_stops_claiming(bench: Bench) {
    bench.accept(help(1, 1, 10)).await;
    let newer = schema::KNOWN + 1;
    bench
        .store
        .write(move |db| {
            let sql =
                "INSERT INTO migrations (version, name, at) VALUES ($1, 'from the future', 0)";
            db.execute(sql, &[store::db::Value::from(newer)])
        })
        .await
        .unwrap();
    let claim = bench.store.claim(bench.hands()).await;
    assert!(matches!(claim, Err(Error::Newer { .. })));
    assert!(matches!(bench.reopen().await, Err(Error::Newer { .. })));
}

async fn several_processes_may_start_at_once(bench: Bench) {
    let (a, b, c) = tokio::join!(bench.reopen(), bench.reopen(), bench.reopen());
    for store in [a, b, c] {
        assert_eq!(store.unwrap().schema_version().await.unwrap(), schema::KNOWN);
    }
}

async fn sample_rows_of_every_table_survive_a_new_start(bench: Bench) {
    let subject = Subject::issue(repo(1), 1);
    let id = bench.accept(fix(1, 1, 10)).await;
    let claimed = bench.claim().await.unwrap();
    bench.store.keep(&id, claimed.token, "k", serde_json::json!(1)).await.unwrap();
    bench.store.keep_artifact(&id, claimed.token, "a", "text/plain", b"a".to_vec()).await.unwrap();
    let row = comment(&subject, &Slot::summary(), "one");
    bench
        .store
        .settle(&id, claimed.token, super::bench::next_stage("fix", vec![row]))
        .await
        .unwrap();
    bench.send_all().await;
    let row = comment(&subject, &Slot::status(), "two");
    bench
        .store
        .settle(&id, claimed.token, super::bench::next_stage("verify", vec![row]))
        .await
        .unwrap();
    bench.store.open_breaker("elsewhere", "refused", None).await.unwrap();
    for again in ["", "a job is counted once"] {
        let count = bench
            .store
            .charge(&id, claimed.token, "repository", "repo:1".to_owned())
            .await
            .unwrap();
        assert_eq!(count, 1, "{again}");
    }
    bench.store.secret("marker").await.unwrap();

    let other = bench.reopen().await.unwrap();
    let tables = [
        "meta",
        "deliveries",
        "taken",
        "repos",
        "jobs",
        "attempts",
        "checkpoints",
        "journal",
        "records",
        "outbox",
        "lanes",
        "receipts",
        "artifacts",
        "breakers",
        "budgets",
        "migrations",
    ];
    for table in tables {
        let sql = format!("SELECT count(*) FROM {table}");
        let mut row = other.read(move |db| db.find(&sql, &[])).await.unwrap().unwrap();
        assert!(row.int().unwrap() > 0, "{table} has no sample row");
    }
}

async fn secrets_of_the_store_are_made_once(bench: Bench) {
    use secrecy::ExposeSecret;
    let first = bench.store.secret("marker").await.unwrap();
    let again = bench.reopen().await.unwrap().secret("marker").await.unwrap();
    assert_eq!(first.expose_secret(), again.expose_secret());
    assert_eq!(first.expose_secret().len(), 64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn j1_several_processes_may_start_on_a_new_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for n in 0..20 {
        let place = Place::Sqlite(folder.path().join(format!("{n}.db")));
        let starts: Vec<_> = (0..6).map(|_| tokio::spawn(start(place.clone()))).collect();
        for start in starts {
            start.await.unwrap().unwrap();
        }
    }
}

async fn start(place: Place) -> Result<Store, Error> {
    let clock = Arc::new(StandingClock::default());
    Store::open(&place, TimeSource::Given(clock), Patience::default(), Arc::new(|_| Vec::new()))
        .await
}

#[tokio::test]
async fn t6_a_new_store_is_readable_by_its_own_account_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data/patchwright.db");
    let clock = Arc::new(StandingClock::default());
    let store = Store::open(
        &Place::Sqlite(file.clone()),
        TimeSource::Given(clock),
        Patience::default(),
        Arc::new(|_| Vec::new()),
    )
    .await
    .unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    for name in ["patchwright.db", "patchwright.db-wal", "patchwright.db-shm"] {
        assert_eq!(mode(&file.with_file_name(name)), 0o600, "{name}");
    }
    drop(store);
}
