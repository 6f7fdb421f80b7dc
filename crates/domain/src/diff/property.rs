//! What holds for every change, told by changes whose truth is known.

use proptest::prelude::*;

use super::edit::Edit;
use super::{Counters, Error, LineKind, LineMap, Uncommentable, files};
use crate::anchor::Side;

const SIDES: [Side; 2] = [Side::Old, Side::New];

fn number(counters: Counters, side: Side) -> u64 {
    match side {
        Side::Old => counters.old,
        Side::New => counters.new,
    }
}

fn is_on(kind: LineKind, side: Side) -> bool {
    match side {
        Side::Old => kind != LineKind::Added,
        Side::New => kind != LineKind::Removed,
    }
}

fn other(side: Side) -> Side {
    match side {
        Side::Old => Side::New,
        Side::New => Side::Old,
    }
}

proptest! {
    #[test]
    fn a_printed_change_is_read_back_line_by_line(edits in prop::collection::vec(Edit::any(), 1..4)) {
        let diff: Vec<u8> = edits.iter().flat_map(Edit::diff).collect();
        let read: Vec<_> = files(&diff).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(read.len(), edits.len());
        for (file, edit) in read.iter().zip(&edits) {
            prop_assert_eq!(&file.old_path, &edit.old_path);
            prop_assert_eq!(&file.new_path, &edit.new_path);
            prop_assert_eq!(file.hunks().len(), edit.hunk_count());
            for (at, hunk) in file.hunks().iter().enumerate() {
                prop_assert_eq!(hunk.heading, b"fn main()");
                let shown = edit.steps.iter().filter(|step| step.hunk == Some(at));
                let lines: Vec<_> = hunk.lines().collect();
                prop_assert_eq!(lines.len(), shown.clone().count());
                for (line, step) in lines.iter().zip(shown) {
                    prop_assert_eq!(line.kind, step.kind);
                    prop_assert_eq!(line.text, &step.text);
                    prop_assert_eq!((line.old, line.new), (step.old, step.new));
                    prop_assert_eq!(line.is_unended, step.is_unended);
                }
                let count = |kind| lines.iter().filter(|line| line.kind == kind).count() as u64;
                prop_assert_eq!(hunk.added, count(LineKind::Added));
                prop_assert_eq!(hunk.removed, count(LineKind::Removed));
            }
        }
    }

    #[test]
    fn maps_know_every_line_of_both_sides_and_are_inverse(edit in Edit::any()) {
        let diff = edit.diff();
        let file = files(&diff).next().unwrap().unwrap();
        let map = LineMap::of(&file);
        for step in &edit.steps {
            let at = Counters { old: step.old, new: step.new };
            for side in SIDES {
                if !is_on(step.kind, side) {
                    continue;
                }
                let line = number(at, side);
                prop_assert_eq!(map.counters(side, line), Some(at));
                let across = map.across(side, line);
                let kept = step.kind == LineKind::Context;
                prop_assert_eq!(across, kept.then_some(number(at, other(side))));
                if let Some(across) = across {
                    prop_assert_eq!(map.across(other(side), across), Some(line));
                }
                match map.locate(side, line) {
                    Ok(located) => {
                        prop_assert_eq!(Some(located.hunk), step.hunk);
                        prop_assert_eq!((located.kind, located.at), (step.kind, at));
                    }
                    Err(why) => {
                        prop_assert_eq!(why, Uncommentable::Outside { line });
                        prop_assert_eq!(step.hunk, None);
                    }
                }
            }
        }
    }

    #[test]
    fn a_range_is_fine_exactly_when_one_hunk_shows_all_of_it(edit in Edit::any(), a: prop::sample::Index, b: prop::sample::Index) {
        let diff = edit.diff();
        let map = LineMap::of(&files(&diff).next().unwrap().unwrap());
        for side in SIDES {
            let lines: Vec<_> = edit.steps.iter().filter(|step| is_on(step.kind, side)).collect();
            let (first, last) = (a.index(lines.len()), b.index(lines.len()));
            let at = |index: usize| {
                number(Counters { old: lines[index].old, new: lines[index].new }, side)
            };
            let fine = first <= last && {
                let hunk = lines[first].hunk;
                hunk.is_some() && lines[first..=last].iter().all(|line| line.hunk == hunk)
            };
            prop_assert_eq!(map.locate_range(side, at(first), at(last)).is_ok(), fine);
        }
    }

    #[test]
    fn a_diff_that_is_cut_within_a_line_or_a_hunk_is_an_error(edit in Edit::any(), cut: prop::sample::Index) {
        let diff = edit.diff();
        let cut = cut.index(diff.len());
        let whole = files(&diff).next().unwrap().unwrap();
        match files(&diff[..cut]).collect::<Result<Vec<_>, Error>>() {
            Err(_) => {}
            // Nothing in a diff tells that a file has one more hunk, or that one more marker follows.
            Ok(read) => {
                prop_assert!(cut == 0 || diff[cut - 1] == b'\n');
                for file in read {
                    for (hunk, same) in file.hunks().iter().zip(whole.hunks()) {
                        prop_assert_eq!((hunk.old, hunk.new), (same.old, same.new));
                        prop_assert_eq!(hunk.lines().count(), same.lines().count());
                    }
                }
            }
        }
    }

    #[test]
    fn a_changed_byte_never_panics(edit in Edit::any(), at: prop::sample::Index, byte: u8) {
        let mut diff = edit.diff();
        let at = at.index(diff.len());
        diff[at] = byte;
        for file in files(&diff).flatten() {
            for hunk in file.hunks() {
                let (mut old, mut new) = (hunk.old.start, hunk.new.start);
                for line in hunk.lines() {
                    prop_assert_eq!((line.old, line.new), (old, new));
                    old += u64::from(is_on(line.kind, Side::Old));
                    new += u64::from(is_on(line.kind, Side::New));
                }
                prop_assert_eq!((old, new), (hunk.old.end(), hunk.new.end()));
            }
        }
    }
}
