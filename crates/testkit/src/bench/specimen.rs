//! What a delivery leaves in the store: rows that the program itself wrote for sample deliveries, and
//! as many more of them as the bound wants.
//!
//! Every table that grows with a delivery is found by looking, so nothing here has to change with
//! the schema. New rows differ from the samples in their ids, keys and bodies alone.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::ground::Ground;
use super::load::{Load, conversation};
use super::payload::{Conversation, comment_id, delivery_id};
use super::process::{Process, Role};

pub(super) type Row = Vec<Value>;

/// The rows that sample deliveries left behind.
#[derive(Debug)]
pub(super) struct Specimens {
    pub(super) tables: Vec<Table>,
    deliveries: Vec<Specimen>,
}

/// A table that grows with every delivery, and its columns that are ever filled.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
}

/// What one sample delivery left.
#[derive(Debug)]
struct Specimen {
    n: u64,
    job: String,
    /// By table, in the tables' order.
    rows: Vec<Vec<Row>>,
}

/// What one sample delivery left, as it was found, by table.
#[derive(Debug)]
struct Sample {
    n: u64,
    left: BTreeMap<String, Left>,
}

#[derive(Debug)]
struct Left {
    columns: Vec<String>,
    rows: Vec<Row>,
}

impl Left {
    fn is_filled(&self, at: usize) -> bool {
        self.rows.iter().any(|row| row.get(at).is_some_and(|value| *value != Value::Null))
    }
}

impl Specimens {
    /// Lets the program take `count` deliveries and reads what they left.
    pub(super) fn take(
        program: &Path,
        ground: &Ground,
        conversations: &[Conversation],
        count: u64,
    ) -> Result<Self> {
        let process = Process::start(program, Role::Gateway, &ground.home())?;
        let conversations = &conversations[..conversations.len().min(count as usize)];
        let mut load = Load { conversations, connections: 1, next: 0 };
        // The first delivery of a repository leaves more than the others do.
        load.run_some(process.address, count)?;
        let connection = Connection::open(ground.file())?;
        let mut marks = BTreeMap::new();
        for table in table_names(&connection)? {
            let mark = last_row(&connection, &table)?;
            marks.insert(table, mark);
        }
        let mut samples = Vec::new();
        for _ in 0..count {
            let n = load.next;
            let answers = load.run_some(process.address, 1)?;
            ensure!(answers.accepted == 1, "a sample delivery was refused: {:?}", answers.others);
            let mut left = BTreeMap::new();
            for (table, mark) in &mut marks {
                let new = rows_after(&connection, table, *mark)?;
                if !new.rows.is_empty() {
                    *mark = last_row(&connection, table)?;
                    left.insert(table.clone(), new);
                }
            }
            samples.push(Sample { n, left });
        }
        process.kill()?;
        Self::of(samples)
    }

    /// Sorts samples by table, without what is never filled or filled by the database.
    fn of(samples: Vec<Sample>) -> Result<Self> {
        let first = samples.first().context("there is no sample")?;
        let (mut tables, mut kept) = (Vec::new(), Vec::new());
        for (name, Left { columns, .. }) in &first.left {
            let is_filled = |at| {
                samples.iter().filter_map(|one| one.left.get(name)).any(|left| left.is_filled(at))
            };
            let keep: Vec<usize> =
                (0..columns.len()).filter(|at| columns[*at] != "seq" && is_filled(*at)).collect();
            let columns = keep.iter().map(|at| columns[*at].clone()).collect();
            tables.push(Table { name: name.clone(), columns });
            kept.push(keep);
        }
        let mut deliveries = Vec::new();
        for Sample { n, mut left } in samples {
            ensure!(left.len() == tables.len(), "deliveries do not leave rows in the same tables");
            let mut rows = Vec::new();
            for (table, keep) in tables.iter().zip(&kept) {
                let left = left.remove(&table.name);
                let left = left.context("a delivery left nothing in a table of the others")?;
                let pick = |row: &Row| keep.iter().map(|at| row[*at].clone()).collect();
                rows.push(left.rows.iter().map(pick).collect());
            }
            let job = job_of(&tables, &rows)?;
            deliveries.push(Specimen { n, job, rows });
        }
        Ok(Self { tables, deliveries })
    }

    /// Says which tables a delivery grows, and by how many rows.
    pub(super) fn describe(&self) -> String {
        let Some(first) = self.deliveries.first() else { return String::new() };
        let counts = self.tables.iter().zip(&first.rows);
        let words: Vec<_> =
            counts.map(|(table, rows)| format!("{} {}", rows.len(), table.name)).collect();
        words.join(", ")
    }

    /// Makes the rows that new deliveries would leave, by table.
    pub(super) fn group(
        &self,
        conversations: &[Conversation],
        numbers: Range<u64>,
    ) -> Vec<Vec<Row>> {
        let mut group = vec![Vec::new(); self.tables.len()];
        for n in numbers {
            let specimen = &self.deliveries[n as usize % self.deliveries.len()];
            let changes = [
                (specimen.job.clone(), uuid::Uuid::now_v7().to_string()),
                (delivery_id(specimen.n), delivery_id(n)),
                (comment_id(specimen.n).to_string(), comment_id(n).to_string()),
            ];
            let fresh = |(column, value): (&String, &Value)| match value {
                // Keys are hashes: any other one is as good.
                Value::Text(key) if column == "key" => random_key(key.len()),
                Value::Text(text) => Value::Text(changed(text, &changes)),
                Value::Blob(_) => Value::Blob(conversation(conversations, specimen.n).body(n)),
                other => other.clone(),
            };
            for ((table, rows), out) in self.tables.iter().zip(&specimen.rows).zip(&mut group) {
                out.extend(
                    rows.iter().map(|row| table.columns.iter().zip(row).map(fresh).collect()),
                );
            }
        }
        group
    }
}

fn changed(text: &str, changes: &[(String, String)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (from, to)| {
        if text.contains(from) { text.replace(from, to) } else { text }
    })
}

fn random_key(length: usize) -> Value {
    let mut key = uuid::Uuid::new_v4().simple().to_string();
    key.truncate(length);
    Value::Text(key)
}

/// Returns the job's id among the rows of a delivery.
fn job_of(tables: &[Table], rows: &[Vec<Row>]) -> Result<String> {
    for (table, rows) in tables.iter().zip(rows) {
        let at = table.columns.iter().position(|column| column == "id");
        if table.name == "jobs"
            && let Some(at) = at
            && let Some(Value::Text(id)) = rows.first().and_then(|row| row.get(at))
        {
            return Ok(id.clone());
        }
    }
    bail!("a sample delivery left no job")
}

fn table_names(connection: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut statement = connection.prepare(sql)?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

fn last_row(connection: &Connection, table: &str) -> Result<i64> {
    let sql = format!("SELECT coalesce(max(rowid), 0) FROM {table}");
    Ok(connection.query_row(&sql, [], |row| row.get(0))?)
}

fn rows_after(connection: &Connection, table: &str, mark: i64) -> Result<Left> {
    let sql = format!("SELECT * FROM {table} WHERE rowid > ?1 ORDER BY rowid");
    let mut statement = connection.prepare(&sql)?;
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let width = columns.len();
    let rows = statement.query_map([mark], |row| (0..width).map(|at| row.get(at)).collect())?;
    Ok(Left { columns, rows: rows.collect::<Result<_, _>>()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Value {
        Value::Text(text.to_owned())
    }

    fn sample(n: u64) -> Sample {
        let job = format!("job-{n}");
        let jobs = Left {
            columns: ["seq", "id", "body", "error"].map(str::to_owned).to_vec(),
            rows: vec![vec![
                Value::Integer(1),
                text(&job),
                text(&format!("about {}", comment_id(n))),
                Value::Null,
            ]],
        };
        let deliveries = Left {
            columns: ["job_id", "delivery_id", "body"].map(str::to_owned).to_vec(),
            rows: vec![vec![text(&job), text(&delivery_id(n)), Value::Blob(vec![1])]],
        };
        let taken = Left {
            columns: ["key", "job_id"].map(str::to_owned).to_vec(),
            rows: vec![vec![text("aaaa"), text(&job)], vec![text("bbbb"), text(&job)]],
        };
        let left = [("jobs", jobs), ("deliveries", deliveries), ("taken", taken)];
        Sample { n, left: left.map(|(name, left)| (name.to_owned(), left)).into() }
    }

    #[test]
    fn new_rows_are_those_of_the_samples_with_ids_of_their_own() {
        let conversations = [Conversation::new(0, 0)];
        let specimens = Specimens::of(vec![sample(0), sample(1)]).unwrap();
        assert_eq!(specimens.describe(), "1 deliveries, 1 jobs, 2 taken");
        let group = specimens.group(&conversations, 7..9);
        let [deliveries, jobs, taken] = &group[..] else { panic!("{group:?}") };
        assert_eq!((deliveries.len(), jobs.len(), taken.len()), (2, 2, 4));
        let id = &jobs[0][0];
        assert_ne!(*id, text("job-1"));
        assert_eq!(jobs[0], [id.clone(), text(&format!("about {}", comment_id(7)))]);
        let body = Value::Blob(conversations[0].body(7));
        assert_eq!(deliveries[0], [id.clone(), text(&delivery_id(7)), body]);
        assert_eq!(taken[0][1], *id);
        assert_ne!(taken[0][0], taken[1][0]);
        assert_ne!(jobs[0][0], jobs[1][0]);
    }
}
