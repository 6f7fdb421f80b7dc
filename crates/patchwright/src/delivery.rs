//! Deliveries that are stored in files, for `replay` and `run`: as a body alone, or with headers.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use bytes::Bytes;
use forge::Host;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::complaint::Complaint;

/// A delivery as it came, or as good as.
#[derive(Clone, Debug)]
pub struct Stored {
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The shape of a file that has the headers too.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WithHeaders<'a> {
    headers: std::collections::BTreeMap<String, String>,
    /// The body as JSON, or as a string that holds its exact bytes.
    #[serde(borrow)]
    body: &'a RawValue,
}

impl Stored {
    /// Reads a file. `forge` and `event` stand in for headers that it does not have.
    pub fn read(path: &Path, forge: Option<Host>, event: Option<&str>) -> Result<Self, Complaint> {
        let name = path.display();
        let content = fs::read(path)
            .with_context(|| format!("cannot read {name}"))
            .map_err(Complaint::usage)?;
        let mut stored = match serde_json::from_slice::<WithHeaders<'_>>(&content) {
            Ok(file) => Self { headers: headers(&file)?, body: body(file.body)? },
            Err(_) => Self { headers: HeaderMap::new(), body: Bytes::from(content) },
        };
        if let Some(event) = event {
            let forge = forge.or_else(|| forge::webhook::detect(&stored.headers));
            let Some(forge) = forge else {
                let error = anyhow!("an event is named, but not the forge that sent it");
                return Err(
                    Complaint::usage(error).hint("add --forge github, gitlab, gitcode or gitea")
                );
            };
            let value =
                HeaderValue::from_str(event).context("the event's name cannot stand in a header");
            stored.headers.insert(event_header(forge), value.map_err(Complaint::usage)?);
        }
        if forge::webhook::detect(&stored.headers).is_none() {
            let error = anyhow!("{name} has no headers that tell the forge and the event");
            let hint = "name them: --forge github --event issue_comment, or write {\"headers\": {…}, \"body\": {…}}";
            return Err(Complaint::usage(error).hint(hint));
        }
        Ok(stored)
    }
}

fn headers(file: &WithHeaders<'_>) -> Result<HeaderMap, Complaint> {
    let mut headers = HeaderMap::new();
    for (name, value) in &file.headers {
        let wrong = || format!("`{name}` is not a header that can be sent");
        let header = HeaderName::from_bytes(name.as_bytes())
            .with_context(wrong)
            .map_err(Complaint::usage)?;
        let value = HeaderValue::from_str(value).with_context(wrong).map_err(Complaint::usage)?;
        headers.append(header, value);
    }
    Ok(headers)
}

fn body(raw: &RawValue) -> Result<Bytes, Complaint> {
    let text = raw.get();
    if text.starts_with('"') {
        let exact: String = serde_json::from_str(text).map_err(Complaint::usage)?;
        return Ok(Bytes::from(exact));
    }
    Ok(Bytes::from(text.to_owned()))
}

fn event_header(host: Host) -> HeaderName {
    HeaderName::from_static(match host {
        Host::GitHub | Host::Local => "x-github-event",
        Host::GitLab => "x-gitlab-event",
        Host::GitCode => "x-gitcode-event",
        Host::Gitea => "x-gitea-event",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::complaint::Exit;

    fn read(content: &str, forge: Option<Host>, event: Option<&str>) -> Result<Stored, Complaint> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("delivery.json");
        fs::write(&path, content).unwrap();
        Stored::read(&path, forge, event)
    }

    #[test]
    fn a_body_alone_needs_the_forge_and_the_event() {
        let stored =
            read(r#"{"action": "created"}"#, Some(Host::Gitea), Some("issue_comment")).unwrap();
        assert_eq!(stored.headers["x-gitea-event"], "issue_comment");
        assert_eq!(&stored.body[..], br#"{"action": "created"}"#);
        assert_eq!(read("{}", None, None).unwrap_err().exit, Exit::Usage);
        assert_eq!(read("{}", None, Some("issues")).unwrap_err().exit, Exit::Usage);
    }

    #[test]
    fn headers_and_body_are_taken_as_they_stand() {
        let file = r#"{"headers": {"X-GitHub-Event": "issues", "X-GitHub-Delivery": "1"}, "body": {"a":  1}}"#;
        let stored = read(file, None, None).unwrap();
        assert_eq!(stored.headers["x-github-delivery"], "1");
        assert_eq!(
            &stored.body[..],
            br#"{"a":  1}"#,
            "not a byte of it changes, for the signature's sake"
        );
    }

    #[test]
    fn a_body_may_be_a_string_of_its_exact_bytes() {
        let file = r#"{"headers": {"X-Gitlab-Event": "Note Hook"}, "body": "{\"a\":1}\n"}"#;
        assert_eq!(&read(file, None, None).unwrap().body[..], b"{\"a\":1}\n");
    }

    #[test]
    fn a_header_that_cannot_be_one_is_refused() {
        let file = "{\"headers\": {\"bad header\": \"x\"}, \"body\": {}}";
        assert_eq!(read(file, None, None).unwrap_err().exit, Exit::Usage);
    }
}
