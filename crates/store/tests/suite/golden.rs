//! The shape of what is stored is a promise (J8): one golden file per kind of value, with every
//! variant in it. A file that changes means that stored values of the last release can not be read.

use domain::anchor::{Line, LineKind, Side, Spot};
use domain::command::{ReviewScope, Which};
use domain::event::Place;
use domain::job::Checkpoint;
use domain::publication::{
    Annotation, AnnotationLevel, Branch, Claim, CommentBody, Dispatch, Effect, FileWrite, Inline,
    NewChange, Push, ReactionTarget, Reply, Settling, Sign, Status, Suggestion, Target, Verdict,
};
use domain::record::{Record, StageResult};
use domain::task::{Trigger, Work};
use domain::{AccountId, Actor, Publication, Receipt, RepoKey, Slot, Subject, Task, Time};
use expect_test::{ExpectFile, expect_file};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::bench::{checkpoint, repo};

/// Checks that the values are written as the file says, and that the file is read back as them.
fn check<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(
    values: Vec<T>,
    file: ExpectFile,
) {
    let written: Vec<String> =
        values.iter().map(|value| serde_json::to_string(value).unwrap()).collect();
    let written = written.join("\n") + "\n";
    file.assert_eq(&written);
    for (line, value) in written.lines().zip(&values) {
        assert_eq!(&serde_json::from_str::<T>(line).unwrap(), value);
    }
}

#[test]
fn j8_tasks_are_stored_as_the_golden_file_says() {
    let works = vec![
        Work::Review { scope: ReviewScope::New },
        Work::Review { scope: ReviewScope::Full },
        Work::Detect,
        Work::Respond { which: Which::Unsaid, text: "why?".to_owned() },
        Work::Respond { which: Which::All, text: "fix all".to_owned() },
        Work::Respond { which: Which::These(vec!["f-1".to_owned()]), text: "fix f-1".to_owned() },
        Work::Fix { text: "it".to_owned() },
        Work::Repair,
        Work::Help,
        Work::Status,
        Work::Pause,
        Work::Resume,
        Work::Cancel,
        Work::Resolve { finding: "f-1".to_owned() },
        Work::Dismiss { finding: "f-1".to_owned(), why: Some("no".to_owned()) },
    ];
    let names: std::collections::BTreeSet<&str> = works.iter().map(Work::name).collect();
    assert_eq!(names.len(), Work::NAMES.len(), "every kind of work is here");
    let triggers = [
        Trigger::Subject,
        Trigger::Asked,
        Trigger::Comment {
            id: None,
            place: Place::Conversation,
            body: "@bot".to_owned(),
            updated_at: None,
        },
        Trigger::Comment {
            id: Some(5),
            place: Place::Thread {
                thread: Some("4".to_owned()),
                reply: Some(true),
                path: Some("src/lib.rs".to_owned()),
            },
            body: "@bot".to_owned(),
            updated_at: Some("2026-01-01T00:00:00Z".to_owned()),
        },
        Trigger::Comment {
            id: Some(6),
            place: Place::Review { review: Some(6) },
            body: String::new(),
            updated_at: None,
        },
    ];
    let mut named = repo(1);
    named.key = RepoKey::Name("acme/repo-1".to_owned());
    let subjects = [
        Subject::issue(repo(1), 1),
        Subject::change(repo(1), 2),
        Subject::branch(repo(1), "main"),
        Subject::issue(named, 3),
    ];
    let tasks = works.into_iter().enumerate().map(|(n, work)| Task {
        subject: subjects[n % subjects.len()].clone(),
        work,
        actor: Actor {
            id: (n % 2 == 0).then_some(AccountId(7)),
            login: "alice".to_owned(),
            bot: n % 3 == 0,
        },
        trigger: triggers[n % triggers.len()].clone(),
        head: (n % 2 == 1).then(|| "0a1b2c".to_owned()),
        title: "A title".to_owned(),
    });
    check(tasks.collect(), expect_file!["../golden/task.jsonl"]);
}

fn spot(start: Option<Line>) -> Spot {
    Spot {
        path: "src/a.rs".to_owned(),
        old_path: start.map(|_| "src/b.rs".to_owned()),
        side: Side::New,
        start,
        line: Line { kind: LineKind::Added, old: 4, new: 7 },
        commit: "0a1b2c".to_owned(),
    }
}

fn status(verdict: Verdict, level: AnnotationLevel) -> Status {
    Status {
        commit: "0a1b2c".to_owned(),
        context: "patchwright".to_owned(),
        verdict,
        title: "2 findings".to_owned(),
        summary: "more".to_owned(),
        url: Some("https://forge.example/8".to_owned()),
        annotations: vec![Annotation {
            path: "src/a.rs".to_owned(),
            start: 3,
            end: 4,
            level,
            title: "a".to_owned(),
            message: "b".to_owned(),
        }],
        closing: (verdict == Verdict::Pending).then(|| "stopped".to_owned()),
    }
}

fn push(target: Target) -> Push {
    Push {
        target,
        commit: "0a1b2c".to_owned(),
        bundle: "fix.bundle".to_owned(),
        requester: Actor::named("alice"),
        paths: vec!["src/**".to_owned()],
    }
}

#[test]
fn j8_publications_are_stored_as_the_golden_file_says() {
    let body = |claim, closing: Option<&str>| CommentBody {
        kind: "answer".to_owned(),
        markdown: "**Hello**".to_owned(),
        claim,
        closing: closing.map(str::to_owned),
    };
    let claim = Claim { head: "0a1b2c".to_owned(), expires: Time(1_700_000_000_000) };
    let effects = vec![
        Effect::Comment(body(None, None)),
        Effect::Comment(body(Some(claim), Some("stopped"))),
        Effect::Withdraw,
        Effect::Reaction { on: ReactionTarget::Subject, sign: Sign::Eyes },
        Effect::Reaction {
            on: ReactionTarget::Comment { id: 5, place: Place::Conversation },
            sign: Sign::ThumbsUp,
        },
        Effect::Reaction { on: ReactionTarget::Subject, sign: Sign::Confused },
        Effect::Inline(Inline {
            body: body(None, None),
            at: spot(None),
            suggestion: None,
            batch: None,
        }),
        Effect::Inline(Inline {
            body: body(None, None),
            at: spot(Some(Line { kind: LineKind::Context, old: 3, new: 4 })),
            suggestion: Some(Suggestion { before: "a".to_owned(), after: "b".to_owned() }),
            batch: Some("1".to_owned()),
        }),
        Effect::Reply(Reply { body: body(None, None), thread: "0a1b".to_owned() }),
        Effect::Settle { thread: "0a1b".to_owned(), settling: Settling::Resolve },
        Effect::Settle { thread: "0a1b".to_owned(), settling: Settling::Unresolve },
        Effect::Change(NewChange {
            title: "A title".to_owned(),
            body: body(None, None),
            head_branch: "fix/1".to_owned(),
            base_branch: "main".to_owned(),
        }),
        Effect::Describe { markdown: "notes".to_owned() },
        Effect::Ready,
        Effect::Status(status(Verdict::Pending, AnnotationLevel::Notice)),
        Effect::Status(status(Verdict::Success, AnnotationLevel::Warning)),
        Effect::Status(status(Verdict::Neutral, AnnotationLevel::Failure)),
        Effect::Status(Status {
            annotations: Vec::new(),
            url: None,
            ..status(Verdict::Failure, AnnotationLevel::Notice)
        }),
        Effect::Branch(Branch { name: "fix/1".to_owned(), at: "0a1b2c".to_owned() }),
        Effect::File(FileWrite {
            branch: "fix/1".to_owned(),
            path: "a.txt".to_owned(),
            content: "text".to_owned(),
            message: "docs: a text".to_owned(),
            replaces: Some("5e6f".to_owned()),
        }),
        Effect::Push(push(Target::HeadOfChange {
            source: repo(2),
            branch: "topic".to_owned(),
            expected: "0a1b2c".to_owned(),
        })),
        Effect::Push(push(Target::NewBranch {
            branch: "fix/1".to_owned(),
            base: "0a1b2c".to_owned(),
        })),
        Effect::Dispatch(Dispatch {
            workflow: Some("agent.yml".to_owned()),
            on_branch: "main".to_owned(),
            variables: vec![("JOB_ID".to_owned(), "7".to_owned())],
            identity: "JOB_ID".to_owned(),
        }),
    ];
    let publications = effects.into_iter().map(|effect| Publication {
        subject: Subject::issue(repo(1), 1),
        slot: Slot::reply("c5"),
        effect,
    });
    check(publications.collect(), expect_file!["../golden/publication.jsonl"]);
}

#[test]
fn j8_receipts_checkpoints_and_records_are_stored_as_the_golden_files_say() {
    let receipts = vec![
        Receipt::Comment {
            id: 5,
            revision: 2,
            url: Some("https://forge.example/c/5".to_owned()),
            thread: None,
            moved: None,
        },
        Receipt::Comment {
            id: 6,
            revision: 1,
            url: None,
            thread: Some("0a1b".to_owned()),
            moved: Some("the forge takes no comment on these lines".to_owned()),
        },
        Receipt::Change {
            number: 8,
            url: Some("https://forge.example/8".to_owned()),
            head: Some("0a1b2c".to_owned()),
        },
        Receipt::Commit { id: "0a1b2c".to_owned() },
        Receipt::Done,
        Receipt::Refused { why: "422".to_owned() },
        Receipt::Yielded { why: "another deployment speaks".to_owned() },
    ];
    check(receipts, expect_file!["../golden/receipt.jsonl"]);
    check::<Checkpoint>(vec![checkpoint("answer")], expect_file!["../golden/checkpoint.jsonl"]);
    let records = vec![
        Record::State {
            from: "queued".to_owned(),
            to: "running".to_owned(),
            why: Some("why".to_owned()),
        },
        Record::StageBegan { stage: "answer".to_owned(), attempt: 1 },
        Record::StageEnded {
            stage: "answer".to_owned(),
            attempt: 1,
            result: StageResult::success().with("files_analyzed", 3),
        },
        Record::AttemptFailed {
            stage: "answer".to_owned(),
            attempt: 1,
            error: "flaky".to_owned(),
            counted: true,
        },
        Record::Publication {
            slot: "reply:c5".to_owned(),
            effect: "comment".to_owned(),
            outcome: "sent as comment 5".to_owned(),
        },
        Record::Note { text: "a note".to_owned() },
    ];
    check(records, expect_file!["../golden/record.jsonl"]);
}
