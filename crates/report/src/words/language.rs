//! Which language we speak: configured by its code, or guessed from what a person wrote.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Words, en, hi, ja, ko, th, zh};

/// A language that we speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    #[default]
    En,
    Zh,
    Ja,
    Ko,
    Hi,
    Th,
}

impl Language {
    pub const ALL: [Self; 6] = [Self::En, Self::Zh, Self::Ja, Self::Ko, Self::Hi, Self::Th];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Zh => "zh",
            Self::Ja => "ja",
            Self::Ko => "ko",
            Self::Hi => "hi",
            Self::Th => "th",
        }
    }

    /// Returns the sentences of the language.
    pub fn words(self) -> &'static dyn Words {
        match self {
            Self::En => &en::English,
            Self::Zh => &zh::Chinese,
            Self::Ja => &ja::Japanese,
            Self::Ko => &ko::Korean,
            Self::Hi => &hi::Hindi,
            Self::Th => &th::Thai,
        }
    }

    /// Guesses by its script the language in which a text wants to be answered. A text in Latin
    /// letters, or with only a name in another script, is answered in the configured language.
    pub fn of(text: &str, configured: Self) -> Self {
        let mut letters = [0_usize; Script::COUNT];
        for script in text.chars().filter_map(Script::of) {
            letters[script as usize] += 1;
        }
        let count = |script: Script| letters[script as usize];
        // Kana make a text Japanese, whatever its share of Han. Han alone could be either.
        let han = match configured {
            _ if count(Script::Kana) > 0 => Self::Ja,
            Self::Ja => Self::Ja,
            _ => Self::Zh,
        };
        let candidates = [
            (count(Script::Han) + count(Script::Kana), han),
            (count(Script::Hangul), Self::Ko),
            (count(Script::Devanagari), Self::Hi),
            (count(Script::Thai), Self::Th),
        ];
        let latin = text.split_whitespace().filter(|word| is_latin_word(word)).count();
        match candidates.into_iter().max_by_key(|&(letters, _)| letters) {
            Some((letters, language)) if letters > latin => language,
            _ => configured,
        }
    }

    fn names(self) -> &'static [&'static str] {
        match self {
            Self::En => &["english"],
            Self::Zh => &["chinese", "cn", "mandarin", "中文"],
            Self::Ja => &["japanese", "jp", "日本語"],
            Self::Ko => &["korean", "kr", "한국어"],
            Self::Hi => &["hindi", "in", "हिन्दी"],
            Self::Th => &["thai", "ไทย"],
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no language that we speak.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a language that Patchwright speaks (en, zh, ja, ko, hi, th){}", hint(.suggestion))]
pub struct UnknownLanguage {
    pub given: String,
    pub suggestion: Option<Language>,
}

fn hint(suggestion: &Option<Language>) -> String {
    suggestion.map_or_else(String::new, |language| format!("; did you mean `{language}`?"))
}

impl FromStr for Language {
    type Err = UnknownLanguage;

    /// Takes a code in any case, with or without a region: `zh`, `EN`, `zh-CN`, `ja_JP.UTF-8`.
    fn from_str(text: &str) -> Result<Self, UnknownLanguage> {
        let lower = text.trim().to_lowercase();
        let code = lower.split(['-', '_', '.']).next().unwrap_or("");
        if let Some(language) = Self::ALL.into_iter().find(|language| language.as_str() == code) {
            return Ok(language);
        }
        let suggestion = Self::ALL.into_iter().find(|language| {
            let names = language.names();
            names.contains(&code)
                || (code.len() >= 3
                    && names
                        .iter()
                        .any(|name| name.starts_with(&code[..code.floor_char_boundary(3)])))
        });
        Err(UnknownLanguage { given: text.to_owned(), suggestion })
    }
}

#[derive(Clone, Copy)]
enum Script {
    Han,
    Kana,
    Hangul,
    Devanagari,
    Thai,
}

impl Script {
    const COUNT: usize = 5;

    fn of(c: char) -> Option<Self> {
        match c {
            '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9d}' => {
                Some(Self::Kana)
            }
            '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}' => Some(Self::Han),
            '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7a3}' => {
                Some(Self::Hangul)
            }
            '\u{900}'..='\u{97f}' => Some(Self::Devanagari),
            '\u{e00}'..='\u{e7f}' => Some(Self::Thai),
            _ => None,
        }
    }
}

/// A word of Latin letters. A mention is none: our own name stands in most comments.
fn is_latin_word(word: &str) -> bool {
    !word.starts_with('@')
        && word.contains(|c: char| c.is_ascii_alphabetic())
        && !word.chars().any(|c| Script::of(c).is_some())
}
