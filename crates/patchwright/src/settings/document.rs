//! The configuration file: where it is looked for, and its keys with their places.
//!
//! It is read from `--config`, `PATCHWRIGHT_CONFIG`, the user's configuration folder or `/etc`, and
//! never from a work tree (T3). A key that no setting has is refused, with a suggestion.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::field::{Repeated, Section};
use super::problem::{Place, Problem, suggestion};
use super::value::Raw;
use crate::env::{Environment, variable};

/// A configuration file that was read.
#[derive(Debug)]
pub struct Document {
    pub path: PathBuf,
    pub tables: Vec<Table>,
    /// What is wrong with its keys.
    pub problems: Vec<Problem>,
    /// Whether accounts other than the owner's may read the file.
    pub openness: Openness,
}

/// One `[section]` or `[[section]]`.
#[derive(Debug)]
pub struct Table {
    pub section: &'static str,
    pub place: Place,
    entries: Vec<Entry>,
}

/// One `key = value`.
#[derive(Debug)]
pub struct Entry {
    pub key: String,
    pub value: Raw,
    pub place: Place,
}

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Openness {
    Private,
    /// Its group or everyone.
    Open,
}

/// Where the configuration is read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// Somebody named the file: it must exist.
    Named(PathBuf),
    /// The first of these that exists, or none.
    Usual(Vec<PathBuf>),
}

impl Location {
    /// Decides where to look (T3).
    pub fn find(flag: Option<&Path>, environment: &Environment) -> Self {
        if let Some(path) = flag {
            return Self::Named(path.to_owned());
        }
        if let Some(path) = environment.path(&variable::PATCHWRIGHT_CONFIG) {
            return Self::Named(path);
        }
        let home = environment.path(&variable::HOME).map(|home| home.join(".config"));
        let user =
            environment.path(&variable::XDG_CONFIG_HOME).filter(|path| path.is_absolute()).or(home);
        let folders = user.into_iter().chain([PathBuf::from("/etc")]);
        Self::Usual(folders.map(|folder| folder.join("patchwright/patchwright.toml")).collect())
    }

    /// Returns the file to read; `None` if none of the usual ones exists.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Named(path) => Some(path),
            Self::Usual(paths) => paths.iter().find(|path| path.exists()).map(PathBuf::as_path),
        }
    }
}

impl Document {
    /// Reads a file. What is wrong with its keys becomes part of it, so that it can be told together
    /// with what is wrong with its values.
    pub fn read(path: &Path, sections: &[Section]) -> Result<Self, Vec<Problem>> {
        let unreadable = |error: io::Error| {
            let problem = Problem::new(format!(
                "cannot read the configuration file {}: {error}",
                path.display()
            ));
            vec![problem.hint("`patchwright config example` prints a file to start from")]
        };
        let text = fs::read_to_string(path).map_err(unreadable)?;
        let openness = openness(path).map_err(unreadable)?;
        Self::parse(path, &text, openness, sections)
    }

    fn parse(
        path: &Path,
        text: &str,
        openness: Openness,
        sections: &[Section],
    ) -> Result<Self, Vec<Problem>> {
        let mut scan = Scan { path, text, sections, problems: Vec::new(), tables: Vec::new() };
        let root = DeTable::parse(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            // The message alone: the rendered form would quote the line, which may hold a secret.
            let problem = Problem::new(format!("not valid TOML: {}", error.message()));
            vec![problem.at(scan.place(at))]
        })?;
        scan.root(root.get_ref());
        let Scan { tables, problems, .. } = scan;
        Ok(Self { path: path.to_owned(), tables, problems, openness })
    }

    /// Returns the tables of a section, in the order of the file.
    pub fn section(&self, name: &str) -> impl Iterator<Item = &Table> {
        self.tables.iter().filter(move |table| table.section == name)
    }
}

impl Table {
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }
}

/// Looks who may read a file.
pub fn openness(path: &Path) -> io::Result<Openness> {
    let mode = fs::metadata(path)?.permissions().mode();
    Ok(if mode & 0o044 == 0 { Openness::Private } else { Openness::Open })
}

/// The walk over a parsed file.
struct Scan<'a> {
    path: &'a Path,
    text: &'a str,
    sections: &'a [Section],
    problems: Vec<Problem>,
    tables: Vec<Table>,
}

impl Scan<'_> {
    fn root(&mut self, root: &DeTable<'_>) {
        for (key, value) in root {
            let at = key.span().start;
            let name = key.get_ref().as_ref();
            let Some(section) = self.sections.iter().find(|section| section.name == name).copied()
            else {
                self.unknown_section(name, at);
                continue;
            };
            match (section.repeated, value.get_ref()) {
                (Repeated::Once, DeValue::Table(table)) => self.table(&section, at, table),
                (Repeated::Often, DeValue::Array(items)) => {
                    for item in items {
                        match item.get_ref() {
                            DeValue::Table(table) => self.table(&section, item.span().start, table),
                            _ => self.misshapen(&section, item.span().start),
                        }
                    }
                }
                _ => self.misshapen(&section, at),
            }
        }
    }

    fn table(&mut self, section: &Section, at: usize, table: &DeTable<'_>) {
        let keys = section.keys();
        let mut entries = Vec::new();
        for (key, value) in table {
            let place = self.place(key.span().start);
            let name = key.get_ref().as_ref();
            if keys.iter().any(|known| known == name) {
                entries.push(Entry { key: name.to_owned(), value: raw(value.get_ref()), place });
            } else {
                let message = format!("{} has no setting `{name}`", section.header());
                let hint = suggestion(name, keys.iter().map(String::as_str))
                    .or_else(|| self.elsewhere(name));
                self.problems.push(Problem::new(message).at(place).perhaps(hint));
            }
        }
        self.tables.push(Table { section: section.name, place: self.place(at), entries });
    }

    fn unknown_section(&mut self, name: &str, at: usize) {
        let hint = suggestion(name, self.sections.iter().map(|section| section.name))
            .or_else(|| self.elsewhere(name));
        let problem = Problem::new(format!("there is no section `{name}`")).at(self.place(at));
        self.problems.push(problem.perhaps(hint));
    }

    fn misshapen(&mut self, section: &Section, at: usize) {
        let message =
            format!("`{}` must be written as the table {}", section.name, section.header());
        self.problems.push(Problem::new(message).at(self.place(at)));
    }

    /// Says where a key belongs that stands in the wrong section.
    fn elsewhere(&self, name: &str) -> Option<String> {
        let section =
            self.sections.iter().find(|section| section.keys().iter().any(|key| key == name))?;
        Some(format!("`{name}` belongs to {}", section.header()))
    }

    fn place(&self, offset: usize) -> Place {
        let before = self.text.get(..offset).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        Place { file: self.path.to_owned(), line, column: before[line_start..].chars().count() + 1 }
    }
}

fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::String(text) => Raw::Text(text.to_string()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Raw::Strange, Raw::Integer)
        }
        DeValue::Boolean(value) => Raw::Boolean(*value),
        DeValue::Array(items) => Raw::List(items.iter().map(|item| raw(item.get_ref())).collect()),
        DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Table(_) => Raw::Strange,
    }
}
