//! Deliveries come in any order and more than once: each must say by itself what it means.

use std::collections::BTreeMap;

use domain::event::Happening;

use crate::fixtures::{self, Sent, everything, named};

fn meaning(sent: &Sent) -> String {
    sent.event().meaning().unwrap()
}

#[test]
fn a_delivery_means_the_same_wherever_it_comes_in_the_order() {
    let all = everything();
    let forwards: Vec<_> = all.iter().map(Sent::decode).collect();
    let mut backwards: Vec<_> = all.iter().rev().map(Sent::decode).collect();
    backwards.reverse();
    assert_eq!(forwards, backwards);
}

#[test]
fn opening_a_change_and_pushing_to_it_mean_different_things() {
    let opened = named(&fixtures::GITHUB_COM, "pull_request.opened 0");
    let mut body = opened.json();
    body["action"] = "synchronize".into();
    let pushed = opened.with_json(&body);
    assert_ne!(meaning(&opened), meaning(&pushed));

    // Two pushes in the same second have the same time stamp, but not the same head.
    body["pull_request"]["head"]["sha"] = "feed".into();
    assert_ne!(meaning(&pushed), meaning(&opened.with_json(&body)));
}

#[test]
fn a_replay_with_a_new_delivery_id_still_means_the_same() {
    let sent = named(&fixtures::gitea("1.26.0"), "16 issue_comment.created");
    let mut replayed = sent.clone();
    replayed
        .headers
        .insert("x-gitea-delivery", "00000000-0000-0000-0000-000000000000".parse().unwrap());
    assert_ne!(sent.decode().unwrap().id, replayed.decode().unwrap().id);
    assert_eq!(meaning(&sent), meaning(&replayed));
}

#[test]
fn different_happenings_of_one_recording_never_mean_the_same() {
    for version in ["1.21.8", "1.26.0"] {
        let mut seen = BTreeMap::new();
        for sent in fixtures::gitea(version) {
            let Ok(delivery) = sent.decode() else { panic!("{}", sent.name) };
            let forge::webhook::Content::Event(event) = delivery.content else { continue };
            let Some(meaning) = event.meaning() else {
                assert!(
                    matches!(event.happening, Happening::Commented(_)),
                    "only reviews have no id"
                );
                continue;
            };
            if let Some(other) = seen.insert(meaning, sent.name.clone()) {
                panic!("{version}: {other} and {} mean the same", sent.name);
            }
        }
    }
}
