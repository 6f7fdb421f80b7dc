//! Commands in conversations: asked over the forge, delivered by it, answered where they stand.

use anyhow::{Context, Result, ensure};
use http::StatusCode;
use secrecy::SecretString;
use serde_json::Value;

use crate::e2e::patience::until;
use crate::e2e::person::client;
use crate::e2e::relay::Exchange;
use crate::e2e::scene::{FILE, Scene};

pub(super) async fn help(scene: &Scene) -> Result<()> {
    let issue = scene.stranger.opens_issue("It crashes", "On start.").await?;
    let question = scene.stranger.writes(issue, &format!("@{} help", scene.bot.login)).await?;
    let answers = scene.answers(issue, 1).await?;
    let answer = answers.first().context("there is an answer")?;
    ensure!(answer.body.contains("status"), "the help names no command: {}", answer.body);

    let delivery = scene.delivery_of("created", question.id).await?;
    ensure!(delivery.status == StatusCode::ACCEPTED, "it was answered with {}", delivery.status);
    let signature = delivery.asked.headers.get("x-gitea-signature");
    ensure!(signature.is_some_and(|value| !value.is_empty()), "the forge did not sign it");

    // The answer is a comment too, and the forge delivers it.
    let echo = scene.delivery_of("created", answer.id).await?;
    ensure!(is_ignored(&echo), "our own comment was taken: {}", said(&echo));
    scene.product.rests().await?;
    ensure!(scene.answers_now(issue).await?.len() == 1, "it was answered more than once");
    let reactions = scene.stranger.sees_reactions(question.id).await?;
    let seen = (scene.bot.login.clone(), "eyes".to_owned());
    ensure!(reactions == [seen], "the question carries {reactions:?}");
    Ok(())
}

pub(super) async fn status(scene: &Scene) -> Result<()> {
    scene.checkout.branch("asked-about", "main")?;
    scene.checkout.commit("one file more", &[("more.txt", Some("more\n"))])?;
    scene.checkout.push("asked-about")?;
    let change = scene.maintainer.opens_change("One file more", "asked-about").await?.number;
    scene.writer.writes(change, &format!("@{} status", scene.bot.login)).await?;
    let answers = scene.answers(change, 1).await?;
    scene.product.rests().await?;
    ensure!(scene.answers_now(change).await?.len() == 1, "it was answered more than once");
    ensure!(answers.iter().all(|answer| answer.path.is_empty()), "it stands on a line");
    Ok(())
}

pub(super) async fn edited(scene: &Scene) -> Result<()> {
    let issue = scene.writer.opens_issue("A thought", "Later.").await?;
    let comment = scene.writer.writes(issue, "nothing for anybody").await?;
    let first = scene.delivery_of("created", comment.id).await?;
    ensure!(is_ignored(&first), "a comment that asks nothing was taken: {}", said(&first));
    scene.writer.edits(comment.id, &format!("@{} help", scene.bot.login)).await?;
    scene.answers(issue, 1).await?;
    scene.product.rests().await?;
    ensure!(scene.answers_now(issue).await?.len() == 1, "it was answered more than once");
    Ok(())
}

pub(super) async fn delivered_again(scene: &Scene) -> Result<()> {
    let issue = scene.writer.opens_issue("Twice", &format!("See {FILE}.")).await?;
    let comment = scene.writer.writes(issue, &format!("@{} help", scene.bot.login)).await?;
    scene.answers(issue, 1).await?;
    let delivery = scene.delivery_of("created", comment.id).await?;
    // As it was, and as the forge's own button does it: with another name.
    let other = uuid::Uuid::new_v4().to_string();
    for name in [None, Some(other.as_str())] {
        let status = deliver(scene, &delivery, name).await?;
        ensure!(status.is_success(), "it was answered with {status}");
    }
    scene.product.rests().await?;
    ensure!(scene.answers_now(issue).await?.len() == 1, "it was answered more than once");
    Ok(())
}

pub(super) async fn wrong_secret(scene: &Scene) -> Result<()> {
    let address = format!("http://{}/api/webhook?from=elsewhere", scene.door.address());
    let hook = scene.maintainer.hooks(&address, &SecretString::from("another secret")).await?;
    let issue = scene.writer.opens_issue("Whose?", "Somebody's.").await?;
    let refused = until("the delivery with another secret", async || {
        let passed = scene.door.passed();
        Ok(passed.into_iter().find(|exchange| exchange.asked.uri.query() == Some("from=elsewhere")))
    })
    .await?;
    scene.maintainer.removes_hook(hook).await?;
    ensure!(
        refused.status == StatusCode::UNAUTHORIZED,
        "it was answered with {}: {}",
        refused.status,
        said(&refused)
    );
    scene.product.rests().await?;
    ensure!(scene.answers_now(issue).await?.is_empty(), "it was answered");
    Ok(())
}

/// Delivers something again, under its own name or another one.
async fn deliver(scene: &Scene, delivery: &Exchange, name: Option<&str>) -> Result<StatusCode> {
    let mut headers = delivery.asked.headers.clone();
    for header in ["x-gitea-delivery", "x-gogs-delivery", "x-github-delivery"] {
        if let Some(name) = name {
            headers.insert(header, name.parse()?);
        }
    }
    for header in ["host", "content-length"] {
        headers.remove(header);
    }
    let address = format!("http://{}{}", scene.door.address(), delivery.asked.uri);
    let request = client()?.post(address).headers(headers).body(delivery.asked.body.clone());
    Ok(request.send().await?.status())
}

fn is_ignored(exchange: &Exchange) -> bool {
    let answer: Value = serde_json::from_slice(&exchange.answer).unwrap_or_default();
    exchange.status == StatusCode::OK && answer["status"] == "ignored"
}

fn said(exchange: &Exchange) -> String {
    String::from_utf8_lossy(&exchange.answer).into_owned()
}
