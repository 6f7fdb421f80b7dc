//! Every payload that we could get hold of becomes an event or is ignored for a reason.

use expect_test::expect_file;
use forge::Host;
use forge::webhook::{Malformed, detect};
use serde_json::json;

use crate::fixtures::{self, everything, story};

#[test]
fn every_example_of_github_is_understood() {
    assert_eq!(fixtures::GITHUB_COM.len(), 329);
    expect_file!["./snapshots/github.txt"].assert_eq(&story(&fixtures::GITHUB_COM));
}

#[test]
fn every_example_of_github_enterprise_server_is_understood() {
    for version in ["ghes-31", "ghes-32", "ghes-33", "ghes-34", "ghes-35"] {
        for sent in fixtures::github(version) {
            assert!(sent.decode().is_ok(), "{version} {}: {:?}", sent.name, sent.decode());
        }
    }
}

#[test]
fn every_example_of_gitlab_is_understood() {
    let all = fixtures::gitlab();
    assert_eq!(all.len(), 32);
    expect_file!["./snapshots/gitlab.txt"].assert_eq(&story(&all));
}

#[test]
fn every_recorded_delivery_of_gitea_is_understood() {
    expect_file!["./snapshots/gitea-1.21.8.txt"].assert_eq(&story(&fixtures::gitea("1.21.8")));
    expect_file!["./snapshots/gitea-1.26.0.txt"].assert_eq(&story(&fixtures::gitea("1.26.0")));
}

#[test]
fn every_payload_of_gitcode_is_understood() {
    expect_file!["./snapshots/gitcode.txt"].assert_eq(&story(&fixtures::gitcode()));
}

#[test]
fn no_payload_is_malformed_and_each_names_its_forge() {
    for sent in everything() {
        assert_eq!(detect(&sent.headers), Some(sent.host), "{}", sent.name);
        let delivery = sent.decode().unwrap_or_else(|fault| panic!("{}: {fault}", sent.name));
        assert_eq!(delivery.host, sent.host);
    }
}

#[test]
fn the_github_example_of_seed_001_is_taken_as_it_stands() {
    let headers = [("x-github-event", "issue_comment"), ("x-github-delivery", "8e3c")];
    let sent = fixtures::seed("github_issue_comment", Host::GitHub, &headers);
    assert_eq!(sent.decode().unwrap().id.as_deref(), Some("8e3c"));
    expect_test::expect![[r#"
        github_issue_comment → commented acme/demo#42 by alice(?): "@app-name fix" of alice(?), on ?'s; meaning unknown
    "#]]
    .assert_eq(&story(&[sent]));
}

#[test]
fn the_gitcode_example_of_seed_001_lacks_an_issue_and_is_taken_once_it_has_one() {
    let sent = fixtures::seed("gitcode_note", Host::GitCode, &[("x-gitcode-event", "Note Hook")]);
    assert_eq!(sent.decode(), Err(Malformed::Missing("issue".to_owned())));

    let mut body = sent.json();
    body["issue"] = json!({"iid": 42, "title": "Bug"});
    let as_object = sent.with_json(&body);
    body["project"]["namespace"] = json!("acme");
    body["issue"] = json!({"number": "42"});
    let as_text = sent.with_json(&body);
    expect_test::expect![[r#"
        gitcode_note → commented acme/demo#42 by alice(?): "@app-name fix" of alice(?), on ?'s; meaning unknown
        gitcode_note → commented acme/demo#42 by alice(?): "@app-name fix" of alice(?), on ?'s; meaning unknown
    "#]]
    .assert_eq(&story(&[as_object, as_text]));
}
