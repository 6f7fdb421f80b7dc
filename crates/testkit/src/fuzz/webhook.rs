//! What must hold for deliveries, before and after their signature is checked.
//!
//! An input looks like a request without its first line: headers, an empty line, the body.

use domain::{Decision, Event, Origin, Policy, Time, route};
use forge::Host;
use forge::webhook::{self, Content};
use http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::SecretString;

/// Longer headers do not reach us: the server refuses them first.
const LONGEST_HEADER: usize = 8192;

pub(super) fn github(input: &[u8]) {
    decode(Host::GitHub, input);
}

pub(super) fn gitlab(input: &[u8]) {
    decode(Host::GitLab, input);
}

pub(super) fn gitcode(input: &[u8]) {
    decode(Host::GitCode, input);
}

pub(super) fn gitea(input: &[u8]) {
    decode(Host::Gitea, input);
}

/// Signatures: without a secret nothing is authentic, whatever the headers claim.
pub(super) fn signature(input: &[u8]) {
    let (headers, body) = split(input);
    let now = Time(1_790_000_000_000);
    for host in [Host::GitHub, Host::GitLab, Host::GitCode, Host::Gitea, Host::Local] {
        for (secret, may_be_authentic) in [("", false), ("whsec_bm90IGVtcHR5", true)] {
            let verdict = webhook::verify(host, &headers, body, &SecretString::from(secret), now);
            assert!(may_be_authentic || !verdict.is_authentic());
        }
    }
}

/// Payloads: an event can be stored and read back, and whatever is decided is about it.
fn decode(host: Host, input: &[u8]) {
    let (headers, body) = split(input);
    let origin = Origin::new("https://forge.example");
    match webhook::decode(host, &headers, body, &origin) {
        Ok(delivery) => {
            if let Content::Event(event) = delivery.content {
                check(&event);
            }
        }
        Err(malformed) => assert!(!malformed.to_string().is_empty()),
    }
}

fn check(event: &Event) {
    let stored = serde_json::to_string(event).expect("an event can be stored");
    let again: Event = serde_json::from_str(&stored).expect("an event can be read back");
    assert_eq!(&again, event);
    assert_eq!(again.meaning(), event.meaning());
    match route(event, &Policy::for_bot("bot")) {
        Decision::Do(task) => assert_eq!(task.subject.repo.id(), event.repo.id()),
        Decision::Ignored(ignored) => assert!(!ignored.reason.is_empty()),
        Decision::Refused(refused) => assert!(!refused.reason.is_empty()),
    }
}

fn split(input: &[u8]) -> (HeaderMap, &[u8]) {
    let mut headers = HeaderMap::new();
    let mut rest = input;
    while let Some(end) = rest.iter().take(LONGEST_HEADER).position(|byte| *byte == b'\n') {
        let (line, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        if line.is_empty() || line == b"\r" {
            break;
        }
        if let Some(colon) = line.iter().position(|byte| *byte == b':')
            && let Ok(name) = HeaderName::from_bytes(&line[..colon])
            && let Ok(value) = HeaderValue::from_bytes(line[colon + 1..].trim_ascii())
            && headers.len() < 64
        {
            headers.append(name, value);
        }
    }
    (headers, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_headers_and_a_body() {
        let (headers, body) = split(b"X-GitHub-Event: push\r\nnonsense\nA: b\n\n{\n\n}");
        assert_eq!(headers.get("x-github-event").unwrap(), "push");
        assert_eq!(headers.len(), 2);
        assert_eq!(body, b"{\n\n}");
    }
}
