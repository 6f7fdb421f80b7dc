//! A job as the admin API shows it: the object that integrations know, and what it did so far.

use domain::event::Happening;
use domain::{Event, Job, Time};
use engine::Ingest;
use forge::Host;
use forge::webhook::{Content, decode};
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use store::job::{Attempt, Delivery, Detail};
use utoipa::ToSchema;

/// A job in a list.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = JobSummary)]
pub(crate) struct Summary {
    job_id: String,
    /// ISO 8601, UTC.
    created_at: String,
    updated_at: String,
    /// The forge's own name of the event.
    #[schema(example = "issue_comment")]
    event_type: String,
    /// The kind of forge; null for one that is not configured any more.
    #[schema(example = "github")]
    platform: Option<String>,
    owner: String,
    repo: String,
    /// The number of the issue or of the change; null for a branch.
    issue_number: Option<u64>,
    issue_title: String,
    /// Who asked, or caused it.
    actor: String,
    /// The branch that the job works on; null until there is one.
    branch: Option<String>,
    default_branch: Option<String>,
    #[schema(example = "review")]
    task: &'static str,
    /// `queued`, `running`, `done`, `failed`, `dead`, `cancelled`, `superseded` or `skipped`.
    #[schema(example = "running")]
    state: &'static str,
    /// The stage that runs next or runs now.
    stage: String,
    subject: Subject,
    /// The commit that the event spoke of.
    head: Option<String>,
    /// Why it ended, or what it waits for.
    error: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Subject {
    /// `issue`, `change` or `branch`.
    kind: &'static str,
    number: Option<u64>,
    branch: Option<String>,
    #[schema(example = "acme/demo#42")]
    name: String,
    /// The forge's origin.
    connection: String,
}

/// A job with all that it did.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Job)]
pub(crate) struct Whole {
    #[serde(flatten)]
    summary: Summary,
    /// The number for people, where a forge shows another one than it takes.
    display_issue_number: Option<u64>,
    triggered_by_assignment: bool,
    /// The delivery as it came, secrets masked; null for a job that was not delivered.
    #[schema(value_type = Option<Object>)]
    webhook_payload: Option<Box<RawValue>>,
    /// What each stage that ended had to say, in order.
    stages: Vec<Stage>,
    attempts: Vec<Trial>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StageResult)]
pub(crate) struct Stage {
    stage: String,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    /// The stage's own fields.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    fields: Map<String, Value>,
}

/// One attempt.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Attempt)]
pub(crate) struct Trial {
    attempt: i64,
    stage: String,
    began_at: String,
    ended_at: Option<String>,
    outcome: Option<String>,
    error: Option<String>,
}

impl Summary {
    /// Shows a job. Its kind of forge is the one that its origin is configured as.
    pub(crate) fn of(job: Job, ingest: &Ingest) -> Self {
        let task = job.task;
        let subject = task.subject;
        let platform = ingest.doors().iter().find(|door| door.origin == subject.repo.origin);
        let (owner, repo) = subject.repo.owner_and_name();
        let number = (subject.number != 0).then_some(subject.number);
        Self {
            job_id: job.id.0,
            created_at: iso(job.created_at),
            updated_at: iso(job.updated_at),
            event_type: job.event_type,
            platform: platform.map(|door| door.host.to_string()),
            owner: owner.to_owned(),
            repo: repo.to_owned(),
            issue_number: number,
            issue_title: task.title,
            actor: task.actor.login,
            branch: subject.branch.clone(),
            default_branch: subject.repo.default_branch.clone(),
            task: task.work.name(),
            state: job.state.as_str(),
            stage: job.stage,
            subject: Subject {
                kind: subject.kind.as_str(),
                number,
                name: subject.to_string(),
                connection: subject.repo.origin.to_string(),
                branch: subject.branch,
            },
            head: task.head,
            error: job.error,
        }
    }
}

impl Whole {
    pub(crate) fn of(detail: Detail, ingest: &Ingest) -> Self {
        let Detail { job, stages, attempts, delivery } = detail;
        let origin = job.task.subject.repo.origin.clone();
        let mut summary = Summary::of(job, ingest);
        let told = delivery
            .as_ref()
            .and_then(|delivery| Told::again(delivery, &summary.event_type, &origin));
        if let Some(delivery) = &delivery {
            summary.platform = Some(delivery.host.clone());
        }
        let (event, payload) = told.map_or((None, None), |told| (told.event, told.payload));
        Self {
            display_issue_number: event.as_ref().and_then(display_number).or(summary.issue_number),
            triggered_by_assignment: event
                .is_some_and(|event| matches!(event.happening, Happening::IssueAssigned { .. })),
            webhook_payload: payload,
            stages: stages
                .into_iter()
                .map(|(stage, result)| Stage {
                    stage,
                    success: result.success,
                    comment: result.comment,
                    fields: result.fields,
                })
                .collect(),
            attempts: attempts.into_iter().map(Trial::of).collect(),
            summary,
        }
    }
}

impl Trial {
    fn of(attempt: Attempt) -> Self {
        Self {
            attempt: attempt.n,
            stage: attempt.stage,
            began_at: iso(attempt.began_at),
            ended_at: attempt.ended_at.map(iso),
            outcome: attempt.outcome,
            error: attempt.error,
        }
    }
}

/// What a kept delivery says beyond what its task keeps.
struct Told {
    event: Option<Event>,
    payload: Option<Box<RawValue>>,
}

impl Told {
    /// Reads a kept delivery again. The headers that say how to read it are rebuilt: the event's
    /// name is kept, and a body that is no JSON by itself was a form.
    fn again(delivery: &Delivery, event_type: &str, origin: &domain::Origin) -> Option<Self> {
        let (host, event_header) = match delivery.host.as_str() {
            "github" => (Host::GitHub, "x-github-event"),
            "gitlab" => (Host::GitLab, "x-gitlab-event"),
            "gitcode" => (Host::GitCode, "x-gitcode-event"),
            "gitea" => (Host::Gitea, "x-gitea-event"),
            _ => return None,
        };
        let mut headers = HeaderMap::new();
        headers
            .insert(HeaderName::from_static(event_header), HeaderValue::from_str(event_type).ok()?);
        if !delivery.body.trim_ascii_start().starts_with(b"{") {
            headers.insert(
                CONTENT_TYPE,
                HeaderValue::from_static("application/x-www-form-urlencoded"),
            );
        }
        let payload = forge::webhook::json(&headers, &delivery.body).ok()?;
        let payload = RawValue::from_string(payload.into_owned()).ok();
        let event = match decode(host, &headers, &delivery.body, origin)
            .ok()
            .map(|delivery| delivery.content)
        {
            Some(Content::Event(event)) => Some(*event),
            Some(Content::Ignored(_)) | None => None,
        };
        Some(Self { event, payload })
    }
}

fn display_number(event: &Event) -> Option<u64> {
    match &event.happening {
        Happening::IssueOpened(issue) | Happening::IssueAssigned { issue, .. } => {
            issue.display_number
        }
        Happening::Commented(comment) | Happening::CommentEdited { comment, .. } => {
            comment.display_number
        }
        _ => None,
    }
}

/// Writes a moment as ISO 8601 in UTC.
pub(crate) fn iso(time: Time) -> String {
    // Beyond the years that a calendar knows there is only the number.
    jiff::Timestamp::from_millisecond(time.0)
        .map_or_else(|_| time.0.to_string(), |moment| moment.to_string())
}
