//! Deliveries of every forge, from their bytes to the words of the domain: payloads that others
//! published or recorded, and what must never be believed or bring the decoders down.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends here")]

mod fixtures;
mod hostile;
mod order;
mod payloads;
mod quirks;
mod signatures;
