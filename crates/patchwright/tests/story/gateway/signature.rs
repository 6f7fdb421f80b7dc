//! Only who knows the secret is listened to, in every way in which a forge can show it.

use std::fmt::Write as _;
use std::time::Duration;

use domain::Clock;
use expect_test::expect;
use testkit::signature::{hex, standard};

use super::delivery::{comment, note};
use super::{GITCODE, GITEA, GITHUB, GITLAB, GITLAB_KEY, gateway, policy};
use crate::story::call::Call;

/// How a forge shows that it knows the secret.
#[derive(Clone, Copy)]
enum Proof {
    /// `sha256=` and a code over the body.
    Prefixed,
    /// The code alone.
    Bare,
    /// The secret itself.
    Clear,
    /// A code over an id, a time stamp and the body (Standard Webhooks).
    Standard,
}

/// One way to sign: the forge's event header, the header of the proof, the proof, the secret.
type Way = (&'static str, &'static str, &'static str, Proof, &'static str);

const WAYS: [Way; 15] = [
    ("x-github-event", "issue_comment", "x-hub-signature-256", Proof::Prefixed, GITHUB),
    ("x-gitlab-event", "Note Hook", "x-gitlab-token", Proof::Clear, GITLAB),
    ("x-gitlab-event", "Note Hook", "webhook-signature", Proof::Standard, ""),
    ("x-gitcode-event", "Note Hook", "x-gitcode-signature-256", Proof::Prefixed, GITCODE),
    ("x-gitcode-event", "Note Hook", "x-gitcode-signature", Proof::Bare, GITCODE),
    ("x-gitcode-event", "Note Hook", "x-gitcode-sign", Proof::Bare, GITCODE),
    ("x-gitcode-event", "Note Hook", "x-signature", Proof::Bare, GITCODE),
    ("x-gitcode-event", "Note Hook", "x-gitcode-webhook-signature", Proof::Prefixed, GITCODE),
    ("x-gitcode-event", "Note Hook", "x-gitcode-token", Proof::Bare, GITCODE),
    ("x-gitcode-event", "Note Hook", "x-gitcode-token", Proof::Clear, GITCODE),
    ("x-gitea-event", "issue_comment", "x-gitea-signature", Proof::Bare, GITEA),
    ("x-gitea-event", "issue_comment", "x-hub-signature-256", Proof::Prefixed, GITEA),
    ("x-forgejo-event", "issue_comment", "x-forgejo-signature", Proof::Bare, GITEA),
    ("x-forgejo-event", "issue_comment", "x-gitea-signature", Proof::Bare, GITEA),
    ("x-forgejo-event", "issue_comment", "x-hub-signature-256", Proof::Prefixed, GITEA),
];

/// The ways in which a proof can be right or not.
const VARIANTS: [&str; 6] = ["right", "none", "empty", "garbled", "other key", "other body"];

/// A moment as signed deliveries name it, and their id.
struct Stamp {
    time: String,
    id: &'static str,
}

impl Proof {
    fn of(self, secret: &str, body: &[u8], stamp: &Stamp) -> String {
        match self {
            Self::Prefixed => format!("sha256={}", hex(secret, body)),
            Self::Bare => hex(secret, body),
            Self::Clear => secret.to_owned(),
            Self::Standard => {
                let key = if secret.is_empty() { GITLAB_KEY } else { secret.as_bytes() };
                standard(key, stamp.id, &stamp.time, body)
            }
        }
    }
}

/// Returns the proof in one of its variants; `None` if the header is missing.
fn proof(
    variant: &str,
    (_, _, _, proof, secret): Way,
    body: &[u8],
    stamp: &Stamp,
) -> Option<String> {
    Some(match variant {
        "right" => proof.of(secret, body, stamp),
        "none" => return None,
        "empty" => String::new(),
        "garbled" => proof.of(secret, body, stamp).replace(['a', 'e', 's', 'v'], "_"),
        "other key" => proof.of("the secret of somebody else", body, stamp),
        "other body" => proof.of(secret, &[body, b" "].concat(), stamp),
        _ => unreachable!("a variant is one of the list"),
    })
}

#[tokio::test]
async fn every_way_to_sign_is_taken_and_nothing_else() {
    let world = gateway(policy()).await;
    let mut table = format!("{:<46}", "");
    for variant in VARIANTS {
        write!(table, " {variant:<10}").unwrap();
    }
    for (n, way) in (1..).zip(WAYS) {
        let (event_header, event, header, kind, _) = way;
        let body = match event {
            "Note Hook" => note(n, "alice", "@bot help"),
            _ => comment(n, "alice", "@bot help"),
        };
        let stamp = Stamp { time: (world.clock.now().0 / 1_000).to_string(), id: "msg_1" };
        let name = match kind {
            Proof::Clear => format!("{event_header}, {header} in clear"),
            _ => format!("{event_header}, {header}"),
        };
        write!(table, "\n{name:<46}").unwrap();
        for variant in VARIANTS {
            let mut call = Call::post("/api/webhook", body.clone()).with(event_header, event);
            if let Proof::Standard = kind {
                call = call.with("webhook-id", stamp.id).with("webhook-timestamp", &stamp.time);
            }
            if let Some(value) = proof(variant, way, body.as_bytes(), &stamp) {
                call = call.with(header, value);
            }
            write!(table, " {:<10}", call.send(world.gateway()).await.status).unwrap();
        }
        // Wrong signatures are counted for a minute.
        world.clock.advance(Duration::from_mins(1));
    }
    let table: Vec<_> = table.lines().map(str::trim_end).collect();
    expect![[r#"
                                                       right      none       empty      garbled    other key  other body
        x-github-event, x-hub-signature-256            202        401        401        401        401        401
        x-gitlab-event, x-gitlab-token in clear        202        401        401        401        401        202
        x-gitlab-event, webhook-signature              202        401        401        401        401        401
        x-gitcode-event, x-gitcode-signature-256       202        401        401        401        401        401
        x-gitcode-event, x-gitcode-signature           202        401        401        401        401        401
        x-gitcode-event, x-gitcode-sign                202        401        401        401        401        401
        x-gitcode-event, x-signature                   202        401        401        401        401        401
        x-gitcode-event, x-gitcode-webhook-signature   202        401        401        401        401        401
        x-gitcode-event, x-gitcode-token               202        401        401        401        401        401
        x-gitcode-event, x-gitcode-token in clear      202        401        401        401        401        202
        x-gitea-event, x-gitea-signature               202        401        401        401        401        401
        x-gitea-event, x-hub-signature-256             202        401        401        401        401        401
        x-forgejo-event, x-forgejo-signature           202        401        401        401        401        401
        x-forgejo-event, x-gitea-signature             202        401        401        401        401        401
        x-forgejo-event, x-hub-signature-256           202        401        401        401        401        401"#]].assert_eq(&table.join("\n"));
    assert_eq!(world.jobs().await.len(), WAYS.len());
    world.abandon();
}

#[tokio::test]
async fn a_signed_delivery_that_is_too_old_may_be_a_replay() {
    let world = gateway(policy()).await;
    let body = note(1, "alice", "@bot help");
    let now = world.clock.now().0 / 1_000;
    for (seconds, status) in [(-299, 202), (301, 401), (-301, 401), (0, 202)] {
        let stamp = Stamp { time: (now + seconds).to_string(), id: "msg_1" };
        let call = Call::post("/api/webhook", body.clone())
            .with("x-gitlab-event", "Note Hook")
            .with("webhook-id", stamp.id)
            .with("webhook-timestamp", &stamp.time)
            .with("webhook-signature", Proof::Standard.of("", body.as_bytes(), &stamp));
        assert_eq!(call.send(world.gateway()).await.status, status, "{seconds} s");
    }
    world.abandon();
}

#[tokio::test]
async fn a_forge_that_is_not_configured_has_no_right_signature() {
    let world = testkit::World::start().await;
    let body = comment(1, "alice", "@bot help");
    let call = Call::post("/api/webhook", body.clone())
        .with("x-gitea-event", "issue_comment")
        .with("x-gitea-signature", hex(world.forge.secret(), body.as_bytes()));
    assert_eq!(call.send(world.gateway()).await.status, 401);
    world.close().await;
}
