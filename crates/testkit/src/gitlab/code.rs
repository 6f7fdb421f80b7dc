//! Branches, files, commit statuses and pipelines.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Call, Query, missing, read};
use super::{not_found, refusal, refuse, refuse_with};
use crate::forge::{Answer, Refusal, StatusState, commit, told_of};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewBranch {
    branch: String,
    r#ref: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    branch: String,
    commit_message: String,
    content: String,
    encoding: Option<Encoding>,
    last_commit_id: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    Text,
    Base64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewStatus {
    state: State,
    r#ref: Option<String>,
    name: Option<String>,
    context: Option<String>,
    #[serde(default)]
    description: String,
    target_url: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Pending,
    Running,
    Success,
    Failed,
    Canceled,
    Skipped,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewPipeline {
    r#ref: String,
    #[serde(default)]
    variables: Vec<Variable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Variable {
    key: String,
    value: String,
}

impl Call<'_> {
    pub(super) fn create_branch(&mut self) -> Result<Answer, Answer> {
        let NewBranch { branch, r#ref } = read(self.asked)?;
        let act = self.act();
        let moved = self.model.create_branch(self.repo, &branch, &r#ref, act);
        let moved = moved.map_err(|why| match why {
            Refusal::Taken(_) => refuse(400, "Branch already exists"),
            Refusal::Missing(_) => refuse(400, "Invalid reference name: does not exist"),
            why => refusal("Branch", &why),
        })?;
        let found = self.model.branch(self.repo, &branch).map_err(missing)?;
        let answer = Answer::new(StatusCode::CREATED, self.view()?.branch(&branch, found));
        self.tell(answer, told_of(moved))
    }

    pub(super) fn read_branch(&self, name: &str) -> Result<Answer, Answer> {
        let found = self.model.branch(self.repo, name).map_err(|_| not_found("Branch"))?;
        Ok(Answer::new(StatusCode::OK, self.view()?.branch(name, found)))
    }

    pub(super) fn read_file(&self, path: &str) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[("ref", &[])])?;
        let Some(wanted) = query.filter("ref") else {
            return Err(refuse(400, "ref is missing").violating("no ref"));
        };
        let found = self.model.branch(self.repo, wanted).map_err(|_| not_found("Commit"))?;
        let content = found.files.get(path).ok_or_else(|| not_found("File"))?;
        let body = json!({
            "file_name": path.rsplit('/').next(),
            "file_path": path,
            "size": content.len(),
            "encoding": "base64",
            "content": STANDARD.encode(content),
            "content_sha256": "",
            "ref": wanted,
            "blob_id": commit(content),
            "commit_id": found.head,
            "last_commit_id": found.head,
            "execute_filemode": false,
        });
        Ok(Answer::new(StatusCode::OK, body))
    }

    /// `POST` creates, `PUT` replaces; neither does the other.
    pub(super) fn write_file(&mut self, path: &str) -> Result<Answer, Answer> {
        let file: File = read(self.asked)?;
        let content = match file.encoding.unwrap_or(Encoding::Text) {
            Encoding::Text => file.content.into_bytes(),
            Encoding::Base64 => STANDARD
                .decode(&file.content)
                .map_err(|_| refuse(400, "400 Bad request").violating("no base64"))?,
        };
        if file.commit_message.trim().is_empty() {
            return Err(refuse(400, "commit_message is empty").violating("no commit message"));
        }
        let Ok(found) = self.model.branch(self.repo, &file.branch) else {
            return Err(refuse(400, "You can only create or edit files when you are on a branch"));
        };
        let before = found.files.get(path).map(commit);
        match (&self.asked.method, &before) {
            (&Method::POST, Some(_)) => {
                return Err(refuse(400, "A file with this name already exists"));
            }
            (&Method::PUT, None) => return Err(refuse(400, "A file with this name doesn't exist")),
            _ => {}
        }
        if file.last_commit_id.as_ref().is_some_and(|id| *id != found.head) {
            return Err(refusal("File", &Refusal::Stale(path.to_owned())));
        }
        let act = self.act();
        let written = self.model.write_file(
            self.repo,
            &file.branch,
            (path, &content),
            before.as_deref(),
            act,
        );
        let moved = written.map_err(|why| refusal("File", &why))?;
        let status = if before.is_some() { StatusCode::OK } else { StatusCode::CREATED };
        let answer = Answer::new(status, json!({"file_path": path, "branch": file.branch}));
        self.tell(answer, told_of(moved))
    }

    /// A state that stands already is refused, as is a commit that stands on no branch.
    pub(super) fn create_status(&mut self, sha: &str) -> Result<Answer, Answer> {
        let new: NewStatus = read(self.asked)?;
        if !self.model.knows_commit(self.repo, sha) {
            return Err(not_found("Commit"));
        }
        if new.r#ref.is_none() && self.branch_with(sha).is_none() {
            return Err(not_found("References for commit"));
        }
        if new.description.chars().count() > 255 {
            let why = "is too long (maximum is 255 characters)";
            return Err(refuse_with(400, json!({"description": [why]})).violating(why));
        }
        let name = new.name.or(new.context).unwrap_or_else(|| "default".to_owned());
        let state = match new.state {
            State::Pending => StatusState::Pending,
            State::Running => StatusState::Running,
            State::Success => StatusState::Success,
            State::Failed => StatusState::Failure,
            State::Canceled => StatusState::Canceled,
            State::Skipped => StatusState::Skipped,
        };
        let current = self.model.current_statuses(self.repo, sha);
        let waits = current.iter().find(|status| {
            status.context == name
                && matches!(status.state, StatusState::Pending | StatusState::Running)
        });
        if let (Some(before), StatusState::Pending) = (waits, state) {
            let before = before.state.word();
            return Err(refuse(
                400,
                &format!(
                    "Cannot transition status via :enqueue from :{before} (Reason(s): Status \
                     cannot transition via \"enqueue\")"
                ),
            ));
        }
        let act = self.act();
        let said = (state, new.description.as_str(), new.target_url.as_deref());
        let set = self.model.set_status(self.repo, sha, &name, said, act);
        let status = set.map_err(|why| refusal("Commit", &why))?;
        Ok(Answer::new(StatusCode::CREATED, self.view()?.status(&status)))
    }

    pub(super) fn list_statuses(&self, sha: &str) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[])?;
        let view = self.view()?;
        let current = self.model.current_statuses(self.repo, sha);
        let shown: Vec<Value> = current.into_iter().map(|status| view.status(status)).collect();
        Ok(self.page(&query, &format!("/repository/commits/{sha}/statuses"), &shown))
    }

    pub(super) fn start_pipeline(&mut self) -> Result<Answer, Answer> {
        let NewPipeline { r#ref, variables } = read(self.asked)?;
        let variables: BTreeMap<String, String> =
            variables.into_iter().map(|Variable { key, value }| (key, value)).collect();
        let act = self.act();
        let started = self.model.start_run(self.repo, "", &r#ref, variables, act);
        let run = started.map_err(|why| match why {
            Refusal::Missing(_) => refuse_with(400, json!({"base": ["Reference not found"]})),
            why => refusal("Pipeline", &why),
        })?;
        Ok(Answer::new(StatusCode::CREATED, self.view()?.pipeline(&run)))
    }

    pub(super) fn list_pipelines(&self) -> Result<Answer, Answer> {
        let known: &[(&str, &[&str])] = &[
            ("ref", &[]),
            ("username", &[]),
            ("updated_after", &[]),
            ("order_by", &["id"]),
            ("sort", &["desc"]),
        ];
        let query = Query::read(self.asked, known)?;
        query.moment("updated_after")?;
        let view = self.view()?;
        let mut runs = self.model.runs(self.repo);
        runs.retain(|run| {
            query.filter("ref").is_none_or(|branch| run.branch == branch)
                && query.filter("username").is_none_or(|name| run.by.login == name)
        });
        let shown: Vec<Value> = runs.into_iter().rev().map(|run| view.pipeline(run)).collect();
        Ok(self.page(&query, "/pipelines", &shown))
    }

    pub(super) fn variables(&self, id: u64) -> Result<Answer, Answer> {
        let runs = self.model.runs(self.repo);
        let run = runs.into_iter().find(|run| run.id == id).ok_or_else(|| not_found("Pipeline"))?;
        let shown = run.variables.iter().map(|(key, value)| {
            json!({"variable_type": "env_var", "key": key, "value": value, "raw": false})
        });
        Ok(Answer::new(StatusCode::OK, Value::Array(shown.collect())))
    }
}
