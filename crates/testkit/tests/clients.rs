//! Clients that others wrote act on the fake forge and read it back, so that a face speaks what
//! real clients expect: of GitLab and GitCode no description is published. `scripts/clients.sh` installs them;
//! where that was not possible the test says so, and the suite counts it.

#![expect(clippy::unwrap_used, reason = "what goes wrong in a scene fails its test")]

use std::io::Write as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use expect_test::expect;
use forge::{Host, Permission};
use serde_json::json;
use testkit::forge::{FakeChange, Options, Which};
use testkit::{FakeForge, HandClock};

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Runs a client's story with what it has to know, or says why it cannot.
#[expect(clippy::print_stderr, reason = "who runs the tests is told what they leave out")]
fn run(script: &str, story: &serde_json::Value) {
    let python = Path::new(HERE).join("../../target/clients/bin/python");
    if !python.exists() {
        eprintln!("skipped: the clients are not there, run `scripts/clients.sh`");
        return;
    }
    #[expect(clippy::disallowed_methods, reason = "the client of others is a program")]
    let mut command = std::process::Command::new(python);
    command.arg(Path::new(HERE).join("tests/clients").join(script));
    let mut client = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    client.stdin.take().unwrap().write_all(story.to_string().as_bytes()).unwrap();
    let ended = client.wait_with_output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
}

/// Lets a client tell its story as kim, who may write, on a forge with an issue and a change of
/// ada's. Returns the forge if the client is there.
async fn told(script: &'static str, host: Host, repo: &str) -> Option<FakeForge> {
    let options = Options { host, ..Options::default() };
    let forge = FakeForge::start(Arc::new(HandClock::default()), options).await.unwrap();
    forge.person("ada");
    forge.person("kim");
    forge.repo(repo);
    forge.grants(repo, "kim", Permission::Write);
    forge.opens_issue("ada", repo, "It breaks", "Badly.");
    forge.opens_change("ada", repo, "Mend it", "", FakeChange::from_branch("mend"));
    let story = json!({"url": forge.url(), "token": forge.token("kim"), "login": "kim",
                       "project": repo});
    tokio::task::spawn_blocking(move || run(script, &story)).await.unwrap();
    if forge.requests().is_empty() {
        return None;
    }
    assert_eq!(forge.violations(), []);
    Some(forge)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gitcode_api_acts_on_the_face_of_gitcode_and_reads_it_back() {
    const REPO: &str = "octo/widgets";
    let Some(forge) = told("on_gitcode.py", Host::GitCode, REPO).await else { return };
    expect![[r#"
        issue #1: It breaks

        --- ada
        Badly.

        --- kim
        the only comment
    "#]]
    .assert_eq(&forge.thread(REPO, Which::Issue(1)));
    expect![[r#"
        change #1: Mend it

        --- ada

        --- kim
        hello again

        === src/lib.rs:5

        --- kim
        why?
    "#]]
    .assert_eq(&forge.thread(REPO, Which::Change(1)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn python_gitlab_acts_on_the_face_of_gitlab_and_reads_it_back() {
    const REPO: &str = "octo/tools/widgets";
    let Some(forge) = told("on_gitlab.py", Host::GitLab, REPO).await else { return };
    expect![[r#"
        issue #1: It breaks

        --- ada
        Badly.

        --- kim [eyes by kim]
        the only note
    "#]]
    .assert_eq(&forge.thread(REPO, Which::Issue(1)));
    expect![[r#"
        change #1: Mend it

        --- ada

        === src/lib.rs:5 (resolved by kim)

        --- kim
        why?

        --- kim
        because

        === src/lib.rs:5

        --- kim
        draft {'new_line': 5}

        === src/lib.rs:3

        --- kim
        draft {'old_line': 3, 'new_line': 3}

        status checks: failure (no)
    "#]]
    .assert_eq(&forge.thread(REPO, Which::Change(1)));
}
