//! Changes of ours, their state, and who may do what.

use anyhow::{Result, ensure};
use domain::publication::{Effect, NewChange, Status, Verdict};
use domain::{AccountId, Actor, Receipt, Subject};
use forge::{Permission, Read as _, Write as _};

use crate::e2e::adapter::{adapter_of, publication, text};
use crate::e2e::scene::Scene;

pub(super) async fn drafted_and_made_ready(scene: &Scene) -> Result<()> {
    let issue = scene.writer.opens_issue("Please mend it", "It is broken.").await?;
    let head = scene.pushes_branch("mended")?;
    let asked = Subject::issue(scene.repo.clone(), issue);
    let change = NewChange {
        title: "Mend it".to_owned(),
        body: text("the-change"),
        head_branch: "mended".to_owned(),
        base_branch: "main".to_owned(),
    };
    let wish = publication(&asked, "change", Effect::Change(change))?;
    let receipt = scene.adapter.send(&wish, None).await?;
    let Receipt::Change { number, head: tip, .. } = receipt else {
        anyhow::bail!("no change was opened: {receipt:?}");
    };
    ensure!(tip.as_deref() == Some(head.as_str()), "its head is {tip:?} and not {head}");
    let seen = scene.stranger.sees_change(number).await?;
    ensure!(seen.draft && seen.head.sha == head, "a person sees {seen:?}");
    let again = scene.adapter.send(&wish, None).await?;
    ensure!(matches!(again, Receipt::Change { number: same, .. } if same == number), "{again:?}");

    let subject = Subject::change(scene.repo.clone(), number);
    scene.adapter.send(&publication(&subject, "ready", Effect::Ready)?, None).await?;
    let seen = scene.stranger.sees_change(number).await?;
    ensure!(!seen.draft && seen.title == "Mend it", "a person sees {seen:?}");
    let read = scene.adapter.change(&subject).await?;
    ensure!(!read.draft && read.head == head && read.title == "Mend it", "we read {read:?}");
    Ok(())
}

pub(super) async fn state_of_a_commit(scene: &Scene) -> Result<()> {
    let (subject, head) = scene.opens_change("judged").await?;
    for (verdict, shown) in [
        (Verdict::Pending, "pending"),
        (Verdict::Success, "success"),
        (Verdict::Neutral, "warning"),
        (Verdict::Failure, "failure"),
    ] {
        let status = Status {
            commit: head.clone(),
            context: "patchwright".to_owned(),
            verdict,
            title: "A look at it".to_owned(),
            summary: String::new(),
            url: None,
            annotations: Vec::new(),
            closing: None,
        };
        let wish = publication(&subject, "state", Effect::Status(status))?;
        scene.adapter.send(&wish, None).await?;
        let states = scene.stranger.sees_statuses(&head).await?;
        let expected = ("patchwright".to_owned(), shown.to_owned());
        ensure!(states == [expected], "after {verdict:?} a person sees {states:?}");
    }
    Ok(())
}

pub(super) async fn permissions(scene: &Scene) -> Result<()> {
    // Who may administer the repository is told by the server; who may only write there is not.
    for asking in [&scene.bot, &scene.maintainer] {
        let adapter = adapter_of(&scene.site, asking)?;
        for (person, may_write) in
            [(&scene.maintainer, true), (&scene.writer, true), (&scene.stranger, false)]
        {
            let permission = adapter
                .permission(&scene.repo, &person.sees_themselves().await?.into_actor())
                .await?;
            ensure!(
                permission.may_write() == may_write,
                "asked by {}, {} has {permission:?}",
                asking.login,
                person.login
            );
        }
        // The name is the writer's, the account is not.
        let impostor = Actor {
            id: Some(AccountId(999_999)),
            ..scene.writer.sees_themselves().await?.into_actor()
        };
        let permission = adapter.permission(&scene.repo, &impostor).await?;
        ensure!(permission == Permission::None, "an impostor has {permission:?}");
    }
    Ok(())
}
