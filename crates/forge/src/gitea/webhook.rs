//! Deliveries of gitea.
