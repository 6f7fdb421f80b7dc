//! One target of `testkit::fuzz` under libFuzzer, chosen by `PATCHWRIGHT_FUZZ_TARGET`.
//!
//! Built and started by `cargo xtask fuzz` only, with the flags that count coverage.

#![no_main]
#![expect(clippy::disallowed_methods, reason = "the arguments belong to libFuzzer")]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use testkit::fuzz::{Target, find};

static TARGET: LazyLock<Target> = LazyLock::new(|| {
    let name = std::env::var("PATCHWRIGHT_FUZZ_TARGET").unwrap_or_default();
    find(&name).unwrap_or_else(|| panic!("there is no fuzz target `{name}`"))
});

fuzz_target!(|input: &[u8]| (TARGET.run)(input));
