//! Which crate of ours may see which.
//!
//! `domain` <- `report` <- the outside things <- `workflow` <- `engine` <- `server` <-
//! `patchwright`. Siblings do not see each other, and `workflow` does not see `store`.

use super::Complaint;
use crate::metadata::{Dependency, Metadata};

/// The crates that each stand for one outside thing.
const OUTSIDE: [&str; 7] = ["forge", "git", "model", "sandbox", "store", "atlas", "proto"];

/// Checks every edge between crates of the workspace.
pub(super) fn check(metadata: &Metadata) -> Vec<Complaint> {
    let is_ours = |name: &str| metadata.members().any(|member| member.name == name);
    metadata
        .members()
        .flat_map(|member| {
            member
                .dependencies
                .iter()
                .filter(|dependency| is_ours(&dependency.name))
                .filter_map(|dependency| judge(&member.name, dependency))
                .chain(place(&member.name))
        })
        .collect()
}

fn judge(from: &str, dependency: &Dependency) -> Option<Complaint> {
    let to = dependency.name.as_str();
    if to == "testkit" {
        return (!dependency.is_for_tests() || from == "xtask")
            .then(|| format!("`{from}` ships `testkit`: it may only be a dev-dependency"));
    }
    let allowed = match from {
        "xtask" => false,
        "testkit" => true,
        _ => sees(from, to),
    };
    (!allowed).then(|| format!("`{from}` must not see `{to}`: dependencies point the other way"))
}

fn sees(from: &str, to: &str) -> bool {
    match (height(from), height(to)) {
        (Some(from_height), Some(to_height)) => {
            to_height < from_height && (from, to) != ("workflow", "store")
        }
        _ => false,
    }
}

/// The crate's layer, counted from the bottom; siblings share one.
fn height(name: &str) -> Option<usize> {
    match name {
        "domain" => Some(0),
        "report" => Some(1),
        name if OUTSIDE.contains(&name) => Some(2),
        "workflow" => Some(3),
        "engine" => Some(4),
        "server" => Some(5),
        "patchwright" => Some(6),
        _ => None,
    }
}

fn place(name: &str) -> Option<Complaint> {
    (height(name).is_none() && !matches!(name, "testkit" | "xtask")).then(|| {
        format!("`{name}` has no layer: give it one in ARCHITECTURE.md and in tidy's direction")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normal(name: &str) -> Dependency {
        Dependency { name: name.to_owned(), kind: None }
    }

    fn dev(name: &str) -> Dependency {
        Dependency { name: name.to_owned(), kind: Some("dev".to_owned()) }
    }

    #[test]
    fn each_layer_sees_the_ones_below_and_no_sibling() {
        for (from, to) in [
            ("report", "domain"),
            ("forge", "report"),
            ("workflow", "forge"),
            ("engine", "store"),
            ("server", "engine"),
            ("patchwright", "server"),
            ("patchwright", "domain"),
            ("testkit", "server"),
        ] {
            assert_eq!(judge(from, &normal(to)), None, "{from} -> {to}");
        }
        for (from, to) in [
            ("domain", "report"),
            ("forge", "store"),
            ("git", "forge"),
            ("workflow", "store"),
            ("workflow", "engine"),
            ("engine", "server"),
            ("xtask", "domain"),
        ] {
            assert!(judge(from, &normal(to)).is_some(), "{from} -> {to}");
            assert!(judge(from, &dev(to)).is_some(), "{from} -> {to}");
        }
    }

    #[test]
    fn testkit_is_a_dev_dependency_or_nothing() {
        assert_eq!(judge("patchwright", &dev("testkit")), None);
        assert!(judge("patchwright", &normal("testkit")).is_some());
        assert!(judge("xtask", &dev("testkit")).is_some());
    }

    #[test]
    fn a_crate_without_a_layer_is_named() {
        assert!(place("common").is_some());
        assert_eq!(place("atlas"), None);
        assert_eq!(place("xtask"), None);
    }
}
