//! Any text goes the whole way and is kept, on both databases alike (J8).

use domain::Job;
use expect_test::expect;
use store::Place;
use testkit::signature::hex;
use testkit::world::{ADMIN_TOKEN, Options, REPO};
use testkit::{SignedDelivery, World};

use crate::story::call::Call;

/// NUL, a sign of four bytes, one that turns the direction of reading, and one beyond all planes
/// that are in use.
const ODD: &str = "a\0b \u{1f600} \u{202e}txt\u{202c} \u{10fffd}";

/// What a person sees and what was kept of it.
struct Told {
    thread: String,
    title: String,
    kept: String,
    shown: [String; 4],
}

/// Somebody asks for help in odd words, on an issue whose title even has half a surrogate.
async fn tell(place: Option<Place>) -> Told {
    let world = World::with(Options { place, ..Options::default() }).await;
    let issue = world.opens_issue("alice", &format!("{ODD} LONE"), ODD).await;
    let asked = world.forge.comments("alice", REPO, issue, &format!("@bot help {ODD} LONE"));
    let answer =
        world.send(&with_lone_surrogates(world.forge.delivery(&asked), world.forge.secret())).await;
    assert_eq!(answer.status, 202);
    let id = answer.json()["job_id"].as_str().unwrap().to_owned();
    world.settle().await;

    let [Job { task, .. }] = &world.jobs().await[..] else { panic!("one job") };
    let kept = format!("{:?}\n{:?}", task.trigger, task.work);
    let title = task.title.clone();
    let call = Call::get(&format!("/api/jobs/{id}")).by_operator(ADMIN_TOKEN);
    let shown = call.send(world.gateway()).await.json();
    let shown = [
        &shown["issue_title"],
        &shown["webhook_payload"]["comment"]["body"],
        &shown["stages"],
        &shown["state"],
    ]
    .map(ToString::to_string);
    let told = Told { thread: world.thread(issue), title, kept, shown };
    world.close().await;
    told
}

/// Half a surrogate can be written in JSON, though no text of Rust can hold it.
fn with_lone_surrogates(delivery: SignedDelivery, secret: &str) -> SignedDelivery {
    let body = String::from_utf8(delivery.body.to_vec()).unwrap().replace("LONE", r"\ud800");
    let mut delivery = SignedDelivery { body: body.into(), ..delivery };
    let signature = format!("sha256={}", hex(secret, &delivery.body));
    delivery.headers.insert("x-hub-signature-256", signature.parse().unwrap());
    delivery
}

#[tokio::test]
async fn j8_odd_text_becomes_a_job_is_answered_and_is_kept_the_same_on_both_databases() {
    let sqlite = tell(None).await;
    expect![[r#"
        "a\0b 😀 \u{202e}txt\u{202c} \u{10fffd} \\ud800"
        [
            "\"a\\u0000b 😀 \u{202e}txt\u{202c} \u{10fffd} \\\\ud800\"",
            "\"@bot help a\\u0000b 😀 \u{202e}txt\u{202c} \u{10fffd} \\\\ud800\"",
            "[{\"stage\":\"acknowledge\",\"success\":true},{\"stage\":\"answer\",\"success\":true}]",
            "\"done\"",
        ]"#]].assert_eq(&format!("{:?}\n{:#?}", sqlite.title, sqlite.shown));
    assert!(sqlite.thread.contains("slot=reply:"), "{}", sqlite.thread);
    let Some(place) = testkit::world::postgres() else { return };
    let postgres = tell(Some(place)).await;
    assert_eq!(postgres.title, sqlite.title);
    assert_eq!(postgres.kept, sqlite.kept);
    assert_eq!(postgres.shown, sqlite.shown);
    assert_eq!(postgres.thread, sqlite.thread);
}
