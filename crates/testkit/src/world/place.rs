//! Where a story's store can be, besides a folder.

use std::sync::atomic::{AtomicU64, Ordering};

use store::Place;

/// Returns a place of its own on the test's PostgreSQL. `None` where there is none: the story says
/// so and leaves it out; in CI that is a failure.
#[expect(
    clippy::disallowed_methods,
    reason = "the address of the test database comes from outside"
)]
#[expect(clippy::print_stdout, reason = "a test that leaves something out says so")]
pub fn postgres() -> Option<Place> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let Ok(url) = std::env::var("PATCHWRIGHT_TEST_DATABASE_URL") else {
        assert!(
            std::env::var("CI").is_err(),
            "PATCHWRIGHT_TEST_DATABASE_URL is not set: run `cargo xtask test`"
        );
        println!("left out: no PostgreSQL (`cargo xtask test` starts one)");
        return None;
    };
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let schema = format!("world_{}_{n}", std::process::id());
    Some(Place::Postgres { url: url.into(), schema: Some(schema) })
}
