//! One suite of stories over both databases: whatever holds on SQLite holds on PostgreSQL.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a story that cannot go on fails, and one that is skipped says so"
)]

mod suite {
    mod batch;
    pub(crate) mod bench;
    mod golden;
    mod group;
    mod lane;
    mod lease;
    mod outage;
    mod schema;
    mod sending;
    mod taking;
}
