//! The accent of a host: which Markdown it reads, what it would act on, how much it takes.
//!
//! The crate `forge` maps each of its hosts to one of these. Everything here that writes for
//! people asks the flavour instead of knowing hosts by name.

use serde::{Deserialize, Serialize};

/// A host's accent of Markdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flavour {
    GitHub,
    GitLab,
    GitCode,
    /// Forgejo too.
    Gitea,
    /// Nobody renders it and no machine acts on it: a terminal, a log, a file.
    Plain,
}

impl Flavour {
    pub const ALL: [Self; 5] =
        [Self::GitHub, Self::GitLab, Self::GitCode, Self::Gitea, Self::Plain];

    /// Returns how many characters a body may have, its marker included.
    pub fn body_cap(self) -> usize {
        match self {
            Self::GitHub | Self::Gitea => 65_536,
            Self::GitLab | Self::Plain => 1_000_000,
            Self::GitCode => 60_000,
        }
    }

    /// Whether somebody renders the text as Markdown.
    pub(crate) fn is_rendered(self) -> bool {
        self != Self::Plain
    }
}
