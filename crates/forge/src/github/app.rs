//! A GitHub App: it proves itself with a signed word that lasts minutes, and gets a token for each
//! installation that lasts an hour. Tokens are minted when they are needed and renewed early; an
//! App wins over a personal token.

use std::collections::HashMap;
use std::time::Duration;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeyPair;
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use domain::{AccountId, Actor, Time};
use http::Method;
use http::header::AUTHORIZATION;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use tokio::sync::Mutex;

use crate::error::Error;
use crate::http::{Client, Content, Misconfigured};

/// A word of ours is valid this long; GitHub takes ten minutes at most.
const WORD: Duration = Duration::from_secs(9 * 60);
/// Clocks differ: the word is dated back.
const SKEW: Duration = Duration::from_secs(60);
/// A token is renewed when it lasts no longer than this.
const EARLY: Duration = Duration::from_secs(5 * 60);
/// Where an installation is asked for again, because it may have been moved.
const KNOWN_FOR: Duration = Duration::from_secs(3600);

/// An App with its key.
pub(super) struct App {
    id: String,
    key: KeyPair,
    /// What we know of installations, by the repository's name in lower case.
    installations: Mutex<HashMap<String, Found>>,
    /// One token for each installation. Held while one is minted, so that it is minted once.
    tokens: Mutex<HashMap<u64, Minted>>,
}

#[derive(Clone, Copy)]
struct Found {
    installation: u64,
    at: Time,
}

struct Minted {
    token: SecretString,
    expires: Time,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("id", &self.id).finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Installation {
    id: u64,
}

#[derive(Deserialize)]
struct Access {
    token: String,
    expires_at: String,
}

#[derive(Deserialize)]
struct Itself {
    slug: String,
}

#[derive(Deserialize)]
struct Account {
    id: i64,
    login: String,
}

impl App {
    /// Reads the private key as GitHub gives it (PKCS#1), or in PKCS#8.
    pub(super) fn new(id: &str, pem: &SecretString) -> Result<Self, Misconfigured> {
        let wrong = |_| Misconfigured::AppKey;
        let der = PrivateKeyDer::from_pem_slice(pem.expose_secret().as_bytes())
            .map_err(|_| Misconfigured::AppKey)?;
        let key = match der {
            PrivateKeyDer::Pkcs1(der) => {
                KeyPair::from_der(der.secret_pkcs1_der()).map_err(wrong)?
            }
            PrivateKeyDer::Pkcs8(der) => {
                KeyPair::from_pkcs8(der.secret_pkcs8_der()).map_err(wrong)?
            }
            _ => return Err(Misconfigured::AppKey),
        };
        Ok(Self {
            id: id.to_owned(),
            key,
            installations: Mutex::default(),
            tokens: Mutex::default(),
        })
    }

    /// Returns the account under which the App speaks.
    pub(super) async fn account(&self, client: &Client) -> Result<Actor, Error> {
        let app = self.itself(client)?;
        let itself: Itself = app.read("our own App", app.url(&["app"])?, app.now()).await?;
        let login = format!("{}[bot]", itself.slug);
        let what = format!("the account {login}");
        let url = app.url(&["users", &login])?;
        // The App's own word opens nothing but what is the App's; accounts are public.
        let account: Account = client.read(&what, url, client.now()).await?;
        Ok(Actor { id: Some(AccountId(account.id)), login: account.login, bot: true })
    }

    /// Returns the token for a repository, minted anew if the known one ends soon.
    pub(super) async fn token(
        &self,
        client: &Client,
        full_name: &str,
    ) -> Result<SecretString, Error> {
        let installation = self.installation(client, full_name).await?;
        let now = client.clock().now();
        let mut tokens = self.tokens.lock().await;
        if let Some(minted) = tokens.get(&installation)
            && minted.expires.since(now) > EARLY
        {
            return Ok(minted.token.clone());
        }
        let minted = self.mint(client, installation).await?;
        let token = minted.token.clone();
        client.redactor().add(&token);
        tokens.insert(installation, minted);
        Ok(token)
    }

    /// Forgets a token that was not accepted, and where the repository is installed.
    pub(super) async fn forget(&self, full_name: &str) {
        let found = self.installations.lock().await.remove(&full_name.to_lowercase());
        if let Some(Found { installation, .. }) = found {
            self.tokens.lock().await.remove(&installation);
        }
    }

    async fn installation(&self, client: &Client, full_name: &str) -> Result<u64, Error> {
        let (name, now) = (full_name.to_lowercase(), client.clock().now());
        if let Some(found) = self.installations.lock().await.get(&name)
            && now.since(found.at) < KNOWN_FOR
        {
            return Ok(found.installation);
        }
        let what = format!("the App's installation for {full_name}");
        let Some((owner, repo)) = full_name.split_once('/') else {
            return Err(Error::Gone { what });
        };
        let app = self.itself(client)?;
        let url = app.url(&["repos", owner, repo, "installation"])?;
        let Installation { id: installation } = app.read(&what, url, app.now()).await?;
        self.installations.lock().await.insert(name, Found { installation, at: now });
        Ok(installation)
    }

    async fn mint(&self, client: &Client, installation: u64) -> Result<Minted, Error> {
        let what = format!("a token for installation {installation}");
        let app = self.itself(client)?;
        let url = app.url(&["app", "installations", &installation.to_string(), "access_tokens"])?;
        // A token more or less harms nobody, so this is never paced and never looked for.
        let answer = app
            .write(&what, (Method::POST, url), Some(&json!({})), Content::Aside, app.now())
            .await?;
        let Access { token, expires_at } = answer.parse(&what)?;
        let Ok(expires) = expires_at.parse::<jiff::Timestamp>() else {
            return Err(Error::Garbled { what, why: "it has no end".to_owned() });
        };
        Ok(Minted { token: SecretString::from(token), expires: Time(expires.as_millisecond()) })
    }

    /// Returns the client of the App itself.
    fn itself(&self, client: &Client) -> Result<Client, Error> {
        let refused = |why: &str| Error::Unauthenticated { why: why.to_owned() };
        let word = self
            .word(client.clock().now())
            .ok_or_else(|| refused("the App's key does not sign"))?;
        client
            .speaking_as(AUTHORIZATION, "Bearer ", &word)
            .map_err(|_| refused("the App's id cannot be sent in a header"))
    }

    /// Signs a JSON web token with RS256.
    fn word(&self, now: Time) -> Option<SecretString> {
        let seconds = |at: Time| at.0.div_euclid(1000);
        let claims = json!({
            "iat": seconds(now) - i64::try_from(SKEW.as_secs()).ok()?,
            "exp": seconds(now + WORD) - i64::try_from(SKEW.as_secs()).ok()?,
            "iss": self.id,
        });
        let header = json!({ "alg": "RS256", "typ": "JWT" });
        let message =
            format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims.to_string()));
        let mut signature = vec![0; self.key.public_modulus_len()];
        let random = SystemRandom::new();
        self.key.sign(&RSA_PKCS1_SHA256, &random, message.as_bytes(), &mut signature).ok()?;
        Some(SecretString::from(format!("{message}.{}", BASE64.encode(signature))))
    }
}

#[cfg(test)]
mod tests;
