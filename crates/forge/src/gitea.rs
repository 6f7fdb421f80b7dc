//! Gitea and Forgejo: so far what they send to us.

pub mod webhook;
