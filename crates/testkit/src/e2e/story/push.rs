//! Commits on their way to a branch: who asked for them is asked again just before they leave (E8).
//!
//! No command makes commits in this version. So the story lays one into the product's store, as a
//! job would, and the running product takes it from there.

use anyhow::{Context, Result, ensure};
use domain::publication::{Effect, Push, Target};
use domain::{Job, Publication, Receipt};
use store::Store;
use store::db::Value;
use store::lane::{self, LaneOf};

use crate::e2e::adapter::publication;
use crate::e2e::patience::until;
use crate::e2e::person::Person;
use crate::e2e::scene::{FILE, Scene};

/// The name of the artifact in which the commit travels.
const BUNDLE: &str = "commits.bundle";

pub(super) async fn judged_by_who_asked(scene: &Scene) -> Result<()> {
    let (subject, head) = scene.opens_change("pushed-to").await?;
    scene.writer.writes(subject.number, &format!("@{} status", scene.bot.login)).await?;
    scene.answers(subject.number, 1).await?;
    scene.product.rests().await?;
    let commit = scene.checkout.commit("one line alone", &[(FILE, Some("one line\n"))])?;
    let bundle = scene.checkout.bundle("pushed-to", &head)?;
    let store = scene.product.store().await?;
    let job = store.jobs_of(&subject, 1).await?.into_iter().next().context("there was a job")?;

    let push = async |who: &Person| -> Result<Receipt> {
        let push = Push {
            target: Target::HeadOfChange {
                source: scene.repo.clone(),
                branch: "pushed-to".to_owned(),
                expected: head.clone(),
            },
            commit: commit.clone(),
            bundle: BUNDLE.to_owned(),
            requester: who.sees_themselves().await?.into_actor(),
            paths: Vec::new(),
        };
        let wish =
            publication(&job.task.subject, &format!("push-{}", who.login), Effect::Push(push))?;
        lay(&store, &job, &wish, bundle.clone()).await?;
        until("the product's word on a push", async || {
            Ok(store.receipt(&wish.subject, &wish.slot).await?)
        })
        .await
    };

    let receipt = push(&scene.stranger).await?;
    let refused = matches!(&receipt, Receipt::Refused { why } if why.contains("may not write"));
    ensure!(refused, "the stranger's push ended with {receipt:?}");
    let tip = scene.writer.sees_change(subject.number).await?.head.sha;
    ensure!(tip == head, "the branch moved to {tip} all the same");

    let receipt = push(&scene.writer).await?;
    ensure!(
        receipt == Receipt::Commit { id: commit.clone() },
        "the writer's ended with {receipt:?}"
    );
    until("the change to show the commit", async || {
        let tip = scene.stranger.sees_change(subject.number).await?.head.sha;
        Ok((tip == commit).then_some(()))
    })
    .await
}

/// Puts a publication and its bundle into the store, as the end of a stage would.
async fn lay(store: &Store, job: &Job, wish: &Publication, bundle: Vec<u8>) -> Result<()> {
    let (job, wish) = (job.clone(), wish.clone());
    store
        .write(move |db| {
            let now = db.now()?;
            db.execute(
                "INSERT INTO artifacts (job_id, name, media_type, body, at) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (job_id, name) DO UPDATE SET body = excluded.body",
                &[
                    Value::from(&job.id.0),
                    Value::from(BUNDLE),
                    Value::from("application/x-git-bundle"),
                    Value::from(bundle.clone()),
                    Value::from(now),
                ],
            )?;
            let connection = job.task.subject.repo.origin.to_string();
            let of = LaneOf { lane: &job.lane.0, connection: &connection, job_id: &job.id.0 };
            lane::publish(db, &of, std::slice::from_ref(&wish), now)
        })
        .await?;
    Ok(())
}
