//! GitCode (and its twin AtomGit): so far what it sends to us.

pub mod webhook;
