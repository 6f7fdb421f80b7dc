//! The diff of a change as the fake forge knows it: which lines may carry a comment.
//!
//! A story gives it as a unified diff. The reader here is the fake's own and simple, so that it is
//! a second opinion on the product's; text that is no unified diff panics, as a mistake of the test.

use super::object::{Anchor, Lines, Side};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FakeDiff {
    pub files: Vec<DiffFile>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DiffFile {
    /// The path after the change; before it, for a file that was removed.
    pub path: String,
    /// The path before the change. It differs for a rename.
    pub old_path: String,
    pub hunks: Vec<Hunk>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    pub header: String,
    pub lines: Vec<DiffLine>,
}

/// A line: removed without `new`, added without `old`, context with both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffLine {
    pub old: Option<u64>,
    pub new: Option<u64>,
    pub text: String,
}

/// Why a comment cannot stand where it was to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misplaced {
    #[error("the path is not part of the diff")]
    Path,
    #[error("the line is not part of the diff")]
    Line,
    #[error("the start line is not part of the same hunk as the line")]
    Hunk,
    #[error("the start line does not precede the end line")]
    Order,
}

impl FakeDiff {
    /// Reads a unified diff.
    #[track_caller]
    pub fn parse(text: &str) -> Self {
        let mut diff = Self::default();
        let (mut old, mut new) = (0, 0);
        let mut left = (0_u64, 0_u64);
        for line in text.lines() {
            if left != (0, 0) {
                let hunk = diff.files.last_mut().and_then(|file| file.hunks.last_mut());
                let Some(hunk) = hunk else { panic!("a line outside of a hunk: {line}") };
                let (sign, text) = line.split_at_checked(1).unwrap_or((" ", ""));
                let (has_old, has_new) = match sign {
                    " " => (true, true),
                    "-" => (true, false),
                    "+" => (false, true),
                    "\\" => continue,
                    _ => panic!("no line of a hunk: {line}"),
                };
                hunk.lines.push(DiffLine {
                    old: has_old.then_some(old),
                    new: has_new.then_some(new),
                    text: text.to_owned(),
                });
                let taken = (u64::from(has_old), u64::from(has_new));
                (old, new) = (old + taken.0, new + taken.1);
                left = (left.0.saturating_sub(taken.0), left.1.saturating_sub(taken.1));
            } else if let Some(path) = line.strip_prefix("--- ") {
                let old_path = path.strip_prefix("a/").unwrap_or(path).to_owned();
                diff.files.push(DiffFile { old_path, ..DiffFile::default() });
            } else if let Some(path) = line.strip_prefix("+++ ") {
                let Some(file) = diff.files.last_mut() else { panic!("+++ without ---: {line}") };
                file.path = match path.strip_prefix("b/").unwrap_or(path) {
                    "/dev/null" => file.old_path.clone(),
                    path => path.to_owned(),
                };
                if file.old_path == "/dev/null" {
                    file.old_path.clone_from(&file.path);
                }
            } else if let Some(ranges) = line.strip_prefix("@@ ") {
                let Some(file) = diff.files.last_mut() else { panic!("a hunk of no file: {line}") };
                let mut ranges = ranges.split(' ').map(range);
                let (Some(Some(before)), Some(Some(after))) = (ranges.next(), ranges.next()) else {
                    panic!("no header of a hunk: {line}");
                };
                (old, new, left) = (before.0, after.0, (before.1, after.1));
                file.hunks.push(Hunk { header: line.to_owned(), lines: Vec::new() });
            }
        }
        assert!(left == (0, 0), "the last hunk of the diff is cut short");
        diff
    }

    /// Returns the diff of changes that a story says nothing about: lines 1 to 9 of `src/lib.rs`,
    /// with line 5 changed.
    pub fn small() -> Self {
        let mut text = "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,9 +1,9 @@\n".to_owned();
        for line in 1..=9 {
            text.push_str(&match line {
                5 => "-    five();\n+    cinque();\n".to_owned(),
                _ => format!("     line_{line}();\n"),
            });
        }
        Self::parse(&text)
    }

    pub fn file(&self, path: &str) -> Option<&DiffFile> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Checks that a comment may stand there: every line part of the diff, a range in one hunk.
    pub fn check(&self, anchor: &Anchor) -> Result<(), Misplaced> {
        let file = self.file(&anchor.path).ok_or(Misplaced::Path)?;
        let Some(Lines { start, side, line }) = anchor.lines else { return Ok(()) };
        let end = file.find(side, line).ok_or(Misplaced::Line)?;
        let Some((side, line)) = start else { return Ok(()) };
        let start = file.find(side, line).ok_or(Misplaced::Line)?;
        if start.0 != end.0 {
            return Err(Misplaced::Hunk);
        }
        if start.1 >= end.1 { Err(Misplaced::Order) } else { Ok(()) }
    }

    /// Returns where the anchor of an older diff stands in this one: at the same number if the text
    /// is the same, else at the only line of that side that has the text; `None` if it is outdated.
    pub(super) fn follow(&self, before: &Self, anchor: &Anchor) -> Option<Anchor> {
        let file = self.file(&anchor.path)?;
        let Some(lines) = anchor.lines else { return Some(anchor.clone()) };
        let old = before.file(&anchor.path)?;
        let line = file.follow(old, lines.side, lines.line)?;
        let start = match lines.start {
            None => None,
            Some((side, start)) => Some((side, file.follow(old, side, start)?)),
        };
        let anchor = Anchor {
            path: anchor.path.clone(),
            lines: Some(Lines { start, side: lines.side, line }),
        };
        self.check(&anchor).is_ok().then_some(anchor)
    }
}

impl DiffFile {
    /// Returns the line with the number on a side.
    pub fn line(&self, side: Side, number: u64) -> Option<&DiffLine> {
        let (hunk, line) = self.find(side, number)?;
        self.hunks.get(hunk)?.lines.get(line)
    }

    /// Returns the hunk that holds the line.
    pub fn hunk(&self, side: Side, number: u64) -> Option<&Hunk> {
        self.hunks.get(self.find(side, number)?.0)
    }

    fn find(&self, side: Side, number: u64) -> Option<(usize, usize)> {
        self.hunks.iter().enumerate().find_map(|(hunk, lines)| {
            let at = lines.lines.iter().position(|line| line.number(side) == Some(number))?;
            Some((hunk, at))
        })
    }

    fn follow(&self, before: &Self, side: Side, number: u64) -> Option<u64> {
        let text = &before.line(side, number)?.text;
        if self.line(side, number).is_some_and(|line| line.text == *text) {
            return Some(number);
        }
        let lines = self.hunks.iter().flat_map(|hunk| &hunk.lines);
        let mut same = lines.filter(|line| line.text == *text).filter_map(|line| line.number(side));
        same.next().filter(|_| same.next().is_none())
    }
}

impl DiffLine {
    pub fn number(&self, side: Side) -> Option<u64> {
        match side {
            Side::Old => self.old,
            Side::New => self.new,
        }
    }
}

/// Reads `-12,3` or `+12` as its first line and its count.
fn range(text: &str) -> Option<(u64, u64)> {
    let numbers = text.strip_prefix(['-', '+'])?;
    let (first, count) = numbers.split_once(',').unwrap_or((numbers, "1"));
    Some((first.parse().ok()?, count.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "\
diff --git a/old.rs b/new.rs
--- a/old.rs
+++ b/new.rs
@@ -1,3 +1,4 @@
 one
-two
+zwei
+drei
 four
@@ -20 +21,2 @@ fn later()
 twenty
+more
\\ No newline at end of file
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
";

    #[track_caller]
    fn check(anchor: Anchor, expected: Result<(), Misplaced>) {
        assert_eq!(FakeDiff::parse(DIFF).check(&anchor), expected, "{anchor}");
    }

    #[test]
    fn a_comment_stands_on_lines_of_the_diff_only() {
        check(Anchor::new_line("new.rs", 3), Ok(()));
        check(Anchor::new_line("new.rs", 4), Ok(()));
        check(Anchor::old_line("new.rs", 2), Ok(()));
        check(Anchor::old_line("new.rs", 4), Err(Misplaced::Line));
        check(Anchor::new_line("new.rs", 5), Err(Misplaced::Line));
        check(Anchor::new_line("old.rs", 1), Err(Misplaced::Path));
        check(Anchor::old_line("gone.txt", 1), Ok(()));
        check(Anchor::new_line("gone.txt", 1), Err(Misplaced::Line));
        check(Anchor::file("new.rs"), Ok(()));
    }

    #[test]
    fn a_range_lies_in_one_hunk_and_runs_forward() {
        check(Anchor::new_lines("new.rs", 2, 4), Ok(()));
        check(Anchor::new_lines("new.rs", 4, 21), Err(Misplaced::Hunk));
        check(Anchor::new_lines("new.rs", 3, 3), Err(Misplaced::Order));
        check(Anchor::new_lines("new.rs", 4, 2), Err(Misplaced::Order));
        check(Anchor::new_lines("new.rs", 9, 21), Err(Misplaced::Line));
    }

    #[test]
    fn a_line_is_followed_by_its_text() {
        let before = FakeDiff::parse(DIFF);
        let after =
            FakeDiff::parse("--- a/new.rs\n+++ b/new.rs\n@@ -7,1 +8,3 @@\n+zwei\n four\n+four\n");
        let follow = |line| after.follow(&before, &Anchor::new_line("new.rs", line));
        assert_eq!(follow(2), Some(Anchor::new_line("new.rs", 8)));
        assert_eq!(follow(3), None, "its text is gone");
        assert_eq!(follow(4), None, "two lines have its text");
    }
}
