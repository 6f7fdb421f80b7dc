//! What an operator sees of jobs and orders about them. All of it stands behind [`crate::guard`].

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use domain::JobId;
use domain::job::State as JobState;
use domain::task::Work;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use store::job::Filter;
use utoipa::ToSchema;

use crate::answer::{Acceptance, Refusal};
use crate::app::Gateway;
use crate::error::Error;
use crate::job::{Summary, Whole};

/// How many jobs a page has unless asked otherwise, and at most.
const PAGE: u32 = 50;
const LONGEST_PAGE: u32 = 200;

/// Which jobs to list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Wanted {
    state: Option<String>,
    task: Option<String>,
    repo: Option<String>,
    limit: Option<u32>,
    cursor: Option<String>,
}

/// A page of jobs, newest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = JobPage)]
pub(crate) struct Page {
    jobs: Vec<Summary>,
    /// Where the next page starts; null on the last one.
    next_cursor: Option<String>,
}

impl Wanted {
    /// Returns the store's filter for one job more than the page has, and the length of the page.
    fn filter(self) -> Result<(Filter, usize), Error> {
        let state = self.state.map(|state| state.parse::<JobState>()).transpose();
        let state = state.map_err(|unknown| Error::BadRequest(unknown.to_string()))?;
        if let Some(task) = self.task.as_deref().filter(|task| !Work::NAMES.contains(task)) {
            return Err(Error::BadRequest(format!(
                "`{task}` is not a task: it is one of {}",
                Work::NAMES.join(", ")
            )));
        }
        let limit = self.limit.unwrap_or(PAGE);
        if !(1..=LONGEST_PAGE).contains(&limit) {
            return Err(Error::BadRequest(format!("`limit` is from 1 to {LONGEST_PAGE}")));
        }
        let before = self.cursor.map(|cursor| cursor.parse::<i64>()).transpose();
        let before =
            before.map_err(|_| Error::BadRequest("`cursor` is not one that we gave".to_owned()))?;
        let filter = Filter { state, task: self.task, repo: self.repo, before, limit: limit + 1 };
        Ok((filter, limit as usize))
    }
}

/// Lists jobs, newest first.
#[utoipa::path(
    get,
    path = "/api/jobs",
    tag = "admin",
    params(
        ("state" = Option<String>, Query, description = "Only jobs in this state.", example = "queued"),
        ("task" = Option<String>, Query, description = "Only jobs that do this task.", example = "review"),
        ("repo" = Option<String>, Query, description = "Only jobs of the repository with this full name."),
        ("limit" = Option<u32>, Query, description = "How many at most.", minimum = 1, maximum = 200),
        ("cursor" = Option<String>, Query, description = "What `next_cursor` of the page before said."),
    ),
    security(("admin-token" = [])),
    responses(
        (status = 200, body = Page),
        (status = 400, description = "A filter is unknown or has no such value.", body = Refusal),
        (status = 401, body = Refusal),
        (status = 403, body = Refusal),
    )
)]
pub(crate) async fn list(
    State(gateway): State<Arc<Gateway>>,
    wanted: Result<Query<Wanted>, QueryRejection>,
) -> Result<Json<Page>, Error> {
    let wanted = wanted.map_err(|rejected| Error::BadRequest(rejected.body_text()));
    let asked = wanted.and_then(|Query(wanted)| wanted.filter());
    // A mistake is told with the words that were sent: they may be a secret in the wrong place.
    let (filter, length) = asked.map_err(|error| error.cleaned(gateway.ingest.redactor()))?;
    let mut jobs = gateway.store.jobs(filter).await?;
    let more = jobs.len() > length;
    jobs.truncate(length);
    let next_cursor = jobs.last().filter(|_| more).map(|job| job.seq.to_string());
    let jobs = jobs.into_iter().map(|job| Summary::of(job, &gateway.ingest)).collect();
    Ok(Json(Page { jobs, next_cursor }))
}

/// Shows a job and what it did so far.
#[utoipa::path(
    get,
    path = "/api/jobs/{id}",
    tag = "admin",
    params(("id" = String, Path, description = "The job.")),
    security(("admin-token" = [])),
    responses(
        (status = 200, body = Whole),
        (status = 401, body = Refusal),
        (status = 403, body = Refusal),
        (status = 404, body = Refusal),
    )
)]
pub(crate) async fn show(
    State(gateway): State<Arc<Gateway>>,
    id: Named,
) -> Result<Json<Whole>, Error> {
    let detail = gateway.store.detail(&job_id(id)?).await?.ok_or(Error::NotFound("job"))?;
    Ok(Json(Whole::of(detail, &gateway.ingest)))
}

/// Stops a job: at once if it waits, else as soon as its worker notices.
#[utoipa::path(
    post,
    path = "/api/jobs/{id}/cancel",
    tag = "admin",
    params(("id" = String, Path, description = "The job.")),
    security(("admin-token" = [])),
    responses(
        (status = 202, body = Acceptance),
        (status = 401, body = Refusal),
        (status = 403, body = Refusal),
        (status = 404, body = Refusal),
        (status = 409, description = "It has ended.", body = Refusal),
    )
)]
pub(crate) async fn cancel(
    State(gateway): State<Arc<Gateway>>,
    id: Named,
) -> Result<(StatusCode, Json<Acceptance>), Error> {
    let id = job_id(id)?;
    let state = gateway.store.cancel(&id).await?;
    tracing::info!(job.id = %id, %state, "an operator cancelled a job");
    Ok((StatusCode::ACCEPTED, Json(Acceptance::of(id))))
}

/// Queues a job again that ended without success. It goes on where it was.
#[utoipa::path(
    post,
    path = "/api/jobs/{id}/retry",
    tag = "admin",
    params(("id" = String, Path, description = "The job.")),
    security(("admin-token" = [])),
    responses(
        (status = 202, body = Acceptance),
        (status = 401, body = Refusal),
        (status = 403, body = Refusal),
        (status = 404, body = Refusal),
        (status = 409, description = "It has not ended, or it succeeded.", body = Refusal),
    )
)]
pub(crate) async fn retry(
    State(gateway): State<Arc<Gateway>>,
    id: Named,
) -> Result<(StatusCode, Json<Acceptance>), Error> {
    let id = job_id(id)?;
    gateway.store.retry(&id).await?;
    tracing::info!(job.id = %id, "an operator queued a job again");
    Ok((StatusCode::ACCEPTED, Json(Acceptance::of(id))))
}

/// A job as an address names it.
pub(crate) type Named = Result<Path<String>, PathRejection>;

/// Returns the job that an address names; one that is not even text names none.
pub(crate) fn job_id(named: Named) -> Result<JobId, Error> {
    let Path(id) = named.map_err(|_| Error::NotFound("job"))?;
    Ok(JobId(id))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use expect_test::expect;
    use serde_json::{Value, json};

    use crate::rig::{Rig, as_operator, from_peer, shown, signed};

    #[tokio::test]
    async fn a_job_is_shown_as_integrations_know_it() {
        let rig = Rig::new().await;
        let id = rig.ask_for_help(900).await;
        let (status, mut job) = rig.operate("GET", &format!("/api/jobs/{id}")).await;
        assert_eq!(status, 200, "{job}");
        assert_eq!(job["job_id"], json!(id));
        assert_eq!(job["webhook_payload"]["comment"]["body"], "@bot help");
        job["job_id"] = json!("…");
        job["webhook_payload"] = json!("…");
        expect![[r#"
            {
              "actor": "alice",
              "attempts": [],
              "branch": null,
              "created_at": "2026-01-01T00:00:00Z",
              "default_branch": "main",
              "display_issue_number": 42,
              "error": null,
              "event_type": "issue_comment",
              "head": null,
              "issue_number": 42,
              "issue_title": "Bug",
              "job_id": "…",
              "owner": "acme",
              "platform": "github",
              "repo": "demo",
              "stage": "acknowledge",
              "stages": [],
              "state": "queued",
              "subject": {
                "branch": null,
                "connection": "https://github.example",
                "kind": "issue",
                "name": "acme/demo#42",
                "number": 42
              },
              "task": "help",
              "triggered_by_assignment": false,
              "updated_at": "2026-01-01T00:00:00Z",
              "webhook_payload": "…"
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&job).unwrap());
    }

    #[tokio::test]
    async fn a_delivery_that_came_as_a_form_is_shown_as_json() {
        let rig = Rig::new().await;
        let assigned = json!({
            "action": "assigned",
            "issue": {"number": 7, "title": "Bug & co", "body": "", "user": {"login": "alice"}},
            "assignee": {"login": "bot"},
            "repository": {"id": 1, "name": "demo", "full_name": "acme/demo", "owner": {"login": "acme"}},
            "sender": {"login": "alice"},
        });
        let form = form_urlencoded::Serializer::new(String::new())
            .append_pair("payload", &assigned.to_string())
            .finish();
        let mut request = signed("/api/webhook", "issues", &form);
        request
            .headers_mut()
            .insert("content-type", "application/x-www-form-urlencoded".parse().unwrap());
        let answer = shown(rig.send(request).await).await;
        assert!(answer.starts_with("202"), "{answer}");
        let (_, page) = rig.operate("GET", "/api/jobs").await;
        let id = page["jobs"][0]["job_id"].as_str().unwrap();
        let (_, job) = rig.operate("GET", &format!("/api/jobs/{id}")).await;
        assert_eq!(job["webhook_payload"], assigned);
        assert_eq!(job["triggered_by_assignment"], true);
        assert_eq!(job["display_issue_number"], 7);
        assert_eq!(job["task"], "fix");
    }

    #[tokio::test]
    async fn jobs_are_listed_page_by_page_newest_first() {
        let rig = Rig::new().await;
        let mut made = Vec::new();
        for comment in 1..=5 {
            made.push(json!(rig.ask_for_help(comment).await));
        }
        made.reverse();
        let mut listed: Vec<Value> = Vec::new();
        let mut cursor = String::new();
        loop {
            let (status, page) = rig.operate("GET", &format!("/api/jobs?limit=2{cursor}")).await;
            assert_eq!(status, 200, "{page}");
            listed.extend(page["jobs"].as_array().unwrap().iter().map(|job| job["job_id"].clone()));
            let Some(next) = page["next_cursor"].as_str() else { break };
            cursor = format!("&cursor={next}");
        }
        assert_eq!(listed, made);

        let count = async |query: &str| {
            let (status, page) = rig.operate("GET", &format!("/api/jobs?{query}")).await;
            assert_eq!(status, 200, "{page}");
            page["jobs"].as_array().unwrap().len()
        };
        assert_eq!(count("state=queued&task=help&repo=Acme/Demo").await, 5);
        assert_eq!(count("state=done").await, 0);
        assert_eq!(count("task=review").await, 0);
        assert_eq!(count("repo=acme/other").await, 0);
    }

    #[tokio::test]
    async fn a_filter_that_means_nothing_is_named() {
        let rig = Rig::new().await;
        for (query, word) in [
            ("state=Queued", "Queued"),
            ("task=dance", "dance"),
            ("limit=0", "limit"),
            ("limit=201", "limit"),
            ("limit=many", "limit"),
            ("cursor=x", "cursor"),
            ("stat=queued", "stat"),
        ] {
            let (status, body) = rig.operate("GET", &format!("/api/jobs?{query}")).await;
            assert_eq!((status, &body["status"]), (400, &json!("error")), "{query}");
            assert!(body["error"].as_str().unwrap().contains(word), "{query}: {body}");
        }
    }

    #[tokio::test]
    async fn orders_are_taken_in_the_right_state_only() {
        let rig = Rig::new().await;
        let id = rig.ask_for_help(1).await;
        let order =
            async |what: &str| rig.operate("POST", &format!("/api/jobs/{id}/{what}")).await.0;
        assert_eq!(order("retry").await, 409);
        assert_eq!(order("cancel").await, 202);
        assert_eq!(order("cancel").await, 409);
        let (_, job) = rig.operate("GET", &format!("/api/jobs/{id}")).await;
        assert_eq!(job["state"], "cancelled");
        assert_eq!(order("retry").await, 202);
        let (_, job) = rig.operate("GET", &format!("/api/jobs/{id}")).await;
        assert_eq!(job["state"], "queued");

        for address in ["/api/jobs/none/cancel", "/api/jobs/none/retry", "/api/jobs/%ff/retry"] {
            assert_eq!(rig.operate("POST", address).await.0, 404, "{address}");
        }
        assert_eq!(rig.operate("GET", "/api/jobs/none").await.0, 404);
    }

    #[tokio::test]
    async fn t10_no_admin_route_answers_without_the_token_or_to_another_host() {
        let rig = Rig::new().await;
        let id = rig.ask_for_help(1).await;
        for (method, path) in [
            ("GET", "/api/jobs".to_owned()),
            ("GET", format!("/api/jobs/{id}")),
            ("GET", format!("/api/jobs/{id}/events")),
            ("POST", format!("/api/jobs/{id}/cancel")),
            ("POST", format!("/api/jobs/{id}/retry")),
            ("GET", "/metrics".to_owned()),
        ] {
            let bare = from_peer(method, &path).body(Body::empty()).unwrap();
            assert_eq!(rig.send(bare).await.status(), 401, "{path}");
            let wrong = from_peer(method, &path)
                .header("authorization", "Bearer guess")
                .body(Body::empty())
                .unwrap();
            assert_eq!(rig.send(wrong).await.status(), 401, "{path}");
            let mut rebound = as_operator(method, &path).body(Body::empty()).unwrap();
            rebound.headers_mut().insert("host", "evil.example".parse().unwrap());
            let answer = rig.send(rebound).await;
            assert_eq!(answer.status(), 421, "{path}");
            assert!(!answer.headers().contains_key("access-control-allow-origin"));
        }
        let (_, job) = rig.operate("GET", &format!("/api/jobs/{id}")).await;
        assert_eq!(job["state"], "queued");

        let off = Rig::with(|app| app.admin_token = None).await;
        assert_eq!(off.operate("GET", "/api/jobs").await.0, 403);
        assert_eq!(off.operate("GET", "/metrics").await.0, 403);
    }
}
