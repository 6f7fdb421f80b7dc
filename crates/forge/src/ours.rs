//! ours
