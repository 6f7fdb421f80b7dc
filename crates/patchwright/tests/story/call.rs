//! Requests as a table can hold them, and answers as text. Stories of the gateway and of secrets
//! send them to a server that runs.

use std::fmt;
use std::sync::LazyLock;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Method, Response};

use super::mask::ids;

/// No connection is kept: each test has a runtime of its own.
static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    Client::builder().no_proxy().pool_max_idle_per_host(0).build().expect("an HTTP client")
});

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    method: Method,
    path: String,
    headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Call {
    pub(crate) fn get(path: &str) -> Self {
        Self {
            method: Method::GET,
            path: path.to_owned(),
            headers: HeaderMap::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn post(path: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { method: Method::POST, body: body.into(), ..Self::get(path) }
    }

    /// Sends it to another address.
    pub(crate) fn at(mut self, path: &str) -> Self {
        path.clone_into(&mut self.path);
        self
    }

    /// Adds a header, or changes it.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let value = HeaderValue::from_bytes(value.as_ref()).expect("a header's value");
        self.headers.insert(name.parse::<HeaderName>().expect("a header's name"), value);
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.remove(name);
        self
    }

    /// Shows the admin token.
    pub(crate) fn by_operator(self, token: &str) -> Self {
        self.with("authorization", format!("Bearer {token}"))
    }

    /// Sends it and reads the answer to its end.
    pub(crate) async fn send(&self, gateway: &str) -> Answer {
        let response = self.open(gateway).await;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let body = response.bytes().await.expect("the answer arrives whole");
        Answer { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
    }

    /// Sends it and returns as soon as the answer begins.
    pub(crate) async fn open(&self, gateway: &str) -> Response {
        let request = CLIENT.request(self.method.clone(), format!("{gateway}{}", self.path));
        let request = request.headers(self.headers.clone()).body(self.body.clone());
        request.send().await.expect("the gateway answers")
    }
}

/// What came back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|why| panic!("{why}: {self}"))
    }

    /// Returns the job that a delivery became.
    #[track_caller]
    pub(crate) fn job(&self) -> String {
        let job = self.json()["job_id"].as_str().map(str::to_owned);
        job.unwrap_or_else(|| panic!("no job: {self}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Status and body; ids, which are different each time, are left out.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.status, ids(&self.body))
    }
}
