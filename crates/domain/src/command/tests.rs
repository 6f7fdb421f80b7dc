//! Commands, their false friends, and the properties of the grammar.

use proptest::prelude::*;

use super::*;

fn names() -> Vec<String> {
    vec!["bot".to_owned(), "patchwright".to_owned()]
}

#[track_caller]
fn check(text: &str, expected: Command) {
    assert_eq!(parse(text, &names()), Some(expected), "{text}");
}

#[track_caller]
fn check_nothing(text: &str) {
    assert_eq!(parse(text, &names()), None, "{text}");
}

fn review() -> Command {
    Command::Review { scope: ReviewScope::New }
}

fn full_review() -> Command {
    Command::Review { scope: ReviewScope::Full }
}

fn fix(text: &str) -> Command {
    Command::Fix { which: Which::Unsaid, text: text.to_owned() }
}

fn fix_these(ids: &[&str], text: &str) -> Command {
    let ids = ids.iter().map(|&id| id.to_owned()).collect();
    Command::Fix { which: Which::These(ids), text: text.to_owned() }
}

fn fix_all(text: &str) -> Command {
    Command::Fix { which: Which::All, text: text.to_owned() }
}

fn free(text: &str) -> Command {
    Command::Free { text: text.to_owned() }
}

#[test]
fn verbs_that_stand_alone_are_commands() {
    for (text, command) in [
        ("@bot help", Command::Help),
        ("@bot status", Command::Status),
        ("@bot pause", Command::Pause),
        ("@bot resume", Command::Resume),
        ("@bot cancel", Command::Cancel),
        ("@bot detect", Command::Detect),
        ("@bot repair", Command::Repair),
        ("@bot ignore", Command::Ignore),
        ("@bot review", review()),
        ("@bot full review", full_review()),
        ("@bot fix", fix("fix")),
    ] {
        check(text, command);
    }
}

#[test]
fn case_punctuation_courtesy_and_markup_do_not_matter() {
    for text in [
        "@Bot Help!",
        "@patchwright: help",
        "@bot, help please.",
        "hey @bot help",
        "@alice @bot help",
        "Please @bot help",
        "@bot could you please help?",
        "**@bot** help",
        "@bot[bot] help",
        "- @bot help",
        "# @bot help",
        "Some words first.\n\n@bot help\n\nAnd some after.",
        "It hangs. @bot help",
        "> quoted\n\n@bot help",
    ] {
        check(text, Command::Help);
    }
}

#[test]
fn verbs_of_every_language_are_known() {
    for text in
        ["@bot 帮助", "@bot ヘルプ", "@bot 도움말", "@bot मदद", "@bot ช่วยเหลือ", "@bot，帮助一下"]
    {
        check(text, Command::Help);
    }
    for text in ["@bot 状态", "@bot ステータス", "@bot 상태", "@bot स्थिति", "@bot สถานะ"]
    {
        check(text, Command::Status);
    }
    for text in ["@bot 暂停", "@bot 一時停止", "@bot 일시정지", "@bot रोको", "@bot หยุดชั่วคราว"]
    {
        check(text, Command::Pause);
    }
    for text in ["@bot 继续", "@bot 再開してください", "@bot 재개", "@bot जारी रखो", "@bot ทำต่อ"]
    {
        check(text, Command::Resume);
    }
    for text in ["@bot 取消", "@bot キャンセル", "@bot 취소해주세요", "@bot रद्द करो", "@bot ยกเลิก"]
    {
        check(text, Command::Cancel);
    }
    for text in [
        "@bot 审查",
        "@bot 请检查这个改动",
        "@bot レビューお願いします",
        "@bot レビューして",
        "@bot レビューしてください",
        "@bot 리뷰해줘",
        "@bot समीक्षा करो",
        "@bot รีวิว",
    ] {
        check(text, review());
    }
    for text in ["@bot 全面审查", "@bot フルレビュー", "@bot 전체 리뷰", "@bot पूरी समीक्षा"]
    {
        check(text, full_review());
    }
}

#[test]
fn every_implementation_verb_of_seed_004_asks_for_a_fix() {
    for verb in [
        "fix",
        "apply",
        "implement",
        "add",
        "create",
        "update",
        "change",
        "modify",
        "修复",
        "应用",
        "实现",
        "添加",
        "创建",
        "更新",
        "修改",
        "改一下",
        "帮我改",
    ] {
        let text = format!("{verb} x");
        check(&format!("@bot {text}"), fix(&text));
    }
    for verb in ["review", "check", "审查", "检查", "レビュー", "리뷰"] {
        check(&format!("@bot {verb} x"), review());
    }
}

#[test]
fn a_verb_may_touch_the_mention_where_the_script_has_no_spaces() {
    check("@bot修复这个问题", fix("修复这个问题"));
    check("请@bot审查", review());
    check("@bot fix这个问题", fix("fix这个问题"));
}

#[test]
fn review_takes_everything_when_told_so() {
    for text in [
        "@bot review everything",
        "@bot review all.",
        "@bot complete review",
        "@bot please full review",
    ] {
        check(text, full_review());
    }
    check("@bot review all the tests", review());
}

#[test]
fn false_friend_review_the_changes_is_a_review() {
    check("@bot review the changes", review());
    check("@bot please review the changes and the fix", review());
}

#[test]
fn false_friend_address_is_not_add() {
    check("@bot please address the comments", free("please address the comments"));
}

#[test]
fn false_friend_prefix_is_not_fix() {
    check("@bot check the prefix", review());
    check("@bot prefix the names", free("prefix the names"));
    check("@bot the prefix is wrong", free("the prefix is wrong"));
}

#[test]
fn false_friend_bot2_is_somebody_else() {
    for text in
        ["@bot2 fix", "@bot-x fix", "@bot.dev fix", "me@bot.com fix", "@org/bot fix", "@notbot fix"]
    {
        check_nothing(text);
    }
}

#[test]
fn false_friend_longer_words_are_other_words() {
    for text in [
        "reviewer?",
        "fixture is broken",
        "fixed it myself",
        "added more",
        "changes look good",
        "helpful!",
    ] {
        check(&format!("@bot {text}"), free(text));
    }
}

#[test]
fn false_friend_a_noun_is_no_order() {
    for text in [
        "fix is wrong",
        "change of plans",
        "update: the tests pass now",
        "the fix works",
        "review was good",
    ] {
        check(&format!("@bot {text}"), free(text));
    }
}

#[test]
fn false_friend_a_refusal_is_no_order() {
    for text in
        ["don't fix this", "do not fix this", "never change that", "fix nothing", "no need to fix"]
    {
        check(&format!("@bot {text}"), free(text));
    }
}

#[test]
fn false_friend_a_question_is_no_order() {
    for text in [
        "why did you fix this?",
        "fix?",
        "update?",
        "any update?",
        "cancel?",
        "修复了吗？",
        "修复这个吗",
        "would you fix it?",
    ] {
        check(&format!("@bot {text}"), free(text));
    }
    check("@bot can you fix this?", fix("can you fix this?"));
    check("@bot could you please change the name?", fix("could you please change the name?"));
}

#[test]
fn false_friend_a_verb_with_another_object_is_no_command() {
    for text in [
        "help me understand this function",
        "cancel the subscription when the user leaves",
        "resume parsing fails on an empty file",
        "status code 500 is wrong",
        "repair the parser",
        "detect why the build fails",
        "resolve the conflict",
        "dismiss this",
        "ignore the failing test",
        "取消订阅功能有问题",
    ] {
        check(&format!("@bot {text}"), free(text));
    }
}

#[test]
fn false_friend_a_mention_in_a_sentence_gives_no_order() {
    for text in [
        "thanks @bot, this is great",
        "why did @bot fix this",
        "please don't let @bot fix this",
        "You can write e.g. @bot fix all",
        "cc @bot",
    ] {
        check(text, free(text));
    }
}

#[test]
fn words_before_a_mention_make_no_verb() {
    check("fix this @bot", free("fix this @bot"));
    check("review @bot", free("review @bot"));
}

#[test]
fn a_verb_on_the_next_line_is_no_order() {
    check("@bot\n\nUpdate the docs was my plan", free("Update the docs was my plan"));
}

#[test]
fn the_first_mention_decides() {
    check("@bot review\n@bot fix", review());
    check("@bot fix F1\n@patchwright review", fix_these(&["F1"], "fix F1\n@patchwright review"));
    check("@bot why?\n\n@bot fix all", free("why?\n\n@bot fix all"));
}

#[test]
fn a_mention_alone_is_free_text() {
    check("@bot", free(""));
    check("@bot!", free(""));
}

#[test]
fn the_instruction_is_kept_as_it_was_written() {
    check(
        "**@bot**: fix *this*\n\n```rust\nlet x = 1;\n```\n",
        fix("fix *this*\n\n```rust\nlet x = 1;\n```"),
    );
    check("@bot\n```\ncode\n```\nwhat is this?", free("```\ncode\n```\nwhat is this?"));
}

#[test]
fn findings_are_named_by_id() {
    check("@bot fix F1", fix_these(&["F1"], "fix F1"));
    check("@bot fix F1, F2 and F1 please", fix_these(&["F1", "F2"], "fix F1, F2 and F1 please"));
    check("@bot fix finding a1b2c3.", fix_these(&["a1b2c3"], "fix finding a1b2c3."));
    check(
        "@bot fix src/a.rs:12:overflow",
        fix_these(&["src/a.rs:12:overflow"], "fix src/a.rs:12:overflow"),
    );
    check("@bot fix `abcdef`", fix_these(&["abcdef"], "fix `abcdef`"));
    check("@bot fix F1: it crashes", fix_these(&["F1"], "fix F1: it crashes"));
    check("@bot fix F1 - it crashes", fix_these(&["F1"], "fix F1 - it crashes"));
    check("@bot 修复F1、F2", fix_these(&["F1", "F2"], "修复F1、F2"));
}

#[test]
fn words_paths_and_counts_are_no_ids() {
    for text in [
        "fix the null check",
        "fix utf-8 handling",
        "fix typo",
        "fix null-check",
        "fix src/main.rs",
        "fix 2 bugs",
        "fix 404",
        "fix #12",
        "fix `foo()`",
        "fix `foo` handling",
        "fix this",
    ] {
        check(&format!("@bot {text}"), fix(text));
    }
}

#[test]
fn all_findings_are_meant_when_all_is_said_of_them() {
    for text in [
        "fix all",
        "fix everything",
        "fix all findings",
        "fix all of them, please",
        "apply all",
        "修复所有问题",
        "全部修复",
    ] {
        check(&format!("@bot {text}"), fix_all(text));
    }
    for text in ["fix all tests", "fix all the warnings", "add all", "fix all F1"] {
        check(&format!("@bot {text}"), fix(text));
    }
}

#[test]
fn resolve_and_dismiss_take_an_id() {
    let resolve = |id: &str| Command::Resolve { finding: id.to_owned() };
    check("@bot resolve F3", resolve("F3"));
    check("@bot resolve finding `F3`, thanks!", resolve("F3"));
    check("@bot 解决 F3", resolve("F3"));
    check("@bot resolve 3 conflicts", free("resolve 3 conflicts"));
    check("@bot resolve F1 F2", free("resolve F1 F2"));

    let dismiss = |id: &str, why: Option<&str>| Command::Dismiss {
        finding: id.to_owned(),
        why: why.map(str::to_owned),
    };
    check("@bot dismiss F3", dismiss("F3", None));
    check(
        "@bot dismiss F3: false positive,\nsee the tests",
        dismiss("F3", Some("false positive,\nsee the tests")),
    );
    check("@bot dismiss `F3` - not a bug", dismiss("F3", Some("not a bug")));
    check("@bot dismiss finding F3, because I say so", dismiss("F3", Some("because I say so")));
    check("@bot dismiss", free("dismiss"));
}

#[test]
fn what_is_not_spoken_commands_nothing() {
    for text in [
        "`@bot fix`",
        "```\n@bot fix\n```",
        "~~~\n@bot fix\n~~~",
        "    @bot fix",
        "> @bot fix",
        "> quoted\n@bot fix",
        "<!-- @bot fix -->",
        "<!-- @bot fix",
        "text <!-- @bot fix",
        "<pre>\n@bot fix\n</pre>",
        "a <code>@bot fix</code>",
        "~~@bot fix~~",
        "![@bot fix](x.png)",
        r"\@bot fix",
        "&#64;bot fix",
        "```\n/agent fix\n```",
        "> /agent fix",
        "no mention at all",
        "",
    ] {
        check_nothing(text);
    }
    check("@bot `fix`", free("`fix`"));
}

#[test]
fn the_slash_form_needs_no_mention() {
    check("/agent fix", fix("fix"));
    check("/agent fix F1", fix_these(&["F1"], "fix F1"));
    check("Please look.\n\n/agent fix the crash", fix("fix the crash"));
    check_nothing("/agent review");
    check_nothing("see /agent fix");
}

#[test]
fn an_edit_commands_only_if_it_adds_the_address() {
    let added = |before, after| parse_added(before, after, &names());
    assert_eq!(added("hello", "hello\n\n@bot help"), Some(Command::Help));
    assert_eq!(added("@bot2 help", "@bot help"), Some(Command::Help));
    assert_eq!(added("`@bot help`", "@bot help"), Some(Command::Help));
    assert_eq!(added("@bot help", "@bot fix"), None);
    assert_eq!(added("thanks @bot", "@bot fix"), None);
    assert_eq!(added("/agent fix", "@bot fix"), None);
    assert_eq!(added("@bot help", "never mind"), None);
}

#[test]
fn an_order_without_a_mention_is_read_alike() {
    assert_eq!(parse_order("review"), review());
    assert_eq!(parse_order(" fix F1\n"), fix_these(&["F1"], "fix F1"));
    assert_eq!(parse_order("what is this?"), free("what is this?"));
    assert_eq!(parse_order(""), free(""));
}

#[test]
fn a_description_can_ask_to_be_left_alone() {
    for text in [
        "@bot ignore",
        "@bot: ignore",
        "Text.\n\n@coderabbitai: ignore\n",
        "cc @bot\n@bot ignore this change please",
        "@bot 忽略",
    ] {
        assert!(asks_to_ignore(text, &names()), "{text}");
    }
    for text in [
        "@bot review",
        "@bot ignore the failing test",
        "@bot2 ignore",
        "<!-- write `@bot ignore` to skip -->",
        "`@bot ignore`",
        "> @bot ignore",
        "ignore",
    ] {
        assert!(!asks_to_ignore(text, &names()), "{text}");
    }
}

/// Text with a good chance of mentions, verbs and markup.
fn comment() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("@bot".to_owned()),
        Just("/agent fix".to_owned()),
        Just("fix".to_owned()),
        Just("review".to_owned()),
        Just("修复".to_owned()),
        Just("ignore".to_owned()),
        Just("dismiss".to_owned()),
        Just("F1".to_owned()),
        Just("all".to_owned()),
        r"[-`~>*_<!/#@ \\\n\t,.:?]{1,3}",
        r"\PC{0,4}",
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #[test]
    fn any_text_can_be_parsed(text in any::<String>(), before in any::<String>()) {
        parse(&text, &names());
        parse_order(&text);
        parse_added(&before, &text, &names());
        asks_to_ignore(&text, &names());
    }

    #[test]
    fn any_comment_can_be_parsed(text in comment()) {
        parse(&text, &names());
        parse_order(&text);
        asks_to_ignore(&text, &names());
    }

    #[test]
    fn a_fence_around_a_text_silences_it(text in comment()) {
        let fence = "`".repeat(longest_run(&text, '`').max(2) + 1);
        prop_assert_eq!(parse(&format!("{fence}\n{text}\n{fence}"), &names()), None);
        let fence = "~".repeat(longest_run(&text, '~').max(2) + 1);
        prop_assert_eq!(parse(&format!("{fence}\n{text}\n{fence}\n"), &names()), None);
    }

    #[test]
    fn a_quoted_text_is_silent(text in comment()) {
        let quoted: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
        prop_assert_eq!(parse(&quoted.join("\n"), &names()), None);
    }

    #[test]
    fn a_text_in_an_html_comment_is_silent(text in comment()) {
        let inner = text.replace("--", "");
        prop_assert_eq!(parse(&format!("<!-- {inner} -->"), &names()), None);
        prop_assert_eq!(parse(&format!("<!-- {inner}"), &names()), None);
    }

    #[test]
    fn without_a_name_or_the_slash_form_nothing_is_said_to_us(text in r"[^@/]{0,200}") {
        prop_assert_eq!(parse(&text, &names()), None);
    }

    #[test]
    fn an_edit_that_changes_nothing_adds_nothing(text in comment()) {
        prop_assert_eq!(parse_added(&text, &text, &names()), None);
    }
}

fn longest_run(text: &str, sign: char) -> usize {
    text.split(|c| c != sign).map(str::len).max().unwrap_or(0)
}
