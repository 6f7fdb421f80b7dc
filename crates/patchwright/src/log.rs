//! The log: where it goes, how it looks, and that no secret gets into it (T6).
//!
//! `main` starts it once, before anything else runs. Lines go to the standard error output, so that
//! what a command prints stays clean.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use report::redact::Redactor;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::complaint::Paint;
use crate::settings::section::Log;
use crate::settings::value::{Format, Level};

/// Starts logging for the whole process. A second call changes nothing.
pub fn start(level: Level, log: &Log, paint: Paint, redactor: Arc<Redactor>) {
    let layer = fmt::layer().with_writer(Redacted { redactor, to: io::stderr });
    let layer = match *log.format {
        Format::Json => layer.json().flatten_event(true).boxed(),
        Format::Text => layer.with_ansi(false).boxed(),
        Format::Auto => {
            let coloured = paint == Paint::Coloured && io::stderr().is_terminal();
            layer.with_ansi(coloured).boxed()
        }
    };
    let started = tracing_subscriber::registry().with(layer.with_filter(filter(level))).try_init();
    if started.is_err() {
        tracing::debug!("the log was started before");
    }
}

/// What is logged: our own crates at the level asked for, those of others only from warnings on
/// unless everything is wanted, because their debug lines show headers and bodies.
fn filter(level: Level) -> Targets {
    let ours = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let others = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn | Level::Info | Level::Debug => LevelFilter::WARN,
        Level::Trace => LevelFilter::DEBUG,
    };
    let crates =
        ["domain", "report", "forge", "store", "workflow", "engine", "server", "patchwright"];
    Targets::new().with_default(others).with_targets(crates.map(|name| (name, ours)))
}

/// A place to write lines to, with a redactor in front of it.
#[derive(Clone)]
struct Redacted<F> {
    redactor: Arc<Redactor>,
    to: F,
}

impl<'a, W: Write, F: Fn() -> W + 'a> MakeWriter<'a> for Redacted<F> {
    type Writer = RedactedWriter<'a, W>;

    fn make_writer(&'a self) -> Self::Writer {
        RedactedWriter { redactor: &self.redactor, to: (self.to)() }
    }
}

/// Gets whole events: the formatter writes each in one piece.
struct RedactedWriter<'a, W> {
    redactor: &'a Redactor,
    to: W,
}

impl<W: Write> Write for RedactedWriter<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write_all(&self.redactor.clean_bytes(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use secrecy::SecretString;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn t6_a_secret_never_gets_into_the_log() {
        let lines = Lines::default();
        let redactor = Arc::new(Redactor::new(&[SecretString::from("canary-secret")]));
        let to = {
            let lines = lines.clone();
            move || lines.clone()
        };
        let subscriber =
            tracing_subscriber::fmt().json().with_writer(Redacted { redactor, to }).finish();
        tracing::subscriber::with_default(subscriber, || {
            tracing::info!(token = "canary-secret", "sent canary-secret twice");
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert!(text.contains("twice") && text.contains("[redacted]"), "{text}");
        assert!(!text.contains("canary"), "{text}");
    }

    #[test]
    fn libraries_of_others_stay_quiet_until_everything_is_wanted() {
        assert!(filter(Level::Debug).to_string().contains("engine=debug"));
        assert!(filter(Level::Debug).to_string().contains("warn"));
        assert!(filter(Level::Trace).to_string().contains("debug"));
    }
}
