//! Check runs: the state of a commit as a GitHub App shows it, with remarks on lines.

use domain::Repo;
use domain::publication::{Annotation, AnnotationLevel, Status, Verdict};
use http::Method;
use serde::{Deserialize, Serialize};

use super::GitHub;
use crate::error::Error;
use crate::http::{Content, Deadline};

/// The most remarks that one request takes; further ones are added by editing.
const REMARKS: usize = 50;
const SUMMARY: usize = 65_535;
const TITLE: usize = 255;
const MESSAGE: usize = 60_000;

#[derive(Deserialize)]
struct Runs {
    check_runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    id: u64,
}

#[derive(Serialize)]
struct Check<'a> {
    name: &'a str,
    /// Only where it is created.
    #[serde(skip_serializing_if = "Option::is_none")]
    head_sha: Option<&'a str>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    conclusion: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details_url: Option<&'a str>,
    output: Output<'a>,
}

#[derive(Serialize)]
struct Output<'a> {
    title: String,
    summary: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    annotations: Vec<Remark<'a>>,
}

#[derive(Serialize)]
struct Remark<'a> {
    path: &'a str,
    start_line: u64,
    end_line: u64,
    annotation_level: &'static str,
    title: String,
    message: String,
}

impl GitHub {
    /// Shows a status as a check run. The one of the same name on the commit is edited, so that
    /// sending twice leaves one.
    pub(super) async fn check(
        &self,
        repo: &Repo,
        status: &Status,
        by: Deadline,
    ) -> Result<(), Error> {
        let what = format!("the check of {}", status.commit);
        let mut url = self.url(&repo.full_name, &["commits", &status.commit, "check-runs"])?;
        url.query_pairs_mut().append_pair("check_name", &status.context);
        let known: Runs = self.read_one(&what, &repo.full_name, url, by).await?;
        let mut remarks = status.annotations.chunks(REMARKS);
        let first = Check::new(status, remarks.next().unwrap_or_default());
        let id = match known.check_runs.first() {
            Some(run) => {
                self.edit_check(&what, repo, run.id, &first, by).await?;
                run.id
            }
            None => {
                let first = Check { head_sha: Some(&status.commit), ..first };
                let call: (_, &[&str]) = (Method::POST, &["check-runs"]);
                let answer =
                    self.write(&what, repo, call, Some(&first), Content::Answer, by).await?;
                answer.parse::<Run>(&what)?.id
            }
        };
        for more in remarks {
            self.edit_check(&what, repo, id, &Check::new(status, more), by).await?;
        }
        Ok(())
    }

    async fn edit_check(
        &self,
        what: &str,
        repo: &Repo,
        id: u64,
        check: &Check<'_>,
        by: Deadline,
    ) -> Result<(), Error> {
        let id = id.to_string();
        let call: (_, &[&str]) = (Method::PATCH, &["check-runs", &id]);
        self.write(what, repo, call, Some(check), Content::Answer, by).await?;
        Ok(())
    }
}

impl<'a> Check<'a> {
    fn new(status: &'a Status, remarks: &'a [Annotation]) -> Self {
        let conclusion = match status.verdict {
            Verdict::Pending => None,
            Verdict::Success => Some("success"),
            Verdict::Neutral => Some("neutral"),
            Verdict::Failure => Some("failure"),
        };
        Self {
            name: &status.context,
            head_sha: None,
            status: if conclusion.is_some() { "completed" } else { "in_progress" },
            conclusion,
            details_url: status.url.as_deref(),
            output: Output {
                title: report::fit::clip(&status.title, TITLE).into_owned(),
                summary: report::fit::clip(&status.summary, SUMMARY).into_owned(),
                annotations: remarks.iter().map(Remark::new).collect(),
            },
        }
    }
}

impl<'a> Remark<'a> {
    fn new(annotation: &'a Annotation) -> Self {
        Self {
            path: &annotation.path,
            start_line: annotation.start,
            end_line: annotation.end,
            annotation_level: match annotation.level {
                AnnotationLevel::Notice => "notice",
                AnnotationLevel::Warning => "warning",
                AnnotationLevel::Failure => "failure",
            },
            title: report::fit::clip(&annotation.title, TITLE).into_owned(),
            message: report::fit::clip(&annotation.message, MESSAGE).into_owned(),
        }
    }
}
