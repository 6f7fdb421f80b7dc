//! How much a stranger may send, how slowly, and how often.

use std::time::Duration;

use expect_test::expect;
use testkit::World;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::delivery::{comment, github};
use super::{gateway, policy};
use crate::story::call::Call;

/// The longest body that is taken.
const LIMIT: usize = 25 * 1024 * 1024;

/// For how long, in real time, an answer may fail to come.
const PATIENCE: Duration = Duration::from_secs(60);

/// Opens a connection and sends the head of an unsigned delivery.
async fn announce(world: &World, length: &str) -> TcpStream {
    let address = world.gateway().strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /api/webhook HTTP/1.1\r\nHost: {address}\r\nX-GitHub-Event: issues\r\n{length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Reads until the gateway hangs up; returns the status line and the body.
async fn answer(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    let read = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut answer)).await;
    read.expect("an answer").unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return answer };
    format!("{} {body}", head.lines().next().unwrap_or_default())
}

fn help(id: u64) -> String {
    comment(id, "alice", "@bot help")
}

#[tokio::test]
async fn a_body_that_announces_too_much_is_refused_before_it_comes() {
    let world = gateway(policy()).await;
    let announced = format!("Content-Length: {}\r\nExpect: 100-continue", LIMIT + 1);
    let stream = announce(&world, &announced).await;
    expect![[r#"HTTP/1.1 413 Payload Too Large {"status":"error","error":"the body is larger than 26214400 bytes"}"#]].assert_eq(&answer(stream).await);
    world.abandon();
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused_before_its_signature_is_looked_at() {
    let world = gateway(policy()).await;
    let body = " ".repeat(LIMIT + 1);
    for call in [github("ping", body.clone()), Call::post("/api/webhook", body)] {
        let answer = call.send(world.gateway()).await.to_string();
        assert_eq!(
            answer,
            r#"413 {"status":"error","error":"the body is larger than 26214400 bytes"}"#
        );
    }
    world.abandon();
}

#[tokio::test]
async fn a_body_that_announces_nothing_is_refused_when_it_has_become_too_long() {
    let world = gateway(policy()).await;
    let mut stream = announce(&world, "Transfer-Encoding: chunked").await;
    let piece = [b"100000\r\n".to_vec(), vec![b' '; 0x10_0000], b"\r\n".to_vec()].concat();
    for _ in 0..LIMIT / 0x10_0000 {
        stream.write_all(&piece).await.unwrap();
    }
    stream.write_all(b"1\r\n \r\n0\r\n\r\n").await.unwrap();
    expect![[r#"HTTP/1.1 413 Payload Too Large {"status":"error","error":"the body is larger than 26214400 bytes"}"#]].assert_eq(&answer(stream).await);
    world.abandon();
}

#[tokio::test]
async fn the_longest_body_is_taken() {
    let world = gateway(policy()).await;
    let mut body = help(1);
    body.push_str(&" ".repeat(LIMIT - body.len()));
    assert_eq!(github("issue_comment", body).send(world.gateway()).await.status, 202);
    world.abandon();
}

#[tokio::test]
async fn a_body_that_breaks_off_is_no_job() {
    let world = gateway(policy()).await;
    let call = github("issue_comment", help(1));
    let mut stream = announce(&world, &format!("Content-Length: {}", call.body.len())).await;
    stream.write_all(&call.body[..100]).await.unwrap();
    stream.shutdown().await.unwrap();
    expect![[
        r#"HTTP/1.1 400 Bad Request {"status":"error","error":"the body did not arrive whole"}"#
    ]]
    .assert_eq(&answer(stream).await);
    assert!(world.jobs().await.is_empty());
    assert_eq!(call.send(world.gateway()).await.status, 202);
    world.abandon();
}

#[tokio::test]
async fn a_body_that_does_not_come_is_not_waited_for_without_end() {
    let world = gateway(policy()).await;
    let waiting = world.clock.pending_sleepers();
    let mut stream = announce(&world, "Content-Length: 100").await;
    stream.write_all(b"{").await.unwrap();
    world.clock.until_sleepers(waiting + 1).await;
    world.clock.advance(Duration::from_secs(30));
    expect![[
        r#"HTTP/1.1 408 Request Timeout {"status":"error","error":"the body took too long"}"#
    ]]
    .assert_eq(&answer(stream).await);
    world.abandon();
}

#[tokio::test]
async fn an_address_that_guesses_signatures_has_to_wait_and_a_right_one_passes() {
    let world = gateway(policy()).await;
    let guess = github("issue_comment", help(1)).with("x-hub-signature-256", "sha256=00");
    let send = async |call: &Call| call.send(world.gateway()).await;
    for n in 1..=60 {
        assert_eq!(send(&guess).await.status, 401, "guess {n}");
    }
    world.clock.advance(Duration::from_secs(20));
    let told_to_wait = send(&guess).await;
    expect![[r#"429 {"status":"error","error":"too many wrong signatures from this address"}"#]]
        .assert_eq(&told_to_wait.to_string());
    assert_eq!(told_to_wait.header("retry-after"), Some("40"));
    assert_eq!(send(&github("issue_comment", help(1))).await.status, 202);
    assert_eq!(send(&github("ping", "{}")).await.status, 200);
    assert_eq!(send(&guess).await.status, 429);

    world.clock.advance(Duration::from_mins(1));
    assert_eq!(send(&guess).await.status, 401);
    world.abandon();
}
