//! What passed between the product and the forge in all stories before: told last.

use anyhow::{Result, ensure};
use secrecy::ExposeSecret as _;

use crate::e2e::description::Description;
use crate::e2e::relay::Exchange;
use crate::e2e::scene::Scene;

/// Fewer requests than this would mean that nothing was taken down.
const FEWEST: usize = 20;

pub(super) async fn described(scene: &Scene) -> Result<()> {
    let description = Description::read(&scene.stranger.sees_description().await?)?;
    let asked: Vec<Exchange> = scene
        .front
        .passed()
        .into_iter()
        .filter(|exchange| is_by_product(scene, exchange))
        .collect();
    ensure!(asked.len() >= FEWEST, "only {} requests of the product were seen", asked.len());
    let mut complaints: Vec<String> =
        asked.iter().filter_map(|exchange| description.complaint(exchange)).collect();
    complaints.sort();
    complaints.dedup();
    ensure!(complaints.is_empty(), "{}", complaints.join("; "));
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
fn is_by_product(scene: &Scene, exchange: &Exchange) -> bool {
    let holds = |header: &str, text: &str| {
        let value = exchange.headers.get(header).and_then(|value| value.to_str().ok());
        value.is_some_and(|value| value.contains(text))
    };
    holds("user-agent", "patchwright/")
        && holds("authorization", scene.bot.token.expose_secret())
        && exchange.uri.path().starts_with("/api/v1/")
}
