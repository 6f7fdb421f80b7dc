//! The gateway as forges and operators meet it: over HTTP, against the running server.
//!
//! The world has a connection to every kind of forge, each with a secret of its own, and GitLab
//! twice: with a token in clear and with a signing token. Nobody works, so that what was taken
//! stays to be counted.

mod admin;
mod delivery;
mod failure;
mod limit;
mod signature;
mod table;
mod text;

use domain::{Origin, Policy};
use engine::Door;
use forge::Host;
use secrecy::SecretString;
use testkit::World;
use testkit::signature::signing_token;
use testkit::world::Options;

pub(crate) const GITHUB: &str = "the secret of GitHub's hook";
pub(crate) const GITLAB: &str = "the token of GitLab's hook";
pub(crate) const GITLAB_KEY: &[u8] = b"the key of GitLab's hook that signs";
pub(crate) const GITCODE: &str = "the secret of GitCode's hook";
pub(crate) const GITEA: &str = "the secret of Gitea's hook";

/// People call the bot by two names; the second one is that of the published examples.
fn policy() -> Policy {
    let bot_names = vec!["bot".to_owned(), "app-name".to_owned()];
    Policy { bot_names, ..Policy::for_bot("bot") }
}

/// Starts a gateway for all forges, under a policy.
async fn gateway(policy: Policy) -> World {
    let door = |host, origin, secret: &str| {
        Door::new(host, Origin::new(origin), vec![SecretString::from(secret)], policy.clone())
    };
    let doors = vec![
        door(Host::GitHub, "https://github.example", GITHUB),
        door(Host::GitLab, "https://gitlab.example", GITLAB),
        door(Host::GitLab, "https://signing.gitlab.example", &signing_token(GITLAB_KEY)),
        door(Host::GitCode, "https://gitcode.example", GITCODE),
        door(Host::Gitea, "https://gitea.example", GITEA),
    ];
    let mut world = World::with(Options { doors, policy, ..Options::default() }).await;
    world.stop_workers().await;
    world
}
