//! Where the payloads come from, and how a delivery is told in one line.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use domain::event::{Change, Comment, Happening, Place};
use domain::{Actor, Event, Origin};
use forge::Host;
use forge::webhook::{Content, Delivery, Malformed, decode};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// A delivery as it came, or as its sender would have sent it.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// What the snapshots call it.
    pub(crate) name: String,
    pub(crate) host: Host,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
    pub(crate) secret: Option<String>,
}

impl Sent {
    pub(crate) fn new(name: &str, host: Host, headers: &[(&str, &str)], body: &Value) -> Self {
        let headers = headers.iter().map(|(name, value)| {
            (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap())
        });
        Self {
            name: name.to_owned(),
            host,
            headers: headers.collect(),
            body: serde_json::to_vec(body).unwrap(),
            secret: None,
        }
    }

    pub(crate) fn decode(&self) -> Result<Delivery, Malformed> {
        decode(self.host, &self.headers, &self.body, &Origin::new("https://forge.example"))
    }

    #[track_caller]
    pub(crate) fn event(&self) -> Event {
        match self.decode().unwrap().content {
            Content::Event(event) => *event,
            Content::Ignored(reason) => panic!("{} is ignored: {reason}", self.name),
        }
    }

    #[track_caller]
    pub(crate) fn ignored(&self) -> String {
        match self.decode().unwrap().content {
            Content::Ignored(reason) => reason,
            Content::Event(event) => panic!("{} is {event:?}", self.name),
        }
    }

    /// Returns the body as a value that a test may change.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn with_json(&self, body: &Value) -> Self {
        Self { body: serde_json::to_vec(body).unwrap(), ..self.clone() }
    }
}

/// GitHub's published examples for github.com. There are so many that they are read only once.
pub(crate) static GITHUB_COM: LazyLock<Vec<Sent>> = LazyLock::new(|| github("api.github.com"));

/// GitHub's published examples for an edition of it.
pub(crate) fn github(edition: &str) -> Vec<Sent> {
    let file = fetched("github").join(edition).join("index.json");
    let events: Vec<Value> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let mut all = Vec::new();
    for event in &events {
        let name = event["name"].as_str().unwrap();
        for (index, example) in event["examples"].as_array().unwrap().iter().enumerate() {
            let action =
                example["action"].as_str().map(|action| format!(".{action}")).unwrap_or_default();
            let headers = [
                ("x-github-event", name),
                ("x-github-delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"),
            ];
            all.push(Sent::new(
                &format!("{name}{action} {index}"),
                Host::GitHub,
                &headers,
                example,
            ));
        }
    }
    all
}

/// The payloads that GitLab's own client is tested with.
pub(crate) fn gitlab() -> Vec<Sent> {
    let sent = |file: PathBuf| {
        let body: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        Sent::new(&stem(&file), Host::GitLab, &[("x-gitlab-event", gitlab_event(&body))], &body)
    };
    json_files(&fetched("gitlab")).into_iter().map(sent).collect()
}

fn gitlab_event(body: &Value) -> &'static str {
    match body["object_kind"].as_str() {
        Some("issue" | "work_item") => "Issue Hook",
        Some("merge_request") => "Merge Request Hook",
        Some("note") => "Note Hook",
        Some("push") => "Push Hook",
        Some("tag_push") => "Tag Push Hook",
        _ => "System Hook",
    }
}

/// Deliveries recorded from real servers.
pub(crate) fn gitea(version: &str) -> Vec<Sent> {
    let file = ours(&format!("gitea/gitea-{version}-deliveries.jsonl"));
    let text = fs::read_to_string(file).unwrap();
    let sent = |(index, line): (usize, &str)| {
        let recorded: Value = serde_json::from_str(line).unwrap();
        let headers: Vec<(&str, &str)> = recorded["headers"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        let kind = recorded["headers"]["X-Gitea-Event-Type"].as_str().unwrap();
        // Only a body that was recorded as text still is what was signed.
        let body = match &recorded["body"] {
            Value::String(text) => text.clone().into_bytes(),
            parsed => serde_json::to_vec(parsed).unwrap(),
        };
        let action = serde_json::from_slice::<Value>(&body).unwrap()["action"]
            .as_str()
            .map(|action| format!(".{action}"))
            .unwrap_or_default();
        let mut sent =
            Sent::new(&format!("{index} {kind}{action}"), Host::Gitea, &headers, &Value::Null);
        sent.body = body;
        sent.secret = recorded["secret"].as_str().map(str::to_owned);
        sent
    };
    text.lines().enumerate().map(sent).collect()
}

/// GitCode's payloads as others recorded their shape.
pub(crate) fn gitcode() -> Vec<Sent> {
    json_files(&ours("gitcode")).iter().map(|file| gitcode_file(file)).collect()
}

fn gitcode_file(file: &Path) -> Sent {
    let recorded: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let event = recorded["event"].as_str().unwrap();
    Sent::new(&stem(file), Host::GitCode, &[("x-gitcode-event", event)], &recorded["body"])
}

/// One of the examples of the first seed's interface description.
pub(crate) fn seed(name: &str, host: Host, headers: &[(&str, &str)]) -> Sent {
    let text = fs::read_to_string(ours(&format!("seed/{name}.json"))).unwrap();
    Sent::new(name, host, headers, &serde_json::from_str(&text).unwrap())
}

#[track_caller]
pub(crate) fn named(all: &[Sent], name: &str) -> Sent {
    all.iter()
        .find(|sent| sent.name == name)
        .cloned()
        .unwrap_or_else(|| panic!("no payload is called {name}"))
}

/// Every payload at hand.
pub(crate) fn everything() -> Vec<Sent> {
    let mut all = GITHUB_COM.clone();
    all.extend(gitlab());
    all.extend(gitea("1.21.8"));
    all.extend(gitea("1.26.0"));
    all.extend(gitcode());
    all
}

fn ours(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(path)
}

fn fetched(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/fixtures").join(name);
    assert!(
        folder.is_dir(),
        "the published payloads of {name} are not there: run `cargo xtask test` or `scripts/fixtures.sh`"
    );
    folder
}

fn json_files(folder: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    files.sort();
    files
}

fn stem(file: &Path) -> String {
    file.file_stem().unwrap().to_str().unwrap().to_owned()
}

/// Tells what each delivery becomes, a line each.
pub(crate) fn story(all: &[Sent]) -> String {
    let mut story = String::new();
    for sent in all {
        let told = match sent.decode() {
            Ok(Delivery { content: Content::Event(event), .. }) => line(&event),
            Ok(Delivery { content: Content::Ignored(reason), .. }) => format!("ignored: {reason}"),
            Err(malformed) => format!("MALFORMED: {malformed}"),
        };
        writeln!(story, "{} → {told}", sent.name).unwrap();
    }
    story
}

fn line(event: &Event) -> String {
    let subject = event.subject();
    let details = match &event.happening {
        Happening::ChangeOpened(change)
        | Happening::ChangeReopened(change)
        | Happening::ChangeReady(change)
        | Happening::ChangePushed(change)
        | Happening::BaseChanged(change) => of_change(change),
        Happening::ReviewRequested { change, of } => {
            format!("{} of {}", of_change(change), people(of))
        }
        Happening::ChangeClosed { change, merged } => {
            format!("{} merged={merged}", of_change(change))
        }
        Happening::IssueOpened(issue) => format!("{:?} of {}", issue.title, person(&issue.author)),
        Happening::IssueAssigned { issue, to } => format!("{:?} to {}", issue.title, people(to)),
        Happening::Commented(comment) => of_comment(comment),
        Happening::CommentEdited { comment, before } => {
            format!("{} before={:?}", of_comment(comment), before.as_deref().map(short))
        }
        Happening::Pushed(push) => {
            let created = if push.created { " created" } else { "" };
            let deleted = if push.deleted { " deleted" } else { "" };
            format!(
                "{}..{}{created}{deleted} commits={}",
                short(&push.before),
                short(&push.after),
                push.commits
            )
        }
        Happening::Asked(asked) => asked.text.clone(),
    };
    let meaning = event.meaning().unwrap_or_else(|| "unknown".to_owned());
    let meaning = meaning.strip_prefix("https://forge.example/").unwrap_or(&meaning);
    format!(
        "{} {subject} by {}: {details}; meaning {meaning}",
        event.happening.name(),
        person(&event.actor)
    )
}

fn of_change(change: &Change) -> String {
    let text = |field: &Option<String>| field.clone().unwrap_or_else(|| "?".to_owned());
    let draft = if change.draft { " draft" } else { "" };
    format!(
        "{:?} of {}{draft} {}@{} into {}",
        short(&change.title),
        person(&change.author),
        text(&change.head_branch),
        short(&text(&change.head)),
        text(&change.base_branch)
    )
}

fn of_comment(comment: &Comment) -> String {
    let place = match &comment.place {
        Place::Conversation => String::new(),
        Place::Thread { thread, reply, path } => format!(
            " in thread {} of {} reply={reply:?}",
            thread.as_deref().unwrap_or("?"),
            path.as_deref().unwrap_or("?")
        ),
        Place::Review { review } => format!(" in review {review:?}"),
    };
    let on = comment.subject_author.as_ref().map_or_else(|| "?".to_owned(), person);
    format!("{:?} of {}{place}, on {on}'s", short(&comment.body), person(&comment.author))
}

fn people(all: &[Actor]) -> String {
    all.iter().map(person).collect::<Vec<_>>().join(", ")
}

fn person(actor: &Actor) -> String {
    let id = actor.id.map_or_else(|| "?".to_owned(), |id| id.0.to_string());
    let bot = if actor.bot { " bot" } else { "" };
    format!("{}({id}{bot})", actor.login)
}

fn short(text: &str) -> String {
    text.chars().take(30).collect()
}
