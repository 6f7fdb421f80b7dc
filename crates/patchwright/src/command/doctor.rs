//! `patchwright doctor`: tries everything that the program depends on and says what to do.
//!
//! It changes nothing but what opening the store changes, and asks each forge only who we are, what
//! it can do, and what we may do there.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use domain::{Actor, Clock, Time};
use forge::capability::Ability;
use forge::{Capabilities, Ours};
use report::redact::Redactor;
use secrecy::{ExposeSecret, SecretString};

use crate::clock::WallClock;
use crate::code;
use crate::complaint::{Complaint, Exit};
use crate::settings::{Connection, Database, Role, Settings};
use crate::wiring;

/// Below this a secret can be guessed.
const SHORTEST_SECRET: usize = 16;

/// Below this much free space the store is in danger.
const LEAST_FREE_BYTES: u64 = 512 * 1024 * 1024;

/// 2026-01-01: this version did not exist before.
const BEFORE_THIS_VERSION: Time = Time(1_767_225_600_000);

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    what: String,
    verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Verdict {
    Fine,
    /// It works, and could be better.
    Advice {
        todo: String,
    },
    Wrong {
        todo: String,
    },
}

/// Runs every check. Exit 0 if nothing is wrong.
pub async fn run(
    settings: &Settings,
    redactor: &Arc<Redactor>,
    out: &mut dyn Write,
) -> Result<Exit, Complaint> {
    let mut findings = configuration(settings);
    findings.extend(secrets(settings));
    findings.push(git_program(settings));
    findings.push(clock(WallClock.now()));
    findings.push(data_folder(settings.data()));
    findings.extend(store(settings).await);
    for connection in &settings.connections {
        findings.extend(forge(connection, settings, redactor).await);
    }
    for finding in &findings {
        let text = finding.print();
        out.write_all(redactor.clean(&text).as_bytes())?;
    }
    let wrong =
        findings.iter().filter(|finding| matches!(finding.verdict, Verdict::Wrong { .. })).count();
    match wrong {
        0 => {
            writeln!(out, "\nall is well")?;
            Ok(Exit::Done)
        }
        _ => {
            writeln!(out, "\n{wrong} of {} checks failed", findings.len())?;
            Ok(Exit::Failure)
        }
    }
}

impl Finding {
    fn fine(what: impl Into<String>) -> Self {
        Self { what: what.into(), verdict: Verdict::Fine }
    }

    fn advice(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { what: what.into(), verdict: Verdict::Advice { todo: todo.into() } }
    }

    fn wrong(what: impl Into<String>, todo: impl Into<String>) -> Self {
        Self { what: what.into(), verdict: Verdict::Wrong { todo: todo.into() } }
    }

    fn print(&self) -> String {
        let (sign, todo) = match &self.verdict {
            Verdict::Fine => ("ok  ", None),
            Verdict::Advice { todo } => ("note", Some(todo)),
            Verdict::Wrong { todo } => ("FAIL", Some(todo)),
        };
        let todo = todo.map(|todo| format!("      do: {todo}\n")).unwrap_or_default();
        format!("{sign}  {}\n{todo}", self.what)
    }
}

fn configuration(settings: &Settings) -> Vec<Finding> {
    let mut findings = vec![match &settings.file {
        Some(path) => Finding::fine(format!("configuration: read from {}", path.display())),
        None => Finding::fine("configuration: no file, the defaults and the environment count"),
    }];
    let listed = |hints: &[String]| hints.join("; or ");
    for warning in &settings.warnings {
        findings.push(Finding::advice(format!("configuration: {warning}"), listed(&warning.hints)));
    }
    for problem in settings.missing(Role::All) {
        findings.push(Finding::wrong(format!("configuration: {problem}"), listed(&problem.hints)));
    }
    if *settings.server.test_mode {
        let what = "test mode: unsigned deliveries are taken, by anybody who can reach this machine's loopback";
        findings.push(Finding::advice(what, "unset TEST_MODE for real use"));
    }
    if !settings.not_used_yet.is_empty() {
        let what =
            format!("environment: set, but not used yet: {}", settings.not_used_yet.join(", "));
        findings.push(Finding::fine(what));
    }
    findings
}

fn secrets(settings: &Settings) -> Vec<Finding> {
    let mut findings = Vec::new();
    for connection in &settings.connections {
        if let Some(secret) = &connection.webhook_secret {
            findings.push(strength(&format!("webhook secret of {}", connection.name), secret));
        }
    }
    if let Some(token) = &settings.server.admin_token.value.0 {
        findings.push(strength("admin token", token));
    } else {
        findings.push(Finding::fine("admin token: not set, the admin API is closed"));
    }
    findings.push(match &settings.store.marker_key.value.0 {
        Some(key) => strength("marker key", key),
        None => Finding::advice(
            "marker key: a random one is kept in the store, so that a lost store makes the bot doubt its own comments",
            "set MARKER_KEY (`openssl rand -hex 32`), and the same on every deployment that shares changes",
        ),
    });
    findings
}

fn strength(name: &str, secret: &SecretString) -> Finding {
    if secret.expose_secret().len() < SHORTEST_SECRET {
        let what = format!("{name}: shorter than {SHORTEST_SECRET} characters, it can be guessed");
        return Finding::wrong(what, "`openssl rand -hex 32` makes a good one");
    }
    Finding::fine(format!("{name}: set"))
}

fn git_program(settings: &Settings) -> Finding {
    match code::program(settings) {
        Some(_) => Finding::fine("git: found"),
        None => Finding::advice(
            format!("git: there is no program `{}`; nothing can be pushed", *settings.git.program),
            "install git 2.39 or newer, or name it in `[git] program`",
        ),
    }
}

fn clock(now: Time) -> Finding {
    if now < BEFORE_THIS_VERSION {
        return Finding::wrong("clock: it is set to the past", "let NTP set the machine's clock");
    }
    Finding::fine("clock: plausible")
}

/// Checks that the folder can be written to and has room.
fn data_folder(folder: &Path) -> Finding {
    let name = folder.display();
    if let Err(error) =
        fs::create_dir_all(folder).and_then(|()| tempfile::tempfile_in(folder).map(drop))
    {
        let what = format!("data folder: cannot write to {name}: {error}");
        return Finding::wrong(
            what,
            "give this account the folder, or name another one with --data",
        );
    }
    match rustix::fs::statvfs(folder) {
        Ok(disk) => {
            let free = disk.f_bavail.saturating_mul(disk.f_frsize);
            let what = format!("data folder: {name}, {} MiB free", free / 1024 / 1024);
            if free < LEAST_FREE_BYTES {
                return Finding::wrong(
                    what,
                    "free some space: deliveries cannot be kept on a full disk",
                );
            }
            Finding::fine(what)
        }
        Err(error) => {
            let what = format!("data folder: {name}, the free space is unknown: {error}");
            Finding::advice(what, "watch the free space yourself")
        }
    }
}

async fn store(settings: &Settings) -> Vec<Finding> {
    let (name, remedy) = match settings.database() {
        Database::Sqlite { file } => (
            format!("store: SQLite in {}", file.display()),
            "let this account write to the file and its folder, on a local disk",
        ),
        Database::Postgres { .. } => (
            "store: PostgreSQL".to_owned(),
            "check DATABASE_URL, and that the server runs and lets this account in",
        ),
    };
    let store = match wiring::operators_store(settings).await {
        Ok(store) => store,
        Err(error) => return vec![Finding::wrong(format!("{name}: {error}"), remedy)],
    };
    let mut findings = Vec::new();
    match store.durability_warnings().await {
        Ok(warnings) => findings.extend(warnings.into_iter().map(|warning| {
            Finding::wrong(format!("{name}: {warning}"), "change the server's configuration")
        })),
        Err(error) => findings.push(Finding::wrong(format!("{name}: {error}"), remedy)),
    }
    match store.breakers().await {
        Ok(breakers) => findings.extend(breakers.into_iter().map(|breaker| {
            let what = format!("{} is away: {}", breaker.endpoint, breaker.reason);
            Finding::advice(what, "jobs wait for it and go on by themselves")
        })),
        Err(error) => findings.push(Finding::wrong(format!("{name}: {error}"), remedy)),
    }
    if findings.is_empty() {
        findings.push(Finding::fine(name));
    }
    findings
}

/// Asks the forge who we are, what it can do, and what we may do in the allowed repositories.
async fn forge(
    connection: &Connection,
    settings: &Settings,
    redactor: &Arc<Redactor>,
) -> Vec<Finding> {
    let name =
        format!("connection {} ({} at {})", connection.name, connection.host, connection.origin);
    let ours = Arc::new(Ours::new("doctor", None));
    let forge = match wiring::forge(connection, ours, redactor, Arc::new(WallClock)) {
        Ok(Some(forge)) => forge,
        Ok(None) => {
            let todo = "set one; without it nothing can be read or answered";
            return vec![Finding::wrong(format!("{name}: no token"), todo)];
        }
        Err(error) => {
            let todo = "correct the connection's settings";
            return vec![Finding::wrong(format!("{name}: {error}"), todo)];
        }
    };
    let account = match forge.read.own_account().await {
        Ok(account) => account,
        Err(error) => return vec![Finding::wrong(format!("{name}: {error}"), remedy(&error))],
    };
    let what = format!("{name}: acts as {}", account.login);
    let mut findings = vec![if settings.policy(connection).is_own(&account) {
        Finding::fine(what)
    } else {
        let todo = format!(
            "people must mention @{}; set BOT_USERNAME={} if that is not meant",
            *settings.bot.name, account.login
        );
        Finding::advice(what, todo)
    }];
    match forge.read.capabilities().await {
        Ok(able) => findings.extend(abilities(&name, &able)),
        Err(error) => findings.push(Finding::wrong(format!("{name}: {error}"), remedy(&error))),
    }
    for repo in settings.policy.allowed_repos.iter() {
        findings.push(rights(&name, &forge, &account, repo).await);
    }
    findings
}

/// Says what the server cannot do: people will miss it.
fn abilities(name: &str, able: &Capabilities) -> Vec<Finding> {
    let version = able.version.as_deref().map_or(String::new(), |version| format!(" {version}"));
    let parts = [
        ("replies in threads", &able.replies),
        ("resolving threads", &able.resolving),
        ("reactions", &able.reactions),
        ("drafts", &able.drafts),
        ("statuses", &able.statuses),
    ];
    let missing = parts.into_iter().filter_map(|(what, ability)| match ability {
        Ability::Yes => None,
        Ability::No(why) => {
            let what = format!("{name}{version}: no {what}: {why}");
            Some(Finding::advice(what, "the next best thing is done instead, and told there"))
        }
    });
    missing.collect()
}

/// Checks that our account may write in a repository.
async fn rights(
    name: &str,
    forge: &engine::Connection,
    account: &Actor,
    full_name: &str,
) -> Finding {
    let repo = match forge.read.repository(full_name).await {
        Ok(repo) => repo,
        Err(error) => {
            let todo = "check the name in the list of allowed repositories, and the token's rights";
            return Finding::wrong(format!("{name}: {full_name}: {error}"), todo);
        }
    };
    match forge.read.permission(&repo, account).await {
        Ok(permission) if permission.may_write() => {
            Finding::fine(format!("{name}: may write to {full_name}"))
        }
        Ok(_) => Finding::wrong(
            format!("{name}: {} may not write to {full_name}", account.login),
            "give the account write permission there (on GitLab the role Developer)",
        ),
        Err(error) => Finding::advice(
            format!(
                "{name}: the rights of {} on {full_name} cannot be asked: {error}",
                account.login
            ),
            "give the account the right to see its own permission, or check it on the forge",
        ),
    }
}

fn remedy(error: &forge::Error) -> &'static str {
    use forge::Error as E;
    match error {
        E::Unauthenticated { .. } => "make a new token and set it",
        E::Forbidden { .. } => "give the token the rights to read and comment",
        E::Limited { .. } | E::Paced { .. } => {
            "wait; if it happens often, use an account of its own"
        }
        E::Gone { .. } | E::Refused { .. } | E::Garbled { .. } => {
            "check the address: is it the API's?"
        }
        E::Unreachable { .. } | E::Lost { .. } => {
            "check the address, the proxy, the certificates and the network"
        }
        E::Conflict { .. } | E::TooLong => "try again",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Environment;
    use crate::settings::Flags;

    #[test]
    fn a_short_secret_is_wrong_and_is_not_shown() {
        let finding = strength("admin token", &SecretString::from("short-canary"));
        let text = finding.print();
        assert!(text.starts_with("FAIL  admin token: shorter than 16"), "{text}");
        assert!(!text.contains("canary"), "{text}");
    }

    #[test]
    fn a_clock_in_the_past_is_wrong() {
        assert!(matches!(clock(Time(0)).verdict, Verdict::Wrong { .. }));
        assert_eq!(clock(BEFORE_THIS_VERSION).verdict, Verdict::Fine);
    }

    #[test]
    fn a_data_folder_is_made_and_tried() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("new/data");
        assert!(!matches!(data_folder(&data).verdict, Verdict::Wrong { .. }) || data.exists());
        assert!(data.is_dir());
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(matches!(data_folder(&file.join("below")).verdict, Verdict::Wrong { .. }));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_fresh_installation_is_told_what_to_do_first() {
        let folder = tempfile::tempdir().unwrap();
        let mut flags = Flags::default();
        flags.set("--data", Some(folder.path().display()));
        let environment = Environment::of([("PLATFORM", "gitlab"), ("ADMIN_TOKEN", "short")]);
        let settings = Settings::load(&flags, &environment).unwrap();
        let mut out = Vec::new();
        let exit = run(&settings, &Arc::new(Redactor::default()), &mut out).await.unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(exit, Exit::Failure, "{text}");
        for words in [
            "FAIL  configuration: the gateway refuses to start without a webhook secret",
            "FAIL  configuration: the connection `gitlab` has no token",
            "      do: set GITLAB_TOKEN",
            "FAIL  admin token: shorter than 16 characters",
            "note  marker key: a random one is kept",
            "ok    store: SQLite in",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
    }
}
