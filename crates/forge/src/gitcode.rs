//! gitcode
