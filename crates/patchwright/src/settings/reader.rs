//! Merges the sources of each setting: defaults, then file, then environment, then flags.
//!
//! Reading never stops at the first mistake: what is wrong is collected, so that a person can mend
//! it all at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::slice;

use secrecy::SecretString;

use super::document::{Document, Entry, Openness, Table, openness};
use super::field::{Fallback, Field, Form, Section, Source, Sourced};
use super::problem::{Problem, suggestion};
use super::value::{Raw, Value};
use crate::env::{Confidence, Environment, Plain, Secret, Variable};

/// What the command line sets, by the name of the flag.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// `--config`
    pub config: Option<PathBuf>,
    values: Vec<(&'static str, String)>,
}

impl Flags {
    /// Begins with the file that `--config` names, if it does.
    pub fn with_config(config: Option<PathBuf>) -> Self {
        Self { config, values: Vec::new() }
    }

    /// Notes that a flag was given, if it was.
    pub fn set(&mut self, name: &'static str, value: Option<impl ToString>) {
        self.values.extend(value.map(|value| (name, value.to_string())));
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.values.iter().find(|(flag, _)| *flag == name).map(|(_, value)| value.as_str())
    }
}

/// The sources, and what was found wrong with them so far.
#[derive(Debug)]
pub struct Reader<'a> {
    pub document: Option<&'a Document>,
    pub environment: &'a Environment,
    pub flags: &'a Flags,
    pub problems: Vec<Problem>,
    pub warnings: Vec<Problem>,
}

/// Reads the fields of one table.
#[derive(Debug)]
pub struct SectionReader<'r, 'a> {
    reader: &'r mut Reader<'a>,
    section: &'r Section,
    table: Option<&'a Table>,
}

impl<'a> Reader<'a> {
    pub fn new(
        document: Option<&'a Document>,
        environment: &'a Environment,
        flags: &'a Flags,
    ) -> Self {
        Self { document, environment, flags, problems: Vec::new(), warnings: Vec::new() }
    }

    /// Starts on a section that stands once, or not at all, in the file.
    pub fn section<'r>(&'r mut self, section: &'r Section) -> SectionReader<'r, 'a> {
        let table = self.document.and_then(|document| document.section(section.name).next());
        SectionReader { reader: self, section, table }
    }

    /// Starts on one table of a section that may stand in the file more than once.
    pub fn table<'r>(
        &'r mut self,
        section: &'r Section,
        table: &'a Table,
    ) -> SectionReader<'r, 'a> {
        SectionReader { reader: self, section, table: Some(table) }
    }

    /// Returns the value of a public variable; one that is not text is a problem.
    pub fn plain(&mut self, variable: &Plain) -> Option<(String, Source)> {
        let given =
            self.environment.plain(variable).map_err(|error| self.problem(error.to_string()));
        let given = given.ok().flatten()?;
        Some((given.value, Source::Environment { name: given.name.to_owned() }))
    }

    /// Returns the value of a secret variable; one that is not text is a problem.
    pub fn secret(&mut self, variable: &Secret) -> Option<Sourced<SecretString>> {
        let given =
            self.environment.secret(variable).map_err(|error| self.problem(error.to_string()));
        let given = given.ok().flatten()?;
        Some(Sourced {
            value: given.value,
            source: Source::Environment { name: given.name.to_owned() },
        })
    }

    /// Warns of a file with a secret that others may read.
    pub fn warn_if_open(&mut self, path: &Path, openness: Openness) {
        if openness == Openness::Private {
            return;
        }
        let message = format!("{} holds a secret and other accounts may read it", path.display());
        if !self.warnings.iter().any(|warning| warning.message == message) {
            self.warnings
                .push(Problem::new(message).hint(format!("run `chmod 600 {}`", path.display())));
        }
    }

    fn problem(&mut self, message: String) {
        self.problems.push(Problem::new(message));
    }
}

impl<'a> SectionReader<'_, 'a> {
    /// Reads the next field of the section. The macro `section!` calls it once per field, in order.
    #[expect(
        clippy::expect_used,
        reason = "a test reads every section from nothing but its defaults"
    )]
    pub fn next<T: Value>(&mut self, fields: &mut slice::Iter<'static, Field>) -> Sourced<T> {
        let field = fields.next().expect("one field of the table per field of the struct");
        if let Some(given) = self.given(field) {
            return given;
        }
        let value = match field.default {
            Fallback::Is(text) => T::read(&Raw::Text(text.to_owned())),
            Fallback::Unset { .. } => T::unset(),
        };
        Sourced { value: value.expect("every default is a right value"), source: Source::Default }
    }

    /// Returns what the strongest source says; `None` if none says anything, or nothing right.
    fn given<T: Value>(&mut self, field: &Field) -> Option<Sourced<T>> {
        if let Some(name) = field.flag
            && let Some(text) = self.reader.flags.value(name)
        {
            return self.text(name, text.to_owned(), Source::Flag { name });
        }
        if let Some(variable) = field.variable
            && self.reader.environment.has(&variable)
        {
            return self.variable(variable);
        }
        match field.form {
            Form::Value => {
                let entry = self.table?.entry(field.key)?;
                self.entry(entry, field)
            }
            Form::Secret => self.secret_entry(field),
        }
    }

    fn variable<T: Value>(&mut self, variable: Variable) -> Option<Sourced<T>> {
        match variable.confidence {
            Confidence::Public => {
                let (text, source) = self.reader.plain(&Plain(variable))?;
                self.text(variable.name(), text, source)
            }
            Confidence::Secret => {
                let given = self.reader.secret(&Secret(variable))?;
                Some(Sourced { value: T::from_secret(given.value)?, source: given.source })
            }
        }
    }

    fn text<T: Value>(&mut self, name: &str, text: String, source: Source) -> Option<Sourced<T>> {
        let raw = Raw::Text(text);
        match T::read(&raw) {
            Some(value) => Some(Sourced { value, source }),
            None => {
                self.reader.problems.push(wrong::<T>(name, &raw));
                None
            }
        }
    }

    fn entry<T: Value>(&mut self, entry: &Entry, field: &Field) -> Option<Sourced<T>> {
        match T::read(&entry.value) {
            Some(value) => {
                let value = value.rebased(self.folder());
                Some(Sourced { value, source: Source::File { line: entry.place.line } })
            }
            None => {
                let name = format!("{} {}", self.section.header(), field.key);
                self.reader.problems.push(wrong::<T>(&name, &entry.value).at(entry.place.clone()));
                None
            }
        }
    }

    /// Reads a secret from whichever of its three keys is written.
    fn secret_entry<T: Value>(&mut self, field: &Field) -> Option<Sourced<T>> {
        let table = self.table?;
        let written: Vec<&Entry> = field.keys().iter().filter_map(|key| table.entry(key)).collect();
        let entry = *written.first()?;
        if let Some(second) = written.get(1) {
            let message = format!("`{}` and `{}` both give the same secret", entry.key, second.key);
            self.reader
                .problems
                .push(Problem::new(message).at(second.place.clone()).hint("keep one of them"));
            return None;
        }
        let source = Source::File { line: entry.place.line };
        if entry.key == field.key {
            if let Some(document) = self.reader.document {
                self.reader.warn_if_open(&document.path, document.openness);
            }
            return self.entry(entry, field);
        }
        let name = String::read(&entry.value).or_else(|| {
            let problem = wrong::<String>(&entry.key, &entry.value).at(entry.place.clone());
            self.reader.problems.push(problem);
            None
        })?;
        let secret = if entry.key == field.env_key() {
            self.secret_variable(&name)
        } else {
            self.secret_file(&self.folder().join(name))
        };
        match secret {
            Ok(secret) => Some(Sourced { value: T::from_secret(secret)?, source }),
            Err(problem) => {
                self.reader.problems.push(problem.at(entry.place.clone()));
                None
            }
        }
    }

    fn secret_variable(&self, name: &str) -> Result<SecretString, Problem> {
        let named = self.reader.environment.named_secret(name);
        let named = named.map_err(|error| Problem::new(error.to_string()))?;
        named.ok_or_else(|| {
            Problem::new(format!("the environment variable {name} is not set"))
                .hint(format!("export {name}, or remove the line"))
        })
    }

    fn secret_file(&mut self, path: &Path) -> Result<SecretString, Problem> {
        let unreadable =
            |error| Problem::new(format!("cannot read the secret in {}: {error}", path.display()));
        let text = fs::read_to_string(path).map_err(unreadable)?;
        self.reader.warn_if_open(path, openness(path).map_err(unreadable)?);
        match text.trim() {
            "" => Err(Problem::new(format!("{} is empty", path.display()))),
            secret => Ok(SecretString::from(secret)),
        }
    }

    /// The folder that relative paths in the file start from.
    fn folder(&self) -> &'a Path {
        let file = self.reader.document.map(|document| document.path.as_path());
        file.and_then(Path::parent).unwrap_or(Path::new(""))
    }
}

/// Says that a value is not what its setting wants. The value itself is not repeated where it could
/// be a secret.
fn wrong<T: Value>(name: &str, raw: &Raw) -> Problem {
    match (T::FORM, raw) {
        (Form::Value, Raw::Text(text)) => {
            let hint = suggestion(text, T::words().iter().copied());
            Problem::new(format!("{name} is {text:?}, expected {}", T::EXPECTED)).perhaps(hint)
        }
        (Form::Value | Form::Secret, _) => {
            Problem::new(format!("{name}: expected {}", T::EXPECTED))
        }
    }
}
