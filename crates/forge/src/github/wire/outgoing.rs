//! The bodies of requests to GitHub.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use domain::anchor::{Side, Spot};
use domain::publication::{FileWrite, NewChange, Status, Verdict};
use serde::Serialize;

use crate::write::moves::Seat;

/// The longest description that a status has.
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
    Ref {
        #[serde(rename = "ref")]
        name: String,
        sha: &'a str,
    },
    Dispatch {
        #[serde(rename = "ref")]
        branch: &'a str,
        inputs: BTreeMap<&'a str, &'a str>,
    },
}

/// An inline comment, alone or in a review.
#[derive(Debug, Serialize)]
pub(crate) struct NewThread<'a> {
    path: &'a str,
    body: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    commit_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    side: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_side: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject_type: Option<&'static str>,
}

impl<'a> NewThread<'a> {
    pub(crate) fn alone(seat: Seat<'a>, body: &'a str) -> Self {
        match seat {
            Seat::Lines(spot) => {
                Self { commit_id: Some(&spot.commit), ..Self::of_review(spot, body) }
            }
            Seat::File(spot) => Self {
                path: &spot.path,
                body,
                commit_id: Some(&spot.commit),
                line: None,
                side: None,
                start_line: None,
                start_side: None,
                subject_type: Some("file"),
            },
        }
    }

    pub(crate) fn of_review(spot: &'a Spot, body: &'a str) -> Self {
        let side = match spot.side {
            Side::Old => "LEFT",
            Side::New => "RIGHT",
        };
        let (first, last) = spot.span();
        // A range of one line is refused.
        let start = (first != last).then_some(first);
        Self {
            path: &spot.path,
            body,
            commit_id: None,
            line: Some(last),
            side: Some(side),
            start_line: start,
            start_side: start.map(|_| side),
            subject_type: None,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct NewReview<'a> {
    commit_id: &'a str,
    /// GitHub wants one; nothing in it must be unique (E3).
    body: String,
    event: &'static str,
    comments: Vec<NewThread<'a>>,
}

impl<'a> NewReview<'a> {
    pub(crate) fn new(commit: &'a str, comments: &'a [(Spot, String)]) -> Self {
        Self {
            commit_id: commit,
            body: format!("💬 {}", comments.len()),
            event: "COMMENT",
            comments: comments
                .iter()
                .map(|(spot, body)| NewThread::of_review(spot, body))
                .collect(),
        }
    }
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

    /// The same where a repository has no drafts.
    pub(crate) fn without_draft(self) -> Self {
        Self { draft: false, ..self }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct ChangeEdit<'a> {
    pub(crate) body: &'a str,
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
                // A plain status knows nothing in between, and neutral must not look green.
                Verdict::Neutral => "error",
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
