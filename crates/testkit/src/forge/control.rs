//! The control endpoints: another process plays the people and switches the faults.
//!
//! They have a port of their own, so that an outage of the forge does not cut them off:
//!
//! - `POST /_control/do` with one [`Order`] as JSON, such as
//!   `{"do": "fault", "fault": "lose-answer", "on": "writes", "often": {"every": 3}}`;
//! - `GET /_control/state`: violations, counted faults, held requests;
//! - `GET /_control/held?count=1`: answers once so many requests are held;
//! - `GET /_control/thread/{owner}/{name}/{number}`: the conversation as text.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use forge::Permission;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::fault::{Fault, Limit, LimitHeaders, Often, On, Outage};
use super::happened::Happened;
use super::model::{Lag, Refusal};
use super::object::{AccountKind, CommentKind, FakeChange, Spot, Which};
use super::{Account, FakeForge};
use crate::thread;

/// What the other process may order.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
enum Order {
    Person {
        login: String,
    },
    Bot {
        login: String,
    },
    Token {
        login: String,
    },
    Repo {
        name: String,
    },
    Grant {
        repo: String,
        login: String,
        permission: Role,
    },
    OpenIssue {
        actor: String,
        repo: String,
        title: String,
        body: String,
    },
    OpenChange {
        actor: String,
        repo: String,
        title: String,
        body: String,
        branch: String,
    },
    Comment {
        actor: String,
        repo: String,
        number: u64,
        body: String,
    },
    Edit {
        actor: String,
        repo: String,
        comment: u64,
        body: String,
    },
    Delete {
        actor: String,
        repo: String,
        comment: u64,
    },
    Fault {
        fault: Fault,
        on: On,
        often: Often,
    },
    ClearRules {},
    Release {},
    Outage {
        outage: Outage,
    },
    /// Limits for so long from now.
    Limit {
        limit: Limit,
        milliseconds: u64,
    },
    LiftLimit {},
    Slow {
        milliseconds: u64,
    },
    LimitHeaders {
        headers: LimitHeaders,
    },
    Lag {
        lag: Lag,
    },
    Seed {
        seed: u64,
    },
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Role {
    None,
    Read,
    Triage,
    Write,
    Maintain,
    Admin,
}

#[derive(Debug)]
struct Control {
    forge: FakeForge,
    deliver_to: Option<String>,
}

pub(super) fn router(forge: FakeForge, deliver_to: Option<String>) -> Router {
    Router::new()
        .route("/_control/do", post(obey))
        .route("/_control/state", get(state))
        .route("/_control/held", get(held))
        .route("/_control/thread/{owner}/{name}/{number}", get(conversation))
        .with_state(Arc::new(Control { forge, deliver_to }))
}

async fn obey(State(control): State<Arc<Control>>, Json(order): Json<Order>) -> Response {
    match control.obey(order).await {
        Ok(value) => Json(value).into_response(),
        Err(refusal) => {
            let body = Json(json!({"error": refusal.to_string()}));
            (StatusCode::UNPROCESSABLE_ENTITY, body).into_response()
        }
    }
}

async fn state(State(control): State<Arc<Control>>) -> Json<Value> {
    let forge = &control.forge;
    Json(json!({
        "violations": forge.violations(),
        "faults": forge.faults().counts(),
        "held": forge.faults().held(),
        "requests": forge.requests().len(),
    }))
}

#[derive(Debug, Deserialize)]
struct Count {
    #[serde(default = "one")]
    count: usize,
}

fn one() -> usize {
    1
}

async fn held(State(control): State<Arc<Control>>, Query(wanted): Query<Count>) -> Json<Value> {
    control.forge.faults().until_held(wanted.count).await;
    Json(json!({"held": control.forge.faults().held()}))
}

async fn conversation(
    State(control): State<Arc<Control>>,
    Path((owner, name, number)): Path<(String, String, u64)>,
) -> Response {
    let repo = format!("{owner}/{name}");
    match control.forge.try_transcript(&repo, Which::Any(number)) {
        Ok(all) => thread::print(&all).into_response(),
        Err(refusal) => (StatusCode::NOT_FOUND, refusal.to_string()).into_response(),
    }
}

impl Control {
    async fn obey(&self, order: Order) -> Result<Value, Refusal> {
        let forge = &self.forge;
        let faults = forge.faults();
        match order {
            Order::Person { login } => self.account(&login, AccountKind::Person).map(shown),
            Order::Bot { login } => self.account(&login, AccountKind::Bot).map(shown),
            Order::Token { login } => {
                forge.shared.model().account(&login)?;
                Ok(json!({"token": forge.token(&login)}))
            }
            Order::Repo { name } => {
                let repo = forge.shared.model().add_repo(&name)?;
                Ok(json!({"id": repo.id, "full_name": repo.full_name}))
            }
            Order::Grant { repo, login, permission } => {
                self.deliver(forge.try_grants(&repo, &login, permission.into())?).await
            }
            Order::OpenIssue { actor, repo, title, body } => {
                self.deliver(forge.try_opens(&actor, &repo, &title, &body, None)?).await
            }
            Order::OpenChange { actor, repo, title, body, branch } => {
                let change = FakeChange::from_branch(&branch);
                self.deliver(forge.try_opens(&actor, &repo, &title, &body, Some(change))?).await
            }
            Order::Comment { actor, repo, number, body } => {
                let (which, spot) = (Which::Any(number), Spot::Conversation);
                self.deliver(forge.try_comments(&actor, &repo, which, spot, &body)?).await
            }
            Order::Edit { actor, repo, comment, body } => {
                self.deliver(forge.try_edits(
                    &actor,
                    &repo,
                    CommentKind::Conversation,
                    comment,
                    &body,
                )?)
                .await
            }
            Order::Delete { actor, repo, comment } => {
                self.deliver(forge.try_deletes(
                    &actor,
                    &repo,
                    CommentKind::Conversation,
                    comment,
                )?)
                .await
            }
            Order::Outage { outage } => {
                faults.outage(outage).await;
                Ok(done())
            }
            Order::Fault { fault, on, often } => done_after(|| faults.add(fault, on, often)),
            Order::ClearRules {} => done_after(|| faults.clear_rules()),
            Order::Release {} => done_after(|| faults.release()),
            Order::Limit { limit, milliseconds } => done_after(|| {
                let until = forge.shared.clock.now() + Duration::from_millis(milliseconds);
                faults.limit(limit, until);
            }),
            Order::LiftLimit {} => done_after(|| faults.lift_limit()),
            Order::Slow { milliseconds } => {
                done_after(|| faults.slow(Duration::from_millis(milliseconds)))
            }
            Order::LimitHeaders { headers } => done_after(|| faults.limit_headers(headers)),
            Order::Lag { lag } => done_after(|| forge.lags(lag)),
            Order::Seed { seed } => done_after(|| faults.seed(seed)),
        }
    }

    fn account(&self, login: &str, kind: AccountKind) -> Result<Account, Refusal> {
        self.forge.shared.model().add_account(login, kind)
    }

    /// Returns the delivery, and sends it where that was asked for.
    async fn deliver(&self, happened: Happened) -> Result<Value, Refusal> {
        let delivery = self.forge.delivery(&happened);
        let sent = match &self.deliver_to {
            None => Value::Null,
            Some(url) => match delivery.send_to(url).await {
                Ok(answered) => {
                    json!({"status": answered.status.as_u16(), "body": answered.json()})
                }
                Err(why) => json!({"error": why.to_string()}),
            },
        };
        let headers: serde_json::Map<String, Value> = delivery
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap_or_default())))
            .collect();
        Ok(json!({
            "number": happened.number(),
            "comment": happened.comment_id(),
            "delivery": {"headers": headers, "body": String::from_utf8_lossy(&delivery.body)},
            "sent": sent,
        }))
    }
}

fn done() -> Value {
    json!({"done": true})
}

fn done_after(change: impl FnOnce()) -> Result<Value, Refusal> {
    change();
    Ok(done())
}

fn shown(account: Account) -> Value {
    json!({"id": account.id, "login": account.login})
}

impl From<Role> for Permission {
    fn from(role: Role) -> Self {
        match role {
            Role::None => Self::None,
            Role::Read => Self::Read,
            Role::Triage => Self::Triage,
            Role::Write => Self::Write,
            Role::Maintain => Self::Maintain,
            Role::Admin => Self::Admin,
        }
    }
}
