//! Every section of `patchwright.toml`. The doc comments are what operators read.
//!
//! A new setting is a new field here: its key, default, variable and flag stand next to its
//! meaning, and the example file, the reference and `config show` follow.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use domain::AccountId;
use domain::policy::{Respond, Toggle};
use forge::Host;
use forge::http::Pacing;
use report::words::Language;
use url::Url;

use super::field::Fallback::{Is, Unset};
use super::field::{Section, section};
use super::value::{Format, Level, Secret};
use crate::env::variable;

/// Every section, in the order of the example file.
pub const ALL: &[Section] = &[
    Server::SECTION,
    Store::SECTION,
    Connection::SECTION,
    Network::SECTION,
    Bot::SECTION,
    Policy::SECTION,
    Worker::SECTION,
    Git::SECTION,
    Publish::SECTION,
    Jobs::SECTION,
    Budget::SECTION,
    Log::SECTION,
];

section! {
    /// The gateway: where it listens and whom it believes.
    Once "server" as Server {
        /// Address that `serve` listens on.
        listen: SocketAddr = "listen", Is("127.0.0.1:8080"), flag "--listen";
        /// Secret that signs deliveries, for every connection that has none of its own.
        webhook_secret: Secret = "webhook-secret", Unset { example: "" }, env variable::WEBHOOK_SECRET;
        /// Takes unsigned deliveries. For trying things out: `serve` then only binds loopback.
        test_mode: bool = "test-mode", Is("false"), env variable::TEST_MODE;
        /// Token that opens the admin API and the metrics. Without it they are closed.
        admin_token: Secret = "admin-token", Unset { example: "" }, env variable::ADMIN_TOKEN;
        /// Names, besides the address itself, under which the admin API may be called.
        hosts: Vec<String> = "hosts", Is("");
        /// How long running work may take to end when the program is asked to stop.
        drain: Duration = "drain", Is("20s");
    }
}

section! {
    /// What must survive: jobs, receipts and records.
    Once "store" as Store {
        /// Folder for everything that the program keeps. Unset: the user's data folder, or
        /// `/var/lib/patchwright` where there is no user's.
        data: Option<PathBuf> = "data", Unset { example: "/var/lib/patchwright" }, flag "--data";
        /// PostgreSQL to keep jobs in, `postgres://user:password@host/database`.
        /// Unset: SQLite in the data folder.
        database_url: Secret = "database-url", Unset { example: "" }, env variable::DATABASE_URL;
        /// Key that authenticates the hidden markers in the bot's comments.
        /// Unset: a random one, kept in the store and lost with it.
        marker_key: Secret = "marker-key", Unset { example: "" }, env variable::MARKER_KEY;
    }
}

section! {
    /// One forge to serve. Repeat the section for each.
    /// Forges can also be given by the environment alone: a token variable is enough.
    Often "connection" as Connection {
        /// What messages call it. Unset: the name of the forge.
        name: Option<String> = "name", Unset { example: "work" };
        /// Which kind of forge it is. Forgejo counts as `gitea`.
        forge: Option<Host> = "forge", Unset { example: "github" };
        /// Address of its API (GitHub, GitCode) or of the server (GitLab, Gitea).
        /// Unset: the public one, where there is one.
        url: Option<Url> = "url", Unset { example: "https://github.example.org/api/v3" };
        /// Token of the account to act as.
        token: Secret = "token", Unset { example: "" };
        /// Secret that signs its deliveries. Unset: the one of `[server]`.
        webhook_secret: Secret = "webhook-secret", Unset { example: "" };
        /// Numeric ids of accounts that the bot used before: their comments stay its own.
        former_accounts: Vec<AccountId> = "former-accounts", Is("");
        /// Whether writes are spaced out: `auto` does so on public hosts and on hosts that send
        /// limits.
        pacing: Pacing = "pacing", Is("auto");
        /// File with certificates (PEM) to believe besides the system's.
        ca_bundle: Option<PathBuf> = "ca-bundle", Unset { example: "/etc/ssl/company.pem" };
        /// Proxy for this forge only. Unset: the one of `[network]`.
        proxy: Secret = "proxy", Unset { example: "" };
    }
}

section! {
    /// How forges are reached.
    Once "network" as Network {
        /// Proxy for addresses that begin with `http:`.
        http_proxy: Secret = "http-proxy", Unset { example: "" }, env variable::HTTP_PROXY;
        /// Proxy for addresses that begin with `https:`.
        https_proxy: Secret = "https-proxy", Unset { example: "" }, env variable::HTTPS_PROXY;
        /// Hosts that are reached without a proxy.
        no_proxy: Vec<String> = "no-proxy", Is(""), env variable::NO_PROXY;
    }
}

section! {
    /// Who the bot is.
    Once "bot" as Bot {
        /// Account whose mention and assignment count.
        name: String = "name", Is("patchwright"), env variable::BOT_USERNAME;
        /// Other names that count as a mention.
        aliases: Vec<String> = "aliases", Is("");
        /// Language that the bot writes in: `en`, `zh`, `ja`, `ko`, `hi` or `th`.
        /// A reply is in the language of the comment that it answers.
        language: Language = "language", Is("en"), env variable::COPILOT_LANGUAGE;
    }
}

section! {
    /// What is acted on.
    Once "policy" as Policy {
        /// Logins that may cause jobs. Empty: everyone.
        allowed_users: Vec<String> = "allowed-users", Is(""), env variable::ALLOWED_USERS;
        /// Full names of repositories that may cause jobs. Empty: all.
        allowed_repos: Vec<String> = "allowed-repos", Is(""), env variable::ALLOWED_REPOS;
        /// Whether a change opened as a draft is reviewed without being asked.
        review_drafts: Toggle = "review-drafts", Is("false");
        /// Whether changes by other bots are reviewed. Their comments never command.
        review_bots: Toggle = "review-bots", Is("true");
        /// A new issue that contains this phrase is taken as a request to fix it.
        trigger_phrase: Option<String> = "trigger-phrase", Unset { example: "please fix this" };
        /// Whether a push to a branch with a linked issue is looked at.
        detect_on_push: Toggle = "detect-on-push", Is("true");
        /// Which comments are answered outside the bot's own threads: `mentioned` or `all`.
        respond: Respond = "respond", Is("mentioned");
    }
}

section! {
    /// How work is done.
    Once "worker" as Worker {
        /// Jobs that run at the same time in one process.
        concurrency: NonZeroU32 = "concurrency", Is("4");
        /// Jobs of one repository that run at the same time, over all processes.
        per_repository: NonZeroU32 = "per-repository", Is("2");
    }
}

section! {
    /// The copies of repositories that work on code needs.
    Once "git" as Git {
        /// The program git, 2.39 or newer: its name, or its whole path.
        program: String = "program", Is("git");
        /// Folders in which git and what it calls are looked for.
        search_path: String = "search-path", Is("/usr/local/bin:/usr/bin:/bin"), env variable::PATH;
        /// MiB that all copies together may take; those that were not used for longest go first.
        disk_budget: NonZeroU32 = "disk-budget", Is("20480");
        /// MiB of the disk that stay free for the store: work that needs more waits.
        disk_reserve: u32 = "disk-reserve", Is("1024");
    }
}

section! {
    /// How comments are sent.
    Once "publish" as Publish {
        /// How long a comment whose sending got no answer is looked for before it is sent again.
        look_for: Duration = "look-for", Is("60s");
    }
}

section! {
    /// How long jobs are tried and kept.
    Once "jobs" as Jobs {
        /// Attempts before a job is given up. Waiting for a forge that is away uses none.
        attempts: NonZeroU32 = "attempts", Is("5");
        /// How long a job waits for a forge that is away before it is given up.
        give_up_after: Duration = "give-up-after", Is("24h");
        /// How many days finished jobs and their records are kept.
        retention_days: NonZeroU32 = "retention-days", Is("90");
    }
}

section! {
    /// What a day of work may cost. 0 means no limit.
    Once "budget" as Budget {
        /// Jobs that one repository may start in a day.
        repository: u32 = "repository", Is("2000");
        /// Jobs that one author without write permission may cause in a day, on one repository.
        stranger: u32 = "stranger", Is("100");
    }
}

section! {
    /// What is logged, to the standard error output.
    Once "log" as Log {
        /// How much: `error`, `warn`, `info`, `debug` or `trace`.
        level: Level = "level", Is("info"), env variable::LOG_LEVEL, flag "--log-level";
        /// `auto` is coloured text on a terminal and plain text elsewhere; or `text`, or `json`.
        format: Format = "format", Is("auto");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::Environment;
    use crate::settings::reader::{Flags, Reader};

    #[test]
    fn every_default_is_a_right_value() {
        let (environment, flags) = (Environment::default(), Flags::default());
        let mut reader = Reader::new(None, &environment, &flags);
        Server::read(&mut reader.section(&Server::SECTION));
        Store::read(&mut reader.section(&Store::SECTION));
        Connection::read(&mut reader.section(&Connection::SECTION));
        Network::read(&mut reader.section(&Network::SECTION));
        Bot::read(&mut reader.section(&Bot::SECTION));
        Policy::read(&mut reader.section(&Policy::SECTION));
        Worker::read(&mut reader.section(&Worker::SECTION));
        Git::read(&mut reader.section(&Git::SECTION));
        Publish::read(&mut reader.section(&Publish::SECTION));
        Jobs::read(&mut reader.section(&Jobs::SECTION));
        Budget::read(&mut reader.section(&Budget::SECTION));
        Log::read(&mut reader.section(&Log::SECTION));
        assert_eq!(reader.problems, []);
    }

    #[test]
    fn budgets_are_those_of_the_domain() {
        let (environment, flags) = (Environment::default(), Flags::default());
        let mut reader = Reader::new(None, &environment, &flags);
        let budget = Budget::read(&mut reader.section(&Budget::SECTION));
        let domain = domain::budget::Budget::default();
        assert_eq!((*budget.repository, *budget.stranger), (domain.repository, domain.stranger));
    }

    #[test]
    fn a_variable_and_a_flag_set_one_setting_only() {
        let fields = || ALL.iter().flat_map(|section| section.fields);
        for field in fields() {
            let same_variable = |other: &&&_| {
                field.variable.is_some() && {
                    let other: &crate::settings::field::Field = other;
                    other.variable == field.variable
                }
            };
            assert!(
                fields().collect::<Vec<_>>().iter().filter(same_variable).count() <= 1,
                "{}",
                field.key
            );
            let same_flag =
                fields().filter(|other| field.flag.is_some() && other.flag == field.flag);
            assert!(same_flag.count() <= 1, "{}", field.key);
        }
    }
}
