//! `/metrics`: what a monitor wants to know. No repository, person or address is named (T10).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use forge::Host;
use http::header::CONTENT_TYPE;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use store::job::Counts;

use crate::answer::Refusal;
use crate::app::Gateway;
use crate::error::Error;

const PREFIX: &str = "patchwright";

/// The upper bounds of request durations, in seconds.
const BUCKETS: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// What this process counted since it started.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    deliveries: Family<Delivery, Counter>,
    requests: Family<Request, Histogram, fn() -> Histogram>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Delivery {
    host: &'static str,
    answer: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    route: String,
    status: u16,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix(PREFIX);
        let deliveries = Family::<Delivery, Counter>::default();
        let requests =
            Family::<Request, Histogram, fn() -> Histogram>::new_with_constructor(|| {
                Histogram::new(BUCKETS)
            });
        registry.register(
            "deliveries",
            "Deliveries by forge and by what they were answered",
            deliveries.clone(),
        );
        registry.register_with_unit(
            "request_duration",
            "Time from a request's head to its answer's head",
            Unit::Seconds,
            requests.clone(),
        );
        let build = Info::new([("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version that runs", build);
        Self { registry, deliveries, requests }
    }
}

impl Metrics {
    /// Counts a delivery by the forge that its headers name and the word for its answer.
    pub(crate) fn count_delivery(&self, host: Option<Host>, answer: &'static str) {
        let host = host.map_or("unknown", Host::as_str);
        self.deliveries.get_or_create(&Delivery { host, answer }).inc();
    }

    /// Counts a request by its route (never by its path, which names things).
    pub(crate) fn count_request(&self, route: &str, status: u16, took: Duration) {
        self.requests
            .get_or_create(&Request { route: route.to_owned(), status })
            .observe(took.as_secs_f64());
    }

    /// Writes everything down, together with what the store counts now.
    fn write(&self, counts: &Counts, commits: u64) -> Result<String, fmt::Error> {
        let mut text = String::with_capacity(8 * 1024);
        encode_registry(&mut text, &self.registry)?;
        encode_registry(&mut text, &of_store(counts, commits))?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct JobLabels {
    task: String,
    state: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RowLabels {
    state: String,
}

/// The store's counts are made anew for each question: a state that empties leaves nothing behind.
fn of_store(counts: &Counts, commits: u64) -> Registry {
    let mut registry = Registry::with_prefix(PREFIX);
    let jobs = Family::<JobLabels, Settable>::default();
    for (task, state, count) in &counts.jobs {
        jobs.get_or_create(&JobLabels { task: task.clone(), state: state.clone() }).set(*count);
    }
    let rows = Family::<RowLabels, Settable>::default();
    for (state, count) in &counts.outbox {
        rows.get_or_create(&RowLabels { state: state.clone() }).set(*count);
    }
    registry.register("jobs", "Jobs by task and state", jobs);
    registry.register("outbox", "Publications by state", rows);
    #[expect(clippy::cast_precision_loss, reason = "an age in seconds needs no more precision")]
    let age = ConstGauge::new(counts.oldest_queued_ms as f64 / 1000.0);
    registry.register_with_unit(
        "oldest_queued_age",
        "Age of the oldest job that waits",
        Unit::Seconds,
        age,
    );
    registry.register(
        "store_commits",
        "Transactions that this process made durable",
        ConstCounter::new(commits),
    );
    registry
}

type Settable = prometheus_client::metrics::gauge::Gauge;

/// Tells a monitor what was counted.
#[utoipa::path(
    get,
    path = "/metrics",
    tag = "admin",
    security(("admin-token" = [])),
    responses(
        (status = 200, description = "OpenMetrics text", body = String, content_type = "application/openmetrics-text"),
        (status = 401, body = Refusal),
        (status = 403, body = Refusal),
    )
)]
pub(crate) async fn scrape(State(gateway): State<Arc<Gateway>>) -> Result<Response, Error> {
    let counts = gateway.store.counts().await?;
    let commits = gateway.store.commits();
    let text = gateway
        .metrics
        .write(&counts, commits)
        .map_err(|error| Error::Internal(Box::new(error)))?;
    Ok(([(CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text)
        .into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t10_metrics_name_tasks_states_hosts_and_routes_and_nothing_else() {
        let metrics = Metrics::default();
        metrics.count_delivery(Some(Host::GitHub), "accepted");
        metrics.count_delivery(None, "unauthentic");
        metrics.count_request("/api/jobs/{id}", 200, Duration::from_millis(3));
        let counts = Counts {
            jobs: vec![("review".to_owned(), "queued".to_owned(), 2)],
            outbox: vec![("waiting".to_owned(), 1)],
            oldest_queued_ms: 1500,
        };
        let text = metrics.write(&counts, 7).unwrap();
        let mut samples: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with('#') && !line.contains("_bucket"))
            .collect();
        samples.sort_unstable();
        expect_test::expect![[r#"
            patchwright_build_info{version="0.1.0"} 1
            patchwright_deliveries_total{host="github",answer="accepted"} 1
            patchwright_deliveries_total{host="unknown",answer="unauthentic"} 1
            patchwright_jobs{task="review",state="queued"} 2
            patchwright_oldest_queued_age_seconds 1.5
            patchwright_outbox{state="waiting"} 1
            patchwright_request_duration_seconds_count{route="/api/jobs/{id}",status="200"} 1
            patchwright_request_duration_seconds_sum{route="/api/jobs/{id}",status="200"} 0.003
            patchwright_store_commits_total 7"#]]
        .assert_eq(&samples.join("\n"));
        assert!(text.ends_with("# EOF\n"));
    }
}
