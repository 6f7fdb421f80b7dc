//! What is read from GitCode's JSON, in each of the ways in which it is told.

use domain::anchor::Side;
use serde_json::json;

use super::*;

fn actor(id: i64) -> Actor {
    Actor { id: Some(AccountId(id)), login: "ann".to_owned(), bot: false }
}

#[track_caller]
fn check(json: serde_json::Value, expected: Permission) {
    let collaborator: Collaborator = serde_json::from_value(json.clone()).unwrap();
    assert_eq!(collaborator.permission(), expected, "{json}");
}

#[test]
fn a_permission_is_a_word_or_a_level() {
    check(json!({"permission": "admin"}), Permission::Admin);
    check(json!({"permission": "write", "access_level": 30}), Permission::Write);
    check(json!({"permission": "push"}), Permission::Write);
    check(json!({"permission": "read"}), Permission::Read);
    for (level, expected) in [
        (50, Permission::Admin),
        (40, Permission::Maintain),
        (30, Permission::Write),
        (20, Permission::Triage),
        (10, Permission::Read),
        (0, Permission::None),
    ] {
        check(json!({"permission": "release captain", "access_level": level}), expected);
        check(json!({"access_level": level.to_string()}), expected);
    }
    check(json!({"permission": "admin", "access_level": 40}), Permission::Maintain);
    check(json!({"permission": "read", "access_level": 30}), Permission::Read);
    check(json!({"permission": "owner-ish"}), Permission::None);
    check(json!({}), Permission::None);
}

#[test]
fn t9_ids_of_two_kinds_are_never_taken_for_equal() {
    let identity = |id: serde_json::Value, actor: &Actor| {
        serde_json::from_value::<Collaborator>(json!({ "id": id })).unwrap().identity(actor)
    };
    assert_eq!(identity(json!(5), &actor(5)), Identity::Same);
    assert_eq!(identity(json!("5"), &actor(5)), Identity::Same);
    assert_eq!(identity(json!("6"), &actor(5)), Identity::Other);
    assert_eq!(identity(json!("64e5ed8f7e20aa73efcbc302"), &actor(5)), Identity::Incomparable);
    let named = account("64e5ed8f7e20aa73efcbc302").unwrap();
    assert_eq!(identity(json!("64e5ed8f7e20aa73efcbc302"), &actor(named.0)), Identity::Same);
    assert_eq!(identity(json!("64e5ed8f7e20aa73efcbc303"), &actor(named.0)), Identity::Other);
}

#[test]
fn an_id_that_stands_for_nobody_is_none() {
    assert_eq!(account("7"), Some(AccountId(7)));
    assert_eq!(account("-9999"), None);
    assert_eq!(account("0"), None);
    let text = account("64e5ed8f7e20aa73efcbc302").unwrap();
    assert!(!is_numeric(text));
    assert_ne!(Some(text), account("64e5ed8f7e20aa73efcbc303"));
}

#[test]
fn a_change_is_read_however_it_is_told() {
    let origin = Origin::new("https://git.example");
    let read = |json: serde_json::Value| {
        serde_json::from_value::<Pull>(json).unwrap().into_now(&origin, "a change")
    };
    let alone = read(json!({
        "number": "4", "title": "[WIP] Speak", "state": "opened", "draft": 0, "merged": null,
        "head": {"sha": "aa", "ref": "b", "repo": {"id": "9", "full_name": "o/r"}},
        "base": {"sha": "bb", "ref": "main"}, "merged_at": "",
        "assignees": [{"id": "1", "login": "ann"}],
        "approval_merge_request_approvers": [{"id": 1, "username": "Ann"}, {"username": "bob"}]
    }))
    .unwrap();
    assert_eq!((alone.number, alone.title.as_str(), alone.draft), (4, "Speak", true));
    assert!(alone.open && !alone.merged);
    assert_eq!(alone.source.repo.unwrap().key, RepoKey::Id(9));
    assert_eq!(alone.head_ref, "refs/merge-requests/4/head");
    assert_eq!(alone.reviewers.len(), 2);
    let listed = read(json!({
        "iid": 5, "title": "x", "state": "merged", "source_branch": "b", "target_branch": "main",
        "diff_refs": {"base_sha": "bb", "start_sha": "bb", "head_sha": "aa"}
    }))
    .unwrap();
    assert_eq!(
        (listed.number, listed.head.as_str(), listed.base.as_deref()),
        (5, "aa", Some("bb"))
    );
    assert!(listed.merged && !listed.open && !listed.draft);
    assert!(matches!(read(json!({"number": 4})), Err(Error::Garbled { .. })));
}

fn comment(json: serde_json::Value) -> Comment {
    serde_json::from_value(json).unwrap()
}

#[test]
fn the_number_of_a_comment_and_the_name_of_its_thread_move() {
    let hash = "71e9657489bcddbed4c0a9d2b1e29eb7c8ab26c3";
    for json in [
        json!({"id": hash, "note_id": 7}),
        json!({"id": hash, "noteId": "7"}),
        json!({"id": hash, "note_id": 7, "noteId": 7}),
        json!({"id": 7, "discussion_id": hash}),
        json!({"id": "7", "discussion_id": hash}),
    ] {
        let comment = comment(json);
        assert_eq!((comment.number(), comment.thread()), (Some(7), Some(hash)));
    }
    assert_eq!(comment(json!({"id": hash})).number(), None);
    assert_eq!(comment(json!({"id": 7})).thread(), None);
}

#[test]
fn a_place_is_read_from_a_list_and_from_a_comment_alone() {
    let listed = comment(json!({
        "diff_file": "a.rs", "comment_type": "diff_comment",
        "diff_position": {"start_new_line": 3, "end_new_line": "5", "start_old_line": 0}
    }));
    let spot = listed.spot().unwrap();
    assert_eq!((spot.path.as_str(), spot.span(), spot.side), ("a.rs", (3, 5), Side::New));
    let alone = comment(json!({
        "comment_type": "DiffNote",
        "position": {"new_path": "a.rs", "new_line": null, "old_line": 4, "head_sha": "aa"}
    }));
    let spot = alone.spot().unwrap();
    assert_eq!((spot.span(), spot.side, spot.commit.as_str()), ((4, 4), Side::Old, "aa"));
    assert_eq!(comment(json!({"position": 5, "path": "a.rs"})).spot(), None, "only a number");
}

#[test]
fn a_landing_is_right_elsewhere_or_not_told() {
    let line = domain::anchor::Line { kind: domain::anchor::LineKind::Added, old: 2, new: 3 };
    let wanted = domain::anchor::Spot {
        path: "a.rs".to_owned(),
        old_path: None,
        side: line.side(),
        start: None,
        line,
        commit: "aa".to_owned(),
    };
    let landing = |json| comment(json).landing(&wanted);
    let at = |path: &str, line: u64| json!({"position": {"new_path": path, "new_line": line}});
    assert_eq!(landing(at("a.rs", 3)), Landing::Right);
    assert_eq!(landing(at("a.rs", 4)), Landing::Elsewhere("at a.rs:4".to_owned()));
    assert_eq!(landing(at("b.rs", 3)), Landing::Elsewhere("at b.rs:3".to_owned()));
    assert_eq!(landing(json!({"comment_type": "DiffNote"})), Landing::Right);
    let talk = Landing::Elsewhere("in the conversation".to_owned());
    assert_eq!(landing(json!({"comment_type": "DiscussionNote"})), talk);
    assert_eq!(landing(json!({"id": 5, "position": {}})), Landing::Unsaid);
}

#[test]
fn approvals_are_the_only_reviews() {
    let pull: Pull = serde_json::from_value(json!({
        "approval_merge_request_approvers": [
            {"id": "5", "username": "ann", "state": "approved",
             "updated_at": "2024-10-25T18:52:39+08:00"},
            {"id": "6", "username": "bob", "state": "unapproved"}
        ]
    }))
    .unwrap();
    let reviews = pull.into_reviews();
    assert_eq!(reviews.len(), 1);
    assert_eq!(reviews[0].author, actor(5));
    assert_eq!(reviews[0].submitted_at, Some(Time(1_729_853_559_000)));
}
