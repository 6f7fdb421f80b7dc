//! One delivery sent by hand, so that the driver decides what happens between its bytes and its
//! answer.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use http::StatusCode;

use crate::github::SignedDelivery;

#[derive(Debug)]
pub(super) struct Letter {
    stream: TcpStream,
    last: Option<u8>,
    answer: Vec<u8>,
}

impl Letter {
    /// Sends all of a delivery but its last byte.
    pub(super) fn begin(gateway: SocketAddr, delivery: &SignedDelivery) -> Result<Self> {
        let mut stream = TcpStream::connect_timeout(&gateway, Duration::from_millis(500))?;
        let mut bytes = format!("POST /api/webhook HTTP/1.1\r\nhost: {gateway}\r\n").into_bytes();
        for (name, value) in &delivery.headers {
            bytes.extend_from_slice(name.as_str().as_bytes());
            bytes.extend_from_slice(b": ");
            bytes.extend_from_slice(value.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        write!(bytes, "content-length: {}\r\nconnection: close\r\n\r\n", delivery.body.len())?;
        bytes.extend_from_slice(&delivery.body);
        let last = bytes.pop();
        stream.write_all(&bytes)?;
        Ok(Self { stream, last, answer: Vec::new() })
    }

    /// Sends the last byte.
    pub(super) fn finish(&mut self) -> Result<()> {
        let last = self.last.take().context("the last byte was sent before")?;
        Ok(self.stream.write_all(&[last])?)
    }

    /// Returns the answer if the whole of it is there.
    pub(super) fn answer(&mut self) -> Result<Option<(StatusCode, Vec<u8>)>> {
        self.stream.set_nonblocking(true)?;
        match self.stream.read_to_end(&mut self.answer) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // The gateway died: what it had said before stands.
            Err(_) => {}
        }
        Ok(parse(&self.answer))
    }
}

fn parse(answer: &[u8]) -> Option<(StatusCode, Vec<u8>)> {
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let (head, body) = (std::str::from_utf8(&answer[..head]).ok()?, &answer[head + 4..]);
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse::<StatusCode>().ok()?;
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    })?;
    (body.len() >= length).then(|| (status, body[..length].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_answer_is_an_answer() {
        let whole = b"HTTP/1.1 202 Accepted\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(parse(whole), Some((StatusCode::ACCEPTED, b"{}".to_vec())));
        assert_eq!(parse(&whole[..whole.len() - 1]), None);
        assert_eq!(parse(&whole[..30]), None);
    }
}
