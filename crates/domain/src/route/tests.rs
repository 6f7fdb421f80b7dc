//! Every row of the routing table, and what must not be taken for one.

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::actor::AccountId;
use crate::repo::{Origin, Repo, RepoKey};
use crate::subject::Pace;

fn policy() -> Policy {
    Policy { own_accounts: vec![AccountId(99)], ..Policy::for_bot("bot") }
}

fn repo() -> Repo {
    Repo {
        origin: Origin::new("https://forge.example"),
        key: RepoKey::Id(1),
        full_name: "acme/demo".to_owned(),
        default_branch: Some("main".to_owned()),
    }
}

fn alice() -> Actor {
    Actor { id: Some(AccountId(5)), ..Actor::named("alice") }
}

fn us() -> Actor {
    Actor { id: Some(AccountId(99)), ..Actor::named("renamed-bot") }
}

fn dependabot() -> Actor {
    Actor { id: Some(AccountId(6)), login: "dependabot[bot]".to_owned(), bot: true }
}

fn event(happening: Happening) -> Event {
    Event { repo: repo(), actor: alice(), happening }
}

fn change() -> Change {
    Change {
        number: 7,
        title: "Faster login".to_owned(),
        body: "It was slow.".to_owned(),
        author: alice(),
        draft: false,
        head: Some("c0ffee".to_owned()),
        head_branch: Some("feature/12-login".to_owned()),
        base_branch: Some("main".to_owned()),
        updated_at: Some("2026-01-01T00:00:00Z".to_owned()),
    }
}

fn draft() -> Change {
    Change { draft: true, ..change() }
}

fn issue(body: &str) -> Issue {
    Issue {
        assignees: Vec::new(),
        number: 12,
        display_number: None,
        title: "Login fails".to_owned(),
        body: body.to_owned(),
        author: alice(),
        updated_at: None,
    }
}

fn comment(on: SubjectKind, body: &str) -> Comment {
    Comment {
        id: Some(31),
        place: Place::Conversation,
        author: alice(),
        body: body.to_owned(),
        on,
        number: 12,
        display_number: None,
        title: "Login fails".to_owned(),
        subject_author: None,
        updated_at: Some("2026-01-02T00:00:00Z".to_owned()),
    }
}

fn on_a_change(body: &str) -> Event {
    event(Happening::Commented(comment(SubjectKind::Change, body)))
}

fn on_an_issue(body: &str) -> Event {
    event(Happening::Commented(comment(SubjectKind::Issue, body)))
}

fn in_a_thread(reply: Option<bool>, body: &str) -> Event {
    let place = Place::Thread { thread: Some("30".to_owned()), reply, path: None };
    event(Happening::Commented(Comment { place, ..comment(SubjectKind::Change, body) }))
}

fn push() -> Push {
    Push {
        branch: "feature/12-login".to_owned(),
        before: "aaa".to_owned(),
        after: "bbb".to_owned(),
        created: false,
        deleted: false,
        commits: 2,
    }
}

fn asked(text: &str) -> Event {
    event(Happening::Asked(Asked { text: text.to_owned(), on: SubjectKind::Change, number: 7 }))
}

#[track_caller]
fn task(event: &Event, policy: &Policy) -> Task {
    match route(event, policy) {
        Decision::Do(task) => *task,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn work_of(event: &Event) -> Work {
    task(event, &policy()).work
}

#[track_caller]
fn check_ignored(event: &Event, policy: &Policy, reason: &str) {
    let expected = Decision::Ignored(Ignored { reason: reason.to_owned() });
    assert_eq!(route(event, policy), expected);
}

#[track_caller]
fn check_task(event: &Event, expect: Expect) {
    let Task { subject, work, actor, trigger, head, title } = task(event, &policy());
    let (work, trigger) = (serde_json::to_string(&work), serde_json::to_string(&trigger));
    expect.assert_eq(&format!(
        "{subject} {title:?}, head {head:?}, by {}\n{}\n{}\n",
        actor.login,
        work.unwrap(),
        trigger.unwrap()
    ));
}

const NEW: Work = Work::Review { scope: ReviewScope::New };
const FULL: Work = Work::Review { scope: ReviewScope::Full };

fn respond(text: &str) -> Work {
    Work::Respond { which: Which::Unsaid, text: text.to_owned() }
}

fn fix(text: &str) -> Work {
    Work::Fix { text: text.to_owned() }
}

// Row: change opened, reopened, made ready, pushed to, base changed; bot asked; `@bot review`.

#[test]
fn a_change_that_is_opened_reopened_made_ready_pushed_to_or_rebased_is_reviewed() {
    for happening in [
        Happening::ChangeOpened(change()),
        Happening::ChangeReopened(change()),
        Happening::ChangeReady(change()),
        Happening::ChangePushed(change()),
        Happening::BaseChanged(change()),
    ] {
        assert_eq!(work_of(&event(happening.clone())), NEW, "{happening:?}");
    }
}

#[test]
fn a_review_task_knows_its_change_its_head_and_who_caused_it() {
    check_task(
        &event(Happening::ChangeOpened(change())),
        expect![[r#"
        acme/demo!7 "Faster login", head Some("c0ffee"), by alice
        {"task":"review","scope":"new"}
        {"trigger":"subject"}
    "#]],
    );
}

#[test]
fn the_bot_reviews_when_it_is_asked_as_reviewer_also_a_draft() {
    for change in [change(), draft()] {
        let of = vec![Actor::named("bob"), us()];
        assert_eq!(work_of(&event(Happening::ReviewRequested { change, of })), NEW);
    }
    let of = vec![Actor::named("BOT[bot]")];
    assert_eq!(work_of(&event(Happening::ReviewRequested { change: change(), of })), NEW);
    let of = vec![Actor::named("bob"), Actor::named("bot2")];
    check_ignored(
        &event(Happening::ReviewRequested { change: change(), of }),
        &policy(),
        "the review of somebody else was asked for",
    );
}

#[test]
fn the_command_review_reviews_in_every_language() {
    for body in ["@bot review", "@bot 审查", "@bot 检查", "@bot レビュー", "@bot 리뷰"] {
        assert_eq!(work_of(&on_a_change(body)), NEW, "{body}");
    }
    assert_eq!(work_of(&on_a_change("@bot full review")), FULL);
    assert_eq!(work_of(&on_an_issue("@bot review")), NEW);
}

// Row: change opened as draft.

#[test]
fn a_draft_is_ignored_unless_configured() {
    let reviews_drafts = Policy { review_drafts: Toggle::On, ..policy() };
    for happening in [
        Happening::ChangeOpened(draft()),
        Happening::ChangeReopened(draft()),
        Happening::ChangePushed(draft()),
        Happening::BaseChanged(draft()),
    ] {
        let event = event(happening);
        check_ignored(&event, &policy(), "the change is a draft");
        assert_eq!(task(&event, &reviews_drafts).work, NEW);
    }
}

// Row: change closed or merged.

#[test]
fn a_closed_or_merged_change_cancels_its_jobs_without_waiting() {
    for merged in [false, true] {
        let task = task(&event(Happening::ChangeClosed { change: draft(), merged }), &policy());
        assert_eq!(task.work, Work::Cancel);
        assert_eq!(task.work.pace(), Pace::Talk);
        assert_eq!(task.trigger, Trigger::Subject);
    }
}

// Row: push to a branch with a linked issue; `@bot detect`; `detect` on its own.

#[test]
fn a_push_to_a_branch_with_a_linked_issue_is_looked_at() {
    let first_push = Push { created: true, ..push() };
    assert_eq!(work_of(&event(Happening::Pushed(first_push))), Work::Detect);
    check_task(
        &event(Happening::Pushed(push())),
        expect![[r#"
        acme/demo@feature/12-login "feature/12-login", head Some("bbb"), by alice
        {"task":"detect"}
        {"trigger":"subject"}
    "#]],
    );
}

#[test]
fn a_push_without_commits_or_issue_is_ignored() {
    let check = |push, reason| check_ignored(&event(Happening::Pushed(push)), &policy(), reason);
    check(Push { deleted: true, commits: 0, ..push() }, "the branch was deleted");
    check(Push { created: true, commits: 0, ..push() }, "the push brought no commits");
    check(Push { branch: "main".to_owned(), ..push() }, "no linked issue in the branch's name");
    check_ignored(
        &event(Happening::Pushed(push())),
        &Policy { detect_on_push: Toggle::Off, ..policy() },
        "pushes to branches are not looked at",
    );
}

#[test]
fn the_command_detect_detects() {
    assert_eq!(work_of(&on_a_change("@bot detect")), Work::Detect);
    assert_eq!(work_of(&on_an_issue("@bot detect")), Work::Detect);
    assert_eq!(work_of(&asked("detect")), Work::Detect);
}

// Row: issue assigned to the bot; opened with the trigger phrase; `@bot fix`, `/agent fix`.

#[test]
fn an_issue_assigned_to_the_bot_is_fixed() {
    let to = vec![Actor::named("bob"), Actor::named("Bot")];
    check_task(
        &event(Happening::IssueAssigned { issue: issue("x"), to }),
        expect![[r#"
        acme/demo#12 "Login fails", head None, by alice
        {"task":"fix","text":""}
        {"trigger":"subject"}
    "#]],
    );
    check_ignored(
        &event(Happening::IssueAssigned { issue: issue("x"), to: vec![Actor::named("bob")] }),
        &policy(),
        "the issue is assigned to somebody else",
    );
}

#[test]
fn an_issue_opened_with_the_trigger_phrase_is_fixed_where_the_operator_wants_it() {
    let policy_with = |phrase: &str| Policy { trigger_phrase: Some(phrase.to_owned()), ..policy() };
    let opened = |issue| event(Happening::IssueOpened(issue));
    let with_phrase = opened(issue("Please AUTO-FIX this."));
    let in_title = opened(Issue { title: "[auto-fix] crash".to_owned(), ..issue("") });
    for event in [&with_phrase, &in_title] {
        assert_eq!(task(event, &policy_with("auto-fix")).work, fix(""));
        check_ignored(event, &policy(), "the issue does not mention the bot");
        check_ignored(event, &policy_with(" "), "the issue does not mention the bot");
    }
    check_ignored(
        &opened(issue("`auto-fix` is broken")),
        &policy_with("auto-fix"),
        "the issue does not mention the bot",
    );
}

#[test]
fn an_issue_opened_with_a_command_in_its_text_is_obeyed() {
    let opened = |body| event(Happening::IssueOpened(issue(body)));
    let help = task(&opened("It crashes.\n\n@bot help"), &policy());
    assert_eq!((help.work, help.trigger), (Work::Help, Trigger::Subject));
    assert_eq!(work_of(&opened("@bot fix")), fix("fix"));
    assert_eq!(
        work_of(&opened("It crashes. Any idea @bot?")),
        respond("It crashes. Any idea @bot?")
    );
    check_ignored(&opened("@bot ignore"), &policy(), "the description asks to be ignored");
    check_ignored(&opened("It crashes."), &policy(), "the issue does not mention the bot");
}

#[test]
fn the_command_fix_on_an_issue_is_a_fix() {
    assert_eq!(work_of(&on_an_issue("@bot fix")), fix("fix"));
    assert_eq!(work_of(&on_an_issue("/agent fix")), fix("fix"));
    check_task(
        &on_an_issue("@bot fix the crash"),
        expect![[r#"
        acme/demo#12 "Login fails", head None, by alice
        {"task":"fix","text":"fix the crash"}
        {"trigger":"comment","id":31,"place":{"place":"conversation"},"body":"@bot fix the crash","updated_at":"2026-01-02T00:00:00Z"}
    "#]],
    );
}

// Row: `@bot fix`, `fix ID`, `fix all` on an issue that carries open findings.

#[test]
fn a_fix_that_names_findings_on_an_issue_keeps_the_words_for_the_first_stage() {
    assert_eq!(work_of(&on_an_issue("@bot fix F1")), fix("fix F1"));
    assert_eq!(work_of(&on_an_issue("@bot fix all")), fix("fix all"));
}

// Row: `@bot …` free text or a reply in a thread of ours.

#[test]
fn free_text_after_a_mention_is_answered() {
    assert_eq!(work_of(&on_a_change("@bot why is this slow?")), respond("why is this slow?"));
    assert_eq!(work_of(&on_an_issue("@bot why is this slow?")), respond("why is this slow?"));
    assert_eq!(work_of(&on_a_change("thanks @bot, nice")), respond("thanks @bot, nice"));
    assert_eq!(work_of(&on_a_change("@bot ignore")), respond("ignore"));
}

#[test]
fn a_reply_in_a_thread_is_answered_if_the_thread_may_be_ours() {
    for reply in [Some(true), None] {
        assert_eq!(work_of(&in_a_thread(reply, "No, it is right.\n")), respond("No, it is right."));
    }
    check_ignored(
        &in_a_thread(Some(false), "This is odd."),
        &policy(),
        "the comment does not mention the bot",
    );
    assert_eq!(work_of(&in_a_thread(Some(false), "@bot why?")), respond("why?"));
    check_ignored(&in_a_thread(None, " \n"), &policy(), "the comment is empty");
}

#[test]
fn outside_threads_a_mention_is_wanted_unless_the_operator_wants_every_comment_answered() {
    let review = Comment {
        place: Place::Review { review: Some(4) },
        ..comment(SubjectKind::Change, "Nice work")
    };
    let all = Policy { respond: Respond::All, ..policy() };
    for event in
        [event(Happening::Commented(review)), on_a_change("Nice work"), on_an_issue("Nice work")]
    {
        check_ignored(&event, &policy(), "the comment does not mention the bot");
        assert_eq!(task(&event, &all).work, respond("Nice work"));
    }
}

// Row: `@bot fix|apply|implement…` on a change.

#[test]
fn an_order_to_edit_on_a_change_is_responded_to() {
    for text in ["apply the suggestion", "implement it", "修复这个", "应用建议", "实现它"]
    {
        assert_eq!(work_of(&on_a_change(&format!("@bot {text}"))), respond(text));
    }
    assert_eq!(
        work_of(&on_a_change("@bot fix F1, F2")),
        Work::Respond {
            which: Which::These(vec!["F1".to_owned(), "F2".to_owned()]),
            text: "fix F1, F2".to_owned()
        }
    );
    assert_eq!(
        work_of(&on_a_change("@bot fix all")),
        Work::Respond { which: Which::All, text: "fix all".to_owned() }
    );
    assert_eq!(work_of(&on_a_change("/agent fix")), respond("fix"));
}

// Row: `@bot repair`.

#[test]
fn the_command_repair_repairs() {
    assert_eq!(work_of(&on_a_change("@bot repair")), Work::Repair);
}

// Row: `@bot help, status, pause, resume, cancel, resolve ID, dismiss ID [why]`.

#[test]
fn direct_commands_are_answered_without_waiting_behind_work() {
    let finding = || "F1".to_owned();
    for (body, work) in [
        ("@bot help", Work::Help),
        ("@bot status", Work::Status),
        ("@bot pause", Work::Pause),
        ("@bot resume", Work::Resume),
        ("@bot cancel", Work::Cancel),
        ("@bot resolve F1", Work::Resolve { finding: finding() }),
        ("@bot dismiss F1", Work::Dismiss { finding: finding(), why: None }),
        ("@bot dismiss F1 no", Work::Dismiss { finding: finding(), why: Some("no".to_owned()) }),
    ] {
        for event in [on_a_change(body), on_an_issue(body)] {
            assert_eq!(work_of(&event), work, "{body}");
        }
        assert_eq!(work.pace(), Pace::Talk, "{body}");
    }
}

#[test]
fn a_command_knows_the_comment_that_gave_it() {
    check_task(
        &in_a_thread(Some(true), "@bot help"),
        expect![[r#"
        acme/demo!12 "Login fails", head None, by alice
        {"task":"help"}
        {"trigger":"comment","id":31,"place":{"place":"thread","thread":"30","reply":true},"body":"@bot help","updated_at":"2026-01-02T00:00:00Z"}
    "#]],
    );
}

// Row: comment edited.

#[test]
fn an_edited_comment_counts_only_if_the_edit_adds_the_mention() {
    let edit = |before: Option<&str>, after| {
        let before = before.map(str::to_owned);
        let comment = comment(SubjectKind::Change, after);
        event(Happening::CommentEdited { comment, before })
    };
    assert_eq!(work_of(&edit(Some("hello"), "@bot help")), Work::Help);
    assert_eq!(work_of(&edit(None, "@bot help")), Work::Help);
    let reason = "the edit does not add a mention of the bot";
    check_ignored(&edit(Some("@bot help"), "@bot help!"), &policy(), reason);
    check_ignored(&edit(Some("a"), "b"), &policy(), reason);
    check_ignored(&edit(None, "b"), &Policy { respond: Respond::All, ..policy() }, reason);
}

#[test]
fn an_edit_is_authorised_as_the_editor() {
    let comment = comment(SubjectKind::Change, "@bot fix");
    let happening = Happening::CommentEdited { comment, before: Some("hello".to_owned()) };
    let by_mallory = Event { actor: Actor::named("mallory"), ..event(happening) };
    assert_eq!(task(&by_mallory, &policy()).actor.login, "mallory");
    let only_alice = Policy { allowed_users: vec!["alice".to_owned()], ..policy() };
    assert!(matches!(route(&by_mallory, &only_alice), Decision::Refused(_)));
}

// Row: push by the bot itself.

#[test]
fn what_the_bot_does_itself_is_ignored() {
    for happening in [
        Happening::Pushed(push()),
        Happening::ChangePushed(change()),
        Happening::ChangeOpened(change()),
        Happening::IssueAssigned { issue: issue("x"), to: vec![us()] },
        Happening::Commented(comment(SubjectKind::Change, "@bot fix")),
    ] {
        let event = Event { actor: us(), ..event(happening) };
        check_ignored(&event, &policy(), "the bot did this itself");
    }
}

#[test]
fn the_bots_own_comments_never_trigger_even_when_somebody_edits_them() {
    let comment = Comment { author: us(), ..comment(SubjectKind::Change, "@bot fix") };
    let happening = Happening::CommentEdited { comment, before: Some(String::new()) };
    check_ignored(&event(happening), &policy(), "the bot wrote this itself");
}

// Row: changes by other bots.

#[test]
fn changes_by_other_bots_are_reviewed_by_policy() {
    let by_bot = Change { author: dependabot(), ..change() };
    let event = Event { actor: dependabot(), ..event(Happening::ChangeOpened(by_bot)) };
    assert_eq!(work_of(&event), NEW);
    let no_bots = Policy { review_bots: Toggle::Off, ..policy() };
    check_ignored(&event, &no_bots, "changes by other bots are not reviewed");
    let push = Event { actor: dependabot(), ..self::event(Happening::Pushed(push())) };
    check_ignored(&push, &no_bots, "changes by other bots are not reviewed");
    let asked = Happening::ReviewRequested {
        change: Change { author: dependabot(), ..change() },
        of: vec![us()],
    };
    assert_eq!(task(&self::event(asked), &no_bots).work, NEW);
}

#[test]
fn other_bots_never_command() {
    let all = Policy { respond: Respond::All, ..policy() };
    let body = "@bot fix";
    for happening in [
        Happening::Commented(Comment {
            author: dependabot(),
            ..comment(SubjectKind::Change, body)
        }),
        Happening::IssueOpened(Issue { author: dependabot(), ..issue(body) }),
    ] {
        let event = Event { actor: dependabot(), ..event(happening) };
        check_ignored(&event, &all, "other bots do not command");
    }
    let theirs = Comment { author: dependabot(), ..comment(SubjectKind::Change, body) };
    let edited = event(Happening::CommentEdited { comment: theirs, before: None });
    check_ignored(&edited, &all, "other bots do not command");
}

// What stands under the table.

#[test]
fn false_friends_do_not_become_orders_to_edit() {
    assert_eq!(work_of(&on_a_change("@bot review the changes")), NEW);
    assert_eq!(work_of(&on_a_change("@bot check the prefix")), NEW);
    assert_eq!(
        work_of(&on_an_issue("@bot please address the comments")),
        respond("please address the comments")
    );
    check_ignored(&on_an_issue("@bot2 fix"), &policy(), "the comment does not mention the bot");
}

#[test]
fn a_description_that_asks_to_be_ignored_is_not_reviewed_unless_somebody_asks() {
    for body in ["@bot ignore", "@bot: ignore", "Text\n\n@coderabbitai: ignore"] {
        let change = Change { body: body.to_owned(), ..change() };
        for happening in
            [Happening::ChangeOpened(change.clone()), Happening::ChangePushed(change.clone())]
        {
            check_ignored(&event(happening), &policy(), "the description asks to be ignored");
        }
        assert_eq!(work_of(&event(Happening::ReviewRequested { change, of: vec![us()] })), NEW);
    }
}

#[test]
fn a_task_named_outright_needs_no_mention_and_may_come_from_anyone() {
    assert_eq!(work_of(&asked("full review")), FULL);
    for actor in [us(), dependabot()] {
        let event = Event { actor, ..asked("fix F1") };
        let task = task(&event, &policy());
        assert_eq!(task.work.name(), "respond");
        assert_eq!(task.trigger, Trigger::Asked);
    }
    check_ignored(&asked(" "), &policy(), "nothing was asked for");
}

#[test]
fn only_what_would_become_a_job_is_checked_against_the_lists() {
    let refused = |reason: &str| Decision::Refused(Refused { reason: reason.to_owned() });
    let only_bob = Policy { allowed_users: vec!["bob".to_owned()], ..policy() };
    let not_alice = refused("alice is not in the list of allowed users");
    assert_eq!(route(&on_a_change("@bot help"), &only_bob), not_alice);
    assert_eq!(route(&event(Happening::ChangeOpened(change())), &only_bob), not_alice);
    check_ignored(&on_a_change("hello"), &only_bob, "the comment does not mention the bot");

    let other_repo = Policy { allowed_repos: vec!["acme/other".to_owned()], ..policy() };
    let not_demo = refused("acme/demo is not in the list of allowed repositories");
    assert_eq!(route(&on_a_change("@bot help"), &other_repo), not_demo);

    let allowed = Policy {
        allowed_users: vec!["bob".to_owned(), "ALICE".to_owned()],
        allowed_repos: vec!["Acme/Demo".to_owned()],
        ..policy()
    };
    assert_eq!(task(&on_a_change("@bot help"), &allowed).work, Work::Help);
}

fn any_actor() -> impl Strategy<Value = Actor> {
    prop_oneof![
        Just(alice()),
        Just(us()),
        Just(dependabot()),
        any::<String>().prop_map(|login| Actor::named(&login)),
    ]
}

fn any_happening() -> impl Strategy<Value = Happening> {
    let texts = (any::<String>(), r"(@bot )?(fix|review|ignore|[a-z@`> \n]{0,20})", any_actor());
    (0..16_u8, texts, any::<Option<bool>>(), any::<bool>()).prop_map(
        |(kind, (name, body, author), reply, flag)| {
            let change = Change {
                body: body.clone(),
                title: name.clone(),
                draft: flag,
                author: author.clone(),
                ..change()
            };
            let issue = Issue { author: author.clone(), title: name.clone(), ..issue(&body) };
            let place = match kind % 3 {
                0 => Place::Conversation,
                1 => Place::Thread { thread: None, reply, path: None },
                _ => Place::Review { review: None },
            };
            let on = if flag { SubjectKind::Change } else { SubjectKind::Issue };
            let comment = Comment { place, author: author.clone(), ..comment(on, &body) };
            match kind {
                0 => Happening::ChangeOpened(change),
                1 => Happening::ChangeReopened(change),
                2 => Happening::ChangeReady(change),
                3 => Happening::ChangePushed(change),
                4 => Happening::BaseChanged(change),
                5 => Happening::ReviewRequested { change, of: vec![author] },
                6 => Happening::ChangeClosed { change, merged: flag },
                7 => Happening::IssueOpened(issue),
                8 => Happening::IssueAssigned { issue, to: vec![author] },
                9 => Happening::Pushed(Push { branch: name, created: flag, ..push() }),
                10 => Happening::Asked(Asked { text: body, on, number: 1 }),
                11 | 12 => Happening::CommentEdited { comment, before: reply.map(|_| name) },
                _ => Happening::Commented(comment),
            }
        },
    )
}

proptest! {
    #[test]
    fn every_event_is_decided_with_a_reason_or_a_task_on_its_subject(
        happening in any_happening(),
        actor in any_actor(),
        all in any::<bool>(),
    ) {
        let event = Event { repo: repo(), actor, happening };
        let respond = if all { Respond::All } else { Respond::Mentioned };
        let policy = Policy { respond, allowed_users: vec!["alice".to_owned()], ..policy() };
        match route(&event, &policy) {
            Decision::Do(task) => {
                prop_assert_eq!(task.subject, event.subject());
                prop_assert!(event.actor.is_called("alice"));
            }
            Decision::Ignored(Ignored { reason }) | Decision::Refused(Refused { reason }) => {
                prop_assert!(!reason.is_empty());
            }
        }
    }

    #[test]
    fn our_own_doing_never_becomes_a_job_unless_it_was_named_outright(happening in any_happening()) {
        let event = Event { repo: repo(), actor: us(), happening };
        if matches!(route(&event, &policy()), Decision::Do(_)) {
            prop_assert!(matches!(event.happening, Happening::Asked(_)));
        }
    }
}
