//! PostgreSQL: a few connections, each used by one blocking operation at a time.
//!
//! Transactions are `READ COMMITTED`; what must not interleave names the same key to
//! [`Db::lock`]. A deadlock or a failed serialisation is repeated here, nowhere else.

use std::borrow::Cow;
use std::collections::HashMap;
use std::error::Error as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use domain::{Clock, Time};
use postgres::error::SqlState;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config, Statement, Transaction};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{Cell, Db, Dialect, Insert, Kind, Row, Value};
use crate::error::Error;
use crate::text;

pub const DIALECT: Dialect = Dialect {
    identity: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    bytes: "BYTEA",
    any: "= ANY($)",
    each: "unnest($::text[]) AS each(value)",
    parameter: "$",
};

/// The channel on which a commit wakes other processes (J2).
pub const CHANNEL: &str = "patchwright";

/// What every connection is told first.
///
/// A statement is planned once per connection, perhaps over tables that are still empty. Every
/// question of the hot path is answered by an index, so no plan may be kept that reads a whole
/// table as soon as there is something in it.
///
/// A process that stands still in the middle of a transaction must not keep the whole fleet waiting
/// for its locks: nothing of ours takes seconds between two statements.
const SESSION: &str =
    "SET synchronous_commit=on; SET lock_timeout='30s'; SET statement_timeout='60s';
    SET idle_in_transaction_session_timeout='5s';
    SET enable_seqscan=off; SET enable_hashjoin=off; SET enable_mergejoin=off; SET jit=off";

/// How often a transaction that lost a race is repeated.
const RACES: u32 = 8;

/// Where the time comes from.
#[derive(Clone, Debug)]
pub enum Times {
    /// The server's clock: the one that all processes of a fleet share.
    Server,
    Given(Arc<dyn Clock>),
}

/// Connections to one database.
pub struct Postgres {
    config: Config,
    tls: MakeRustlsConnect,
    idle: Mutex<Vec<Connection>>,
    times: Times,
    commits: AtomicU64,
}

/// A connection and the statements that it knows already.
struct Connection {
    client: Client,
    statements: HashMap<String, Statement>,
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Closing a connection blocks, which a thread of a runtime must not.
        let idle = std::mem::take(self.idle.get_mut().unwrap_or_else(PoisonError::into_inner));
        if !idle.is_empty() {
            drop(std::thread::spawn(move || drop(idle)));
        }
    }
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").finish_non_exhaustive()
    }
}

impl Postgres {
    /// Prepares connections; the first one is made by the first operation.
    pub fn new(url: &str, schema: Option<&str>, times: Times) -> Result<Self, Error> {
        // The parser's own message may repeat the URL, and with it the password.
        let mut config: Config = url
            .parse()
            .map_err(|_| Error::Open("DATABASE_URL is not a PostgreSQL address".to_owned()))?;
        config.application_name("patchwright").connect_timeout(Duration::from_secs(10));
        config.keepalives_idle(Duration::from_secs(30));
        if let Some(schema) = schema {
            config.options(&format!("-c search_path={schema}"));
        }
        Ok(Self {
            config,
            tls: tls(),
            idle: Mutex::new(Vec::new()),
            times,
            commits: AtomicU64::new(0),
        })
    }

    /// Opens one more connection.
    pub fn connect(&self) -> Result<Client, Error> {
        let mut client = self.config.connect(self.tls.clone()).map_err(|error| refused(&error))?;
        client.batch_execute(SESSION).map_err(|error| refused(&error))?;
        Ok(client)
    }

    /// Runs an operation as one transaction on the calling thread.
    ///
    /// `woken` is called after a commit that leaves others something to do.
    pub fn write<T>(
        &self,
        mut work: impl FnMut(&mut dyn Db) -> Result<T, Error>,
        woken: impl Fn(),
    ) -> Result<T, Error> {
        let mut race = 0;
        loop {
            let mut connection = self.take()?;
            let result = self.transact(&mut connection, &mut work);
            if !connection.client.is_closed() {
                self.idle.lock().map_err(|_| Error::Stopped)?.push(connection);
            }
            match result {
                Err(Error::Busy) if race < RACES => race += 1,
                Err(error) => return Err(error),
                Ok((value, wakes)) => {
                    if wakes {
                        woken();
                    }
                    return Ok(value);
                }
            }
        }
    }

    fn take(&self) -> Result<Connection, Error> {
        loop {
            let idle = self.idle.lock().map_err(|_| Error::Stopped)?.pop();
            match idle {
                Some(connection) if connection.client.is_closed() => {}
                Some(connection) => return Ok(connection),
                None => {
                    return Ok(Connection { client: self.connect()?, statements: HashMap::new() });
                }
            }
        }
    }

    fn transact<T>(
        &self,
        connection: &mut Connection,
        work: &mut impl FnMut(&mut dyn Db) -> Result<T, Error>,
    ) -> Result<(T, bool), Error> {
        let transaction = connection.client.transaction().map_err(|error| refused(&error))?;
        let statements = &mut connection.statements;
        let mut db = Session { transaction, statements, times: &self.times, woken: false };
        let value = work(&mut db)?;
        let wakes = db.woken;
        if wakes {
            db.execute("SELECT pg_notify($1, '')", &[Value::from(CHANNEL)])?;
        }
        db.transaction.commit().map_err(|error| refused(&error))?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok((value, wakes))
    }

    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }
}

/// Trusts the system's certificates; whether TLS is used at all is the address's `sslmode`.
fn tls() -> MakeRustlsConnect {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in rustls_native_certs::load_native_certs().certs {
        // A root that rustls cannot read is one that it will not trust.
        drop(roots.add(certificate));
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    #[expect(clippy::expect_used, reason = "the provider's own default versions are always valid")]
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("default protocol versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    MakeRustlsConnect::new(config)
}

struct Session<'a> {
    transaction: Transaction<'a>,
    statements: &'a mut HashMap<String, Statement>,
    times: &'a Times,
    woken: bool,
}

impl Session<'_> {
    /// Returns the prepared statement of a text; each connection prepares a text once.
    fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let statement =
            self.transaction.prepare(&DIALECT.translate(sql)).map_err(|error| refused(&error))?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl Db for Session<'_> {
    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error> {
        let statement = self.prepare(sql)?;
        self.transaction.execute(&statement, &parameters(values)).map_err(|error| refused(&error))
    }

    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error> {
        let statement = self.prepare(sql)?;
        let rows = self
            .transaction
            .query(&statement, &parameters(values))
            .map_err(|error| refused(&error))?;
        rows.iter().map(read_row).collect()
    }

    /// All rows in one statement: a journey to the server costs more than a row.
    fn insert(&mut self, insert: &Insert, rows: &[Vec<Value>]) -> Result<(), Error> {
        let mut columns = Vec::with_capacity(insert.columns.len());
        for (at, (_, kind)) in insert.columns.iter().enumerate() {
            columns.push(Column::of(*kind, rows.iter().map(|row| row.get(at)))?);
        }
        let statement = self.prepare(&insert_many(insert))?;
        let given: Vec<_> = columns.iter().map(Column::as_parameter).collect();
        self.transaction.execute(&statement, &given).map_err(|error| refused(&error))?;
        Ok(())
    }

    fn now(&mut self) -> Result<Time, Error> {
        match self.times {
            Times::Given(clock) => Ok(clock.now()),
            Times::Server => {
                let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
                let mut row = self.find(sql, &[])?.ok_or(Error::Absent("time"))?;
                row.time()
            }
        }
    }

    /// Takes the locks in the order of their numbers, so that two transactions with several keys
    /// never wait for each other.
    fn lock_all(&mut self, keys: Vec<String>) -> Result<(), Error> {
        self.query(
            "SELECT pg_advisory_xact_lock(number)
             FROM (SELECT DISTINCT hashtextextended(value, 0) AS number FROM {each $1} ORDER BY number) AS wanted",
            &[Value::from(keys)],
        )?;
        Ok(())
    }

    fn wake(&mut self) {
        self.woken = true;
    }
}

fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

/// Returns the statement that takes one list per column.
fn insert_many(insert: &Insert) -> String {
    let lists: Vec<_> = insert
        .columns
        .iter()
        .enumerate()
        .map(|(at, (_, kind))| {
            let kind = match kind {
                Kind::Int => "bigint",
                Kind::Text => "text",
                Kind::Bytes => "bytea",
            };
            format!("${}::{kind}[]", at + 1)
        })
        .collect();
    let Insert { table, conflict, .. } = insert;
    let (names, lists) = (insert.names(), lists.join(", "));
    format!(
        "INSERT INTO {table} ({names}) SELECT {names} FROM unnest({lists}) WITH ORDINALITY AS given({names}, nth)
         ORDER BY nth {conflict}"
    )
}

/// The values of one column, of all rows.
enum Column<'a> {
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<Cow<'a, str>>>),
    Bytes(Vec<&'a [u8]>),
}

impl<'a> Column<'a> {
    fn of(kind: Kind, values: impl Iterator<Item = Option<&'a Value>>) -> Result<Self, Error> {
        let wrong = || Error::Corrupt {
            what: "row",
            why: "a value is not of its column's kind".to_owned(),
        };
        Ok(match kind {
            Kind::Int => Self::Ints(
                values
                    .map(|value| match value {
                        Some(Value::Int(value)) => Ok(*value),
                        _ => Err(wrong()),
                    })
                    .collect::<Result<_, _>>()?,
            ),
            Kind::Text => Self::Texts(
                values
                    .map(|value| match value {
                        Some(Value::Text(value)) => Ok(value.as_deref().map(text::escape)),
                        _ => Err(wrong()),
                    })
                    .collect::<Result<_, _>>()?,
            ),
            Kind::Bytes => Self::Bytes(
                values
                    .map(|value| match value {
                        Some(Value::Bytes(value)) => Ok(value.as_ref()),
                        _ => Err(wrong()),
                    })
                    .collect::<Result<_, _>>()?,
            ),
        })
    }

    fn as_parameter(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Ints(values) => values,
            Self::Texts(values) => values,
            Self::Bytes(values) => values,
        }
    }
}

fn read_row(row: &postgres::Row) -> Result<Row, Error> {
    let mut cells = Vec::with_capacity(row.len());
    for (at, column) in row.columns().iter().enumerate() {
        let broken =
            |error: postgres::Error| Error::Corrupt { what: "column", why: error.to_string() };
        let cell = match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(at).map_err(broken)?.map(Cell::Int),
            Type::INT4 => row
                .try_get::<_, Option<i32>>(at)
                .map_err(broken)?
                .map(|value| Cell::Int(i64::from(value))),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at).map_err(broken)?.map(Cell::Bytes),
            Type::VOID => None,
            _ => row
                .try_get::<_, Option<String>>(at)
                .map_err(broken)?
                .map(|value| Cell::Text(text::unescape(value))),
        };
        cells.push(cell.unwrap_or(Cell::Null));
    }
    Ok(Row::new(cells))
}

impl ToSql for Value {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut bytes::BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Self::Int(Some(value)) if *ty == Type::INT4 => i32::try_from(*value)?.to_sql(ty, out),
            Self::Int(Some(value)) => value.to_sql(ty, out),
            Self::Int(None) | Self::Text(None) => Ok(IsNull::Yes),
            Self::Text(Some(value)) => text::escape(value).as_ref().to_sql(ty, out),
            Self::Bytes(value) => value.as_ref().to_sql(ty, out),
            Self::Texts(values) => {
                let escaped: Vec<_> = values.iter().map(|value| text::escape(value)).collect();
                let escaped: Vec<&str> = escaped.iter().map(AsRef::as_ref).collect();
                escaped.to_sql(ty, out)
            }
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn refused(error: &postgres::Error) -> Error {
    let Some(code) = error.code() else {
        let why =
            error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
        return Error::Unreachable(why);
    };
    if *code == SqlState::T_R_DEADLOCK_DETECTED || *code == SqlState::T_R_SERIALIZATION_FAILURE {
        return Error::Busy;
    }
    // A statement that took too long, and a transaction that had stood still and that the server
    // ended: nothing of either is there.
    if *code == SqlState::LOCK_NOT_AVAILABLE
        || *code == SqlState::QUERY_CANCELED
        || *code == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
    {
        return Error::Busy;
    }
    let words = error.as_db_error().map_or_else(|| error.to_string(), |db| db.message().to_owned());
    // Class 08 is the connection, 57P the server going down, 53 its resources.
    if code.code().starts_with("08")
        || code.code().starts_with("57P")
        || code.code().starts_with("53")
    {
        return Error::Unreachable(words);
    }
    Error::Refused(words)
}
