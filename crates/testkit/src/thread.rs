//! A conversation on the fake forge as text, so that one snapshot is the specification of a story.
//!
//! The conversation and the reviews come first, then the inline threads, what is not submitted, and
//! what is said about the head. Markers are shown by what they say and without their MAC, which no
//! snapshot could hold. The reader of markers here is its own and lenient, so that a slip of ours
//! becomes visible.

use std::fmt::Write as _;

use domain::{SubjectKind, Time};

use crate::forge::{
    CommentKind, DraftTarget, FakeCheck, FakeComment, FakeDraft, FakeReview, FakeStatus,
    FakeSubject, FakeThread, Reaction, ReviewState,
};

/// The fields of a marker that a story shows.
const SHOWN: [&str; 3] = ["kind", "slot", "rev"];

/// Everything that stands on a subject.
#[derive(Clone, Debug)]
pub struct Transcript {
    pub subject: FakeSubject,
    /// All comments of both kinds, oldest first.
    pub said: Vec<FakeComment>,
    pub reviews: Vec<FakeReview>,
    pub threads: Vec<FakeThread>,
    pub drafts: Vec<FakeDraft>,
    /// The newest of each context of the change's head.
    pub statuses: Vec<FakeStatus>,
    /// The checks of the change's head.
    pub checks: Vec<FakeCheck>,
}

/// Prints the subject and everything on it.
pub fn print(all: &Transcript) -> String {
    let mut text = heading(&all.subject);
    let subject = &all.subject;
    entry(&mut text, &subject.author.login, "", &subject.reactions, &subject.body);
    timeline(&mut text, all);
    for thread in &all.threads {
        inline(&mut text, all, thread);
    }
    for draft in &all.drafts {
        let place = match &draft.target {
            DraftTarget::Conversation => "".to_owned(),
            DraftTarget::Anchor { anchor, .. } => format!(" on {anchor}"),
            DraftTarget::Thread(thread) => format!(" in thread {thread}"),
        };
        entry(&mut text, &draft.author.login, &format!(" (draft{place})"), &[], &draft.body);
    }
    // Writing to a string cannot fail.
    for status in &all.statuses {
        let FakeStatus { context, state, description, .. } = status;
        write!(text, "\nstatus {context}: {} ({description})\n", state.word()).unwrap_or(());
    }
    for check in &all.checks {
        print_check(&mut text, check);
    }
    text
}

fn heading(subject: &FakeSubject) -> String {
    let kind = match subject.kind() {
        SubjectKind::Change => "change",
        _ => "issue",
    };
    let change = subject.change.as_ref();
    let state = match (subject.open, change.and_then(|change| change.merged_at)) {
        (true, _) => "",
        (false, None) => " (closed)",
        (false, Some(_)) => " (merged)",
    };
    let draft = if change.is_some_and(|change| change.draft) { " (draft)" } else { "" };
    let mut text = format!("{kind} #{}: {}{draft}{state}\n", subject.number, subject.title);
    let logins = |accounts: &[crate::forge::Account]| {
        accounts.iter().map(|account| account.login.clone()).collect::<Vec<_>>().join(", ")
    };
    let reviewers = change.map(|change| logins(&change.reviewers)).unwrap_or_default();
    let facts = [
        ("labels", subject.labels.join(", ")),
        ("assigned to", logins(&subject.assignees)),
        ("review asked of", reviewers),
    ];
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        writeln!(text, "{name}: {value}").unwrap_or(());
    }
    text
}

/// Prints the conversation and the reviews in the order in which they came.
fn timeline(text: &mut String, all: &Transcript) {
    let mut entries: Vec<(Time, String)> = Vec::new();
    for comment in all.said.iter().filter(|said| said.kind() == CommentKind::Conversation) {
        let mut printed = String::new();
        said(&mut printed, comment);
        entries.push((comment.created_at, printed));
    }
    for review in &all.reviews {
        let FakeReview { state, commit, .. } = review;
        let commit = commit.get(..7).unwrap_or(commit);
        let place = format!(" (review: {} at {commit})", state.word());
        let mut printed = String::new();
        entry(&mut printed, &review.author.login, &place, &[], &review.body);
        entries.push((review.submitted_at.unwrap_or(Time(i64::MAX)), printed));
    }
    // The sort is stable: what came at one moment keeps the order of its kind.
    entries.sort_by_key(|(at, _)| *at);
    text.extend(entries.into_iter().map(|(_, printed)| printed));
}

fn inline(text: &mut String, all: &Transcript, thread: &FakeThread) {
    let pending = |comment: &FakeComment| {
        let review = all.reviews.iter().find(|review| Some(review.id) == comment.review());
        review.is_some_and(|review| review.state == ReviewState::Pending)
    };
    let said_here = all.said.iter().filter(|said| said.thread() == Some(thread.id));
    let mut state = String::new();
    if let Some(by) = &thread.resolved_by {
        state.push_str(&format!(" (resolved by {})", by.login));
    }
    if thread.outdated {
        state.push_str(" (outdated)");
    }
    write!(text, "\n=== {}{state}\n", thread.anchor).unwrap_or(());
    for comment in said_here {
        if pending(comment) {
            entry(text, &comment.author.login, " (pending)", &comment.reactions, &comment.body);
        } else {
            said(text, comment);
        }
    }
}

fn said(text: &mut String, comment: &FakeComment) {
    let edited = match &comment.written_by {
        by if by.id != comment.author.id => format!(" (edited by {})", by.login),
        _ => String::new(),
    };
    entry(text, &comment.author.login, &edited, &comment.reactions, &comment.body);
}

fn print_check(text: &mut String, check: &FakeCheck) {
    let state = check.conclusion.as_ref().unwrap_or(&check.status);
    let title = check.title.as_deref().unwrap_or_default();
    write!(text, "\ncheck {}: {state} ({title})\n", check.name).unwrap_or(());
    for annotation in &check.annotations {
        let (path, level) = (&annotation.path, &annotation.level);
        let lines = match (annotation.start_line, annotation.end_line) {
            (start, end) if start == end => start.to_string(),
            (start, end) => format!("{start}..{end}"),
        };
        writeln!(text, "{level} {path}:{lines} {}", annotation.message).unwrap_or(());
    }
}

fn entry(text: &mut String, author: &str, place: &str, reactions: &[Reaction], body: &str) {
    text.push_str("\n--- ");
    text.push_str(author);
    text.push_str(place);
    for reaction in reactions {
        write!(text, " [{} by {}]", reaction.content, reaction.by.login).unwrap_or(());
    }
    text.push('\n');
    for line in body.lines() {
        match marker(line) {
            Some(marker) => text.push_str(&marker),
            None => text.push_str(line),
        }
        text.push('\n');
    }
}

/// Returns a marker's line in short. A marker may stand on the wrong line: that is shown as well.
fn marker(line: &str) -> Option<String> {
    let fields = line.trim().strip_prefix("<!-- patchwright:")?.strip_suffix("-->")?;
    let shown = fields.split_whitespace().filter(|field| {
        let name = field.split_once('=').map_or(*field, |(name, _)| name);
        SHOWN.contains(&name)
    });
    let shown: Vec<&str> = shown.collect();
    Some(format!("[marker {}]", shown.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_shown_without_its_mac() {
        let line = "<!-- patchwright:1 kind=answer slot=reply:c17 rev=2 mac=abcdef -->";
        assert_eq!(marker(line).as_deref(), Some("[marker kind=answer slot=reply:c17 rev=2]"));
        assert_eq!(marker("<!-- something else -->"), None);
    }
}
