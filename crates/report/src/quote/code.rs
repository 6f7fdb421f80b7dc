//! Code: verbatim, in a fence that it cannot close.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::unseen;
use crate::marker;

/// Code in a fence, and whether it may be offered as a suggestion that one click commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeBlock {
    pub markdown: String,
    pub committable: Committable,
}

/// Whether what a reader sees is exactly what would be committed, and harmless as it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committable {
    Yes,
    /// Something in it had to be shown escaped.
    Never,
}

/// Languages that a host turns into something else than code: a button, a picture, a request.
const RENDERED: [&str; 35] = [
    "mermaid",
    "math",
    "geojson",
    "topojson",
    "stl",
    "plantuml",
    "kroki",
    "actdiag",
    "blockdiag",
    "bpmn",
    "bytefield",
    "c4plantuml",
    "d2",
    "dbml",
    "diagramsnet",
    "ditaa",
    "dot",
    "erd",
    "excalidraw",
    "graphviz",
    "nomnoml",
    "nwdiag",
    "packetdiag",
    "pikchr",
    "rackdiag",
    "seqdiag",
    "structurizr",
    "svgbob",
    "symbolator",
    "tikz",
    "umlet",
    "vega",
    "vegalite",
    "wavedrom",
    "wireviz",
];

/// Writes a short piece of code into a line: a name, a path, a command.
pub fn code_inline(text: &str) -> String {
    let text = unseen::show(text).replace(['\n', '\t'], " ");
    let fence = "`".repeat(unused_length(&text));
    // A space on each side is dropped by the renderer, so one may always be given.
    let blank = text.trim().is_empty();
    let touches = text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    match (blank, touches) {
        (true, _) => "` `".to_owned(),
        (false, true) => format!("{fence} {text} {fence}"),
        (false, false) => format!("{fence}{text}{fence}"),
    }
}

/// Writes code as a block. Code with a `/word` line, one of our markers, or unseen characters is
/// shown with those escaped.
pub fn code_block(text: &str, language: &str) -> CodeBlock {
    let shown = disarmed(text);
    let committable =
        if shown == text.replace("\r\n", "\n") { Committable::Yes } else { Committable::Never };
    let fence = "`".repeat(longest_backticks(&shown).max(2) + 1);
    let language = plain_language(language);
    let end = if shown.is_empty() || shown.ends_with('\n') { "" } else { "\n" };
    CodeBlock { markdown: format!("{fence}{language}\n{shown}{end}{fence}"), committable }
}

/// Returns the code as it is shown.
fn disarmed(text: &str) -> String {
    let text = unseen::show(text);
    let text = if text.contains(marker::FAMILY) {
        Cow::Owned(text.replace(marker::FAMILY, &marker::FAMILY.replacen('!', "\\!", 1)))
    } else {
        text
    };
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let code = line.trim_start();
        if code.strip_prefix('/').is_some_and(|word| word.starts_with(char::is_alphabetic)) {
            shown.push_str(&line[..line.len() - code.len()]);
            shown.push('\\');
            shown.push_str(code);
        } else {
            shown.push_str(line);
        }
    }
    shown
}

fn plain_language(language: &str) -> &str {
    let name = language.trim();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '-' | '_' | '.');
    let lower = name.to_ascii_lowercase();
    let first = lower.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or("");
    // Whatever begins like a suggestion could be one: GitLab puts a range behind the word.
    let rendered = lower.starts_with("suggestion") || RENDERED.contains(&first);
    if name.len() <= 30 && name.chars().all(plain) && !rendered { name } else { "" }
}

/// Returns the shortest length that no run of backticks in the text has.
fn unused_length(text: &str) -> usize {
    let used: BTreeSet<usize> = runs(text).collect();
    (1..).find(|length| !used.contains(length)).unwrap_or(1)
}

fn longest_backticks(text: &str) -> usize {
    runs(text).max().unwrap_or(0)
}

fn runs(text: &str) -> impl Iterator<Item = usize> {
    text.split(|c| c != '`').map(str::len)
}
