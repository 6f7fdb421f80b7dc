//! The forms in which one secret could stand in a text: plain, base64, hex.
//!
//! Escapes (percent, JSON, Markdown, HTML) are no forms of their own: [`super::view`] undoes them.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::SHORTEST;

/// A line of a longer secret is a secret of its own from this length on: logs cut at line ends.
const SHORTEST_LINE: usize = 16;

/// Adds every form of the secret, and of its lines if it has several.
pub(super) fn of_secret(secret: &str, forms: &mut BTreeSet<Vec<u8>>) {
    let whole = secret.trim();
    if whole.len() < SHORTEST {
        return;
    }
    of_text(whole, forms);
    // Private keys come with real line ends, or with `\n` spelled out where a variable holds them.
    let lines = whole.split(['\n', '\r']).flat_map(|line| line.split("\\n")).map(str::trim);
    for line in lines.filter(|line| line.len() >= SHORTEST_LINE && !line.starts_with("-----")) {
        of_text(line, forms);
    }
}

fn of_text(text: &str, forms: &mut BTreeSet<Vec<u8>>) {
    forms.insert(text.as_bytes().to_vec());
    if text.contains(' ') {
        // A form writes a space as `+`, and its other escapes with percent signs.
        forms.insert(text.replace(' ', "+").into_bytes());
    }
    forms.insert(hex::encode(text).into_bytes());
    forms.insert(hex::encode_upper(text).into_bytes());
    for offset in 0..3 {
        let aligned = [&vec![0; offset], text.as_bytes()].concat();
        for encoded in [STANDARD_NO_PAD.encode(&aligned), URL_SAFE_NO_PAD.encode(&aligned)] {
            forms.insert(core_of(encoded, aligned.len(), offset).into_bytes());
        }
    }
}

/// Cuts off the digits that depend on what stands before and after the secret in a longer string
/// (a `user:token` pair, for one): what is left is there whatever the neighbours are.
fn core_of(mut encoded: String, length: usize, offset: usize) -> String {
    if !length.is_multiple_of(3) {
        encoded.pop();
    }
    encoded.split_off(match offset {
        0 => 0,
        shift => shift + 1,
    })
}
