//! The real adapters and decoders against the fake forge's face of each host.

mod gitea;
mod several;
