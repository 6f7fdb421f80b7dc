//! Branches, files, statuses, and the runs that are asked for.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Call, Query, missing, read};
use super::{not_found, refusal, refuse};
use crate::forge::{Answer, Refusal, StatusState, commit, told_of};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewBranch {
    new_branch_name: String,
    old_ref_name: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    content: String,
    #[serde(default)]
    message: String,
    branch: Option<String>,
    sha: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewStatus {
    state: State,
    target_url: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    context: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Pending,
    Success,
    Error,
    Failure,
    Warning,
    Skipped,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dispatch {
    r#ref: String,
    #[serde(default)]
    inputs: BTreeMap<String, String>,
}

impl Call<'_> {
    pub(super) fn create_branch(&mut self) -> Result<Answer, Answer> {
        self.need_write("repository")?;
        let NewBranch { new_branch_name: name, old_ref_name } = read(self.asked)?;
        let at = match self.model.branch(self.repo, &old_ref_name) {
            Ok(branch) => branch.head.clone(),
            Err(_) => old_ref_name,
        };
        let act = self.act();
        let moved = self.model.create_branch(self.repo, &name, &at, act);
        let moved = moved.map_err(|why| match why {
            Refusal::Taken(_) => refuse(409, "The branch already exists."),
            Refusal::Missing(_) => refuse(500, ""),
            why => refusal(&why),
        })?;
        let answer = Answer::new(StatusCode::CREATED, self.shown_branch(&name)?);
        self.tell(answer, told_of(moved))
    }

    pub(super) fn branch(&self, name: &str) -> Result<Answer, Answer> {
        Ok(Answer::new(StatusCode::OK, self.shown_branch(name)?))
    }

    pub(super) fn read_file(&self, path: &str) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[("ref", &[])])?;
        let repo = self.model.repo(self.repo).map_err(missing)?;
        let wanted = query.filter("ref").unwrap_or(&repo.default_branch);
        let branches = self.model.branches(self.repo).map_err(missing)?;
        let mut fitting =
            branches.iter().filter(|(name, branch)| *name == wanted || branch.head == wanted);
        let Some(content) = fitting.find_map(|(_, branch)| branch.files.get(path)) else {
            return Err(not_found());
        };
        Ok(Answer::new(StatusCode::OK, self.view()?.file(path, content)))
    }

    pub(super) fn create_file(&mut self, path: &str) -> Result<Answer, Answer> {
        self.write_file(path, |file, stands| match (stands, &file.sha) {
            (true, _) => Err(refuse(422, "repository file already exists")),
            (false, Some(_)) => Err(refuse(422, "").violating("a new file replaces nothing")),
            (false, None) => Ok(StatusCode::CREATED),
        })
    }

    pub(super) fn update_file(&mut self, path: &str) -> Result<Answer, Answer> {
        self.write_file(path, |file, stands| match (stands, &file.sha) {
            (false, _) => Err(refuse(404, "repository file does not exist")),
            (true, None) => Err(refuse(422, "[SHA]: Required").violating("the blob is not named")),
            (true, Some(_)) => Ok(StatusCode::OK),
        })
    }

    fn write_file(
        &mut self,
        path: &str,
        check: impl Fn(&File, bool) -> Result<StatusCode, Answer>,
    ) -> Result<Answer, Answer> {
        self.need_write("repository")?;
        let file: File = read(self.asked)?;
        let Ok(content) = STANDARD.decode(&file.content) else {
            return Err(refuse(422, "illegal base64 data").violating("no base64"));
        };
        let repo = self.model.repo(self.repo).map_err(missing)?;
        let branch = file.branch.clone().unwrap_or_else(|| repo.default_branch.clone());
        let found = self.model.branch(self.repo, &branch).map_err(missing)?;
        let status = check(&file, found.files.contains_key(path))?;
        let act = self.act();
        let sha = file.sha.as_deref();
        let written = self.model.write_file(self.repo, &branch, (path, &content), sha, act);
        let moved = written.map_err(|why| match why {
            Refusal::Stale(_) => refuse(422, "sha does not match"),
            why => refusal(&why),
        })?;
        let view = self.view()?;
        let wrote = json!({"sha": moved.after, "message": file.message});
        let answer =
            Answer::new(status, json!({"content": view.file(path, &content), "commit": wrote}));
        self.tell(answer, told_of(moved))
    }

    pub(super) fn create_status(&mut self, commit: &str) -> Result<Answer, Answer> {
        self.need_write("repository")?;
        let new: NewStatus = read(self.asked)?;
        let context = if new.context.is_empty() { "default" } else { &new.context };
        let said = (new.state.into(), new.description.as_str(), new.target_url.as_deref());
        let act = self.act();
        let status = self.model.set_status(self.repo, commit, context, said, act);
        let status = status.map_err(|why| refusal(&why))?;
        Ok(Answer::new(StatusCode::CREATED, self.view()?.status(&status)))
    }

    pub(super) fn dispatch(&mut self, workflow: &str) -> Result<Answer, Answer> {
        self.need_write("repository")?;
        let Dispatch { r#ref, inputs } = read(self.asked)?;
        if !(workflow.ends_with(".yml") || workflow.ends_with(".yaml")) {
            return Err(not_found().violating("a workflow is a file"));
        }
        let branch = r#ref.strip_prefix("refs/heads/").unwrap_or(&r#ref).to_owned();
        let act = self.act();
        let started = self.model.start_run(self.repo, workflow, &branch, inputs, act);
        started.map_err(|why| refusal(&why))?;
        Ok(Answer::new(StatusCode::NO_CONTENT, Value::Null))
    }

    /// Lists runs, newest first. Their titles are what a careful workflow sets them to.
    pub(super) fn runs(&self) -> Result<Answer, Answer> {
        Query::read(self.asked, &[("event", &[])])?;
        let runs: Vec<Value> = self
            .model
            .runs(self.repo)
            .into_iter()
            .rev()
            .map(|run| {
                let words: Vec<&str> = run.variables.values().map(String::as_str).collect();
                json!({
                    "id": run.id,
                    "display_title": format!("run {}", words.join(" ")),
                    "path": format!("{}@refs/heads/{}", run.workflow, run.branch),
                    "event": "workflow_dispatch",
                    "head_branch": run.branch,
                    "status": "queued",
                })
            })
            .collect();
        let body = json!({"total_count": runs.len(), "workflow_runs": runs});
        Ok(Answer::new(StatusCode::OK, body))
    }

    fn shown_branch(&self, name: &str) -> Result<Value, Answer> {
        let branch = self.model.branch(self.repo, name).map_err(missing)?;
        Ok(json!({
            "name": name,
            "commit": {"id": branch.head, "message": format!("A commit on {name}")},
            "protected": branch.protected,
            "required_approvals": 0,
            "enable_status_check": false,
            "status_check_contexts": [],
            "user_can_push": !branch.protected,
            "user_can_merge": !branch.protected,
            "effective_branch_protection_name": if branch.protected { name } else { "" },
        }))
    }
}

impl From<State> for StatusState {
    fn from(state: State) -> Self {
        match state {
            State::Pending => Self::Pending,
            State::Success => Self::Success,
            State::Error => Self::Error,
            State::Failure => Self::Failure,
            State::Warning => Self::Warning,
            State::Skipped => Self::Skipped,
        }
    }
}

/// Returns the name of a file's content.
pub(super) fn blob(content: &[u8]) -> String {
    commit(content)
}
