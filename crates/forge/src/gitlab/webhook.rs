//! Deliveries of gitlab.
