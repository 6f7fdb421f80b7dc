//! Whatever arrives, the decoders answer: with an event, a reason, or a fault that names something.

use std::sync::LazyLock;

use domain::{Origin, Time};
use forge::Host;
use forge::webhook::{Malformed, decode, detect, verify};
use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use proptest::sample::Index;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::fixtures::{Sent, everything, gitea, named};

const HOSTS: [Host; 5] = [Host::GitHub, Host::GitLab, Host::GitCode, Host::Gitea, Host::Local];

/// Those that become events: they have the fields that matter.
static EVENTS: LazyLock<Vec<Sent>> = LazyLock::new(|| {
    let is_event = |sent: &Sent| {
        matches!(
            sent.decode().map(|delivery| delivery.content),
            Ok(forge::webhook::Content::Event(_))
        )
    };
    everything().into_iter().filter(is_event).collect()
});

fn names_something(fault: &Malformed) -> bool {
    match fault {
        Malformed::NotJson(reason) => !reason.is_empty(),
        Malformed::NoEvent => true,
        Malformed::Missing(field) => !field.is_empty(),
        Malformed::Wrong { field, expected } => !field.is_empty() && !expected.is_empty(),
    }
}

/// Lists every place of a payload as a JSON pointer.
fn places(value: &Value, at: &str, all: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value))
            .collect(),
        Value::Array(entries) => {
            entries.iter().enumerate().map(|(index, value)| (index.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, value) in children {
        let place = format!("{at}/{key}");
        places(value, &place, all);
        all.push(place);
    }
}

fn a_header() -> impl Strategy<Value = (HeaderName, HeaderValue)> {
    let names = prop::sample::select(vec![
        "x-gitlab-event",
        "x-gitcode-event",
        "x-forgejo-event",
        "x-gitea-event",
        "x-gitea-event-type",
        "x-github-event",
        "x-hub-signature-256",
        "x-gitea-signature",
        "x-gitcode-token",
        "x-gitlab-token",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
        "content-type",
    ]);
    let known = prop::sample::select(vec![
        "issues",
        "issue_comment",
        "pull_request",
        "push",
        "Note Hook",
        "Push Hook",
        "sha256=00",
        "v1,AAAA",
        "-9223372036854775808",
        "application/x-www-form-urlencoded",
    ]);
    let values = prop_oneof![
        known.prop_map(HeaderValue::from_static),
        "[ -~\u{80}-\u{ff}]{0,20}"
            .prop_filter_map("no header", |text| HeaderValue::from_bytes(text.as_bytes()).ok()),
    ];
    (names.prop_map(HeaderName::from_static), values)
}

fn a_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!({})),
        Just(json!([])),
        Just(json!("")),
        Just(json!("x")),
        Just(json!("-1")),
        Just(json!(0)),
        Just(json!(-1)),
        Just(json!(1.5)),
        Just(json!(u64::MAX)),
        Just(json!(true)),
        Just(json!([{}])),
        Just(json!("\0\u{202e}../\n")),
    ]
}

proptest! {
    #[test]
    fn arbitrary_bytes_bring_nobody_down(
        headers in prop::collection::vec(a_header(), 0..6),
        body in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            r#"[{}\[\]",:0-9a-z\\u]{0,60}"#.prop_map(String::into_bytes),
        ],
    ) {
        let headers: HeaderMap = headers.into_iter().collect();
        let _ = detect(&headers);
        for host in HOSTS {
            let verdict = verify(host, &headers, &body, &SecretString::from("whsec_AAAA"), Time(0));
            prop_assert!(!verdict.is_authentic());
            if let Err(fault) = decode(host, &headers, &body, &Origin::new("https://forge.example")) {
                prop_assert!(names_something(&fault));
            }
        }
    }

    #[test]
    fn a_payload_with_a_field_dropped_or_retyped_is_read_or_its_fault_is_named(
        which in any::<Index>(),
        place in any::<Index>(),
        value in prop::option::of(a_value()),
    ) {
        let sent = which.get(EVENTS.as_slice());
        let mut body = sent.json();
        let mut all = Vec::new();
        places(&body, "", &mut all);
        let pointer = place.get(&all);
        match value {
            Some(value) => *body.pointer_mut(pointer).unwrap() = value,
            None => {
                let (parent, key) = pointer.rsplit_once('/').unwrap();
                match body.pointer_mut(parent).unwrap() {
                    Value::Object(fields) => drop(fields.remove(&key.replace("~1", "/").replace("~0", "~"))),
                    Value::Array(entries) => drop(entries.remove(key.parse().unwrap())),
                    _ => unreachable!("only these have places in them"),
                }
            }
        }
        if let Err(fault) = sent.with_json(&body).decode() {
            prop_assert!(names_something(&fault), "{pointer}: {fault}");
        }
    }

    #[test]
    fn a_cut_off_payload_is_no_json(which in any::<Index>(), length in any::<Index>()) {
        let mut sent = which.get(EVENTS.as_slice()).clone();
        let end = sent.body.iter().rposition(|&byte| byte == b'}').unwrap();
        sent.body.truncate(length.index(end));
        prop_assert!(matches!(sent.decode(), Err(Malformed::NotJson(_))));
    }
}

#[test]
fn dropping_any_single_field_is_survived() {
    for sent in [named(&gitea("1.26.0"), "16 issue_comment.created"), EVENTS[0].clone()] {
        let body = sent.json();
        let mut all = Vec::new();
        places(&body, "", &mut all);
        for pointer in all {
            let mut changed = body.clone();
            *changed.pointer_mut(&pointer).unwrap() = Value::Null;
            if let Err(fault) = sent.with_json(&changed).decode() {
                assert!(names_something(&fault), "{pointer}: {fault}");
            }
        }
    }
}

#[test]
fn j8_any_text_gets_through() {
    let mut sent = named(&gitea("1.26.0"), "16 issue_comment.created");
    let text = String::from_utf8(sent.body).unwrap();
    assert!(text.contains("\"@boss fix\""));
    sent.body = text.replace("\"@boss fix\"", r#""a\u0000b\ud800c\ud83d\ude00""#).into_bytes();
    let domain::event::Happening::Commented(comment) = sent.event().happening else { panic!() };
    assert_eq!(comment.body, "a\0b\\ud800c\u{1f600}");
}

#[test]
fn what_is_not_utf8_or_nested_without_end_is_no_json() {
    let mut sent = EVENTS[0].clone();
    sent.body = b"{\"action\":\"\xff\"}".to_vec();
    assert!(matches!(sent.decode(), Err(Malformed::NotJson(_))));
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        sent.body = format!("{{\"action\":{}1{}}}", open.repeat(500_000), close.repeat(500_000))
            .into_bytes();
        assert!(matches!(sent.decode(), Err(Malformed::NotJson(_))));
        sent.body = open.repeat(500_000).into_bytes();
        assert!(matches!(sent.decode(), Err(Malformed::NotJson(_))));
    }
}

#[test]
fn a_number_too_large_for_anything_is_only_missed_where_it_is_needed() {
    let mut sent = named(&gitea("1.26.0"), "16 issue_comment.created");
    let text = String::from_utf8(sent.body.clone()).unwrap();
    sent.body = text.replacen('{', "{\"size\": 1e9999,", 1).into_bytes();
    assert!(sent.decode().is_ok());
    sent.body = text.replace("\"number\": 2", "\"number\": 1e9999").into_bytes();
    assert_eq!(sent.decode().unwrap_err().to_string(), "`issue.number` is not a whole number");
}
