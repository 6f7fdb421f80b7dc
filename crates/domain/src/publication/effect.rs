//! The closed list of effects on a forge. Each host sends all of them, or the next best thing.

use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::anchor::Spot;
use crate::event::Place;
use crate::repo::Repo;
use crate::time::Time;

/// What is done on the forge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "kebab-case")]
pub enum Effect {
    /// A comment of ours in the conversation; publishing the slot again edits it in place.
    Comment(CommentBody),
    /// A comment of ours on lines of a change, the first of a thread.
    Inline(Inline),
    /// A comment of ours in a thread that exists.
    Reply(Reply),
    /// Removes the comment that we have in this slot.
    Withdraw,
    /// A small sign on what triggered us that it was seen.
    Reaction { on: ReactionTarget, sign: Sign },
    /// Settles a thread, or opens it again.
    Settle { thread: String, settling: Settling },
    /// Opens a change from a branch that exists. The subject is what asked for it.
    Change(NewChange),
    /// Our block of the change's description; what people wrote around it stays (E6).
    Describe { markdown: String },
    /// Makes a draft ready for review.
    Ready,
    /// The state of a commit, as a status or a check.
    Status(Status),
    /// A new branch.
    Branch(Branch),
    /// A file written over the forge's own API: only where git cannot push.
    File(FileWrite),
    /// Commits that go to a branch by git (E8).
    Push(Push),
    /// A run of an engine that the user already has.
    Dispatch(Dispatch),
}

/// The text of a comment of ours, without its marker: the engine adds that when it sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommentBody {
    /// What the comment is, for readers of markers: `answer`, `status`, `apology` …
    pub kind: String,
    /// Markdown made by the crate `report`: whatever is not ours in it has been quoted (T4).
    pub markdown: String,
    /// Set on the first comment of a run: several deployments on one subject settle by it which of
    /// them speaks (E7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claim: Option<Claim>,
    /// Set while the comment shows something unfinished: what it becomes if the job is stopped
    /// before it publishes the slot again (E4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<String>,
}

/// Which run a first comment belongs to (E7).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Commit that the run is about; empty where there is none.
    #[serde(default)]
    pub head: String,
    /// From this moment on another deployment may take the slot over.
    pub expires: Time,
}

/// A comment on lines of a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inline {
    pub body: CommentBody,
    pub at: Spot,
    /// Code that is offered in place of the lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<Suggestion>,
    /// Comments of one batch travel as one review where the host has that. Each is its own
    /// publication all the same (E3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<String>,
}

/// Code offered in place of the lines that a comment stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suggestion {
    /// The lines as they are.
    pub before: String,
    /// The lines as they should be; empty to remove them.
    pub after: String,
}

/// A comment in a thread that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub body: CommentBody,
    /// The thread by the forge's own name for it.
    pub thread: String,
}

/// What becomes of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Settling {
    Resolve,
    Unresolve,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "on", rename_all = "kebab-case")]
pub enum ReactionTarget {
    Subject,
    Comment { id: u64, place: Place },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// Seen, working on it.
    Eyes,
    ThumbsUp,
    Confused,
}

/// A change that is to be opened, as a draft.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewChange {
    /// A title made by the crate `report`, without the host's prefix of drafts.
    pub title: String,
    pub body: CommentBody,
    /// The branch with the commits, in the same repository.
    pub head_branch: String,
    pub base_branch: String,
}

/// The state of a commit in one context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    pub commit: String,
    /// The name under which the state stands: a later one of the same name replaces it.
    pub context: String,
    pub verdict: Verdict,
    /// One line for people.
    pub title: String,
    /// More, where the host shows it.
    #[serde(default)]
    pub summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// Remarks on lines, where the host shows them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<Annotation>,
    /// Set while the verdict is pending: the line that it becomes, neutral, if the job is stopped
    /// before it publishes the slot again (E4).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closing: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Pending,
    Success,
    /// Neither good nor bad: something was left out, or could not be looked at.
    Neutral,
    Failure,
}

/// A remark on lines of a file at the status's commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Annotation {
    pub path: String,
    pub start: u64,
    pub end: u64,
    pub level: AnnotationLevel,
    pub title: String,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AnnotationLevel {
    Notice,
    Warning,
    Failure,
}

/// A new branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    pub name: String,
    /// The commit at which it starts.
    pub at: String,
}

/// A file as it is to be on a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileWrite {
    pub branch: String,
    pub path: String,
    pub content: String,
    /// The commit message.
    pub message: String,
    /// The blob that the file is now; none if it is new. Anything else there is a conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

/// A commit that goes to a branch (E8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Push {
    /// The repository that holds the branch: of the change's author, for a fork.
    pub target: Target,
    /// The commit that was verified, and nothing else.
    pub commit: String,
    /// The name of the job's artifact with the commits, a git bundle.
    pub bundle: String,
    /// Who asked for it: they must be allowed to write when it is sent.
    pub requester: Actor,
    /// Only files that these patterns name may differ; empty for no limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
}

/// The branch that a push goes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "to", rename_all = "kebab-case")]
pub enum Target {
    /// The branch of the change that the publication is about, still at the commit that was read.
    HeadOfChange { source: Repo, branch: String, expected: String },
    /// A branch of ours that does not exist yet, on top of a commit.
    NewBranch { branch: String, base: String },
}

impl Target {
    pub fn branch(&self) -> &str {
        match self {
            Self::HeadOfChange { branch, .. } | Self::NewBranch { branch, .. } => branch,
        }
    }
}

/// A run of an engine that the user already has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispatch {
    /// The workflow's file on GitHub and Gitea; not used on GitLab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workflow: Option<String>,
    /// The branch whose definition runs.
    pub on_branch: String,
    /// What the run is told: never a secret.
    pub variables: Vec<(String, String)>,
    /// A variable whose value no other run has: by it a run of unknown fate is found again (E2).
    pub identity: String,
}

impl Effect {
    /// Whether sending it twice does no harm: it is repeated instead of looked up (E2).
    pub fn is_harmless_twice(&self) -> bool {
        match self {
            Self::Withdraw
            | Self::Reaction { .. }
            | Self::Settle { .. }
            | Self::Describe { .. }
            | Self::Ready
            | Self::Status(_)
            // A branch that stands at the commit already is a success.
            | Self::Branch(_)
            | Self::Push(_) => true,
            Self::Comment(_)
            | Self::Inline(_)
            | Self::Reply(_)
            | Self::Change(_)
            | Self::File(_)
            | Self::Dispatch(_) => false,
        }
    }

    /// Whether nothing waits for it: it has no place in the order of its lane, and giving it up is
    /// not worth a word. An answer never waits for its reaction.
    pub fn is_aside(&self) -> bool {
        matches!(self, Self::Reaction { .. })
    }

    /// Whether it has a place only in the conversation of an issue or change.
    pub fn needs_conversation(&self) -> bool {
        match self {
            Self::Comment(_)
            | Self::Inline(_)
            | Self::Reply(_)
            | Self::Withdraw
            | Self::Reaction { .. }
            | Self::Settle { .. }
            | Self::Describe { .. }
            | Self::Ready => true,
            Self::Change(_)
            | Self::Status(_)
            | Self::Branch(_)
            | Self::File(_)
            | Self::Push(_)
            | Self::Dispatch(_) => false,
        }
    }

    /// Returns what closes it if it shows something unfinished and its job is stopped (E4).
    pub fn closing(&self) -> Option<Self> {
        let closed = |body: &CommentBody| {
            let markdown = body.closing.clone()?;
            Some(CommentBody { kind: body.kind.clone(), markdown, claim: None, closing: None })
        };
        match self {
            Self::Comment(body) => closed(body).map(Self::Comment),
            Self::Reply(Reply { body, thread }) => {
                closed(body).map(|body| Self::Reply(Reply { body, thread: thread.clone() }))
            }
            Self::Inline(inline) => {
                let body = closed(&inline.body)?;
                Some(Self::Inline(Inline { body, batch: None, ..inline.clone() }))
            }
            Self::Status(status) => {
                let title = status.closing.clone()?;
                let verdict = Verdict::Neutral;
                Some(Self::Status(Status { title, verdict, closing: None, ..status.clone() }))
            }
            Self::Withdraw
            | Self::Reaction { .. }
            | Self::Settle { .. }
            | Self::Change(_)
            | Self::Describe { .. }
            | Self::Ready
            | Self::Branch(_)
            | Self::File(_)
            | Self::Push(_)
            | Self::Dispatch(_) => None,
        }
    }

    /// Returns the text of a comment that it leaves.
    pub fn comment(&self) -> Option<&CommentBody> {
        match self {
            Self::Comment(body)
            | Self::Inline(Inline { body, .. })
            | Self::Reply(Reply { body, .. }) => Some(body),
            Self::Change(change) => Some(&change.body),
            Self::Withdraw
            | Self::Reaction { .. }
            | Self::Settle { .. }
            | Self::Describe { .. }
            | Self::Ready
            | Self::Status(_)
            | Self::Branch(_)
            | Self::File(_)
            | Self::Push(_)
            | Self::Dispatch(_) => None,
        }
    }

    /// Rewrites every text that leaves with it: what people read, what is committed, what a run is
    /// told. Names that must be found again (branches, commits, slots) stay.
    pub fn rewrite_texts(&mut self, rewrite: &dyn Fn(String) -> String) {
        let change = |text: &mut String| *text = rewrite(std::mem::take(text));
        let change_body = |body: &mut CommentBody| {
            change(&mut body.markdown);
            body.closing.iter_mut().for_each(change);
        };
        match self {
            Self::Comment(body) | Self::Reply(Reply { body, .. }) => change_body(body),
            Self::Inline(Inline { body, suggestion, .. }) => {
                change_body(body);
                if let Some(Suggestion { before, after }) = suggestion {
                    change(before);
                    change(after);
                }
            }
            Self::Change(NewChange { title, body, .. }) => {
                change(title);
                change_body(body);
            }
            Self::Describe { markdown } => change(markdown),
            Self::Status(Status { title, summary, annotations, closing, .. }) => {
                change(title);
                change(summary);
                closing.iter_mut().for_each(change);
                for Annotation { title, message, .. } in annotations {
                    change(title);
                    change(message);
                }
            }
            Self::File(FileWrite { content, message, .. }) => {
                change(content);
                change(message);
            }
            Self::Dispatch(Dispatch { variables, .. }) => {
                variables.iter_mut().for_each(|(_, value)| change(value));
            }
            Self::Withdraw
            | Self::Reaction { .. }
            | Self::Settle { .. }
            | Self::Ready
            | Self::Branch(_)
            | Self::Push(_) => {}
        }
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Comment(_) => "comment",
            Self::Inline(_) => "inline",
            Self::Reply(_) => "reply",
            Self::Withdraw => "withdraw",
            Self::Reaction { .. } => "reaction",
            Self::Settle { .. } => "settle",
            Self::Change(_) => "change",
            Self::Describe { .. } => "describe",
            Self::Ready => "ready",
            Self::Status(_) => "status",
            Self::Branch(_) => "branch",
            Self::File(_) => "file",
            Self::Push(_) => "push",
            Self::Dispatch(_) => "dispatch",
        }
    }
}
