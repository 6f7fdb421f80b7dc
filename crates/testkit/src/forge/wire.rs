//! The forge's socket: connections that can be cut at will, and a port that can refuse them.
//!
//! The port stays ours while connections are refused (a second socket is bound to it and never
//! listens), so that no other process takes it and the forge comes back at the same address.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::fault::{Faults, Listening, Outage};

/// One connection's switch. A request carries it, so that its own connection can be cut.
#[derive(Clone, Debug)]
pub(super) struct Wire(CancellationToken);

impl Wire {
    /// Cuts the connection: the other side sees it close without another byte.
    pub(super) fn cut(&self) {
        self.0.cancel();
    }
}

impl Connected<IncomingStream<'_, Port>> for Wire {
    fn connect_info(stream: IncomingStream<'_, Port>) -> Self {
        stream.remote_addr().clone()
    }
}

/// The listening side. It stops listening, and cuts what is connected, while the outage says so.
#[derive(Debug)]
pub(super) struct Port {
    address: SocketAddr,
    /// Keeps the port when nobody listens on it.
    _reserved: TcpSocket,
    listener: Option<TcpListener>,
    faults: Arc<Faults>,
    outage: watch::Receiver<Outage>,
    /// The parent of every open connection's switch.
    connections: CancellationToken,
    /// Ends with the forge itself.
    life: CancellationToken,
}

impl Port {
    /// Takes the port (0 for any) on the loopback interface.
    pub(super) fn open(
        port: u16,
        faults: Arc<Faults>,
        life: CancellationToken,
    ) -> io::Result<Self> {
        let reserved = socket(SocketAddr::from(([127, 0, 0, 1], port)))?;
        let address = reserved.local_addr()?;
        let listener = socket(address)?.listen(1024)?;
        let outage = faults.watch_outage();
        let connections = life.child_token();
        Ok(Self {
            address,
            _reserved: reserved,
            listener: Some(listener),
            faults,
            outage,
            connections,
            life,
        })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    fn refuse(&mut self) {
        self.listener = None;
        self.connections.cancel();
        self.connections = self.life.child_token();
        self.faults.report_listening(Listening::No);
    }

    fn listen(&mut self) -> io::Result<()> {
        if self.listener.is_none() {
            self.listener = Some(socket(self.address)?.listen(1024)?);
        }
        self.faults.report_listening(Listening::Yes);
        Ok(())
    }
}

impl Listener for Port {
    type Io = Cuttable;
    type Addr = Wire;

    async fn accept(&mut self) -> (Cuttable, Wire) {
        loop {
            let refusing = *self.outage.borrow_and_update() == Outage::Refusing;
            if refusing {
                self.refuse();
            } else if let Err(error) = self.listen() {
                tracing::error!(%error, "the fake forge cannot listen again");
            }
            let Some(listener) = &self.listener else {
                if self.outage.changed().await.is_err() {
                    // The switchboard is gone, and with it whoever could end the outage.
                    std::future::pending::<()>().await;
                }
                continue;
            };
            tokio::select! {
                biased;
                _ = self.outage.changed() => {}
                accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                    let wire = Wire(self.connections.child_token());
                    let cut = Box::pin(wire.0.clone().cancelled_owned());
                    return (Cuttable { stream, wire: wire.clone(), cut }, wire);
                },
            }
        }
    }

    fn local_addr(&self) -> io::Result<Wire> {
        Ok(Wire(self.connections.clone()))
    }
}

/// Binds a socket whose port may be bound once more by this process.
fn socket(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseport(true)?;
    socket.bind(address)?;
    Ok(socket)
}

/// A connection that ends for both sides once its wire is cut.
pub(super) struct Cuttable {
    stream: TcpStream,
    wire: Wire,
    cut: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl Cuttable {
    fn is_cut(&mut self, cx: &mut Context<'_>) -> bool {
        self.wire.0.is_cancelled() || self.cut.as_mut().poll(cx).is_ready()
    }
}

impl AsyncRead for Cuttable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_cut(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Cuttable {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_cut(cx) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionAborted.into()));
        }
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
