//! GitLab, of gitlab.com and self-managed: so far what it sends to us.

pub mod webhook;
