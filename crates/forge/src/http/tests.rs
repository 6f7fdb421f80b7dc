//! The client against a server that answers as it is told.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::*;
use crate::rig::{LeapingClock, Reply, Seen, Server, TOKEN, connection};

const PAGES: Pages = Pages { size: ("per_page", 100), next: Next::Link };

fn client(server: &Server, clock: Arc<LeapingClock>) -> Client {
    let mut token = HeaderValue::from_str(TOKEN).unwrap();
    token.set_sensitive(true);
    let headers = HeaderMap::from_iter([(http::header::AUTHORIZATION, token)]);
    Client::new(connection(&server.url, clock), headers).unwrap()
}

async fn read(client: &Client, path: &str) -> Result<Value, Error> {
    client.read("a thing", client.url(&[path])?, Deadline::starting(client.clock())).await
}

async fn write(client: &Client, content: Content) -> Result<(), Error> {
    let call = (Method::POST, client.url(&["things"])?);
    let by = Deadline::starting(client.clock());
    client.write("a thing", call, Some(&json!({"body": "text"})), content, by).await.map(drop)
}

async fn list(client: &Client) -> Result<Vec<u64>, Error> {
    let url = client.url(&["list"])?;
    Ok(client.read_all("a list", url, PAGES, |id: &u64| id.to_string()).await?.items)
}

/// A list in pages of two: `?page=N` below `last` names the next one.
fn paged(
    last: u64,
    next: impl Fn(u64) -> String + Send + Sync + 'static,
) -> impl Fn(&Seen) -> Reply {
    move |seen| {
        let page = seen.path.split("page=").last().and_then(|text| text.parse().ok()).unwrap_or(1);
        let page =
            if seen.path.contains("&page=") || seen.path.contains("?page=") { page } else { 1 };
        let reply = Reply::json(200, json!([page * 2 - 1, page * 2]));
        match page < last {
            true => reply.with("link", &format!("<{}>; rel=\"next\"", next(page + 1))),
            false => reply,
        }
    }
}

#[tokio::test]
async fn every_request_says_who_we_are() {
    let server = Server::start(|_| Reply::json(200, "{}")).await;
    let client = client(&server, LeapingClock::new());
    read(&client, "x").await.unwrap();
    let head = &server.seen()[0].head;
    assert!(
        head.contains(&format!("user-agent: patchwright/{}", env!("CARGO_PKG_VERSION"))),
        "{head}"
    );
    assert!(head.contains("cache-control: no-cache"), "{head}");
    assert!(head.contains(&format!("authorization: {TOKEN}").to_lowercase()), "{head}");
}

#[tokio::test]
async fn all_pages_are_read_in_order() {
    let server = Server::start(paged(3, |page| format!("/list?per_page=100&page={page}"))).await;
    let client = client(&server, LeapingClock::new());
    assert_eq!(list(&client).await.unwrap(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(
        server.asked(),
        [
            "GET /list?per_page=100",
            "GET /list?per_page=100&page=2",
            "GET /list?per_page=100&page=3"
        ]
    );
}

#[tokio::test]
async fn e2_a_page_that_repeats_makes_the_list_unknown() {
    let server =
        Server::start(|_| Reply::json(200, "[1,2]").with("link", "</list?page=1>; rel=\"next\""))
            .await;
    let error = list(&client(&server, LeapingClock::new())).await.unwrap_err();
    assert!(matches!(&error, Error::Garbled { why, .. } if why.contains("repeats")), "{error:?}");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn e2_a_list_without_an_end_is_unknown() {
    let server = Server::start(paged(u64::MAX, |page| format!("/list?page={page}"))).await;
    let error = list(&client(&server, LeapingClock::new())).await.unwrap_err();
    assert!(matches!(&error, Error::Garbled { why, .. } if why.contains("300 pages")), "{error:?}");
    assert_eq!(server.seen().len(), 300);
}

#[tokio::test]
async fn t5_a_next_page_on_another_host_is_refused_and_never_asked_for() {
    let elsewhere = Arc::new(Server::start(|_| Reply::json(200, "[]")).await);
    let target = elsewhere.url.clone();
    let server = Server::start(paged(2, move |page| format!("{target}/list?page={page}"))).await;
    let error = list(&client(&server, LeapingClock::new())).await.unwrap_err();
    assert!(matches!(error, Error::Garbled { .. }), "{error:?}");
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn t5_a_redirect_to_another_host_is_refused_and_never_followed() {
    let elsewhere = Arc::new(Server::start(|_| Reply::json(200, "{}")).await);
    for status in [301, 302, 303, 307, 308] {
        let target = elsewhere.url.clone();
        let server =
            Server::start(move |_| Reply::json(status, "").with("location", &target)).await;
        let client = client(&server, LeapingClock::new());
        let error = read(&client, "x").await.unwrap_err();
        assert!(
            matches!(&error, Error::Refused { why, .. } if why.contains("not at")),
            "{error:?}"
        );
        assert!(matches!(write(&client, Content::Answer).await, Err(Error::Refused { .. })));
    }
    assert!(elsewhere.asked().is_empty());
}

#[tokio::test]
async fn a_redirect_at_the_same_origin_is_followed_for_reads_only() {
    let server = Server::start(|seen| match seen.path.as_str() {
        "/new" => Reply::json(200, r#"{"new":true}"#),
        _ => Reply::json(301, "").with("location", "/new"),
    })
    .await;
    let client = client(&server, LeapingClock::new());
    assert_eq!(read(&client, "old").await.unwrap(), json!({"new": true}));
    assert!(matches!(
        write(&client, Content::Answer).await,
        Err(Error::Refused { status: 301, .. })
    ));
    assert_eq!(server.asked(), ["GET /old", "GET /new", "POST /things"]);
}

#[tokio::test]
async fn a_circle_of_redirects_ends() {
    let server = Server::start(|_| Reply::json(302, "").with("location", "/x")).await;
    let error = read(&client(&server, LeapingClock::new()), "x").await.unwrap_err();
    assert!(matches!(error, Error::Garbled { .. }), "{error:?}");
    assert_eq!(server.seen().len(), REDIRECTS + 1);
}

#[tokio::test]
async fn e2_a_cut_connection_loses_a_write_but_not_a_read() {
    let server = Server::start(|_| Reply::Cut).await;
    let client = client(&server, LeapingClock::new());
    let error = read(&client, "x").await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    let error = write(&client, Content::Answer).await.unwrap_err();
    assert!(matches!(error, Error::Lost { .. }), "{error:?}");
    assert!(error.is_of_unknown_fate());
}

#[tokio::test]
async fn e2_a_write_that_never_left_is_not_lost() {
    let mut server = Server::start(|_| Reply::Cut).await;
    // A port where nobody listens: its listener is bound, read and dropped.
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    server.url = format!("http://{closed}");
    let error = write(&client(&server, LeapingClock::new()), Content::Answer).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert!(!error.is_of_unknown_fate());
}

#[tokio::test]
async fn e2_an_answer_that_cannot_be_read_leaves_the_fate_of_a_write_unknown() {
    let server = Server::start(|_| Reply::json(201, r#"{"id": tru"#)).await;
    let client = client(&server, LeapingClock::new());
    let call = (Method::POST, client.url(&["things"]).unwrap());
    let by = Deadline::starting(client.clock());
    let answer =
        client.write("a thing", call, Some(&json!({})), Content::Answer, by).await.unwrap();
    let error = answer.parse::<Value>("a thing").unwrap_err();
    assert!(matches!(error, Error::Garbled { .. }) && error.is_of_unknown_fate(), "{error:?}");
}

#[tokio::test]
async fn an_answer_beyond_the_cap_is_not_read() {
    let server = Server::start(|_| Reply::json(200, "1".repeat(ANSWER_CAP + 1))).await;
    let error = read(&client(&server, LeapingClock::new()), "x").await.unwrap_err();
    assert!(matches!(&error, Error::Garbled { why, .. } if why.contains("20 MiB")), "{error:?}");
}

#[tokio::test]
async fn e5_nothing_is_sent_once_the_deadline_has_passed() {
    let server = Server::start(|_| Reply::json(200, "{}")).await;
    let clock = LeapingClock::new();
    let client = client(&server, Arc::clone(&clock));
    let by = Deadline::starting(&*clock);
    clock.advance(REQUEST_DEADLINE);
    let call = (Method::POST, client.url(&["things"]).unwrap());
    let error =
        client.write("a thing", call, Some(&json!({})), Content::Answer, by).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    assert!(server.asked().is_empty());
}

#[tokio::test]
async fn writes_keep_their_distance_once_the_host_has_shown_limits() {
    let server = Server::start(|_| Reply::json(201, "{}").with("x-ratelimit-limit", "5000")).await;
    let clock = LeapingClock::new();
    let client = client(&server, Arc::clone(&clock));
    write(&client, Content::Answer).await.unwrap();
    assert_eq!(clock.passed(), Duration::ZERO, "nothing was known of limits yet");
    write(&client, Content::Answer).await.unwrap();
    write(&client, Content::Answer).await.unwrap();
    assert_eq!(clock.passed(), Duration::from_secs(1));
}

#[tokio::test]
async fn a_reaction_without_room_is_not_sent_and_says_when() {
    let server = Server::start(|_| Reply::json(201, "{}").with("x-ratelimit-limit", "5000")).await;
    let clock = LeapingClock::new();
    let client = client(&server, Arc::clone(&clock));
    read(&client, "x").await.unwrap();
    write(&client, Content::Answer).await.unwrap();
    let error = write(&client, Content::Aside).await.unwrap_err();
    assert!(
        matches!(error, Error::Paced { until } if until.since(clock.now()) == Duration::from_secs(1)),
        "{error:?}"
    );
    assert_eq!(server.seen().len(), 2);
    clock.advance(Duration::from_secs(1));
    write(&client, Content::Aside).await.unwrap();
    write(&client, Content::Answer).await.unwrap();
    assert_eq!(clock.passed(), Duration::from_secs(1), "the answer did not wait for the reaction");
}

#[tokio::test]
async fn t6_no_error_repeats_the_token_however_it_is_written() {
    let hexed = hex::encode(TOKEN);
    let spellings = [TOKEN.to_owned(), hexed, format!("https://x:{TOKEN}@h/")];
    let count = Arc::new(AtomicUsize::new(0));
    let turn = Arc::clone(&count);
    let statuses = [400, 401, 403, 422, 500, 502];
    let server = Server::start(move |_| {
        let n = turn.fetch_add(1, Ordering::SeqCst);
        let body = json!({"message": format!("no: {}", spellings[n % 3])});
        Reply::json(statuses[n / 3 % 6], body)
    })
    .await;
    let client = client(&server, LeapingClock::new());
    for _ in 0..18 {
        let error = read(&client, "x").await.unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(!text.contains(TOKEN) && !text.contains(&hex::encode(TOKEN)), "{text}");
        assert!(text.contains("[redacted]"), "{text}");
    }
    assert_eq!(count.load(Ordering::SeqCst), 18);
    assert!(!format!("{client:?}").contains(TOKEN));
}

#[tokio::test]
async fn t6_a_redirect_with_the_token_in_its_target_does_not_repeat_it() {
    let server = Server::start(|_| {
        Reply::json(302, "").with("location", &format!("https://{TOKEN}.evil.example/{TOKEN}"))
    })
    .await;
    let error = read(&client(&server, LeapingClock::new()), "x").await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains(TOKEN));
}

#[test]
fn a_wrong_setting_is_told_before_anything_is_sent() {
    let clock = LeapingClock::new();
    let make = |change: fn(&mut Connection)| {
        let mut connection = connection("https://git.example", clock.clone());
        change(&mut connection);
        Client::new(connection, HeaderMap::new()).unwrap_err()
    };
    let error = make(|connection| connection.proxy = Some("not an address".into()));
    assert!(matches!(error, Misconfigured::Proxy));
    let error = make(|connection| connection.ca_bundle = Some("does/not/exist.pem".into()));
    assert!(error.to_string().contains("does/not/exist.pem"), "{error}");
    let error = make(|connection| connection.api = "https://u:p@git.example".parse().unwrap());
    assert!(matches!(error, Misconfigured::Address { .. }));
}
