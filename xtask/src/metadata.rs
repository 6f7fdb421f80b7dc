//! What cargo says about the workspace and the packages it depends on.
//!
//! Only the fields that are read. The well-known library for this switches a feature of the JSON
//! parser on, and with it everything that parses JSON would be built twice: once for `cargo run`,
//! once for the tests.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

/// The answer of `cargo metadata`.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    workspace_members: Vec<String>,
    /// Where cargo puts what it builds.
    pub(crate) target_directory: PathBuf,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    id: String,
    pub(crate) name: String,
    pub(crate) license: Option<String>,
    /// Where it comes from; nothing for a package of ours.
    pub(crate) source: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `dev` or `build`; nothing for a normal one.
    pub(crate) kind: Option<String>,
}

impl Metadata {
    pub(crate) fn parse(json: &str) -> Result<Self> {
        serde_json::from_str(json).context("cannot understand what cargo says of the workspace")
    }

    /// Lists the crates of ours.
    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    /// Lists the packages of others.
    pub(crate) fn foreign(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| package.source.is_some())
    }
}

impl Dependency {
    pub(crate) fn is_for_tests(&self) -> bool {
        self.kind.as_deref() == Some("dev")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_and_theirs_are_told_apart() {
        let json = r#"{
            "packages": [
                {"id": "path+file:///a#1", "name": "a", "license": "MIT", "source": null,
                 "dependencies": [{"name": "b", "kind": "dev", "req": "1"}]},
                {"id": "b#1", "name": "b", "license": null, "dependencies": [],
                 "source": "registry+https://registry.example/index"}
            ],
            "workspace_members": ["path+file:///a#1"],
            "target_directory": "/t",
            "version": 1
        }"#;
        let metadata = Metadata::parse(json).unwrap();
        let names = |packages: Vec<&Package>| {
            packages.into_iter().map(|package| package.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(metadata.members().collect()), ["a"]);
        assert_eq!(names(metadata.foreign().collect()), ["b"]);
        assert!(metadata.packages[0].dependencies[0].is_for_tests());
        assert!(Metadata::parse("{}").is_err());
    }
}
