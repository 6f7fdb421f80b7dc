//! Webhook deliveries as values: signed, and sent when, where and as often as a test says.

use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde_json::Value;

/// The headers in which hosts tell the id of a delivery.
const IDS: [&str; 4] =
    ["x-github-delivery", "x-gitea-delivery", "x-gitcode-delivery", "idempotency-key"];

/// A delivery, ready to be sent. Cloning it is a redelivery: the same id again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedDelivery {
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// What a receiver answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// No connection is kept between two deliveries: they may be sent from different runtimes.
static CLIENT: LazyLock<Result<reqwest::Client, reqwest::Error>> =
    LazyLock::new(|| reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build());

impl SignedDelivery {
    /// Puts a delivery together. A value that no header can hold is left out.
    pub(crate) fn new<const N: usize>(fields: [(&'static str, String); N], body: Bytes) -> Self {
        let mut headers = HeaderMap::new();
        for (name, value) in fields {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        Self { headers, body }
    }

    /// Returns the id that stays the same over redeliveries.
    pub fn id(&self) -> &str {
        let id = IDS.iter().find_map(|name| self.headers.get(*name));
        id.and_then(|id| id.to_str().ok()).unwrap_or_default()
    }

    /// Sends it once.
    pub async fn send_to(&self, url: &str) -> Result<Answered, reqwest::Error> {
        let client = match &*CLIENT {
            Ok(client) => client,
            Err(why) => panic!("no HTTP client for deliveries: {why}"),
        };
        let request = client.post(url).headers(self.headers.clone()).body(self.body.clone());
        let response = request.send().await?;
        let (status, headers) = (response.status(), response.headers().clone());
        Ok(Answered { status, headers, body: response.bytes().await? })
    }
}

impl Answered {
    /// Returns the body as JSON, null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }
}
