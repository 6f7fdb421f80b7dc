//! The bodies of the gateway's answers, as integrations know them.

use domain::JobId;
use serde::Serialize;
use utoipa::ToSchema;

/// A delivery or an order was taken and is durable.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Accepted)]
pub(crate) struct Acceptance {
    #[schema(example = "accepted")]
    pub(crate) status: &'static str,
    #[schema(example = "0199f3c4-5d1e-7a00-8000-2f6e1c0a9b7d")]
    pub(crate) job_id: String,
}

impl Acceptance {
    pub(crate) fn of(job: JobId) -> Self {
        Self { status: "accepted", job_id: job.0 }
    }
}

/// An authentic delivery leads to nothing.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Ignored)]
pub(crate) struct Disregard {
    #[schema(example = "ignored")]
    pub(crate) status: &'static str,
    pub(crate) reason: String,
}

impl Disregard {
    pub(crate) fn because(reason: String) -> Self {
        Self { status: "ignored", reason }
    }
}

/// A request is not served.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Error)]
pub(crate) struct Refusal {
    #[schema(example = "error")]
    pub(crate) status: &'static str,
    pub(crate) error: String,
    /// Only where the fault is ours: the log has the details under it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<String>,
}
