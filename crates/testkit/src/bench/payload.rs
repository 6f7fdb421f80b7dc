//! Comments as GitHub delivers them, at their real size, made and signed for next to nothing.
//!
//! What changes from comment to comment stands at the end of the body, so a signature continues
//! from the state after the part that a conversation has in common. The load must not cost the
//! machine what it is there to measure.

use std::io::Write as _;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value, json};
use sha2::Sha256;

use super::BOT;

/// The secret that deliveries are signed with.
pub(super) const SECRET: &str = "the webhook secret of this bench";

/// Where GitHub's API and pages would be.
const API: &str = "https://api.github.com";
const PAGES: &str = "https://github.com";

/// The first comment's id, of the length that GitHub's ids have today.
const FIRST_COMMENT: u64 = 2_500_000_000;

/// Addresses that GitHub lists for every repository, as their names and the ends of their paths.
const REPOSITORY_ADDRESSES: [(&str, &str); 37] = [
    ("forks_url", "/forks"),
    ("keys_url", "/keys{/key_id}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("teams_url", "/teams"),
    ("hooks_url", "/hooks"),
    ("issue_events_url", "/issues/events{/number}"),
    ("events_url", "/events"),
    ("assignees_url", "/assignees{/user}"),
    ("branches_url", "/branches{/branch}"),
    ("tags_url", "/tags"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("trees_url", "/git/trees{/sha}"),
    ("statuses_url", "/statuses/{sha}"),
    ("languages_url", "/languages"),
    ("stargazers_url", "/stargazers"),
    ("contributors_url", "/contributors"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("commits_url", "/commits{/sha}"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("comments_url", "/comments{/number}"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("contents_url", "/contents/{+path}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("merges_url", "/merges"),
    ("archive_url", "/{archive_format}{/ref}"),
    ("downloads_url", "/downloads"),
    ("issues_url", "/issues{/number}"),
    ("pulls_url", "/pulls{/number}"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("labels_url", "/labels{/name}"),
    ("releases_url", "/releases{/id}"),
    ("deployments_url", "/deployments"),
    ("url", ""),
];

/// Addresses that GitHub lists for every account.
const ACCOUNT_ADDRESSES: [(&str, &str); 10] = [
    ("url", ""),
    ("followers_url", "/followers"),
    ("following_url", "/following{/other_user}"),
    ("gists_url", "/gists{/gist_id}"),
    ("starred_url", "/starred{/owner}{/repo}"),
    ("subscriptions_url", "/subscriptions"),
    ("organizations_url", "/orgs"),
    ("repos_url", "/repos"),
    ("events_url", "/events{/privacy}"),
    ("received_events_url", "/received_events"),
];

const REPORT: &str = "After the update to 4.2 the importer stops at the first file whose name holds a space. \
    The log ends with `cannot open \"Annual: no such file\"`, so the name is cut at the space before it is opened. \
    It worked in 4.1. A folder with one file `Annual report.csv` is enough to see it; quoting the name in the \
    configuration does not help. I would expect all files of the folder to be read, whatever they are called.";

/// An issue on which people write comments that ask for help.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    /// Everything of a body up to the comment's own number.
    common: Vec<u8>,
    /// The signature's state after `common`.
    mac: Hmac<Sha256>,
    repo: String,
    number: u64,
}

impl Conversation {
    /// Makes issue `number` of repository `repo`, both counted from zero.
    pub(super) fn new(repo: u64, number: u64) -> Self {
        let id = 7_000_000 + repo;
        let repo = format!("acme-{repo}/importer");
        let number = number + 1;
        let common = common(&repo, id, number);
        #[expect(clippy::expect_used, reason = "HMAC takes a key of any length")]
        let mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes())
            .expect("a key of any length")
            .chain_update(&common);
        Self { common, mac, repo, number }
    }

    /// Returns the body of the delivery of comment `n`.
    pub(super) fn body(&self, n: u64) -> Vec<u8> {
        let mut body = self.common.clone();
        body.extend_from_slice(&self.own(n));
        body
    }

    /// Writes the whole request that delivers comment `n`.
    pub(super) fn write_request(&self, n: u64, host: &str, out: &mut Vec<u8>) {
        let own = self.own(n);
        let signature = self.mac.clone().chain_update(&own).finalize().into_bytes();
        let head = format!(
            "POST /api/webhook HTTP/1.1\r\nHost: {host}\r\nUser-Agent: GitHub-Hookshot/044aadd\r\n\
             Accept: */*\r\nContent-Type: application/json\r\nX-GitHub-Event: issue_comment\r\n\
             X-GitHub-Delivery: {}\r\nX-GitHub-Hook-ID: 292430182\r\n\
             X-GitHub-Hook-Installation-Target-Type: repository\r\nX-Hub-Signature-256: sha256={}\r\n\
             Content-Length: {}\r\n\r\n",
            delivery_id(n),
            hex::encode(signature),
            self.common.len() + own.len()
        );
        out.clear();
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(&self.common);
        out.extend_from_slice(&own);
    }

    /// What only comment `n` has: its id, and the addresses made of it.
    fn own(&self, n: u64) -> Vec<u8> {
        let Self { repo, number, .. } = self;
        let id = comment_id(n);
        let mut own = Vec::with_capacity(320);
        // Writing into memory does not fail.
        drop(write!(
            own,
            r#""id":{id},"node_id":"IC_{id}","url":"{API}/repos/{repo}/issues/comments/{id}","html_url":"{PAGES}/{repo}/issues/{number}#issuecomment-{id}"}}}}"#
        ));
        own
    }
}

/// Returns the id of comment `n`.
pub(super) fn comment_id(n: u64) -> u64 {
    FIRST_COMMENT + n
}

/// Returns the id of the delivery of comment `n`.
pub(super) fn delivery_id(n: u64) -> String {
    format!("{:08x}-7f1e-11f0-8c3a-{n:012x}", n.wrapping_mul(0x9e37_79b9) & 0xffff_ffff)
}

fn common(repo: &str, id: u64, number: u64) -> Vec<u8> {
    let alice = account("alice", 583_231, "User");
    let path = format!("{API}/repos/{repo}/issues/{number}");
    let issue = json!({
        "url": path,
        "repository_url": format!("{API}/repos/{repo}"),
        "labels_url": format!("{path}/labels{{/name}}"),
        "comments_url": format!("{path}/comments"),
        "events_url": format!("{path}/events"),
        "html_url": format!("{PAGES}/{repo}/issues/{number}"),
        "id": 1_900_000_000 + number,
        "node_id": format!("I_{number}"),
        "number": number,
        "title": "The importer stops at file names with spaces",
        "user": account("bob", 583_232, "User"),
        "labels": [{
            "id": 208_045_946, "node_id": "MDU6TGFiZWwyMDgwNDU5NDY=", "name": "bug", "color": "d73a4a",
            "url": format!("{API}/repos/{repo}/labels/bug"), "default": true,
            "description": "Something isn't working",
        }],
        "state": "open",
        "locked": false,
        "assignee": null,
        "assignees": [],
        "milestone": null,
        "comments": 4,
        "created_at": "2026-02-03T08:12:44Z",
        "updated_at": "2026-02-04T10:01:09Z",
        "closed_at": null,
        "author_association": "CONTRIBUTOR",
        "active_lock_reason": null,
        "body": REPORT,
        "reactions": reactions(&path),
        "timeline_url": format!("{path}/timeline"),
        "performed_via_github_app": null,
        "state_reason": null,
    });
    let comment = json!({
        "issue_url": path,
        "user": alice,
        "created_at": "2026-02-04T10:01:09Z",
        "updated_at": "2026-02-04T10:01:09Z",
        "author_association": "MEMBER",
        "body": format!("@{BOT} help"),
        "reactions": reactions(&path),
        "performed_via_github_app": null,
    });
    let event = json!({
        "action": "created",
        "issue": issue,
        "repository": repository(repo, id),
        "sender": alice,
    });
    // Both objects stay open: the comment and what only it has come last.
    let (mut event, comment) = (event.to_string(), comment.to_string());
    event.pop();
    let comment = comment.strip_suffix('}').unwrap_or(&comment);
    format!(r#"{event},"comment":{comment},"#).into_bytes()
}

fn repository(name: &str, id: u64) -> Value {
    let (owner, short) = name.split_once('/').unwrap_or(("", name));
    let mut value = addresses(&REPOSITORY_ADDRESSES, &format!("{API}/repos/{name}"));
    let rest = json!({
        "id": id,
        "node_id": format!("R_{id}"),
        "name": short,
        "full_name": name,
        "private": false,
        "owner": account(owner, 9_919, "Organization"),
        "html_url": format!("{PAGES}/{name}"),
        "description": "Reads what others export",
        "fork": false,
        "created_at": "2024-05-15T15:20:18Z",
        "updated_at": "2026-02-01T09:00:00Z",
        "pushed_at": "2026-02-03T17:31:52Z",
        "git_url": format!("git://github.com/{name}.git"),
        "ssh_url": format!("git@github.com:{name}.git"),
        "clone_url": format!("{PAGES}/{name}.git"),
        "svn_url": format!("{PAGES}/{name}"),
        "homepage": null,
        "size": 18_432,
        "stargazers_count": 212,
        "watchers_count": 212,
        "language": "Rust",
        "has_issues": true,
        "has_projects": true,
        "has_downloads": true,
        "has_wiki": true,
        "has_pages": false,
        "has_discussions": false,
        "forks_count": 31,
        "mirror_url": null,
        "archived": false,
        "disabled": false,
        "open_issues_count": 48,
        "license": null,
        "allow_forking": true,
        "is_template": false,
        "topics": ["csv", "import"],
        "visibility": "public",
        "forks": 31,
        "open_issues": 48,
        "watchers": 212,
        "default_branch": "main",
    });
    if let Value::Object(rest) = rest {
        value.extend(rest);
    }
    Value::Object(value)
}

fn account(login: &str, id: u64, kind: &str) -> Value {
    let mut value = addresses(&ACCOUNT_ADDRESSES, &format!("{API}/users/{login}"));
    let rest = json!({
        "login": login,
        "id": id,
        "node_id": format!("U_{id}"),
        "avatar_url": format!("https://avatars.githubusercontent.com/u/{id}?v=4"),
        "gravatar_id": "",
        "html_url": format!("{PAGES}/{login}"),
        "type": kind,
        "user_view_type": "public",
        "site_admin": false,
    });
    if let Value::Object(rest) = rest {
        value.extend(rest);
    }
    Value::Object(value)
}

fn addresses(ends: &[(&str, &str)], start: &str) -> Map<String, Value> {
    ends.iter().map(|(name, end)| ((*name).to_owned(), json!(format!("{start}{end}")))).collect()
}

fn reactions(of: &str) -> Value {
    json!({
        "url": format!("{of}/reactions"), "total_count": 0, "+1": 0, "-1": 0, "laugh": 0, "hooray": 0,
        "confused": 0, "heart": 0, "rocket": 0, "eyes": 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_json_of_a_real_size_with_its_own_comment() {
        let conversation = Conversation::new(3, 41);
        let body = conversation.body(7);
        assert!((8_000..11_000).contains(&body.len()), "{}", body.len());
        let value: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(value["comment"]["id"], 2_500_000_007_u64);
        assert_eq!(value["comment"]["body"], "@bot help");
        assert_eq!(value["issue"]["number"], 42);
        assert_eq!(value["repository"]["full_name"], "acme-3/importer");
        assert_ne!(delivery_id(7), delivery_id(8));
    }

    #[test]
    fn a_signature_that_was_continued_is_the_signature_of_the_whole_body() {
        let conversation = Conversation::new(0, 0);
        let mut request = Vec::new();
        conversation.write_request(5, "127.0.0.1", &mut request);
        let whole = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes())
            .unwrap()
            .chain_update(conversation.body(5))
            .finalize()
            .into_bytes();
        let request = String::from_utf8(request).unwrap();
        assert!(request.contains(&format!("sha256={}\r\n", hex::encode(whole))), "{request}");
        assert!(request.ends_with(std::str::from_utf8(&conversation.body(5)).unwrap()));
    }
}
