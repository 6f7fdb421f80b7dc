//! The real adapters and decoders against the fake forge's faces: neither may ask or answer anything
//! that the other does not know, nor what the host's own description does not have. The fakes are
//! strict, so that a request which the host would refuse fails here. Each story is told on every
//! host; what only one host has is told at the end.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a scene fails its test")]

use std::sync::Arc;
use std::time::Duration;

use domain::anchor::{Line, LineKind, Spot};
use domain::event::{Happening, Place};
use domain::publication::{
    Branch, CommentBody, Dispatch, Effect, FileWrite, Inline, NewChange, ReactionTarget, Reply,
    Settling, Sign, Status, Verdict,
};
use domain::{Clock, Event, Origin, Publication, Receipt, Repo, RepoKey, Slot, Subject};
use expect_test::expect;
use forge::gitea::Gitea;
use forge::github::GitHub;
use forge::http::{Connection, Pacing};
use forge::webhook::{self, Content};
use forge::{Error, Host, Look, Ours, Permission, Read, Write};
use report::marker::MarkerKey;
use report::redact::Redactor;
use secrecy::SecretString;
use testkit::description::Description;
use testkit::forge::{FakeChange, FakeDiff, Lag, Limit, Often, Options, Outage};
use testkit::{FakeForge, HandClock, SignedDelivery};

const REPO: &str = "octo/widgets";
const BOT: &str = "patchwright[bot]";
/// A commit that a person pushed.
const PUSHED: &str = "5eed5eed5eed5eed5eed5eed5eed5eed5eed5eed";

/// Both ports of a host.
trait Adapter: Read + Write {}

impl<T: Read + Write> Adapter for T {}

struct Scene {
    host: Host,
    forge: FakeForge,
    clock: Arc<HandClock>,
    adapter: Box<dyn Adapter>,
    issue: Subject,
}

impl Scene {
    async fn on(host: Host) -> Self {
        let clock = Arc::new(HandClock::default());
        let options = Options { host, ..Options::default() };
        let forge = FakeForge::start(clock.clone(), options).await.unwrap();
        forge.person("ada");
        let bot = forge.bot(BOT);
        let repo = forge.repo(REPO);
        let (api, permission) = match host {
            // Only administrators may ask for the permissions of others.
            Host::Gitea => ("/api/v1", Permission::Admin),
            _ => ("", Permission::Write),
        };
        forge.grants(REPO, BOT, permission);
        forge.opens_issue("ada", REPO, "It breaks", "Badly.");
        let token = SecretString::from(forge.token(BOT));
        let connection = Connection {
            api: format!("{}{api}", forge.url()).parse().unwrap(),
            redactor: Arc::new(Redactor::new([&token])),
            token,
            pacing: Pacing::Auto,
            proxy: None,
            ca_bundle: None,
            clock: clock.clone(),
        };
        let ours = Ours::new("here", Some(MarkerKey::new(b"the key of the contract")));
        let ours = Arc::new(ours.acting_as([domain::AccountId(bot.id)]));
        let adapter: Box<dyn Adapter> = match host {
            Host::GitHub => {
                forge.keeps_to(Description::github());
                Box::new(GitHub::new(connection, ours).unwrap())
            }
            Host::Gitea => {
                forge.keeps_to(Description::gitea());
                Box::new(Gitea::new(connection, ours).unwrap())
            }
            other => panic!("there is no scene on {other}"),
        };
        let repo = Repo {
            origin: Origin::new(forge.url()),
            key: RepoKey::Id(repo.id),
            full_name: REPO.to_owned(),
            default_branch: None,
        };
        Self { host, forge, clock, adapter, issue: Subject::issue(repo, 1) }
    }

    /// Lets a person open change 2, and returns it with its head.
    fn change(&self) -> (Subject, String) {
        let change = FakeChange::from_branch("mend");
        let head = change.head.clone();
        self.forge.opens_change("ada", REPO, "Mend it", "Words of a person.", change);
        (Subject::change(self.issue.repo.clone(), 2), head)
    }

    fn comment(&self, markdown: &str) -> Publication {
        self.publication(Effect::Comment(text(markdown)))
    }

    fn publication(&self, effect: Effect) -> Publication {
        Publication { subject: self.issue.clone(), slot: Slot::reply("c1"), effect }
    }

    fn decode(&self, delivery: &SignedDelivery) -> Content {
        let SignedDelivery { headers, body } = delivery;
        let secret = SecretString::from(self.forge.secret());
        let verdict = webhook::verify(self.host, headers, body, &secret, self.clock.now());
        assert!(verdict.is_authentic());
        let decoded = webhook::decode(self.host, headers, body, &self.issue.repo.origin);
        decoded.unwrap().content
    }

    fn event(&self, delivery: &SignedDelivery) -> Event {
        match self.decode(delivery) {
            Content::Event(event) => *event,
            Content::Ignored(why) => panic!("the delivery was ignored: {why}"),
        }
    }
}

fn text(markdown: &str) -> CommentBody {
    CommentBody {
        kind: "answer".to_owned(),
        markdown: markdown.to_owned(),
        claim: None,
        closing: None,
    }
}

/// A comment on line 5 of the small diff, which is removed on one side and added on the other.
fn inline(change: &(Subject, String), slot: &str, kind: LineKind) -> Publication {
    let at = Spot {
        path: "src/lib.rs".to_owned(),
        old_path: None,
        side: Line { kind, old: 5, new: 5 }.side(),
        start: None,
        line: Line { kind, old: 5, new: 5 },
        commit: change.1.clone(),
    };
    let effect = Effect::Inline(Inline { body: text(slot), at, suggestion: None, batch: None });
    Publication { subject: change.0.clone(), slot: Slot::parse(slot).unwrap(), effect }
}

macro_rules! told_on {
    ($($host:ident = $kind:expr),*; $stories:tt) => {
        $(told_on!(@host $host $kind, $stories);)*
    };
    (@host $host:ident $kind:expr, [$($story:ident),* $(,)?]) => {
        mod $host {
            use super::*;
            $(
                #[tokio::test]
                async fn $story() {
                    super::$story(Scene::on($kind).await).await;
                }
            )*
        }
    };
}

told_on! { gitea = Host::Gitea; [
    everything_that_the_adapter_reads_is_there,
    a_comment_is_published_edited_in_place_and_withdrawn,
    a_lost_answer_is_found_once_the_lag_is_over,
    outages_and_limits_are_told_apart,
    a_renamed_repository_is_still_read_and_written,
    deliveries_are_authentic_and_say_what_happened,
    inline_comments_travel_together_and_are_answered_and_settled,
    a_change_is_drafted_described_and_made_ready,
    commits_branches_files_and_runs_are_written,
    what_was_touched_lately_is_found_again,
] }

async fn everything_that_the_adapter_reads_is_there(scene: Scene) {
    let own = scene.adapter.own_account().await.unwrap();
    // Only GitHub tells bots from people.
    assert_eq!((own.login.as_str(), own.bot), (BOT, scene.host == Host::GitHub));
    let repo = scene.adapter.repository(REPO).await.unwrap();
    assert_eq!(repo.key, scene.issue.repo.key);
    let opening = scene.adapter.opening(&scene.issue).await.unwrap();
    assert_eq!((opening.body.as_str(), opening.open), ("Badly.", Some(true)));
    for number in 0..250 {
        scene.forge.comments("ada", REPO, 1, &format!("comment {number}"));
    }
    let said = scene.adapter.conversation(&scene.issue).await.unwrap();
    assert_eq!(said.len(), 250);
    assert_eq!((said[0].body.as_str(), said[249].body.as_str()), ("comment 0", "comment 249"));
    let one = scene.adapter.comment(&scene.issue, said[7].id, &Place::Conversation).await.unwrap();
    assert_eq!(one.body, "comment 7");
    let ada = one.author;
    assert_eq!(scene.adapter.permission(&repo, &ada).await.unwrap(), Permission::Read);
    scene.forge.grants(REPO, "ada", Permission::Write);
    assert_eq!(scene.adapter.permission(&repo, &ada).await.unwrap(), Permission::Write);
    assert_eq!(scene.forge.violations(), []);
}

async fn a_comment_is_published_edited_in_place_and_withdrawn(scene: Scene) {
    let asked = scene.forge.comments("ada", REPO, 1, "@patchwright help").comment_id();
    let on = ReactionTarget::Comment { id: asked, place: Place::Conversation };
    let reaction = scene.publication(Effect::Reaction { on, sign: Sign::Eyes });
    assert_eq!(scene.adapter.send(&reaction, None).await.unwrap(), Receipt::Done);
    let first = scene.adapter.send(&scene.comment("On it."), None).await.unwrap();
    let second = scene.adapter.send(&scene.comment("Done."), Some(&first)).await.unwrap();
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
    scene.adapter.send(&scene.publication(Effect::Withdraw), Some(&second)).await.unwrap();
    assert_eq!(scene.forge.conversation(REPO, 1).len(), 1);
    assert_eq!(scene.forge.violations(), []);
}

async fn a_lost_answer_is_found_once_the_lag_is_over(scene: Scene) {
    scene.forge.lags(Lag::Milliseconds(5_000));
    scene.forge.faults().lose_answers(Often::Next(1));
    let lost = scene.adapter.send(&scene.comment("Hello."), None).await.unwrap_err();
    assert!(lost.is_of_unknown_fate(), "{lost:?}");
    let hello = scene.comment("Hello.");
    assert_eq!(scene.adapter.find(&hello).await, Look::Absent);
    scene.clock.advance(Duration::from_secs(5));
    let look = scene.adapter.find(&hello).await;
    assert!(matches!(look, Look::Found { authentic: true, .. }), "{look:?}");
    assert_eq!(scene.forge.violations(), []);
}

async fn outages_and_limits_are_told_apart(scene: Scene) {
    let faults = scene.forge.faults();
    faults.outage(Outage::Refusing).await;
    let error = scene.adapter.send(&scene.comment("Hello."), None).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    faults.outage(Outage::None).await;
    for limit in [Limit::Primary, Limit::TooMany, Limit::Secondary, Limit::SecondaryWithoutHint] {
        let until = scene.clock.now() + Duration::from_secs(60);
        faults.limit(limit, until);
        let error = scene.adapter.own_account().await.unwrap_err();
        assert!(
            matches!(error, Error::Limited { until: at } if at == until),
            "{limit:?}: {error:?}"
        );
    }
}

async fn a_renamed_repository_is_still_read_and_written(scene: Scene) {
    scene.forge.renames(REPO, "octo/gadgets");
    assert_eq!(scene.adapter.opening(&scene.issue).await.unwrap().body, "Badly.");
    scene.adapter.send(&scene.comment("Hello."), None).await.unwrap();
    assert_eq!(scene.forge.conversation("octo/gadgets", 1).len(), 1);
    assert_eq!(scene.forge.violations(), []);
}

async fn deliveries_are_authentic_and_say_what_happened(scene: Scene) {
    let asked = scene.forge.comments("ada", REPO, 1, "@patchwright help");
    let event = scene.event(&scene.forge.delivery(&asked));
    assert_eq!(event.repo.key, scene.issue.repo.key);
    assert_eq!(event.actor.login, "ada");
    let Happening::Commented(comment) = &event.happening else { panic!("{event:?}") };
    assert_eq!((comment.id, comment.number), (Some(asked.comment_id()), 1));
    let change = FakeChange::from_branch("mend").draft();
    let line = ("src/lib.rs", 5);
    let mut story = vec![
        scene.forge.edits("ada", REPO, asked.comment_id(), "@patchwright status"),
        scene.forge.opens_issue("ada", REPO, "Another", ""),
        scene.forge.opens_change("ada", REPO, "Mend it", "", change),
        scene.forge.pushes("ada", REPO, 3),
        scene.forge.marks_ready("ada", REPO, 3),
    ];
    let inline = scene.forge.comments_on_line("ada", REPO, 3, line, "why?");
    story.push(scene.forge.replies("ada", REPO, inline.thread_id(), "@patchwright?"));
    story.push(scene.forge.closes("ada", REPO, 3));
    let names: Vec<_> = story
        .iter()
        .map(|happened| scene.event(&scene.forge.delivery(happened)).happening.name())
        .collect();
    assert_eq!(
        names,
        [
            "comment-edited",
            "issue-opened",
            "change-opened",
            "change-pushed",
            "change-ready",
            "commented",
            "change-closed"
        ]
    );
    match (scene.host, scene.decode(&scene.forge.delivery(&inline))) {
        // It comes as a review without words, which does not tell its comments.
        (Host::Gitea, Content::Ignored(_)) => {}
        (_, Content::Event(event)) => assert_eq!(event.happening.name(), "commented"),
        (_, Content::Ignored(why)) => panic!("the delivery was ignored: {why}"),
    }
    assert_eq!(scene.forge.violations(), []);
}

async fn inline_comments_travel_together_and_are_answered_and_settled(scene: Scene) {
    let change = scene.change();
    let all = [inline(&change, "f:1", LineKind::Added), inline(&change, "f:2", LineKind::Removed)];
    let receipts = scene.adapter.send_together(&all).await.unwrap();
    let threads = scene.adapter.threads(&change.0).await.unwrap();
    let stands: Vec<_> = threads
        .iter()
        .map(|thread| {
            (thread.at.clone().unwrap().line.kind, thread.resolved, thread.comments.len())
        })
        .collect();
    assert_eq!(stands, [(LineKind::Added, Some(false), 1), (LineKind::Removed, Some(false), 1)]);
    for (thread, receipt) in threads.iter().zip(&receipts) {
        let Receipt::Comment { thread: Some(named), .. } = receipt else { panic!("{receipt:?}") };
        assert_eq!(*named, thread.id);
    }
    let edited = scene.adapter.send(&all[0], Some(&receipts[0])).await.unwrap();
    assert!(matches!(edited, Receipt::Comment { revision: 2, .. }), "{edited:?}");

    let thread = threads[0].id.clone();
    let reply = Effect::Reply(Reply { body: text("And more."), thread: thread.clone() });
    let reply = Publication { subject: change.0.clone(), slot: Slot::reply("t1"), effect: reply };
    scene.adapter.send(&reply, None).await.unwrap();
    for (settling, resolved) in [(Settling::Resolve, true), (Settling::Unresolve, false)] {
        let effect = Effect::Settle { thread: thread.clone(), settling };
        let settle = Publication { subject: change.0.clone(), slot: Slot::status(), effect };
        assert_eq!(scene.adapter.send(&settle, None).await.unwrap(), Receipt::Done);
        let threads = scene.adapter.threads(&change.0).await.unwrap();
        assert_eq!(threads.len(), 2);
        assert_eq!((threads[0].resolved, threads[0].comments.len()), (Some(resolved), 2));
    }
    let look = scene.adapter.find(&reply).await;
    assert!(matches!(look, Look::Found { authentic: true, .. }), "{look:?}");
    let withdraw = Publication { effect: Effect::Withdraw, ..all[1].clone() };
    scene.adapter.send(&withdraw, Some(&receipts[1])).await.unwrap();
    assert_eq!(scene.adapter.threads(&change.0).await.unwrap().len(), 1);
    assert_eq!(scene.forge.violations(), []);
}

async fn a_change_is_drafted_described_and_made_ready(scene: Scene) {
    scene.forge.grants(REPO, "ada", Permission::Write);
    scene.forge.moves_branch("ada", REPO, "bot/fix", PUSHED, Some(FakeDiff::small()));
    let new = Effect::Change(NewChange {
        title: "Fix it".to_owned(),
        body: text("What it does."),
        head_branch: "bot/fix".to_owned(),
        base_branch: "main".to_owned(),
    });
    let opened = scene.adapter.send(&scene.publication(new.clone()), None).await.unwrap();
    assert!(matches!(opened, Receipt::Change { number: 2, .. }), "{opened:?}");
    let again = scene.adapter.send(&scene.publication(new), None).await.unwrap();
    assert!(matches!(again, Receipt::Change { number: 2, .. }), "found, not opened twice");
    let change = Subject::change(scene.issue.repo.clone(), 2);
    let send = async |effect: Effect| {
        let subject = change.clone();
        let publication = Publication { subject, slot: Slot::status(), effect };
        scene.adapter.send(&publication, None).await.unwrap();
        scene.adapter.change(&change).await.unwrap()
    };
    let drafted = scene.adapter.change(&change).await.unwrap();
    assert_eq!((drafted.draft, drafted.title.as_str()), (true, "Fix it"));
    assert_eq!((drafted.head.as_str(), drafted.source.branch.as_str()), (PUSHED, "bot/fix"));
    let described = send(Effect::Describe { markdown: "Our block.".to_owned() }).await;
    assert!(described.body.starts_with("What it does."), "{}", described.body);
    assert!(described.body.contains("Our block."), "{}", described.body);
    let ready = send(Effect::Ready).await;
    assert_eq!((ready.draft, ready.title.as_str()), (false, "Fix it"));
    assert_eq!(scene.forge.violations(), []);
}

async fn commits_branches_files_and_runs_are_written(scene: Scene) {
    let (change, head) = scene.change();
    let send = async |effect: Effect| {
        let subject = change.clone();
        let publication = Publication { subject, slot: Slot::status(), effect };
        scene.adapter.send(&publication, None).await.unwrap()
    };
    for verdict in [Verdict::Pending, Verdict::Neutral, Verdict::Failure, Verdict::Success] {
        let status = Status {
            commit: head.clone(),
            context: "patchwright".to_owned(),
            verdict,
            title: "One line.".to_owned(),
            summary: String::new(),
            url: Some("https://bot.example/1".to_owned()),
            annotations: Vec::new(),
            closing: None,
        };
        assert_eq!(send(Effect::Status(status)).await, Receipt::Done);
    }
    let printed = scene.forge.thread(REPO, 2);
    assert!(printed.contains("status patchwright: success (One line.)"), "{printed}");

    let branch = Branch { name: "bot/new".to_owned(), at: head.clone() };
    for _ in 0..2 {
        let stands = send(Effect::Branch(branch.clone())).await;
        assert_eq!(stands, Receipt::Commit { id: head.clone() });
    }
    let found = scene.adapter.branch(&change.repo, "bot/new").await.unwrap().unwrap();
    assert_eq!((found.head, found.protected), (head, false));
    assert_eq!(scene.adapter.branch(&change.repo, "nowhere").await.unwrap(), None);

    let file = FileWrite {
        branch: "bot/new".to_owned(),
        path: "docs/notes.md".to_owned(),
        content: "Hello.".to_owned(),
        message: "docs: say hello".to_owned(),
        replaces: None,
    };
    assert_eq!(send(Effect::File(file.clone())).await, Receipt::Done);
    assert_eq!(send(Effect::File(file)).await, Receipt::Done, "it stands there already");

    let dispatch = Dispatch {
        workflow: Some("run.yml".to_owned()),
        on_branch: "main".to_owned(),
        variables: vec![("id".to_owned(), "x1".to_owned())],
        identity: "id".to_owned(),
    };
    assert_eq!(send(Effect::Dispatch(dispatch)).await, Receipt::Done);
    assert_eq!(scene.forge.runs(REPO).len(), 1);
    assert_eq!(scene.forge.violations(), []);
}

async fn what_was_touched_lately_is_found_again(scene: Scene) {
    scene.forge.assigns("ada", REPO, 1, BOT);
    let (change, _) = scene.change();
    scene.clock.advance(Duration::from_secs(3600));
    let since = scene.clock.now();
    scene.clock.advance(Duration::from_secs(60));
    let touched = scene.adapter.touched_since(&change.repo, since).await.unwrap();
    assert!(touched.changes.is_empty() && touched.issues.is_empty(), "{touched:?}");
    scene.forge.comments("ada", REPO, 1, "still there?");
    scene.forge.comments("ada", REPO, 2, "and here?");
    let touched = scene.adapter.touched_since(&change.repo, since).await.unwrap();
    let changes: Vec<u64> = touched.changes.iter().map(|change| change.number).collect();
    let issues: Vec<u64> = touched.issues.iter().map(|issue| issue.number).collect();
    assert_eq!((changes, issues), (vec![2], vec![1]));
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn e3_on_gitea_a_review_that_breaks_off_leaves_nothing_behind() {
    let scene = Scene::on(Host::Gitea).await;
    let change = scene.change();
    let all = [inline(&change, "f:1", LineKind::Added), inline(&change, "f:2", LineKind::Removed)];
    // The review, the removal of what is left of it, and the review again.
    scene.forge.faults().break_batches(1, Often::Next(3));
    let error = scene.adapter.send_together(&all).await.unwrap_err();
    assert!(matches!(error, Error::Refused { status: 500, .. }), "{error:?}");
    let transcript = scene.forge.transcript(REPO, 2);
    assert!(transcript.reviews.is_empty() && transcript.said.is_empty(), "{transcript:?}");
    for publication in &all {
        scene.adapter.send(publication, None).await.unwrap();
    }
    assert_eq!(scene.adapter.threads(&change.0).await.unwrap().len(), 2);
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn on_gitea_what_a_person_has_not_submitted_stays_where_it_is() {
    let scene = Scene::on(Host::Gitea).await;
    let change = scene.change();
    // A person who works under the account of the bot.
    let place = testkit::forge::Anchor::new_line("src/lib.rs", 4);
    scene.forge.starts_review(BOT, REPO, 2, "", &[(place, "let me think about this")]);
    let publication = inline(&change, "f:1", LineKind::Added);
    let receipt = scene.adapter.send(&publication, None).await.unwrap();
    assert!(
        matches!(&receipt, Receipt::Comment { thread: None, moved: Some(_), .. }),
        "{receipt:?}"
    );
    let printed = scene.forge.thread(REPO, 2);
    assert!(printed.contains("(pending)\nlet me think about this"), "{printed}");
    assert_eq!(scene.forge.violations(), []);
}

#[tokio::test]
async fn on_gitea_a_reply_is_known_by_its_id_alone() {
    let scene = Scene::on(Host::Gitea).await;
    let (change, _) = scene.change();
    let asked = scene.forge.comments_on_line("ada", REPO, 2, ("src/lib.rs", 5), "why?");
    let reply = scene.forge.replies("ada", REPO, asked.thread_id(), "@patchwright?");
    let event = scene.event(&scene.forge.delivery(&reply));
    let Happening::Commented(comment) = event.happening else { panic!("{event:?}") };
    assert_eq!(comment.place, Place::Conversation, "deliveries do not tell");
    let said = scene.adapter.comment(&change, comment.id.unwrap(), &comment.place).await.unwrap();
    let threads = scene.adapter.threads(&change).await.unwrap();
    assert_eq!(said.thread(), Some(threads[0].id.as_str()));
    assert_eq!(scene.forge.violations(), []);
}
