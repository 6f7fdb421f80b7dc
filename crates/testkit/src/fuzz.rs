//! Every parser of outside text as a function over any bytes, with what must hold for all of them.
//!
//! `cargo test` replays `fuzz/corpus/TARGET` through this table; the binary `fuzz` puts the same
//! functions under libFuzzer for `cargo xtask fuzz`. A target panics when a promise is broken; it
//! checks promises only, what a text means is for the parser's own tests.

#![expect(clippy::expect_used, reason = "a target panics when a promise is broken")]

mod diff;
mod text;
mod webhook;

/// A parser under search.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// The name of its folder in `fuzz/corpus`.
    pub name: &'static str,
    pub run: fn(&[u8]),
}

/// All targets, by name.
pub const TARGETS: [Target; 14] = [
    Target { name: "anchor", run: diff::anchor },
    Target { name: "code", run: text::code },
    Target { name: "command", run: text::command },
    Target { name: "diff", run: diff::diff },
    Target { name: "ignore", run: text::ignore },
    Target { name: "marker", run: text::marker },
    Target { name: "quote", run: text::quoted },
    Target { name: "redact", run: text::redact },
    Target { name: "shape", run: text::shape },
    Target { name: "webhook-gitcode", run: webhook::gitcode },
    Target { name: "webhook-gitea", run: webhook::gitea },
    Target { name: "webhook-github", run: webhook::github },
    Target { name: "webhook-gitlab", run: webhook::gitlab },
    Target { name: "webhook-signature", run: webhook::signature },
];

/// Finds a target by its name.
pub fn find(name: &str) -> Option<Target> {
    TARGETS.into_iter().find(|target| target.name == name)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    fn corpus() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
    }

    fn names_in(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| !name.starts_with('.'))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn every_target_has_a_folder_and_every_folder_a_target() {
        assert_eq!(names_in(&corpus()), TARGETS.map(|target| target.name.to_owned()));
    }

    #[test]
    fn every_kept_input_is_replayed() {
        for target in TARGETS {
            let folder = corpus().join(target.name);
            let inputs = names_in(&folder);
            assert!(!inputs.is_empty(), "`{}` has no inputs", target.name);
            for input in inputs {
                println!("replaying {}/{input}", target.name);
                (target.run)(&fs::read(folder.join(input)).unwrap());
            }
        }
    }

    #[test]
    fn every_target_takes_nothing_and_nonsense() {
        for target in TARGETS {
            println!("{}", target.name);
            for input in [&b""[..], b"\0", b"\xff\xfe", b"\r\n\r\n", "@\u{202e}".as_bytes()] {
                (target.run)(input);
            }
        }
    }
}
