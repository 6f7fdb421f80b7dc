//! The forges to serve, from the file and from the environment.
//!
//! A forge whose token variable is set is served without any file. Where the file has a connection
//! to the same server, the variable is that connection's token. `PLATFORM` leaves only one kind.

use std::path::PathBuf;

use domain::{AccountId, Origin};
use forge::Host;
use forge::http::Pacing;
use secrecy::SecretString;
use url::Url;

use super::document::Table;
use super::field::{Source, Sourced};
use super::problem::{Problem, suggestion};
use super::reader::Reader;
use super::section;
use super::value::{Raw, Value};
use crate::env::{Plain, Secret, variable};

/// One forge as configured.
#[derive(Clone, Debug)]
pub struct Connection {
    pub name: String,
    pub host: Host,
    /// The address of its API (GitHub, GitCode) or of the server (GitLab, Gitea).
    pub url: Url,
    /// Its identity in keys and markers.
    pub origin: Origin,
    pub token: Option<Sourced<SecretString>>,
    /// A GitHub App, which wins over the token.
    pub app: Option<App>,
    /// Its own secret, else the one for all.
    pub webhook_secret: Option<Sourced<SecretString>>,
    pub former_accounts: Vec<AccountId>,
    pub pacing: Pacing,
    pub ca_bundle: Option<PathBuf>,
    /// Its own proxy, else the one of its scheme.
    pub proxy: Option<SecretString>,
    /// Where it was configured.
    pub source: Source,
}

/// A GitHub App as configured.
#[derive(Clone, Debug)]
pub struct App {
    pub id: String,
    pub key: Sourced<SecretString>,
}

/// What serving one forge by the environment takes.
struct Kind {
    host: Host,
    token: Secret,
    url: Plain,
    /// The public server, where there is one.
    public: Option<&'static str>,
}

const KINDS: [Kind; 4] = [
    Kind {
        host: Host::GitHub,
        token: variable::GITHUB_TOKEN,
        url: variable::GITHUB_API_URL,
        public: Some("https://api.github.com"),
    },
    Kind {
        host: Host::GitLab,
        token: variable::GITLAB_TOKEN,
        url: variable::GITLAB_URL,
        public: Some("https://gitlab.com"),
    },
    Kind {
        host: Host::GitCode,
        token: variable::GITCODE_TOKEN,
        url: variable::GITCODE_API_URL,
        public: Some("https://api.gitcode.com"),
    },
    Kind {
        host: Host::Gitea,
        token: variable::GITEA_TOKEN,
        url: variable::GITEA_URL,
        public: None,
    },
];

/// The connections that are served, and the names of those that `PLATFORM` leaves out.
#[derive(Debug, Default)]
pub(super) struct Connections {
    pub served: Vec<Connection>,
    pub left_out: Vec<String>,
}

/// Reads every connection.
pub(super) fn read(
    reader: &mut Reader<'_>,
    server: &section::Server,
    network: &section::Network,
) -> Connections {
    let mut found = Vec::new();
    if let Some(document) = reader.document {
        for table in document.section(section::Connection::SECTION.name) {
            let written =
                section::Connection::read(&mut reader.table(&section::Connection::SECTION, table));
            found.extend(from_file(reader, table, written));
        }
    }
    let platform = platform(reader);
    for kind in KINDS {
        add_from_environment(reader, &kind, platform, &mut found);
    }
    refuse_twins(reader, &found);
    for connection in &mut found {
        connection.webhook_secret =
            connection.webhook_secret.take().or_else(|| sourced(&server.webhook_secret));
        connection.proxy = connection.proxy.take().or_else(|| proxy_for(&connection.url, network));
    }
    let (served, left_out): (Vec<_>, Vec<_>) = found
        .into_iter()
        .partition(|connection| platform.is_none_or(|host| host == connection.host));
    Connections {
        served,
        left_out: left_out.into_iter().map(|connection| connection.name).collect(),
    }
}

fn platform(reader: &mut Reader<'_>) -> Option<Host> {
    let (text, _) = reader.plain(&variable::PLATFORM)?;
    let host = Host::read(&Raw::Text(text.clone()));
    if host.is_none() {
        let problem = Problem::new(format!("PLATFORM is {text:?}, expected {}", Host::EXPECTED));
        let hint = suggestion(&text, Host::words().iter().copied());
        reader
            .problems
            .push(problem.perhaps(hint).hint("unset it to serve every forge that has a token"));
    }
    host
}

fn from_file(
    reader: &mut Reader<'_>,
    table: &Table,
    written: section::Connection,
) -> Option<Connection> {
    let at = |problem: Problem| problem.at(table.place.clone());
    let Some(host) = written.forge.value else {
        // A wrong value was reported where it stands.
        if table.entry("forge").is_none() {
            let problem = Problem::new("the connection does not say which `forge` it is");
            reader.problems.push(at(problem).hint(format!("expected {}", Host::EXPECTED)));
        }
        return None;
    };
    let public = KINDS.iter().find(|kind| kind.host == host).and_then(|kind| kind.public);
    let url = written.url.value.or_else(|| public.and_then(|text| Url::parse(text).ok()));
    let Some(url) = url else {
        if table.entry("url").is_none() {
            let problem = Problem::new(format!("a connection to {host} needs a `url`"));
            reader.problems.push(at(problem).hint("for example url = \"https://git.example.org\""));
        }
        return None;
    };
    let name = written.name.value.unwrap_or_else(|| host.to_string());
    let url = checked_url(reader, &format!("the url of connection `{name}`"), url)?;
    let app = whole_app(
        reader,
        written.app_id.value,
        sourced(&written.app_key),
        "`app-id` and `app-key`",
    );
    Some(Connection {
        origin: origin(&url),
        name,
        host,
        url,
        token: sourced(&written.token),
        app,
        webhook_secret: sourced(&written.webhook_secret),
        former_accounts: written.former_accounts.value,
        pacing: written.pacing.value,
        ca_bundle: written.ca_bundle.value,
        proxy: written.proxy.value.0,
        source: Source::File { line: table.place.line },
    })
}

/// Adds the connection that the environment gives, or gives its token to the one of the file.
fn add_from_environment(
    reader: &mut Reader<'_>,
    kind: &Kind,
    platform: Option<Host>,
    found: &mut Vec<Connection>,
) {
    let token = reader.secret(&kind.token);
    let app = if kind.host == Host::GitHub { app_of_environment(reader) } else { None };
    let wanted = token.is_some()
        || app.is_some()
        || (platform == Some(kind.host)
            && !found.iter().any(|connection| connection.host == kind.host));
    if !wanted {
        return;
    }
    let url_name = kind.url.0.name();
    let text =
        reader.plain(&kind.url).map(|(text, _)| text).or_else(|| kind.public.map(str::to_owned));
    let Some(text) = text else {
        let problem =
            Problem::new(format!("a token for {} is set, but {url_name} is not", kind.host));
        reader.problems.push(problem.hint(format!("set {url_name} to the address of the server")));
        return;
    };
    let Some(url) = Url::read(&Raw::Text(text)) else {
        reader.problems.push(Problem::new(format!("{url_name}: expected {}", Url::EXPECTED)));
        return;
    };
    let Some(url) = checked_url(reader, url_name, url) else { return };
    let origin = origin(&url);
    if let Some(connection) = found.iter_mut().find(|connection| connection.origin == origin) {
        connection.token = token.or(connection.token.take());
        connection.app = app.or(connection.app.take());
        return;
    }
    let source = match app.as_ref().map(|app| &app.key).or(token.as_ref()) {
        Some(credential) => credential.source.clone(),
        None => Source::Environment { name: variable::PLATFORM.0.name().to_owned() },
    };
    found.push(Connection {
        name: kind.host.to_string(),
        host: kind.host,
        origin,
        url,
        token,
        app,
        webhook_secret: None,
        former_accounts: Vec::new(),
        pacing: Pacing::Auto,
        ca_bundle: None,
        proxy: None,
        source,
    });
}

/// Reads the App that the environment gives, its key as text or as a file.
fn app_of_environment(reader: &mut Reader<'_>) -> Option<App> {
    let id = reader.plain(&variable::GITHUB_APP_ID).map(|(id, _)| id);
    let key = reader.secret(&variable::GITHUB_APP_PRIVATE_KEY).or_else(|| {
        let (path, source) = reader.plain(&variable::GITHUB_APP_PRIVATE_KEY_PATH)?;
        match std::fs::read_to_string(&path) {
            Ok(pem) => Some(Sourced { value: SecretString::from(pem), source }),
            Err(error) => {
                let name = variable::GITHUB_APP_PRIVATE_KEY_PATH.0.name();
                let problem = Problem::new(format!("{name}: cannot read {path}: {error}"));
                reader
                    .problems
                    .push(problem.hint("name the PEM file that GitHub gave for the App"));
                None
            }
        }
    });
    whole_app(reader, id, key, "GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY (or _PATH)")
}

/// An App is its id and its key; one without the other is a mistake.
fn whole_app(
    reader: &mut Reader<'_>,
    id: Option<String>,
    key: Option<Sourced<SecretString>>,
    names: &str,
) -> Option<App> {
    match (id, key) {
        (Some(id), Some(key)) => Some(App { id, key }),
        (None, None) => None,
        (Some(_), None) => {
            let problem = Problem::new("a GitHub App is named, and its private key is missing");
            reader.problems.push(problem.hint(format!("set both {names}")));
            None
        }
        (None, Some(_)) => {
            let problem =
                Problem::new("the private key of a GitHub App is not used: its id is missing");
            reader.warnings.push(problem.hint(format!("set both {names}")));
            None
        }
    }
}

/// Refuses addresses that would carry a credential, and warns of those that would show one.
fn checked_url(reader: &mut Reader<'_>, name: &str, url: Url) -> Option<Url> {
    if !url.username().is_empty() || url.password().is_some() {
        let problem = Problem::new(format!("{name} holds a user name or password"));
        reader
            .problems
            .push(problem.hint("give the credential as `token`, and the address without it"));
        return None;
    }
    if url.query().is_some() || url.fragment().is_some() {
        reader
            .problems
            .push(Problem::new(format!("{name} has a `?` or `#` part, expected a plain address")));
        return None;
    }
    if url.scheme() == "http" && !is_loopback(&url) {
        let problem = Problem::new(format!("{name} is not https: the token travels in the clear"));
        reader.warnings.push(problem.hint("use an https address"));
    }
    Some(url)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns the origin of an address. It has a host: only such addresses are read.
fn origin(url: &Url) -> Origin {
    Origin::new(&url.origin().ascii_serialization())
}

/// Two connections to one server could not be told apart, nor two of one name.
fn refuse_twins(reader: &mut Reader<'_>, found: &[Connection]) {
    for (at, connection) in found.iter().enumerate() {
        for earlier in &found[..at] {
            if earlier.origin == connection.origin {
                let message = format!(
                    "the connections `{}` and `{}` lead to the same server",
                    earlier.name, connection.name
                );
                reader.problems.push(Problem::new(message).hint("remove one of them"));
            } else if earlier.name == connection.name {
                let message = format!("two connections are called `{}`", connection.name);
                reader.problems.push(Problem::new(message).hint("give each its own `name`"));
            }
        }
    }
}

fn sourced(secret: &Sourced<super::value::Secret>) -> Option<Sourced<SecretString>> {
    secret.value.0.clone().map(|value| Sourced { value, source: secret.source.clone() })
}

fn proxy_for(url: &Url, network: &section::Network) -> Option<SecretString> {
    let host = url.host_str().unwrap_or_default();
    let is_exempt = |entry: &String| {
        let entry = entry.trim_start_matches("*.").trim_start_matches('.');
        entry == "*" || host == entry || host.ends_with(&format!(".{entry}"))
    };
    if is_loopback(url) || network.no_proxy.iter().any(is_exempt) {
        return None;
    }
    match url.scheme() {
        "http" => network.http_proxy.value.0.clone(),
        _ => network.https_proxy.value.0.clone(),
    }
}
