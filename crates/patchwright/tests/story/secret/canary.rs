//! Canaries: values that nobody could write by chance, one for every secret variable of the table in
//! `patchwright::env`, so that a new variable cannot be forgotten.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use patchwright::env::{Confidence, variable};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::story::program::Program;

/// Stands at both ends of every canary: even a part that leaks is recognised.
pub(super) const MARK: &str = "c4n4ry";

/// Returns the names of all secret variables, aliases too.
pub(super) fn names() -> Vec<&'static str> {
    let secret = variable::ALL.iter().filter(|known| known.confidence == Confidence::Secret);
    let names: Vec<_> = secret.flat_map(|known| known.names.iter().copied()).collect();
    assert!(names.contains(&"GITHUB_TOKEN") && names.contains(&"GITCODE_PAT"), "{names:?}");
    names
}

/// Returns the secret of a variable. It has signs that encodings treat in their own ways.
pub(super) fn canary(name: &str) -> String {
    format!("{MARK}+{name}/~&={MARK}")
}

/// Sets every secret variable.
pub(super) fn planted(program: Program) -> Program {
    names().into_iter().fold(program, |program, name| program.with(name, value(name)))
}

/// Returns what a variable is set to: its canary, in the shape that it must have.
fn value(name: &str) -> String {
    let canary = canary(name);
    match name.to_uppercase().as_str() {
        "DATABASE_URL" => format!("postgres://patchwright:{}@127.0.0.1:1/none", percent(&canary)),
        "HTTP_PROXY" | "HTTPS_PROXY" => format!("http://user:{}@127.0.0.1:1", percent(&canary)),
        "GITHUB_APP_PRIVATE_KEY" => {
            format!("-----BEGIN PRIVATE KEY-----\n{canary}\n-----END PRIVATE KEY-----\n")
        }
        _ => canary,
    }
}

/// Writes a canary as a person might paste it: plain and in every encoding.
pub(super) fn pasted(name: &str) -> String {
    let canary = canary(name);
    let basic = STANDARD.encode(format!("x-access-token:{canary}"));
    let forms = [
        STANDARD.encode(&canary),
        URL_SAFE_NO_PAD.encode(&canary),
        hex::encode(&canary),
        hex::encode_upper(&canary),
        percent(&canary),
        canary.bytes().map(|byte| format!("%{byte:02x}")).collect(),
        format!("https://x-access-token:{}@github.com/acme/demo.git", percent(&canary)),
        format!("Authorization: Basic {basic}"),
        canary,
    ];
    forms.join(" ")
}

/// Percent-encodes everything but letters and digits.
pub(super) fn percent(text: &str) -> String {
    utf8_percent_encode(text, NON_ALPHANUMERIC).to_string()
}
