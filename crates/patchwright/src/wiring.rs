//! Picks the implementations and joins them: which store, which adapters, which clock.
//!
//! Commands ask here for a [`Spine`]: the same parts whether a server, a CI step or the demo runs
//! them. Nothing here starts to work by itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use domain::{Clock, Origin};
use engine::{Connection, Connections, Door, Ingest, Speaker, Tempo};
use forge::gitcode::GitCode;
use forge::gitea::Gitea;
use forge::github::GitHub;
use forge::gitlab::GitLab;
use forge::http::{self, Misconfigured};
use forge::{Host, Ours, Read, Write};
use report::marker::MarkerKey;
use report::redact::Redactor;
use secrecy::{ExposeSecret, SecretString};
use store::settle::Patience;
use store::{Apologise, Place, Store, TimeSource};
use url::Url;

use crate::clock::WallClock;
use crate::code::{self, Code};
use crate::rehearsal::Sending;
use crate::settings::{self, Database, Settings};

/// Everything that takes deliveries and does jobs, joined but not started.
#[derive(Debug)]
pub struct Spine {
    pub store: Store,
    pub ingest: Ingest,
    pub connections: Connections,
    pub speaker: Arc<Speaker>,
    pub tempo: Tempo,
    pub clock: Arc<dyn Clock>,
    /// None on a machine without git.
    pub code: Option<Code>,
}

/// Where the key of the markers comes from when nobody set `MARKER_KEY` (E1).
#[derive(Clone, Debug)]
pub enum KeySource {
    /// A random one is made once and kept in the store.
    Store,
    /// It is derived from another secret, because the store does not outlive the process.
    Derived(SecretString),
    /// There is none: no marker of an earlier run is believed.
    Nothing,
}

/// Opens the configured store for looking at jobs and giving orders. It gives up no job, so nothing
/// has to apologise.
pub async fn operators_store(settings: &Settings) -> Result<Store, store::Error> {
    open(settings, configured_place(settings), Arc::new(|_| Vec::new())).await
}

/// Where the configuration says that the store is.
fn configured_place(settings: &Settings) -> Place {
    match settings.database() {
        Database::Sqlite { file } => Place::Sqlite(file),
        Database::Postgres { url } => Place::Postgres { url, schema: None },
    }
}

/// Where a command keeps its jobs: as configured, and in a passing store for a rehearsal, whose
/// receipts must never be taken for real ones.
pub fn place(settings: &Settings, sending: &Sending, folder: &Path) -> Place {
    match sending {
        Sending::Real => configured_place(settings),
        Sending::Rehearsed(_) => passing_place(folder),
    }
}

/// A store that lives as long as its folder.
pub fn passing_place(folder: &Path) -> Place {
    Place::Sqlite(folder.join("patchwright.db"))
}

/// Joins all parts as configured.
pub async fn assemble(
    settings: &Settings,
    place: Place,
    key: KeySource,
    sending: &Sending,
    redactor: &Arc<Redactor>,
) -> anyhow::Result<Spine> {
    let clock: Arc<dyn Clock> = Arc::new(WallClock);
    let code = code::open(settings, &folder_beside(settings, &place), redactor);
    let hosts =
        settings.connections.iter().map(|connection| (connection.origin.clone(), connection.host));
    let speaker = Arc::new(speaker(settings, hosts));
    let store = open_store(settings, place, &speaker).await?;
    let key = marker_key(settings, &store, key).await?;
    let instance = instance(&store).await?;
    let (mut connections, mut doors) = (Vec::new(), Vec::new());
    for connection in &settings.connections {
        let ours =
            Ours::new(&instance, key.clone()).formerly(connection.former_accounts.iter().copied());
        match forge(connection, Arc::new(ours), redactor, Arc::clone(&clock))? {
            Some(joined) => connections.push(with_sending(joined, sending)),
            None => tracing::warn!(
                connection = connection.name,
                "its deliveries are taken, but nothing can be answered there: it has no token"
            ),
        }
        doors.push(door(settings, connection));
    }
    let ingest = Ingest::new(store.clone(), doors, Arc::clone(redactor), Arc::clone(&clock));
    let connections = Connections::new(connections);
    Ok(Spine { store, ingest, connections, speaker, tempo: tempo(settings), clock, code })
}

/// Where copies of repositories are kept: beside the store, so that they pass with a passing one.
fn folder_beside(settings: &Settings, place: &Place) -> PathBuf {
    match place {
        Place::Sqlite(file) => file.parent().unwrap_or(settings.data()).to_owned(),
        Place::Postgres { .. } => settings.data().to_owned(),
    }
}

/// Makes the adapter of a connection; `None` where there is no credential.
pub fn forge(
    connection: &settings::Connection,
    ours: Arc<Ours>,
    redactor: &Arc<Redactor>,
    clock: Arc<dyn Clock>,
) -> Result<Option<Connection>, Misconfigured> {
    let app = connection.app.as_ref().filter(|_| connection.host == Host::GitHub);
    let Some(credential) = app.map(|app| &app.key).or(connection.token.as_ref()) else {
        return Ok(None);
    };
    let reached = http::Connection {
        api: api(connection.host, &connection.url),
        token: credential.value.clone(),
        pacing: connection.pacing,
        proxy: connection.proxy.clone(),
        ca_bundle: connection.ca_bundle.clone(),
        redactor: Arc::clone(redactor),
        clock,
    };
    Ok(match (connection.host, app) {
        (Host::GitHub, Some(app)) => {
            Some(joined(connection, GitHub::as_app(reached, &app.id, ours)?))
        }
        (Host::GitHub, None) => Some(joined(connection, GitHub::new(reached, ours)?)),
        (Host::GitLab, _) => Some(joined(connection, GitLab::new(reached, ours)?)),
        (Host::GitCode, _) => Some(joined(connection, GitCode::new(reached, ours)?)),
        (Host::Gitea, _) => Some(joined(connection, Gitea::new(reached, ours)?)),
        (Host::Local, _) => None,
    })
}

/// Returns the base of the API. Most hosts are known by the address of their pages, below which
/// the API has its place.
fn api(host: Host, pages: &Url) -> Url {
    let place = match host {
        Host::GitLab => "/api/v4",
        Host::GitCode => "/api/v5",
        Host::Gitea => "/api/v1",
        Host::GitHub | Host::Local => "",
    };
    let mut url = pages.clone();
    let path = url.path().trim_end_matches('/').to_owned();
    if !place.is_empty() && !path.ends_with(place) {
        url.set_path(&format!("{path}{place}"));
    }
    url
}

fn joined<F: Read + Write + 'static>(connection: &settings::Connection, adapter: F) -> Connection {
    let adapter = Arc::new(adapter);
    let read: Arc<dyn Read> = Arc::clone(&adapter) as _;
    Connection { origin: connection.origin.clone(), host: connection.host, read, write: adapter }
}

fn with_sending(connection: Connection, sending: &Sending) -> Connection {
    match sending {
        Sending::Real => connection,
        Sending::Rehearsed(rehearsed) => {
            Connection { write: Arc::clone(rehearsed) as _, ..connection }
        }
    }
}

fn door(settings: &Settings, connection: &settings::Connection) -> Door {
    let secrets = connection.webhook_secret.iter().map(|secret| secret.value.clone()).collect();
    Door::new(connection.host, connection.origin.clone(), secrets, settings.policy(connection))
}

/// Opens a store for work: a job that is given up apologises in our voice.
pub async fn open_store(
    settings: &Settings,
    place: Place,
    speaker: &Arc<Speaker>,
) -> Result<Store, store::Error> {
    let speaker = Arc::clone(speaker);
    open(settings, place, Arc::new(move |job| speaker.apologise(job))).await
}

/// Opens a store and brings its tables up to date.
async fn open(
    settings: &Settings,
    place: Place,
    apologise: Apologise,
) -> Result<Store, store::Error> {
    let patience = Patience {
        attempts: settings.jobs.attempts.get(),
        give_up_after: *settings.jobs.give_up_after,
    };
    Store::open(&place, TimeSource::Database(Arc::new(WallClock)), patience, apologise).await
}

async fn marker_key(
    settings: &Settings,
    store: &Store,
    source: KeySource,
) -> Result<Option<MarkerKey>, store::Error> {
    let plain = |secret: &SecretString| MarkerKey::new(secret.expose_secret().as_bytes());
    if let Some(secret) = &settings.store.marker_key.value.0 {
        return Ok(Some(plain(secret)));
    }
    Ok(match source {
        KeySource::Store => Some(plain(&store.secret("marker-key").await?)),
        KeySource::Derived(secret) => Some(MarkerKey::derive(&secret, "markers")),
        KeySource::Nothing => None,
    })
}

/// Returns what tells this deployment from others on the same forge (E7): all processes of a store
/// are one.
async fn instance(store: &Store) -> Result<String, store::Error> {
    let random = store.secret("instance").await?;
    Ok(random.expose_secret().chars().take(12).collect())
}

/// Makes the speaker for these forges, in the operator's language.
pub fn speaker(settings: &Settings, hosts: impl IntoIterator<Item = (Origin, Host)>) -> Speaker {
    Speaker::new(settings.bot_names(), *settings.bot.language, hosts)
}

fn tempo(settings: &Settings) -> Tempo {
    let day = Duration::from_hours(24);
    Tempo {
        work: settings.worker.concurrency.get() as usize,
        per_repository: settings.worker.per_repository.get(),
        look_for: *settings.publish.look_for,
        drain: *settings.server.drain,
        retention: day.saturating_mul(settings.jobs.retention_days.get()),
        budget: settings.budget(),
        ..Tempo::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_is_reached_below_the_pages_or_where_it_is_said_to_be() {
        let check = |host, url: &str, expected: &str| {
            assert_eq!(api(host, &Url::parse(url).unwrap()).as_str(), expected);
        };
        check(Host::Gitea, "https://git.example", "https://git.example/api/v1");
        check(Host::Gitea, "https://example/git/", "https://example/git/api/v1");
        check(Host::Gitea, "https://git.example/api/v1", "https://git.example/api/v1");
        check(Host::GitLab, "https://example/gitlab", "https://example/gitlab/api/v4");
        check(Host::GitCode, "https://api.gitcode.example", "https://api.gitcode.example/api/v5");
        check(Host::GitHub, "https://api.example/v3", "https://api.example/v3");
    }
}
