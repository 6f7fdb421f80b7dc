//! A job's record as a live stream (server-sent events).
//!
//! A client that was cut off says with `Last-Event-ID` where it was, and misses nothing. The stream
//! closes when the job has ended and everything that it published is sent or given up.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use domain::JobId;
use futures_util::stream;
use http::{HeaderMap, StatusCode};
use serde::Serialize;
use store::journal::Entry;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::admin::{Named, job_id};
use crate::answer::Refusal;
use crate::app::Gateway;
use crate::error::Error;
use crate::job::iso;

/// Entries read at a time.
const BATCH: u32 = 256;

/// After so much silence a comment is sent, so that nobody in between closes the connection, and the
/// store is asked again, should its word have been lost.
const SILENCE: Duration = Duration::from_secs(15);

/// Streams what happens to a job, from its beginning or from where the client was.
#[utoipa::path(
    get,
    path = "/api/jobs/{id}/events",
    tag = "admin",
    params(
        ("id" = String, Path, description = "The job."),
        ("Last-Event-ID" = Option<i64>, Header, description = "The last entry that the client has."),
    ),
    security(("admin-token" = [])),
    responses(
        (
            status = 200,
            description = "Events `state`, `stage`, `record` and `publication`; `id` is the entry's number.",
            body = String,
            content_type = "text/event-stream"
        ),
        (status = 204, description = "The job has ended and the client has everything: do not come back."),
        (status = 400, body = Refusal),
        (status = 401, body = Refusal),
        (status = 403, body = Refusal),
        (status = 404, body = Refusal),
        (status = 503, description = "There are too many streams.", body = Refusal),
    )
)]
pub(crate) async fn follow(
    State(gateway): State<Arc<Gateway>>,
    id: Named,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let id = job_id(id)?;
    let seen = match headers.get("last-event-id") {
        None => None,
        Some(value) => {
            let number = value.to_str().ok().and_then(|text| text.trim().parse::<i64>().ok());
            Some(number.ok_or_else(|| {
                Error::BadRequest("`Last-Event-ID` is not a number that we gave".to_owned())
            })?)
        }
    };
    let place = Arc::clone(&gateway.streams).try_acquire_owned();
    let place = place.map_err(|_| Error::Busy("too many live streams at once"))?;
    gateway.store.job(&id).await?.ok_or(Error::NotFound("job"))?;
    let mut live = Live {
        changes: gateway.store.changes(),
        gateway,
        id,
        after: seen.unwrap_or(0),
        ready: VecDeque::new(),
        ended: false,
        _place: place,
    };
    live.look().await?;
    // A browser's client asks again after every end of a stream; 204 tells it not to.
    if seen.is_some() && live.ended && live.ready.is_empty() {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    Ok(Sse::new(stream::unfold(live, Live::next)).into_response())
}

/// A client that listens.
struct Live {
    gateway: Arc<Gateway>,
    id: JobId,
    changes: watch::Receiver<u64>,
    /// The last entry that was read.
    after: i64,
    ready: VecDeque<Entry>,
    /// Nothing more will come than what is ready.
    ended: bool,
    _place: OwnedSemaphorePermit,
}

impl Live {
    async fn next(mut self) -> Option<(Result<Event, axum::Error>, Self)> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Some((shown(&entry), self));
            }
            if self.ended {
                return None;
            }
            let clock = &self.gateway.clock;
            tokio::select! {
                biased;
                () = self.gateway.closing.cancelled() => return None,
                changed = self.changes.changed() => changed.ok()?,
                () = clock.sleep_until(clock.now() + SILENCE) => {
                    self.changes.mark_changed();
                    return Some((Ok(Event::default().comment("still here")), self));
                }
            }
            if let Err(error) = self.look().await {
                // The client asks again, from where it was.
                tracing::warn!(job.id = %self.id, %error, "a live stream broke off");
                return None;
            }
        }
    }

    /// Reads what is new.
    async fn look(&mut self) -> Result<(), store::Error> {
        // Marked as seen before reading: what is written meanwhile wakes us again. Likewise the end
        // is asked for first: what comes before the end is then certainly read.
        self.changes.borrow_and_update();
        let store = &self.gateway.store;
        let ended = store.job(&self.id).await?.is_none_or(|job| job.state.is_final())
            && store.unsent_of(&self.id).await? == 0;
        let entries = store.records(&self.id, self.after, BATCH).await?;
        let more = entries.len() >= BATCH as usize;
        if more {
            self.changes.mark_changed();
        }
        self.ended = ended && !more;
        self.after = entries.last().map_or(self.after, |entry| entry.seq);
        self.ready.extend(entries);
        Ok(())
    }
}

#[derive(Serialize)]
struct Shown<'a> {
    seq: i64,
    at: String,
    #[serde(flatten)]
    record: &'a domain::record::Record,
}

fn shown(entry: &Entry) -> Result<Event, axum::Error> {
    let data = Shown { seq: entry.seq, at: iso(entry.at), record: &entry.record };
    Event::default().id(entry.seq.to_string()).event(entry.record.stream_event()).json_data(data)
}

#[cfg(test)]
mod tests {
    use axum::body::{Body, BodyDataStream, to_bytes};
    use axum::response::Response;
    use expect_test::expect;
    use futures_util::StreamExt;

    use super::*;
    use crate::rig::{Rig, StillClock, as_operator, shown as written};

    async fn follow(rig: &Rig, id: &str, seen: Option<&str>) -> Response {
        let mut request = as_operator("GET", &format!("/api/jobs/{id}/events"));
        if let Some(seen) = seen {
            request = request.header("last-event-id", seen);
        }
        rig.send(request.body(Body::empty()).unwrap()).await
    }

    async fn next(stream: &mut BodyDataStream) -> String {
        let piece = stream.next().await.unwrap().unwrap();
        String::from_utf8(piece.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_stream_tells_what_happens_and_closes_at_the_end() {
        let rig = Rig::new().await;
        let id = rig.ask_for_help(1).await;
        let response = follow(&rig, &id, None).await;
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        assert_eq!(response.headers()["cache-control"], "no-store");
        let mut stream = response.into_body().into_data_stream();
        // The order comes while the client is listening.
        let job = JobId(id.clone());
        rig.store.cancel(&job).await.unwrap();
        let event = next(&mut stream).await;
        expect![[r#"
            id: 1
            event: state
            data: {"seq":1,"at":"2026-01-01T00:00:00Z","record":"state","from":"queued","to":"cancelled","why":"cancelled by an operator"}

        "#]].assert_eq(&event);
        assert!(stream.next().await.is_none());
    }

    #[tokio::test]
    async fn a_client_that_was_cut_off_goes_on_where_it_was() {
        let rig = Rig::new().await;
        let id = rig.ask_for_help(1).await;
        let job = JobId(id.clone());
        rig.store.cancel(&job).await.unwrap();
        rig.store.retry(&job).await.unwrap();
        rig.store.cancel(&job).await.unwrap();
        let whole = to_bytes(follow(&rig, &id, None).await.into_body(), usize::MAX).await.unwrap();
        let whole = String::from_utf8(whole.to_vec()).unwrap();
        let numbers: Vec<&str> =
            whole.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
        assert_eq!(numbers.len(), 3, "{whole}");

        let rest = to_bytes(follow(&rig, &id, Some(numbers[0])).await.into_body(), usize::MAX)
            .await
            .unwrap();
        let (_, expected) = whole.split_once("\n\n").unwrap();
        assert_eq!(rest, expected);
        assert_eq!(follow(&rig, &id, Some(numbers[2])).await.status(), 204);
    }

    #[tokio::test]
    async fn silence_is_filled_and_the_number_of_streams_is_bounded() {
        let rig = Rig::with(|app| {
            app.limits.streams = 1;
            app.clock = Arc::new(StillClock::whose_sleeps_end());
        })
        .await;
        let id = rig.ask_for_help(1).await;
        let mut stream = follow(&rig, &id, None).await.into_body().into_data_stream();
        assert_eq!(next(&mut stream).await, ": still here\n\n");
        assert_eq!(follow(&rig, &id, None).await.status(), 503);
        drop(stream);
        assert_eq!(follow(&rig, &id, None).await.status(), 200);
    }

    #[tokio::test]
    async fn an_unknown_job_or_place_is_refused() {
        let rig = Rig::new().await;
        let id = rig.ask_for_help(1).await;
        assert_eq!(follow(&rig, "none", None).await.status(), 404);
        let refused = written(follow(&rig, &id, Some("x")).await).await;
        assert!(refused.starts_with("400"), "{refused}");
    }
}
