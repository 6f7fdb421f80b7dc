//! Tables per host, and properties checked by a reader that shares no code with the writer.

use proptest::prelude::*;

use super::*;

const RENDERED: [Flavour; 4] = [Flavour::GitHub, Flavour::GitLab, Flavour::GitCode, Flavour::Gitea];

#[track_caller]
fn check(text: &str, expected: &str) {
    for flavour in RENDERED {
        assert_eq!(quote(text, flavour), expected, "{flavour:?}");
        assert_harmless(&quote(text, flavour));
    }
}

#[test]
fn t4_a_mention_stands_in_code() {
    check("thanks @alice!", "thanks `@alice`!");
    check("@org/team-1, @all and @a.b.", "`@org/team-1`, `@all` and `@a.b`.");
    check("(@alice)@bob", "(`@alice`)`@bob`");
    check("mail bob@example.org", "mail bob`@example.org`");
    check("@张三 你好 ＠all", "`@张三` 你好 `＠all`");
    check("@@x @_y @-z a @ b", "@`@x` `@_y` `@-z` a @ b");
    check("&#64;all &commat;all", "&amp;`#64`;all &amp;commat;all");
    check("\\@x \\\\@x", "\\\\`@x` \\\\\\\\`@x`");
}

#[test]
fn t4_a_closing_keyword_finds_nothing_to_close() {
    check("Fixes #1, closes o/r#22", "Fixes `#1`, closes o/r`#22`");
    check("fixes: GH-3 resolves gh-4", "fixes: `GH-3` resolves `gh-4`");
    check("Implements !5 and &6", "Implements `!5` and `&6`");
    check("Closes PROJ-12, X_Y-3", "Closes `PROJ-12`, `X_Y-3`");
    check("修复ABC-7 关闭#8", "修复`ABC-7` 关闭`#8`");
    check("closes #I5KX3D", "closes `#I5KX3D`");
    check(
        "resolves https://forge.example/o/r/issues/1 and http://f.example/g/-/Merge_Requests/2.",
        "resolves `https://forge.example/o/r/issues/1` and `http://f.example/g/-/Merge_Requests/2`.",
    );
    check("closes xhttps://f.example/issues/1", "closes x`https://f.example/issues/1`");
    check("closes [issue:1] [work_item:g/p/2]", "closes `[issue:1]` `[work_item:g/p/2]`");
    check("C# is #fine &amp; 100% - a-1", "C# is #fine &amp;amp; 100% - a-1");
}

#[test]
fn t4_no_line_begins_with_a_command() {
    check("/close\n  /merge now\n\t/label ~x", "\\/close\n\\/merge now\n\\/label \\~x");
    check(
        "- /close\n> /close\n# /close\n1. /close",
        "- \\/close\n> \\/close\n# \\/close\n1. \\/close",
    );
    check("\u{a0}/close\r\n/close", "\\/close\n\\/close");
    check("either/or a /b", "either/or a /b");
    check("bors r+\nBors: try\nborscht", "`bors` r+\n`Bors`: try\nborscht");
    check("r+\nr? @x\nrest", "`r+`\n`r?` `@x`\nrest");
    check("OK to test\nok, fine", "`OK to test`\nok, fine");
    check("LGTM\nlgtm 2", "`LGTM`\n`lgtm` 2");
    check("@dependabot merge", "`@dependabot` merge");
    check("::include{file=x}", "\\::include{file=x}");
    check(">>> quoted\n>>>\nx", "> > > quoted\n> > > \nx");
}

#[test]
fn t4_html_images_and_links_are_text() {
    check("<!-- hidden --> <b>x</b>", "&lt;!-- hidden --> &lt;b>x&lt;/b>");
    check("![x](http://t.example/p.png)", "!\\[x\\](http://t.example/p.png)");
    check(
        "[a]: http://x.example\n[a] ![a][b]",
        "\\[a\\]: http://x.example\n\\[a\\] !\\[a\\]\\[b\\]",
    );
    check("<img src=http://x.example>", "&lt;img src=http://x.example>");
    check("- [ ] task\n- [x] done", "- \\[ \\] task\n- \\[x\\] done");
    check("$x$ ~~y~~ a|b", "\\$x\\$ \\~\\~y\\~\\~ a\\|b");
}

#[test]
fn t4_no_table_cuts_code_into_cells() {
    check("a|b\n-|-\n`x|@y`", "a\\|b\n-\\|-\n`x|@y`");
    check("a\n:-\n`x|@y`", "a\n\\:-\n`x|@y`");
}

#[test]
fn t4_an_address_stays_whole() {
    check("see https://x.example/a_b?c=1&d=2.", "see https://x.example/a_b?c=1&amp;d=2.");
    check("https://x.example/@alice", "`https://x.example/@alice`");
    check("见https://x.example/a。好", "见https://x.example/a。好");
    check("https://x.example/~a#b", "`https://x.example/~a#b`");
    check("www.x.example/a, x_www.y.example/b", "www.x.example/a, x_www.y.example/b");
}

#[test]
fn t4_no_link_swallows_the_code_behind_it() {
    check("www.x.example/@a", "`www.x.example/@a`");
    check("http://x.example/。`a b` @c", "`http://x.example/`。`a b` `@c`");
    check("http://x.example>@a", "`http://x.example`>`@a`");
    check("http://x.example\u{a0}@a", "`http://x.example`\u{a0}`@a`");
    check("ftp://x.example`a b`", "`ftp://x.example` `a b`");
    check("http://<b>", "`http://`&lt;b>");
}

#[test]
fn t4_unseen_characters_are_shown() {
    check("a\u{202e}b\u{0}c\u{200b}d\u{feff}", "a\\\\u{202e}b\\\\u{0}c\\\\u{200b}d\\\\u{feff}");
    check("a\rb\u{2028}/close\u{85}x", "a\\\\u{d}b\\\\u{2028}/close\\\\u{85}x");
    check("@\u{200d}x \u{e0041}", "@\\\\u{200d}x \\\\u{e0041}");
    check("क्‍ष 👩‍💻", "क्‍ष 👩‍💻");
    check("`a\u{202e}b`", "`a\\u{202e}b`");
}

#[test]
fn emphasis_lists_and_headings_are_kept() {
    let text = "# Title\n\nSome *emphasis* and **more**.\n\n- one\n  - two\n\n1. three\n> said";
    check(text, text);
}

#[test]
fn t4_code_is_kept_and_cannot_be_left() {
    check("use `@x` and ``a`b``", "use `@x` and ``a`b``");
    check("an open ` tick @x", "an open \\` tick `@x`");
    check("`a``@x` `b`", "`a``@x` `b`");
    check("`@a`@b`@c`", "`@a` `@b` `@c`");
    check("```rust\nlet a = \"@x\";\n```\nafter", "```rust\nlet a = \"@x\";\n```\nafter");
    check("~~~\n```\n@x\n~~~\n@y", "````\n```\n@x\n````\n`@y`");
    check("```\nnever closed\n@x", "```\nnever closed\n@x\n```");
    check("- item\n  ```\n  a\n    b\n  ```\n- next", "- item\n```\na\n  b\n```\n- next");
    check("- ~~~\n- @x", "- \\~\\~\\~\n- `@x`");
    check("```suggestion\nx\n```", "```\nx\n```");
    check("```suggestion:-0+1\nx\n```", "```\nx\n```");
    check("```\n/close\n```", "```\n\\/close\n```");
}

#[test]
fn t4_a_line_of_others_is_one_line() {
    let line = |text| quote_line(text, Flavour::GitLab);
    assert_eq!(line("a\n/close\n@x"), "a /close `@x`");
    assert_eq!(line("/close"), "\\/close");
    assert_eq!(line("- a"), "\\- a");
    assert_eq!(line("12. a"), "12\\. a");
    assert_eq!(line("> a"), "\\> a");
    assert_eq!(line("# a #1"), "\\# a `#1`");
    assert_eq!(line("```\nx"), "\\`\\`\\` x");
}

#[test]
fn t4_a_block_quote_keeps_every_line_behind_its_sign() {
    assert_eq!(
        quote_block("a\n\n/b\n```\nc\n", Flavour::GitHub),
        "> a\n>\n> \\/b\n> ```\n> c\n> ```"
    );
}

#[test]
fn t4_a_title_is_one_plain_inert_line() {
    for flavour in RENDERED {
        let check = |text: &str, expected: &str| assert_eq!(title(text, flavour), expected);
        check("Fix  the\nbug", "Fix the bug");
        check("fixes #1 and GH-2 for @alice/x", "fixes # 1 and GH- 2 for @ alice/x");
        check("Closes ABC-1, UTF-8", "Closes ABC\u{2011}1, UTF\u{2011}8");
        check("/close it", "> /close it");
        check("bors r+", "> bors r+");
        check("closes https://f.example/o/r/issues/1", "closes https:// f.example/o/r/issues/1");
        check("x [Skip CI] [ci skip] [ci]", "x [ Skip CI] [ ci skip] [ci]");
        check("a <!-- b \u{202e}", "a <!- - b \\u{202e}");
        check("`code` stays", "`code` stays");
    }
}

#[test]
fn plain_text_is_left_as_it_is_but_for_what_cannot_be_seen() {
    assert_eq!(quote("a <b> @x\n/close\u{1b}[0m", Flavour::Plain), "a <b> @x\n/close\\u{1b}[0m");
    assert_eq!(quote("<!-- patchwright:1", Flavour::Plain), "<!- - patchwright:1");
    assert_eq!(title("a\n b", Flavour::Plain), "a b");
}

#[test]
fn t4_code_stands_verbatim_in_a_longer_fence() {
    let block = code_block("a\n````\nb", "rust");
    assert_eq!(block.markdown, "`````rust\na\n````\nb\n`````");
    assert_eq!(block.committable, Committable::Yes);
    assert_eq!(code_block("a\r\nb\r\n", "").markdown, "```\na\nb\n```");
    assert_eq!(code_block("a\r\nb\r\n", "").committable, Committable::Yes);
    assert_eq!(code_block("// a\n/* b */\na/b", "c++").committable, Committable::Yes);
    assert_eq!(code_block("", "x y").markdown, "```\n```");
}

#[test]
fn t4_code_that_could_act_is_shown_escaped_and_never_committable() {
    for (code, shown) in [
        ("x\n  /close\ny", "x\n  \\/close\ny"),
        ("<!-- patchwright:1 kind=a -->", "<\\!-- patchwright:1 kind=a -->"),
        ("a\u{202e}b", "a\\u{202e}b"),
        ("a\u{0}b", "a\\u{0}b"),
        ("a\rb", "a\\u{d}b"),
    ] {
        let block = code_block(code, "");
        assert_eq!(block.markdown, format!("```\n{shown}\n```"));
        assert_eq!(block.committable, Committable::Never);
    }
}

#[test]
fn t4_no_language_makes_code_a_button_or_a_picture() {
    for language in [
        "suggestion",
        "Suggestion",
        "suggestion:-0+0",
        "suggestion-1",
        "vega-lite",
        "mermaid",
        "plantuml",
        "json:table",
        "a`b",
        "a\nb",
    ] {
        assert_eq!(code_block("x", language).markdown, "```\nx\n```");
    }
}

#[test]
fn inline_code_holds_whatever_is_put_into_it() {
    assert_eq!(code_inline("a"), "`a`");
    assert_eq!(code_inline("a`b"), "``a`b``");
    assert_eq!(code_inline("`a"), "`` `a ``");
    assert_eq!(code_inline(" a "), "`  a  `");
    assert_eq!(code_inline("a\nb\u{7}"), "`a b\\u{7}`");
    assert_eq!(code_inline(""), "` `");
}

#[test]
fn pathological_texts_take_linear_time() {
    let units = [
        "`", "` ``", "```\n", "~~~\n\n", "@", "@a/", "#", "A_", "A-", "[a:", "<!--", "&#",
        "https://", "\\", "> ", "- ", "#", "/a\n", "\u{202e}", "x`y``", "1.", "\r",
    ];
    for unit in units {
        let text = unit.repeat(50_000 / unit.len());
        quote(&text, Flavour::GitLab);
        quote_line(&text, Flavour::GitLab);
        title(&text, Flavour::GitLab);
        code_block(&text, "");
        code_inline(&text);
    }
    let megabytes: String = units.concat().repeat(4_000_000 / units.concat().len());
    quote(&megabytes, Flavour::GitLab);
}

/// Stands for a code span: neither a letter nor a space.
const CODE: char = '\u{25a1}';

/// Takes the code out of Markdown, as any reader of it would.
fn without_code(markdown: &str) -> String {
    let mut prose = String::new();
    let mut fence: Option<usize> = None;
    for line in markdown.split('\n') {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            Some(open) if ticks >= open && line.trim_matches('`').is_empty() => fence = None,
            Some(_) => {}
            None if ticks >= 3 && !line[ticks..].contains('`') => fence = Some(ticks),
            None => {
                prose.push_str(&without_spans(line));
                prose.push('\n');
            }
        }
    }
    prose
}

fn without_spans(line: &str) -> String {
    let mut prose = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        if c == '\\' && rest.len() > 1 {
            let escaped = rest[1..].chars().next().unwrap();
            prose.extend(['\\', escaped]);
            rest = &rest[1 + escaped.len_utf8()..];
        } else if ticks > 0 {
            let mut from = ticks;
            let close = loop {
                let Some(at) = rest[from..].find('`').map(|at| at + from) else { break None };
                let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
                if run == ticks {
                    break Some(at + run);
                }
                from = at + run;
            };
            prose.push(CODE);
            rest = &rest[close.expect("every backtick that is not escaped belongs to code")..];
        } else {
            prose.push(c);
            rest = &rest[c.len_utf8()..];
        }
    }
    prose
}

/// Looks for what must not stand outside code.
#[track_caller]
pub(crate) fn assert_harmless(markdown: &str) {
    let prose = without_code(markdown);
    let visible = |c: char| c == '\n' || !c.is_control();
    assert!(markdown.chars().all(|c| visible(c) || c == '\t'), "control: {markdown:?}");
    assert!(
        !markdown.contains(['\u{202e}', '\u{2066}', '\u{200b}', '\u{2028}']),
        "bidi: {markdown:?}"
    );
    assert!(!prose.contains('<'), "HTML: {prose:?}");
    assert!(!prose.contains("~~~"), "fence: {prose:?}");
    let mut escaped = false;
    let signs: Vec<char> = prose.chars().collect();
    for (at, &c) in signs.iter().enumerate() {
        let next = signs.get(at + 1).copied().unwrap_or(' ');
        assert!(escaped || !matches!(c, '[' | ']' | '`' | '|'), "link, code or table: {prose:?}");
        assert!(!(c == '@' && (next.is_alphanumeric() || next == '_')), "mention: {prose:?}");
        assert!(!(matches!(c, '#' | '!') && next.is_ascii_digit()), "reference: {prose:?}");
        escaped = c == '\\' && !escaped;
    }
    for word in prose.to_lowercase().split_whitespace() {
        let address = word.find("http").map(|at| &word[at..]);
        assert!(!address.is_some_and(|text| text.contains("/issues/1")), "reference: {prose:?}");
        // A link takes everything up to the next space, the backticks of code included.
        let link =
            ["http://", "https://", "ftp://", "www."].iter().find_map(|start| word.find(start));
        assert!(!link.is_some_and(|at| word[at..].contains(CODE)), "code in a link: {prose:?}");
    }
    for line in prose.lines() {
        let mut content = line.trim_start();
        while let Some(rest) =
            ["> ", "- ", "* ", "+ "].iter().find_map(|mark| content.strip_prefix(mark))
        {
            content = rest.trim_start();
        }
        content = content.strip_prefix("# ").unwrap_or(content);
        assert!(!content.starts_with('/'), "command: {line:?}");
        assert!(!content.to_lowercase().starts_with("bors "), "command: {line:?}");
    }
}

/// Text made of the pieces that are dangerous, and of anything.
pub(crate) fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "`", "``", "```", "~~~", "\n", "\n\n", " ", "@a", "@", "#1", "#", "!2", "[x](y)", "![", "<!--", "-->", "<b>",
            "/close", "/", "\\", "&", "&#64;", "bors r+", "fixes ", "ABC-1", "GH-2", "https://x.y/z", "www.", "。", "\u{a0}", "|", ":-", "x", "https://f.example/issues/1",
            "\u{202e}", "\r", "\t", "    ", "> ", "- ", "1. ", "# ", "*", "_", "[issue:1]", "$", ":", "::", "suggestion",
        ]).prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn t4_nothing_that_acts_is_left_outside_code(text in hostile()) {
        assert_harmless(&quote(&text, Flavour::GitLab));
        assert_harmless(&quote_line(&text, Flavour::GitLab));
        assert!(!quote_line(&text, Flavour::GitLab).contains('\n'));
        assert!(quote_block(&text, Flavour::GitLab).lines().all(|line| line.starts_with('>')));
    }

    #[test]
    fn t4_nothing_that_acts_is_left_in_a_title(text in hostile()) {
        let title = title(&text, Flavour::GitLab);
        let signs: Vec<char> = title.chars().collect();
        prop_assert!(!title.contains("<!--") && !title.contains('\n') && !title.starts_with('/'));
        for pair in signs.windows(2) {
            prop_assert!(!(pair[0] == '@' && (pair[1].is_alphanumeric() || pair[1] == '_')), "{title:?}");
            prop_assert!(!(matches!(pair[0], '#' | '!') && pair[1].is_ascii_digit()), "{title:?}");
        }
    }

    #[test]
    fn t4_no_code_can_leave_its_fence(text in hostile()) {
        let block = code_block(&text, "rust").markdown;
        prop_assert_eq!(without_code(&block), "");
        prop_assert_eq!(without_spans(&code_inline(&text)), CODE.to_string());
    }

    #[test]
    fn a_quote_is_not_much_longer_than_the_text(text in hostile()) {
        prop_assert!(quote(&text, Flavour::GitHub).len() <= 8 * text.len() + 16);
        prop_assert!(title(&text, Flavour::GitHub).len() <= 8 * text.len() + 16);
    }
}
