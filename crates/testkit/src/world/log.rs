//! Errors that the product logged during a story.

use std::sync::{Arc, Mutex, PoisonError};

use tracing::dispatcher::DefaultGuard;
use tracing::field::{Field, Visit};
use tracing::{Dispatch, Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Collects what is logged at error level on the story's thread, where all of its tasks run.
pub(crate) struct ErrorLog {
    lines: Arc<Mutex<Vec<String>>>,
    expected: Mutex<Vec<String>>,
    dispatch: Dispatch,
    _guard: DefaultGuard,
}

impl std::fmt::Debug for ErrorLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ErrorLog")
    }
}

impl ErrorLog {
    pub(crate) fn start() -> Self {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let layer = Collect(Arc::clone(&lines));
        let dispatch = Dispatch::new(tracing_subscriber::registry().with(layer));
        let guard = tracing::dispatcher::set_default(&dispatch);
        Self { lines, expected: Mutex::new(Vec::new()), dispatch, _guard: guard }
    }

    /// Returns where another thread of the story should log to.
    pub(crate) fn dispatch(&self) -> Dispatch {
        self.dispatch.clone()
    }

    pub(crate) fn expect(&self, words: &str) {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).push(words.to_owned());
    }

    pub(crate) fn has(&self, words: &str) -> bool {
        self.lines
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
            .any(|line| line.contains(words))
    }

    pub(crate) fn unexpected(&self) -> Vec<String> {
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines
            .iter()
            .filter(|line| !expected.iter().any(|words| line.contains(words)))
            .cloned()
            .collect()
    }
}

struct Collect(Arc<Mutex<Vec<String>>>);

impl<S: Subscriber> Layer<S> for Collect {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() != Level::ERROR {
            return;
        }
        let mut line = String::new();
        event.record(&mut Words(&mut line));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

struct Words<'a>(&'a mut String);

impl Visit for Words<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}
