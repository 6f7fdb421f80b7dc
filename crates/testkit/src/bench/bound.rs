//! The bound: how fast the database itself takes the rows that a delivery leaves.
//!
//! One writer, in this process, inserts ready-made rows in groups and commits each group with the
//! same sync setting: no HTTP, no signature, no JSON, no question to the database.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use postgres::Statement;
use postgres::types::ToSql;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::ground::{Ground, connect};
use super::payload::Conversation;
use super::specimen::{Row, Specimens, Table};

/// How many groups are made ready at a time, which is not counted as writing.
const READY: usize = 32;

/// What a bound was measured as.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) rate: f64,
    pub(super) commits: u64,
}

/// Measures how fast a new store takes rows like the specimens in groups of `group`.
pub(super) fn measure(
    specimens: &Specimens,
    ground: &Ground,
    conversations: &[Conversation],
    group: usize,
    lasts: Duration,
) -> Result<Bound> {
    ground.migrate()?;
    let mut writer = match ground.url() {
        None => Writer::sqlite(&ground.file())?,
        Some(url) => Writer::postgres(url)?,
    };
    let (mut n, mut commits, mut spent) = (0, 0, Duration::ZERO);
    while spent < lasts {
        let mut ready = Vec::with_capacity(READY);
        for _ in 0..READY {
            ready.push(specimens.group(conversations, n..n + group as u64));
            n += group as u64;
        }
        let began = Instant::now();
        for rows in &ready {
            writer.commit(&specimens.tables, rows)?;
            commits += 1;
        }
        spent += began.elapsed();
    }
    let held = ground.count("deliveries")?;
    ensure!(held == n, "the bound wrote {n} deliveries and the store holds {held}");
    Ok(Bound { rate: n as f64 / spent.as_secs_f64(), commits })
}

/// The one writer.
enum Writer {
    Sqlite(Connection),
    Postgres { client: Box<postgres::Client>, inserts: HashMap<String, Statement> },
}

impl Writer {
    fn sqlite(file: &Path) -> Result<Self> {
        let connection = Connection::open(file)?;
        connection.query_row("PRAGMA journal_mode=WAL", [], |_| Ok(()))?;
        connection.execute_batch(store::db::sqlite::WRITER)?;
        Ok(Self::Sqlite(connection))
    }

    fn postgres(url: &str) -> Result<Self> {
        let mut client = connect(url)?;
        client.batch_execute("SET synchronous_commit=on")?;
        Ok(Self::Postgres { client: Box::new(client), inserts: HashMap::new() })
    }

    fn commit(&mut self, tables: &[Table], rows: &[Vec<Row>]) -> Result<()> {
        match self {
            Self::Sqlite(connection) => {
                let transaction = connection.transaction()?;
                for (table, rows) in tables.iter().zip(rows) {
                    let mut insert = transaction.prepare_cached(&table.sqlite_insert())?;
                    for row in rows {
                        insert.execute(rusqlite::params_from_iter(row))?;
                    }
                }
                Ok(transaction.commit()?)
            }
            Self::Postgres { client, inserts } => {
                let mut transaction = client.transaction()?;
                for (table, rows) in tables.iter().zip(rows) {
                    let columns: Vec<Column<'_>> = (0..table.columns.len())
                        .map(|at| Column::of(rows.iter().map(move |row| &row[at])))
                        .collect::<Result<_>>()?;
                    let insert = match inserts.entry(table.name.clone()) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(new) => {
                            new.insert(transaction.prepare(&table.postgres_insert(&columns))?)
                        }
                    };
                    let given: Vec<&(dyn ToSql + Sync)> =
                        columns.iter().map(Column::as_parameter).collect();
                    transaction.execute(insert, &given)?;
                }
                Ok(transaction.commit()?)
            }
        }
    }
}

impl Table {
    fn sqlite_insert(&self) -> String {
        let places: Vec<_> = (1..=self.columns.len()).map(|n| format!("?{n}")).collect();
        let Self { name, columns } = self;
        format!("INSERT INTO {name} ({}) VALUES ({})", columns.join(", "), places.join(", "))
    }

    /// All rows in one statement: the fastest way there is, short of COPY, which a store that
    /// must answer conflicts cannot use.
    fn postgres_insert(&self, columns: &[Column<'_>]) -> String {
        let places: Vec<_> =
            columns.iter().enumerate().map(|(at, column)| column.place(at + 1)).collect();
        let (name, places) = (&self.name, places.join(", "));
        format!("INSERT INTO {name} ({}) SELECT * FROM unnest({places})", self.columns.join(", "))
    }
}

/// The values of one column of a group, as PostgreSQL takes them.
enum Column<'a> {
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<&'a str>>),
    Bytes(Vec<Option<&'a [u8]>>),
}

impl<'a> Column<'a> {
    fn of(values: impl Iterator<Item = &'a Value> + Clone) -> Result<Self> {
        match values.clone().find(|value| **value != Value::Null) {
            Some(Value::Integer(_)) => Ok(Self::Ints(values.map(int).collect())),
            Some(Value::Blob(_)) => Ok(Self::Bytes(values.map(blob).collect())),
            Some(Value::Text(_)) | None => Ok(Self::Texts(values.map(text).collect())),
            Some(other) => bail!("no column of the store holds such a value: {other:?}"),
        }
    }

    fn place(&self, n: usize) -> String {
        let kind = match self {
            Self::Ints(_) => "bigint",
            Self::Texts(_) => "text",
            Self::Bytes(_) => "bytea",
        };
        format!("${n}::{kind}[]")
    }

    fn as_parameter(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Ints(values) => values,
            Self::Texts(values) => values,
            Self::Bytes(values) => values,
        }
    }
}

fn int(value: &Value) -> Option<i64> {
    if let Value::Integer(value) = value { Some(*value) } else { None }
}

fn text(value: &Value) -> Option<&str> {
    if let Value::Text(value) = value { Some(value) } else { None }
}

fn blob(value: &Value) -> Option<&[u8]> {
    if let Value::Blob(value) = value { Some(value) } else { None }
}
