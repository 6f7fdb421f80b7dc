//! Everything that people and tools read.
pub mod flavour;
pub mod marker;
pub mod redact;

pub use flavour::Flavour;
