//! Waiting by asking: again and again until the answer is there, and not for ever.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long anything may take, on a busy machine.
const LONGEST: Duration = Duration::from_mins(1);

/// The pause between two questions.
const PAUSE: Duration = Duration::from_millis(30);

/// Asks until there is an answer. An error of a question ends it at once; `what` says what never
/// came.
pub(super) async fn until<T>(
    what: &str,
    mut ask: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<T> {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask().await? {
            return Ok(answer);
        }
        if began.elapsed() > LONGEST {
            bail!("waited {} s in vain for {what}", LONGEST.as_secs());
        }
        tokio::time::sleep(PAUSE).await;
    }
}
