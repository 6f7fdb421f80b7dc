//! J4: deliveries that say the same have the same meaning, all others have another one.

use domain::event::{Asked, Change, Comment, Happening, Issue, Place, Push};
use domain::{AccountId, Actor, Event, Origin, Repo, RepoKey, SubjectKind};
use proptest::prelude::*;

fn repo(id: u64) -> Repo {
    Repo {
        origin: Origin::new("https://forge.example"),
        key: RepoKey::Id(id),
        full_name: "acme/demo".to_owned(),
        default_branch: None,
    }
}

fn event(happening: Happening) -> Event {
    Event { repo: repo(1), actor: Actor::named("alice"), happening }
}

fn change() -> Change {
    Change {
        number: 7,
        title: "Faster login".to_owned(),
        body: String::new(),
        author: Actor::named("alice"),
        draft: false,
        head: Some("aaa".to_owned()),
        head_branch: None,
        base_branch: None,
        updated_at: Some("2026-01-01T00:00:00Z".to_owned()),
    }
}

fn issue() -> Issue {
    Issue {
        assignees: Vec::new(),
        number: 7,
        display_number: None,
        title: "Login fails".to_owned(),
        body: String::new(),
        author: Actor::named("alice"),
        updated_at: Some("2026-01-01T00:00:00Z".to_owned()),
    }
}

fn comment(id: Option<u64>, place: Place) -> Comment {
    Comment {
        id,
        place,
        author: Actor::named("alice"),
        body: "@bot help".to_owned(),
        on: SubjectKind::Change,
        number: 7,
        display_number: None,
        title: String::new(),
        subject_author: None,
        updated_at: Some("2026-01-01T00:00:00Z".to_owned()),
    }
}

fn push(branch: &str, after: &str) -> Happening {
    Happening::Pushed(Push {
        branch: branch.to_owned(),
        before: "000".to_owned(),
        after: after.to_owned(),
        created: false,
        deleted: false,
        commits: 1,
    })
}

fn meaning(happening: Happening) -> Option<String> {
    event(happening).meaning()
}

fn thread() -> Place {
    Place::Thread { thread: None, reply: None, path: None }
}

#[test]
fn j4_a_redelivery_means_the_same_though_its_labels_changed() {
    let first = event(Happening::Commented(comment(Some(3), Place::Conversation)));
    let mut again = first.clone();
    again.repo.full_name = "acme/renamed".to_owned();
    again.actor = Actor { id: Some(AccountId(5)), login: "alice2".to_owned(), bot: false };
    assert!(first.meaning().is_some());
    assert_eq!(first.meaning(), again.meaning());
}

#[test]
fn j4_two_pushes_mean_different_things_even_within_one_second() {
    let pushed = |head: &str| {
        meaning(Happening::ChangePushed(Change { head: Some(head.to_owned()), ..change() }))
    };
    assert_ne!(pushed("aaa"), pushed("bbb"));
    assert_ne!(meaning(push("main", "aaa")), meaning(push("main", "bbb")));
    assert_ne!(meaning(push("main", "aaa")), meaning(push("next", "aaa")));
}

#[test]
fn j4_a_push_is_known_by_its_head_whatever_its_time_stamp() {
    let at = |time: &str| {
        let updated_at = Some(time.to_owned());
        meaning(Happening::ChangePushed(Change { updated_at, ..change() }))
    };
    assert_eq!(at("2026-01-01T00:00:00Z"), at("2026-01-01T00:00:09Z"));
}

#[test]
fn j4_a_comment_is_its_own_object_in_its_own_space_of_ids() {
    let meanings: Vec<_> = [
        comment(Some(3), Place::Conversation),
        comment(Some(4), Place::Conversation),
        comment(Some(3), thread()),
        comment(Some(3), Place::Review { review: None }),
        comment(None, Place::Review { review: Some(4) }),
    ]
    .into_iter()
    .map(|comment| meaning(Happening::Commented(comment)).unwrap())
    .collect();
    for (index, meaning) in meanings.iter().enumerate() {
        assert!(!meanings[..index].contains(meaning), "{meaning}");
    }
}

#[test]
fn j4_two_edits_of_a_comment_mean_different_things() {
    let edited = |time: &str| {
        let comment =
            Comment { updated_at: Some(time.to_owned()), ..comment(Some(3), Place::Conversation) };
        meaning(Happening::CommentEdited { comment, before: None })
    };
    assert_ne!(edited("2026-01-01T00:00:00Z"), edited("2026-01-01T00:00:01Z"));
    assert_ne!(
        edited("2026-01-01T00:00:00Z"),
        meaning(Happening::Commented(comment(Some(3), Place::Conversation)))
    );
}

#[test]
fn j4_the_same_number_in_another_repository_or_of_another_kind_is_another_object() {
    let here = event(Happening::ChangeOpened(change()));
    let there = Event { repo: repo(2), ..here.clone() };
    assert_ne!(here.meaning(), there.meaning());
    assert_ne!(here.meaning(), meaning(Happening::IssueOpened(issue())));
}

#[test]
fn j4_what_cannot_be_told_apart_has_no_meaning() {
    assert_eq!(meaning(Happening::Commented(comment(None, Place::Conversation))), None);
    assert_eq!(meaning(Happening::IssueOpened(Issue { updated_at: None, ..issue() })), None);
    assert_eq!(meaning(Happening::ChangePushed(Change { head: None, ..change() })), None);
    let asked = Asked { text: "review".to_owned(), on: SubjectKind::Change, number: 7 };
    assert_eq!(meaning(Happening::Asked(asked)), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn j4_every_action_on_a_change_means_something_else(head in "[0-9a-f]{4}", time in "[0-9]{4}") {
        let change = Change { head: Some(head), updated_at: Some(time), ..change() };
        let actions = [
            Happening::ChangeOpened(change.clone()),
            Happening::ChangeReopened(change.clone()),
            Happening::ChangeReady(change.clone()),
            Happening::ChangePushed(change.clone()),
            Happening::BaseChanged(change.clone()),
            Happening::ReviewRequested { change: change.clone(), of: Vec::new() },
            Happening::ChangeClosed { change, merged: true },
        ];
        let meanings: Vec<_> = actions.into_iter().map(meaning).collect();
        for (index, meaning) in meanings.iter().enumerate() {
            prop_assert!(meaning.is_some());
            prop_assert!(!meanings[..index].contains(meaning));
        }
    }
}
