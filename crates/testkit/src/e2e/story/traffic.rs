//! What passed between the product and the forge in all stories before: told last.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use secrecy::ExposeSecret as _;

use crate::description::Description;
use crate::e2e::scene::Scene;
use crate::forge::Asked;

/// Fewer requests than this would mean that nothing was taken down.
const FEWEST: usize = 20;

pub(super) async fn described(scene: &Scene) -> Result<()> {
    let description = Description::of_gitea(&scene.stranger.sees_description().await?);
    let passed = scene.front.passed();
    let asked: Vec<&Asked> = passed
        .iter()
        .map(|exchange| &exchange.asked)
        .filter(|asked| is_by_product(scene, asked))
        .collect();
    ensure!(asked.len() >= FEWEST, "only {} requests of the product were seen", asked.len());
    let mut complaints = BTreeSet::new();
    for asked in asked {
        for complaint in description.complaints_of(asked) {
            complaints.insert(format!("{} {}: {complaint}", asked.method, asked.uri.path()));
        }
    }
    ensure!(complaints.is_empty(), "{}", complaints.into_iter().collect::<Vec<_>>().join("; "));
    Ok(())
}

pub(super) async fn untroubled(scene: &Scene) -> Result<()> {
    scene.product.rests().await?;
    let troubles = scene.product.troubles().await?;
    ensure!(troubles.is_empty(), "{}", troubles.join("; "));
    Ok(())
}

/// Tells requests of the product, here and in its own process, from those that a story sent with
/// the bot's token itself.
fn is_by_product(scene: &Scene, asked: &Asked) -> bool {
    let holds = |name: &str, text: &str| asked.header(name).is_some_and(|it| it.contains(text));
    holds("user-agent", "patchwright/")
        && holds("authorization", scene.bot.token.expose_secret())
        && asked.uri.path().starts_with("/api/v1/")
}
