//! A small HTTP server in front of `git http-backend`, which checks Basic authentication and can be
//! told to misbehave.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// A server over all repositories of a folder.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    folder: PathBuf,
    /// `user:token`, where one is asked for.
    account: Option<String>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    requests: Vec<String>,
    /// Requests whose path ends so wait until they are let go.
    held: Option<&'static str>,
    waiting: usize,
    /// The answer to the next request whose path ends so is lost after its effect.
    lost: Option<&'static str>,
    /// Everything is answered by sending the client there.
    redirect: Option<String>,
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

impl Server {
    pub(crate) fn start(folder: &Path, account: Option<&str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            folder: folder.to_owned(),
            account: account.map(str::to_owned),
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let serving = shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = serving.clone();
                std::thread::spawn(move || shared.serve(stream));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.state.lock().unwrap().requests.clone()
    }

    pub(crate) fn hold(&self, ending: &'static str) {
        self.shared.state.lock().unwrap().held = Some(ending);
    }

    /// Waits until a request is held, and then does something on that thread.
    pub(crate) async fn once_held(&self, then: impl FnOnce() + Send + 'static) {
        let shared = self.shared.clone();
        let waiting = tokio::task::spawn_blocking(move || {
            let state = shared.state.lock().unwrap();
            drop(shared.changed.wait_while(state, |state| state.waiting == 0).unwrap());
            then();
        });
        waiting.await.unwrap();
    }

    pub(crate) fn release(&self) {
        self.shared.state.lock().unwrap().held = None;
        self.shared.changed.notify_all();
    }

    pub(crate) fn lose_answer(&self, ending: &'static str) {
        self.shared.state.lock().unwrap().lost = Some(ending);
    }

    pub(crate) fn redirect(&self, to: &str) {
        self.shared.state.lock().unwrap().redirect = Some(to.to_owned());
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) {
        let Some(request) = read(&stream) else { return };
        let (lost, redirect) = {
            let mut state = self.state.lock().unwrap();
            state.requests.push(format!("{} {}", request.method, request.path));
            let is_held =
                |state: &mut State| state.held.is_some_and(|end| request.path.ends_with(end));
            if is_held(&mut state) {
                state.waiting += 1;
                self.changed.notify_all();
                state = self.changed.wait_while(state, is_held).unwrap();
                state.waiting -= 1;
            }
            let lost = state.lost.take_if(|end| request.path.ends_with(*end)).is_some();
            (lost, state.redirect.clone())
        };
        let answer = if let Some(to) = redirect {
            let place = format!("{to}{}?{}", request.path, request.query);
            format!("HTTP/1.1 302 Found\r\nLocation: {place}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").into_bytes()
        } else if self.is_allowed(&request) {
            self.backend(&request)
        } else {
            b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"t\"\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_vec()
        };
        if !lost {
            stream.write_all(&answer).ok();
        }
    }

    fn is_allowed(&self, request: &Request) -> bool {
        self.account.as_ref().is_none_or(|account| {
            request.headers.get("authorization")
                == Some(&format!("Basic {}", STANDARD.encode(account)))
        })
    }

    fn backend(&self, request: &Request) -> Vec<u8> {
        let header = |name: &str| request.headers.get(name).cloned().unwrap_or_default();
        let mut child = Command::new("git")
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", &self.folder)
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("REMOTE_USER", "bot")
            .env("REQUEST_METHOD", &request.method)
            .env("PATH_INFO", &request.path)
            .env("QUERY_STRING", &request.query)
            .env("CONTENT_TYPE", header("content-type"))
            .env("HTTP_CONTENT_ENCODING", header("content-encoding"))
            .env("GIT_PROTOCOL", header("git-protocol"))
            .env("CONTENT_LENGTH", request.body.len().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (mut stdin, body) = (child.stdin.take().unwrap(), request.body.clone());
        std::thread::spawn(move || stdin.write_all(&body).ok());
        let output = child.wait_with_output().unwrap().stdout;
        let end = output.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(0);
        let head = String::from_utf8_lossy(&output[..end]).into_owned();
        let status =
            head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK");
        let mut answer = format!("HTTP/1.1 {status}\r\n").into_bytes();
        for line in head.lines().filter(|line| !line.starts_with("Status: ")) {
            answer.extend_from_slice(format!("{line}\r\n").as_bytes());
        }
        let length = output.len().saturating_sub(end + 4);
        answer.extend_from_slice(
            format!("Content-Length: {length}\r\nConnection: close\r\n\r\n").as_bytes(),
        );
        answer.extend_from_slice(output.get(end + 4..).unwrap_or_default());
        answer
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.insert(name.to_lowercase(), value.to_owned()),
            None => break,
        };
    }
    let mut body = Vec::new();
    if let Some(length) = headers.get("content-length").and_then(|length| length.parse().ok()) {
        reader.take(length).read_to_end(&mut body).ok()?;
    } else if headers.contains_key("transfer-encoding") {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = u64::from_str_radix(size.trim(), 16).ok()?;
            (&mut reader).take(size).read_to_end(&mut body).ok()?;
            reader.read_line(&mut String::new()).ok()?;
            if size == 0 {
                break;
            }
        }
    }
    Some(Request { method, path: path.to_owned(), query: query.to_owned(), headers, body })
}
