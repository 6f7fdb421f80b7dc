//! One forge as configured: where it is, how it is reached, and with which credential.

use std::path::PathBuf;
use std::sync::Arc;

use domain::Clock;
use http::header::HeaderMap;
use report::redact::Redactor;
use secrecy::{ExposeSecret, SecretString};
use url::Url;

use super::pace::Pacing;
use super::{CONNECT_DEADLINE, REQUEST_DEADLINE};

/// What an adapter needs to reach its forge.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The base of the API: `https://api.github.com`, or `https://HOST/api/v3`.
    pub api: Url,
    /// A token, or the private key of an App.
    pub token: SecretString,
    pub pacing: Pacing,
    /// The proxy to go through. It may carry a password, so it is a secret.
    pub proxy: Option<SecretString>,
    /// A PEM file of certificates that are trusted beside the system's.
    pub ca_bundle: Option<PathBuf>,
    /// Stands in front of everything that leaves: bodies and errors (T6).
    pub redactor: Arc<Redactor>,
    pub clock: Arc<dyn Clock>,
}

/// Why a connection cannot be used as configured.
#[derive(Debug, thiserror::Error)]
pub enum Misconfigured {
    #[error("the address of the API is not usable: {why}")]
    Address { why: &'static str },
    #[error("the token holds characters that cannot be sent in a header")]
    Token,
    #[error("the App's private key is not a PEM file with an RSA key")]
    AppKey,
    #[error("the proxy's address is not usable")]
    Proxy,
    #[error("the certificates in {} cannot be used: {why}", path.display())]
    Certificates { path: PathBuf, why: String },
    #[error("the HTTP client cannot be set up: {why}")]
    Client { why: String },
}

impl Connection {
    /// Makes the HTTP client. Credentials become known to the redactor first.
    pub(super) fn open(&self, headers: HeaderMap) -> Result<reqwest::Client, Misconfigured> {
        self.redactor.add(&self.token);
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("patchwright/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(CONNECT_DEADLINE)
            .timeout(REQUEST_DEADLINE)
            // Followed by hand, at the origin only (T5).
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            // The environment is read in one place, and that is not here.
            .no_proxy();
        if let Some(proxy) = &self.proxy {
            self.redactor.add(proxy);
            let url = Url::parse(proxy.expose_secret()).map_err(|_| Misconfigured::Proxy)?;
            if let Some(password) = url.password() {
                self.redactor.add(&SecretString::from(password));
            }
            let proxy = reqwest::Proxy::all(url).map_err(|_| Misconfigured::Proxy)?;
            builder = builder.proxy(proxy);
        }
        builder = match &self.ca_bundle {
            Some(path) => builder.tls_certs_merge(certificates(path)?),
            // Without TLS the system's certificates need not be there, nor be loaded.
            None if self.api.scheme() == "http" && self.proxy.is_none() => {
                builder.tls_certs_only([])
            }
            None => builder,
        };
        builder.build().map_err(|error| Misconfigured::Client { why: super::answer::chain(&error) })
    }
}

fn certificates(path: &PathBuf) -> Result<Vec<reqwest::Certificate>, Misconfigured> {
    let wrong = |why: String| Misconfigured::Certificates { path: path.clone(), why };
    let pem = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let found =
        reqwest::Certificate::from_pem_bundle(&pem).map_err(|error| wrong(error.to_string()))?;
    if found.is_empty() {
        return Err(wrong("it holds none".to_owned()));
    }
    Ok(found)
}
