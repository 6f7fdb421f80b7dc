//! Inline comments: threads out of reviews, and reviews that are not atomic.

use domain::anchor::{Line, LineKind, Side, Spot};
use domain::publication::{Effect, Inline, Reply as Answer, Settling};
use domain::{Publication, Receipt, Slot};

use super::desk::{Desk, OUR_ID, Product, THEIR_ID};
use super::*;
use crate::port::Thread;

const GITEA_RESOLVE: (&str, &str) =
    ("gitea-resolve", "/repos/{owner}/{repo}/pulls/comments/{id}/resolve");
const GITEA_REPLIES: (&str, &str) =
    ("gitea-replies", "/repos/{owner}/{repo}/pulls/{index}/comments/{id}/replies");
const FORGEJO_RESOLVE: (&str, &str) = (
    "forgejo-resolve",
    "/repos/{owner}/{repo}/pulls/{index}/reviews/{id}/comments/{comment}/resolve",
);
const FORGEJO_INTO_REVIEW: (&str, &str) =
    ("forgejo-into-review", "/repos/{owner}/{repo}/pulls/{index}/reviews/{id}/comments");
const FORGEJO_DELETE: (&str, &str) =
    ("forgejo-delete", "/repos/{owner}/{repo}/pulls/{index}/reviews/{id}/comments/{comment}");

fn gitea_1_26() -> Product {
    Product { version: "1.26.0", paths: vec![GITEA_RESOLVE], ..Product::default() }
}

fn gitea_1_24() -> Product {
    Product { version: "1.24.6", ..Product::default() }
}

fn forgejo_16() -> Product {
    Product {
        version: "16.0.3+gitea-1.22.0",
        paths: vec![FORGEJO_RESOLVE, FORGEJO_INTO_REVIEW, FORGEJO_DELETE],
        has_ranges: true,
        ..Product::default()
    }
}

async fn at(product: Product) -> (Arc<Desk>, Rig) {
    let (desk, server) = Desk::open(product).await;
    (desk, rig_of(server))
}

fn spot(line: u64) -> Spot {
    Spot {
        path: "src/a.rs".to_owned(),
        old_path: None,
        side: Side::New,
        start: None,
        line: Line { kind: LineKind::Added, old: line, new: line },
        commit: "head".to_owned(),
    }
}

fn inline(rig: &Rig, slot: &str, at: Spot) -> Publication {
    let body = text(slot);
    let effect = Effect::Inline(Inline { body, at, suggestion: None, batch: None });
    Publication { slot: Slot::parse(slot).unwrap(), ..rig.publication(effect) }
}

fn thread_of(receipt: &Receipt) -> String {
    match receipt {
        Receipt::Comment { thread: Some(thread), .. } => thread.clone(),
        other => panic!("{other:?} is in no thread"),
    }
}

async fn threads(rig: &Rig) -> Vec<Thread> {
    rig.gitea.threads(&rig.change).await.unwrap()
}

#[tokio::test]
async fn comments_on_one_line_are_a_thread_named_after_the_first() {
    let (desk, rig) = at(gitea_1_26()).await;
    let review = desk.plant(THEIR_ID, "COMMENT", &[(4, "why?"), (9, "and here?")]);
    desk.plant(OUR_ID, "COMMENT", &[(4, "because")]);
    desk.plant(THEIR_ID, "PENDING", &[(4, "not said yet")]);
    desk.plant(THEIR_ID, "REQUEST_REVIEW", &[]);
    let threads = threads(&rig).await;
    let told: Vec<_> = threads
        .iter()
        .map(|thread| {
            let bodies: Vec<_> = thread.comments.iter().map(|said| said.body.as_str()).collect();
            (thread.id.clone(), thread.at.as_ref().unwrap().line.new, bodies)
        })
        .collect();
    assert_eq!(
        told,
        [
            (format!("{review}-2"), 4, vec!["why?", "because"]),
            (format!("{review}-3"), 9, vec!["and here?"]),
        ]
    );
    assert_eq!(threads[0].at.as_ref().unwrap().commit, "head", "the head that was reviewed");
    assert_eq!(rig.gitea.reviews(&rig.change).await.unwrap().len(), 2, "submitted ones");
}

#[tokio::test]
async fn a_comment_that_a_delivery_calls_plain_is_found_in_its_thread() {
    let (desk, rig) = at(gitea_1_26()).await;
    let review = desk.plant(THEIR_ID, "COMMENT", &[(4, "@bot why?")]);
    let said = rig.gitea.comment(&rig.change, 2, &Place::Conversation).await.unwrap();
    assert_eq!((said.body.as_str(), said.thread()), ("@bot why?", Some(&*format!("{review}-2"))));
    let gone = rig.gitea.comment(&rig.change, 99, &Place::Conversation).await;
    assert!(matches!(gone, Err(Error::Gone { .. })));
}

#[tokio::test]
async fn comments_travel_together_and_each_has_its_receipt() {
    let (desk, rig) = at(gitea_1_26()).await;
    let removed =
        Spot { side: Side::Old, line: Line { kind: LineKind::Removed, old: 7, new: 8 }, ..spot(7) };
    let all = [inline(&rig, "f:1", spot(4)), inline(&rig, "f:2", removed)];
    let receipts = rig.gitea.send_together(&all).await.unwrap();
    assert_eq!(receipts.len(), 2);
    let comments = desk.comments();
    let sides: Vec<_> = comments
        .iter()
        .map(|(_, comment)| {
            let at = &comment.inline.as_ref().unwrap().at;
            (at["new_position"].as_u64().unwrap(), at["old_position"].as_u64().unwrap())
        })
        .collect();
    assert_eq!(sides, [(4, 0), (0, 7)]);
    assert_eq!(desk.reviews().iter().map(|review| review.state).collect::<Vec<_>>(), ["COMMENT"]);
    let listed: Vec<_> = threads(&rig).await.into_iter().map(|thread| thread.id).collect();
    assert_eq!(receipts.iter().map(thread_of).collect::<Vec<_>>(), listed);
}

#[tokio::test]
async fn e3_a_review_that_breaks_off_twice_is_refused_and_leaves_nothing() {
    let (desk, rig) = at(gitea_1_26()).await;
    desk.break_reviews_at(&[1, 1]);
    let all = [inline(&rig, "f:1", spot(4)), inline(&rig, "f:2", spot(5))];
    let error = rig.gitea.send_together(&all).await.unwrap_err();
    assert!(matches!(error, Error::Refused { status: 500, .. }), "{error:?}");
    assert!(desk.reviews().is_empty() && desk.comments().is_empty());
}

#[tokio::test]
async fn e3_a_review_that_breaks_off_once_is_sent_again_whole() {
    let (desk, rig) = at(gitea_1_26()).await;
    desk.break_reviews_at(&[1]);
    let all = [inline(&rig, "f:1", spot(4)), inline(&rig, "f:2", spot(5))];
    rig.gitea.send_together(&all).await.unwrap();
    assert_eq!(desk.reviews().len(), 1);
    assert_eq!(desk.comments().len(), 2, "what was left of the first try is gone");
}

#[tokio::test]
async fn e2_a_review_whose_answer_is_lost_is_found_by_its_comments() {
    let (desk, rig) = at(gitea_1_26()).await;
    desk.lose_answers(1);
    let all = [inline(&rig, "f:1", spot(4))];
    let error = rig.gitea.send_together(&all).await.unwrap_err();
    assert!(matches!(error, Error::Lost { .. }), "{error:?}");
    let look = rig.gitea.find(&all[0]).await;
    assert!(matches!(look, Look::Found { authentic: true, .. }), "{look:?}");
    assert_eq!(desk.comments().len(), 1);
}

#[tokio::test]
async fn e3_our_own_unsubmitted_leftovers_are_not_published_with_the_next_review() {
    let (desk, rig) = at(gitea_1_26()).await;
    let first = inline(&rig, "f:1", spot(4));
    rig.gitea.send(&first, None).await.unwrap();
    let marked = desk.comments()[0].1.body.clone();
    desk.plant(OUR_ID, "PENDING", &[(4, &marked)]);
    rig.gitea.send(&inline(&rig, "f:2", spot(5)), None).await.unwrap();
    let bodies: Vec<_> = desk.comments().into_iter().map(|(_, comment)| comment.body).collect();
    assert_eq!(bodies.len(), 2, "{bodies:?}");
    assert!(bodies[1].ends_with("f:2"), "{bodies:?}");
}

#[tokio::test]
async fn what_a_person_has_not_submitted_is_neither_published_nor_removed() {
    let (desk, rig) = at(gitea_1_26()).await;
    let draft = desk.plant(OUR_ID, "PENDING", &[(4, "let me think about this")]);
    let receipt = rig.gitea.send(&inline(&rig, "f:1", spot(5)), None).await.unwrap();
    // The next best place, and it says so.
    assert!(
        matches!(&receipt, Receipt::Comment { thread: None, moved: Some(_), .. }),
        "{receipt:?}"
    );
    let states: Vec<_> = desk.reviews().iter().map(|review| review.state).collect();
    assert_eq!(states, ["PENDING"]);
    let comments = desk.comments();
    assert_eq!(comments[0].1.inline.as_ref().unwrap().review, draft);
    let together = rig.gitea.send_together(&[inline(&rig, "f:2", spot(6))]).await;
    assert!(matches!(together, Err(Error::Refused { .. })), "{together:?}");
}

#[tokio::test]
async fn a_review_that_waits_under_another_account_is_not_our_business() {
    let (desk, rig) = at(gitea_1_26()).await;
    // Administrators of the server are shown everybody's.
    desk.plant(THEIR_ID, "PENDING", &[(4, "let me think about this")]);
    let receipt = rig.gitea.send(&inline(&rig, "f:1", spot(5)), None).await.unwrap();
    thread_of(&receipt);
    assert_eq!(desk.reviews().len(), 2);
}

#[tokio::test]
async fn e6_an_inline_comment_is_edited_where_it_stands() {
    let (desk, rig) = at(gitea_1_26()).await;
    let publication = inline(&rig, "f:1", spot(4));
    let first = rig.gitea.send(&publication, None).await.unwrap();
    let second = rig.gitea.send(&publication, Some(&first)).await.unwrap();
    assert_eq!(thread_of(&second), thread_of(&first));
    assert!(matches!(second, Receipt::Comment { revision: 2, .. }));
    assert_eq!(desk.comments().len(), 1);
    let foreign = desk.plant(THEIR_ID, "COMMENT", &[(4, "mine")]);
    let receipt = Receipt::Comment {
        id: foreign + 1,
        revision: 2,
        url: None,
        thread: Some(format!("{foreign}-{}", foreign + 1)),
        moved: None,
    };
    let yielded = rig.gitea.send(&publication, Some(&receipt)).await.unwrap();
    assert!(matches!(yielded, Receipt::Yielded { .. }), "{yielded:?}");
}

#[tokio::test]
async fn an_inline_comment_is_withdrawn_or_it_is_told_that_the_server_keeps_it() {
    for (product, kept) in [
        (gitea_1_26(), false),
        (forgejo_16(), false),
        (Product { keeps_inline: true, ..gitea_1_24() }, true),
    ] {
        let (desk, rig) = at(product).await;
        let publication = inline(&rig, "f:1", spot(4));
        let receipt = rig.gitea.send(&publication, None).await.unwrap();
        let withdraw = Publication { effect: Effect::Withdraw, ..publication };
        let withdrawn = rig.gitea.send(&withdraw, Some(&receipt)).await;
        match kept {
            true => assert!(matches!(withdrawn, Err(Error::Refused { .. })), "{withdrawn:?}"),
            false => assert_eq!(withdrawn.unwrap(), Receipt::Done),
        }
        assert_eq!(desk.comments().is_empty(), !kept);
    }
}

#[tokio::test]
async fn a_reply_goes_the_way_that_the_server_has() {
    let replies = Product {
        version: "1.27.0",
        paths: vec![GITEA_RESOLVE, GITEA_REPLIES],
        ..Product::default()
    };
    for (product, reviews) in [(gitea_1_24(), 2), (replies, 1), (forgejo_16(), 1)] {
        let (desk, rig) = at(product).await;
        let review = desk.plant(THEIR_ID, "COMMENT", &[(4, "why?")]);
        let thread = format!("{review}-2");
        let answer = Effect::Reply(Answer { body: text("because"), thread: thread.clone() });
        let receipt = rig.send(answer).await.unwrap();
        assert_eq!(thread_of(&receipt), thread);
        assert_eq!(desk.reviews().len(), reviews);
        let threads = threads(&rig).await;
        assert_eq!(threads.len(), 1, "{threads:?}");
        assert!(threads[0].comments[1].body.ends_with("because"));
        assert_eq!(threads[0].comments[1].author.id, Some(AccountId(OUR_ID)));
    }
}

#[tokio::test]
async fn a_thread_is_settled_and_opened_again() {
    for product in [gitea_1_26(), forgejo_16()] {
        let (desk, rig) = at(product).await;
        let review = desk.plant(THEIR_ID, "COMMENT", &[(4, "why?")]);
        let thread = format!("{review}-2");
        for (settling, resolved) in
            [(Settling::Resolve, true), (Settling::Resolve, true), (Settling::Unresolve, false)]
        {
            let settle = Effect::Settle { thread: thread.clone(), settling };
            assert_eq!(rig.send(settle).await.unwrap(), Receipt::Done);
            let threads = threads(&rig).await;
            assert_eq!(threads[0].resolved, Some(resolved));
            assert_eq!(threads[0].resolved_by.is_some(), resolved);
        }
        assert_eq!(rig.written().len(), 2, "what is settled already is not settled again");
    }
}

#[tokio::test]
async fn a_server_that_cannot_settle_threads_says_so_before_and_after_it_is_tried() {
    // By the version alone this Forgejo may have the way: it is tried.
    let maybe = Product { version: "16.0.0+gitea-1.22.0", ..Product::default() };
    for (product, tried) in [(gitea_1_24(), 0), (maybe, 1)] {
        let (desk, rig) = at(product).await;
        let review = desk.plant(THEIR_ID, "COMMENT", &[(4, "why?")]);
        let settle = Effect::Settle { thread: format!("{review}-2"), settling: Settling::Resolve };
        let error = rig.send(settle).await.unwrap_err();
        assert!(error.to_string().contains("no way to resolve"), "{error}");
        assert_eq!(rig.written().len(), tried);
    }
}

#[tokio::test]
async fn a_forgejo_whose_description_is_switched_off_settles_by_its_own_way() {
    let hidden = Product {
        version: "16.0.0+gitea-1.22.0",
        paths: vec![("forgejo-resolve", "")],
        ..Product::default()
    };
    let (desk, rig) = at(hidden).await;
    let review = desk.plant(THEIR_ID, "COMMENT", &[(4, "why?")]);
    let settle = Effect::Settle { thread: format!("{review}-2"), settling: Settling::Resolve };
    assert_eq!(rig.send(settle).await.unwrap(), Receipt::Done);
    assert_eq!(threads(&rig).await[0].resolved, Some(true));
}

#[tokio::test]
async fn a_range_is_sent_where_the_server_has_ranges_and_named_elsewhere() {
    let range = Spot { start: Some(spot(4).line), ..spot(6) };
    let (desk, rig) = at(forgejo_16()).await;
    rig.gitea.send(&inline(&rig, "f:1", range.clone()), None).await.unwrap();
    let stands = desk.comments()[0].1.inline.clone().unwrap().at;
    assert_eq!(
        (stands["new_position"].as_u64(), stands["extra_lines_count"].as_u64()),
        (Some(4), Some(2))
    );
    assert_eq!(threads(&rig).await[0].at.as_ref().unwrap().span(), (4, 6));

    let (desk, rig) = at(gitea_1_26()).await;
    rig.gitea.send(&inline(&rig, "f:1", range), None).await.unwrap();
    let (_, comment) = desk.comments().remove(0);
    let stands = comment.inline.unwrap().at;
    assert_eq!(
        (stands["new_position"].as_u64(), stands["extra_lines_count"].as_u64()),
        (Some(6), None)
    );
    assert!(comment.body.contains("4") && comment.body.contains("6"), "{}", comment.body);
}
