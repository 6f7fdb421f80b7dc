use domain::anchor::{Line, LineKind};
use domain::publication::{CommentBody, Suggestion};
use expect_test::{Expect, expect};

use super::*;
use crate::capability::Ability;

fn able() -> Capabilities {
    Capabilities {
        version: None,
        ranges: Ranges::Yes,
        sides: Sides::Both,
        files: FileComments::Yes,
        suggestions: Suggestions::Lines,
        replies: Ability::Yes,
        resolving: Ability::Yes,
        reactions: Ability::Yes,
        drafts: Ability::Yes,
        statuses: Ability::Yes,
    }
}

fn line(kind: LineKind, number: u64) -> Line {
    Line { kind, old: number, new: number }
}

fn inline(kind: LineKind, start: Option<u64>, last: u64) -> Inline {
    Inline {
        body: CommentBody {
            kind: "finding".to_owned(),
            markdown: "Mind this.".to_owned(),
            claim: None,
            closing: None,
        },
        at: Spot {
            path: "a.rs".to_owned(),
            old_path: None,
            side: if kind == LineKind::Removed { Side::Old } else { Side::New },
            start: start.map(|number| line(kind, number)),
            line: line(kind, last),
            commit: "c0".to_owned(),
        },
        suggestion: Some(Suggestion { before: "old\n".to_owned(), after: "new\n".to_owned() }),
        batch: None,
    }
}

/// Shows each place with what is special about its text.
#[track_caller]
fn check(inline: &Inline, able: &Capabilities, expected: Expect) {
    let mut shown = String::new();
    for Rung { at, markdown, moved } in rungs(inline, able) {
        let place = match at {
            Stand::Lines(spot) => format!("lines {:?}", spot.span()),
            Stand::File(_) => "file".to_owned(),
            Stand::Conversation => "conversation".to_owned(),
        };
        let named = if markdown.starts_with('`') { " named" } else { "" };
        let offer = markdown.lines().find_map(|line| line.strip_prefix("```")).unwrap_or("none");
        let moved = moved.map_or(String::new(), |why| format!(" ({why})"));
        shown.push_str(&format!("{place}:{named} {offer}{moved}\n"));
    }
    expected.assert_eq(&shown);
}

#[test]
fn a_single_line_falls_to_the_file_and_then_to_the_conversation() {
    check(
        &inline(LineKind::Added, None, 7),
        &able(),
        expect![[r#"
        lines (7, 7): suggestion
        file: named diff (the forge takes no comment on these lines)
        conversation: named diff (the forge takes no comment on these lines)
    "#]],
    );
}

#[test]
fn a_range_falls_to_its_last_line_first_and_offers_nothing_there_that_would_replace_too_little() {
    check(
        &inline(LineKind::Added, Some(5), 7),
        &able(),
        expect![[r#"
        lines (5, 7): suggestion
        lines (7, 7): named diff (the forge takes no comment on this range of lines)
        file: named diff (the forge takes no comment on these lines)
        conversation: named diff (the forge takes no comment on these lines)
    "#]],
    );
}

#[test]
fn a_host_without_ranges_gets_the_last_line_and_the_text_names_the_others() {
    let gitea = Capabilities {
        ranges: Ranges::LastLine,
        files: FileComments::No,
        suggestions: Suggestions::Shown,
        ..able()
    };
    check(
        &inline(LineKind::Added, Some(5), 7),
        &gitea,
        expect![[r#"
        lines (7, 7): named diff
        conversation: named diff (the forge takes no comment on these lines)
    "#]],
    );
}

#[test]
fn offsets_say_how_many_lines_above_are_replaced() {
    let gitlab = Capabilities { suggestions: Suggestions::Offsets, ..able() };
    check(
        &inline(LineKind::Added, Some(5), 7),
        &gitlab,
        expect![[r#"
        lines (5, 7): suggestion:-2+0
        lines (7, 7): named suggestion:-2+0 (the forge takes no comment on this range of lines)
        file: named diff (the forge takes no comment on these lines)
        conversation: named diff (the forge takes no comment on these lines)
    "#]],
    );
}

#[test]
fn removed_lines_take_no_offer_and_need_a_host_that_knows_the_old_side() {
    check(
        &inline(LineKind::Removed, None, 7),
        &able(),
        expect![[r#"
        lines (7, 7): diff
        file: named diff (the forge takes no comment on these lines)
        conversation: named diff (the forge takes no comment on these lines)
    "#]],
    );
    let gitcode = Capabilities { sides: Sides::NewOnly, files: FileComments::No, ..able() };
    check(
        &inline(LineKind::Removed, None, 7),
        &gitcode,
        expect![[r#"
        conversation: named diff (this forge has no comments on removed lines)
    "#]],
    );
}

#[test]
fn an_edit_keeps_the_words_of_the_place_where_the_comment_stands() {
    let finding = inline(LineKind::Added, Some(5), 7);
    for rung in rungs(&finding, &able()) {
        let thread = (rung.at != Stand::Conversation).then_some("t1");
        let text = text_where_it_stands(&finding, &able(), thread, rung.moved.as_deref());
        assert_eq!(text, rung.markdown);
    }
}
