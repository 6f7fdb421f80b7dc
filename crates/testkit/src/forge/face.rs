//! A host's HTTP face over the model: what the serving loop asks of it.
//!
//! A face reads paths, headers and bodies, calls the model, and says the outcome in the host's
//! words. Faults, lag, logging and the clock are not its business.

use std::fmt;

use domain::Time;
use http::{Method, StatusCode};

use super::delivery::SignedDelivery;
use super::exchange::{Answer, Asked};
use super::fault::{Kind, Limit};
use super::happened::Happened;
use super::model::{Habits, Model};
use super::object::Account;
use super::serve::Shared;

pub(crate) trait Face: fmt::Debug + Send + Sync {
    fn habits(&self) -> Habits;

    /// Answers a request as the host would.
    fn answer(&self, shared: &Shared, model: &mut Model, asked: &Asked) -> Answer;

    /// Tells which faults the request can meet.
    fn kind(&self, asked: &Asked) -> Kind {
        match asked.method {
            Method::GET | Method::HEAD => Kind::Read,
            _ => Kind::Write,
        }
    }

    /// Returns the account whose token the request carries.
    fn account(&self, model: &Model, asked: &Asked, now: Time) -> Option<Account>;

    /// Answers for a host that is not well.
    fn unavailable(&self, status: StatusCode) -> Answer;

    fn limited(&self, limit: Limit, until: Time, now: Time) -> Answer;

    /// Adds what is left of the limit.
    fn with_limit_headers(&self, answer: Answer, now: Time) -> Answer;

    /// Makes the delivery of what happened.
    fn delivery(&self, happened: &Happened, sender: Sender<'_>) -> SignedDelivery;
}

/// What a delivery tells of the forge that sends it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender<'a> {
    /// Where the face is reached, without a slash at the end.
    pub(crate) url: &'a str,
    pub(crate) secret: &'a str,
    /// The id of this delivery.
    pub(crate) guid: &'a str,
}
