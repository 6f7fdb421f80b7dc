//! A person on the forge: acts and looks over its API with their own token, as a browser would.
//!
//! Nothing of the product is used here, so that what a person sees is no echo of what we believe.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use domain::{AccountId, Actor};
use http::{Method, StatusCode};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use url::Url;

/// The repository of all stories.
pub(super) const OWNER: &str = "maintainer";
pub(super) const NAME: &str = "project";

/// How long one request may take.
const LONGEST_REQUEST: Duration = Duration::from_secs(30);

/// Somebody with an account.
#[derive(Clone, Debug)]
pub(super) struct Person {
    pub(super) login: String,
    pub(super) token: SecretString,
    site: Url,
    client: reqwest::Client,
}

/// A comment as the forge shows it, in a conversation or on a line.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Comment {
    pub(super) id: u64,
    pub(super) body: String,
    pub(super) user: User,
    #[serde(default)]
    pub(super) path: String,
    /// The line of the new side, or 0.
    #[serde(default)]
    pub(super) position: u64,
    /// The line of the old side, or 0.
    #[serde(default)]
    pub(super) original_position: u64,
    /// The code that the forge shows above it.
    #[serde(default)]
    pub(super) diff_hunk: String,
    /// Who settled the conversation.
    #[serde(default)]
    pub(super) resolver: Option<User>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct User {
    pub(super) id: i64,
    pub(super) login: String,
}

impl User {
    pub(super) fn into_actor(self) -> Actor {
        Actor { id: Some(AccountId(self.id)), login: self.login, bot: false }
    }
}

/// A change as the forge shows it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Change {
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) draft: bool,
    pub(super) head: Head,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Head {
    pub(super) sha: String,
}

/// A review as the forge shows it to its author.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Review {
    pub(super) id: u64,
    pub(super) state: String,
    pub(super) user: User,
    pub(super) comments_count: u64,
}

#[derive(Debug, Deserialize)]
struct Numbered {
    number: u64,
}

#[derive(Debug, Deserialize)]
struct Made {
    sha1: String,
}

/// Makes the client of everybody here: it follows nothing and goes through no proxy.
pub(super) fn client() -> Result<reqwest::Client> {
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .timeout(LONGEST_REQUEST)
        .build()
        .context("cannot make an HTTP client")
}

impl Person {
    /// Somebody who has a token already.
    pub(super) fn with_token(site: &Url, login: &str, token: SecretString) -> Result<Self> {
        Ok(Self { login: login.to_owned(), token, site: site.clone(), client: client()? })
    }

    /// Creates an account, as an administrator does, and its token with these scopes, as its owner
    /// does.
    pub(super) async fn register(&self, login: &str, scopes: &[&str]) -> Result<Self> {
        let password = uuid::Uuid::new_v4().to_string();
        let account = json!({
            "username": login,
            "email": format!("{login}@forge.example"),
            "password": password,
            "must_change_password": false,
        });
        let _created: User = self.does(Method::POST, "admin/users", Some(&account)).await?;
        let answer = self
            .client
            .post(self.address(&format!("users/{login}/tokens"))?)
            .basic_auth(login, Some(&password))
            .json(&json!({ "name": "story", "scopes": scopes }))
            .send()
            .await?;
        let made: Made = read("a new token", answer).await?;
        Self::with_token(&self.site, login, made.sha1.into())
    }

    pub(super) async fn sees_themselves(&self) -> Result<User> {
        self.does(Method::GET, "user", None).await
    }

    pub(super) async fn sees_version(&self) -> Result<String> {
        #[derive(Deserialize)]
        struct Version {
            version: String,
        }
        let answer: Version = self.does(Method::GET, "version", None).await?;
        Ok(answer.version)
    }

    /// Creates the repository of the stories, with nothing in it.
    pub(super) async fn creates_repository(&self) -> Result<()> {
        let wish = json!({ "name": NAME, "private": false, "auto_init": false });
        self.does::<Value>(Method::POST, "user/repos", Some(&wish)).await.map(drop)
    }

    /// Lets somebody take part in the repository.
    pub(super) async fn invites(&self, login: &str, permission: &str) -> Result<()> {
        let wish = json!({ "permission": permission });
        self.done(Method::PUT, &here(&format!("collaborators/{login}")), Some(&wish)).await
    }

    /// Asks the forge to deliver everything that the product understands.
    pub(super) async fn hooks(&self, url: &str, secret: &SecretString) -> Result<u64> {
        #[derive(Deserialize)]
        struct Hook {
            id: u64,
        }
        let wish = json!({
            "type": "gitea",
            "active": true,
            "events": [
                "push", "issues", "issue_assign", "issue_comment", "pull_request",
                "pull_request_assign", "pull_request_comment", "pull_request_review",
                "pull_request_sync",
            ],
            "config": {
                "url": url,
                "content_type": "json",
                "secret": secret.expose_secret(),
            },
        });
        let hook: Hook = self.does(Method::POST, &here("hooks"), Some(&wish)).await?;
        Ok(hook.id)
    }

    pub(super) async fn removes_hook(&self, id: u64) -> Result<()> {
        self.done(Method::DELETE, &here(&format!("hooks/{id}")), None).await
    }

    pub(super) async fn opens_issue(&self, title: &str, body: &str) -> Result<u64> {
        let wish = json!({ "title": title, "body": body });
        let issue: Numbered = self.does(Method::POST, &here("issues"), Some(&wish)).await?;
        Ok(issue.number)
    }

    pub(super) async fn opens_change(&self, title: &str, head: &str) -> Result<Change> {
        let wish = json!({ "title": title, "body": "", "head": head, "base": "main" });
        self.does(Method::POST, &here("pulls"), Some(&wish)).await
    }

    pub(super) async fn sees_change(&self, number: u64) -> Result<Change> {
        self.does(Method::GET, &here(&format!("pulls/{number}")), None).await
    }

    /// Writes into the conversation of an issue or a change.
    pub(super) async fn writes(&self, number: u64, body: &str) -> Result<Comment> {
        let path = here(&format!("issues/{number}/comments"));
        self.does(Method::POST, &path, Some(&json!({ "body": body }))).await
    }

    pub(super) async fn edits(&self, comment: u64, body: &str) -> Result<Comment> {
        let path = here(&format!("issues/comments/{comment}"));
        self.does(Method::PATCH, &path, Some(&json!({ "body": body }))).await
    }

    /// Reads the conversation of an issue or a change, oldest first.
    pub(super) async fn sees_conversation(&self, number: u64) -> Result<Vec<Comment>> {
        self.does(Method::GET, &here(&format!("issues/{number}/comments")), None).await
    }

    /// Returns the signs that were put on a comment, and by whom.
    pub(super) async fn sees_reactions(&self, comment: u64) -> Result<Vec<(String, String)>> {
        #[derive(Deserialize)]
        struct Reaction {
            user: User,
            content: String,
        }
        let path = here(&format!("issues/comments/{comment}/reactions"));
        // A comment without any is answered with nothing at all.
        let reactions: Option<Vec<Reaction>> = self.does(Method::GET, &path, None).await?;
        let pair = |reaction: Reaction| (reaction.user.login, reaction.content);
        Ok(reactions.unwrap_or_default().into_iter().map(pair).collect())
    }

    pub(super) async fn sees_reviews(&self, change: u64) -> Result<Vec<Review>> {
        self.does(Method::GET, &here(&format!("pulls/{change}/reviews?limit=50")), None).await
    }

    /// Reads all comments on lines of a change that this person may see.
    pub(super) async fn sees_lines(&self, change: u64) -> Result<Vec<Comment>> {
        let mut comments = Vec::new();
        for review in self.sees_reviews(change).await? {
            comments.extend(self.sees_review(change, review.id).await?);
        }
        comments.sort_by_key(|comment| comment.id);
        Ok(comments)
    }

    pub(super) async fn sees_review(&self, change: u64, review: u64) -> Result<Vec<Comment>> {
        let path = here(&format!("pulls/{change}/reviews/{review}/comments"));
        self.does(Method::GET, &path, None).await
    }

    /// Leaves a comment on a line of the new side.
    pub(super) async fn reviews(&self, change: u64, at: (&str, u64), body: &str) -> Result<Review> {
        let wish = json!({ "event": "COMMENT", "comments": [on_line(at, body)] });
        self.does(Method::POST, &here(&format!("pulls/{change}/reviews")), Some(&wish)).await
    }

    /// Begins a review with a comment on a line of the new side, and does not submit it.
    pub(super) async fn drafts(&self, change: u64, at: (&str, u64), body: &str) -> Result<Review> {
        let wish = json!({
            "event": "PENDING",
            "body": "to be continued",
            "comments": [on_line(at, body)],
        });
        self.does(Method::POST, &here(&format!("pulls/{change}/reviews")), Some(&wish)).await
    }

    /// Sends a review that the server breaks off at after its first comment, which then waits for
    /// ever to be submitted.
    pub(super) async fn breaks_off(&self, change: u64, at: (&str, u64), body: &str) -> Result<()> {
        let wish = json!({
            "event": "COMMENT",
            // No file is called like that, and git cannot even be asked.
            "comments": [on_line(at, body), on_line(("\0", 1), "never")],
        });
        let path = here(&format!("pulls/{change}/reviews"));
        let status = self.asks(Method::POST, &path, Some(&wish)).await?.status();
        ensure!(status.is_server_error(), "a broken review was answered with {status}");
        Ok(())
    }

    /// Returns the newest state of each context on a commit.
    pub(super) async fn sees_statuses(&self, commit: &str) -> Result<Vec<(String, String)>> {
        #[derive(Deserialize)]
        struct Combined {
            statuses: Option<Vec<State>>,
        }
        #[derive(Deserialize)]
        struct State {
            context: String,
            status: String,
        }
        let path = here(&format!("commits/{commit}/status"));
        let combined: Combined = self.does(Method::GET, &path, None).await?;
        let pair = |state: State| (state.context, state.status);
        Ok(combined.statuses.unwrap_or_default().into_iter().map(pair).collect())
    }

    /// Returns what the server says of its own API.
    pub(super) async fn sees_description(&self) -> Result<Value> {
        let answer = self.client.get(self.site.join("swagger.v1.json")?).send().await?;
        read("the description of the API", answer).await
    }

    async fn does<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T> {
        let what = format!("{method} {path} as {}", self.login);
        read(&what, self.asks(method, path, body).await?).await
    }

    async fn done(&self, method: Method, path: &str, body: Option<&Value>) -> Result<()> {
        let what = format!("{method} {path} as {}", self.login);
        succeeded(&what, self.asks(method, path, body).await?).await.map(drop)
    }

    async fn asks(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<reqwest::Response> {
        let token = format!("token {}", self.token.expose_secret());
        let mut request = self.client.request(method, self.address(path)?);
        request = request.header(http::header::AUTHORIZATION, token);
        if let Some(body) = body {
            request = request.json(body);
        }
        Ok(request.send().await?)
    }

    fn address(&self, path: &str) -> Result<Url> {
        Ok(self.site.join("api/v1/")?.join(path)?)
    }
}

fn on_line((path, line): (&str, u64), body: &str) -> Value {
    json!({ "path": path, "new_position": line, "body": body })
}

/// Returns a path below the repository of the stories.
fn here(tail: &str) -> String {
    format!("repos/{OWNER}/{NAME}/{tail}")
}

async fn read<T: DeserializeOwned>(what: &str, answer: reqwest::Response) -> Result<T> {
    let text = succeeded(what, answer).await?;
    serde_json::from_str(&text).with_context(|| format!("{what} was answered with {text}"))
}

async fn succeeded(what: &str, answer: reqwest::Response) -> Result<String> {
    let status: StatusCode = answer.status();
    let text = answer.text().await?;
    ensure!(status.is_success(), "{what} was answered with {status}: {text}");
    Ok(text)
}
