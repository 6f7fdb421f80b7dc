//! What a host can do, as a value: probed where versions differ, asked in one place when a
//! publication is fitted to the host ([`crate::write`]).

/// The abilities of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The server's version, where it tells.
    pub version: Option<String>,
    pub ranges: Ranges,
    pub sides: Sides,
    pub files: FileComments,
    pub suggestions: Suggestions,
    pub replies: Ability,
    pub resolving: Ability,
    pub reactions: Ability,
    pub drafts: Ability,
    pub statuses: Ability,
}

/// Whether the host can do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ability {
    Yes,
    /// It cannot, for this reason.
    No(String),
}

impl Ability {
    pub fn is_there(&self) -> bool {
        *self == Self::Yes
    }
}

/// Whether a comment can stand on several lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranges {
    Yes,
    /// On the last line only; the text names the others.
    LastLine,
}

/// On which versions of a file comments can stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sides {
    Both,
    NewOnly,
}

/// Whether a comment can stand on a file as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileComments {
    Yes,
    No,
}

/// How code is offered in place of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suggestions {
    /// A block that replaces the lines of the comment, on the new side (GitHub).
    Lines,
    /// A block that says how many lines above the last one it replaces (GitLab).
    Offsets,
    /// None that could be applied by a click: shown as a difference.
    Shown,
}
