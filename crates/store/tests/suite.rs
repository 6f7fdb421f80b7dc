//! One suite of stories over both databases: whatever holds on SQLite holds on PostgreSQL.

mod suite {
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
