//! Listens, and gives each connection its limits.
//!
//! hyper is used without axum's `serve`, which has no limit on the time that a client takes for the
//! head of a request. Those times are the system's, not the domain clock's: they belong to the wire.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use engine::ingest::Belief;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Service;

use crate::app::App;
use crate::router::assemble;

/// The longest head of a request, and what a connection buffers of a body.
const BUFFER: usize = 64 * 1024;

/// How long to wait when the system has no connection to give (no descriptors left, for example).
const PAUSE: Duration = Duration::from_secs(1);

/// Serves until `shutdown` resolves, then lets open requests end within the limit for draining.
pub async fn serve(
    listener: TcpListener,
    app: App,
    shutdown: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let listen = listener.local_addr()?;
    if app.belief == Belief::Unchecked && !listen.ip().is_loopback() {
        let why = format!(
            "test mode believes every delivery: it listens on loopback only, not on {listen}"
        );
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let limits = app.limits;
    let (gateway, router) = assemble(app, Some(listen));
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.head_time).max_buf_size(BUFFER);

    let places = Arc::new(Semaphore::new(limits.connections));
    let open = TaskTracker::new();
    let cut = CancellationToken::new();
    // However this function ends, no connection outlives it.
    let _cut = cut.clone().drop_guard();
    let mut shutdown = pin!(shutdown);
    loop {
        let arrival = async {
            let place = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
            let (stream, peer) = listener.accept().await?;
            io::Result::Ok((place, stream, peer))
        };
        let arrived = tokio::select! {
            biased;
            () = &mut shutdown => break,
            arrived = arrival => arrived,
        };
        match arrived {
            Ok((place, stream, peer)) => {
                let ends = Ends { closing: gateway.closing.clone(), cut: cut.clone() };
                let conversation = converse(stream, peer, http.clone(), router.clone(), ends);
                open.spawn(async move {
                    conversation.await;
                    drop(place);
                });
            }
            Err(error) if is_of_the_peer(&error) => {}
            Err(error) => {
                tracing::error!(%error, "no connection can be taken");
                gateway.clock.sleep_until(gateway.clock.now() + PAUSE).await;
            }
        }
    }
    drop(listener);
    gateway.closing.cancel();
    open.close();
    tokio::select! {
        () = open.wait() => {}
        () = gateway.clock.sleep_until(gateway.clock.now() + limits.drain) => {
            tracing::warn!(connections = open.len(), "requests were cut off: they did not end in time");
        }
    }
    Ok(())
}

/// The two ways in which a connection is ended by us.
struct Ends {
    /// After the request that it is at.
    closing: CancellationToken,
    /// At once.
    cut: CancellationToken,
}

async fn converse(
    stream: TcpStream,
    peer: SocketAddr,
    http: http1::Builder,
    router: Router,
    ends: Ends,
) {
    // Answers are small and whole: waiting for more to send only delays them.
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        router.clone().call(request)
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        ended = connection.as_mut() => return note(ended),
        () = ends.cut.cancelled() => return,
        () = ends.closing.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    tokio::select! {
        ended = connection => note(ended),
        () = ends.cut.cancelled() => {}
    }
}

/// What goes wrong on a connection is mostly the client's doing, and never worth more than a line.
fn note(ended: Result<(), hyper::Error>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended badly");
    }
}

/// The one who called hung up before we could answer the call.
fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

#[cfg(test)]
mod tests {
    use domain::Policy;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::sync::oneshot;
    use tokio::task::JoinHandle;

    use super::*;
    use crate::rig;

    /// Starts a server; it stops when the sender is used or dropped.
    async fn start(
        change: impl FnOnce(&mut App),
    ) -> (SocketAddr, oneshot::Sender<()>, JoinHandle<io::Result<()>>) {
        let (mut app, _, folder) = rig::app(Policy::for_bot("bot")).await;
        change(&mut app);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(async move {
            let served = serve(listener, app, async { drop(stopped.await) }).await;
            drop(folder);
            served
        });
        (address, stop, serving)
    }

    async fn say(address: SocketAddr, text: &str) -> String {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(text.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn a_served_gateway_answers_and_stops_when_told() {
        let (address, stop, serving) = start(|_| {}).await;
        let answer =
            say(address, "GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        // A connection that is kept open does not hold the end up.
        let mut idle = TcpStream::connect(address).await.unwrap();
        idle.write_all(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut first = [0; 15];
        idle.read_exact(&mut first).await.unwrap();
        stop.send(()).unwrap();
        serving.await.unwrap().unwrap();
        assert!(TcpStream::connect(address).await.is_err());
    }

    #[tokio::test]
    async fn a_live_stream_ends_when_the_server_stops() {
        let (address, stop, serving) = start(|app| app.belief = Belief::Unchecked).await;
        let body = rig::help(1);
        let delivery = format!(
            "POST /api/webhook HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-GitHub-Event: issue_comment\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let answer = say(address, &delivery).await;
        let (_, id) = answer.split_once(r#""job_id":""#).unwrap_or_else(|| panic!("{answer}"));
        let (id, _) = id.split_once('"').unwrap();

        let mut stream = TcpStream::connect(address).await.unwrap();
        let request = format!(
            "GET /api/jobs/{id}/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\r\n",
            rig::TOKEN
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut first = [0; 15];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200 OK");
        stop.send(()).unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.unwrap();
        assert!(rest.ends_with("0\r\n\r\n"), "{rest}");
        serving.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_client_that_never_finishes_its_head_is_hung_up_on() {
        let (address, stop, serving) =
            start(|app| app.limits.head_time = Duration::from_millis(20)).await;
        let answer = say(address, "GET /health HTTP/1.1\r\nHost: x\r\nX-Slow").await;
        assert!(!answer.contains("200"), "{answer}");
        stop.send(()).unwrap();
        serving.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_head_that_never_ends_is_refused() {
        let (address, stop, serving) = start(|_| {}).await;
        let endless =
            format!("GET /health HTTP/1.1\r\nHost: x\r\nX-Long: {}", "x".repeat(2 * BUFFER));
        let mut stream = TcpStream::connect(address).await.unwrap();
        // The other side may hang up before it has read all of it.
        drop(stream.write_all(endless.as_bytes()).await);
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer).await);
        assert!(!String::from_utf8_lossy(&answer).contains("200 OK"));
        stop.send(()).unwrap();
        serving.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn a_sender_of_too_much_hears_so_after_it_has_written_all_of_it() {
        let (address, stop, serving) = start(|app| app.limits.body = 1_000_000).await;
        let body = "x".repeat(1_900_000);
        let announced = format!(
            "POST /api/webhook HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        let answer = say(address, &(announced + &body)).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        let chunked = "POST /api/webhook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
        let answer =
            say(address, &format!("{chunked}{:x}\r\n{body}\r\n0\r\n\r\n", body.len())).await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
        stop.send(()).unwrap();
        serving.await.unwrap().unwrap();
    }

    #[tokio::test]
    async fn test_mode_listens_on_loopback_only() {
        let (mut app, _, _folder) = rig::app(Policy::for_bot("bot")).await;
        app.belief = Belief::Unchecked;
        let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let refused = serve(listener, app, std::future::pending()).await.unwrap_err();
        assert!(refused.to_string().contains("loopback"), "{refused}");
    }
}
