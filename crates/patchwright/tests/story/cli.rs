//! The binary as a person uses it: what it prints, what it complains about (`!`), and its exit code.

use expect_test::{Expect, expect};
use testkit::world::{BOT, REPO};
use testkit::{FakeForge, WallClock};

use super::program::Program;

async fn check(program: &Program, arguments: &[&str], expected: Expect) {
    expected.assert_eq(&program.run(arguments).await.to_string());
}

/// A forge with a bot and a question for it; returns the delivery of the question as a file has it.
async fn forge() -> (FakeForge, String) {
    let forge = FakeForge::github(std::sync::Arc::new(WallClock::default())).await.unwrap();
    forge.bot(BOT);
    forge.person("alice");
    forge.repo(REPO);
    forge.grants(REPO, BOT, forge::Permission::Write);
    forge.opens_issue("alice", REPO, "It crashes", "On start.");
    let delivery = forge.delivery(&forge.comments("alice", REPO, 1, "@bot help"));
    let body = String::from_utf8(delivery.body.to_vec()).unwrap();
    let event = delivery.headers["x-github-event"].to_str().unwrap();
    (forge, format!(r#"{{"headers": {{"X-GitHub-Event": "{event}"}}, "body": {body}}}"#))
}

/// The program with a connection to the forge.
fn connected(forge: &FakeForge) -> Program {
    Program::new()
        .with("GITHUB_API_URL", forge.url())
        .with("GITHUB_TOKEN", forge.token(BOT))
        .with("WEBHOOK_SECRET", "0123456789abcdef")
        .with("BOT_USERNAME", BOT)
}

#[tokio::test]
async fn without_arguments_it_shows_its_help_as_a_mistake() {
    let program = Program::new();
    let bare = program.run(&[]).await;
    let helped = program.run(&["--help"]).await;
    assert_eq!((bare.code, bare.stdout.as_str()), (Some(2), ""));
    assert_eq!((helped.code, helped.stderr.as_str()), (Some(0), ""));
    assert_eq!(bare.stderr, helped.stdout);
    expect![[r#"
        $ patchwright --help
        Reviews changes, keeps findings alive, fixes them, and turns issues into verified changes

        Usage: patchwright [OPTIONS] <COMMAND>

        Commands:
          serve        Take deliveries and do the work they ask for
          run          Do the work of one event in place, as a CI step
          replay       Pass a stored delivery through the program
          jobs         Look at jobs, stop them, start them again
          config       Show, check or begin a configuration
          doctor       Check everything that the program depends on, and say what to do
          migrate      Bring the store's tables up to date (`serve` does it too)
          demo         Show the smallest whole story, with nothing configured and no network
          completions  Print completions for a shell
          man          Print the manual page

        Options:
          -h, --help     Print help
          -V, --version  Print version

        Everywhere:
              --config <FILE>      Read the configuration from this file
              --data <DIR>         Keep everything in this folder [default: the user's data folder]
              --dry-run            Print what would be sent instead of sending it
              --log-level <LEVEL>  Log more or less: error, warn, info, debug, trace
              --color <WHEN>       Use colours; auto: on a terminal where `NO_COLOR` is not set [default:
                                   auto] [possible values: auto, always, never]

        Examples:
          patchwright demo                        see it work, with nothing configured
          patchwright config example              print a configuration file to start from
          patchwright doctor                      check connections, secrets and the store
          patchwright serve                       take deliveries and do the work
          patchwright replay delivery.json --dry-run
                                                  show what a delivery would lead to
          patchwright jobs list --state dead      look at what was given up

        Exit codes: 0 done, 1 findings, 2 wrong usage or configuration, 3 failure.
        exit 0"#]].assert_eq(&helped.to_string());
}

#[tokio::test]
async fn an_unknown_command_is_refused_with_a_suggestion() {
    check(
        &Program::new(),
        &["confg"],
        expect![[r#"
        $ patchwright confg
        ! error: unrecognized subcommand 'confg'
        !
        !   tip: a similar subcommand exists: 'config'
        !
        ! Usage: patchwright [OPTIONS] <COMMAND>
        !
        ! For more information, try '--help'.
        exit 2"#]],
    )
    .await;
}

#[tokio::test]
async fn mistakes_in_the_configuration_are_all_told_with_their_place() {
    let program = Program::new();
    let file = r#"
[server]
lisen = "127.0.0.1:8080"
drain = "soon"

[[connection]]
forge = "gitea"
url = "not an address"

[sever]
"#;
    program.file("patchwright.toml", file);
    check(&program, &["config", "check", "--config", "patchwright.toml"], expect![[r#"
        $ patchwright config check --config patchwright.toml
        ! error: patchwright.toml:3:1: [server] has no setting `lisen`
        ! hint: did you mean `listen`?
        ! error: patchwright.toml:4:1: [server] drain is "soon", expected a span of time, such as "500ms", "30s", "10m", "24h" or "7d"
        ! error: patchwright.toml:8:1: [[connection]] url is "not an address", expected a web address, such as "https://git.example.org"
        ! error: patchwright.toml:10:2: there is no section `sever`
        ! hint: did you mean `server`?
        exit 2"#]]).await;
}

#[tokio::test]
async fn a_configuration_file_that_is_not_there_is_a_mistake() {
    check(&Program::new(), &["config", "check", "--config", "nowhere.toml"], expect![[r#"
        $ patchwright config check --config nowhere.toml
        ! error: cannot read the configuration file nowhere.toml: No such file or directory (os error 2)
        ! hint: `patchwright config example` prints a file to start from
        exit 2"#]])
        .await;
}

#[tokio::test]
async fn the_gateway_refuses_to_start_without_a_webhook_secret() {
    let program = Program::new().with("GITHUB_TOKEN", "ghp_0123456789abcdef");
    check(&program, &["serve"], expect![[r#"
        $ patchwright serve
        ! error: the gateway refuses to start without a webhook secret: deliveries for `github` could be anybody's
        ! hint: set WEBHOOK_SECRET to the secret that the forge's webhook has (`openssl rand -hex 32` makes one)
        ! hint: to try things out on this machine, set TEST_MODE=true: it takes unsigned deliveries on loopback only
        exit 2"#]]).await;
}

#[tokio::test]
async fn test_mode_is_refused_where_others_can_reach_it() {
    let program =
        Program::new().with("GITHUB_TOKEN", "ghp_0123456789abcdef").with("TEST_MODE", "true");
    check(&program, &["serve", "--listen", "0.0.0.0:0"], expect![[r#"
        $ patchwright serve --listen 0.0.0.0:0
        ! error: TEST_MODE takes unsigned deliveries and only binds loopback, but `listen` is 0.0.0.0:0
        ! hint: listen on 127.0.0.1 or [::1], or set WEBHOOK_SECRET and leave TEST_MODE
        exit 2"#]]).await;
}

#[tokio::test]
async fn an_address_that_is_taken_is_told_with_a_way_out() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let program = Program::new()
        .with("GITHUB_TOKEN", "ghp_0123456789abcdef")
        .with("WEBHOOK_SECRET", "0123456789abcdef")
        .with("LOG_LEVEL", "error");
    check(
        &program,
        &["serve", "--listen", &address],
        expect![[r#"
        $ patchwright serve --listen 127.0.0.1:N
        ! error: cannot listen on 127.0.0.1:N
        !   because: Address already in use (os error 98)
        ! hint: another program listens there; choose another address with --listen
        exit 3"#]],
    )
    .await;
}

#[tokio::test]
async fn a_server_says_where_it_listens_and_ends_cleanly_when_asked_to() {
    let (forge, _) = forge().await;
    let running = connected(&forge).with("TEST_MODE", "true").serve().await;
    assert!(running.gateway().starts_with("http://127.0.0.1:"), "{}", running.gateway());
    let (said, code) = running.stop().await;
    assert!(said.contains("TEST_MODE IS ON"), "{said}");
    assert_eq!(code, Some(0), "{said}");
}

#[tokio::test]
async fn doctor_tries_everything_and_says_what_to_do() {
    check(&Program::new(), &["doctor"], expect![[r#"
        $ patchwright doctor
        ok    configuration: no file, the defaults and the environment count
        FAIL  configuration: no forge is configured
              do: set GITHUB_TOKEN (or GITHUB_APP_ID with its key), GITLAB_TOKEN, GITCODE_TOKEN, or GITEA_TOKEN with GITEA_URL, or write a [[connection]] (`patchwright config example`)
        ok    admin token: not set, the admin API is closed
        note  marker key: a random one is kept in the store, so that a lost store makes the bot doubt its own comments
              do: set MARKER_KEY (`openssl rand -hex 32`), and the same on every deployment that shares changes
        ok    git: found
        ok    clock: plausible
        ok    data folder: ~/.local/share/patchwright, N MiB free
        ok    store: SQLite in ~/.local/share/patchwright/patchwright.db

        1 of 8 checks failed
        exit 3"#]]).await;
    let (forge, _) = forge().await;
    let program = connected(&forge).with("MARKER_KEY", "0123456789abcdef");
    check(
        &program,
        &["doctor"],
        expect![[r#"
            $ patchwright doctor
            ok    configuration: no file, the defaults and the environment count
            ok    webhook secret of github: set
            ok    admin token: not set, the admin API is closed
            ok    marker key: set
            ok    git: found
            ok    clock: plausible
            ok    data folder: ~/.local/share/patchwright, N MiB free
            ok    store: SQLite in ~/.local/share/patchwright/patchwright.db
            ok    connection github (github at http://127.0.0.1:N): acts as bot

            all is well
            exit 0"#]],
    )
    .await;
}

#[tokio::test]
async fn a_new_store_is_made_and_is_empty() {
    let program = Program::new();
    check(
        &program,
        &["migrate"],
        expect![[r#"
            $ patchwright migrate
            the store has schema 2, the newest that this version knows
            exit 0"#]],
    )
    .await;
    check(
        &program,
        &["jobs", "list"],
        expect![[r#"
        $ patchwright jobs list
        no jobs
        exit 0"#]],
    )
    .await;
    check(
        &program,
        &["jobs", "show", "none"],
        expect![[r#"
        $ patchwright jobs show none
        ! error: nothing was done about job none
        !   because: there is no job
        ! hint: `patchwright jobs list` shows the ids
        exit 3"#]],
    )
    .await;
    check(
        &program,
        &["jobs", "list", "--state", "finished"],
        expect![[r#"
        $ patchwright jobs list --state finished
        ! error: invalid value 'finished' for '--state <STATE>': `finished` is not a job state
        !
        ! For more information, try '--help'.
        exit 2"#]],
    )
    .await;
}

#[tokio::test]
async fn a_recorded_delivery_is_rehearsed_without_a_trace() {
    let (forge, delivery) = forge().await;
    let program = connected(&forge);
    program.file("delivery.json", delivery);
    let before = forge.thread(REPO, 1);
    let ran = program.run(&["replay", "delivery.json", "--dry-run"]).await.to_string();
    // An answer does not wait for its reaction: either may be told first.
    let reaction = "would react with eyes to comment 1700001 on acme/demo#1\n";
    assert!(ran.contains(reaction), "{ran}");
    expect![[r#"
        $ patchwright replay delivery.json --dry-run
        would comment on acme/demo#1 (reply:c1700001):
          | I am `@bot`. Write one of these in a comment here:
          |
          | - `@bot help`: shows this list
          | - `@bot status`: says what I am doing here
          | - `@bot cancel`: stops what is waiting or running here
          |
          | I know these commands, but this version cannot do them yet:
          |
          | - `@bot review`: reviews what is new in this change; `full review` starts over
          | - `@bot detect`: looks for problems on the branch
          | - `@bot fix [ID … | all]`: fixes the issue or the findings, and verifies the result
          | - `@bot repair`: repairs the code that a changed `.proto` file breaks
          | - `@bot pause`: stops automatic work here until `resume`
          | - `@bot resume`: takes automatic work up again
          | - `@bot resolve ID`: marks a finding as fixed
          | - `@bot dismiss ID [why]`: closes a finding that will not be fixed
          |
          | One command per comment. What stands in code, in a quote or in a hidden comment is not read.
        help on acme/demo#1: done
        exit 0"#]]
    .assert_eq(&ran.replace(reaction, ""));
    assert_eq!(forge.thread(REPO, 1), before);
    check(
        &program,
        &["jobs", "list"],
        expect![[r#"
        $ patchwright jobs list
        no jobs
        exit 0"#]],
    )
    .await;
    assert!(forge.violations().is_empty());
}

#[tokio::test]
async fn a_recorded_delivery_is_answered_once() {
    let (forge, delivery) = forge().await;
    let program = connected(&forge);
    program.file("delivery.json", delivery);
    check(
        &program,
        &["replay", "delivery.json"],
        expect![[r#"
        $ patchwright replay delivery.json
        help on acme/demo#1: done
        exit 0"#]],
    )
    .await;
    check(
        &program,
        &["replay", "delivery.json"],
        expect![[r#"
        $ patchwright replay delivery.json
        taken before, as job ID
        exit 0"#]],
    )
    .await;
    let said = forge.conversation(REPO, 1);
    assert_eq!(said.iter().filter(|comment| comment.author.login == BOT).count(), 1);
}

#[tokio::test]
async fn a_file_that_is_no_delivery_is_refused_with_a_hint() {
    let (forge, _) = forge().await;
    let program = connected(&forge);
    program.file("body.json", "{}");
    check(&program, &["replay", "body.json"], expect![[r#"
        $ patchwright replay body.json
        ! error: body.json has no headers that tell the forge and the event
        ! hint: name them: --forge github --event issue_comment, or write {"headers": {…}, "body": {…}}
        exit 2"#]]).await;
    check(
        &program,
        &["replay", "nowhere.json"],
        expect![[r#"
        $ patchwright replay nowhere.json
        ! error: cannot read nowhere.json
        !   because: No such file or directory (os error 2)
        exit 2"#]],
    )
    .await;
    check(
        &program,
        &["replay", "body.json", "--forge", "github", "--event", "ping"],
        expect![[r#"
            $ patchwright replay body.json --forge github --event ping
            ignored: ping
            exit 0"#]],
    )
    .await;
}

#[tokio::test]
async fn a_step_of_ci_without_an_event_says_where_one_comes_from() {
    let program = Program::new().with("GITHUB_TOKEN", "ghp_0123456789abcdef");
    check(
        &program,
        &["run"],
        expect![[r#"
        $ patchwright run
        ! error: there is no event: neither --event nor GITHUB_EVENT_PATH names one
        ! hint: `patchwright run` is a step of a GitHub Actions workflow
        exit 2"#]],
    )
    .await;
}

#[tokio::test]
async fn the_demo_needs_nothing_and_tells_a_whole_story() {
    check(&Program::new(), &["demo"], expect![[r#"
        $ patchwright demo
        This is Patchwright on a sample repository, in a temporary folder, with no network.
        No model is asked: what this version does (help, status, cancel) needs none.

          #1 How does this work? (open)

          alice:
          @patchwright help
            👀 patchwright

          patchwright:
          I am `@patchwright`. Write one of these in a comment here:

          - `@patchwright help`: shows this list
          - `@patchwright status`: says what I am doing here
          - `@patchwright cancel`: stops what is waiting or running here

          I know these commands, but this version cannot do them yet:

          - `@patchwright review`: reviews what is new in this change; `full review` starts over
          - `@patchwright detect`: looks for problems on the branch
          - `@patchwright fix [ID … | all]`: fixes the issue or the findings, and verifies the result
          - `@patchwright repair`: repairs the code that a changed `.proto` file breaks
          - `@patchwright pause`: stops automatic work here until `resume`
          - `@patchwright resume`: takes automatic work up again
          - `@patchwright resolve ID`: marks a finding as fixed
          - `@patchwright dismiss ID [why]`: closes a finding that will not be fixed

          One command per comment. What stands in code, in a quote or in a hidden comment is not read.

        help on sample/greeter#1: done

        What happened: the issue became an event, the event a durable job, the job an answer, and the answer
        was published exactly once. On a forge the event is a signed delivery; all else is the same.

        To see it on your own repository, as an account of its own:

          GITHUB_TOKEN=… WEBHOOK_SECRET=… patchwright serve

        and let the repository's webhook call /api/webhook. `patchwright doctor` says what is missing.

        exit 0"#]]).await;
}

#[tokio::test]
async fn completions_and_the_manual_are_printed_even_where_the_configuration_is_wrong() {
    let program = Program::new().with("LOG_LEVEL", "loud");
    for (arguments, words) in [
        (["completions", "bash"].as_slice(), "_patchwright()"),
        (&["man"], ".TH patchwright"),
        (&["config", "example"], "[server]"),
    ] {
        let ran = program.run(arguments).await;
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{arguments:?}");
        assert!(ran.stdout.contains(words), "{}", ran.stdout);
    }
}

#[tokio::test]
async fn a_reader_that_went_away_is_no_failure() {
    for arguments in [
        ["config", "example"].as_slice(),
        &["completions", "bash"],
        &["man"],
        &["demo"],
        &["--help"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(Program::new().run_into(writer, arguments).await, Some(0), "{arguments:?}");
    }
}
