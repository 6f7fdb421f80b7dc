//! The types that settings have: how each is read from text or TOML, and how it is shown.
//!
//! A value is parsed into its meaning once, here; nothing later in the program checks it again.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use domain::AccountId;
use domain::policy::{Respond, Toggle};
use forge::Host;
use forge::http::Pacing;
use report::words::Language;
use secrecy::SecretString;
use url::Url;

use super::field::Form;

/// A value as it was written, before it means anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raw {
    /// From the environment, a flag, a default, or a TOML string.
    Text(String),
    Integer(i64),
    Boolean(bool),
    List(Vec<Self>),
    /// Something that no setting takes: a table, a date, a fraction.
    Strange,
}

/// A type of setting.
pub trait Value: Sized {
    /// What a right value looks like, in words that follow "expected".
    const EXPECTED: &'static str;
    const FORM: Form = Form::Value;

    /// Reads a value; `None` if it is not one.
    fn read(raw: &Raw) -> Option<Self>;

    /// The value when nobody sets it and the setting has no default.
    fn unset() -> Option<Self> {
        None
    }

    /// Writes the value as it would stand in the file; `None` if it is not set.
    fn show(&self) -> Option<String>;

    /// Makes a relative path start from the folder of the file that it stands in.
    #[must_use]
    fn rebased(self, _folder: &Path) -> Self {
        self
    }

    /// Takes a secret. Only secrets are secrets.
    fn from_secret(_secret: SecretString) -> Option<Self> {
        None
    }

    /// The words that would have been right, for a suggestion.
    fn words() -> &'static [&'static str] {
        &[]
    }
}

/// Writes text as a TOML string.
pub fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

impl Raw {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
            Self::Integer(_) | Self::Boolean(_) | Self::List(_) | Self::Strange => None,
        }
    }

    fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
            Self::Boolean(_) | Self::List(_) | Self::Strange => None,
        }
    }

    /// Returns the items of a list, or of text in which commas separate them.
    fn items(&self) -> Option<Vec<Self>> {
        match self {
            Self::List(items) => Some(items.clone()),
            Self::Text(text) => {
                let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
                Some(items.map(|item| Self::Text(item.to_owned())).collect())
            }
            Self::Integer(_) | Self::Boolean(_) | Self::Strange => None,
        }
    }
}

impl<T: Value> Value for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn read(raw: &Raw) -> Option<Self> {
        T::read(raw).map(Some)
    }

    fn unset() -> Option<Self> {
        Some(None)
    }

    fn rebased(self, folder: &Path) -> Self {
        self.map(|value| value.rebased(folder))
    }

    fn show(&self) -> Option<String> {
        self.as_ref().and_then(T::show)
    }

    fn words() -> &'static [&'static str] {
        T::words()
    }
}

/// A list of words.
impl Value for Vec<String> {
    const EXPECTED: &'static str = "a list of words";

    fn read(raw: &Raw) -> Option<Self> {
        raw.items()?.iter().map(|item| item.text().map(str::to_owned)).collect()
    }

    fn show(&self) -> Option<String> {
        let items: Self = self.iter().map(|item| quoted(item)).collect();
        Some(format!("[{}]", items.join(", ")))
    }
}

impl Value for Vec<AccountId> {
    const EXPECTED: &'static str = "a list of numeric account ids";

    fn read(raw: &Raw) -> Option<Self> {
        raw.items()?.iter().map(|item| item.integer().map(AccountId)).collect()
    }

    fn show(&self) -> Option<String> {
        let items: Vec<_> = self.iter().map(|id| id.0.to_string()).collect();
        Some(format!("[{}]", items.join(", ")))
    }
}

impl Value for String {
    const EXPECTED: &'static str = "text";

    fn read(raw: &Raw) -> Option<Self> {
        raw.text().map(str::to_owned)
    }

    fn show(&self) -> Option<String> {
        Some(quoted(self))
    }
}

impl Value for PathBuf {
    const EXPECTED: &'static str = "a path";

    fn read(raw: &Raw) -> Option<Self> {
        raw.text().map(Self::from)
    }

    fn rebased(self, folder: &Path) -> Self {
        folder.join(self)
    }

    fn show(&self) -> Option<String> {
        Some(quoted(&self.to_string_lossy()))
    }
}

impl Value for bool {
    const EXPECTED: &'static str = "`true` or `false`";

    fn read(raw: &Raw) -> Option<Self> {
        match raw {
            Raw::Boolean(value) => Some(*value),
            Raw::Text(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Some(true),
                "false" | "0" | "no" | "off" => Some(false),
                _ => None,
            },
            Raw::Integer(_) | Raw::List(_) | Raw::Strange => None,
        }
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for Toggle {
    const EXPECTED: &'static str = bool::EXPECTED;

    fn read(raw: &Raw) -> Option<Self> {
        bool::read(raw).map(|on| if on { Self::On } else { Self::Off })
    }

    fn show(&self) -> Option<String> {
        (*self == Self::On).show()
    }
}

impl Value for u32 {
    const EXPECTED: &'static str = "a whole number that is not negative";

    fn read(raw: &Raw) -> Option<Self> {
        Self::try_from(raw.integer()?).ok()
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for NonZeroU32 {
    const EXPECTED: &'static str = "a whole number, at least 1";

    fn read(raw: &Raw) -> Option<Self> {
        Self::new(u32::try_from(raw.integer()?).ok()?)
    }

    fn show(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Value for SocketAddr {
    const EXPECTED: &'static str = "an address with a port, such as \"127.0.0.1:8080\"";

    fn read(raw: &Raw) -> Option<Self> {
        let text = raw.text()?;
        let host_and_port = text.replacen("localhost:", "127.0.0.1:", 1);
        host_and_port.parse().ok()
    }

    fn show(&self) -> Option<String> {
        Some(quoted(&self.to_string()))
    }
}

impl Value for Duration {
    const EXPECTED: &'static str =
        "a span of time, such as \"500ms\", \"30s\", \"10m\", \"24h\" or \"7d\"";

    fn read(raw: &Raw) -> Option<Self> {
        let text = raw.text()?;
        let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
        let (number, unit) = text.split_at(unit_at);
        let number: u64 = number.parse().ok()?;
        let milliseconds = match unit.trim() {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        number.checked_mul(milliseconds).filter(|span| *span > 0).map(Self::from_millis)
    }

    fn show(&self) -> Option<String> {
        let milliseconds = self.as_millis();
        let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
        let fitting = units.iter().find(|(size, _)| milliseconds.is_multiple_of(*size));
        fitting.map(|(size, unit)| quoted(&format!("{}{unit}", milliseconds / size)))
    }
}

impl Value for Url {
    const EXPECTED: &'static str = "a web address, such as \"https://git.example.org\"";

    fn read(raw: &Raw) -> Option<Self> {
        let url = Self::parse(raw.text()?).ok()?;
        (matches!(url.scheme(), "http" | "https") && url.has_host()).then_some(url)
    }

    fn show(&self) -> Option<String> {
        Some(quoted(self.as_str()))
    }
}

impl Value for Language {
    const EXPECTED: &'static str = "one of `en`, `zh`, `ja`, `ko`, `hi`, `th`";

    fn read(raw: &Raw) -> Option<Self> {
        raw.text()?.parse().ok()
    }

    fn show(&self) -> Option<String> {
        Some(quoted(self.as_str()))
    }

    fn words() -> &'static [&'static str] {
        &["en", "zh", "ja", "ko", "hi", "th"]
    }
}

/// A secret that may be set. It can be read from three places, see [`Form::Secret`].
#[derive(Clone, Debug)]
pub struct Secret(pub Option<SecretString>);

impl Value for Secret {
    const EXPECTED: &'static str = "a secret text";
    const FORM: Form = Form::Secret;

    fn read(raw: &Raw) -> Option<Self> {
        raw.text().map(|text| Self(Some(SecretString::from(text))))
    }

    fn unset() -> Option<Self> {
        Some(Self(None))
    }

    fn show(&self) -> Option<String> {
        self.0.as_ref().map(|_| "[set]".to_owned())
    }

    fn from_secret(secret: SecretString) -> Option<Self> {
        Some(Self(Some(secret)))
    }
}

/// Implements [`Value`] for an enum whose values are plain words.
macro_rules! words {
    ($($type:ty: $expected:literal, $($word:literal => $value:path),+;)+) => {
        $(impl Value for $type {
            const EXPECTED: &'static str = $expected;

            fn read(raw: &Raw) -> Option<Self> {
                match raw.text()?.to_ascii_lowercase().as_str() {
                    $($word => Some($value),)+
                    _ => None,
                }
            }

            fn show(&self) -> Option<String> {
                [$(($value, $word)),+].iter().find(|(value, _)| value == self).map(|(_, word)| quoted(word))
            }

            fn words() -> &'static [&'static str] {
                &[$($word),+]
            }
        })+
    };
}

words! {
    Respond: "`mentioned` or `all`", "mentioned" => Self::Mentioned, "all" => Self::All;
    Host: "one of `github`, `gitlab`, `gitcode`, `gitea`",
        "github" => Self::GitHub, "gitlab" => Self::GitLab, "gitcode" => Self::GitCode,
        "gitea" => Self::Gitea, "forgejo" => Self::Gitea;
    Pacing: "one of `auto`, `on`, `off`",
        "auto" => Self::Auto, "on" => Self::On, "off" => Self::Off;
    Level: "one of `error`, `warn`, `info`, `debug`, `trace`",
        "error" => Self::Error, "warn" => Self::Warn, "info" => Self::Info, "debug" => Self::Debug,
        "trace" => Self::Trace, "warning" => Self::Warn, "critical" => Self::Error;
    Format: "one of `auto`, `text`, `json`",
        "auto" => Self::Auto, "text" => Self::Text, "json" => Self::Json;
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// With colours on a terminal, plain elsewhere.
    Auto,
    /// Plain text.
    Text,
    /// One JSON object per line.
    Json,
}
