//! The life of a request: it arrives, meets the faults that are due, is done, and is answered.
//!
//! Faults stand here and in no face. A request whose client is gone is still done, as on a real
//! forge: that is how a dead process's comment appears after its successor has looked for it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use axum::Router;
use axum::extract::{ConnectInfo, Request as HttpRequest, State};
use axum::response::{IntoResponse, Response};
use domain::Clock;
use http::StatusCode;
use tokio::sync::mpsc;

use super::exchange::{Answer, Asked, Moment, Request, Violation};
use super::face::Face;
use super::fault::{Fault, Faults, Kind, LimitHeaders, Outage};
use super::happened::Happened;
use super::model::{Act, Model};
use super::object::AccountKind;
use super::wire::Wire;
use crate::description::Description;

/// More than any request of ours may carry; a longer one is a mistake of the client.
const LARGEST_REQUEST: usize = 8 * 1024 * 1024;

/// Who edits and deletes where a fault says that others do.
const MEDDLER: &str = "meddler";

/// Everything that the parts of one fake forge share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(super) face: Box<dyn Face>,
    pub(crate) model: Mutex<Model>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) clock: Arc<dyn Clock>,
    /// Where the face is reached, without a slash at the end.
    pub(crate) url: String,
    pub(super) log: Mutex<Log>,
    /// What every exchange is held to, once a test says so.
    pub(super) description: OnceLock<&'static Description>,
}

#[derive(Debug, Default)]
pub(super) struct Log {
    pub(super) requests: Vec<Request>,
    pub(super) violations: Vec<Violation>,
    pub(super) echoes: Vec<Happened>,
    pub(super) observers: Vec<mpsc::UnboundedSender<Moment>>,
}

impl Shared {
    pub(crate) fn model(&self) -> MutexGuard<'_, Model> {
        self.model.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the face answer, with the model to itself.
    fn answer(&self, asked: &Asked, breaks_after: Option<u32>) -> Answer {
        let model = &mut *self.model();
        model.breaks_after = breaks_after;
        let mut answer = self.face.answer(self, model, asked);
        if let Some(description) = self.description.get() {
            answer.violations.extend(description.complaints_of(asked));
            let own = description.complaints_of_answer(asked, &answer);
            answer
                .violations
                .extend(own.into_iter().map(|why| format!("the fake's answer: {why}")));
        }
        answer
    }

    fn tell(&self, moment: &Moment) {
        self.log().observers.retain(|observer| observer.send(moment.clone()).is_ok());
    }

    fn record(&self, place: usize, request: &str, answer: &mut Answer) {
        let log = &mut *self.log();
        if let Some(entry) = log.requests.get_mut(place) {
            entry.status = Some(answer.status);
        }
        let violations = answer.violations.drain(..);
        log.violations.extend(violations.map(|why| Violation { request: request.to_owned(), why }));
        log.echoes.append(&mut answer.happened);
    }
}

pub(super) fn router(shared: Arc<Shared>) -> Router {
    Router::new().fallback(take).with_state(shared)
}

async fn take(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    request: HttpRequest,
) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, LARGEST_REQUEST).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    let asked = Asked { method: parts.method, uri: parts.uri, headers: parts.headers, body };
    // A task of its own: it goes on when the client is gone and this future is dropped.
    match tokio::spawn(live(shared, asked)).await {
        Ok(Some(answer)) => answer.into_response(),
        Ok(None) => {
            wire.cut();
            StatusCode::INTERNAL_SERVER_ERROR.into_response()
        }
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Leads a request through its life. `None`: the connection is cut instead of an answer.
async fn live(shared: Arc<Shared>, asked: Asked) -> Option<Answer> {
    let (faults, face) = (&shared.faults, &shared.face);
    let kind = face.kind(&asked);
    let method = asked.method.clone();
    let path = asked.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let request = format!("{method} {path}");
    let place = {
        let mut log = shared.log();
        log.requests.push(Request { method: method.clone(), path: path.clone(), status: None });
        log.requests.len() - 1
    };
    let done = |mut answer: Answer| {
        shared.record(place, &request, &mut answer);
        Some(answer)
    };
    if kind != Kind::Read {
        shared.tell(&Moment::Arrived { method: method.clone(), path: path.clone() });
    }

    match *faults.watch_outage().borrow() {
        Outage::None => {}
        Outage::Refusing => return None,
        Outage::Unavailable => return done(face.unavailable(StatusCode::SERVICE_UNAVAILABLE)),
    }
    if let Some((limit, until)) = faults.limit_at(shared.clock.now()) {
        return done(face.limited(limit, until, shared.clock.now()));
    }

    let due = faults.due(kind);
    if due.contains(&Fault::OthersEdit) {
        meddle(&shared, &asked, Fault::OthersEdit);
    }
    if due.contains(&Fault::OthersDelete) {
        meddle(&shared, &asked, Fault::OthersDelete);
    }
    if due.contains(&Fault::HoldBefore) {
        faults.hold(&request).await;
    }
    if due.contains(&Fault::CutBefore) {
        return None;
    }
    if due.contains(&Fault::FailBefore) {
        return done(face.unavailable(StatusCode::SERVICE_UNAVAILABLE));
    }

    let breaks_after = due.iter().find_map(|fault| match fault {
        Fault::BreakAfter(entries) => Some(*entries),
        _ => None,
    });
    let mut answer = shared.answer(&asked, breaks_after);
    shared.record(place, &request, &mut answer);
    if kind != Kind::Read {
        shared.tell(&Moment::Done { method, path });
    }

    let delay = faults.delay();
    if !delay.is_zero() {
        shared.clock.sleep_until(shared.clock.now() + delay).await;
    }
    if due.contains(&Fault::HoldAfter) {
        faults.hold(&request).await;
    }
    if due.contains(&Fault::LoseAnswer) {
        if let Some(entry) = shared.log().requests.get_mut(place) {
            entry.status = None;
        }
        return None;
    }
    if due.contains(&Fault::BreakAnswer) {
        return done(face.unavailable(StatusCode::BAD_GATEWAY));
    }
    match faults.current_limit_headers() {
        LimitHeaders::Absent => Some(answer),
        LimitHeaders::Sent => Some(face.with_limit_headers(answer, shared.clock.now())),
    }
}

/// Lets somebody else change the newest comment of the account that asks, if there is one.
fn meddle(shared: &Shared, asked: &Asked, fault: Fault) {
    let model = &mut *shared.model();
    let now = shared.clock.now();
    let own = shared.face.account(model, asked, now);
    let Some(comment) = own.and_then(|own| model.newest_of(own.id)) else { return };
    let (repo, kind, id) = (comment.repo, comment.kind(), comment.id);
    let meddler = match model.account(MEDDLER) {
        Ok(account) => account.clone(),
        Err(_) => match model.add_account(MEDDLER, AccountKind::Person) {
            Ok(account) => account,
            Err(_) => return,
        },
    };
    let act = Act { by: &meddler, now };
    let changed = model.grant(repo, MEDDLER, forge::Permission::Write).and_then(|()| match fault {
        Fault::OthersDelete => model.delete(repo, kind, id, &meddler).map(drop),
        _ => model.edit(repo, kind, id, "Somebody else wrote this.", act).map(drop),
    });
    if let Err(refusal) = changed {
        tracing::error!(%refusal, "the meddler of the fake forge failed");
    }
}
