//! What git meant when it ended badly.
//!
//! git has one exit code for almost everything, so its words in the C locale decide. Words that are
//! not known here are passed on.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use crate::error::Error;

/// How much of git's last words an error carries.
const SHOWN: usize = 600;

/// Whether a command that ended with success still said that something went wrong.
pub(super) fn complains(stderr: &str) -> bool {
    stderr.lines().any(|line| line.starts_with("error:") || line.starts_with("fatal:"))
}

/// Names a failure by what the caller does about it.
pub(super) fn error(command: String, is_remote: bool, status: ExitStatus, stderr: &str) -> Error {
    let why = last_words(stderr);
    let says = |words: &[&str]| words.iter().any(|word| stderr.contains(word));
    if says(&["No space left on device", "Disk quota exceeded"]) {
        return Error::NoSpace { why };
    }
    if is_remote {
        if says(&["Authentication failed", "could not read Username", "told us to quit"]) {
            return Error::Unauthenticated { why };
        }
        if says(&["requested URL returned error: 403"]) {
            return Error::Forbidden { why };
        }
        if says(&[
            "not found",
            "couldn't find remote ref",
            "does not appear to be a git repository",
            "not our ref",
        ]) {
            return Error::Gone { what: why };
        }
        if says(&["fsck error", "fsck warning", "in fsck"]) {
            return Error::Hostile { what: why };
        }
        if says(&["unable to access", "Could not resolve", "RPC failed", "hung up", "early EOF"]) {
            return Error::Unreachable { why };
        }
    }
    if says(&[
        "unable to read",
        "bad object",
        "bad file",
        "missing blob",
        "missing tree",
        "Could not read",
        "could not get object info",
        "not a valid object name",
        "bad tree object",
        "Not a valid",
    ]) {
        return Error::Missing { what: why };
    }
    let status = match (status.code(), status.signal()) {
        (Some(code), _) => format!("code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no code".to_owned(),
    };
    Error::Failed { command, status, stderr: why }
}

fn last_words(stderr: &str) -> String {
    let stderr = stderr.trim();
    if stderr.is_empty() {
        return "(no word)".to_owned();
    }
    let mut start = stderr.len().saturating_sub(SHOWN);
    while !stderr.is_char_boundary(start) {
        start += 1;
    }
    let cut = if start > 0 { "… " } else { "" };
    format!("{cut}{}", &stderr[start..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stderr: &str, expected: &str) {
        let shown =
            format!("{:?}", error("git x".into(), true, ExitStatus::from_raw(128 << 8), stderr));
        assert!(shown.starts_with(expected), "{shown}");
    }

    #[test]
    fn git_s_words_name_the_reaction() {
        check("fatal: Authentication failed for 'https://x/'", "Unauthenticated");
        check("fatal: unable to access 'x': The requested URL returned error: 403", "Forbidden");
        check("fatal: repository 'https://x/' not found", "Gone");
        check("fatal: couldn't find remote ref refs/heads/x", "Gone");
        check("fatal: unable to access 'x': Could not resolve host: x", "Unreachable");
        check("fatal: write error: No space left on device", "NoSpace");
        check(
            "error: object abc: hasDotgit: contains '.git'\nfatal: fsck error in packed object",
            "Hostile",
        );
        check("something new", "Failed");
        check("", "Failed { command: \"git x\", status: \"code 128\", stderr: \"(no word)\"");
    }

    #[test]
    fn long_last_words_are_cut_at_their_beginning() {
        let words = last_words(&format!("{}ü end", "é".repeat(SHOWN)));
        assert!(words.len() < SHOWN + 8 && words.starts_with("… ") && words.ends_with("end"));
    }
}
