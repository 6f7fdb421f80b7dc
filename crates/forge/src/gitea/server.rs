//! What the server at the other end can do: asked once per connection, then kept.
//!
//! Its own description of the API is the best witness. Where an administrator has switched that
//! off, the version has to do; where the version leaves it open, the request is tried.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::Gitea;
use crate::capability::{Ability, Capabilities, FileComments, Ranges, Sides, Suggestions};
use crate::error::Error;

/// A server as it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    version: Option<String>,
    pub(super) resolving: Resolving,
    pub(super) replying: Replying,
    pub(super) removing: Removing,
    ranges: Ranges,
}

/// How a thread is resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolving {
    /// By its first comment (Gitea 1.26).
    Comment,
    /// By its first comment below the review (Forgejo).
    ReviewComment,
    None,
}

/// How a reply is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Replying {
    /// To the comment itself (Gitea 1.27).
    Replies,
    /// Into the review that the thread began in (Forgejo 7).
    IntoReview,
    /// As a new review on the same line: the pages show it in the same place.
    NewReview,
}

/// How an inline comment is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removing {
    /// Below its review (Forgejo 7).
    ReviewComment,
    /// As any comment. Some versions say yes and keep it.
    AnyComment,
}

/// The server's description of its API, as far as it tells versions apart.
#[derive(Debug, Deserialize)]
struct Description {
    info: Option<About>,
    /// By path: the methods.
    paths: BTreeMap<String, BTreeMap<String, IgnoredAny>>,
    #[serde(default)]
    definitions: BTreeMap<String, Definition>,
}

#[derive(Debug, Deserialize)]
struct About {
    version: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Definition {
    #[serde(default)]
    properties: BTreeMap<String, IgnoredAny>,
}

impl Gitea {
    /// Returns what the server can do; asks on the first call.
    pub(super) async fn server(&self) -> Result<&Server, Error> {
        if let Some(server) = self.server.get() {
            return Ok(server);
        }
        let found = self.probe().await?;
        Ok(self.server.get_or_init(|| found))
    }

    async fn probe(&self) -> Result<Server, Error> {
        let mut url = self.web();
        let path = format!("{}/swagger.v1.json", url.path().trim_end_matches('/'));
        url.set_path(&path);
        let what = "the description of the API";
        match self.client.read::<Description>(what, url, self.client.now()).await {
            Ok(description) => Ok(Server::described(&description)),
            // Switched off, or hidden behind a page for people to log in.
            Err(
                Error::Gone { .. }
                | Error::Forbidden { .. }
                | Error::Unauthenticated { .. }
                | Error::Refused { .. }
                | Error::Garbled { .. },
            ) => self.probe_version().await,
            Err(error) => Err(error),
        }
    }

    async fn probe_version(&self) -> Result<Server, Error> {
        let url = self.client.url(&["version"])?;
        match self.client.read::<About>("the version", url, self.client.now()).await {
            Ok(About { version }) => Ok(Server::of_version(version)),
            Err(Error::Gone { .. } | Error::Forbidden { .. }) => Ok(Server::of_version(None)),
            Err(error) => Err(error),
        }
    }
}

impl Server {
    fn described(description: &Description) -> Self {
        let has = |method: &str, path: &str| {
            let wanted = shape(path);
            let mut known = description.paths.iter().filter(|(path, _)| shape(path) == wanted);
            known.any(|(_, methods)| methods.contains_key(method))
        };
        let below = |tail: &str| format!("/repos/{{}}/{{}}/pulls{tail}");
        let new_comment = description.definitions.get("CreatePullReviewComment");
        let knows_ranges =
            new_comment.is_some_and(|comment| comment.properties.contains_key("extra_lines_count"));
        Self {
            version: description.info.as_ref().and_then(|about| about.version.clone()),
            resolving: if has("post", &below("/comments/{}/resolve")) {
                Resolving::Comment
            } else if has("post", &below("/{}/reviews/{}/comments/{}/resolve")) {
                Resolving::ReviewComment
            } else {
                Resolving::None
            },
            replying: if has("post", &below("/{}/comments/{}/replies")) {
                Replying::Replies
            } else if has("post", &below("/{}/reviews/{}/comments")) {
                Replying::IntoReview
            } else {
                Replying::NewReview
            },
            removing: match has("delete", &below("/{}/reviews/{}/comments/{}")) {
                true => Removing::ReviewComment,
                false => Removing::AnyComment,
            },
            ranges: if knows_ranges { Ranges::Yes } else { Ranges::LastLine },
        }
    }

    /// Tells by the version alone. Forgejo's carries the Gitea that it agrees with behind its own.
    fn of_version(version: Option<String>) -> Self {
        let text = version.as_deref().unwrap_or_default();
        let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
        let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
        let (major, minor) = (next(), next());
        let is_forgejo = text.contains("+gitea-");
        let gitea = |since: u32| !is_forgejo && (major, minor) >= (1, since);
        let forgejo = |since: u32| is_forgejo && major >= since;
        Self {
            resolving: match () {
                () if gitea(26) => Resolving::Comment,
                // Which release was the first is not written down: it is tried.
                () if forgejo(16) => Resolving::ReviewComment,
                () => Resolving::None,
            },
            replying: match () {
                () if gitea(27) => Replying::Replies,
                () if forgejo(7) => Replying::IntoReview,
                () => Replying::NewReview,
            },
            removing: match forgejo(7) {
                true => Removing::ReviewComment,
                false => Removing::AnyComment,
            },
            ranges: if forgejo(16) { Ranges::Yes } else { Ranges::LastLine },
            version,
        }
    }

    pub(super) fn capabilities(&self) -> Capabilities {
        let resolving = match self.resolving {
            Resolving::Comment | Resolving::ReviewComment => Ability::Yes,
            Resolving::None => Ability::No(self.cannot_resolve()),
        };
        Capabilities {
            version: self.version.clone(),
            ranges: self.ranges,
            sides: Sides::Both,
            files: FileComments::No,
            suggestions: Suggestions::Shown,
            replies: Ability::Yes,
            resolving,
            reactions: Ability::Yes,
            drafts: Ability::Yes,
            statuses: Ability::Yes,
        }
    }

    /// Says why threads stay as they are.
    pub(super) fn cannot_resolve(&self) -> String {
        let version = self.version.as_deref().unwrap_or("of an unknown version");
        format!("this server ({version}) has no way to resolve threads over its API")
    }
}

/// Returns a path with its parameters nameless.
fn shape(path: &str) -> String {
    let named = |segment: &str| segment.starts_with('{') && segment.ends_with('}');
    let segments = path.split('/').map(|segment| if named(segment) { "{}" } else { segment });
    segments.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(version: &str, expected: (Resolving, Replying, Removing, Ranges)) {
        let server = Server::of_version(Some(version.to_owned()));
        let found = (server.resolving, server.replying, server.removing, server.ranges);
        assert_eq!(found, expected, "{version}");
    }

    #[test]
    fn the_version_tells_where_there_is_no_description() {
        use Replying::{IntoReview, NewReview, Replies};
        let any = Removing::AnyComment;
        let below = Removing::ReviewComment;
        check("1.21.8", (Resolving::None, NewReview, any, Ranges::LastLine));
        check("1.24.6", (Resolving::None, NewReview, any, Ranges::LastLine));
        check("1.26.0", (Resolving::Comment, NewReview, any, Ranges::LastLine));
        check("1.27.0+dev-12-gabc", (Resolving::Comment, Replies, any, Ranges::LastLine));
        check("2.0.0", (Resolving::Comment, Replies, any, Ranges::LastLine));
        check("13.0.2+gitea-1.22.0", (Resolving::None, IntoReview, below, Ranges::LastLine));
        check("16.0.3+gitea-1.22.0", (Resolving::ReviewComment, IntoReview, below, Ranges::Yes));
        check("unknown", (Resolving::None, NewReview, any, Ranges::LastLine));
    }

    #[test]
    fn the_description_counts_more_than_any_version() {
        let json = serde_json::json!({
            "info": {"version": "9.9.9"},
            "paths": {
                "/repos/{owner}/{repo}/pulls/{index}/reviews/{id}/comments": {"get": {}, "post": {}},
                "/repos/{owner}/{repo}/pulls/{index}/reviews/{id}/comments/{comment}": {"get": {}},
                "/repos/{owner}/{repo}/pulls/{index}/reviews/{id}/comments/{comment}/resolve":
                    {"post": {}},
            },
            "definitions": {"CreatePullReviewComment": {"properties": {"body": {}}}},
        });
        let server = Server::described(&serde_json::from_value(json).unwrap());
        assert_eq!(server.resolving, Resolving::ReviewComment);
        assert_eq!(server.replying, Replying::IntoReview);
        assert_eq!(server.removing, Removing::AnyComment, "no DELETE is described");
        assert_eq!(server.ranges, Ranges::LastLine);
        assert_eq!(server.capabilities().version.as_deref(), Some("9.9.9"));
    }
}
