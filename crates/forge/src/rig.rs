//! What the tests of this crate share: a clock that leaps, and a small HTTP server that answers
//! as it is told and remembers what it was asked.

mod desk;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use domain::{Clock, Time};
use report::redact::Redactor;
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::http::{Connection, Pacing};

pub(crate) use desk::{Desk, OUR_ID, THEIR_ID};

pub(crate) const NOW: Time = Time(1_700_000_000_000);
pub(crate) const TOKEN: &str = "ghp_canary0123456789";

/// A clock on which waiting is leaping: nobody sleeps, and the time that was waited is seen.
#[derive(Debug)]
pub(crate) struct LeapingClock(Mutex<Time>);

impl LeapingClock {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(NOW)))
    }

    pub(crate) fn advance(&self, by: Duration) {
        let mut now = self.0.lock().unwrap();
        *now = *now + by;
    }

    pub(crate) fn passed(&self) -> Duration {
        self.now().since(NOW)
    }
}

#[async_trait]
impl Clock for LeapingClock {
    fn now(&self) -> Time {
        *self.0.lock().unwrap()
    }

    fn monotonic(&self) -> Duration {
        self.passed()
    }

    async fn sleep_until(&self, at: Time) {
        let mut now = self.0.lock().unwrap();
        *now = at.max(*now);
    }
}

/// A request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    /// Head of the request, in lower case.
    pub(crate) head: String,
    /// The same as it was written.
    raw: String,
    pub(crate) body: String,
}

impl Seen {
    /// Returns the value of a header as it was written.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let mut lines = self.raw.lines().filter_map(|line| line.split_once(':'));
        let found = lines.find(|(header, _)| header.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim().to_owned())
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Answer {
        status: u16,
        headers: Vec<(String, String)>,
        body: String,
    },
    /// The connection ends without a word.
    Cut,
}

impl Reply {
    pub(crate) fn json(status: u16, body: impl ToString) -> Self {
        Self::Answer { status, headers: Vec::new(), body: body.to_string() }
    }

    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        if let Self::Answer { headers, .. } = &mut self {
            headers.push((name.to_owned(), value.to_owned()));
        }
        self
    }
}

/// A server on the loopback interface.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub(crate) async fn start(reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let (reply, log) = (Arc::new(reply), Arc::clone(&seen));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (reply, log) = (Arc::clone(&reply), Arc::clone(&log));
                tokio::spawn(async move { serve(stream, &*reply, &log).await });
            }
        });
        Self { url, seen }
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// What was asked, one `METHOD path` per request.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| format!("{} {}", seen.method, seen.path)).collect()
    }
}

async fn serve(
    mut stream: TcpStream,
    reply: &(dyn Fn(&Seen) -> Reply + Send + Sync),
    log: &Mutex<Vec<Seen>>,
) {
    let mut bytes = Vec::new();
    let head = loop {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return;
        }
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break String::from_utf8(bytes.drain(..end + 4).collect()).unwrap();
        }
    };
    let length = head
        .lines()
        .find_map(|line| {
            line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok()
        })
        .unwrap_or(0);
    while bytes.len() < length {
        stream.read_buf(&mut bytes).await.unwrap();
    }
    let mut words = head.split_ascii_whitespace();
    let seen = Seen {
        method: words.next().unwrap().to_owned(),
        path: words.next().unwrap().to_owned(),
        head: head.to_ascii_lowercase(),
        raw: head.clone(),
        body: String::from_utf8(bytes).unwrap(),
    };
    let answer = reply(&seen);
    log.lock().unwrap().push(seen);
    if let Reply::Answer { status, headers, body } = answer {
        let headers: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {status} Status\r\ncontent-length: {length}\r\nconnection: close\r\n{headers}\r\n{body}"
        );
        // A client that has heard enough may be gone.
        drop(stream.write_all(text.as_bytes()).await);
    }
}

/// A connection to a test server.
pub(crate) fn connection(url: &str, clock: Arc<LeapingClock>) -> Connection {
    Connection {
        api: url.parse().unwrap(),
        token: SecretString::from(TOKEN),
        pacing: Pacing::Auto,
        proxy: None,
        ca_bundle: None,
        redactor: Arc::new(Redactor::new([])),
        clock,
    }
}
