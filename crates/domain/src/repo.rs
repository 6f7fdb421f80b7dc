//! Where code lives. A repository is (connection, numeric id); its name is a label read anew (T9).

use std::fmt;

use serde::{Deserialize, Serialize};

/// The origin of a forge (`scheme://host[:port]`), lower case, without a trailing slash.
///
/// In keys and MACs a connection is its origin, not the name that an operator gave it: renaming
/// a connection must not make the bot forget its own comments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Origin(String);

impl Origin {
    /// Normalises an origin that configuration already checked to be a URL without a path.
    pub fn new(text: &str) -> Self {
        Self(text.trim().trim_end_matches('/').to_ascii_lowercase())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The identity of a repository on its forge.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "by", content = "is", rename_all = "kebab-case")]
pub enum RepoKey {
    /// The forge's numeric id.
    Id(u64),
    /// Lower-case full name: only for a payload without an id, until the first stage has read it.
    Name(String),
}

impl fmt::Display for RepoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "{id}"),
            Self::Name(name) => write!(f, "~{name}"),
        }
    }
}

/// A repository as an event names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Repo {
    pub origin: Origin,
    pub key: RepoKey,
    /// `owner/name`, with more slashes on GitLab. A label: never a key.
    pub full_name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_branch: Option<String>,
}

impl Repo {
    /// Returns the text under which lanes, budgets and caches of this repository are kept.
    pub fn id(&self) -> RepoId {
        RepoId(format!("{}/{}", self.origin, self.key))
    }

    /// Splits the full name into owner (with groups) and name.
    pub fn owner_and_name(&self) -> (&str, &str) {
        self.full_name.rsplit_once('/').unwrap_or(("", &self.full_name))
    }
}

/// A repository's identity as one text: `origin/id`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RepoId(pub String);

impl fmt::Display for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
