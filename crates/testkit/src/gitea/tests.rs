//! Gitea's face: what it answers, and what it does not let pass.
