//! What strace took down of a store's write-ahead log: how much of it was synced.
//!
//! SQLite lets one process at a time write to the log, and that process syncs before it lets go, so
//! the traces of several processes put in the order of time tell the story of the file.

use std::collections::HashMap;

/// Something that happened to the log.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    /// Seconds since the epoch.
    at: f64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Write { offset: u64, length: u64 },
    Sync,
    Truncate { length: u64 },
}

/// How long a log is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// As far as it was synced.
    pub(super) synced: u64,
    /// As far as it was written.
    pub(super) written: u64,
}

/// Returns how long the log is. `length` is how long it was, all of it synced, when the traces began.
pub(super) fn extent(traces: &[String], length: u64) -> Extent {
    let mut events: Vec<Event> = traces.iter().flat_map(|trace| events(trace)).collect();
    events.sort_by(|one, other| one.at.total_cmp(&other.at));
    let (mut synced, mut written) = (length, length);
    for Event { what, .. } in events {
        match what {
            // The log begins anew, or is written over behind its last commit.
            What::Write { offset, length } if offset < synced => {
                synced = offset;
                written = offset + length;
            }
            What::Write { offset, length } => written = written.max(offset + length),
            What::Sync => synced = written,
            What::Truncate { length } => {
                written = written.min(length);
                synced = synced.min(length);
            }
        }
    }
    Extent { synced, written }
}

/// Whether a trace has been written to its end.
pub(super) fn is_whole(trace: &str) -> bool {
    let last = trace.lines().last().unwrap_or_default();
    last.contains("+++ killed by") || last.contains("+++ exited with")
}

/// Reads a trace. A call that was interrupted by another thread's takes two lines; a write counts
/// from its beginning, a sync from its end, and one that never ended does not count.
fn events(trace: &str) -> Vec<Event> {
    let mut events = Vec::new();
    let mut unfinished: HashMap<&str, &str> = HashMap::new();
    for line in trace.lines() {
        let mut words = line.trim_start().splitn(2, ' ');
        let (Some(thread), Some(rest)) = (words.next(), words.next()) else { continue };
        let Some((at, call)) = rest.trim_start().split_once(' ') else { continue };
        let Ok(at) = at.parse() else { continue };
        let what = if let Some(begun) = call.strip_suffix(" <unfinished ...>") {
            unfinished.insert(thread, begun);
            write(begun)
        } else if call.starts_with("<... ") {
            let begun = unfinished.remove(thread).unwrap_or_default();
            match result(call) {
                Some((_, 0)) => sync(begun).or_else(|| truncate(begun)),
                _ => None,
            }
        } else {
            match result(call) {
                Some((call, 0)) => sync(call).or_else(|| truncate(call)),
                Some((call, 1..)) => write(call),
                _ => None,
            }
        };
        events.extend(what.map(|what| Event { at, what }));
    }
    events
}

/// Splits a call from what it returned. strace may add a word: `= 0 (DELAYED)`. A result that it made
/// up is none: nothing was done.
fn result(call: &str) -> Option<(&str, i64)> {
    let (call, result) = call.rsplit_once(" = ")?;
    if result.ends_with("(INJECTED)") {
        return None;
    }
    Some((call, result.split(' ').next()?.parse().ok()?))
}

/// Reads `pwrite64(5</folder/store.db-wal>, ""..., 4096, 32)`.
fn write(call: &str) -> Option<What> {
    let arguments = arguments(call, "pwrite64")?;
    let mut last = arguments.rsplit(", ");
    let offset = last.next()?.parse().ok()?;
    let length = last.next()?.parse().ok()?;
    Some(What::Write { offset, length })
}

fn sync(call: &str) -> Option<What> {
    arguments(call, "fdatasync").or_else(|| arguments(call, "fsync")).map(|_| What::Sync)
}

fn truncate(call: &str) -> Option<What> {
    let length = arguments(call, "ftruncate")?.rsplit(", ").next()?.parse().ok()?;
    Some(What::Truncate { length })
}

/// Returns the arguments of a call on the log.
fn arguments<'a>(call: &'a str, name: &str) -> Option<&'a str> {
    let arguments = call.strip_prefix(name)?.strip_prefix('(')?.trim_end();
    let arguments = arguments.strip_suffix(')').unwrap_or(arguments);
    arguments.contains("-wal>").then_some(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(trace: &str, before: u64, expected: u64) {
        assert_eq!(extent(&[trace.to_owned()], before).synced, expected);
    }

    #[test]
    fn what_was_written_after_the_last_sync_is_not_synced() {
        check(
            "7 1.000001 pwrite64(5</d/store.db-wal>, \"\"..., 32, 0) = 32\n\
             7 1.000002 pwrite64(5</d/store.db-wal>, \"\"..., 4120, 32) = 4120\n\
             7 1.000003 fdatasync(5</d/store.db-wal>) = 0\n\
             7 1.000004 pwrite64(5</d/store.db-wal>, \"\"..., 4120, 4152) = 4120\n\
             7 1.000005 +++ killed by SIGKILL +++\n",
            0,
            4152,
        );
    }

    #[test]
    fn a_sync_counts_only_when_it_has_ended_well() {
        check(
            "7 1.0 pwrite64(5</d/s-wal>, \"\"..., 24, 100 <unfinished ...>\n\
             8 1.1 fdatasync(4</d/store.db>) = 0\n\
             7 1.2 <... pwrite64 resumed>) = 24\n\
             7 1.3 fdatasync(5</d/s-wal> <unfinished ...>\n",
            100,
            100,
        );
        check(
            "7 1.0 pwrite64(5</d/s-wal>, \"\"..., 24, 100) = 24\n\
             7 1.3 fdatasync(5</d/s-wal> <unfinished ...>\n\
             7 1.4 <... fdatasync resumed>) = 0\n",
            100,
            124,
        );
        check(
            "7 1.0 pwrite64(5</d/s-wal>, \"\"..., 24, 100) = 24\n\
             7 1.3 fdatasync(5</d/s-wal>) = -1 EIO (Input/output error)\n",
            100,
            100,
        );
        check(
            "7 1.0 pwrite64(5</d/s-wal>, \"\"..., 24, 100) = 24\n\
             7 1.3 fdatasync(5</d/s-wal>) = 0 (DELAYED)\n\
             7 1.4 pwrite64(5</d/s-wal>, \"\"..., 24, 124) = 24\n\
             7 1.5 fdatasync(5</d/s-wal>) = 0 (INJECTED)\n",
            100,
            124,
        );
    }

    #[test]
    fn traces_of_several_processes_are_read_in_the_order_of_time() {
        let one = "7 1.0 pwrite64(5</d/s-wal>, \"\"..., 24, 100) = 24\n7 1.1 fdatasync(5</d/s-wal>) = 0\n";
        let other = "9 1.2 pwrite64(5</d/s-wal>, \"\"..., 24, 124) = 24\n9 1.3 fdatasync(5</d/s-wal>) = 0\n\
                     9 1.4 pwrite64(5</d/s-wal>, \"\"..., 24, 148) = 24\n";
        let found = extent(&[other.to_owned(), one.to_owned()], 100);
        assert_eq!(found, Extent { synced: 148, written: 172 });
    }

    #[test]
    fn a_log_that_begins_anew_is_as_long_as_its_new_beginning() {
        check(
            "7 1.0 pwrite64(5</d/s-wal>, \"\"..., 32, 0) = 32\n\
             7 1.1 pwrite64(5</d/s-wal>, \"\"..., 4120, 32) = 4120\n\
             7 1.2 fdatasync(5</d/s-wal>) = 0\n\
             7 1.3 ftruncate(5</d/s-wal>, 4152) = 0\n",
            900_000,
            4152,
        );
    }

    #[test]
    fn a_trace_is_whole_when_its_process_has_ended() {
        assert!(is_whole("7 1.0 fdatasync(5</d/s-wal>) = 0\n7 1.1 +++ killed by SIGKILL +++\n"));
        assert!(!is_whole("7 1.0 fdatasync(5</d/s-wal>) = 0\n"));
        assert!(!is_whole(""));
    }
}
