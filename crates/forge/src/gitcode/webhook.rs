//! Deliveries of gitcode.
