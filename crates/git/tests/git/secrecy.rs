//! The canary: a credential that no process, file or error may show.

use std::path::Path;

use git::{Push, Pushed, RefName};

use crate::rig::{CANARY, Rig, SPOKEN, branch, edit, make};

/// Reads arguments and environment of every process on the machine that can be read, descendants of
/// this one among them. The test's own memory is not its environment.
fn assert_no_process_shows_it() -> usize {
    let mut git = 0;
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        for file in ["cmdline", "environ"] {
            let Ok(content) = std::fs::read(entry.path().join(file)) else { continue };
            assert!(!shows(&content), "{} shows it", entry.path().join(file).display());
            git += usize::from(file == "cmdline" && content.windows(6).any(|six| six == b"remote"));
        }
    }
    git
}

fn assert_no_file_shows_it(folder: &Path) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            assert_no_file_shows_it(&entry.path());
        } else if kind.is_file() {
            let content = std::fs::read(entry.path()).unwrap_or_default();
            assert!(!shows(&content), "{} shows it", entry.path().display());
        }
    }
}

fn shows(content: &[u8]) -> bool {
    content.windows(CANARY.len()).any(|part| part == CANARY.as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn t6_a_credential_is_in_no_argument_variable_or_file_while_git_runs() {
    let rig = Rig::new();
    rig.repository("r", &[("a", "one\n")]);
    let (mirror, remote) = (rig.mirror(), rig.access("r"));
    let look = async || {
        let (server, folder) = (rig.server.clone(), rig.folder.path().to_owned());
        let look = move || {
            assert!(assert_no_process_shows_it() > 0, "git runs meanwhile");
            assert_no_file_shows_it(&folder);
            server.release();
        };
        rig.server.once_held(look).await;
    };
    rig.server.hold("upload-pack");
    let wants = [branch("main")];
    let (fetched, ()) = tokio::join!(mirror.fetch(&remote, &wants), look());
    let head = fetched.unwrap().commits.remove(0);

    let scratch = mirror.scratch().unwrap();
    let commit = make(&scratch, &head, vec![edit("b", "new\n")]).await;
    let target = RefName::branch("fix").unwrap();
    let push = Push { commit: &commit, target: &target, expected: None, never: &[] };
    rig.server.hold("receive-pack");
    let (pushed, ()) = tokio::join!(scratch.push(&remote, &push), look());
    assert_eq!(pushed.unwrap(), Pushed::Done);
    assert_no_file_shows_it(rig.folder.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn t6_no_error_or_refusal_shows_a_credential() {
    let rig = Rig::new();
    let repo = rig.repository("r", &[("a", "one\n")]);
    let hook = repo.folder.join(".git/hooks/pre-receive");
    std::fs::write(&hook, format!("#!/bin/sh\necho no, {SPOKEN}\nexit 1\n")).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&hook, mode).unwrap();
    let (mirror, head) = rig.fetched("r").await;
    let error = mirror.fetch(&rig.access(SPOKEN), &[branch("main")]).await.unwrap_err();
    assert!(!format!("{error:?} {error}").contains(SPOKEN), "{error:?}");
    let scratch = mirror.scratch().unwrap();
    let commit = make(&scratch, &head, vec![edit("b", "new\n")]).await;
    let target = RefName::branch("fix").unwrap();
    let push = Push { commit: &commit, target: &target, expected: None, never: &[] };
    let pushed = scratch.push(&rig.access("r"), &push).await.unwrap();
    assert!(matches!(pushed, Pushed::Refused { .. }), "{pushed:?}");
    assert!(!format!("{pushed:?}").contains(SPOKEN), "{pushed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn t5_a_stranger_who_finds_the_socket_gets_nothing() {
    let rig = Rig::new();
    rig.repository("r", &[("a", "one\n")]);
    let (mirror, remote) = (rig.mirror(), rig.access("r"));
    rig.server.hold("upload-pack");
    let wants = [branch("main")];
    let (server, folder) = (rig.server.clone(), rig.folder.path().to_owned());
    let ask = rig.server.once_held(move || {
        let found = std::fs::read_dir(folder).unwrap().flatten();
        let socket = found.map(|entry| entry.path().join("s")).find(|path| path.exists());
        let question = format!("protocol=http\nhost={}\n", server.address);
        let mut answer = Vec::new();
        git::relay(&socket.unwrap(), "get", question.as_bytes(), &mut answer).ok();
        assert_eq!(answer, b"", "this process is no part of the command");
        server.release();
    });
    let (fetched, ()) = tokio::join!(mirror.fetch(&remote, &wants), ask);
    fetched.unwrap();
}
