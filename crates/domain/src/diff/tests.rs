//! Diffs by name: what each kind reads as, and what is refused.

use expect_test::{Expect, expect};

use super::*;
use crate::anchor::Side;

/// Shows what was read, file by file.
fn show(diff: &[u8]) -> String {
    let mut shown = String::new();
    for file in files(diff) {
        match file {
            Ok(file) => show_file(&file, &mut shown),
            Err(error) => shown += &format!("error: {error}\n"),
        }
    }
    shown
}

fn show_file(file: &File<'_>, shown: &mut String) {
    *shown += &format!("{:?} {}", file.status, file.new_path);
    if file.is_moved() {
        *shown += &format!(" from {}", file.old_path);
    }
    let mode = |mode: Option<Mode>| mode.map_or_else(|| "-".to_owned(), |mode| mode.to_string());
    *shown += &format!(" {}..{}", mode(file.old_mode), mode(file.new_mode));
    if let Some(percent) = file.similarity {
        *shown += &format!(" {percent}%");
    }
    *shown += if file.is_binary() { " binary\n" } else { "\n" };
    for Hunk { old, new, added, removed, .. } in file.hunks() {
        let (old_end, new_end) = (old.end(), new.end());
        *shown +=
            &format!("  {}..{old_end} {}..{new_end} +{added} -{removed}\n", old.start, new.start);
    }
}

#[track_caller]
fn check(diff: &str, expect: Expect) {
    expect.assert_eq(&show(diff.as_bytes()));
}

/// Puts lines under the header of a modified file.
fn modified(hunks: &str) -> String {
    format!("diff --git a/x b/x\nindex 1234567..89abcde 100644\n--- a/x\n+++ b/x\n{hunks}")
}

#[test]
fn everything_that_git_prints_is_read() {
    expect![[r#"
        Modified a.txt 100644..100644
          1..4 1..4 +1 -1
        Modified bin 100644..100644 binary
        Modified "caf\351" 100644..100644
          1..2 1..2 +1 -1
        Copied copied from tocopy 100644..100644 97%
          1..4 1..5 +1 -0
        Modified crlf 100644..100644
          1..3 1..3 +1 -1
        Modified link 120000..120000
          1..2 1..2 +1 -1
        Renamed moved from long 100644..100644 93%
          2..9 2..8 +0 -1
          32..39 31..38 +1 -1
        Added new -..100644
          1..1 1..2 +1 -0
        Renamed new-empty from gone-empty -..- 100%
        Modified nonl 100644..100644
          1..2 1..2 +1 -1
        Modified "q\"\t.txt" 100644..100644
          1..2 1..2 +1 -1
        Modified run.sh 100644..100755
        Modified sp ace 100644..100644
          1..2 1..2 +1 -1
        Modified tocopy 100644..100644
          1..4 1..5 +1 -0
        Deleted a.txt 100644..-
          1..4 1..1 +0 -3
        Deleted bin 100644..- binary
        Deleted new-empty 100644..-
    "#]]
    .assert_eq(&show(include_bytes!("../../fixtures/diff/everything.diff")));
}

#[test]
fn no_diff_at_all_is_no_file() {
    check("", expect![""]);
}

#[test]
fn lines_that_look_like_headers_are_content_while_the_counts_say_so() {
    let diff = modified("@@ -1,3 +1,3 @@\n--- a/y\n+++ b/y\n @@ -1 +1 @@\n diff --git a/y b/y\n");
    let file = files(diff.as_bytes()).next().unwrap().unwrap();
    let texts: Vec<_> = file.hunks()[0].lines().map(|line| (line.kind, line.text)).collect();
    assert_eq!(
        texts,
        [
            (LineKind::Removed, &b"-- a/y"[..]),
            (LineKind::Added, b"++ b/y"),
            (LineKind::Context, b"@@ -1 +1 @@"),
            (LineKind::Context, b"diff --git a/y b/y"),
        ]
    );
}

#[test]
fn carriage_returns_and_headings_are_kept_and_blank_context_may_lack_its_space() {
    let diff = modified("@@ -7,3 +7,2 @@ fn main() { \n a\r\n\n-b\r\n");
    let file = files(diff.as_bytes()).next().unwrap().unwrap();
    let hunk = file.hunks()[0];
    assert_eq!(hunk.heading, b"fn main() { ");
    let texts: Vec<_> = hunk.lines().map(|line| line.text).collect();
    assert_eq!(texts, [&b"a\r"[..], b"", b"b\r"]);
}

#[test]
fn names_with_spaces_and_look_alikes_are_split_in_the_middle() {
    check(
        "diff --git a/x b/x b/x b/x\nold mode 100644\nnew mode 100755\n",
        expect![[r#"
            Modified x b/x 100644..100755
        "#]],
    );
}

#[test]
fn combined_diffs_are_refused() {
    let expected = expect![[r#"
        error: line 1 of the diff: a combined diff of a merge cannot be read; compare with one parent at a time
    "#]];
    check("diff --cc x\nindex 1234567,89abcde..0123456\n", expected);
    check(
        "diff --combined x\n",
        expect![[r#"
            error: line 1 of the diff: a combined diff of a merge cannot be read; compare with one parent at a time
        "#]],
    );
}

#[test]
fn what_does_not_fit_is_named_with_its_line() {
    for (diff, expected) in [
        ("hello\n".to_owned(), "line 1 of the diff: expected `diff --git`, found `hello`"),
        (
            "diff --git x y\nold mode 100644\nnew mode 100755\n".to_owned(),
            "line 1 of the diff: expected `diff --git a/… b/…`, found `diff --git x y`",
        ),
        (
            "diff --git a/x b/x\nold mode 100644\n".to_owned(),
            "line 1 of the diff: expected one thing that happened to the file, with all of its \
             lines, found `diff --git a/x b/x`",
        ),
        (
            "diff --git a/x b/x\nnew file mode 9\n".to_owned(),
            "line 2 of the diff: expected a line of a file's header, each once, found \
             `new file mode 9`",
        ),
        (
            "diff --git a/x b/x\nindex 1234567..89abcde 100644\n".to_owned(),
            "line 3 of the diff: expected the content that the ids speak of, found the end of the \
             diff",
        ),
        (
            "diff --git a/x b/x\nindex 1234567..89abcde 100644\n--- a/y\n".to_owned(),
            "line 3 of the diff: expected `---` with the old path, found `--- a/y`",
        ),
        (
            modified(""),
            "line 5 of the diff: expected `@@ -LINE,COUNT +LINE,COUNT @@`, found the end of the \
             diff",
        ),
        (
            modified("@@ -1 +0 @@\n-a\n"),
            "line 5 of the diff: expected `@@ -LINE,COUNT +LINE,COUNT @@`, found `@@ -1 +0 @@`",
        ),
        (
            modified("@@ -1 +1,99999999999999999999 @@\n"),
            "line 5 of the diff: expected `@@ -LINE,COUNT +LINE,COUNT @@`, found \
             `@@ -1 +1,99999999999999999999 @@`",
        ),
        (
            modified("@@ -1,2 +1 @@\n-a\n"),
            "line 7 of the diff: expected a line that begins with a space, `+` or `-`, found the \
             end of the diff",
        ),
        (
            modified("@@ -1 +1 @@\n-a\n-b\n"),
            "line 7 of the diff: expected no removed line after so many, found `-b`",
        ),
        (
            modified("@@ -1 +1 @@\n-a\n+b\n+c\n"),
            "line 8 of the diff: expected the next hunk, the next file or the end of the diff, \
             found `+c`",
        ),
        (
            modified("@@ -1 +1 @@\n-a\n+\u{1b}b"),
            "line 7 of the diff: expected a whole line, found `+\\x1bb`",
        ),
        (
            modified("@@ -1,2 +1,2 @@\n-a\n\\ No newline at end of file\n b\n+c\n"),
            "line 7 of the diff: expected more lines, as the hunk counts them, found \
             `\\ No newline at end of file`",
        ),
        (
            modified("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n@@ -3 +3 @@\n-c\n+d\n"),
            "line 9 of the diff: expected no hunk behind the end of the file, found `@@ -3 +3 @@`",
        ),
        (
            modified("@@ -1 +1 @@\n-a\n+b\n@@ -5 +6 @@\n-c\n+d\n"),
            "line 8 of the diff: expected a hunk that leaves out as many old lines as new ones, \
             found `@@ -5 +6 @@`",
        ),
        (
            "diff --git a/x b/x\nnew file mode 100644\nindex 0000000..89abcde\n--- /dev/null\n\
             +++ b/x\n@@ -1 +1 @@\n-a\n+b\n"
                .to_owned(),
            "line 6 of the diff: expected no lines on the side that does not exist, found \
             `@@ -1 +1 @@`",
        ),
        (
            "diff --git a/x b/x\nindex 1234567..89abcde 100644\nGIT binary patch\nliteral 3\n\
             KcmZ\n\n"
                .to_owned(),
            "line 5 of the diff: expected a line of a binary patch, or the empty line that ends \
             it, found `KcmZ`",
        ),
    ] {
        let read: Result<Vec<_>, _> = files(diff.as_bytes()).collect();
        assert_eq!(read.unwrap_err().to_string(), expected, "{diff}");
    }
}

#[test]
fn an_error_is_the_last_item_and_shows_little_of_a_long_line() {
    let diff = "x".repeat(1 << 20);
    let mut read = files(diff.as_bytes());
    assert!(read.next().unwrap().unwrap_err().to_string().len() < 200);
    assert!(read.next().is_none());
}

#[test]
fn a_line_that_cannot_carry_a_comment_says_why() {
    let reason = |diff: &str, side, line| {
        LineMap::of(&files(diff.as_bytes()).next().unwrap().unwrap())
            .locate(side, line)
            .unwrap_err()
    };
    let header = "diff --git a/x b/x\nindex 1234567..89abcde 100644\n";
    let binary = format!("{header}Binary files a/x and b/x differ\n");
    assert_eq!(reason(&binary, Side::New, 1), Uncommentable::Binary);
    let mode = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n";
    assert_eq!(reason(mode, Side::New, 1), Uncommentable::NoHunks);
    let added = "diff --git a/x b/x\nnew file mode 100644\nindex 0000000..89abcde\n--- /dev/null\n\
                 +++ b/x\n@@ -0,0 +1 @@\n+a\n";
    assert_eq!(reason(added, Side::Old, 1), Uncommentable::NoSuchSide);
    assert_eq!(reason(added, Side::New, 2), Uncommentable::Outside { line: 2 });
    let one = modified("@@ -5 +5 @@\n-a\n+b\n");
    for line in [0, 4, 6] {
        assert_eq!(reason(&one, Side::New, line), Uncommentable::Outside { line });
    }
}

#[test]
fn counters_are_those_that_a_forge_would_count() {
    let diff = modified("@@ -2,3 +2,4 @@\n a\n-b\n+B\n+C\n c\n@@ -10 +10,0 @@\n-j\n");
    let map = LineMap::of(&files(diff.as_bytes()).next().unwrap().unwrap());
    let old: Vec<_> =
        (1..=12).map(|line| map.counters(Side::Old, line).map(|at| (at.old, at.new))).collect();
    let new: Vec<_> =
        (1..=12).map(|line| map.counters(Side::New, line).map(|at| (at.old, at.new))).collect();
    let pairs = |pairs: [(u64, u64); 12]| pairs.map(Some).to_vec();
    assert_eq!(
        old,
        pairs([
            (1, 1),
            (2, 2),
            (3, 3),
            (4, 5),
            (5, 6),
            (6, 7),
            (7, 8),
            (8, 9),
            (9, 10),
            (10, 11),
            (11, 11),
            (12, 12),
        ])
    );
    assert_eq!(
        new,
        pairs([
            (1, 1),
            (2, 2),
            (4, 3),
            (4, 4),
            (4, 5),
            (5, 6),
            (6, 7),
            (7, 8),
            (8, 9),
            (9, 10),
            (11, 11),
            (12, 12),
        ])
    );
    assert_eq!(map.counters(Side::New, 0), None);
    let longer = modified("@@ -1 +1,3 @@\n a\n+b\n+c\n");
    let map = LineMap::of(&files(longer.as_bytes()).next().unwrap().unwrap());
    assert_eq!(map.counters(Side::Old, u64::MAX), None);
}
