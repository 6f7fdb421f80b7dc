//! The narrow face of a database that every operation is written against.
//!
//! One SQL text serves both databases. Parameters are `$1`, `$2` …; words in braces stand for the
//! few differences: `{identity}` (a growing primary key), `{bytes}` (the binary type). A list of texts is bound as
//! one parameter: `{any $n}` asks for one of them, `{each $n}` is a table of them with the column
//! `value`. Many rows go in with one [`Insert`].

pub mod postgres;
pub mod sqlite;

use std::borrow::Cow;

use bytes::Bytes;
use domain::Time;

use crate::error::Error;

/// A connection inside a transaction.
pub trait Db {
    /// Runs a statement and returns how many rows it touched.
    fn execute(&mut self, sql: &str, values: &[Value]) -> Result<u64, Error>;

    /// Runs a statement and returns its rows.
    fn query(&mut self, sql: &str, values: &[Value]) -> Result<Vec<Row>, Error>;

    /// Inserts rows, in this order.
    fn insert(&mut self, insert: &Insert, rows: &[Vec<Value>]) -> Result<(), Error>;

    /// Returns the present moment by the store's source of time.
    fn now(&mut self) -> Result<Time, Error>;

    /// Orders all transactions that name one of the same keys: a no-op where there is one writer
    /// anyway.
    fn lock_all(&mut self, keys: Vec<String>) -> Result<(), Error>;

    /// Says that after this transaction others may find something to do.
    fn wake(&mut self);

    /// Orders all transactions that name the same key.
    fn lock(&mut self, key: &str) -> Result<(), Error> {
        self.lock_all(vec![key.to_owned()])
    }

    /// Runs a statement and returns its only row, if there is one.
    fn find(&mut self, sql: &str, values: &[Value]) -> Result<Option<Row>, Error> {
        Ok(self.query(sql, values)?.into_iter().next())
    }
}

/// A value on its way into the database.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Int(Option<i64>),
    Text(Option<String>),
    Bytes(Bytes),
    Texts(Vec<String>),
}

/// How rows go into a table.
#[derive(Clone, Copy, Debug)]
pub struct Insert {
    pub table: &'static str,
    pub columns: &'static [(&'static str, Kind)],
    /// What is done about a row that is there already, as SQL says it.
    pub conflict: &'static str,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Int,
    Text,
    Bytes,
}

impl Insert {
    /// Returns the names of the columns as SQL lists them.
    fn names(&self) -> String {
        let names: Vec<_> = self.columns.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(Some(value))
    }
}
impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Int(Some(i64::from(value)))
    }
}
impl From<Option<i64>> for Value {
    fn from(value: Option<i64>) -> Self {
        Self::Int(value)
    }
}
impl From<Time> for Value {
    fn from(value: Time) -> Self {
        Self::Int(Some(value.0))
    }
}
impl From<Option<Time>> for Value {
    fn from(value: Option<Time>) -> Self {
        Self::Int(value.map(|time| time.0))
    }
}
impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(Some(value.to_owned()))
    }
}
impl From<&String> for Value {
    fn from(value: &String) -> Self {
        Self::Text(Some(value.clone()))
    }
}
impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(Some(value))
    }
}
impl From<Option<String>> for Value {
    fn from(value: Option<String>) -> Self {
        Self::Text(value)
    }
}
impl From<Vec<u8>> for Value {
    fn from(value: Vec<u8>) -> Self {
        Self::Bytes(value.into())
    }
}
impl From<&Bytes> for Value {
    fn from(value: &Bytes) -> Self {
        Self::Bytes(value.clone())
    }
}
impl From<Vec<String>> for Value {
    fn from(value: Vec<String>) -> Self {
        Self::Texts(value)
    }
}

/// Builds a list of [`Value`]s.
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => { [$($crate::db::Value::from($value)),*] };
}

/// A row that came out, read from left to right.
#[derive(Clone, Debug)]
pub struct Row {
    cells: std::vec::IntoIter<Cell>,
}

/// A value as it came out.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    Null,
    Int(i64),
    Text(String),
    Bytes(Vec<u8>),
}

impl Row {
    pub fn new(cells: Vec<Cell>) -> Self {
        Self { cells: cells.into_iter() }
    }

    pub fn int(&mut self) -> Result<i64, Error> {
        match self.cells.next() {
            Some(Cell::Int(value)) => Ok(value),
            other => Err(unexpected("integer", other.as_ref())),
        }
    }

    pub fn maybe_int(&mut self) -> Result<Option<i64>, Error> {
        match self.cells.next() {
            Some(Cell::Int(value)) => Ok(Some(value)),
            Some(Cell::Null) => Ok(None),
            other => Err(unexpected("integer or null", other.as_ref())),
        }
    }

    pub fn text(&mut self) -> Result<String, Error> {
        match self.cells.next() {
            Some(Cell::Text(value)) => Ok(value),
            other => Err(unexpected("text", other.as_ref())),
        }
    }

    pub fn maybe_text(&mut self) -> Result<Option<String>, Error> {
        match self.cells.next() {
            Some(Cell::Text(value)) => Ok(Some(value)),
            Some(Cell::Null) => Ok(None),
            other => Err(unexpected("text or null", other.as_ref())),
        }
    }

    pub fn bytes(&mut self) -> Result<Vec<u8>, Error> {
        match self.cells.next() {
            Some(Cell::Bytes(value)) => Ok(value),
            other => Err(unexpected("bytes", other.as_ref())),
        }
    }

    pub fn time(&mut self) -> Result<Time, Error> {
        self.int().map(Time)
    }

    pub fn maybe_time(&mut self) -> Result<Option<Time>, Error> {
        Ok(self.maybe_int()?.map(Time))
    }

    /// Reads a text that holds a JSON value of ours.
    pub fn json<T: serde::de::DeserializeOwned>(&mut self, what: &'static str) -> Result<T, Error> {
        from_json(what, &self.text()?)
    }
}

fn unexpected(expected: &'static str, found: Option<&Cell>) -> Error {
    let found = match found {
        None => "nothing",
        Some(Cell::Null) => "null",
        Some(Cell::Int(_)) => "an integer",
        Some(Cell::Text(_)) => "a text",
        Some(Cell::Bytes(_)) => "bytes",
    };
    Error::Corrupt { what: "column", why: format!("expected {expected}, found {found}") }
}

/// Writes a value of ours as JSON.
pub fn to_json<T: serde::Serialize>(what: &'static str, value: &T) -> Result<String, Error> {
    serde_json::to_string(value).map_err(|error| Error::Corrupt { what, why: error.to_string() })
}

/// Reads a value of ours from JSON.
pub fn from_json<T: serde::de::DeserializeOwned>(
    what: &'static str,
    text: &str,
) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|error| Error::Corrupt { what, why: error.to_string() })
}

/// The words in which the databases differ.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    pub identity: &'static str,
    pub bytes: &'static str,
    /// What `{any $1}` becomes, with `$` for the parameter.
    pub any: &'static str,
    /// What `{each $1}` becomes, with `$` for the parameter.
    pub each: &'static str,
    /// The sign before a parameter's number.
    pub parameter: &'static str,
}

impl Dialect {
    /// Translates a statement.
    pub fn translate<'a>(&self, sql: &'a str) -> Cow<'a, str> {
        if !sql.contains('{') && self.parameter == "$" {
            return Cow::Borrowed(sql);
        }
        let mut out = String::with_capacity(sql.len() + 32);
        let mut rest = sql;
        while let Some(at) = rest.find(['{', '$']) {
            out.push_str(&rest[..at]);
            rest = &rest[at..];
            if let Some(tail) = rest.strip_prefix('$') {
                out.push_str(self.parameter);
                rest = tail;
            } else if let Some(end) = rest.find('}') {
                match &rest[1..end] {
                    "identity" => out.push_str(self.identity),
                    "bytes" => out.push_str(self.bytes),
                    word => {
                        let (name, number) = word.split_once('$').unwrap_or((word, ""));
                        let list = if name == "each " { self.each } else { self.any };
                        out.push_str(&list.replace('$', &format!("{}{number}", self.parameter)));
                    }
                }
                rest = &rest[end + 1..];
            } else {
                break;
            }
        }
        out.push_str(rest);
        Cow::Owned(out)
    }
}
