//! The table of environment variables: each one typed, documented and named once (H6).
//!
//! The reference in `docs/configure.md` is generated from it. A new variable is a new row here.

use super::{Confidence, Plain, Secret, Use, Variable};

/// Declares variables as constants and lists them in [`ALL`], in the order of the table.
macro_rules! variables {
    ($($(#[doc = $about:literal])+ $constant:ident: $kind:ident, $used:ident = $($name:literal)|+;)+) => {
        $(
            $(#[doc = $about])+
            pub const $constant: $kind = $kind(Variable {
                names: &[$($name),+],
                about: &[$($about),+],
                confidence: variables!(@confidence $kind),
                used: Use::$used,
            });
        )+

        /// Every variable that the program knows.
        pub const ALL: &[Variable] = &[$($constant.0),+];
    };
    (@confidence Plain) => { Confidence::Public };
    (@confidence Secret) => { Confidence::Secret };
}

variables! {
    /// File to read the configuration from, instead of the usual places.
    PATCHWRIGHT_CONFIG: Plain, Now = "PATCHWRIGHT_CONFIG";
    /// Serves only this forge: `github`, `gitlab`, `gitcode` or `gitea`.
    /// Unset: every forge that has a token.
    PLATFORM: Plain, Now = "PLATFORM";

    /// Secret that signs deliveries, for every connection that has none of its own.
    WEBHOOK_SECRET: Secret, Now = "WEBHOOK_SECRET";
    /// `true` takes unsigned deliveries. For trying things out: `serve` then only binds loopback.
    TEST_MODE: Plain, Now = "TEST_MODE";
    /// Token that opens the admin API and the metrics. Without it they are closed.
    ADMIN_TOKEN: Secret, Now = "ADMIN_TOKEN";
    /// Key that authenticates the hidden markers in the bot's comments.
    /// Needed where deployments share changes, or where a lost disk must not make the bot forget.
    MARKER_KEY: Secret, Now = "MARKER_KEY";
    /// PostgreSQL to keep jobs in, as `postgres://user:password@host/database`.
    /// Unset: SQLite in the data folder.
    DATABASE_URL: Secret, Now = "DATABASE_URL";

    /// Folders in which git and what it calls are looked for.
    PATH: Plain, Now = "PATH";

    /// Token of the account to act as on GitHub.
    GITHUB_TOKEN: Secret, Now = "GITHUB_TOKEN";
    /// Address of GitHub's API, for GitHub Enterprise Server `https://HOST/api/v3`.
    GITHUB_API_URL: Plain, Now = "GITHUB_API_URL";
    /// Id of the GitHub App to act as.
    GITHUB_APP_ID: Plain, Later = "GITHUB_APP_ID";
    /// Private key of the GitHub App, in PEM.
    GITHUB_APP_PRIVATE_KEY: Secret, Later = "GITHUB_APP_PRIVATE_KEY";
    /// File with the private key of the GitHub App.
    GITHUB_APP_PRIVATE_KEY_PATH: Plain, Later = "GITHUB_APP_PRIVATE_KEY_PATH";
    /// Token of the account to act as on GitLab.
    GITLAB_TOKEN: Secret, Now = "GITLAB_TOKEN";
    /// Address of the GitLab server.
    GITLAB_URL: Plain, Now = "GITLAB_URL";
    /// Token of the account to act as on GitCode.
    GITCODE_TOKEN: Secret, Now = "GITCODE_TOKEN" | "GITCODE_PAT";
    /// Address of GitCode's API.
    GITCODE_API_URL: Plain, Now = "GITCODE_API_URL";
    /// Token of the account to act as on Gitea or Forgejo.
    GITEA_TOKEN: Secret, Now = "GITEA_TOKEN";
    /// Address of the Gitea or Forgejo server.
    GITEA_URL: Plain, Now = "GITEA_URL";

    /// Account whose mention and assignment count.
    BOT_USERNAME: Plain, Now = "BOT_USERNAME" | "GITCODE_BOT_USERNAME" | "COPILOT_AGENT_USERNAME";
    /// Language that the bot writes in: `en`, `zh`, `ja`, `ko`, `hi` or `th`.
    COPILOT_LANGUAGE: Plain, Now = "COPILOT_LANGUAGE";
    /// Logins that may cause jobs, separated by commas. Unset: everyone.
    ALLOWED_USERS: Plain, Now = "ALLOWED_USERS";
    /// Full names of repositories that may cause jobs, separated by commas. Unset: all.
    ALLOWED_REPOS: Plain, Now = "ALLOWED_REPOS";

    /// How much is logged: `error`, `warn`, `info`, `debug` or `trace`.
    LOG_LEVEL: Plain, Now = "LOG_LEVEL";
    /// Proxy for calls to APIs at `http` addresses.
    HTTP_PROXY: Secret, Now = "HTTP_PROXY" | "http_proxy";
    /// Proxy for calls to APIs at `https` addresses.
    HTTPS_PROXY: Secret, Now = "HTTPS_PROXY" | "https_proxy";
    /// Hosts that are called without a proxy, separated by commas.
    NO_PROXY: Plain, Now = "NO_PROXY" | "no_proxy";

    /// File with the event of a GitHub Actions run, for `patchwright run`.
    GITHUB_EVENT_PATH: Plain, Now = "GITHUB_EVENT_PATH";
    /// Name of the event of a GitHub Actions run, for `patchwright run`.
    GITHUB_EVENT_NAME: Plain, Now = "GITHUB_EVENT_NAME";

    /// The user's home folder, where the two folders below are not set.
    HOME: Plain, Now = "HOME";
    /// The user's configuration folder.
    XDG_CONFIG_HOME: Plain, Now = "XDG_CONFIG_HOME";
    /// The user's data folder.
    XDG_DATA_HOME: Plain, Now = "XDG_DATA_HOME";
    /// Set to anything: no colours.
    NO_COLOR: Plain, Now = "NO_COLOR";

    /// Address of the model's API.
    LLM_BASE_URL: Plain, Later = "LLM_BASE_URL";
    /// Key of the model's API. No model is asked yet; `run` derives the key of its markers from it
    /// where `MARKER_KEY` is not set.
    LLM_API_KEY: Secret, Now = "LLM_API_KEY";
    /// The heavy model, and the light one unless `LLM_LIGHT_MODEL` is set.
    LLM_MODEL: Plain, Later = "LLM_MODEL";
    /// The light model.
    LLM_LIGHT_MODEL: Plain, Later = "LLM_LIGHT_MODEL";
    /// Which API the model speaks: `openai` or `anthropic`.
    LLM_API: Plain, Later = "LLM_API";
    /// Whether project understanding is kept and used.
    ENABLE_PROJECT_UNDERSTANDING: Plain, Later = "ENABLE_PROJECT_UNDERSTANDING";
    /// Whether work on an issue is planned as several subtasks.
    USE_ORCHESTRATED_ISSUE: Plain, Later = "USE_ORCHESTRATED_ISSUE";
    /// Whether work asked for in a comment is planned as several subtasks.
    USE_ORCHESTRATED_MR_NOTE: Plain, Later = "USE_ORCHESTRATED_MR_NOTE";
    /// Token that triggers pipelines, for dispatch to GitLab CI.
    PIPELINE_TRIGGER_TOKEN: Secret, Later = "PIPELINE_TRIGGER_TOKEN";
    /// Project whose pipelines are triggered, for dispatch to GitLab CI.
    PIPELINE_PROJECT_ID: Plain, Later = "PIPELINE_PROJECT_ID";
    /// Where project understanding is archived on Azure Blob Storage.
    AZURE_STORAGE_CONNECTION_STRING: Secret, Later = "AZURE_STORAGE_CONNECTION_STRING";
}
