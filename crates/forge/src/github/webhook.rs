//! Deliveries of github.
