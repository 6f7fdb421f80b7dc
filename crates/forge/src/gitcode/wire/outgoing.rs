//! The bodies of requests to GitCode.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use domain::anchor::Spot;
use domain::publication::{Branch, FileWrite, NewChange, Status, Verdict};
use serde::Serialize;

/// The longest description of a status that is sent.
const DESCRIPTION: usize = 140;

/// The text of a comment, and the line that it is to stand on.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Remark<'a> {
    body: &'a str,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    at: Option<Anchor<'a>>,
}

/// A line of the new version. Which of the three numbers GitCode goes by has changed over time.
#[derive(Clone, Copy, Debug, Serialize)]
struct Anchor<'a> {
    path: &'a str,
    position: u64,
    line: u64,
    new_line: u64,
}

impl<'a> Remark<'a> {
    pub(crate) fn plain(body: &'a str) -> Self {
        Self { body, at: None }
    }

    pub(crate) fn inline(body: &'a str, spot: &'a Spot) -> Self {
        let line = spot.line.new;
        Self { body, at: Some(Anchor { path: &spot.path, position: line, line, new_line: line }) }
    }

    /// Returns the same with another text.
    pub(crate) fn saying<'b>(self, body: &'b str) -> Remark<'b>
    where
        'a: 'b,
    {
        Remark { body, at: self.at }
    }

    pub(crate) fn body(&self) -> &'a str {
        self.body
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Resolution {
    pub(crate) resolved: bool,
}

#[derive(Debug, Serialize)]
pub(crate) struct NewPull<'a> {
    title: &'a str,
    head: &'a str,
    base: &'a str,
    body: &'a str,
    draft: bool,
}

impl<'a> NewPull<'a> {
    pub(crate) fn draft(change: &'a NewChange, body: &'a str) -> Self {
        Self {
            title: &change.title,
            head: &change.head_branch,
            base: &change.base_branch,
            body,
            draft: true,
        }
    }
}

/// What is to become of a change.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum ChangeEdit<'a> {
    Body { body: &'a str },
    Draft { draft: bool },
    Title { title: &'a str },
}

#[derive(Debug, Serialize)]
pub(crate) struct NewBranch<'a> {
    branch_name: &'a str,
    refs: &'a str,
}

impl<'a> NewBranch<'a> {
    pub(crate) fn new(branch: &'a Branch) -> Self {
        Self { branch_name: &branch.name, refs: &branch.at }
    }
}

/// A file for the contents API.
#[derive(Debug, Serialize)]
pub(crate) struct Upload<'a> {
    message: &'a str,
    content: String,
    branch: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha: Option<&'a str>,
}

impl<'a> Upload<'a> {
    pub(crate) fn new(file: &'a FileWrite) -> Self {
        Self {
            message: &file.message,
            content: BASE64.encode(&file.content),
            branch: &file.branch,
            sha: file.replaces.as_deref(),
        }
    }
}

/// A commit status of the older API.
#[derive(Debug, Serialize)]
pub(crate) struct State<'a> {
    state: &'static str,
    name: &'a str,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    target_url: Option<&'a str>,
}

impl<'a> State<'a> {
    pub(crate) fn new(status: &'a Status) -> Self {
        Self {
            state: match status.verdict {
                Verdict::Pending => "pending",
                Verdict::Success => "success",
                // The only state that is neither good nor bad.
                Verdict::Neutral => "canceled",
                Verdict::Failure => "failed",
            },
            name: &status.context,
            description: report::fit::clip(&status.title, DESCRIPTION).into_owned(),
            target_url: status.url.as_deref(),
        }
    }
}
