//! gitea
