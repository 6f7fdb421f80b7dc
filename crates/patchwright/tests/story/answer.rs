//! `@bot help`, `status` and `cancel` are acknowledged and answered; what is not for us is not.

use expect_test::expect;
use forge::Permission;
use testkit::World;
use testkit::forge::FakeChange;
use testkit::world::REPO;

#[tokio::test]
async fn help_is_acknowledged_and_answered_in_the_thread() {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    let answer = world.comments("alice", issue, "@bot help").await;
    assert_eq!(answer.status, 202);
    world.settle().await;
    expect![[r#"
        issue #1: It crashes

        --- alice
        On start.

        --- alice [eyes by bot]
        @bot help

        --- bot
        [marker kind=help slot=reply:c1700001 rev=1]
        I am `@bot`. Write one of these in a comment here:

        - `@bot help`: shows this list
        - `@bot status`: says what I am doing here
        - `@bot cancel`: stops what is waiting or running here

        I know these commands, but this version cannot do them yet:

        - `@bot review`: reviews what is new in this change; `full review` starts over
        - `@bot detect`: looks for problems on the branch
        - `@bot fix [ID … | all]`: fixes the issue or the findings, and verifies the result
        - `@bot repair`: repairs the code that a changed `.proto` file breaks
        - `@bot pause`: stops automatic work here until `resume`
        - `@bot resume`: takes automatic work up again
        - `@bot resolve ID`: marks a finding as fixed
        - `@bot dismiss ID [why]`: closes a finding that will not be fixed

        One command per comment. What stands in code, in a quote or in a hidden comment is not read.
    "#]]
    .assert_eq(&world.thread(issue));
    world.close().await;
}

#[tokio::test]
async fn help_in_the_text_of_a_new_issue_is_answered_too() {
    let world = World::start().await;
    let issue = world.opens_issue("mallory", "A question", "@bot help please").await;
    world.settle().await;
    let thread = world.thread(issue);
    assert!(thread.contains("[marker kind=help slot=reply:opening rev=1]"), "{thread}");
    world.close().await;
}

#[tokio::test]
async fn an_answer_is_in_the_language_of_the_question() {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "崩溃", "启动时").await;
    world.comments("alice", issue, "@bot 帮助").await;
    world.settle().await;
    let thread = world.thread(issue);
    assert!(thread.contains("slot=reply:c"), "{thread}");
    assert!(!thread.contains("Write one of these"), "{thread}");
    world.close().await;
}

#[tokio::test]
async fn status_tells_what_is_going_on() {
    let world = World::start().await;
    let change = world.forge.opens_change(
        "alice",
        REPO,
        "Add a cache",
        "Faster.",
        FakeChange::from_branch("cache"),
    );
    world.deliver(&change).await;
    world.settle().await;
    world.comments("mallory", change.number(), "@bot status").await;
    world.settle().await;
    expect![[r#"
        change #1: Add a cache

        --- alice
        Faster.

        --- mallory [eyes by bot]
        @bot status

        --- bot
        [marker kind=status slot=reply:c1700001 rev=1]
        This is what I am doing here:

        - `review`: nothing to do, 0 seconds ago
    "#]]
    .assert_eq(&world.thread(change.number()));
    expect![[r#"
        review acme/demo!1 skipped: this version cannot review yet
        status acme/demo!1 done
    "#]]
    .assert_eq(&world.describe().await);
    world.close().await;
}

#[tokio::test]
async fn a_known_command_without_a_workflow_gets_an_honest_word() {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    world.comments("alice", issue, "@bot fix").await;
    world.settle().await;
    expect![[r#"
        issue #1: It crashes

        --- alice
        On start.

        --- alice [eyes by bot]
        @bot fix

        --- bot
        [marker kind=answer slot=reply:c1700001 rev=1]
        I cannot do `fix` yet in this version. `@bot help` lists what I can do.
    "#]]
    .assert_eq(&world.thread(issue));
    expect![[r#"
        fix acme/demo#1 failed: this version cannot fix yet
    "#]]
    .assert_eq(&world.describe().await);
    world.close().await;
}

#[tokio::test]
async fn cancel_needs_write_permission_on_the_forge_at_that_moment() {
    let world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    world.comments("mallory", issue, "@bot cancel").await;
    world.settle().await;
    world.forge.grants(REPO, "mallory", Permission::Write);
    world.comments("mallory", issue, "@bot cancel").await;
    world.settle().await;
    expect![[r#"
        issue #1: It crashes

        --- alice
        On start.

        --- mallory
        @bot cancel

        --- bot
        [marker kind=refusal slot=reply:c1700001 rev=1]
        I do `cancel` only for people with write permission on this repository, and `mallory` does not have it.

        --- mallory [eyes by bot]
        @bot cancel

        --- bot
        [marker kind=cancel slot=reply:c1700003 rev=1]
        There is nothing here to cancel.
    "#]].assert_eq(&world.thread(issue));
    world.close().await;
}

#[tokio::test]
async fn our_own_comments_and_other_bots_do_not_command() {
    let world = World::start().await;
    world.forge.bot("renovate[bot]");
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    for actor in ["bot", "renovate[bot]"] {
        let answer = world.comments(actor, issue, "@bot help").await;
        assert_eq!(
            (answer.status.as_u16(), answer.json()["status"].as_str()),
            (200, Some("ignored")),
            "{actor}"
        );
    }
    world.settle().await;
    assert!(world.jobs().await.is_empty());
    world.close().await;
}

#[tokio::test]
async fn t1_what_counts_is_what_the_forge_says_when_the_job_runs() {
    let mut world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    world.stop_workers().await;
    let deleted = world.forge.comments("alice", REPO, issue, "@bot help");
    let edited = world.forge.comments("alice", REPO, issue, "@bot help");
    world.deliver(&deleted).await;
    world.deliver(&edited).await;
    world.forge.deletes("alice", REPO, deleted.comment_id());
    world.forge.edits("alice", REPO, edited.comment_id(), "never mind");
    let other = world.forge.comments("alice", REPO, issue, "@bot help");
    world.deliver(&other).await;
    world.forge.edits("alice", REPO, other.comment_id(), "@bot cancel");
    world.start_workers().await;
    world.settle().await;
    expect![[r#"
        help acme/demo#1 skipped: comment 1700001 of acme/demo#1 is gone
        help acme/demo#1 skipped: the text does not ask for anything any more
        help acme/demo#1 skipped: the text asks for `cancel` by now
    "#]]
    .assert_eq(&world.describe().await);
    assert!(!world.thread(issue).contains("--- bot"), "{}", world.thread(issue));
    world.close().await;
}

#[tokio::test]
async fn a_closed_change_stops_its_jobs_without_a_word() {
    let world = World::start().await;
    let change = world.forge.opens_change(
        "alice",
        REPO,
        "Add a cache",
        "Faster.",
        FakeChange::from_branch("cache"),
    );
    let closed = world.forge.closes("alice", REPO, change.number());
    world.deliver(&closed).await;
    world.settle().await;
    expect![[r#"
        cancel acme/demo!1 done
    "#]]
    .assert_eq(&world.describe().await);
    assert!(!world.thread(change.number()).contains("--- bot"));
    world.close().await;
}

#[tokio::test]
async fn cancel_stops_waiting_work_and_says_how_much() {
    let mut world = World::start().await;
    let issue = world.opens_issue("alice", "It crashes", "On start.").await;
    world.stop_workers().await;
    world.comments("alice", issue, "@bot fix").await;
    world.comments("alice", issue, "@bot fix the other thing too").await;
    world.comments("mallory", issue, "@bot help").await;
    world.comments("alice", issue, "@bot cancel").await;
    world.start_workers_at(engine::Tempo { work: 0, ..Default::default() }).await;
    world.settle().await;
    expect![[r#"
        fix acme/demo#1 cancelled: cancelled by a later request
        fix acme/demo#1 cancelled: cancelled by a later request
        help acme/demo#1 done
        cancel acme/demo#1 done
    "#]]
    .assert_eq(&world.describe().await);
    assert!(world.thread(issue).contains("kind=cancel"), "{}", world.thread(issue));
    world.close().await;
}
