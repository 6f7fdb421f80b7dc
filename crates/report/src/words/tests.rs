//! Languages by their codes and by what people write; spans of time.

use super::*;

#[test]
fn a_language_is_known_by_its_code_in_any_writing() {
    for (code, language) in [
        ("en", Language::En),
        ("EN", Language::En),
        ("en-US", Language::En),
        ("zh", Language::Zh),
        ("zh-CN", Language::Zh),
        ("zh_Hans_CN", Language::Zh),
        (" ja ", Language::Ja),
        ("ko_KR.UTF-8", Language::Ko),
        ("hi", Language::Hi),
        ("TH", Language::Th),
    ] {
        assert_eq!(code.parse(), Ok(language), "{code}");
    }
    for language in Language::ALL {
        assert_eq!(language.as_str().parse(), Ok(language));
    }
}

#[test]
fn an_unknown_language_is_refused_with_a_suggestion() {
    let refused = |code: &str| code.parse::<Language>().unwrap_err().to_string();
    assert_eq!(
        refused("jp"),
        "`jp` is not a language that Patchwright speaks (en, zh, ja, ko, hi, th); did you mean `ja`?"
    );
    assert_eq!(
        refused("fr"),
        "`fr` is not a language that Patchwright speaks (en, zh, ja, ko, hi, th)"
    );
    for (code, meant) in
        [("eng", "en"), ("englsh", "en"), ("Chinese", "zh"), ("中文", "zh"), ("korean", "ko")]
    {
        assert!(refused(code).ends_with(&format!("did you mean `{meant}`?")), "{code}");
    }
    assert!(refused("").starts_with("``"));
}

#[test]
fn the_script_of_a_comment_decides_the_language_of_the_answer() {
    for (text, language) in [
        ("@bot help", Language::En),
        ("@bot 帮我改一下 the parser", Language::Zh),
        ("@bot このバグを修正してください", Language::Ja),
        ("@bot 修正してください", Language::Ja),
        ("@bot 리뷰 해주세요", Language::Ko),
        ("@bot कृपया समीक्षा करें", Language::Hi),
        ("@bot ช่วยรีวิวหน่อย", Language::Th),
        ("Thanks 张伟, the review looks good to me now", Language::En),
        ("", Language::En),
    ] {
        assert_eq!(Language::of(text, Language::En), language, "{text}");
    }
}

#[test]
fn the_configured_language_answers_where_the_script_does_not_tell() {
    assert_eq!(Language::of("please fix it", Language::Th), Language::Th);
    assert_eq!(Language::of("再確認", Language::Ja), Language::Ja);
    assert_eq!(Language::of("再確認", Language::Ko), Language::Zh);
}

#[test]
fn time_is_told_in_the_largest_whole_unit() {
    let span = |seconds| Span::from(Duration::from_secs(seconds));
    assert_eq!(span(0), Span::Seconds(0));
    assert_eq!(span(59), Span::Seconds(59));
    assert_eq!(span(60), Span::Minutes(1));
    assert_eq!(span(3_599), Span::Minutes(59));
    assert_eq!(span(3_600), Span::Hours(1));
    assert_eq!(span(86_399), Span::Hours(23));
    assert_eq!(span(86_400), Span::Days(1));
}
