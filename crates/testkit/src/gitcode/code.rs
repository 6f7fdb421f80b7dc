//! Branches, files, and the statuses of the older API.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{Method, StatusCode};
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Call, read};
use super::{not_found, refusal, refuse};
use crate::forge::{Answer, StatusState, commit, told_of};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewBranch {
    branch_name: String,
    refs: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    message: String,
    content: String,
    branch: Option<String>,
    sha: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewStatus {
    state: State,
    name: String,
    description: Option<String>,
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
}

impl Call<'_> {
    /// Creates a branch at a commit or at another branch.
    pub(super) fn create_branch(&mut self) -> Result<Answer, Answer> {
        let NewBranch { branch_name, refs } = read(self.asked)?;
        let named = self.model.branch(self.repo, &refs).map(|branch| branch.head.clone());
        let at = named.unwrap_or(refs);
        let act = self.act();
        let moved = self.model.create_branch(self.repo, &branch_name, &at, act);
        let moved = moved.map_err(refusal)?;
        let body = json!({"name": branch_name, "commit": {"sha": at}, "protected": false});
        self.tell(Answer::new(StatusCode::CREATED, body), told_of(moved))
    }

    pub(super) fn read_branch(&self, name: &str) -> Result<Answer, Answer> {
        let branch = self.model.branch(self.repo, name).map_err(refusal)?;
        let body = json!({
            "name": name,
            "commit": {"id": branch.head, "short_id": branch.head.get(..8)},
            "protected": branch.protected,
            "merged": false,
        });
        Ok(Answer::new(StatusCode::OK, body))
    }

    pub(super) fn read_file(&self, path: &str) -> Result<Answer, Answer> {
        let mut wanted = None;
        for (name, value) in self.asked.query() {
            if name != "ref" {
                let why = format!("the query {name}={value} means nothing here");
                return Err(refuse(400, &why).violating(why));
            }
            wanted = Some(value);
        }
        let repo = self.model.repo(self.repo).map_err(refusal)?;
        let wanted = wanted.as_deref().unwrap_or(&repo.default_branch);
        let branches = self.model.branches(self.repo).map_err(refusal)?;
        let found =
            branches.iter().find(|(name, branch)| name.as_str() == wanted || branch.head == wanted);
        let Some(content) = found.and_then(|(_, branch)| branch.files.get(path)) else {
            return Err(not_found());
        };
        let mut body = file(path, content);
        body["content"] = json!(STANDARD.encode(content));
        body["encoding"] = json!("base64");
        Ok(Answer::new(StatusCode::OK, body))
    }

    /// Creates a file by POST, replaces one by PUT.
    pub(super) fn write_file(&mut self, path: &str) -> Result<Answer, Answer> {
        let new: File = read(self.asked)?;
        let replaces = self.asked.method == Method::PUT;
        if replaces != new.sha.is_some() {
            let why = "a file is created without its sha and replaced with it";
            return Err(refuse(400, why).violating(why));
        }
        let Ok(content) = STANDARD.decode(&new.content) else {
            return Err(refuse(400, "content is not valid Base64").violating("no base64"));
        };
        let repo = self.model.repo(self.repo).map_err(refusal)?;
        let branch = new.branch.unwrap_or_else(|| repo.default_branch.clone());
        let act = self.act();
        let at = (path, content.as_slice());
        let moved = self.model.write_file(self.repo, &branch, at, new.sha.as_deref(), act);
        let moved = moved.map_err(refusal)?;
        let commit = json!({"sha": moved.after, "message": new.message});
        let body = json!({"content": file(path, &content), "commit": commit});
        let status = if replaces { StatusCode::OK } else { StatusCode::CREATED };
        self.tell(Answer::new(status, body), told_of(moved))
    }

    pub(super) fn create_status(self, commit: &str) -> Result<Answer, Answer> {
        let new: NewStatus = read(self.asked)?;
        let state = match new.state {
            State::Pending => StatusState::Pending,
            State::Running => StatusState::Running,
            State::Success => StatusState::Success,
            State::Failed => StatusState::Failure,
            State::Canceled => StatusState::Canceled,
        };
        let said = (state, new.description.as_deref().unwrap_or(""), new.target_url.as_deref());
        let act = self.act();
        let status = self.model.set_status(self.repo, commit, &new.name, said, act);
        let status = status.map_err(refusal)?;
        let body = json!({"id": status.id, "sha": commit, "name": status.context});
        Ok(Answer::new(StatusCode::CREATED, body))
    }
}

fn file(path: &str, content: &Vec<u8>) -> Value {
    let name = path.rsplit('/').next().unwrap_or(path);
    json!({"type": "file", "path": path, "name": name, "size": content.len(), "sha": commit(content)})
}
