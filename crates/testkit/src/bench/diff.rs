//! `cargo xtask bench diff`: how fast a large diff is read, and what it takes beside the diff.
//!
//! The bound finds the end of each line and looks at its first byte, which no reader of a diff can
//! leave out; it runs over the same bytes in the same process, in turn with ours and with the
//! library that others would take. Ours is measured to its end: every line with its numbers.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use diffy::patch_set::{ParseOptions, PatchSet};
use domain::diff::{Hunk, LineKind, files};

use super::Verdict;
use super::figure::{Aim, Figure};

/// How often everything is measured.
const ROUNDS: u32 = 7;

/// The size of the diff that is made when none is given.
const SIZE: usize = 256 << 20;

/// What a reader counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    files: u64,
    added: u64,
    removed: u64,
    context: u64,
}

/// Measures the reader of diffs on a file, or on a diff of its own making.
pub fn diff(file: Option<&Path>, out: &mut dyn Write) -> Result<Verdict> {
    let (diff, made) = match file {
        Some(file) => {
            (fs::read(file).with_context(|| format!("cannot read {}", file.display()))?, None)
        }
        None => {
            let (diff, count) = specimen(SIZE);
            (diff, Some(count))
        }
    };
    ensure!(!diff.is_empty(), "there is nothing to read in an empty diff");
    let megabytes = diff.len() as f64 / 1e6;
    let mut figures = [Figure::default(), Figure::default(), Figure::default()];
    let [bound, speed, rival] = &mut figures;
    let (mut count, mut peak, mut rival_fails) = (Count::default(), 0, None);
    for _ in 0..ROUNDS {
        bound.add(megabytes / seconds(|| std::hint::black_box(first_bytes(&diff))).1);
        let watch = Watch::start()?;
        let (read, took) = seconds(|| read(&diff));
        peak = peak.max(watch.end()?);
        count = read.context("the diff cannot be read")?;
        speed.add(megabytes / took);
        match seconds(|| read_by_diffy(&diff)) {
            (Ok(_), took) => rival.add(megabytes / took),
            (Err(error), _) => rival_fails = Some(error),
        }
    }
    let ratio = speed.median() / bound.median();
    let Count { files, added, removed, context } = count;
    writeln!(
        out,
        "{megabytes:.0} MB: {files} files, {added} lines added, {removed} removed, {context} kept"
    )?;
    writeln!(out, "bound, the first byte of every line: {bound} MB/s")?;
    let judged = Aim::AtLeast(500.0).judge(speed.median());
    writeln!(out, "every line with its numbers: {speed} MB/s, {ratio:.2} of the bound ({judged})")?;
    match &rival_fails {
        None => writeln!(out, "diffy, every line: {rival} MB/s")?,
        Some(error) => writeln!(out, "diffy cannot read it: {error:#}")?,
    }
    let peak = peak as f64 / 1024.0;
    writeln!(out, "memory beside the diff, at most: {peak:.1} MiB")?;
    let verdict = match made {
        Some(made) if made != count => {
            writeln!(out, "broken: {made:?} was made, {count:?} was read")?;
            Verdict::Broken
        }
        _ => Verdict::Held,
    };
    write!(out, "bench diff: mb={megabytes:.0} mb_s={:.0}", speed.median())?;
    write!(out, " bound_mb_s={:.0} ratio={ratio:.2}", bound.median())?;
    if rival_fails.is_none() {
        write!(out, " diffy_mb_s={:.0}", rival.median())?;
    }
    writeln!(out, " peak_mib={peak:.1} files={files}")?;
    Ok(verdict)
}

fn seconds<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let began = Instant::now();
    let done = work();
    (done, began.elapsed().as_secs_f64())
}

/// Looks at the first byte of every line.
fn first_bytes(diff: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', diff);
    ends.map(|end| u64::from(diff.get(end + 1).copied().unwrap_or_default())).sum()
}

fn read(diff: &[u8]) -> Result<Count> {
    let mut count = Count::default();
    for file in files(diff) {
        let file = file?;
        count.files += 1;
        for line in file.hunks().iter().flat_map(Hunk::lines) {
            // The numbers are part of what is measured.
            std::hint::black_box((line.old, line.new, line.text));
            match line.kind {
                LineKind::Context => count.context += 1,
                LineKind::Added => count.added += 1,
                LineKind::Removed => count.removed += 1,
            }
        }
    }
    Ok(count)
}

fn read_by_diffy(diff: &[u8]) -> Result<Count> {
    let mut count = Count::default();
    for file in PatchSet::parse_bytes(diff, ParseOptions::gitdiff()) {
        let file = file?;
        count.files += 1;
        let Some(patch) = file.patch().as_text() else { continue };
        for line in patch.hunks().iter().flat_map(diffy::Hunk::lines) {
            match std::hint::black_box(line) {
                diffy::Line::Context(_) => count.context += 1,
                diffy::Line::Insert(_) => count.added += 1,
                diffy::Line::Delete(_) => count.removed += 1,
            }
        }
    }
    Ok(count)
}

/// The memory of this process, from a moment on.
struct Watch {
    before_kib: u64,
}

impl Watch {
    fn start() -> Result<Self> {
        // Makes the system forget the peak so far.
        fs::write("/proc/self/clear_refs", "5").context("the peak of memory cannot be reset")?;
        Ok(Self { before_kib: status("VmRSS:")? })
    }

    /// Returns how much the process grew at most, in KiB.
    fn end(self) -> Result<u64> {
        Ok(status("VmHWM:")?.saturating_sub(self.before_kib))
    }
}

fn status(key: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(key));
    let value = line.and_then(|line| line.split_whitespace().next());
    Ok(value.context("the system does not say how much memory a process holds")?.parse()?)
}

/// Makes a diff of about that size, and counts what is in it. Files of all sizes, among them one
/// that is a quarter of the whole, so that a reader that keeps a file's lines shows it.
fn specimen(size: usize) -> (Vec<u8>, Count) {
    let mut diff = Vec::with_capacity(size + (1 << 20));
    let mut count = Count::default();
    let mut dice = 1_u64;
    while diff.len() < size {
        let hunks = if count.files == 9 { 80_000 * (size >> 20) / 256 } else { 40 };
        let path = format!("crates/part{}/src/file{}.rs", count.files % 97, count.files);
        diff.extend(
            format!("diff --git a/{path} b/{path}\nindex 1234567..89abcde 100644\n").bytes(),
        );
        diff.extend(format!("--- a/{path}\n+++ b/{path}\n").bytes());
        count.files += 1;
        let (mut old, mut new) = (1, 1);
        for _ in 0..hunks {
            dice = dice
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let (removed, added) = (dice >> 33 & 7, 1 + (dice >> 40 & 15));
            old += 20;
            new += 20;
            let (old_len, new_len) = (6 + removed, 6 + added);
            diff.extend(format!("@@ -{old},{old_len} +{new},{new_len} @@ impl Part {{\n").bytes());
            lines(&mut diff, ' ', 3, old);
            lines(&mut diff, '-', removed, old);
            lines(&mut diff, '+', added, new);
            lines(&mut diff, ' ', 3, new);
            old += old_len;
            new += new_len;
            count.context += 6;
            count.added += added;
            count.removed += removed;
        }
    }
    (diff, count)
}

fn lines(diff: &mut Vec<u8>, sign: char, many: u64, from: u64) {
    const TEXTS: [&str; 4] = [
        "    let value = self.parts.get(index).copied().unwrap_or_default();",
        "    }",
        "",
        "        // Comments say why, and some of them are a little longer than the code below.",
    ];
    for number in from..from + many {
        let text = TEXTS[(number % TEXTS.len() as u64) as usize];
        diff.extend(format!("{sign}{text}\n").bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_diff_that_is_made_holds_what_is_counted() {
        let (diff, count) = specimen(1 << 20);
        assert_eq!(read(&diff).unwrap(), count);
        assert_eq!(read_by_diffy(&diff).unwrap(), count);
        assert!(count.files > 10 && count.added > 1000 && count.removed > 1000);
    }
}
