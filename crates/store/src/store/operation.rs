//! The operations of the store, one line each: the SQL and its reasons stand in the modules that they
//! call.

use std::sync::Arc;
use std::time::Duration;

use domain::job::State;
use domain::record::Record;
use domain::{Job, JobId, Origin, Receipt, Repo, Slot, Subject, Time};
use secrecy::SecretString;
use serde_json::Value as Json;

use super::{Database, Store};
use crate::claim::{Claim, Hands, Held};
use crate::db::Value;
use crate::error::Error;
use crate::job::{Counts, Detail, Filter};
use crate::journal::Entry;
use crate::outbox::{Begun, Due, LaneClaim, Queue, Sending, Try};
use crate::owner::Owner;
use crate::settle::{Settled, Settlement};
use crate::sweep::Rest;
use crate::{
    breaker, budget, claim, job, journal, outbox, schema, settle, sweep, values, watermark,
};

impl Store {
    pub async fn claim(&self, hands: Hands) -> Result<Claim, Error> {
        self.write(move |db| claim::claim(db, &hands)).await
    }

    /// Prolongs the leases of a process from a thread of its own, and returns which of its jobs
    /// somebody wants stopped. It waits on no runtime, so a busy one cannot lose its leases.
    pub fn heartbeat_blocking(&self, owner: &Owner, held: Held) -> Result<Vec<JobId>, Error> {
        let owner = owner.clone();
        self.write_blocking(move |db| claim::heartbeat(db, &owner, &held))
    }

    pub async fn settle(
        &self,
        id: &JobId,
        token: i64,
        settlement: Settlement,
    ) -> Result<Settled, Error> {
        let (id, inner) = (id.clone(), Arc::clone(&self.inner));
        self.write(move |db| {
            settle::settle(db, &id, token, &settlement, &inner.patience, &|job| {
                (inner.apologise)(job)
            })
        })
        .await
    }

    pub async fn bury(&self, id: &JobId, token: i64, error: String) -> Result<(), Error> {
        let (id, inner) = (id.clone(), Arc::clone(&self.inner));
        self.write(move |db| settle::bury(db, &id, token, &error, &|job| (inner.apologise)(job)))
            .await
    }

    pub async fn identify(&self, id: &JobId, token: i64, repo: Repo) -> Result<(), Error> {
        let id = id.clone();
        self.write(move |db| job::identify(db, &id, token, &repo)).await
    }

    pub async fn recall(&self, id: &JobId, key: &str) -> Result<Option<Json>, Error> {
        let (id, key) = (id.clone(), key.to_owned());
        self.read(move |db| journal::recall(db, &id, &key)).await
    }

    pub async fn keep(&self, id: &JobId, token: i64, key: &str, value: Json) -> Result<(), Error> {
        let (id, key) = (id.clone(), key.to_owned());
        self.write(move |db| journal::keep(db, &id, token, &key, &value)).await
    }

    pub async fn note(&self, id: &JobId, token: i64, record: Record) -> Result<(), Error> {
        let id = id.clone();
        self.write(move |db| journal::note_fenced(db, &id, token, &record)).await
    }

    pub async fn records(&self, id: &JobId, after: i64, most: u32) -> Result<Vec<Entry>, Error> {
        let id = id.clone();
        self.read(move |db| journal::records(db, &id, after, most)).await
    }

    pub async fn claim_lane(&self, owner: &Owner) -> Result<LaneClaim, Error> {
        let owner = owner.clone();
        self.write(move |db| outbox::claim(db, &owner)).await
    }

    pub async fn next_row(&self, sending: &Sending, queue: Queue) -> Result<Option<Due>, Error> {
        let sending = sending.clone();
        self.read(move |db| outbox::next(db, &sending, queue)).await
    }

    pub async fn begin_row(&self, sending: &Sending, seq: i64) -> Result<Begun, Error> {
        let sending = sending.clone();
        self.write(move |db| outbox::begin(db, &sending, seq)).await
    }

    /// Returns the rows that travel with a due row; see [`outbox::company`].
    pub async fn company(
        &self,
        sending: &Sending,
        first: &Due,
        most: usize,
    ) -> Result<Vec<Due>, Error> {
        let (sending, first) = (sending.clone(), first.clone());
        self.read(move |db| outbox::company(db, &sending, &first, most)).await
    }

    /// Marks rows as being sent together; see [`outbox::begin_together`].
    pub async fn begin_together(&self, sending: &Sending, seqs: Vec<i64>) -> Result<Begun, Error> {
        let sending = sending.clone();
        self.write(move |db| outbox::begin_together(db, &sending, &seqs)).await
    }

    /// Divides a batch that was refused; see [`outbox::divide`].
    pub async fn divide_batch(&self, sending: &Sending, seqs: Vec<i64>) -> Result<(), Error> {
        let sending = sending.clone();
        self.write(move |db| outbox::divide(db, &sending, &seqs)).await
    }

    /// Sets the lease of a lane to a deadline; see [`outbox::stretch`].
    pub async fn stretch_lane(
        &self,
        sending: &Sending,
        lasting: Duration,
    ) -> Result<Duration, Error> {
        let sending = sending.clone();
        self.write(move |db| outbox::stretch(db, &sending, lasting)).await
    }

    /// Returns how long the lease of a lane still lasts.
    pub async fn lane_left(&self, sending: &Sending) -> Result<Duration, Error> {
        let sending = sending.clone();
        self.read(move |db| outbox::left(db, &sending)).await
    }

    pub async fn settle_row(
        &self,
        sending: &Sending,
        due: &Due,
        outcome: Try,
    ) -> Result<(), Error> {
        let (sending, due, inner) = (sending.clone(), due.clone(), Arc::clone(&self.inner));
        self.write(move |db| {
            outbox::settle(db, &sending, &due, &outcome, inner.patience.give_up_after)
        })
        .await
    }

    pub async fn release_lane(&self, sending: &Sending) -> Result<(), Error> {
        let sending = sending.clone();
        self.write(move |db| outbox::release(db, &sending)).await
    }

    pub async fn receipt(&self, subject: &Subject, slot: &Slot) -> Result<Option<Receipt>, Error> {
        let (subject, slot) = (subject.clone(), slot.clone());
        self.read(move |db| outbox::receipt(db, &subject, &slot)).await
    }

    pub async fn receipts_of(&self, id: &JobId) -> Result<Vec<(Slot, Receipt)>, Error> {
        let id = id.clone();
        self.read(move |db| outbox::receipts_of(db, &id)).await
    }

    pub async fn unsent_of(&self, id: &JobId) -> Result<i64, Error> {
        let id = id.clone();
        self.read(move |db| outbox::unsent_of(db, &id)).await
    }

    pub async fn given_up_of(&self, id: &JobId) -> Result<Vec<String>, Error> {
        let id = id.clone();
        self.read(move |db| outbox::given_up_of(db, &id)).await
    }

    pub async fn open_breaker(
        &self,
        endpoint: &str,
        reason: &str,
        until: Option<Time>,
    ) -> Result<Time, Error> {
        let (endpoint, reason) = (endpoint.to_owned(), reason.to_owned());
        self.write(move |db| {
            let now = db.now()?;
            breaker::open(db, &endpoint, &reason, until, now)
        })
        .await
    }

    pub async fn breakers(&self) -> Result<Vec<breaker::Breaker>, Error> {
        self.read(breaker::list).await
    }

    /// Counts a job against a budget of the day, once however often it is asked; returns the count.
    pub async fn charge(
        &self,
        id: &JobId,
        token: i64,
        what: &'static str,
        key: String,
    ) -> Result<u32, Error> {
        let id = id.clone();
        self.write(move |db| budget::charge(db, &id, token, what, &key)).await
    }

    pub async fn job(&self, id: &JobId) -> Result<Option<Job>, Error> {
        let id = id.clone();
        self.read(move |db| claim::find(db, &id)).await
    }

    pub async fn detail(&self, id: &JobId) -> Result<Option<Detail>, Error> {
        let id = id.clone();
        self.read(move |db| job::detail(db, &id)).await
    }

    pub async fn jobs(&self, filter: Filter) -> Result<Vec<Job>, Error> {
        self.read(move |db| job::list(db, &filter)).await
    }

    pub async fn jobs_of(&self, subject: &Subject, ended: u32) -> Result<Vec<Job>, Error> {
        let subject = subject.id().0;
        self.read(move |db| job::of_subject(db, &subject, ended)).await
    }

    /// Returns the repositories of a connection that ever had a job (J9).
    pub async fn known_repos(&self, origin: &Origin) -> Result<Vec<Repo>, Error> {
        let origin = origin.clone();
        self.read(move |db| watermark::known_repos(db, &origin)).await
    }

    /// Returns the moment up to which a repository was reconciled (J9).
    pub async fn watermark(&self, repo: &Repo) -> Result<Option<Time>, Error> {
        let repo = repo.clone();
        self.read(move |db| watermark::watermark(db, &repo)).await
    }

    /// Moves the moment up to which a repository was reconciled (J9).
    pub async fn raise_watermark(&self, repo: &Repo, to: Time) -> Result<(), Error> {
        let repo = repo.clone();
        self.write(move |db| watermark::raise(db, &repo, to)).await
    }

    pub async fn cancel(&self, id: &JobId) -> Result<State, Error> {
        let id = id.clone();
        self.write(move |db| job::stop(db, &id, State::Cancelled, "cancelled by an operator")).await
    }

    pub async fn supersede(&self, id: &JobId, why: &str) -> Result<State, Error> {
        let (id, why) = (id.clone(), why.to_owned());
        self.write(move |db| job::stop(db, &id, State::Superseded, &why)).await
    }

    pub async fn retry(&self, id: &JobId) -> Result<(), Error> {
        let id = id.clone();
        self.write(move |db| job::retry(db, &id)).await
    }

    pub async fn counts(&self) -> Result<Counts, Error> {
        self.read(job::counts).await
    }

    /// Ends leases that ran out; returns how many.
    pub async fn sweep_expired(&self) -> Result<usize, Error> {
        let inner = Arc::clone(&self.inner);
        self.write(move |db| sweep::expired(db, &inner.patience, &|job| (inner.apologise)(job)))
            .await
    }

    /// Takes back leases whose owner on this host is dead; returns how many.
    pub async fn take_back(&self) -> Result<usize, Error> {
        let inner = Arc::clone(&self.inner);
        self.write(move |db| sweep::take_back(db, &inner.patience, &|job| (inner.apologise)(job)))
            .await
    }

    pub async fn forget(&self, retention: Duration) -> Result<usize, Error> {
        self.write(move |db| sweep::forget(db, retention)).await
    }

    pub async fn rest(&self) -> Result<Rest, Error> {
        self.read(sweep::rest).await
    }

    pub async fn schema_version(&self) -> Result<i64, Error> {
        self.read(schema::version).await
    }

    /// Returns a random secret that is made once and kept (E1: the marker key where none is given).
    pub async fn secret(&self, name: &str) -> Result<SecretString, Error> {
        let key = format!("secret:{name}");
        let mut random = [0u8; 32];
        getrandom::fill(&mut random)
            .map_err(|error| Error::Refused(format!("no randomness: {error}")))?;
        let fresh = hex::encode(random);
        self.write(move |db| {
            db.execute(
                "INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING",
                &values![&key, &fresh],
            )?;
            let mut row = db
                .find("SELECT value FROM meta WHERE key = $1", &values![&key])?
                .ok_or(Error::Absent("secret"))?;
            row.text().map(SecretString::from)
        })
        .await
    }

    /// Keeps a file that a job made.
    pub async fn keep_artifact(
        &self,
        id: &JobId,
        token: i64,
        name: &str,
        media_type: &str,
        body: Vec<u8>,
    ) -> Result<(), Error> {
        let (id, name, media_type) = (id.clone(), name.to_owned(), media_type.to_owned());
        self.write(move |db| {
            let now = db.now()?;
            claim::fence(db, &id, token, now)?;
            db.execute(
                "INSERT INTO artifacts (job_id, name, media_type, body, at) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (job_id, name) DO UPDATE SET media_type = excluded.media_type, body = excluded.body",
                &values![&id.0, &name, &media_type, body.clone(), now],
            )?;
            Ok(())
        })
        .await
    }

    /// Returns a file that a job made, with its media type.
    pub async fn artifact(
        &self,
        id: &JobId,
        name: &str,
    ) -> Result<Option<(String, Vec<u8>)>, Error> {
        let (id, name) = (id.clone(), name.to_owned());
        self.read(move |db| {
            let row = db.find(
                "SELECT media_type, body FROM artifacts WHERE job_id = $1 AND name = $2",
                &values![&id.0, &name],
            )?;
            row.map(|mut row| Ok((row.text()?, row.bytes()?))).transpose()
        })
        .await
    }

    /// What PostgreSQL's settings mean for durability (J1); empty on SQLite and when all is well.
    pub async fn durability_warnings(&self) -> Result<Vec<String>, Error> {
        if matches!(self.inner.database, Database::Sqlite(_)) {
            return Ok(Vec::new());
        }
        self.read(|db| {
            let mut warnings = Vec::new();
            let mut setting = |name: &str| -> Result<String, Error> {
                let mut row = db
                    .find("SELECT current_setting($1)", &[Value::from(name)])?
                    .ok_or(Error::Absent("setting"))?;
                row.text()
            };
            if setting("fsync")? == "off" {
                warnings.push("fsync is off: a power loss can lose accepted deliveries".to_owned());
            }
            if setting("full_page_writes")? == "off" {
                warnings.push(
                    "full_page_writes is off: a power loss can corrupt the database".to_owned(),
                );
            }
            if setting("synchronous_standby_names")?.is_empty() {
                let mut row = db
                    .find(
                        "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'async'",
                        &[],
                    )?
                    .ok_or(Error::Absent("count"))?;
                if row.int()? > 0 {
                    warnings.push(
                        "standbys are asynchronous: a failover can lose accepted deliveries"
                            .to_owned(),
                    );
                }
            }
            Ok(warnings)
        })
        .await
    }
}
