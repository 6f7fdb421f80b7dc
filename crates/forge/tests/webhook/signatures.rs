//! Only who knows the secret is believed.

use domain::Time;
use forge::Host;
use forge::webhook::{Verdict, verify};
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderName, HeaderValue};
use secrecy::SecretString;
use sha2::Sha256;

use crate::fixtures;

const NOW: Time = Time(1_767_225_600_000);
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

#[track_caller]
fn check(host: Host, headers: &[(&str, &str)], body: &[u8], secret: &str, expected: Verdict) {
    let map: HeaderMap = headers
        .iter()
        .map(|(name, value)| {
            (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap())
        })
        .collect();
    assert_eq!(verify(host, &map, body, &SecretString::from(secret), NOW), expected, "{headers:?}");
}

fn code(secret: &[u8], signed: &[u8]) -> Vec<u8> {
    Hmac::<Sha256>::new_from_slice(secret)
        .unwrap()
        .chain_update(signed)
        .finalize()
        .into_bytes()
        .to_vec()
}

fn hex_code(secret: &str, signed: &[u8]) -> String {
    hex::encode(code(secret.as_bytes(), signed))
}

#[test]
fn github_signs_as_its_documentation_shows() {
    let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let secret = "It's a Secret to Everybody";
    let header = [("x-hub-signature-256", signature)];
    check(Host::GitHub, &header, b"Hello, World!", secret, Verdict::Authentic);
    check(Host::GitHub, &header, b"Hello, World?", secret, Verdict::Wrong);
    check(Host::GitHub, &header, b"Hello, World!", "another", Verdict::Wrong);
    let shouted = signature.to_uppercase().replace("SHA256", "sha256");
    check(
        Host::GitHub,
        &[("x-hub-signature-256", &shouted)],
        b"Hello, World!",
        secret,
        Verdict::Authentic,
    );
    let bare = signature.trim_start_matches("sha256=");
    check(Host::GitHub, &[("x-hub-signature-256", bare)], b"Hello, World!", secret, Verdict::Wrong);
}

#[test]
fn github_signs_a_form_as_it_is_sent() {
    let body = b"payload=%7B%7D";
    let signature = format!("sha256={}", hex_code("s", body));
    check(
        Host::GitHub,
        &[FORM, ("x-hub-signature-256", &signature)],
        body,
        "s",
        Verdict::Authentic,
    );
}

#[test]
fn gitea_signs_the_json_inside_a_form() {
    let signature = hex_code("s", br#"{"a": 1}"#);
    let body = b"payload=%7B%22a%22%3A+1%7D";
    check(Host::Gitea, &[FORM, ("x-gitea-signature", &signature)], body, "s", Verdict::Authentic);
    check(
        Host::Gitea,
        &[FORM, ("x-gitea-signature", &hex_code("s", body))],
        body,
        "s",
        Verdict::Wrong,
    );
    check(
        Host::Gitea,
        &[FORM, ("x-gitea-signature", &signature)],
        b"no=payload",
        "s",
        Verdict::Wrong,
    );
}

#[test]
fn the_recorded_signatures_of_gitea_are_right() {
    let all = fixtures::gitea("1.26.0");
    assert!(all.len() > 20);
    for sent in all {
        let secret = SecretString::from(sent.secret.clone().unwrap());
        let judge =
            |headers: &HeaderMap, body: &[u8]| verify(Host::Gitea, headers, body, &secret, NOW);
        assert_eq!(judge(&sent.headers, &sent.body), Verdict::Authentic, "{}", sent.name);

        let mut only_github_style = sent.headers.clone();
        only_github_style.remove("x-gitea-signature");
        assert_eq!(judge(&only_github_style, &sent.body), Verdict::Authentic, "{}", sent.name);

        let mut forged = sent.body.clone();
        forged.push(b' ');
        assert_eq!(judge(&sent.headers, &forged), Verdict::Wrong, "{}", sent.name);
    }
}

#[test]
fn forgejo_has_its_own_header() {
    let signature = hex_code("s", b"{}");
    check(Host::Gitea, &[("x-forgejo-signature", &signature)], b"{}", "s", Verdict::Authentic);
}

#[test]
fn a_hook_of_gitea_without_a_secret_is_unsigned() {
    let empty = [("x-gitea-signature", ""), ("x-hub-signature-256", "sha256=")];
    check(Host::Gitea, &empty, b"{}", "s", Verdict::Unsigned);
    check(Host::Gitea, &empty, b"{}", "", Verdict::Unsigned);
}

#[test]
fn gitcode_signs_as_others_recorded_it() {
    let body = b"{\n  \"note\": \"/ibforuorg/community-test/pulls/2#note_30974945\" \n }";
    let signature = "sha256=f585860d0ca237e0550da0e166370b9c372e8aeb2e639b0ac9884cd52681c576";
    check(
        Host::GitCode,
        &[("x-gitcode-signature-256", signature)],
        body,
        "1234",
        Verdict::Authentic,
    );
    check(Host::GitCode, &[("x-gitcode-signature-256", signature)], body, "12345", Verdict::Wrong);
}

#[test]
fn gitcode_may_sign_in_any_of_its_headers_with_or_without_a_prefix() {
    let signature = hex_code("s", b"{}");
    let prefixed = format!("sha256={signature}");
    for name in [
        "x-gitcode-signature-256",
        "x-gitcode-signature",
        "x-gitcode-sign",
        "x-signature",
        "x-gitcode-webhook-signature",
        "x-gitcode-token",
    ] {
        check(Host::GitCode, &[(name, &signature)], b"{}", "s", Verdict::Authentic);
        check(Host::GitCode, &[(name, &prefixed)], b"{}", "s", Verdict::Authentic);
        check(Host::GitCode, &[(name, &signature)], b"{ }", "s", Verdict::Wrong);
    }
}

#[test]
fn gitcode_may_send_the_password_in_clear_unless_it_signs() {
    check(Host::GitCode, &[("x-gitcode-token", "s3")], b"{}", "s3", Verdict::Authentic);
    check(Host::GitCode, &[("x-gitcode-token", "s4")], b"{}", "s3", Verdict::Wrong);
    let both = [("x-gitcode-token", "s3"), ("x-gitcode-signature", "00")];
    check(Host::GitCode, &both, b"{}", "s3", Verdict::Wrong);
}

#[test]
fn gitlab_sends_its_token_in_clear() {
    check(Host::GitLab, &[("x-gitlab-token", "s3")], b"{}", "s3", Verdict::Authentic);
    check(Host::GitLab, &[("x-gitlab-token", "s33")], b"{}", "s3", Verdict::Wrong);
    check(Host::GitLab, &[("x-gitlab-token", "")], b"{}", "s3", Verdict::Unsigned);
}

/// The headers of a delivery that GitLab signed `seconds` from now.
fn signed_by_gitlab(key: &[u8], body: &[u8], seconds: i64) -> [(&'static str, String); 3] {
    use base64::Engine;
    let stamp = (NOW.0 / 1_000 + seconds).to_string();
    let signed = [b"msg_1.", stamp.as_bytes(), b".", body].concat();
    let signature = base64::engine::general_purpose::STANDARD.encode(code(key, &signed));
    // Two tokens at once, while one replaces the other.
    let signatures = format!("v1,AAAA v1a,{signature} v1,{signature}");
    [
        ("webhook-id", "msg_1".to_owned()),
        ("webhook-timestamp", stamp),
        ("webhook-signature", signatures),
    ]
}

#[track_caller]
fn check_signed(headers: &[(&'static str, String)], body: &[u8], expected: Verdict) {
    let headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    // The key is the 24 bytes `patchwright-signing-key!`.
    check(Host::GitLab, &headers, body, "whsec_cGF0Y2h3cmlnaHQtc2lnbmluZy1rZXkh", expected);
}

#[test]
fn gitlab_signs_by_the_standard_scheme() {
    let key = b"patchwright-signing-key!";
    check_signed(&signed_by_gitlab(key, b"{}", 0), b"{}", Verdict::Authentic);
    check_signed(&signed_by_gitlab(key, b"{}", -300), b"{}", Verdict::Authentic);
    check_signed(&signed_by_gitlab(key, b"{}", 300), b"{}", Verdict::Authentic);
    check_signed(&signed_by_gitlab(key, b"{}", -301), b"{}", Verdict::Stale);
    check_signed(&signed_by_gitlab(key, b"{}", 301), b"{}", Verdict::Stale);
    check_signed(&signed_by_gitlab(key, b"{}", 0), b"[]", Verdict::Wrong);
    check_signed(&signed_by_gitlab(b"another key", b"{}", 0), b"{}", Verdict::Wrong);

    let mut moved = signed_by_gitlab(key, b"{}", -86_400);
    moved[1].1 = (NOW.0 / 1_000).to_string();
    check_signed(&moved, b"{}", Verdict::Wrong);
}

#[test]
fn a_signing_token_of_gitlab_is_never_taken_as_a_password() {
    let secret = "whsec_cGF0Y2h3cmlnaHQtc2lnbmluZy1rZXkh";
    check(Host::GitLab, &[("x-gitlab-token", secret)], b"{}", secret, Verdict::Unsigned);
    check_signed(
        &signed_by_gitlab(b"patchwright-signing-key!", b"{}", 0)[..2],
        b"{}",
        Verdict::Unsigned,
    );
}

#[test]
fn without_a_signature_nobody_is_believed() {
    for host in [Host::GitHub, Host::GitLab, Host::GitCode, Host::Gitea, Host::Local] {
        check(host, &[], b"{}", "s", Verdict::Unsigned);
        check(host, &[("x-hub-signature", "sha1=00")], b"{}", "s", Verdict::Unsigned);
    }
}

#[test]
fn an_empty_secret_verifies_nothing() {
    let signature = hex_code("", b"{}");
    let prefixed = format!("sha256={signature}");
    check(Host::GitHub, &[("x-hub-signature-256", &prefixed)], b"{}", "", Verdict::Wrong);
    check(Host::Gitea, &[("x-gitea-signature", &signature)], b"{}", "", Verdict::Wrong);
    check(Host::GitCode, &[("x-gitcode-signature", &signature)], b"{}", "", Verdict::Wrong);
    check(Host::GitCode, &[("x-gitcode-token", &signature)], b"{}", "", Verdict::Wrong);
    check(Host::GitLab, &[("x-gitlab-token", "")], b"{}", "", Verdict::Unsigned);
    let headers = signed_by_gitlab(b"", b"{}", 0);
    let headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    check(Host::GitLab, &headers, b"{}", "whsec_", Verdict::Wrong);
}
