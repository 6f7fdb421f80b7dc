//! What a person sees of the folder. Slots have their own stories in `slot`.

use domain::publication::{CommentBody, Effect};
use domain::{Publication, Receipt, Slot};
use expect_test::expect;

use super::*;
use crate::port::Write;
use crate::rig::LeapingClock;

struct Rig {
    local: Local,
    clock: Arc<LeapingClock>,
    dir: tempfile::TempDir,
}

fn rig() -> Rig {
    let (dir, clock) = (tempfile::tempdir().unwrap(), LeapingClock::new());
    let local = another(&dir, &clock);
    Rig { local, clock, dir }
}

/// Opens the same folder once more, as another process would.
fn another(dir: &tempfile::TempDir, clock: &Arc<LeapingClock>) -> Local {
    let clock = Arc::clone(clock) as Arc<dyn Clock>;
    let ours = Arc::new(Ours::new("demo", None));
    Local::new(dir.path(), "demo/sample", ours, Arc::new(Redactor::new([])), clock)
}

fn answer(subject: &Subject, text: &str) -> Publication {
    let (kind, markdown) = ("answer".to_owned(), text.to_owned());
    let effect = Effect::Comment(CommentBody { kind, markdown, claim: None, closing: None });
    Publication { subject: subject.clone(), slot: Slot::reply("c1"), effect }
}

#[tokio::test]
async fn a_conversation_is_shown_as_a_person_sees_it() {
    let Rig { local, .. } = rig();
    let opened = local.opens_issue("ann", "How do I start?", "I am new here.").await.unwrap();
    let asked = local.comments(1, "bob", "@patchwright help").await.unwrap();
    let Happening::Commented(comment) = &asked.happening else { panic!("{asked:?}") };
    let on = ReactionTarget::Comment { id: comment.id.unwrap(), place: Place::Conversation };
    let react = |on| Publication {
        subject: opened.subject(),
        slot: Slot::ack("c1"),
        effect: Effect::Reaction { on, sign: Sign::Eyes },
    };
    for on in [on.clone(), on, ReactionTarget::Subject] {
        assert_eq!(local.send(&react(on), None).await.unwrap(), Receipt::Done);
    }
    local.send(&answer(&opened.subject(), "Ask me like this.\u{1b}[31m"), None).await.unwrap();
    expect![[r#"
        #1 How do I start? (open)

        ann:
        I am new here.
          👀 patchwright

        bob:
        @patchwright help
          👀 patchwright

        patchwright:
        Ask me like this.\u{1b}[31m
    "#]]
    .assert_eq(&local.thread(1).await.unwrap());
}

#[tokio::test]
async fn an_event_says_what_the_folder_holds() {
    let Rig { local, clock, .. } = rig();
    let opened = local.opens_issue("Ann", "Title", "Text").await.unwrap();
    clock.advance(std::time::Duration::from_secs(1));
    let asked = local.comments(1, "bob", "@patchwright help").await.unwrap();
    let Happening::Commented(comment) = &asked.happening else { panic!("{asked:?}") };
    let said = local.comment(&asked.subject(), comment.id.unwrap(), &comment.place).await.unwrap();
    assert_eq!((said.author, said.body), (asked.actor.clone(), comment.body.clone()));
    assert_eq!(comment.subject_author, Some(opened.actor.clone()));
    assert_eq!(comment.title, "Title");
    assert!(asked.meaning().is_some() && opened.meaning().is_some());
    assert_ne!(asked.actor.id, opened.actor.id);
    assert_eq!(local.opening(&asked.subject()).await.unwrap().author, opened.actor);
    assert_eq!(local.repository("demo/sample").await.unwrap(), asked.repo);
    assert!(!local.ours.wrote(&asked.actor));
}

#[tokio::test]
async fn two_processes_share_a_folder() {
    let Rig { local, clock, dir } = rig();
    let event = local.opens_issue("ann", "One", "").await.unwrap();
    let other = another(&dir, &clock);
    assert_eq!(other.opens_issue("ann", "Two", "").await.unwrap().subject().number, 2);
    let (one, two) = tokio::join!(local.comments(1, "ann", "a"), other.comments(1, "ann", "b"));
    let name = |event: Event| match event.happening {
        Happening::Commented(comment) => comment.own_name(),
        other => panic!("{other:?}"),
    };
    assert_ne!(name(one.unwrap()), name(two.unwrap()));
    let said = other.conversation(&event.subject()).await.unwrap();
    assert_eq!(said.len(), 2);
}

#[tokio::test]
async fn comments_of_different_issues_never_share_an_id() {
    let Rig { local, .. } = rig();
    let mut ids = Vec::new();
    for number in 1..=3 {
        let subject = local.opens_issue("ann", "Title", "").await.unwrap().subject();
        local.comments(number, "ann", "a").await.unwrap();
        ids.extend(local.conversation(&subject).await.unwrap().into_iter().map(|said| said.id));
    }
    assert_eq!(ids, [1_000_001, 2_000_001, 3_000_001]);
    let first = Subject::issue(local.repo().clone(), 1);
    let strange = local.comment(&first, ids[1], &Place::Conversation).await;
    assert!(matches!(strange, Err(Error::Gone { .. })), "{strange:?}");
}

#[tokio::test]
async fn what_is_not_there_is_gone() {
    let Rig { local, .. } = rig();
    assert!(matches!(local.thread(1).await, Err(Error::Gone { .. })));
    assert!(matches!(local.comments(1, "ann", "a").await, Err(Error::Gone { .. })));
    assert!(matches!(local.repository("else/where").await, Err(Error::Gone { .. })));
    let change = Subject::change(local.repo().clone(), 1);
    assert!(matches!(local.conversation(&change).await, Err(Error::Gone { .. })));
    let look = local.find(&answer(&Subject::issue(local.repo().clone(), 1), "a")).await;
    assert!(matches!(look, Look::Unknown { .. }));
}

#[tokio::test]
async fn a_broken_file_is_told_not_skipped() {
    let Rig { local, dir, .. } = rig();
    let subject = local.opens_issue("ann", "Title", "").await.unwrap().subject();
    local.comments(1, "ann", "a").await.unwrap();
    std::fs::write(dir.path().join("issues/1/1.json"), "{").unwrap();
    let error = local.conversation(&subject).await.unwrap_err();
    assert!(matches!(error, Error::Garbled { .. }), "{error:?}");
}

#[tokio::test]
async fn nothing_is_left_beside_the_conversation() {
    let Rig { local, dir, .. } = rig();
    let subject = local.opens_issue("ann", "Title", "").await.unwrap().subject();
    let first = local.send(&answer(&subject, "one"), None).await.unwrap();
    local.send(&answer(&subject, "two"), Some(&first)).await.unwrap();
    let mut names: Vec<_> = std::fs::read_dir(dir.path().join("issues/1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["1.json", "opening.json"]);
}
