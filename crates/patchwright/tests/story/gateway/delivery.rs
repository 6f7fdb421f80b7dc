//! Deliveries of every forge: the smallest payload that asks for help, and its signature.

use testkit::signature::hex;

use super::{GITCODE, GITEA, GITHUB, GITLAB};
use crate::story::call::Call;

/// Makes a signed delivery of GitHub.
pub(super) fn github(event: &str, body: impl Into<Vec<u8>>) -> Call {
    let call = Call::post("/api/webhook", body).with("x-github-event", event);
    let signature = format!("sha256={}", hex(GITHUB, &call.body));
    call.with("x-hub-signature-256", signature)
}

/// Makes a delivery of GitLab with its token.
pub(super) fn gitlab(event: &str, body: impl Into<Vec<u8>>) -> Call {
    let call = Call::post("/api/webhook", body).with("x-gitlab-event", event);
    call.with("x-gitlab-token", GITLAB)
}

/// Makes a signed delivery of GitCode.
pub(super) fn gitcode(event: &str, body: impl Into<Vec<u8>>) -> Call {
    let call = Call::post("/api/webhook", body).with("x-gitcode-event", event);
    let signature = hex(GITCODE, &call.body);
    call.with("x-gitcode-signature", signature)
}

/// Makes a signed delivery of Gitea.
pub(super) fn gitea(event: &str, body: impl Into<Vec<u8>>) -> Call {
    let call = Call::post("/api/webhook", body).with("x-gitea-event", event);
    let signature = hex(GITEA, &call.body);
    call.with("x-gitea-signature", signature)
}

/// A comment in GitHub's words, which are Gitea's too.
pub(super) fn comment(id: u64, author: &str, body: &str) -> String {
    let body = serde_json::to_string(body).unwrap();
    format!(
        r#"{{"action":"created",
            "issue":{{"number":42,"title":"Bug","body":"details","user":{{"id":7,"login":"alice"}}}},
            "comment":{{"id":{id},"body":{body},"user":{{"id":7,"login":"{author}"}}}},
            "repository":{{"id":1,"full_name":"acme/demo","name":"demo","owner":{{"login":"acme"}},"default_branch":"main"}},
            "sender":{{"id":7,"login":"{author}"}}}}"#
    )
}

/// A note in GitLab's words, which are GitCode's too.
pub(super) fn note(id: u64, author: &str, body: &str) -> String {
    let body = serde_json::to_string(body).unwrap();
    format!(
        r#"{{"object_kind":"note","user":{{"id":7,"username":"{author}"}},
            "project":{{"id":1,"name":"demo","path_with_namespace":"acme/demo","default_branch":"main"}},
            "object_attributes":{{"id":{id},"note":{body},"noteable_type":"Issue","action":"create","author_id":7}},
            "issue":{{"id":420,"iid":42,"title":"Bug"}}}}"#
    )
}
