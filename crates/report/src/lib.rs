//! Everything that people and tools read.
//!
//! 1. [`flavour`]: the accent of a host. Whoever writes says for which one.
//! 2. [`mod@quote`]: the one way by which text that is not ours reaches a reader (T4).
//! 3. [`body`]: bodies made of *ours* and *theirs*; [`fit`] cuts them so that it shows.
//! 4. [`words`]: our sentences in six languages; [`voice`] makes whole answers of them (H6).
//! 5. [`marker`]: the line by which we know a comment of ours again, and nobody else's (E1).
//! 6. [`block`]: our part of a description; [`mod@suggestion`]: code offered in place of lines.
//! 7. [`redact`]: takes secrets out of every outgoing text (T6).
//!
//! **Where things go.** A new sentence is a function of [`words::Words`]; the compiler then asks
//! for it in every language. A new language is a file in `words/` and a variant of
//! [`words::Language`]. A new danger in foreign text is a row of [`mod@quote`]'s tables, for all hosts.
//!
//! **Invariant.** Nothing here performs IO. No foreign text reaches a [`body::Body`] unquoted, and
//! no sentence that a person reads stands outside [`words`].

pub mod block;
pub mod body;
pub mod fit;
pub mod flavour;
pub mod marker;
pub mod quote;
pub mod redact;
pub mod suggestion;
pub mod voice;
pub mod words;

pub use body::{Body, Sentence};
pub use flavour::Flavour;
pub use marker::{Marker, MarkerKey};
pub use quote::quote;
pub use redact::Redactor;
pub use voice::Voice;
pub use words::{Going, Language, Verb};
