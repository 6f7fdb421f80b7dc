//! gitlab
