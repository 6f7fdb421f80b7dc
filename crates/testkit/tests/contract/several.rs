//! The real adapters and decoders against the fake forge's face of each host: neither may ask or
//! answer anything that the other does not know. One story, several hosts. The fake is strict, so
//! that a request which the host would refuse fails here.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a scene fails its test")]

use std::sync::Arc;
use std::time::Duration;

use domain::anchor::{Line, LineKind, Spot};
use domain::event::{Happening, Place};
use domain::publication::{
    Branch, CommentBody, Effect, FileWrite, Inline, NewChange, ReactionTarget, Reply, Settling,
    Sign, Status, Verdict,
};
use domain::{Clock, Event, Origin, Publication, Receipt, Repo, RepoKey, Slot, Subject};
use expect_test::expect;
use forge::capability::{Ranges, Sides};
use forge::gitcode::GitCode;
use forge::github::GitHub;
use forge::gitlab::GitLab;
use forge::http::{Connection, Pacing};
use forge::webhook::{self, Content};
use forge::{Error, Host, Look, Ours, Permission, Read, Write};
use report::marker::MarkerKey;
use report::redact::Redactor;
use secrecy::SecretString;
use testkit::description::Description;
use testkit::forge::{FakeChange, Lag, Limit, Often, Options, Outage, Which};
use testkit::{FakeForge, HandClock, SignedDelivery};

const REPO: &str = "octo/widgets";
const BOT: &str = "patchwright[bot]";

/// Tells every story on every host.
macro_rules! stories {
    ($($story:ident),* $(,)?) => {
        mod github {
            $(#[tokio::test] async fn $story() { super::$story(super::Host::GitHub).await; })*
        }
        mod gitlab {
            $(#[tokio::test] async fn $story() { super::$story(super::Host::GitLab).await; })*
        }
        mod gitcode {
            $(#[tokio::test] async fn $story() { super::$story(super::Host::GitCode).await; })*
        }
    };
}

stories! {
    everything_that_the_adapter_reads_is_there,
    a_comment_is_published_edited_in_place_and_withdrawn,
    a_lost_answer_is_found_once_the_lag_is_over,
    outages_and_limits_are_told_apart,
    a_renamed_repository_is_still_read_and_written,
    deliveries_are_authentic_and_say_what_happened,
    inline_comments_stand_on_their_lines_and_are_read_back,
    e3_a_batch_gives_each_comment_its_receipt_or_is_refused_whole,
    threads_are_answered_settled_and_opened_again,
    a_change_is_opened_as_a_draft_described_and_made_ready,
    commits_branches_and_files_are_written,
    j9_what_was_touched_is_found,
}

struct Scene {
    host: Host,
    forge: FakeForge,
    clock: Arc<HandClock>,
    read: Arc<dyn Read>,
    write: Arc<dyn Write>,
    issue: Subject,
    change: Subject,
}

impl Scene {
    async fn new(host: Host) -> Self {
        let clock = Arc::new(HandClock::default());
        let options = Options { host, ..Options::default() };
        let forge = FakeForge::start(clock.clone(), options).await.unwrap();
        if host == Host::GitHub {
            forge.keeps_to(Description::github());
        }
        forge.person("ada");
        let bot = forge.bot(BOT);
        let repo = forge.repo(REPO);
        forge.grants(REPO, BOT, Permission::Write);
        forge.opens_issue("ada", REPO, "It breaks", "Badly.");
        let opened =
            forge.opens_change("ada", REPO, "Mend it", "So.", FakeChange::from_branch("mend"));
        let token = SecretString::from(forge.token(BOT));
        let root = match host {
            Host::GitCode => "/api/v5",
            Host::GitLab => "/api/v4",
            _ => "",
        };
        let connection = Connection {
            api: format!("{}{root}", forge.url()).parse().unwrap(),
            redactor: Arc::new(Redactor::new([&token])),
            token,
            pacing: Pacing::Auto,
            proxy: None,
            ca_bundle: None,
            clock: clock.clone(),
        };
        let ours = Ours::new("here", Some(MarkerKey::new(b"the key of the contract")));
        let ours = Arc::new(ours.acting_as([domain::AccountId(bot.id)]));
        let (read, write): (Arc<dyn Read>, Arc<dyn Write>) = match host {
            Host::GitLab => {
                let adapter = Arc::new(GitLab::new(connection, ours).unwrap());
                (adapter.clone(), adapter)
            }
            Host::GitCode => {
                let adapter = Arc::new(GitCode::new(connection, ours).unwrap());
                (adapter.clone(), adapter)
            }
            _ => {
                let adapter = Arc::new(GitHub::new(connection, ours).unwrap());
                (adapter.clone(), adapter)
            }
        };
        let repo = Repo {
            origin: Origin::new(forge.url()),
            key: RepoKey::Id(repo.id),
            full_name: REPO.to_owned(),
            default_branch: None,
        };
        let change = Subject::change(repo.clone(), opened.number());
        let issue = Subject::issue(repo, 1);
        Self { host, forge, clock, read, write, issue, change }
    }

    fn comment(&self, markdown: &str) -> Publication {
        self.publication(Effect::Comment(body(markdown)))
    }

    fn publication(&self, effect: Effect) -> Publication {
        Publication { subject: self.issue.clone(), slot: Slot::reply("c1"), effect }
    }

    fn on_change(&self, slot: &str, effect: Effect) -> Publication {
        Publication { subject: self.change.clone(), slot: Slot::reply(slot), effect }
    }

    /// A comment on lines of the change's small diff, whose line 5 is another one.
    fn inline(&self, slot: &str, start: Option<Line>, line: Line) -> Publication {
        let at = Spot {
            path: "src/lib.rs".to_owned(),
            old_path: None,
            side: line.side(),
            start,
            line,
            commit: self.head(),
        };
        let body = body(&format!("about {slot}"));
        self.on_change(slot, Effect::Inline(Inline { body, at, suggestion: None, batch: None }))
    }

    fn head(&self) -> String {
        let change = self.forge.subject(REPO, Which::Change(self.change.number)).change;
        change.unwrap().head
    }

    fn decode(&self, delivery: &SignedDelivery) -> Event {
        let SignedDelivery { headers, body } = delivery;
        let secret = SecretString::from(self.forge.secret());
        let verdict = webhook::verify(self.host, headers, body, &secret, self.clock.now());
        assert!(verdict.is_authentic());
        let decoded = webhook::decode(self.host, headers, body, &self.issue.repo.origin);
        match decoded.unwrap().content {
            Content::Event(event) => *event,
            Content::Ignored(why) => panic!("the delivery was ignored: {why}"),
        }
    }
}

fn body(markdown: &str) -> CommentBody {
    let (kind, markdown) = ("answer".to_owned(), markdown.to_owned());
    CommentBody { kind, markdown, claim: None, closing: None }
}

/// Lines of [`FakeDiff::small`](testkit::forge::FakeDiff::small).
const ADDED: Line = Line { kind: LineKind::Added, old: 6, new: 5 };
const REMOVED: Line = Line { kind: LineKind::Removed, old: 5, new: 5 };

fn unchanged(number: u64) -> Line {
    let shift = u64::from(number == 99);
    Line { kind: LineKind::Context, old: number + shift, new: number }
}

fn thread_of(receipt: &Receipt) -> &str {
    match receipt {
        Receipt::Comment { thread: Some(thread), .. } => thread,
        other => panic!("no thread: {other:?}"),
    }
}

async fn everything_that_the_adapter_reads_is_there(host: Host) {
    let scene = Scene::new(host).await;
    let own = scene.read.own_account().await.unwrap();
    // GitCode does not tell bots from people.
    assert_eq!((own.login.as_str(), own.bot), (BOT, host != Host::GitCode));
    let repo = scene.read.repository(REPO).await.unwrap();
    assert_eq!(repo.key, scene.issue.repo.key);
    let opening = scene.read.opening(&scene.issue).await.unwrap();
    assert_eq!((opening.body.as_str(), opening.open), ("Badly.", Some(true)));
    let opening = scene.read.opening(&scene.change).await.unwrap();
    assert_eq!((opening.body.as_str(), opening.open), ("So.", Some(true)));
    for number in 0..250 {
        scene.forge.comments("ada", REPO, Which::Issue(1), &format!("comment {number}"));
    }
    let said = scene.read.conversation(&scene.issue).await.unwrap();
    assert_eq!(said.len(), 250);
    assert_eq!((said[0].body.as_str(), said[249].body.as_str()), ("comment 0", "comment 249"));
    let one = scene.read.comment(&scene.issue, said[7].id, &Place::Conversation).await.unwrap();
    assert_eq!(one.body, "comment 7");
    let ada = one.author;
    // GitLab tells members only; that everybody reads a public project is told by nobody.
    let stranger = match host {
        Host::GitLab => Permission::None,
        _ => Permission::Read,
    };
    assert_eq!(scene.read.permission(&repo, &ada).await.unwrap(), stranger);
    scene.forge.grants(REPO, "ada", Permission::Maintain);
    assert_eq!(scene.read.permission(&repo, &ada).await.unwrap(), Permission::Maintain);
    let main = scene.read.branch(&repo, "main").await.unwrap().unwrap();
    assert_eq!(main.head, scene.forge.branch(REPO, "main").head);
    assert!(scene.read.branch(&repo, "none/such").await.unwrap().is_none());
    assert_eq!(scene.forge.violations(), []);
}

async fn a_comment_is_published_edited_in_place_and_withdrawn(host: Host) {
    let scene = Scene::new(host).await;
    let asked =
        scene.forge.comments("ada", REPO, Which::Issue(1), "@patchwright help").comment_id();
    let on = ReactionTarget::Comment { id: asked, place: Place::Conversation };
    let reaction = scene.publication(Effect::Reaction { on, sign: Sign::Eyes });
    let able = scene.read.capabilities().await.unwrap().reactions.is_there();
    for _ in 0..2 {
        match scene.write.send(&reaction, None).await {
            Ok(receipt) => assert!(able && receipt == Receipt::Done, "{receipt:?}"),
            Err(error) => assert!(!able && matches!(error, Error::Refused { .. }), "{error:?}"),
        }
    }
    let first = scene.write.send(&scene.comment("On it."), None).await.unwrap();
    let second = scene.write.send(&scene.comment("Done."), Some(&first)).await.unwrap();
    let reacted = if able { " [eyes by patchwright[bot]]" } else { "" };
    expect![[r#"
        issue #1: It breaks

        --- ada
        Badly.

        --- ada
        @patchwright help

        --- patchwright[bot]
        [marker kind=answer slot=reply:c1 rev=2]
        Done.
    "#]]
    .assert_eq(&scene.forge.thread(REPO, Which::Issue(1)).replacen(reacted, "", 1));
    scene.write.send(&scene.publication(Effect::Withdraw), Some(&second)).await.unwrap();
    assert_eq!(scene.forge.conversation(REPO, Which::Issue(1)).len(), 1);
    assert_eq!(scene.forge.violations(), []);
}

async fn a_lost_answer_is_found_once_the_lag_is_over(host: Host) {
    let scene = Scene::new(host).await;
    scene.forge.lags(Lag::Milliseconds(5_000));
    scene.forge.faults().lose_answers(Often::Next(1));
    let lost = scene.write.send(&scene.comment("Hello."), None).await.unwrap_err();
    assert!(lost.is_of_unknown_fate(), "{lost:?}");
    let hello = scene.comment("Hello.");
    assert_eq!(scene.write.find(&hello).await, Look::Absent);
    scene.clock.advance(Duration::from_secs(5));
    let look = scene.write.find(&hello).await;
    assert!(matches!(look, Look::Found { authentic: true, .. }), "{look:?}");
    assert_eq!(scene.forge.violations(), []);
}

async fn outages_and_limits_are_told_apart(host: Host) {
    let scene = Scene::new(host).await;
    let faults = scene.forge.faults();
    faults.outage(Outage::Refusing).await;
    let error = scene.write.send(&scene.comment("Hello."), None).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
    faults.outage(Outage::None).await;
    for limit in [Limit::Primary, Limit::TooMany, Limit::Secondary, Limit::SecondaryWithoutHint] {
        let until = scene.clock.now() + Duration::from_secs(60);
        faults.limit(limit, until);
        let error = scene.read.own_account().await.unwrap_err();
        assert!(
            matches!(error, Error::Limited { until: at } if at == until),
            "{limit:?}: {error:?}"
        );
    }
}

async fn a_renamed_repository_is_still_read_and_written(host: Host) {
    let scene = Scene::new(host).await;
    scene.forge.renames(REPO, "octo/gadgets");
    assert_eq!(scene.read.opening(&scene.issue).await.unwrap().body, "Badly.");
    assert_eq!(scene.read.repository(REPO).await.unwrap().full_name, "octo/gadgets");
    scene.write.send(&scene.comment("Hello."), None).await.unwrap();
    assert_eq!(scene.forge.conversation("octo/gadgets", Which::Issue(1)).len(), 1);
    assert_eq!(scene.forge.violations(), []);
}

async fn deliveries_are_authentic_and_say_what_happened(host: Host) {
    let scene = Scene::new(host).await;
    let (issue, change) = (Which::Issue(1), scene.change.number);
    let asked = scene.forge.comments("ada", REPO, issue, "@patchwright help");
    let event = scene.decode(&scene.forge.delivery(&asked));
    assert_eq!(event.repo.key, scene.issue.repo.key);
    assert_eq!(event.actor.login, "ada");
    let Happening::Commented(comment) = &event.happening else { panic!("{event:?}") };
    assert_eq!((comment.id, comment.number), (Some(asked.comment_id()), 1));
    let inline = scene.forge.comments_on_line("ada", REPO, change, ("src/lib.rs", 5), "why?");
    let event = scene.decode(&scene.forge.delivery(&inline));
    let Happening::Commented(comment) = &event.happening else { panic!("{event:?}") };
    let said =
        scene.read.comment(&scene.change, inline.comment_id(), &comment.place).await.unwrap();
    assert_eq!(said.body, "why?");
    let story = [
        scene.forge.edits("ada", REPO, asked.comment_id(), "@patchwright status"),
        scene.forge.opens_issue("ada", REPO, "Another", ""),
        scene.forge.opens_change("ada", REPO, "Mend more", "", FakeChange::from_branch("more")),
        scene.forge.pushes("ada", REPO, change),
        scene.forge.assigns("ada", REPO, issue, BOT),
        scene.forge.requests_review("ada", REPO, change, BOT),
        scene.forge.closes("ada", REPO, Which::Change(change)),
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
            "issue-assigned",
            "review-requested",
            "change-closed"
        ]
    );
}

async fn inline_comments_stand_on_their_lines_and_are_read_back(host: Host) {
    use domain::anchor::Side::{New, Old};
    let scene = Scene::new(host).await;
    let able = scene.read.capabilities().await.unwrap();
    for (slot, start, line) in [
        ("added", None, ADDED),
        ("removed", None, REMOVED),
        ("unchanged", None, unchanged(3)),
        ("range", Some(unchanged(3)), ADDED),
    ] {
        let receipt = scene.write.send(&scene.inline(slot, start, line), None).await.unwrap();
        let Receipt::Comment { id, moved, .. } = &receipt else { panic!("{slot}: {receipt:?}") };
        // What a host has no place for is told, and stands in the conversation.
        let expected = able.sides == Sides::NewOnly && line.side() == Old;
        assert_eq!(moved.is_some(), expected, "{slot}: {receipt:?}");
        let look = scene.write.find(&scene.inline(slot, start, line)).await;
        assert!(
            matches!(&look, Look::Found { receipt: Receipt::Comment { id: found, .. }, authentic: true } if found == id),
            "{slot}: {look:?}"
        );
    }
    let threads = scene.read.threads(&scene.change).await.unwrap();
    let spans: Vec<_> = threads
        .iter()
        .map(|thread| {
            let at = thread.at.as_ref().unwrap();
            (at.side, at.span())
        })
        .collect();
    let mut expected = vec![(New, (5, 5)), (Old, (5, 5)), (New, (3, 3)), (New, (3, 5))];
    if able.sides == Sides::NewOnly {
        expected.remove(1);
    }
    if let (Ranges::LastLine, Some(range)) = (able.ranges, expected.last_mut()) {
        *range = (New, (5, 5));
    }
    assert_eq!(spans, expected);
    let far = scene.write.send(&scene.inline("far", None, unchanged(99)), None).await.unwrap();
    assert!(matches!(&far, Receipt::Comment { moved: Some(_), .. }), "{far:?}");
    scene.forge.pushes("ada", REPO, scene.change.number);
    assert!(scene.read.threads(&scene.change).await.unwrap().iter().all(|it| !it.outdated));
    assert_eq!(scene.forge.violations(), []);
}

async fn e3_a_batch_gives_each_comment_its_receipt_or_is_refused_whole(host: Host) {
    let scene = Scene::new(host).await;
    let far = scene.inline("far", None, unchanged(99));
    let good = [
        scene.inline("one", None, ADDED),
        scene.inline("two", None, REMOVED),
        scene.inline("three", Some(unchanged(3)), ADDED),
    ];
    if scene.write.together().most == 1 {
        let refused = scene.write.send_together(&good[..1]).await;
        assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
        return assert_eq!(scene.forge.violations(), []);
    }
    let mixed = [good[0].clone(), far, good[1].clone()];
    let refused = scene.write.send_together(&mixed).await;
    assert!(matches!(refused, Err(Error::Refused { .. })), "{refused:?}");
    assert!(scene.read.threads(&scene.change).await.unwrap().is_empty());
    let receipts = scene.write.send_together(&good).await.unwrap();
    let threads = scene.read.threads(&scene.change).await.unwrap();
    let ids: Vec<_> = threads.iter().map(|thread| thread.id.as_str()).collect();
    assert_eq!(receipts.iter().map(thread_of).collect::<Vec<_>>(), ids);
    assert_eq!(scene.forge.violations(), []);
}

async fn threads_are_answered_settled_and_opened_again(host: Host) {
    let scene = Scene::new(host).await;
    let first = scene.write.send(&scene.inline("one", None, ADDED), None).await.unwrap();
    let thread = thread_of(&first).to_owned();
    let reply = Reply { body: body("Yes."), thread: thread.clone() };
    let reply = scene.on_change("two", Effect::Reply(reply));
    let said = scene.write.send(&reply, None).await.unwrap();
    assert_eq!(thread_of(&said), thread);
    let edited = scene.write.send(&reply, Some(&said)).await.unwrap();
    assert!(matches!(edited, Receipt::Comment { revision: 2, .. }), "{edited:?}");
    for (settling, expected) in [(Settling::Resolve, true), (Settling::Unresolve, false)] {
        let settle = Effect::Settle { thread: thread.clone(), settling };
        // Harmless twice.
        for _ in 0..2 {
            scene.write.send(&scene.on_change("three", settle.clone()), None).await.unwrap();
        }
        let threads = scene.read.threads(&scene.change).await.unwrap();
        assert_eq!(threads.len(), 1);
        assert_eq!((threads[0].resolved, threads[0].comments.len()), (Some(expected), 2));
    }
    assert_eq!(scene.forge.violations(), []);
}

async fn a_change_is_opened_as_a_draft_described_and_made_ready(host: Host) {
    let scene = Scene::new(host).await;
    let head = scene.head();
    scene.forge.moves_branch("ada", REPO, "fix", &head, None);
    let new = NewChange {
        title: "Fix it".to_owned(),
        body: body("Because."),
        head_branch: "fix".to_owned(),
        base_branch: "main".to_owned(),
    };
    let open = scene.publication(Effect::Change(new));
    let Receipt::Change { number, .. } = scene.write.send(&open, None).await.unwrap() else {
        panic!("no change was opened")
    };
    let look = scene.write.find(&open).await;
    assert!(matches!(look, Look::Found { .. }), "{look:?}");
    let again = scene.write.send(&open, None).await.unwrap();
    assert!(matches!(again, Receipt::Change { number: same, .. } if same == number));
    let subject = Subject { number, ..scene.change.clone() };
    let now = scene.read.change(&subject).await.unwrap();
    assert_eq!((now.title.as_str(), now.draft, now.open), ("Fix it", true, true));
    assert_eq!((now.head, now.base_branch.as_str()), (head, "main"));
    for effect in [Effect::Describe { markdown: "More.".to_owned() }, Effect::Ready, Effect::Ready]
    {
        let publication = Publication { subject: subject.clone(), slot: Slot::reply("c2"), effect };
        assert_eq!(scene.write.send(&publication, None).await.unwrap(), Receipt::Done);
    }
    let now = scene.read.change(&subject).await.unwrap();
    assert_eq!((now.title.as_str(), now.draft), ("Fix it", false));
    assert!(now.body.contains("Because.") && now.body.contains("More."), "{}", now.body);
    assert_eq!(scene.forge.violations(), []);
}

async fn commits_branches_and_files_are_written(host: Host) {
    let scene = Scene::new(host).await;
    let head = scene.head();
    for verdict in [Verdict::Pending, Verdict::Pending, Verdict::Neutral, Verdict::Success] {
        let status = Status {
            commit: head.clone(),
            context: "patchwright".to_owned(),
            verdict,
            title: "It was looked at".to_owned(),
            summary: String::new(),
            url: None,
            annotations: Vec::new(),
            closing: None,
        };
        let status = scene.on_change("status", Effect::Status(status));
        assert_eq!(scene.write.send(&status, None).await.unwrap(), Receipt::Done);
    }
    let branch = Branch { name: "patchwright/fix".to_owned(), at: head.clone() };
    let branch = scene.on_change("branch", Effect::Branch(branch));
    for _ in 0..2 {
        let receipt = scene.write.send(&branch, None).await.unwrap();
        assert_eq!(receipt, Receipt::Commit { id: head.clone() });
    }
    let file = FileWrite {
        branch: "patchwright/fix".to_owned(),
        path: "docs/a file.md".to_owned(),
        content: "one\n".to_owned(),
        message: "say one".to_owned(),
        replaces: None,
    };
    let file = scene.on_change("file", Effect::File(file));
    assert_eq!(scene.write.find(&file).await, Look::Absent);
    for _ in 0..2 {
        assert_eq!(scene.write.send(&file, None).await.unwrap(), Receipt::Done);
    }
    assert!(matches!(scene.write.find(&file).await, Look::Found { .. }));
    let written = scene.forge.branch(REPO, "patchwright/fix").files;
    assert_eq!(written["docs/a file.md"], b"one\n");
    assert_eq!(scene.forge.violations(), []);
}

async fn j9_what_was_touched_is_found(host: Host) {
    let scene = Scene::new(host).await;
    scene.clock.advance(Duration::from_secs(3600));
    let since = scene.clock.now();
    let touched = scene.read.touched_since(&scene.issue.repo, since).await.unwrap();
    assert_eq!((touched.changes.len(), touched.issues.len()), (0, 0));
    scene.clock.advance(Duration::from_secs(60));
    scene.forge.assigns("ada", REPO, Which::Issue(1), BOT);
    scene.forge.pushes("ada", REPO, scene.change.number);
    let touched = scene.read.touched_since(&scene.issue.repo, since).await.unwrap();
    let heads: Vec<_> = touched.changes.iter().map(|change| change.head.clone()).collect();
    assert_eq!(heads, [scene.head()]);
    assert_eq!(touched.issues.iter().map(|issue| issue.number).collect::<Vec<_>>(), [1]);
    let of_branch = scene.read.changes_of_branch(&scene.issue.repo, "mend").await.unwrap();
    assert_eq!(of_branch.len(), 1);
    assert_eq!(scene.forge.violations(), []);
}
