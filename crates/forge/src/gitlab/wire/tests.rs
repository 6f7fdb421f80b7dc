//! What GitLab's answers mean.

use super::*;

#[test]
fn the_prefix_of_drafts_is_no_part_of_a_title() {
    for (title, expected) in [
        ("Draft: fix it", "fix it"),
        ("[draft] fix it", "fix it"),
        ("(DRAFT)fix it", "fix it"),
        ("Draft: Draft: fix it", "fix it"),
        ("Drafty: fix it", "Drafty: fix it"),
        ("WIP: fix it", "WIP: fix it"),
        ("fix Draft: it", "fix Draft: it"),
        ("é", "é"),
        ("Draft:", ""),
    ] {
        assert_eq!(without_draft(title), expected, "{title}");
    }
}

#[test]
fn t9_access_levels_count_for_the_account_that_was_asked_for() {
    let permission = |json: &str| {
        let member: Member = serde_json::from_str(json).unwrap();
        member.permission_of(AccountId(5))
    };
    for (level, expected) in [
        (0, Permission::None),
        (5, Permission::None),
        (10, Permission::Read),
        (15, Permission::Triage),
        (20, Permission::Triage),
        (30, Permission::Write),
        (40, Permission::Maintain),
        (50, Permission::Admin),
        (60, Permission::Admin),
    ] {
        assert_eq!(permission(&format!(r#"{{"id":5,"access_level":{level}}}"#)), expected);
    }
    assert_eq!(permission(r#"{"id":6,"access_level":50}"#), Permission::None);
    let waiting = r#"{"id":5,"access_level":50,"membership_state":"awaiting"}"#;
    assert_eq!(permission(waiting), Permission::None);
}
