//! How a command ends: its exit code, and what it says when it could not do its work.
//!
//! A [`Complaint`] is printed once, by `main`: each error with its chain of causes, then what to do
//! about it. Nothing else in the program writes errors for people, and no secret gets through.

use std::io::{self, Write};
use std::process::ExitCode;

use report::redact::Redactor;

use crate::settings::Problem;

/// The exit codes, which scripts rely on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The work is done; an ignored event counts as done.
    Done,
    /// The work is done and found something, where the caller asked to be told so.
    Findings,
    /// The command line or the configuration is wrong.
    Usage,
    /// The work could not be done.
    Failure,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => Self::SUCCESS,
            Exit::Findings => Self::from(1),
            Exit::Usage => Self::from(2),
            Exit::Failure => Self::from(3),
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub struct Complaint {
    pub exit: Exit,
    parts: Vec<Part>,
}

#[derive(Debug)]
struct Part {
    error: anyhow::Error,
    hints: Vec<String>,
}

/// Whether the words `error:` and `hint:` are coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    Plain,
    Coloured,
}

impl Complaint {
    /// The caller asked for something that makes no sense.
    pub fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { exit: Exit::Usage, parts: vec![Part { error: error.into(), hints: Vec::new() }] }
    }

    /// The configuration is wrong, in each of these ways.
    pub fn about(problems: Vec<Problem>) -> Self {
        let part = |problem: Problem| Part { hints: problem.hints.clone(), error: problem.into() };
        Self { exit: Exit::Usage, parts: problems.into_iter().map(part).collect() }
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Some(part) = self.parts.last_mut() {
            part.hints.push(hint.into());
        }
        self
    }

    /// Whether nobody reads our output any more (`patchwright … | head`), which is no failure.
    pub fn is_broken_pipe(&self) -> bool {
        let causes = self.parts.iter().flat_map(|part| part.error.chain());
        causes
            .filter_map(|cause| cause.downcast_ref::<io::Error>())
            .any(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Writes the errors, their causes and the hints.
    pub fn print(&self, out: &mut dyn Write, redactor: &Redactor, paint: Paint) -> io::Result<()> {
        for part in &self.parts {
            let mut causes = part.error.chain().map(ToString::to_string);
            let error = causes.next().unwrap_or_default();
            writeln!(out, "{} {}", paint.error("error:"), redactor.clean(&error))?;
            for cause in causes {
                writeln!(out, "  because: {}", redactor.clean(&cause))?;
            }
            for hint in &part.hints {
                writeln!(out, "{} {}", paint.hint("hint:"), redactor.clean(hint))?;
            }
        }
        Ok(())
    }
}

impl Paint {
    fn error(self, word: &str) -> String {
        self.with("\x1b[1;31m", word)
    }

    fn hint(self, word: &str) -> String {
        self.with("\x1b[1;36m", word)
    }

    fn with(self, code: &str, word: &str) -> String {
        match self {
            Self::Plain => word.to_owned(),
            Self::Coloured => format!("{code}{word}\x1b[0m"),
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Complaint {
    fn from(error: E) -> Self {
        Self { exit: Exit::Failure, parts: vec![Part { error: error.into(), hints: Vec::new() }] }
    }
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use secrecy::SecretString;

    use super::*;

    fn printed(complaint: &Complaint, redactor: &Redactor) -> String {
        let mut out = Vec::new();
        complaint.print(&mut out, redactor, Paint::Plain).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn an_error_is_followed_by_its_causes_and_then_by_hints() {
        let cause: Result<(), _> = Err(anyhow::anyhow!("the disk is full"));
        let error = cause.context("the job could not be kept").unwrap_err();
        let complaint = Complaint::from(error).hint("free some space");
        expect_test::expect![[r#"
            error: the job could not be kept
              because: the disk is full
            hint: free some space
        "#]]
        .assert_eq(&printed(&complaint, &Redactor::default()));
        assert_eq!(complaint.exit, Exit::Failure);
    }

    #[test]
    fn t6_no_secret_gets_into_an_error_or_a_hint() {
        let redactor = Redactor::new(&[SecretString::from("ghp_canary_token")]);
        let error = anyhow::anyhow!("calling https://x/?t=ghp_canary_token failed");
        let complaint = Complaint::from(error).hint("look at ghp_canary_token");
        assert!(!printed(&complaint, &redactor).contains("canary"));
    }

    #[test]
    fn a_reader_that_went_away_is_no_failure() {
        let error = io::Error::from(io::ErrorKind::BrokenPipe);
        let wrapped = anyhow::Error::from(error).context("writing the example");
        assert!(Complaint::from(wrapped).is_broken_pipe());
        assert!(!Complaint::from(anyhow::anyhow!("other")).is_broken_pipe());
    }
}
