//! Comments on lines: sent by the adapter, read back as a person sees them.

use anyhow::{Context, Result, ensure};
use domain::publication::{Effect, Reply, Settling};
use domain::{Publication, Subject};
use forge::{Error, Look, Read as _, Write as _};

use crate::e2e::adapter::{added, comment_of, inline, publication, removed, text, unchanged};
use crate::e2e::person::{Comment, Person};
use crate::e2e::scene::{FILE, Scene};

pub(super) async fn on_each_side(scene: &Scene) -> Result<()> {
    let (subject, head) = scene.opens_change("sides").await?;
    let on = |lines, name| inline(&subject, &head, lines, name);

    let (comment, _) = sent(scene, &on((None, added(10)), "an-added-line")?).await?;
    stands(&comment, (10, 0), "+line ten")?;
    let (comment, _) = sent(scene, &on((None, removed(20)), "a-removed-line")?).await?;
    stands(&comment, (0, 20), "-line 20")?;
    let (comment, _) = sent(scene, &on((None, unchanged(30, 29)), "an-old-line")?).await?;
    stands(&comment, (29, 0), " line 30")?;

    let range = (Some(unchanged(30, 29)), added(31));
    let (comment, _) = sent(scene, &on(range, "several-lines")?).await?;
    stands(&comment, (31, 0), "+line 30b")?;
    let names = ["29", "31"].iter().all(|line| comment.body.contains(line));
    ensure!(names, "the range is not named: {}", comment.body);
    Ok(())
}

pub(super) async fn outside_the_diff(scene: &Scene) -> Result<()> {
    let (subject, head) = scene.opens_change("outside").await?;
    let outside = inline(&subject, &head, (None, unchanged(38, 39)), "a-line-elsewhere")?;
    let (comment, thread) = sent(scene, &outside).await?;
    ensure!(thread.is_some(), "it fell into the conversation");
    ensure!((comment.path.as_str(), comment.position) == (FILE, 39), "it stands at {comment:?}");
    Ok(())
}

pub(super) async fn as_one_review(scene: &Scene) -> Result<()> {
    let (subject, head) = scene.opens_change("review").await?;
    let on = |line, name| inline(&subject, &head, (None, line), name);
    let batch = [on(added(10), "first")?, on(removed(20), "second")?, on(added(31), "third")?];
    let receipts = scene.adapter.send_together(&batch).await?;
    ensure!(receipts.len() == batch.len(), "{} receipts for three comments", receipts.len());

    let mut reviews = scene.stranger.sees_reviews(subject.number).await?;
    reviews.retain(|review| review.user.login == scene.bot.login);
    ensure!(reviews.len() == 1, "they came as {} reviews", reviews.len());
    ensure!(reviews[0].comments_count == 3 && reviews[0].state == "COMMENT", "{:?}", reviews[0]);
    let lines = scene.stranger.sees_lines(subject.number).await?;
    let places = [(10, 0, "+line ten"), (0, 20, "-line 20"), (31, 0, "+line 30b")];
    for ((publication, receipt), (new, old, code)) in batch.iter().zip(&receipts).zip(places) {
        let (id, _) = comment_of(receipt)?;
        let comment = lines.iter().find(|comment| comment.id == id);
        let comment = comment.context("a receipt names a comment that nobody sees")?;
        stands(comment, (new, old), code)?;
        let name = publication.slot.as_str().trim_start_matches("thread:");
        ensure!(comment.body.contains(name), "{name} became {}", comment.body);
    }
    Ok(())
}

pub(super) async fn conversation_in_a_thread(scene: &Scene) -> Result<()> {
    let (subject, head) = scene.opens_change("thread").await?;
    let finding = inline(&subject, &head, (None, added(10)), "something")?;
    let (comment, thread) = sent(scene, &finding).await?;
    let thread = thread.context("it stands in no thread")?;
    scene.writer.reviews(subject.number, (FILE, 10), "I do not think so.").await?;
    let reply = Reply { body: text("it-again"), thread: thread.clone() };
    let reply = publication(&subject, "reply:c1", Effect::Reply(reply))?;
    let (answer, answered) = sent(scene, &reply).await?;
    stands(&answer, (10, 0), "+line ten")?;
    ensure!(answered.as_deref() == Some(thread.as_str()), "it stands in {answered:?}");

    let threads = scene.adapter.threads(&subject).await?;
    let own = threads.iter().find(|one| one.id == thread).context("the thread is not listed")?;
    let authors: Vec<_> = own.comments.iter().map(|said| said.author.login.as_str()).collect();
    ensure!(
        authors == [&scene.bot.login, "writer", &scene.bot.login],
        "it was read as {authors:?}"
    );
    ensure!(own.comments.first().is_some_and(|said| said.id == comment.id), "{own:?}");
    Ok(())
}

pub(super) async fn settled_and_opened_again(scene: &Scene) -> Result<()> {
    let (subject, head) = scene.opens_change("settled").await?;
    let finding = inline(&subject, &head, (None, added(10)), "something")?;
    let (comment, thread) = sent(scene, &finding).await?;
    let thread = thread.context("it stands in no thread")?;
    let settle = |settling| {
        let effect = Effect::Settle { thread: thread.clone(), settling };
        publication(&subject, "settle", effect)
    };
    if !scene.settles_threads() {
        return refuses_to_settle(scene, &settle(Settling::Resolve)?, comment.id).await;
    }
    for (settling, resolver) in
        [(Settling::Resolve, Some(scene.bot.login.as_str())), (Settling::Unresolve, None)]
    {
        scene.adapter.send(&settle(settling)?, None).await?;
        let seen = seen_line(scene, &subject, comment.id).await?;
        let by = seen.resolver.as_ref().map(|user| user.login.as_str());
        ensure!(by == resolver, "after {settling:?} it is settled by {by:?}");
        let threads = scene.adapter.threads(&subject).await?;
        let own = threads.iter().find(|one| one.id == thread).context("it is not listed")?;
        ensure!(own.resolved == Some(resolver.is_some()), "after {settling:?}: {own:?}");
    }
    Ok(())
}

/// What an older server lacks is told, and nothing is done in its place unasked.
async fn refuses_to_settle(scene: &Scene, settle: &Publication, comment: u64) -> Result<()> {
    let able = scene.adapter.capabilities().await?;
    ensure!(!able.resolving.is_there(), "{} is said to settle threads", scene.version);
    let refused = scene.adapter.send(settle, None).await;
    ensure!(matches!(refused, Err(Error::Refused { .. })), "it said {refused:?}");
    let seen = seen_line(scene, &settle.subject, comment).await?;
    ensure!(seen.resolver.is_none(), "it is settled all the same");
    Ok(())
}

pub(super) async fn leftovers(scene: &Scene) -> Result<()> {
    let (subject, head) = scene.opens_change("leftovers").await?;
    let on = |line, name| inline(&subject, &head, (None, line), name);
    let (first, _) = sent(scene, &on(added(10), "before")?).await?;
    // What a process that died in the middle leaves: our comment, in a review never submitted.
    let number = subject.number;
    scene.bot.breaks_off(number, (FILE, 11), &first.body).await?;
    let own_words = scene.writer.drafts(number, (FILE, 12), "still thinking").await?;
    let waiting = async |person: &Person| -> Result<Vec<u64>> {
        let mut reviews = person.sees_reviews(number).await?;
        reviews.retain(|review| review.state == "PENDING");
        Ok(reviews.iter().map(|review| review.id).collect())
    };
    ensure!(waiting(&scene.bot).await?.len() == 1, "the server left nothing behind");

    sent(scene, &on(added(31), "after")?).await?;
    let ours = waiting(&scene.bot).await?;
    ensure!(ours.is_empty(), "our leftover waits still: {ours:?}");
    let theirs = waiting(&scene.writer).await?;
    ensure!(theirs == [own_words.id], "the person's draft is gone: {theirs:?}");
    let lines = scene.stranger.sees_lines(number).await?;
    let places: Vec<u64> = lines.iter().map(|comment| comment.position).collect();
    ensure!(places == [10, 31], "people see comments on the lines {places:?}");

    // Words without our marker under our own account are somebody's: they are never sent along.
    let foreign = scene.bot.drafts(number, (FILE, 12), "typed by hand").await?;
    let refused = scene.adapter.send(&on(removed(20), "never")?, None).await;
    let theirs = waiting(&scene.bot).await?;
    ensure!(theirs == [foreign.id], "the words typed by hand are gone: {theirs:?} ({refused:?})");
    let seen = scene.stranger.sees_lines(number).await?;
    let leaked = seen.iter().any(|comment| comment.body == "typed by hand");
    ensure!(!leaked, "the words typed by hand were published");
    Ok(())
}

/// Sends a comment and returns it as a stranger sees it, with the name of its thread. A look finds
/// the same (E2).
async fn sent(scene: &Scene, publication: &Publication) -> Result<(Comment, Option<String>)> {
    let receipt = scene.adapter.send(publication, None).await?;
    let (id, thread) = comment_of(&receipt)?;
    match scene.adapter.find(publication).await {
        Look::Found { receipt: found, authentic: true } => {
            ensure!(comment_of(&found)?.0 == id, "a look finds {found:?} and not {id}");
        }
        other => anyhow::bail!("a look for comment {id} says {other:?}"),
    }
    Ok((seen_line(scene, &publication.subject, id).await?, thread.map(str::to_owned)))
}

async fn seen_line(scene: &Scene, subject: &Subject, id: u64) -> Result<Comment> {
    let lines = scene.stranger.sees_lines(subject.number).await?;
    let found = lines.into_iter().find(|comment| comment.id == id);
    found.with_context(|| format!("nobody sees comment {id} on a line"))
}

/// Checks that a comment stands on a line, by its numbers and by the code that the server shows
/// above it.
fn stands(comment: &Comment, (new, old): (u64, u64), code: &str) -> Result<()> {
    let place = (comment.path.as_str(), comment.position, comment.original_position);
    ensure!(place == (FILE, new, old), "it stands at {place:?} and not at {new}/{old}");
    let shown = comment.diff_hunk.lines().last();
    ensure!(shown == Some(code), "it stands below {shown:?} and not below {code:?}");
    Ok(())
}
