//! What is found, what is refused, and how seldom a wrong place is taken.

use proptest::prelude::*;

use super::*;
use crate::diff::files;

const CODE: &str = "fn one() {\n    start();\n}\n\nfn two() {\n    start();\n}\n\nfn three() {\n\tlet a  = 1;\n}\n";

fn path() -> FilePath {
    FilePath::from("src/lib.rs")
}

/// Shows where a pointer leads in `CODE`, or why nowhere.
fn lead(pointer: &Pointer) -> String {
    show(Page::new(&path(), Side::New, CODE.as_bytes()).resolve(pointer))
}

fn show(resolution: Resolution) -> String {
    match resolution {
        Resolution::Found { anchor, by } => format!("{}-{} {by:?}", anchor.start, anchor.end),
        Resolution::Refused(why) => why.to_string(),
    }
}

fn tag(line: u64) -> Tag {
    Page::new(&path(), Side::New, CODE.as_bytes()).tag(line).unwrap()
}

/// The tag of one line under the number of another, as a model that miscounts writes it.
fn misnumbered(right: u64, said: u64) -> Pointer {
    Pointer { line: Some(said), ..Pointer::from(tag(right)) }
}

#[test]
fn a_tag_leads_to_its_line_and_survives_being_copied() {
    for line in 1..=11 {
        let tag = tag(line);
        for text in [
            tag.to_string(),
            format!(" `{tag}`\n"),
            format!("L{tag}"),
            tag.to_string().to_uppercase(),
        ] {
            let pointer = Pointer::parse(&text).unwrap();
            assert_eq!(lead(&pointer), format!("{line}-{line} Tag"), "{text}");
        }
    }
    let copied = Pointer::parse(&format!("{}|    start();", tag(2))).unwrap();
    assert_eq!(lead(&copied), "2-2 Tag");
}

#[test]
fn lines_that_read_the_same_have_different_hashes() {
    let same = "x\n".repeat(40);
    let page_path = path();
    let page = Page::new(&page_path, Side::New, same.as_bytes());
    let hashes: std::collections::BTreeSet<_> =
        (1..=40).map(|line| page.hash(line).unwrap().to_string()).collect();
    assert_eq!(hashes.len(), 40);
}

#[test]
fn a_number_off_by_up_to_three_is_put_right_by_the_hash() {
    for said in 3..=9 {
        let by = if said == 6 { "Tag" } else { "NearTag" };
        assert_eq!(lead(&misnumbered(6, said)), format!("6-6 {by}"), "{said}");
    }
    for said in [2, 10, u64::MAX] {
        assert_eq!(lead(&misnumbered(6, said)), Refusal::Stale.to_string(), "{said}");
    }
}

#[test]
fn the_tag_of_another_version_side_or_file_is_refused() {
    let (here, there) = (path(), FilePath::from("src/main.rs"));
    let page = Page::new(&here, Side::New, CODE.as_bytes());
    let edited = CODE.replace("let a  = 1", "let a = 2");
    for stale in [
        Page::new(&here, Side::New, edited.as_bytes()).tag(10),
        Page::new(&here, Side::Old, CODE.as_bytes()).tag(10),
        Page::new(&there, Side::New, CODE.as_bytes()).tag(10),
        Page::new(&here, Side::New, format!("// new\n{CODE}").as_bytes()).tag(11),
    ] {
        let pointer = Pointer::from(stale.unwrap());
        assert_eq!(page.resolve(&pointer), Resolution::Refused(Refusal::Stale));
        // The line itself may still read like that: what the model saw was another file.
        let pointer = pointer.quoting("let a = 1;");
        assert_eq!(page.resolve(&pointer), Resolution::Refused(Refusal::Stale));
    }
}

#[test]
fn a_quote_counts_at_its_number_whatever_its_white_space() {
    for quote in
        ["let a = 1;", "\tlet a  = 1;", "let a=1;\r\n", "\n  let a = 1;\n\n", "let\u{a0}a = 1;"]
    {
        assert_eq!(lead(&Pointer::at(10).quoting(quote)), "10-10 Quote", "{quote}");
        assert_eq!(lead(&Pointer::at(8).quoting(quote)), "10-10 NearQuote", "{quote}");
        assert_eq!(lead(&Pointer::quote(quote)), "10-10 QuoteAlone", "{quote}");
    }
    assert_eq!(lead(&Pointer::at(4).quoting("  ")), "4-4 Quote");
    assert_eq!(lead(&Pointer::at(6).quoting("start();")), "6-6 Quote");
    assert_eq!(lead(&Pointer::at(9).quoting("fn three() {\n let a = 1;\n}\n")), "9-11 Quote");
}

#[test]
fn a_quote_that_fits_several_places_or_none_is_refused() {
    assert_eq!(lead(&Pointer::quote("start();")), Refusal::Ambiguous.to_string());
    assert_eq!(lead(&Pointer::at(5).quoting("}")), Refusal::Ambiguous.to_string());
    assert_eq!(lead(&Pointer::quote("stop();")), Refusal::Nowhere.to_string());
    assert_eq!(lead(&Pointer::at(2).quoting("let a = 1;")), Refusal::NotThere.to_string());
    assert_eq!(lead(&Pointer::quote(" \n\t")), Refusal::BlankQuote.to_string());
    assert_eq!(lead(&Pointer::at(5).quoting("")), Refusal::BlankQuote.to_string());
    let far = Pointer::at(u64::MAX).quoting("}\n}");
    assert_eq!(lead(&far), Refusal::NotThere.to_string());
    let elsewhere = misnumbered(6, 5).quoting("fn two() {");
    assert_eq!(lead(&elsewhere), Refusal::QuoteDiffers.to_string());
}

#[test]
fn a_number_alone_proves_nothing() {
    assert_eq!(lead(&Pointer::parse("10").unwrap()), Refusal::Unproven.to_string());
    assert_eq!(lead(&Pointer::default()), Refusal::Nothing.to_string());
    for text in
        ["", "#", "x", "+4", "-4", "4#", "4#iii", "4#abcd", "4 5", "#abc", "99999999999999999999"]
    {
        assert_eq!(Pointer::parse(text), None, "{text}");
    }
}

#[test]
fn a_range_needs_both_of_its_ends() {
    let path = path();
    let page = Page::new(&path, Side::New, CODE.as_bytes());
    let range = |start: &Pointer, end: &Pointer| show(page.resolve_range(start, end));
    assert_eq!(range(&tag(5).into(), &tag(7).into()), "5-7 Tag");
    assert_eq!(range(&tag(5).into(), &misnumbered(7, 8)), "5-7 NearTag");
    assert_eq!(range(&tag(7).into(), &tag(5).into()), Refusal::Backwards.to_string());
    assert_eq!(range(&tag(5).into(), &Pointer::at(7)), Refusal::Unproven.to_string());
}

#[test]
fn accidental_agreement_stays_below_one_in_a_thousand() {
    let path = path();
    let lines: Vec<String> = (0..60_000).map(|n| format!("line {n}\n")).collect();
    let (now, before) = (lines.concat(), lines.concat().replace("line", "row"));
    let page = Page::new(&path, Side::New, now.as_bytes());
    let stale = Page::new(&path, Side::New, before.as_bytes());
    let taken = (1..=page.len())
        .filter(|line| {
            let pointer = Pointer::from(stale.tag(*line).unwrap());
            matches!(page.resolve(&pointer), Resolution::Found { .. })
        })
        .count();
    assert!(taken < 60, "{taken} of 60000 stale tags were believed");
    assert!(taken > 0, "seven tries at 32768 hashes should meet by accident now and then");
}

#[test]
fn a_place_is_checked_against_the_diff_before_it_is_sent() {
    let diff = "diff --git a/old.rs b/new.rs\nsimilarity index 90%\nrename from old.rs\n\
                rename to new.rs\nindex 1234567..89abcde 100644\n--- a/old.rs\n+++ b/new.rs\n\
                @@ -1,2 +1,2 @@\n-a\n+A\n b\n@@ -9 +9 @@\n-i\n+I\n";
    let file = files(diff.as_bytes()).next().unwrap().unwrap();
    let lines = LineMap::of(&file);
    let spot = |side, start, end| {
        Anchor { path: file.path().clone(), side, start, end }.spot(&file, &lines, "c0ffee")
    };
    let expected = Spot {
        path: "new.rs".to_owned(),
        old_path: Some("old.rs".to_owned()),
        side: Side::Old,
        start: Some(Line { kind: LineKind::Removed, old: 1, new: 1 }),
        line: Line { kind: LineKind::Context, old: 2, new: 2 },
        commit: "c0ffee".to_owned(),
    };
    assert_eq!(spot(Side::Old, 1, 2), Ok(expected));
    let single = spot(Side::New, 9, 9).unwrap();
    assert_eq!((single.start, single.span()), (None, (9, 9)));
    assert_eq!(single.line, Line { kind: LineKind::Added, old: 10, new: 9 });
    assert_eq!(spot(Side::New, 2, 9), Err(Uncommentable::SeveralHunks));
    assert_eq!(spot(Side::New, 3, 3), Err(Uncommentable::Outside { line: 3 }));
    assert_eq!(spot(Side::New, 2, 1), Err(Uncommentable::Backwards));
}

#[test]
fn in_a_new_file_the_old_side_stays_at_nothing() {
    let diff = b"diff --git a/n.rs b/n.rs\nnew file mode 100644\nindex 0000000..89abcde\n\
                 --- /dev/null\n+++ b/n.rs\n@@ -0,0 +1,2 @@\n+a\n+b\n";
    let file = files(diff).next().unwrap().unwrap();
    let anchor = Anchor { path: file.path().clone(), side: Side::New, start: 1, end: 2 };
    let spot = anchor.spot(&file, &LineMap::of(&file), "c0ffee").unwrap();
    assert_eq!(spot.start, Some(Line { kind: LineKind::Added, old: 0, new: 1 }));
    assert_eq!(spot.line, Line { kind: LineKind::Added, old: 0, new: 2 });
}

#[test]
fn a_path_that_is_no_text_cannot_be_sent() {
    let diff = b"diff --git \"a/\\351\" \"b/\\351\"\nindex 1234567..89abcde 100644\n\
                 --- \"a/\\351\"\n+++ \"b/\\351\"\n@@ -1 +1 @@\n-a\n+b\n";
    let file = files(diff).next().unwrap().unwrap();
    let anchor = Anchor { path: file.path().clone(), side: Side::New, start: 1, end: 1 };
    let spot = anchor.spot(&file, &LineMap::of(&file), "c0ffee");
    assert_eq!(spot, Err(Uncommentable::PathIsNoText));
}

proptest! {
    #[test]
    fn every_line_is_found_again_by_its_tag_even_off_by_three(
        lines in prop::collection::vec("[ \t]{0,2}[a-c{}]{0,2}\r?", 1..40),
        off in -3_i64..=3,
    ) {
        let (content, path) = (lines.join("\n"), path());
        let page = Page::new(&path, Side::New, content.as_bytes());
        for line in 1..=page.len() {
            let Some(said) = line.checked_add_signed(off) else { continue };
            let pointer = Pointer { line: Some(said), ..page.tag(line).unwrap().into() };
            // By accident a line near it has the same hash, once in some thousand times.
            let near = (said.saturating_sub(3)..=said + 3).filter(|near| *near != line);
            if off != 0 && near.into_iter().any(|near| page.hash(near) == page.hash(line)) {
                continue;
            }
            let anchor = Anchor { path: path.clone(), side: Side::New, start: line, end: line };
            let by = if off == 0 { Evidence::Tag } else { Evidence::NearTag };
            prop_assert_eq!(page.resolve(&pointer), Resolution::Found { anchor, by });
        }
    }

    #[test]
    fn a_quote_in_changed_white_space_is_found_at_its_number(
        lines in prop::collection::vec("[a-c{} ]{0,6}", 1..20),
        gap in "[ \t\r]{0,3}",
    ) {
        let (content, path) = (lines.join("\n"), path());
        let page = Page::new(&path, Side::Old, content.as_bytes());
        for line in 1..=page.len() {
            let text = std::str::from_utf8(page.line(line).unwrap()).unwrap();
            let quote: String = text.split(' ').flat_map(|word| [word, &gap]).collect();
            let anchor = Anchor { path: path.clone(), side: Side::Old, start: line, end: line };
            let found = Resolution::Found { anchor, by: Evidence::Quote };
            prop_assert_eq!(page.resolve(&Pointer::at(line).quoting(&quote)), found);
        }
    }
}
