//! The stories of a slot, each told on GitHub over HTTP and in a local folder.

use std::sync::Arc;

use domain::publication::{Claim, Effect};
use domain::{AccountId, Clock, Origin, Publication, Repo, RepoKey};
use report::marker::MarkerKey;
use report::redact::Redactor;

use super::*;
use crate::github::GitHub;
use crate::local::{self, Local};
use crate::ours::Ours;
use crate::port::Write;
use crate::rig::{Desk, LeapingClock, NOW, OUR_ID, Server, THEIR_ID, connection};

trait Port: Moves + Write {}
impl<T: Moves + Write> Port for T {}

/// One place to tell stories at, with one deployment of ours.
struct Stage {
    name: &'static str,
    port: Box<dyn Port>,
    subject: Subject,
    account: AccountId,
    clock: Arc<LeapingClock>,
    theirs: Theirs,
}

/// How somebody else writes there.
enum Theirs {
    GitHub { desk: Arc<Desk>, server: Server },
    Local { folder: Local, _dir: tempfile::TempDir },
}

const HOUR: Duration = Duration::from_hours(1);

fn key() -> Option<MarkerKey> {
    Some(MarkerKey::new(b"the key that our deployments share"))
}

impl Stage {
    async fn github(ours: Ours) -> Self {
        let (desk, server) = Desk::open().await;
        let clock = LeapingClock::new();
        let port =
            GitHub::new(connection(&server.url, Arc::clone(&clock)), Arc::new(ours)).unwrap();
        let repo = Repo {
            origin: Origin::new(&server.url),
            key: RepoKey::Id(7),
            full_name: "o/r".to_owned(),
            default_branch: None,
        };
        Self {
            name: "github",
            port: Box::new(port),
            subject: Subject::issue(repo, 3),
            account: AccountId(OUR_ID),
            clock,
            theirs: Theirs::GitHub { desk, server },
        }
    }

    async fn local(ours: Ours) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (clock, redactor) = (LeapingClock::new(), Arc::new(Redactor::new([])));
        let folder = |ours| {
            Local::new(
                dir.path(),
                "o/r",
                Arc::new(ours),
                Arc::clone(&redactor),
                Arc::clone(&clock) as Arc<_>,
            )
        };
        let (port, others) = (folder(ours), folder(Ours::new("people", None)));
        let event = others.opens_issue("ann", "A title", "A text").await.unwrap();
        Self {
            name: "local",
            port: Box::new(port),
            subject: event.subject(),
            account: local::ACCOUNT,
            clock,
            theirs: Theirs::Local { folder: others, _dir: dir },
        }
    }

    /// Every stage, with the identity that `ours` makes.
    async fn all(ours: impl Fn() -> Ours) -> [Self; 2] {
        [Self::github(ours()).await, Self::local(ours()).await]
    }

    async fn with_key() -> [Self; 2] {
        Self::all(|| Ours::new("server", key())).await
    }

    /// Writes as somebody who is not us.
    async fn says(&self, body: &str) -> u64 {
        match &self.theirs {
            Theirs::GitHub { desk, .. } => desk.plant(THEIR_ID, body),
            Theirs::Local { folder, .. } => {
                match folder.comments(1, "ann", body).await.unwrap().happening {
                    domain::event::Happening::Commented(comment) => comment.id.unwrap(),
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    /// Writes a marked comment with our account, as another deployment of ours does.
    async fn other_deployment(&self, key: Option<MarkerKey>, marker: &Marker, text: &str) -> u64 {
        let other = Ours::new("elsewhere", key).acting_as([self.account]);
        let body = other.sign(&self.subject, marker, text);
        self.port.create(&self.subject, &body, self.by()).await.unwrap().id
    }

    async fn send(&self, text: &str, earlier: Option<&Receipt>) -> Receipt {
        self.try_send(text, None, earlier).await.unwrap()
    }

    /// Sends the first comment of a run, and settles.
    async fn claim(&self, text: &str) -> Receipt {
        let claim = Claim { head: "abc".to_owned(), expires: self.clock.now() + HOUR };
        let own = self.try_send(text, Some(claim), None).await.unwrap();
        self.port.settle_claim(&self.subject, &slot(), &own).await.unwrap()
    }

    async fn try_send(
        &self,
        text: &str,
        claim: Option<Claim>,
        earlier: Option<&Receipt>,
    ) -> Result<Receipt, Error> {
        let body = CommentBody {
            kind: "answer".to_owned(),
            markdown: text.to_owned(),
            claim,
            closing: None,
        };
        self.port.send(&self.publication(Effect::Comment(body)), earlier).await
    }

    fn publication(&self, effect: Effect) -> Publication {
        Publication { subject: self.subject.clone(), slot: slot(), effect }
    }

    async fn find(&self) -> Look {
        self.look_in(&self.subject, slot()).await
    }

    async fn look_in(&self, subject: &Subject, slot: Slot) -> Look {
        let body = CommentBody {
            kind: "answer".to_owned(),
            markdown: String::new(),
            claim: None,
            closing: None,
        };
        let effect = Effect::Comment(body);
        self.port.find(&Publication { subject: subject.clone(), slot, effect }).await
    }

    /// The conversation without its markers.
    async fn texts(&self) -> Vec<String> {
        let said = self.port.conversation(&self.subject).await.unwrap();
        said.iter().map(|said| marker::strip(&said.body).to_owned()).collect()
    }

    async fn body_of(&self, id: u64) -> String {
        self.port.one(&self.subject, Home::Conversation, id, self.by()).await.unwrap().body
    }

    fn by(&self) -> Deadline {
        Deadline::starting(&*self.clock)
    }
}

fn slot() -> Slot {
    Slot::reply("c17")
}

fn marker(revision: u32) -> Marker {
    Marker {
        kind: "answer".to_owned(),
        slot: slot(),
        revision,
        instance: Some("elsewhere".to_owned()),
        head: None,
        expires: Some(NOW + HOUR),
    }
}

fn id_of(receipt: &Receipt) -> (u64, u32) {
    match receipt {
        Receipt::Comment { id, revision, .. } => (*id, *revision),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn assert_yielded(receipt: &Receipt, word: &str) {
    assert!(matches!(receipt, Receipt::Yielded { why } if why.contains(word)), "{receipt:?}");
}

#[tokio::test]
async fn publishing_a_slot_again_edits_in_place() {
    for stage in Stage::with_key().await {
        let first = stage.send("one", None).await;
        let second = stage.send("two", Some(&first)).await;
        assert_eq!(id_of(&second), (id_of(&first).0, 2), "{}", stage.name);
        assert_eq!(stage.texts().await, ["two"]);
    }
}

#[tokio::test]
async fn e1_a_copied_marker_of_a_stranger_is_not_ours() {
    for stage in Stage::with_key().await {
        let own = stage.send("ours", None).await;
        let copy = stage.body_of(id_of(&own).0).await;
        let withdrawn =
            stage.port.send(&stage.publication(Effect::Withdraw), Some(&own)).await.unwrap();
        assert_eq!(withdrawn, Receipt::Done);
        let theirs = stage.says(&copy).await;
        assert_eq!(stage.find().await, Look::Absent, "{}", stage.name);
        let earlier = Receipt::comment(theirs, 9);
        assert_yielded(&stage.send("mine", Some(&earlier)).await, "not by one of our accounts");
        assert_eq!(stage.body_of(theirs).await, copy, "a person's comment is never edited");
    }
}

#[tokio::test]
async fn e1_a_doubted_marker_stops_a_second_post_until_it_expires() {
    for stage in Stage::with_key().await {
        let other_key = Some(MarkerKey::new(b"another key"));
        let id = stage.other_deployment(other_key, &marker(7), "theirs").await;
        let Look::Found { receipt, authentic: false } = stage.find().await else {
            panic!("{}", stage.name)
        };
        assert_eq!(id_of(&receipt), (id, 0), "nothing in its marker counts");
        assert_yielded(&stage.send("mine", Some(&receipt)).await, "holds the slot");
        assert_eq!(stage.texts().await, ["theirs"]);

        stage.clock.advance(HOUR);
        let taken = stage.send("mine", Some(&receipt)).await;
        assert_eq!(id_of(&taken), (id, 1), "{}", stage.name);
        assert_eq!(stage.texts().await, ["mine"]);
        assert!(matches!(stage.find().await, Look::Found { authentic: true, .. }));
    }
}

#[tokio::test]
async fn e1_without_a_key_a_run_edits_its_own_comment_and_believes_no_other() {
    for stage in Stage::all(|| Ours::new("ci", None)).await {
        let first = stage.send("in progress", None).await;
        let second = stage.send("done", Some(&first)).await;
        assert_eq!(id_of(&second).1, 2, "{}", stage.name);
        let old = Marker { slot: Slot::status(), ..marker(1) };
        stage.other_deployment(None, &old, "of an earlier run").await;
        let look = stage.look_in(&stage.subject, Slot::status()).await;
        assert!(matches!(look, Look::Found { authentic: false, .. }), "{look:?}");
    }
}

#[tokio::test]
async fn e2_a_comment_that_stands_twice_is_healed_to_the_lowest_id() {
    for stage in Stage::with_key().await {
        let first = stage.send("once", None).await;
        stage.says("in between").await;
        stage.send("once", None).await;
        stage.send("once", None).await;
        let other = Marker { slot: Slot::status(), ..marker(1) };
        stage.other_deployment(key(), &other, "another slot").await;
        stage.other_deployment(Some(MarkerKey::new(b"x")), &marker(1), "doubted").await;
        let expected = Look::Found { receipt: first, authentic: true };
        assert_eq!(stage.find().await, expected, "{}", stage.name);
        assert_eq!(stage.texts().await, ["once", "in between", "another slot", "doubted"]);
    }
}

#[tokio::test]
async fn e2_a_send_whose_answer_was_lost_is_found() {
    let stage = Stage::github(Ours::new("server", key())).await;
    let Theirs::GitHub { desk, .. } = &stage.theirs else { unreachable!() };
    desk.lose_answers(1);
    let error = stage.try_send("once", None, None).await.unwrap_err();
    assert!(error.is_of_unknown_fate(), "{error:?}");
    assert!(matches!(stage.find().await, Look::Found { authentic: true, .. }));
    assert_eq!(stage.texts().await, ["once"]);
}

#[tokio::test]
async fn e2_a_look_that_fails_is_neither_found_nor_absent() {
    let stage = Stage::github(Ours::new("server", key())).await;
    let elsewhere = Subject { number: 4, ..stage.subject.clone() };
    assert!(matches!(stage.look_in(&elsewhere, slot()).await, Look::Unknown { .. }));
}

#[tokio::test]
async fn e6_an_older_send_never_overwrites_a_newer_one() {
    for stage in Stage::with_key().await {
        let first = stage.send("one", None).await;
        stage.send("two", Some(&first)).await;
        assert_yielded(&stage.send("late", Some(&first)).await, "newer than 1");
        assert_eq!(stage.texts().await, ["two"], "{}", stage.name);
        let withdrawn =
            stage.port.send(&stage.publication(Effect::Withdraw), Some(&first)).await.unwrap();
        assert_yielded(&withdrawn, "newer than 1");
        assert_eq!(stage.texts().await, ["two"]);
    }
}

#[tokio::test]
async fn e6_an_edit_whose_answer_was_lost_is_recognised_when_repeated() {
    let stage = Stage::github(Ours::new("server", key())).await;
    let first = stage.send("one", None).await;
    let Theirs::GitHub { desk, server } = &stage.theirs else { unreachable!() };
    desk.lose_answers(1);
    let error = stage.try_send("two", None, Some(&first)).await.unwrap_err();
    assert!(matches!(error, Error::Lost { .. }), "{error:?}");
    let again = stage.send("two", Some(&first)).await;
    assert_eq!(id_of(&again), (id_of(&first).0, 2));
    let edits = server.asked().iter().filter(|asked| asked.starts_with("PATCH")).count();
    assert_eq!(edits, 1);
}

#[tokio::test]
async fn t9_a_remembered_comment_is_read_and_checked_before_it_is_edited() {
    for stage in Stage::with_key().await {
        let own = stage.send("ours", None).await;
        let (id, _) = id_of(&own);
        stage
            .port
            .edit(&stage.subject, (Home::Conversation, id), "somebody replaced it all", stage.by())
            .await
            .unwrap();
        assert_yielded(&stage.send("again", Some(&own)).await, "no longer carries our marker");
        let withdrawn =
            stage.port.send(&stage.publication(Effect::Withdraw), Some(&own)).await.unwrap();
        assert_yielded(&withdrawn, "no longer carries our marker");
        assert_eq!(stage.texts().await, ["somebody replaced it all"], "{}", stage.name);
        if let Theirs::GitHub { server, .. } = &stage.theirs {
            let asked = server.asked();
            let read = format!("GET /repos/o/r/issues/comments/{id}");
            assert!(asked.contains(&read), "{asked:?}");
            assert_eq!(asked.iter().filter(|asked| asked.starts_with("PATCH")).count(), 1);
        }
    }
}

#[tokio::test]
async fn t9_a_remembered_comment_of_another_slot_is_left_alone() {
    for stage in Stage::with_key().await {
        let id = stage
            .other_deployment(key(), &Marker { slot: Slot::status(), ..marker(1) }, "status")
            .await;
        let earlier = Receipt::comment(id, 5);
        assert_yielded(&stage.send("mine", Some(&earlier)).await, "this slot");
        assert_eq!(stage.texts().await, ["status"], "{}", stage.name);
    }
}

#[tokio::test]
async fn a_comment_that_was_removed_is_created_anew_with_a_higher_revision() {
    for stage in Stage::with_key().await {
        let first = stage.send("one", None).await;
        stage
            .port
            .delete(&stage.subject, Home::Conversation, id_of(&first).0, stage.by())
            .await
            .unwrap();
        let second = stage.send("two", Some(&first)).await;
        assert!(id_of(&second).0 > id_of(&first).0, "{}: no id is used twice", stage.name);
        assert_eq!(id_of(&second).1, 2);
        assert_eq!(stage.texts().await, ["two"]);
    }
}

#[tokio::test]
async fn withdrawing_removes_our_comment_and_may_be_repeated() {
    for stage in Stage::with_key().await {
        let withdraw = stage.publication(Effect::Withdraw);
        let own = stage.send("soon gone", None).await;
        stage.says("stays").await;
        for earlier in [Some(&own), Some(&own), None] {
            assert_eq!(stage.port.send(&withdraw, earlier).await.unwrap(), Receipt::Done);
            assert_eq!(stage.texts().await, ["stays"], "{}", stage.name);
        }
        stage.send("again", None).await;
        assert_eq!(
            stage.port.send(&withdraw, None).await.unwrap(),
            Receipt::Done,
            "found by its slot"
        );
        assert_eq!(stage.texts().await, ["stays"]);
    }
}

#[tokio::test]
async fn e7_of_two_deployments_the_lowest_id_speaks() {
    for stage in Stage::with_key().await {
        stage.other_deployment(key(), &marker(1), "the first").await;
        let settled = stage.claim("the second").await;
        assert_yielded(&settled, "elsewhere speaks in this slot");
        assert_eq!(stage.texts().await, ["the first"], "{}: the loser removes its own", stage.name);
        let next = stage.send("what the loser would have said", Some(&settled)).await;
        assert_eq!(next, settled, "and stays silent");
    }
}

#[tokio::test]
async fn e7_the_winner_leaves_the_loser_to_itself() {
    for stage in Stage::with_key().await {
        let claim = Claim { head: String::new(), expires: NOW + HOUR };
        let own = stage.try_send("the first", Some(claim), None).await.unwrap();
        stage.other_deployment(key(), &marker(1), "the second").await;
        assert_eq!(stage.port.settle_claim(&stage.subject, &slot(), &own).await.unwrap(), own);
        assert_eq!(stage.texts().await, ["the first", "the second"], "{}", stage.name);
    }
}

#[tokio::test]
async fn e7_an_expired_claim_is_taken_over_in_its_own_comment() {
    for stage in Stage::with_key().await {
        for (key, revision) in [(key(), 4), (Some(MarkerKey::new(b"x")), 9)] {
            let old = stage.other_deployment(key, &marker(revision), "of a dead run").await;
            stage.clock.advance(HOUR);
            let settled = stage.claim("of this run").await;
            assert_eq!(id_of(&settled).0, old, "{}", stage.name);
            assert_eq!(stage.texts().await, ["of this run"]);
            let next = stage.send("its result", Some(&settled)).await;
            assert_eq!(stage.texts().await, ["its result"]);
            stage.port.send(&stage.publication(Effect::Withdraw), Some(&next)).await.unwrap();
        }
    }
}

#[tokio::test]
async fn e7_the_run_looks_until_its_own_comment_is_listed() {
    let stage = Stage::github(Ours::new("server", key())).await;
    let Theirs::GitHub { desk, server } = &stage.theirs else { unreachable!() };
    desk.lag(2);
    let settled = stage.claim("mine").await;
    assert_eq!(id_of(&settled).1, 1);
    let looks = server.asked().iter().filter(|asked| asked.ends_with("per_page=100")).count();
    assert_eq!(looks, 3);
    assert_eq!(stage.clock.passed(), PAUSES[0] + PAUSES[1]);
}

#[tokio::test]
async fn e7_a_comment_that_is_never_listed_is_taken_as_ours_in_the_end() {
    let stage = Stage::github(Ours::new("server", key())).await;
    let Theirs::GitHub { desk, .. } = &stage.theirs else { unreachable!() };
    desk.lag(100);
    let settled = stage.claim("mine").await;
    assert_eq!(id_of(&settled).1, 1);
    assert_eq!(stage.clock.passed(), PAUSES.iter().sum());
}

#[tokio::test]
async fn e7_the_first_comment_carries_instance_head_and_expiry() {
    for stage in Stage::with_key().await {
        let settled = stage.claim("mine").await;
        let found = marker::read(&stage.body_of(id_of(&settled).0).await).unwrap().marker;
        assert_eq!(found.instance.as_deref(), Some("server"), "{}", stage.name);
        assert_eq!(found.head.as_deref(), Some("abc"));
        assert_eq!(found.expires, Some(NOW + HOUR));
    }
}
