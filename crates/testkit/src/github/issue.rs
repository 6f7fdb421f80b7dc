//! Issues, the conversation, reactions, and who may do what.

use forge::Permission;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::{Call, Query, missing, read};
use super::endpoint::On;
use super::{invalid, refusal, refuse, shape};
use crate::forge::{
    Access, Answer, CommentKind, FakeComment, Reacted, Spot, Target, What, thread_of,
};

/// The signs that GitHub knows.
const REACTIONS: [&str; 8] = ["+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Body {
    pub(super) body: String,
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
        body["permissions"] = shape::permissions(view.repo.permission(&self.bearer.account));
        Ok(Answer::new(StatusCode::OK, body))
    }

    pub(super) fn issue(&self, number: u64) -> Result<Answer, Answer> {
        let subject = self.subject(number)?;
        Ok(Answer::new(StatusCode::OK, self.view()?.issue(subject)))
    }

    pub(super) fn list(&mut self, number: u64) -> Result<Answer, Answer> {
        let query = Query::read(self.asked, &[("since", &[])])?;
        let (subject, kind) = (self.subject(number)?.id, CommentKind::Conversation);
        let listed = self.model.listing(subject, kind, &self.bearer.account, self.now);
        let listed = listed.map_err(missing)?;
        if query.page == 1 {
            self.model.count_listing(subject, kind);
        }
        let recent =
            |comment: &&FakeComment| query.since.is_none_or(|since| comment.updated_at >= since);
        let listed: Vec<Value> = listed
            .iter()
            .filter(recent)
            .map(|comment| self.shown(comment))
            .collect::<Result<_, _>>()?;
        Ok(self.page(&query, &format!("/issues/{number}/comments"), &listed))
    }

    pub(super) fn create(&mut self, number: u64) -> Result<Answer, Answer> {
        self.need("issues", Access::Write)?;
        let Body { body } = read(self.asked)?;
        let subject = self.subject(number)?.id;
        let act = self.act();
        let added = self.model.add_comment(subject, Spot::Conversation, &body, act);
        let comment = added.map_err(|why| refusal("IssueComment", &why))?;
        let answer = Answer::new(StatusCode::CREATED, self.shown(&comment)?);
        let on = self.subject(number)?.clone();
        self.tell(answer, [What::Commented { on, comment, thread: None }])
    }

    pub(super) fn comment(&self, kind: CommentKind, id: u64) -> Result<Answer, Answer> {
        let comment = self.model.comment(self.repo, kind, id).map_err(missing)?;
        if !self.model.is_visible(comment, &self.bearer.account) {
            return Err(super::not_found());
        }
        Ok(Answer::new(StatusCode::OK, self.shown(comment)?))
    }

    pub(super) fn edit(&mut self, kind: CommentKind, id: u64) -> Result<Answer, Answer> {
        self.need(permission_for(kind), Access::Write)?;
        let Body { body } = read(self.asked)?;
        let act = self.act();
        let edited = self.model.edit(self.repo, kind, id, &body, act);
        let (comment, before) = edited.map_err(|why| refusal("IssueComment", &why))?;
        let answer = Answer::new(StatusCode::OK, self.shown(&comment)?);
        let on = self.subject(comment.number)?.clone();
        let thread = thread_of(self.model, &comment);
        self.tell(answer, [What::CommentEdited { on, comment, thread, before }])
    }

    pub(super) fn delete(&mut self, kind: CommentKind, id: u64) -> Result<Answer, Answer> {
        self.need(permission_for(kind), Access::Write)?;
        let comment = self.model.comment(self.repo, kind, id).map_err(missing)?;
        let thread = thread_of(self.model, comment);
        let deleted = self.model.delete(self.repo, kind, id, &self.bearer.account);
        let comment = deleted.map_err(|why| refusal("IssueComment", &why))?;
        let on = self.subject(comment.number)?.clone();
        let answer = Answer::new(StatusCode::NO_CONTENT, Value::Null);
        self.tell(answer, [What::CommentDeleted { on, comment, thread }])
    }

    pub(super) fn react(&mut self, on: &On) -> Result<Answer, Answer> {
        self.need("issues", Access::Write)?;
        let Content { content } = read(self.asked)?;
        if !REACTIONS.contains(&content.as_str()) {
            let refused = invalid("Reaction", "invalid", "content", "content is not a reaction");
            return Err(refused.violating(format!("the reaction '{content}' does not exist")));
        }
        let target = match on {
            On::Subject(number) => Target::Subject(self.subject(*number)?.id),
            On::Comment(kind, id) => Target::Comment(*kind, *id),
        };
        let (reaction, reacted) =
            self.model.react(self.repo, target, &self.bearer.account, &content).map_err(missing)?;
        let status = match reacted {
            Reacted::Now => StatusCode::CREATED,
            Reacted::Before => StatusCode::OK,
        };
        Ok(Answer::new(status, self.view()?.reaction(&reaction)))
    }

    pub(super) fn permission(&self, login: &str) -> Result<Answer, Answer> {
        let repo = self.model.repo(self.repo).map_err(missing)?;
        if !repo.permission(&self.bearer.account).may_write() {
            return Err(refuse(403, "Must have push access to view collaborator permission."));
        }
        let Ok(user) = self.model.account(login) else {
            return Err(refuse(404, &format!("{login} is not a user")));
        };
        let permission = repo.permission(user);
        // GitHub folds the finer roles into four words and names the role beside them.
        let coarse = match permission {
            Permission::None => "none",
            Permission::Read | Permission::Triage => "read",
            Permission::Write | Permission::Maintain => "write",
            Permission::Admin => "admin",
        };
        let mut user = shape::account(user);
        user["role_name"] = json!(shape::role(permission));
        user["permissions"] = shape::permissions(permission);
        let body = json!({
            "permission": coarse,
            "role_name": shape::role(permission),
            "user": user,
        });
        Ok(Answer::new(StatusCode::OK, body))
    }
}

/// Returns the App's permission that a kind of comment needs.
fn permission_for(kind: CommentKind) -> &'static str {
    match kind {
        CommentKind::Conversation => "issues",
        CommentKind::Line => "pull_requests",
    }
}
