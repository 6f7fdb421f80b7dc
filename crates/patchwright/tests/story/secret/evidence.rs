//! Everything that the program wrote, and the search through it.

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use percent_encoding::percent_decode;

use super::canary::MARK;

/// What was written, by where it was found.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    found: Vec<(String, Vec<u8>)>,
}

impl Evidence {
    pub(super) fn add(&mut self, place: &str, bytes: impl AsRef<[u8]>) {
        self.found.push((place.to_owned(), bytes.as_ref().to_vec()));
    }

    /// Adds every file in a folder and below it: the database, its journal, and whatever else.
    pub(super) fn add_folder(&mut self, folder: &Path) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.add_folder(&path);
            } else {
                self.add(&format!("the file {}", path.display()), std::fs::read(&path).unwrap());
            }
        }
    }

    #[track_caller]
    pub(super) fn assert_clean(&self) {
        assert!(
            self.found.iter().any(|(_, bytes)| !bytes.is_empty()),
            "there is something to search"
        );
        let leaks: Vec<_> =
            self.found.iter().filter_map(|(place, bytes)| leak(place, bytes)).collect();
        assert!(leaks.is_empty(), "secrets leak:\n{}", leaks.join("\n"));
    }
}

/// Returns the first canary in the bytes, in whatever form, with what stands around it.
fn leak(place: &str, bytes: &[u8]) -> Option<String> {
    let decoded: Vec<u8> = percent_decode(bytes).collect();
    for text in [bytes, &decoded] {
        for (form, needle) in forms() {
            let at =
                text.windows(needle.len()).position(|window| window.eq_ignore_ascii_case(&needle));
            if let Some(at) = at {
                let around = &text[at.saturating_sub(200)..text.len().min(at + 100)];
                return Some(format!("{place}, {form}: …{}…", String::from_utf8_lossy(around)));
            }
        }
    }
    None
}

/// The forms of a mark. Percent-encoding is undone before the search.
fn forms() -> Vec<(&'static str, Vec<u8>)> {
    let mut forms =
        vec![("plain", MARK.as_bytes().to_vec()), ("hex", hex::encode(MARK).into_bytes())];
    for offset in 0..3 {
        // Only the digits that do not depend on what stands before and after.
        let encoded = STANDARD_NO_PAD.encode([&vec![0; offset], MARK.as_bytes()].concat());
        let (start, end) = ((offset * 8).div_ceil(6), (offset + MARK.len()) * 8 / 6);
        forms.push(("base64", encoded.as_bytes()[start..end].to_vec()));
    }
    forms
}

#[test]
fn a_leak_is_found_in_every_form() {
    let secret = format!("x{MARK}y");
    for leaked in [
        secret.clone(),
        hex::encode_upper(&secret),
        STANDARD_NO_PAD.encode(&secret),
        STANDARD_NO_PAD.encode(format!("u:{secret}")),
        STANDARD_NO_PAD.encode(format!("us:{secret}")),
        secret.bytes().map(|byte| format!("%{byte:02X}")).collect(),
    ] {
        assert!(leak("here", format!("before {leaked} after").as_bytes()).is_some(), "{leaked}");
    }
    assert!(leak("here", b"nothing of the kind").is_none());
}
