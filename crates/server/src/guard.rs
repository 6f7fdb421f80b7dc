//! Who may use the admin API (T10).
//!
//! The Host must be one of ours, so that a page of somebody else cannot reach the API by pointing
//! its own name at this machine. The token stands in the Authorization header and nowhere else, and
//! is compared in constant time. There is no CORS: no other origin may read an answer.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::header::{AUTHORIZATION, HOST};
use http::uri::Authority;
use http::{HeaderMap, Uri};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::app::Gateway;
use crate::error::Error;

/// The names by which this machine calls itself.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// What a request to the admin API is held against.
#[derive(Debug)]
pub(crate) struct Guard {
    /// The digest of the token: equal lengths take equal time.
    token: Option<[u8; 32]>,
    hosts: Vec<String>,
}

impl Guard {
    pub(crate) fn new(
        token: Option<&SecretString>,
        hosts: &[String],
        listen: Option<SocketAddr>,
    ) -> Self {
        let token = token.map(ExposeSecret::expose_secret).filter(|token| !token.is_empty());
        // An unspecified address is none by which anybody calls us.
        let listen =
            listen.filter(|address| !address.ip().is_unspecified()).map(|address| match address {
                SocketAddr::V4(address) => address.ip().to_string(),
                SocketAddr::V6(address) => format!("[{}]", address.ip()),
            });
        let named = hosts.iter().map(|host| host.trim().trim_end_matches('.').to_ascii_lowercase());
        Self {
            token: token.map(digest),
            hosts: LOOPBACK.map(str::to_owned).into_iter().chain(listen).chain(named).collect(),
        }
    }

    /// Says whether a request may pass.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
        if !self.is_ours(uri, headers) {
            return Err(Error::WrongHost);
        }
        let Some(token) = &self.token else { return Err(Error::AdminOff) };
        let shown = bearer(headers).ok_or(Error::NoToken)?;
        if bool::from(digest(shown).ct_eq(token)) { Ok(()) } else { Err(Error::WrongToken) }
    }

    /// Every name in the request must be ours: the Host header's, and the address's if it has one.
    fn is_ours(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        let mut named = headers.get_all(HOST).iter();
        let (Some(host), None) = (named.next(), named.next()) else { return false };
        let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
        let known = |authority: &Authority| {
            let name = authority.host().trim_end_matches('.').to_ascii_lowercase();
            !authority.as_str().contains('@') && self.hosts.contains(&name)
        };
        host.as_ref().is_some_and(known) && uri.authority().is_none_or(known)
    }
}

/// Stands in front of every admin route.
pub(crate) async fn admin_only(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
    next: Next,
) -> Result<Response, Error> {
    gateway.guard.check(request.uri(), request.headers())?;
    Ok(next.run(request).await)
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut shown = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (shown.next(), shown.next()) else { return None };
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use http::{HeaderName, HeaderValue};

    use super::*;

    fn guard() -> Guard {
        let listen = "192.0.2.7:8080".parse().unwrap();
        Guard::new(
            Some(&SecretString::from("s3cret")),
            &["Bot.Example.com".to_owned()],
            Some(listen),
        )
    }

    fn ask(guard: &Guard, uri: &str, headers: &[(HeaderName, &'static str)]) -> String {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_static(value));
        }
        match guard.check(&uri.parse().unwrap(), &map) {
            Ok(()) => "passed".to_owned(),
            Err(error) => format!("{error:?}"),
        }
    }

    fn with_host(host: &'static str) -> String {
        ask(&guard(), "/api/jobs", &[(HOST, host), (AUTHORIZATION, "Bearer s3cret")])
    }

    fn with_token(authorization: &'static str) -> String {
        ask(&guard(), "/api/jobs", &[(HOST, "localhost"), (AUTHORIZATION, authorization)])
    }

    #[test]
    fn t10_the_right_token_passes_under_our_own_names() {
        for host in [
            "localhost",
            "localhost:8080",
            "127.0.0.1:8080",
            "[::1]:8080",
            "192.0.2.7:8080",
            "bot.example.com",
            "BOT.example.com.:443",
        ] {
            assert_eq!(with_host(host), "passed", "{host}");
        }
    }

    #[test]
    fn t10_any_other_host_is_refused_whatever_the_token() {
        for host in [
            "evil.example",
            "localhost.evil.example",
            "evil.example:8080",
            "bot.example.com@evil.example",
            "127.0.0.2",
            "",
            "a b",
        ] {
            assert_eq!(with_host(host), "WrongHost", "{host}");
        }
        assert_eq!(ask(&guard(), "/", &[(AUTHORIZATION, "Bearer s3cret")]), "WrongHost");
        let twice = [(HOST, "localhost"), (HOST, "evil.example"), (AUTHORIZATION, "Bearer s3cret")];
        assert_eq!(ask(&guard(), "/", &twice), "WrongHost");
        let elsewhere = [(HOST, "localhost"), (AUTHORIZATION, "Bearer s3cret")];
        assert_eq!(ask(&guard(), "http://evil.example/api/jobs", &elsewhere), "WrongHost");
    }

    #[test]
    fn t10_an_unspecified_listening_address_is_no_name() {
        let guard = Guard::new(
            Some(&SecretString::from("s3cret")),
            &[],
            Some("0.0.0.0:80".parse().unwrap()),
        );
        let headers = [(HOST, "0.0.0.0"), (AUTHORIZATION, "Bearer s3cret")];
        assert_eq!(ask(&guard, "/", &headers), "WrongHost");
    }

    #[test]
    fn t10_only_the_whole_token_in_its_header_passes() {
        assert_eq!(with_token("bearer s3cret"), "passed");
        assert_eq!(with_token("Bearer s3cre"), "WrongToken");
        assert_eq!(with_token("Bearer s3cret2"), "WrongToken");
        assert_eq!(with_token("Bearer "), "NoToken");
        assert_eq!(with_token("Basic s3cret"), "NoToken");
        assert_eq!(with_token("s3cret"), "NoToken");
        assert_eq!(ask(&guard(), "/api/jobs?token=s3cret", &[(HOST, "localhost")]), "NoToken");
        let twice =
            [(HOST, "localhost"), (AUTHORIZATION, "Bearer x"), (AUTHORIZATION, "Bearer s3cret")];
        assert_eq!(ask(&guard(), "/", &twice), "NoToken");
    }

    #[test]
    fn t10_without_a_configured_token_the_admin_api_is_off() {
        for token in [None, Some(SecretString::from(""))] {
            let guard = Guard::new(token.as_ref(), &[], None);
            let headers = [(HOST, "localhost"), (AUTHORIZATION, "Bearer x")];
            assert_eq!(ask(&guard, "/", &headers), "AdminOff");
        }
    }
}
