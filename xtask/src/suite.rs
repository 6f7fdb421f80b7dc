//! Steps that run one after the other, and the table that tells how each one ended.
//!
//! A failed step does not hide the ones after it: all run, all are reported.

use std::fmt::{self, Display, Write as _};
use std::fs;
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::verdict::Verdict;

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    Failed(String),
    /// It did not run, or not in full: what is missing, and which tests that leaves out.
    Skipped(String),
}

/// What to make of a skipped step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skips {
    Reported,
    /// Nobody reads a skip in continuous integration, so it fails there.
    Failures,
}

/// The steps so far.
#[derive(Debug, Default)]
pub(crate) struct Suite {
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    name: String,
    outcome: Outcome,
    wall: Duration,
    cpu: Duration,
}

impl Suite {
    /// Runs a step and keeps how it ended; an error is a failure.
    pub(crate) fn step(&mut self, name: impl Display, run: impl FnOnce() -> Result<Outcome>) {
        println!("\n== {name}");
        let (started, cpu) = (Instant::now(), children_cpu());
        let outcome = run().unwrap_or_else(|error| Outcome::Failed(format!("{error:#}")));
        if let Outcome::Failed(why) = &outcome {
            println!("{name}: FAILED: {why}");
        }
        self.rows.push(Row {
            name: name.to_string(),
            outcome,
            wall: started.elapsed(),
            cpu: children_cpu().saturating_sub(cpu),
        });
    }

    /// Tells whether a step has run and failed.
    pub(crate) fn has_failed(&self, name: &str) -> bool {
        let failed = |row: &Row| matches!(row.outcome, Outcome::Failed(_));
        self.rows.iter().any(|row| row.name == name && failed(row))
    }

    /// Judges all steps together.
    pub(crate) fn verdict(&self, skips: Skips) -> Verdict {
        let broken = |row: &Row| match row.outcome {
            Outcome::Passed => false,
            Outcome::Failed(_) => true,
            Outcome::Skipped(_) => skips == Skips::Failures,
        };
        if self.rows.iter().any(broken) { Verdict::Broken } else { Verdict::Held }
    }

    /// Writes the last line: one line, made to be read by people and by tools.
    pub(crate) fn conclusion(&self, name: &str) -> String {
        let count = |wanted: fn(&Outcome) -> bool| {
            self.rows.iter().filter(|row| wanted(&row.outcome)).count()
        };
        format!(
            "{name}: passed={} failed={} skipped={} seconds={:.0} cpu_seconds={:.0}",
            count(|outcome| matches!(outcome, Outcome::Passed)),
            count(|outcome| matches!(outcome, Outcome::Failed(_))),
            count(|outcome| matches!(outcome, Outcome::Skipped(_))),
            self.rows.iter().map(|row| row.wall).sum::<Duration>().as_secs_f64(),
            self.rows.iter().map(|row| row.cpu).sum::<Duration>().as_secs_f64(),
        )
    }
}

impl Display for Suite {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "{:<12} {:<8} {:>8} {:>8}", "step", "result", "wall s", "cpu s")?;
        for row in &self.rows {
            let (word, why) = match &row.outcome {
                Outcome::Passed => ("passed", ""),
                Outcome::Failed(why) => ("FAILED", why.as_str()),
                Outcome::Skipped(why) => ("skipped", why.as_str()),
            };
            let mut line = format!(
                "{:<12} {word:<8} {:>8.1} {:>8.1}",
                row.name,
                row.wall.as_secs_f64(),
                row.cpu.as_secs_f64()
            );
            if !why.is_empty() {
                write!(line, "  {why}")?;
            }
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}

/// Reads the processor time of the children that have ended, where the system tells it.
fn children_cpu() -> Duration {
    let status = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    Duration::from_millis(children_ticks(&status).unwrap_or_default() * MILLISECONDS_PER_TICK)
}

/// Linux counts in hundredths of a second towards programs, whatever its own beat.
const MILLISECONDS_PER_TICK: u64 = 10;

fn children_ticks(status: &str) -> Option<u64> {
    // The second field is the program's name in brackets and may hold blanks.
    let (_, fields) = status.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(13);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(outcomes: Vec<Outcome>) -> Suite {
        let mut suite = Suite::default();
        for outcome in outcomes {
            suite.step("step", || Ok(outcome));
        }
        suite
    }

    #[test]
    fn a_failed_step_does_not_hide_the_next_one() {
        let mut suite = Suite::default();
        suite.step("first", || anyhow::bail!("no luck"));
        suite.step("second", || Ok(Outcome::Passed));
        assert!(suite.has_failed("first") && !suite.has_failed("second"));
        assert_eq!(suite.verdict(Skips::Reported), Verdict::Broken);
        let table = suite.to_string();
        assert!(table.contains("first        FAILED"), "{table}");
        assert!(table.contains("no luck"), "{table}");
        assert!(table.contains("second       passed"), "{table}");
        assert!(suite.conclusion("test").starts_with("test: passed=1 failed=1 skipped=0 seconds="));
    }

    #[test]
    fn a_skip_fails_only_in_continuous_integration() {
        let suite = suite(vec![Outcome::Passed, Outcome::Skipped("no server".into())]);
        assert_eq!(suite.verdict(Skips::Reported), Verdict::Held);
        assert_eq!(suite.verdict(Skips::Failures), Verdict::Broken);
    }

    #[test]
    fn the_time_of_children_is_read_past_a_name_with_blanks() {
        let status = "7 (a b) c) S 1 2 3 4 5 6 7 8 9 10 11 12 130 40 0 0";
        assert_eq!(children_ticks(status), Some(170));
        assert_eq!(children_ticks("nonsense"), None);
    }
}
