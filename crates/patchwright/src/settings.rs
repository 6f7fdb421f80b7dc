//! The resolved configuration: defaults < `patchwright.toml` < environment < flags.
//!
//! [`Settings::load`] turns every source into meaning once; the rest of the program asks nobody
//! else. Declared settings stand in [`section`], the forges in [`connection`]; [`show`] prints what
//! was resolved and [`mod@reference`] documents what may be set.

use std::path::{Path, PathBuf};

use domain::Policy;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use crate::env::{Environment, Use, Variable, variable};

pub mod connection;
pub mod document;
pub mod field;
pub mod problem;
pub mod reader;
pub mod reference;
pub mod section;
pub mod show;
pub mod value;

pub use connection::Connection;
use document::{Document, Location};
pub use problem::Problem;
pub use reader::Flags;
use reader::Reader;

/// Everything that can be configured, resolved.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file that was read, if there is one.
    pub file: Option<PathBuf>,
    pub server: section::Server,
    pub store: section::Store,
    pub connections: Vec<Connection>,
    pub network: section::Network,
    pub bot: section::Bot,
    pub policy: section::Policy,
    pub worker: section::Worker,
    pub git: section::Git,
    pub publish: section::Publish,
    pub jobs: section::Jobs,
    pub budget: section::Budget,
    pub log: section::Log,
    /// Connections that `PLATFORM` leaves out, by name.
    pub left_out: Vec<String>,
    /// Variables that are set and that this version does not act on yet.
    pub not_used_yet: Vec<&'static str>,
    /// What is allowed but unwise.
    pub warnings: Vec<Problem>,
    data: PathBuf,
    secrets: Vec<SecretString>,
}

/// Where jobs are kept.
#[derive(Clone, Debug)]
pub enum Database {
    Sqlite { file: PathBuf },
    Postgres { url: SecretString },
}

/// Which part of the work a process takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Role {
    /// Takes deliveries and answers the admin API.
    Gateway,
    /// Does the jobs.
    Worker,
    /// Both.
    All,
}

impl Role {
    pub fn listens(self) -> bool {
        matches!(self, Self::Gateway | Self::All)
    }

    pub fn works(self) -> bool {
        matches!(self, Self::Worker | Self::All)
    }
}

impl Settings {
    /// Resolves every setting. All that is wrong is returned at once.
    pub fn load(flags: &Flags, environment: &Environment) -> Result<Self, Vec<Problem>> {
        let location = Location::find(flags.config.as_deref(), environment);
        let document =
            location.file().map(|path| Document::read(path, section::ALL)).transpose()?;
        let mut reader = Reader::new(document.as_ref(), environment, flags);
        reader.problems.extend(document.iter().flat_map(|document| document.problems.clone()));
        let server = section::Server::read(&mut reader.section(&section::Server::SECTION));
        let mut store = section::Store::read(&mut reader.section(&section::Store::SECTION));
        let network = section::Network::read(&mut reader.section(&section::Network::SECTION));
        let connections = connection::read(&mut reader, &server, &network);
        let data = data_folder(&reader, &mut store);
        check_database_url(&mut reader, &store);
        let settings = Self {
            file: document.as_ref().map(|document| document.path.clone()),
            connections: connections.served,
            left_out: connections.left_out,
            bot: section::Bot::read(&mut reader.section(&section::Bot::SECTION)),
            policy: section::Policy::read(&mut reader.section(&section::Policy::SECTION)),
            worker: section::Worker::read(&mut reader.section(&section::Worker::SECTION)),
            git: section::Git::read(&mut reader.section(&section::Git::SECTION)),
            publish: section::Publish::read(&mut reader.section(&section::Publish::SECTION)),
            jobs: section::Jobs::read(&mut reader.section(&section::Jobs::SECTION)),
            budget: section::Budget::read(&mut reader.section(&section::Budget::SECTION)),
            log: section::Log::read(&mut reader.section(&section::Log::SECTION)),
            not_used_yet: not_used_yet(environment),
            warnings: Vec::new(),
            secrets: environment.secrets(),
            data,
            server,
            store,
            network,
        };
        if reader.problems.is_empty() {
            Ok(Self { warnings: reader.warnings, ..settings })
        } else {
            Err(problem::in_order(reader.problems))
        }
    }

    /// The folder for everything that the program keeps.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// Where jobs are kept.
    pub fn database(&self) -> Database {
        match &self.store.database_url.value.0 {
            Some(url) => Database::Postgres { url: url.clone() },
            None => Database::Sqlite { file: self.data.join("patchwright.db") },
        }
    }

    /// The names that count as a mention; the first one is how the bot calls itself.
    pub fn bot_names(&self) -> Vec<String> {
        // People write the name as they mention it.
        let plain = |name: &String| name.trim_start_matches('@').to_owned();
        std::iter::once(&self.bot.name.value).chain(&*self.bot.aliases).map(plain).collect()
    }

    /// What routing needs to know for deliveries of one connection.
    pub fn policy(&self, connection: &Connection) -> Policy {
        Policy {
            bot_names: self.bot_names(),
            own_accounts: connection.former_accounts.clone(),
            allowed_users: self.policy.allowed_users.value.clone(),
            allowed_repos: self.policy.allowed_repos.value.clone(),
            review_drafts: self.policy.review_drafts.value,
            review_bots: self.policy.review_bots.value,
            trigger_phrase: self.policy.trigger_phrase.value.clone(),
            detect_on_push: self.policy.detect_on_push.value,
            respond: self.policy.respond.value,
        }
    }

    /// What a day of work may cost.
    pub fn budget(&self) -> domain::budget::Budget {
        domain::budget::Budget {
            repository: *self.budget.repository,
            stranger: *self.budget.stranger,
        }
    }

    /// Returns every secret that the configuration holds, for the redactor (T6). Where a secret is
    /// an address, the password in it is one by itself.
    pub fn secrets(&self) -> Vec<SecretString> {
        let sections = [
            &self.server.webhook_secret,
            &self.server.admin_token,
            &self.store.database_url,
            &self.store.marker_key,
            &self.network.http_proxy,
            &self.network.https_proxy,
        ];
        let mut secrets: Vec<_> =
            sections.iter().filter_map(|secret| secret.value.0.clone()).collect();
        for connection in &self.connections {
            let sourced = connection.token.iter().chain(&connection.webhook_secret);
            secrets
                .extend(sourced.map(|secret| secret.value.clone()).chain(connection.proxy.clone()));
        }
        secrets.extend(self.secrets.iter().cloned());
        let passwords: Vec<_> = secrets.iter().filter_map(password).collect();
        secrets.extend(passwords);
        secrets
    }

    /// Returns what keeps `serve` from starting in a role.
    pub fn missing(&self, role: Role) -> Vec<Problem> {
        let mut missing = Vec::new();
        if self.connections.is_empty() {
            let problem = Problem::new("no forge is configured");
            let hint = "set GITHUB_TOKEN (or GITHUB_APP_ID with its key), GITLAB_TOKEN, GITCODE_TOKEN, or \
                        GITEA_TOKEN with GITEA_URL, or write a [[connection]] (`patchwright config example`)";
            missing.push(problem.hint(hint));
        }
        for connection in &self.connections {
            if role.listens() && connection.webhook_secret.is_none() && !*self.server.test_mode {
                missing.push(no_webhook_secret(&connection.name));
            }
            if role.works() && connection.token.is_none() && connection.app.is_none() {
                let problem =
                    Problem::new(format!("the connection `{}` has no token", connection.name));
                missing.push(problem.hint(format!("set {}", token_variable(connection))));
            }
        }
        if role.listens() && *self.server.test_mode && !self.server.listen.ip().is_loopback() {
            let message = format!(
                "TEST_MODE takes unsigned deliveries and only binds loopback, but `listen` is {}",
                *self.server.listen
            );
            let hint = "listen on 127.0.0.1 or [::1], or set WEBHOOK_SECRET and leave TEST_MODE";
            missing.push(Problem::new(message).hint(hint));
        }
        missing
    }
}

fn no_webhook_secret(connection: &str) -> Problem {
    let message = format!(
        "the gateway refuses to start without a webhook secret: deliveries for `{connection}` could be anybody's"
    );
    Problem::new(message)
        .hint("set WEBHOOK_SECRET to the secret that the forge's webhook has (`openssl rand -hex 32` makes one)")
        .hint("to try things out on this machine, set TEST_MODE=true: it takes unsigned deliveries on loopback only")
}

fn token_variable(connection: &Connection) -> &'static str {
    match connection.host {
        forge::Host::GitHub => variable::GITHUB_TOKEN.0.name(),
        forge::Host::GitLab => variable::GITLAB_TOKEN.0.name(),
        forge::Host::GitCode => variable::GITCODE_TOKEN.0.name(),
        forge::Host::Gitea | forge::Host::Local => variable::GITEA_TOKEN.0.name(),
    }
}

fn not_used_yet(environment: &Environment) -> Vec<&'static str> {
    let later = variable::ALL.iter().filter(|variable| variable.used == Use::Later);
    later.filter(|variable| environment.has(variable)).map(Variable::name).collect()
}

/// Where a service keeps its data, which has no user's folder.
const SERVICE_DATA: &str = "/var/lib/patchwright";

/// Settles the data folder: as set, else the user's, else the one of a service without a home.
fn data_folder(reader: &Reader<'_>, store: &mut section::Store) -> PathBuf {
    if let Some(folder) = &store.data.value {
        return folder.clone();
    }
    let home = reader.environment.path(&variable::HOME).map(|home| home.join(".local/share"));
    let user = reader
        .environment
        .path(&variable::XDG_DATA_HOME)
        .filter(|path| path.is_absolute())
        .or(home);
    let folder =
        user.map_or_else(|| PathBuf::from(SERVICE_DATA), |folder| folder.join("patchwright"));
    store.data.value = Some(folder.clone());
    folder
}

/// Refuses an address that is no PostgreSQL's. It is never repeated: it holds a password.
fn check_database_url(reader: &mut Reader<'_>, store: &section::Store) {
    let Some(url) = &store.database_url.value.0 else { return };
    let is_postgres = |url: Url| matches!(url.scheme(), "postgres" | "postgresql");
    if !Url::parse(url.expose_secret()).is_ok_and(is_postgres) {
        let problem = Problem::new("the database's address does not begin with postgres://");
        reader.problems.push(
            problem.hint("leave DATABASE_URL unset to keep jobs in SQLite in the data folder"),
        );
    }
}

/// Returns the password in an address, if the secret is one.
fn password(secret: &SecretString) -> Option<SecretString> {
    let url = Url::parse(secret.expose_secret()).ok()?;
    let encoded = url.password().filter(|password| !password.is_empty())?;
    // A query string of one value decodes percent signs; `+` must not become a space.
    let escaped = encoded.replace('+', "%2B");
    let decoded =
        url::form_urlencoded::parse(format!("p={escaped}").as_bytes()).next()?.1.into_owned();
    Some(SecretString::from(decoded))
}

#[cfg(test)]
mod tests;
