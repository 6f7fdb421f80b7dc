//! Issues, the conversation, reactions, and who may do what.

use forge::Permission;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Call, Linked, Query, missing, read};
use super::endpoint::On;
use super::{not_found, refusal, refuse, shape};
use crate::forge::{
    AccountKind, Answer, CommentKind, FakeComment, FakeSubject, Reacted, Spot, Target, What,
    thread_of,
};

/// The signs that a server knows unless it was set up otherwise.
const REACTIONS: [&str; 8] = ["+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Body {
    body: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    content: String,
}

impl Call<'_> {
    pub(super) fn repository(&self) -> Result<Answer, Answer> {
        let view = self.view()?;
        let mut body = view.repository();
        let permission = view.repo.permission(&self.bearer.account);
        body["permissions"] = json!({
            "admin": permission >= Permission::Admin,
            "push": permission.may_write(),
            "pull": permission >= Permission::Read,
        });
        Ok(Answer::new(StatusCode::OK, body))
    }

    pub(super) fn issues(&mut self) -> Result<Answer, Answer> {
        let query = Query::read(
            self.asked,
            &[
                ("type", &["issues", "pulls"]),
                ("state", &["open", "closed", "all"]),
                ("assigned_by", &[]),
                ("since", &[]),
            ],
        )?;
        let wanted = |subject: &FakeSubject| {
            let of_type = match query.filter("type") {
                Some("issues") => subject.change.is_none(),
                Some(_) => subject.change.is_some(),
                None => true,
            };
            let assigned = query.filter("assigned_by").is_none_or(|login| {
                subject.assignees.iter().any(|account| account.login.eq_ignore_ascii_case(login))
            });
            of_type && assigned && query.since.is_none_or(|since| subject.updated_at >= since)
        };
        let listed = self.listed(&query, wanted);
        let view = self.view()?;
        let all: Vec<Value> = listed.iter().map(|subject| view.issue(subject)).collect();
        let count = all.len();
        Ok(self.page(&query, all, count, Linked::Yes))
    }

    pub(super) fn issue(&self, number: u64) -> Result<Answer, Answer> {
        let subject = self.subject(number)?;
        Ok(Answer::new(StatusCode::OK, self.view()?.issue(subject)))
    }

    /// Lists the conversation. It comes whole: pages mean nothing here.
    pub(super) fn comments(&mut self, number: u64) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[("since", &[])])?;
        let (subject, kind) = (self.subject(number)?.clone(), CommentKind::Conversation);
        let listed = self.model.listing(subject.id, kind, &self.bearer.account, self.now);
        let mut listed = listed.map_err(missing)?;
        self.model.count_listing(subject.id, kind);
        listed.retain(|comment| query.since.is_none_or(|since| comment.updated_at >= since));
        let view = self.view()?;
        let all: Vec<Value> =
            listed.iter().map(|comment| view.comment(comment, &subject)).collect();
        let count = all.len().to_string();
        Ok(Answer::new(StatusCode::OK, Value::Array(all)).with("x-total-count", &count))
    }

    pub(super) fn create_comment(&mut self, number: u64) -> Result<Answer, Answer> {
        self.need_write("issue")?;
        let Body { body } = read(self.asked)?;
        let subject = self.subject(number)?.id;
        let act = self.act();
        let added = self.model.add_comment(subject, Spot::Conversation, &body, act);
        let comment = added.map_err(|why| refusal(&why))?;
        let on = self.subject(number)?.clone();
        let answer = Answer::new(StatusCode::CREATED, self.view()?.comment(&comment, &on));
        self.tell(answer, [What::Commented { on, comment, thread: None }])
    }

    /// Reads a comment. For an inline one the server says that it is there, and nothing else.
    pub(super) fn comment(&self, id: u64) -> Result<Answer, Answer> {
        let comment = self.any_comment(id)?;
        match comment.kind() {
            CommentKind::Line => Ok(Answer::new(StatusCode::NO_CONTENT, Value::Null)),
            CommentKind::Conversation => {
                let on = self.subject(comment.number)?;
                Ok(Answer::new(StatusCode::OK, self.view()?.comment(&comment, on)))
            }
        }
    }

    pub(super) fn edit_comment(&mut self, id: u64) -> Result<Answer, Answer> {
        self.need_write("issue")?;
        let Body { body } = read(self.asked)?;
        let kind = self.any_comment(id)?.kind();
        let act = self.act();
        let edited = self.model.edit(self.repo, kind, id, &body, act);
        let (comment, before) = edited.map_err(|why| refusal(&why))?;
        let on = self.subject(comment.number)?.clone();
        let answer = Answer::new(StatusCode::OK, self.view()?.comment(&comment, &on));
        let thread = thread_of(self.model, &comment);
        self.tell(answer, [What::CommentEdited { on, comment, thread, before }])
    }

    pub(super) fn delete_comment(&mut self, id: u64) -> Result<Answer, Answer> {
        self.need_write("issue")?;
        let comment = self.any_comment(id)?;
        let thread = thread_of(self.model, &comment);
        let deleted = self.model.delete(self.repo, comment.kind(), id, &self.bearer.account);
        let comment = deleted.map_err(|why| refusal(&why))?;
        let on = self.subject(comment.number)?.clone();
        let answer = Answer::new(StatusCode::NO_CONTENT, Value::Null);
        self.tell(answer, [What::CommentDeleted { on, comment, thread }])
    }

    pub(super) fn react(&mut self, on: &On) -> Result<Answer, Answer> {
        self.need_write("issue")?;
        let Content { content } = read(self.asked)?;
        if !REACTIONS.contains(&content.as_str()) {
            let refused = refuse(403, &format!("'{content}' is not an allowed reaction"));
            return Err(refused.violating(format!("the reaction '{content}' does not exist")));
        }
        let target = match on {
            On::Subject(number) => Target::Subject(self.subject(*number)?.id),
            On::Comment(id) => Target::Comment(self.any_comment(*id)?.kind(), *id),
        };
        let (reaction, reacted) =
            self.model.react(self.repo, target, &self.bearer.account, &content).map_err(missing)?;
        let status = match reacted {
            Reacted::Now => StatusCode::CREATED,
            Reacted::Before => StatusCode::OK,
        };
        Ok(Answer::new(status, shape::reaction(&reaction)))
    }

    /// Tells what somebody may do, to those who administer the repository or ask for themselves.
    pub(super) fn permission(&self, login: &str) -> Result<Answer, Answer> {
        let repo = self.model.repo(self.repo).map_err(missing)?;
        let asker = &self.bearer.account;
        if repo.permission(asker) < Permission::Admin && !asker.login.eq_ignore_ascii_case(login) {
            let why = "Only admins can query all permissions, repo admins can query all repo \
                       permissions, collaborators can query only their own";
            return Err(refuse(403, why));
        }
        let Ok(user) = self.model.account(login) else {
            return Err(refuse(404, &format!("user does not exist [uid: 0, name: {login}]")));
        };
        let word = match repo.permission(user) {
            _ if user.id == repo.owner.id => "owner",
            Permission::None => "none",
            Permission::Read | Permission::Triage => "read",
            Permission::Write | Permission::Maintain => "write",
            Permission::Admin => "admin",
        };
        let body = json!({"permission": word, "role_name": word, "user": shape::account(user)});
        Ok(Answer::new(StatusCode::OK, body))
    }

    pub(super) fn teams(&self) -> Result<Answer, Answer> {
        match self.model.repo(self.repo).map_err(missing)?.owner.kind {
            AccountKind::Organization => Ok(Answer::new(StatusCode::OK, json!([]))),
            AccountKind::Person | AccountKind::Bot => {
                Err(refuse(405, "repo is not owned by an organization"))
            }
        }
    }

    /// Lists everybody who may write, all at once.
    pub(super) fn assignees(&self) -> Result<Answer, Answer> {
        Query::read(self.asked, &[])?;
        let repo = self.model.repo(self.repo).map_err(missing)?;
        let writers = self.model.accounts().filter(|account| repo.permission(account).may_write());
        Ok(Answer::new(StatusCode::OK, writers.map(shape::account).collect()))
    }

    /// Returns what a listing shows, newest first unless it was asked for otherwise.
    pub(super) fn listed(
        &mut self,
        query: &Query,
        wanted: impl Fn(&FakeSubject) -> bool,
    ) -> Vec<FakeSubject> {
        if query.page == 1 {
            self.model.count_subjects_listing(self.repo);
        }
        let open = match query.filter("state") {
            None | Some("open") => Some(true),
            Some("closed") => Some(false),
            Some(_) => None,
        };
        let mut listed: Vec<FakeSubject> = self
            .model
            .subjects(self.repo, self.now)
            .into_iter()
            .filter(|subject| open.is_none_or(|open| subject.open == open) && wanted(subject))
            .cloned()
            .collect();
        match query.filter("sort") {
            Some("recentupdate") => {
                listed.sort_by_key(|subject| (subject.updated_at, subject.number));
                listed.reverse();
            }
            Some(_) => listed.sort_by_key(|subject| subject.number),
            None => listed.sort_by_key(|subject| std::cmp::Reverse(subject.number)),
        }
        listed
    }

    /// Returns the comment of whichever kind: their ids are counted in one row.
    fn any_comment(&self, id: u64) -> Result<FakeComment, Answer> {
        let kinds = [CommentKind::Conversation, CommentKind::Line];
        let found = kinds.into_iter().find_map(|kind| self.model.comment(self.repo, kind, id).ok());
        let visible = found.filter(|it| self.model.is_visible(it, &self.bearer.account));
        visible.cloned().ok_or_else(not_found)
    }
}
