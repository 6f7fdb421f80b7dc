//! The kinds of forges that we speak to.

use std::fmt;

use report::Flavour;
use serde::{Deserialize, Serialize};

/// A kind of forge. Forgejo is Gitea with another accent: its decoder and adapter are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Host {
    GitHub,
    GitLab,
    GitCode,
    Gitea,
    /// A folder on disk, for the demo and the command line. It sends no deliveries.
    Local,
}

impl Host {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::GitLab => "gitlab",
            Self::GitCode => "gitcode",
            Self::Gitea => "gitea",
            Self::Local => "local",
        }
    }

    /// Returns the accent of Markdown that is written for it.
    pub fn flavour(self) -> Flavour {
        match self {
            Self::GitHub => Flavour::GitHub,
            Self::GitLab => Flavour::GitLab,
            Self::GitCode => Flavour::GitCode,
            Self::Gitea => Flavour::Gitea,
            Self::Local => Flavour::Plain,
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
