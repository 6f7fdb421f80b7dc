//! The bodies of requests to Gitea and Forgejo.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use domain::anchor::{Side, Spot};
use domain::publication::{FileWrite, NewChange, Status, Verdict};
use serde::Serialize;

/// The longest description of a status that its place on the page shows.
const DESCRIPTION: usize = 140;

/// Small bodies.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Outgoing<'a> {
    Comment {
        body: &'a str,
    },
    Reaction {
        content: &'static str,
    },
    Branch {
        new_branch_name: &'a str,
        old_ref_name: &'a str,
    },
    Dispatch {
        #[serde(rename = "ref")]
        branch: &'a str,
        inputs: BTreeMap<&'a str, &'a str>,
    },
}

/// An inline comment. Positions are line numbers; 0 on the side where it does not stand.
#[derive(Debug, Serialize)]
pub(crate) struct NewComment<'a> {
    path: &'a str,
    body: &'a str,
    new_position: u64,
    old_position: u64,
    /// Only where the server knows ranges: it would refuse none, and ignore it.
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_lines_count: Option<u64>,
}

impl<'a> NewComment<'a> {
    pub(crate) fn at(spot: &'a Spot, body: &'a str) -> Self {
        let (first, last) = spot.span();
        let (new_position, old_position) = match spot.side {
            Side::New => (first, 0),
            Side::Old => (0, first),
        };
        let extra = last.saturating_sub(first);
        Self {
            path: &spot.path,
            body,
            new_position,
            old_position,
            extra_lines_count: (extra > 0).then_some(extra),
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct NewReview<'a> {
    event: &'static str,
    /// The inline comments are all that there is to say.
    body: &'static str,
    commit_id: &'a str,
    comments: Vec<NewComment<'a>>,
}

impl<'a> NewReview<'a> {
    pub(crate) fn new(
        commit: &'a str,
        comments: impl IntoIterator<Item = (&'a Spot, &'a str)>,
    ) -> Self {
        let comments = comments.into_iter().map(|(spot, body)| NewComment::at(spot, body));
        Self { event: "COMMENT", body: "", commit_id: commit, comments: comments.collect() }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct NewPull<'a> {
    title: String,
    head: &'a str,
    base: &'a str,
    body: &'a str,
}

impl<'a> NewPull<'a> {
    /// A draft is a title that begins so; there is no other way to say it.
    pub(crate) fn draft(change: &'a NewChange, body: &'a str) -> Self {
        Self {
            title: format!("WIP: {}", change.title),
            head: &change.head_branch,
            base: &change.base_branch,
            body,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct ChangeEdit<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<&'a str>,
}

/// A commit status.
#[derive(Debug, Serialize)]
pub(crate) struct State<'a> {
    state: &'static str,
    context: &'a str,
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
                Verdict::Neutral => "warning",
                Verdict::Failure => "failure",
            },
            context: &status.context,
            description: report::fit::clip(&status.title, DESCRIPTION).into_owned(),
            target_url: status.url.as_deref(),
        }
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
