//! Branches, files, and the runs that are asked for.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::call::{Call, Query, missing, read};
use super::{not_found, refusal, refuse, shape, unprocessable};
use crate::forge::{Access, Answer, FakeRun, Refusal, What, commit, told_of};

/// How many inputs a workflow takes.
const MOST_INPUTS: usize = 25;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewRef {
    r#ref: String,
    sha: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RefMove {
    sha: String,
    #[serde(default)]
    force: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    message: String,
    content: String,
    branch: Option<String>,
    sha: Option<String>,
    author: Option<Person>,
    committer: Option<Person>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Person {
    name: String,
    email: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Workflow {
    r#ref: String,
    #[serde(default)]
    inputs: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dispatch {
    event_type: String,
    #[serde(default)]
    client_payload: Map<String, Value>,
}

impl Call<'_> {
    pub(super) fn create_ref(&mut self) -> Result<Answer, Answer> {
        self.need("contents", Access::Write)?;
        let NewRef { r#ref, sha } = read(self.asked)?;
        let Some(name) = r#ref.strip_prefix("refs/heads/") else {
            let why = "Reference name must start with 'refs/heads/'";
            return Err(refuse(422, why).violating(why));
        };
        let act = self.act();
        let moved = self.model.create_branch(self.repo, name, &sha, act);
        let moved = moved.map_err(|why| match why {
            Refusal::Taken(_) => refuse(422, "Reference already exists"),
            Refusal::Missing(_) => refuse(422, "Object does not exist"),
            why => refusal("Reference", &why),
        })?;
        let answer = Answer::new(StatusCode::CREATED, self.view()?.git_ref(name, &sha));
        self.tell(answer, told_of(moved))
    }

    pub(super) fn read_ref(&self, name: &str) -> Result<Answer, Answer> {
        let branch = self.model.branch(self.repo, name).map_err(missing)?;
        Ok(Answer::new(StatusCode::OK, self.view()?.git_ref(name, &branch.head)))
    }

    pub(super) fn read_branch(&self, name: &str) -> Result<Answer, Answer> {
        let Ok(branch) = self.model.branch(self.repo, name) else {
            return Err(refuse(404, "Branch not found"));
        };
        Ok(Answer::new(StatusCode::OK, self.view()?.branch(name, branch)))
    }

    pub(super) fn move_ref(&mut self, name: &str) -> Result<Answer, Answer> {
        self.need("contents", Access::Write)?;
        let RefMove { sha, force } = read(self.asked)?;
        let branch = self.model.branch(self.repo, name);
        let Ok(branch) = branch else { return Err(refuse(422, "Reference does not exist")) };
        if branch.protected {
            return Err(refuse(422, "Protected branch update failed"));
        }
        let act = self.act();
        let allowed = self.model.require_write(self.repo, act.by, "push");
        allowed.map_err(|why| refusal("Reference", &why))?;
        if !self.model.knows_commit(self.repo, &sha) {
            return Err(refuse(422, "Object does not exist"));
        }
        if !force && !self.model.is_fast_forward(self.repo, name, &sha) {
            return Err(refuse(422, "Update is not a fast forward"));
        }
        let moved = self.model.move_branch(self.repo, name, &sha, None, act).map_err(missing)?;
        let answer = Answer::new(StatusCode::OK, self.view()?.git_ref(name, &sha));
        self.tell(answer, told_of(moved))
    }

    pub(super) fn delete_ref(&mut self, name: &str) -> Result<Answer, Answer> {
        self.need("contents", Access::Write)?;
        let before = self.model.branch(self.repo, name).map(|branch| branch.head.clone()).ok();
        let act = self.act();
        self.model.delete_branch(self.repo, name, act).map_err(|why| match why {
            Refusal::Missing(_) => refuse(422, "Reference does not exist"),
            Refusal::Protected(_) => refuse(422, "Cannot delete protected branch"),
            why => refusal("Reference", &why),
        })?;
        let what = What::BranchMoved { branch: name.to_owned(), before, after: None };
        self.tell(Answer::new(StatusCode::NO_CONTENT, Value::Null), [what])
    }

    pub(super) fn read_file(&self, path: &str) -> Result<Answer, Answer> {
        let mut wanted = None;
        for (name, value) in self.asked.query() {
            if name != "ref" {
                let why = format!("the query {name}={value} means nothing here");
                return Err(refuse(422, &why).violating(why));
            }
            wanted = Some(value);
        }
        let repo = self.model.repo(self.repo).map_err(missing)?;
        let wanted = wanted.as_deref().unwrap_or(&repo.default_branch);
        let branches = self.model.branches(self.repo).map_err(missing)?;
        let found =
            branches.iter().find(|(name, branch)| name.as_str() == wanted || branch.head == wanted);
        let Some(content) = found.and_then(|(_, branch)| branch.files.get(path)) else {
            return Err(not_found());
        };
        Ok(Answer::new(StatusCode::OK, self.view()?.file(path, content)))
    }

    pub(super) fn write_file(&mut self, path: &str) -> Result<Answer, Answer> {
        self.need("contents", Access::Write)?;
        let file: File = read(self.asked)?;
        for person in file.author.iter().chain(&file.committer) {
            if person.name.is_empty() || person.email.is_empty() {
                let why = "an author without a name or an address";
                return Err(refuse(422, "Invalid request.").violating(why));
            }
        }
        let Ok(content) = STANDARD.decode(&file.content) else {
            return Err(refuse(422, "content is not valid Base64").violating("no base64"));
        };
        let repo = self.model.repo(self.repo).map_err(missing)?;
        let branch = file.branch.unwrap_or_else(|| repo.default_branch.clone());
        let Ok(found) = self.model.branch(self.repo, &branch) else {
            return Err(refuse(404, &format!("Branch {branch} not found")));
        };
        let before = found.files.get(path).map(commit);
        if before.is_some() && file.sha.is_none() {
            return Err(refuse(422, "Invalid request.\n\n\"sha\" wasn't supplied."));
        }
        let act = self.act();
        let written =
            self.model.write_file(self.repo, &branch, (path, &content), file.sha.as_deref(), act);
        let moved = written.map_err(|why| refusal("Contents", &why))?;
        let mut shown = self.view()?.file(path, &content);
        if let Value::Object(fields) = &mut shown {
            fields.retain(|name, _| !matches!(name.as_str(), "content" | "encoding"));
        }
        let wrote = self.view()?.file_commit(&moved.after, &file.message);
        let status = if before.is_some() { StatusCode::OK } else { StatusCode::CREATED };
        let answer = Answer::new(status, json!({"content": shown, "commit": wrote}));
        self.tell(answer, told_of(moved))
    }

    /// Starts a workflow of the repository.
    pub(super) fn dispatch_workflow(&mut self, workflow: &str) -> Result<Answer, Answer> {
        self.need("actions", Access::Write)?;
        let Workflow { r#ref, inputs } = read(self.asked)?;
        let known = workflow.ends_with(".yml") || workflow.ends_with(".yaml");
        if !known && workflow.parse::<u64>().is_err() {
            return Err(not_found().violating("a workflow is a file or a number"));
        }
        if inputs.len() > MOST_INPUTS {
            return Err(refuse(422, "Invalid request.").violating("more than 25 inputs"));
        }
        let branch = r#ref.strip_prefix("refs/heads/").unwrap_or(&r#ref).to_owned();
        let act = self.act();
        let started = self.model.start_run(self.repo, workflow, &branch, words(inputs), act);
        started.map_err(|why| match why {
            Refusal::Missing(_) => refuse(422, &format!("No ref found for: {branch}")),
            why => refusal("WorkflowDispatch", &why),
        })?;
        Ok(Answer::new(StatusCode::NO_CONTENT, Value::Null))
    }

    /// Lists the runs that were asked for, newest first.
    pub(super) fn runs(&self) -> Result<Answer, Answer> {
        let filters: [(&str, &[&str]); 3] = [("event", &[]), ("branch", &[]), ("actor", &[])];
        let query = Query::read(self.asked, &filters)?;
        let wanted = |run: &&FakeRun| {
            query.filter("branch").is_none_or(|branch| run.branch == branch)
                && query.filter("event").is_none_or(|event| shape::event_of(run) == event)
                && query.filter("actor").is_none_or(|login| run.by.login == login)
        };
        let view = self.view()?;
        let newest_first = self.model.runs(self.repo).into_iter().rev();
        let mut all = Vec::new();
        for run in newest_first.filter(wanted) {
            let head = self.model.branch(self.repo, &run.branch).map(|branch| &branch.head);
            all.push(view.run(run, head.map_or("", String::as_str)));
        }
        let body = json!({"total_count": all.len(), "workflow_runs": query.cut(&all)});
        let path = format!("{}/repositories/{}/actions/runs", self.url, self.repo);
        Ok(query.link(Answer::new(StatusCode::OK, body), &path, all.len()))
    }

    /// Sends an event that workflows may listen to.
    pub(super) fn dispatch(&mut self) -> Result<Answer, Answer> {
        self.need("contents", Access::Write)?;
        let Dispatch { event_type, client_payload } = read(self.asked)?;
        if event_type.chars().count() > 100 || client_payload.len() > 10 {
            return Err(refuse(422, "Invalid request.").violating("the event is too large"));
        }
        let branch = self.model.repo(self.repo).map_err(missing)?.default_branch.clone();
        let act = self.act();
        let started =
            self.model.start_run(self.repo, &event_type, &branch, words(client_payload), act);
        started.map_err(|why| match why {
            Refusal::Forbidden { .. } => not_found(),
            why => unprocessable(&why.to_string()),
        })?;
        Ok(Answer::new(StatusCode::NO_CONTENT, Value::Null))
    }
}

fn words(values: Map<String, Value>) -> BTreeMap<String, String> {
    let word = |value: Value| match value {
        Value::String(text) => text,
        other => other.to_string(),
    };
    values.into_iter().map(|(name, value)| (name, word(value))).collect()
}
