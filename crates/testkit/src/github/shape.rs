//! GitHub's JSON, made from the model: one function per object, used by the API and by deliveries.
//!
//! The objects are whole: everything that GitHub's published description requires is there.

mod account;
mod app;
mod comment;
mod status;
mod subject;

use domain::Time;
use serde_json::{Value, json};

use crate::forge::FakeRepo;

pub(super) use account::{account, own_account, permissions, public_account, role};

use account::association;
pub(super) use app::{app, installation};
pub(super) use comment::word;
pub(super) use status::event_of;

/// The endpoints below a repository that its JSON names.
const ENDPOINTS: [(&str, &str); 36] = [
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
];

/// What JSON is made against: where the API is, and the repositories that it speaks of.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    /// The base of the API, without a slash at the end.
    pub(super) url: &'a str,
    pub(super) repo: &'a FakeRepo,
    /// The fork that the change comes from.
    pub(super) fork: Option<&'a FakeRepo>,
}

impl View<'_> {
    /// The repository itself.
    pub(super) fn repository(self) -> Value {
        repository(self.url, self.repo)
    }

    /// The API's address of something below the repository.
    fn api(self, tail: &str) -> String {
        format!("{}/repos/{}{tail}", self.url, self.repo.full_name)
    }

    /// The web address of something below the repository.
    fn page(self, tail: &str) -> String {
        format!("https://github.example/{}{tail}", self.repo.full_name)
    }
}

/// Prints a moment as GitHub does: to the second, in UTC.
pub(super) fn time(at: Time) -> String {
    let moment = jiff::Timestamp::from_millisecond(at.0).unwrap_or_default();
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Adds the fields of one object to another.
fn extend(value: &mut Value, with: Value) {
    if let (Value::Object(value), Value::Object(with)) = (value, with) {
        value.extend(with);
    }
}

pub(super) fn repository(url: &str, repo: &FakeRepo) -> Value {
    let name = &repo.full_name;
    let api = format!("{url}/repos/{name}");
    let founded = "2026-01-01T00:00:00Z";
    let mut value = json!({
        "id": repo.id,
        "node_id": format!("R_{}", repo.id),
        "name": repo.name(),
        "full_name": name,
        "private": false,
        "owner": account(&repo.owner),
        "html_url": format!("https://github.example/{name}"),
        "description": null,
        "fork": repo.fork_of.is_some(),
        "url": api,
        "clone_url": format!("https://github.example/{name}.git"),
        "git_url": format!("git://github.example/{name}.git"),
        "ssh_url": format!("git@github.example:{name}.git"),
        "svn_url": format!("https://github.example/{name}"),
        "mirror_url": null,
        "homepage": null,
        "language": null,
        "license": null,
        "default_branch": repo.default_branch,
        "archived": false,
        "disabled": false,
        "visibility": "public",
        "has_issues": true,
        "has_projects": true,
        "has_wiki": true,
        "has_pages": false,
        "has_downloads": true,
        "has_discussions": false,
        "forks": 0,
        "forks_count": 0,
        "open_issues": 0,
        "open_issues_count": 0,
        "size": 108,
        "stargazers_count": 0,
        "watchers": 0,
        "watchers_count": 0,
        "network_count": 0,
        "subscribers_count": 0,
        "pushed_at": founded,
        "created_at": founded,
        "updated_at": founded,
    });
    for (field, tail) in ENDPOINTS {
        value[field] = json!(format!("{api}{tail}"));
    }
    value
}
