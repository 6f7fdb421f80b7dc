//! All scenarios, through the front door, in one test binary.
//!
//! The whole conversation as text is the specification: read the snapshots.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a story that cannot go on fails")]

mod story {
    mod answer;
    mod call;
    mod cli;
    mod effect;
    mod gateway;
    mod journey;
    mod mask;
    mod missed;
    mod program;
    mod secret;
}
