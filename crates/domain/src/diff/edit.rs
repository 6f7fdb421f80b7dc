//! Random changes of random files, with the diff that git would print and the truth about them.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::LineKind;
use crate::path::FilePath;

/// A change of one file.
#[derive(Clone, Debug)]
pub(super) struct Edit {
    pub(super) old_path: FilePath,
    pub(super) new_path: FilePath,
    /// Every line of both sides in the order of a diff that shows all of them.
    pub(super) steps: Vec<Step>,
    /// How many unchanged lines are shown around a changed one.
    pub(super) context: usize,
}

#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) kind: LineKind,
    pub(super) text: Vec<u8>,
    /// The numbers of both sides when the step is reached.
    pub(super) old: u64,
    pub(super) new: u64,
    pub(super) is_unended: bool,
    /// The hunk that shows it.
    pub(super) hunk: Option<usize>,
}

/// Lines that look like something else, and ordinary ones.
const TEXTS: [&[u8]; 16] = [
    b"",
    b"}",
    b"}",
    b"\tlet a = 1;",
    b"let b = 2;  ",
    b"-- a/x",
    b"++ b/x",
    b"@@ -1 +1 @@",
    b" x",
    b"diff --git a/x b/x",
    b"\\ No newline at end of file",
    b"crlf\r",
    b"caf\xe9",
    b"@@@ -1 -1 +1 @@@",
    b"Binary files a/x and b/x differ",
    b"\0",
];

impl Edit {
    /// Changes that show at least one hunk.
    pub(super) fn any() -> impl Strategy<Value = Self> {
        let kind = select(vec![
            LineKind::Context,
            LineKind::Context,
            LineKind::Context,
            LineKind::Added,
            LineKind::Removed,
        ]);
        let steps = vec((kind, select(TEXTS.to_vec())), 0..60);
        let name = || {
            prop_oneof![
                "[a-z ]{1,3}(/[a-z ]{1,3})?".prop_map(String::into_bytes),
                vec(1_u8..=255, 1..6),
            ]
        };
        let paths = (name(), proptest::option::of(name()));
        (paths, steps, 0..4_usize, any::<(bool, bool)>()).prop_map(
            |((old, new), steps, context, unended)| {
                let mut steps: Vec<_> =
                    steps.into_iter().map(|(kind, text)| Step::new(kind, text)).collect();
                // A modified file with nothing on one side would be an added or a deleted one.
                steps.insert(0, Step::new(LineKind::Context, b"first"));
                steps.push(Step::new(LineKind::Added, b"last"));
                let new = FilePath::new(new.unwrap_or_else(|| old.clone()));
                let mut edit = Self { old_path: FilePath::new(old), new_path: new, steps, context };
                edit.number();
                edit.end(unended);
                edit
            },
        )
    }

    fn number(&mut self) {
        let (mut old, mut new) = (1, 1);
        let changed: Vec<bool> =
            self.steps.iter().map(|step| step.kind != LineKind::Context).collect();
        let mut hunk = 0;
        let mut open = false;
        for (at, step) in self.steps.iter_mut().enumerate() {
            (step.old, step.new) = (old, new);
            old += u64::from(step.kind != LineKind::Added);
            new += u64::from(step.kind != LineKind::Removed);
            let around =
                at.saturating_sub(self.context)..(at + self.context + 1).min(changed.len());
            let shown = changed[around].contains(&true);
            hunk += usize::from(open && !shown);
            open = shown;
            step.hunk = shown.then_some(hunk);
        }
    }

    /// Takes the last line feed from one side or both, where git would show it so.
    fn end(&mut self, (old, new): (bool, bool)) {
        let last = |without: LineKind| self.steps.iter().rposition(|step| step.kind != without);
        let (Some(old_last), Some(new_last)) = (last(LineKind::Added), last(LineKind::Removed))
        else {
            return;
        };
        if old && self.steps[old_last].kind == LineKind::Removed {
            self.steps[old_last].is_unended = true;
        }
        if new && self.steps[new_last].kind == LineKind::Added {
            self.steps[new_last].is_unended = true;
        }
    }

    pub(super) fn hunk_count(&self) -> usize {
        self.steps.iter().filter_map(|step| step.hunk).max().map_or(0, |last| last + 1)
    }

    /// Prints the change as git does.
    pub(super) fn diff(&self) -> Vec<u8> {
        let (a, b) = (prefixed("a/", &self.old_path), prefixed("b/", &self.new_path));
        let mut diff = format!("diff --git {a} {b}\n").into_bytes();
        if self.old_path != self.new_path {
            let (from, to) = (&self.old_path, &self.new_path);
            let renamed = format!("similarity index 70%\nrename from {from}\nrename to {to}\n");
            diff.extend(renamed.bytes());
        }
        diff.extend(format!("index 1234567..89abcde 100644\n--- {a}").bytes());
        diff.extend(if a.contains(' ') && !a.starts_with('"') { "\t\n" } else { "\n" }.bytes());
        diff.extend(format!("+++ {b}").bytes());
        diff.extend(if b.contains(' ') && !b.starts_with('"') { "\t\n" } else { "\n" }.bytes());
        for hunk in 0..self.hunk_count() {
            self.print(hunk, &mut diff);
        }
        diff
    }

    fn print(&self, hunk: usize, diff: &mut Vec<u8>) {
        let steps: Vec<_> = self.steps.iter().filter(|step| step.hunk == Some(hunk)).collect();
        let span = |start: u64, without: LineKind| match steps
            .iter()
            .filter(|step| step.kind != without)
            .count()
        {
            0 => format!("{},0", start - 1),
            1 => start.to_string(),
            len => format!("{start},{len}"),
        };
        let old = span(steps[0].old, LineKind::Added);
        let new = span(steps[0].new, LineKind::Removed);
        diff.extend(format!("@@ -{old} +{new} @@ fn main()\n").bytes());
        for step in steps {
            diff.push(match step.kind {
                LineKind::Context => b' ',
                LineKind::Added => b'+',
                LineKind::Removed => b'-',
            });
            diff.extend(&step.text);
            diff.push(b'\n');
            if step.is_unended {
                diff.extend(b"\\ No newline at end of file\n");
            }
        }
    }
}

impl Step {
    fn new(kind: LineKind, text: &[u8]) -> Self {
        Self { kind, text: text.to_owned(), old: 0, new: 0, is_unended: false, hunk: None }
    }
}

fn prefixed(prefix: &str, path: &FilePath) -> String {
    FilePath::new([prefix.as_bytes(), path.as_bytes()].concat()).to_string()
}
