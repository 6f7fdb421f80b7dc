//! The real GitHub adapter and decoder against the fake forge's GitHub face: neither may ask or
//! answer anything that the other does not know. The fake is strict, so that a request which GitHub
//! would refuse fails here.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a scene fails its test")]

use std::sync::Arc;
use std::time::Duration;

use domain::event::{Happening, Place};
use domain::publication::{CommentBody, Effect, ReactionTarget, Sign};
use domain::{Clock, Event, Origin, Publication, Receipt, Repo, RepoKey, Slot, Subject};
use expect_test::expect;
use forge::github::GitHub;
use forge::http::{Connection, Pacing};
use forge::webhook::{self, Content};
use forge::{Error, Host, Look, Ours, Permission, Read, Write};
use report::marker::MarkerKey;
use report::redact::Redactor;
use secrecy::SecretString;
use testkit::description::Description;
use testkit::forge::{Lag, Limit, Often, Outage};
use testkit::{FakeForge, HandClock, SignedDelivery};

const REPO: &str = "octo/widgets";
const BOT: &str = "patchwright[bot]";

struct Scene {
    forge: FakeForge,
    clock: Arc<HandClock>,
    github: GitHub,
    issue: Subject,
}

impl Scene {
    async fn new() -> Self {
        let clock = Arc::new(HandClock::default());
        let forge = FakeForge::github(clock.clone()).await.unwrap();
        forge.keeps_to(Description::github());
        forge.person("ada");
        let bot = forge.bot(BOT);
        let repo = forge.repo(REPO);
        forge.grants(REPO, BOT, Permission::Write);
        forge.opens_issue("ada", REPO, "It breaks", "Badly.");
        let token = SecretString::from(forge.token(BOT));
        let connection = Connection {
            api: forge.url().parse().unwrap(),
            redactor: Arc::new(Redactor::new([&token])),
            token,
            pacing: Pacing::Auto,
            proxy: None,
            ca_bundle: None,
            clock: clock.clone(),
        };
        let ours = Ours::new("here", Some(MarkerKey::new(b"the key of the contract")));
        let ours = Arc::new(ours.acting_as([domain::AccountId(bot.id)]));
        let github = GitHub::new(connection, ours).unwrap();
        let issue = Subject::issue(
            Repo {
                origin: Origin::new(forge.url()),
                key: RepoKey::Id(repo.id),
                full_name: REPO.to_owned(),
                default_branch: None,
            },
            1,
        );
        Self { forge, clock, github, issue }
    }

    fn comment(&self, markdown: &str) -> Publication {
        let body = CommentBody {
            kind: "answer".to_owned(),
            markdown: markdown.to_owned(),
            claim: None,
            closing: None,
        };
        self.publication(Effect::Comment(body))
    }

    fn publication(&self, effect: Effect) -> Publication {
        Publication { subject: self.issue.clone(), slot: Slot::reply("c1"), effect }
    }

    fn decode(&self, delivery: &SignedDelivery) -> Event {
        let SignedDelivery { headers, body } = delivery;
        let secret = SecretString::from(self.forge.secret());
        let verdict = webhook::verify(Host::GitHub, headers, body, &secret, self.clock.now());
        assert!(verdict.is_authentic());
        let decoded = webhook::decode(Host::GitHub, headers, body, &self.issue.repo.origin);
        match decoded.unwrap().content {
            Content::Event(event) => *event,
            Content::Ignored(why) => panic!("the delivery was ignored: {why}"),
        }
    }
}

#[tokio::test]
async fn everything_that_the_adapter_reads_is_there() {
    let scene = Scene::new().await;
    let own = scene.github.own_account().await.unwrap();
    assert_eq!((own.login.as_str(), own.bot), (BOT, true));
    let repo = scene.github.repository(REPO).await.unwrap();
    assert_eq!(repo.key, scene.issue.repo.key);
    let opening = scene.github.opening(&scene.issue).await.unwrap();
    assert_eq!((opening.body.as_str(), opening.open), ("Badly.", Some(true)));
    for number in 0..250 {
        scene.forge.comments("ada", REPO, 1, &format!("comment {number}"));
    }
    let said = scene.github.conversation(&scene.issue).await.unwrap();
    assert_eq!(said.len(), 250);
    assert_eq!((said[0].body.as_str(), said[249].body.as_str()), ("comment 0", "comment 249"));
    let one = scene.github.comment(&scene.issue, said[7].id, &Place::Conversation).await.unwrap();
    assert_eq!(one.body, "comment 7");
    let ada = one.author;
    assert_eq!(scene.github.permission(&repo, &ada).await.unwrap(), Permission::Read);
    scene.forge.grants(REPO, "ada", Permission::Maintain);
    assert_eq!(scene.github.permission(&repo, &ada).await.unwrap(), Permission::Maintain);
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn a_comment_is_published_edited_in_place_and_withdrawn() {
    let scene = Scene::new().await;
    let asked = scene.forge.comments("ada", REPO, 1, "@patchwright help").comment_id();
    let on = ReactionTarget::Comment { id: asked, place: Place::Conversation };
    let reaction = scene.publication(Effect::Reaction { on, sign: Sign::Eyes });
    assert_eq!(scene.github.send(&reaction, None).await.unwrap(), Receipt::Done);
    let first = scene.github.send(&scene.comment("On it."), None).await.unwrap();
    let second = scene.github.send(&scene.comment("Done."), Some(&first)).await.unwrap();
    expect![[r#"
        issue #1: It breaks

        --- ada
        Badly.

        --- ada [eyes by patchwright[bot]]
        @patchwright help

        --- patchwright[bot]
        [marker kind=answer slot=reply:c1 rev=2]
        Done.
    "#]]
    .assert_eq(&scene.forge.thread(REPO, 1));
    scene.github.send(&scene.publication(Effect::Withdraw), Some(&second)).await.unwrap();
    assert_eq!(scene.forge.conversation(REPO, 1).len(), 1);
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn a_lost_answer_is_found_once_the_lag_is_over() {
    let scene = Scene::new().await;
    scene.forge.lags(Lag::Milliseconds(5_000));
    scene.forge.faults().lose_answers(Often::Next(1));
    let lost = scene.github.send(&scene.comment("Hello."), None).await.unwrap_err();
    assert!(lost.is_of_unknown_fate(), "{lost:?}");
    let hello = scene.comment("Hello.");
    assert_eq!(scene.github.find(&hello).await, Look::Absent);
    scene.clock.advance(Duration::from_secs(5));
    let look = scene.github.find(&hello).await;
    assert!(matches!(look, Look::Found { authentic: true, .. }), "{look:?}");
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn outages_and_limits_are_told_apart() {
    let scene = Scene::new().await;
    let faults = scene.forge.faults();
    faults.outage(Outage::Refusing).await;
    let error = scene.github.send(&scene.comment("Hello."), None).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    faults.outage(Outage::None).await;
    for limit in [Limit::Primary, Limit::TooMany, Limit::Secondary, Limit::SecondaryWithoutHint] {
        let until = scene.clock.now() + Duration::from_secs(60);
        faults.limit(limit, until);
        let error = scene.github.own_account().await.unwrap_err();
        assert!(
            matches!(error, Error::Limited { until: at } if at == until),
            "{limit:?}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_renamed_repository_is_still_read_and_written() {
    let scene = Scene::new().await;
    scene.forge.renames(REPO, "octo/gadgets");
    assert_eq!(scene.github.opening(&scene.issue).await.unwrap().body, "Badly.");
    scene.github.send(&scene.comment("Hello."), None).await.unwrap();
    assert_eq!(scene.forge.conversation("octo/gadgets", 1).len(), 1);
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn deliveries_are_authentic_and_say_what_happened() {
    let scene = Scene::new().await;
    let asked = scene.forge.comments("ada", REPO, 1, "@patchwright help");
    let event = scene.decode(&scene.forge.delivery(&asked));
    assert_eq!(event.repo.key, scene.issue.repo.key);
    assert_eq!(event.actor.login, "ada");
    let Happening::Commented(comment) = &event.happening else { panic!("{event:?}") };
    assert_eq!((comment.id, comment.number), (Some(asked.comment_id()), 1));
    let change = testkit::forge::FakeChange::from_branch("mend");
    let story = [
        scene.forge.edits("ada", REPO, asked.comment_id(), "@patchwright status"),
        scene.forge.opens_issue("ada", REPO, "Another", ""),
        scene.forge.opens_change("ada", REPO, "Mend it", "", change),
        scene.forge.pushes("ada", REPO, 3),
        scene.forge.comments_on_line("ada", REPO, 3, ("src/lib.rs", 3), "why?"),
        scene.forge.closes("ada", REPO, 3),
    ];
    let names =
        story.map(|happened| scene.decode(&scene.forge.delivery(&happened)).happening.name());
    assert_eq!(
        names,
        [
            "comment-edited",
            "issue-opened",
            "change-opened",
            "change-pushed",
            "commented",
            "change-closed"
        ]
    );
}
