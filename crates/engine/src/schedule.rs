//! What must happen although nobody asks: leases that ran out, and memory that nobody needs.

use std::sync::Arc;
use std::time::Duration;

use domain::Clock;
use store::Store;
use tokio_util::sync::CancellationToken;

/// How often expired leases are looked for.
const SWEEP: Duration = Duration::from_secs(5);

/// How often old things are forgotten.
const FORGET: Duration = Duration::from_mins(30);

/// Sweeps until it is told to stop.
pub(crate) async fn run(
    store: Store,
    clock: Arc<dyn Clock>,
    retention: Duration,
    stop: CancellationToken,
) {
    let mut forgotten = clock.now();
    while !stop.is_cancelled() {
        match store.take_back().await {
            Ok(0) => {}
            Ok(count) => {
                tracing::warn!(count, "took back what a process of this host left that is dead");
            }
            Err(error) => {
                tracing::warn!(%error, "leases of dead processes could not be looked for");
            }
        }
        match store.sweep_expired().await {
            Ok(0) => {}
            Ok(count) => tracing::warn!(
                count,
                "jobs whose process died or lost its lease go back to the queue"
            ),
            Err(error) => tracing::warn!(%error, "expired leases could not be looked for"),
        }
        if clock.now().since(forgotten) >= FORGET {
            forgotten = clock.now();
            if let Err(error) = store.forget(retention).await {
                tracing::warn!(%error, "old jobs could not be removed");
            }
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = clock.sleep_until(clock.now() + SWEEP) => {}
        }
    }
}
