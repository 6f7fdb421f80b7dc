//! Commit statuses, and the check runs that only Apps make.

use domain::Time;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Call, Query, missing, read};
use super::{refusal, refuse};
use crate::forge::{
    Access, Account, AccountKind, Annotation, Answer, Credential, FakeApp, FakeCheck, Refusal,
    StatusState,
};

/// How many annotations one request may bring.
const MOST_ANNOTATIONS: usize = 50;
const LONGEST_OUTPUT: usize = 65_535;
const LONGEST_DESCRIPTION: usize = 140;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewStatus {
    state: State,
    target_url: Option<String>,
    #[serde(default)]
    description: String,
    context: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Error,
    Failure,
    Pending,
    Success,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    name: Option<String>,
    head_sha: Option<String>,
    details_url: Option<String>,
    external_id: Option<String>,
    status: Option<CheckState>,
    started_at: Option<String>,
    conclusion: Option<Conclusion>,
    completed_at: Option<String>,
    output: Option<Output>,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum CheckState {
    Queued,
    InProgress,
    Completed,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Conclusion {
    ActionRequired,
    Cancelled,
    Failure,
    Neutral,
    Success,
    Skipped,
    TimedOut,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Output {
    title: Option<String>,
    summary: String,
    text: Option<String>,
    #[serde(default)]
    annotations: Vec<NewAnnotation>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewAnnotation {
    path: String,
    start_line: u64,
    end_line: u64,
    start_column: Option<u64>,
    end_column: Option<u64>,
    annotation_level: Level,
    message: String,
    title: Option<String>,
    raw_details: Option<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    Notice,
    Warning,
    Failure,
}

impl Call<'_> {
    pub(super) fn create_status(&mut self, commit: &str) -> Result<Answer, Answer> {
        self.need("statuses", Access::Write)?;
        let new: NewStatus = read(self.asked)?;
        if new.description.chars().count() > LONGEST_DESCRIPTION {
            let why = "description is too long (maximum is 140 characters)";
            return Err(refuse(422, why).violating(why));
        }
        let context = new.context.as_deref().unwrap_or("default");
        let said = (new.state.into(), new.description.as_str(), new.target_url.as_deref());
        let act = self.act();
        let status = self.model.set_status(self.repo, commit, context, said, act);
        let status = status.map_err(|why| match why {
            Refusal::Missing(_) => refuse(422, &format!("No commit found for SHA: {commit}")),
            why => refusal("Status", &why),
        })?;
        Ok(Answer::new(StatusCode::CREATED, self.view()?.status(&status)))
    }

    pub(super) fn list_statuses(&self, commit: &str) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[])?;
        let view = self.view()?;
        let newest_first = self.model.statuses(self.repo, commit).into_iter().rev();
        let all: Vec<Value> = newest_first.map(|status| view.status(status)).collect();
        Ok(self.page(&query, &format!("/commits/{commit}/statuses"), &all))
    }

    /// Answers with the newest status of each context.
    pub(super) fn combined_status(&self, commit: &str) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[])?;
        let view = self.view()?;
        let current = self.model.current_statuses(self.repo, commit);
        let any = |state| current.iter().any(|status| status.state == state);
        let state = match () {
            () if any(StatusState::Failure) || any(StatusState::Error) => "failure",
            () if current.is_empty() || any(StatusState::Pending) => "pending",
            () => "success",
        };
        let all: Vec<Value> = current.iter().map(|status| view.status(status)).collect();
        let own = format!("{}/repositories/{}/commits/{commit}", self.url, self.repo);
        let body = json!({
            "state": state,
            "sha": commit,
            "total_count": all.len(),
            "statuses": query.cut(&all),
            "repository": view.repository(),
            "commit_url": own,
            "url": format!("{own}/status"),
        });
        Ok(query.link(Answer::new(StatusCode::OK, body), &format!("{own}/status"), all.len()))
    }

    pub(super) fn create_check(&mut self) -> Result<Answer, Answer> {
        let app = self.checking_app()?;
        let new: Check = read(self.asked)?;
        let (Some(name), Some(commit)) = (new.name.clone(), new.head_sha.clone()) else {
            let why = "a check has a name and a commit";
            return Err(refuse(422, "Invalid request.").violating(why));
        };
        let mut check = FakeCheck {
            repo: self.repo,
            app: app.id,
            name,
            commit,
            status: "queued".to_owned(),
            ..FakeCheck::default()
        };
        apply(&mut check, new, self.now)?;
        let made = self.model.add_check(check).map_err(|why| match why {
            Refusal::Missing(what) => refuse(422, &format!("No commit found: {what}")),
            why => refusal("CheckRun", &why),
        })?;
        Ok(Answer::new(StatusCode::CREATED, self.view()?.check_run(&made, &app)))
    }

    pub(super) fn read_check(&self, id: u64) -> Result<Answer, Answer> {
        let check = self.model.check(self.repo, id).map_err(missing)?;
        let app = self.maker(check);
        Ok(Answer::new(StatusCode::OK, self.view()?.check_run(check, &app)))
    }

    pub(super) fn update_check(&mut self, id: u64) -> Result<Answer, Answer> {
        let app = self.checking_app()?;
        let edit: Check = read(self.asked)?;
        if edit.head_sha.is_some() {
            let why = "the commit of a check does not change";
            return Err(refuse(422, "Invalid request.").violating(why));
        }
        let mut check = self.model.check(self.repo, id).map_err(missing)?.clone();
        if check.app != app.id {
            let message = format!(
                "Invalid app_id `{}` - check run can only be modified by the GitHub App that created it.",
                app.id
            );
            return Err(refuse(403, &message));
        }
        apply(&mut check, edit, self.now)?;
        self.model.check_mut(self.repo, id).map_err(missing)?.clone_from(&check);
        Ok(Answer::new(StatusCode::OK, self.view()?.check_run(&check, &app)))
    }

    pub(super) fn list_checks(&self, commit: &str) -> Result<Answer, Answer> {
        let query = Query::read(
            self.asked,
            &[("check_name", &[]), ("filter", &["latest", "all"]), ("app_id", &[])],
        )?;
        let view = self.view()?;
        let wanted = |check: &&&FakeCheck| {
            query.filter("check_name").is_none_or(|name| check.name == name)
                && query.filter("app_id").is_none_or(|app| check.app.to_string() == app)
        };
        let checks = self.model.checks(self.repo, commit);
        let all: Vec<Value> = checks
            .iter()
            .filter(wanted)
            .map(|check| view.check_run(check, &self.maker(check)))
            .collect();
        let body = json!({"total_count": all.len(), "check_runs": query.cut(&all)});
        let path = format!("{}/repositories/{}/commits/{commit}/check-runs", self.url, self.repo);
        Ok(query.link(Answer::new(StatusCode::OK, body), &path, all.len()))
    }

    /// Returns the App that asks. A person's token makes no checks.
    fn checking_app(&self) -> Result<FakeApp, Answer> {
        match self.bearer.credential {
            Credential::Personal | Credential::ReadOnly => {
                Err(refuse(403, "You must authenticate via a GitHub App."))
            }
            Credential::Run { .. } => Ok(actions()),
            Credential::Installation(id) => {
                self.need("checks", Access::Write)?;
                let app = self.model.installation(id).map_err(missing)?.app;
                self.model.app(&app.to_string()).cloned().map_err(missing)
            }
        }
    }

    fn maker(&self, check: &FakeCheck) -> FakeApp {
        self.model.app(&check.app.to_string()).cloned().unwrap_or_else(|_| actions())
    }
}

/// The App behind the tokens of CI runs.
fn actions() -> FakeApp {
    let login = "github-actions[bot]".to_owned();
    FakeApp {
        id: 15_368,
        client_id: "Iv1.05c79e9ad1f6bdfa".to_owned(),
        slug: "github-actions".to_owned(),
        bot: Account { id: 41_898_282, login, kind: AccountKind::Bot },
        public_key: Vec::new(),
    }
}

/// Sets what the request names; annotations are added to those that are there.
fn apply(check: &mut FakeCheck, new: Check, now: Time) -> Result<(), Answer> {
    if new.status == Some(CheckState::Completed) && new.conclusion.is_none() {
        let why = "a check that is completed has a conclusion";
        return Err(refuse(422, "Invalid request.").violating(why));
    }
    check.name = new.name.unwrap_or_else(|| check.name.clone());
    check.details_url = new.details_url.or_else(|| check.details_url.take());
    check.external_id = new.external_id.or_else(|| check.external_id.take());
    check.started_at = moment(new.started_at)?.or(check.started_at).or(Some(now));
    if let Some(status) = new.status {
        status.word().clone_into(&mut check.status);
    }
    if let Some(conclusion) = new.conclusion {
        check.conclusion = Some(conclusion.word().to_owned());
        CheckState::Completed.word().clone_into(&mut check.status);
        check.completed_at = moment(new.completed_at)?.or(Some(now));
    }
    let Some(output) = new.output else { return Ok(()) };
    if output.annotations.len() > MOST_ANNOTATIONS {
        let why = format!("{} annotations in one request", output.annotations.len());
        return Err(refuse(422, "Invalid request.").violating(why));
    }
    let longest = output.text.iter().chain([&output.summary]).map(|text| text.chars().count());
    if longest.max() > Some(LONGEST_OUTPUT) {
        let why = "the output is too long";
        return Err(refuse(422, "Invalid request.").violating(why));
    }
    for annotation in output.annotations {
        check.annotations.push(annotation.checked()?);
    }
    (check.title, check.summary) = (output.title, Some(output.summary));
    check.text = output.text;
    Ok(())
}

impl NewAnnotation {
    fn checked(self) -> Result<Annotation, Answer> {
        let columns = self.start_column.is_some() || self.end_column.is_some();
        let why = match () {
            () if self.start_line == 0 || self.end_line < self.start_line => "its lines are wrong",
            () if columns && self.start_line != self.end_line => "columns of several lines",
            () if self.message.trim().is_empty() => "it has no message",
            () if self.message.len() > 64 * 1024 => "its message is too long",
            () if self.title.as_ref().is_some_and(|title| title.chars().count() > 255) => {
                "its title is too long"
            }
            () => {
                return Ok(Annotation {
                    path: self.path,
                    start_line: self.start_line,
                    end_line: self.end_line,
                    start_column: self.start_column,
                    end_column: self.end_column,
                    level: self.annotation_level.word().to_owned(),
                    message: self.message,
                    title: self.title,
                    raw_details: self.raw_details,
                });
            }
        };
        Err(refuse(422, "Invalid request.").violating(format!("an annotation: {why}")))
    }
}

impl From<State> for StatusState {
    fn from(state: State) -> Self {
        match state {
            State::Error => Self::Error,
            State::Failure => Self::Failure,
            State::Pending => Self::Pending,
            State::Success => Self::Success,
        }
    }
}

impl CheckState {
    fn word(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

impl Conclusion {
    fn word(self) -> &'static str {
        match self {
            Self::ActionRequired => "action_required",
            Self::Cancelled => "cancelled",
            Self::Failure => "failure",
            Self::Neutral => "neutral",
            Self::Success => "success",
            Self::Skipped => "skipped",
            Self::TimedOut => "timed_out",
        }
    }
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Failure => "failure",
        }
    }
}

fn moment(text: Option<String>) -> Result<Option<Time>, Answer> {
    let Some(text) = text else { return Ok(None) };
    match text.parse::<jiff::Timestamp>() {
        Ok(at) => Ok(Some(Time(at.as_millisecond()))),
        Err(_) => Err(refuse(422, "Invalid request.").violating(format!("no time: {text}"))),
    }
}
