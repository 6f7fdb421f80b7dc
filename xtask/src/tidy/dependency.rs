//! The policy on code that others wrote: licences, sources, bans, duplicates and how much of it.
//!
//! The decisions stand in `dependencies.toml` with their reasons; this file only applies them.
//! A permission that nothing needs any more is a complaint too, so that the list stays honest.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result};
use serde::Deserialize;
use spdx::{Expression, ParseMode};

use super::Complaint;
use crate::command::{Workspace, output};
use crate::metadata::{Metadata, Package};

/// Bans and duplicates count where they are built: on the platform that is shipped.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Where the decisions stand.
const FILE: &str = "dependencies.toml";

/// The decisions of `dependencies.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Policy {
    /// How many packages `Cargo.lock` may hold.
    packages: usize,
    licences: Licences,
    bans: Vec<Decision>,
    #[serde(default)]
    duplicates: Vec<Decision>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Licences {
    /// What any package may be under.
    allowed: Vec<String>,
    /// What single packages may be under besides.
    exceptions: Vec<Exception>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    name: String,
    licence: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Decision {
    name: String,
    reason: String,
}

impl Policy {
    pub(super) fn read(workspace: &Workspace) -> Result<Self> {
        let text = fs::read_to_string(workspace.path(FILE))
            .with_context(|| format!("cannot read {FILE}"))?;
        toml::from_str(&text).with_context(|| format!("cannot understand {FILE}"))
    }

    /// Checks all packages of the lock file, and more strictly those that are really built.
    pub(super) fn check(&self, all: &Metadata, built: &Built) -> Vec<Complaint> {
        let foreign: Vec<&Package> = all.foreign().collect();
        let mut complaints = self.check_reasons();
        complaints.extend(foreign.iter().filter_map(|package| self.check_licence(package)));
        complaints.extend(check_sources(
            foreign
                .iter()
                .filter_map(|package| Some((package.name.as_str(), package.source.as_deref()?))),
        ));
        complaints.extend(self.check_exceptions(&foreign));
        complaints.extend(self.check_bans(built));
        complaints.extend(self.check_duplicates(built));
        complaints.extend(self.check_budget(all.packages.len()));
        complaints
    }

    fn check_reasons(&self) -> Vec<Complaint> {
        let decisions = self.bans.iter().chain(&self.duplicates);
        let reasons = decisions
            .map(|decision| (&decision.name, &decision.reason))
            .chain(self.licences.exceptions.iter().map(|one| (&one.name, &one.reason)));
        reasons
            .filter(|(_, reason)| reason.trim().is_empty())
            .map(|(name, _)| format!("{FILE}: the decision on `{name}` gives no reason"))
            .collect()
    }

    fn check_licence(&self, package: &Package) -> Option<Complaint> {
        self.judge_licence(&package.name, package.license.as_deref())
    }

    fn judge_licence(&self, name: &str, licence: Option<&str>) -> Option<Complaint> {
        let Some(licence) = licence else {
            return Some(format!("`{name}` names no licence"));
        };
        let Ok(expression) = Expression::parse_mode(licence, ParseMode::LAX) else {
            return Some(format!("`{name}` has a licence that cannot be read: `{licence}`"));
        };
        let allowed = expression.evaluate(|requirement| {
            let wanted = requirement.to_string();
            self.licences.allowed.contains(&wanted)
                || self
                    .licences
                    .exceptions
                    .iter()
                    .any(|exception| exception.name == name && exception.licence == wanted)
        });
        (!allowed).then(|| format!("`{name}` is under `{licence}`, which {FILE} does not allow"))
    }

    fn check_exceptions(&self, foreign: &[&Package]) -> Vec<Complaint> {
        self.licences
            .exceptions
            .iter()
            .filter(|exception| {
                !foreign.iter().any(|package| {
                    package.name == exception.name
                        && package
                            .license
                            .as_ref()
                            .is_some_and(|licence| licence.contains(&exception.licence))
                })
            })
            .map(|exception| {
                format!(
                    "{FILE}: the exception of `{}` for {} is not needed any more",
                    exception.name, exception.licence
                )
            })
            .collect()
    }

    fn check_bans(&self, built: &Built) -> Vec<Complaint> {
        self.bans
            .iter()
            .filter(|ban| built.versions.contains_key(&ban.name))
            .map(|ban| format!("`{}` is banned: {}", ban.name, ban.reason))
            .collect()
    }

    fn check_duplicates(&self, built: &Built) -> Vec<Complaint> {
        let versions = &built.versions;
        let is_listed = |name: &str| self.duplicates.iter().any(|known| known.name == name);
        let fresh = versions
            .iter()
            .filter(|(name, versions)| versions.len() > 1 && !is_listed(name))
            .map(|(name, versions)| {
                let versions = versions.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                format!("`{name}` is built in several versions ({versions}): avoid it or list it in {FILE}")
            });
        let stale = self
            .duplicates
            .iter()
            .filter(|known| versions.get(&known.name).is_none_or(|versions| versions.len() < 2))
            .map(|known| format!("{FILE}: `{}` is not duplicated any more", known.name));
        fresh.chain(stale).collect()
    }

    fn check_budget(&self, packages: usize) -> Option<Complaint> {
        (packages > self.packages).then(|| {
            format!(
                "Cargo.lock holds {packages} packages, {FILE} allows {}: is the new one worth it?",
                self.packages
            )
        })
    }
}

/// Checks that everything comes from one registry. Our manifests name none, so it is the default.
fn check_sources<'a>(sources: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<Complaint> {
    let mut registries = BTreeSet::new();
    let mut complaints = Vec::new();
    for (name, source) in sources {
        if !source.starts_with("registry+") {
            complaints.push(format!("`{name}` comes from {source}, not from the registry"));
        } else if registries.insert(source) && registries.len() > 1 {
            complaints.push(format!("`{name}` comes from a second registry: {source}"));
        }
    }
    complaints
}

/// The packages that the shipped platform builds, tests included, each with its versions.
///
/// The lock file also holds what optional features of others would need; those never get built.
#[derive(Debug, Default)]
pub(super) struct Built {
    versions: BTreeMap<String, BTreeSet<String>>,
}

impl Built {
    pub(super) fn list(workspace: &Workspace) -> Result<Self> {
        let tree = output(
            workspace
                .cargo()
                .args(["tree", "--workspace", "--locked", "--all-features", "--target", PLATFORM])
                .args(["--edges", "normal,build,dev", "--prefix", "none", "--format", "{p}"]),
        )?;
        Ok(Self::parse(&tree))
    }

    fn parse(tree: &str) -> Self {
        let mut built = Self::default();
        for line in tree.lines() {
            let mut words = line.split_whitespace();
            if let (Some(name), Some(version)) = (words.next(), words.next()) {
                built.versions.entry(name.to_owned()).or_default().insert(version.to_owned());
            }
        }
        built
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Policy {
        toml::from_str(
            r#"
            packages = 3
            [licences]
            allowed = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"]
            [[licences.exceptions]]
            name = "roots"
            licence = "CDLA-Permissive-2.0"
            reason = "data"
            [[bans]]
            name = "openssl"
            reason = "one TLS stack"
            [[duplicates]]
            name = "syn"
            reason = "others move slowly"
            "#,
        )
        .unwrap()
    }

    #[test]
    fn a_licence_is_allowed_when_one_way_through_it_is() {
        let policy = policy();
        for licence in
            ["MIT", "MIT/Apache-2.0", "GPL-3.0-only OR MIT", "Apache-2.0 WITH LLVM-exception"]
        {
            assert_eq!(policy.judge_licence("a", Some(licence)), None, "{licence}");
        }
        for licence in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "CDLA-Permissive-2.0", "what?"] {
            assert!(policy.judge_licence("a", Some(licence)).is_some(), "{licence}");
        }
        assert!(policy.judge_licence("a", None).is_some());
        assert_eq!(policy.judge_licence("roots", Some("CDLA-Permissive-2.0")), None);
    }

    #[test]
    fn a_new_duplicate_and_a_stale_permission_are_named() {
        let policy = policy();
        let fine = Built::parse("syn v1.0.0 (proc-macro)\nsyn v2.0.0\nsyn v2.0.0 (*)\n");
        assert!(policy.check_duplicates(&fine).is_empty());
        let wrong = Built::parse("syn v2.0.0\nrand v1.0.0\n\nrand v2.0.0\n");
        assert_eq!(
            policy.check_duplicates(&wrong),
            [
                "`rand` is built in several versions (v1.0.0, v2.0.0): avoid it or list it in dependencies.toml",
                "dependencies.toml: `syn` is not duplicated any more",
            ]
        );
    }

    #[test]
    fn a_banned_package_is_named_with_the_reason() {
        let complaints = policy().check_bans(&Built::parse("syn v2.0.0\nopenssl v0.10.0\n"));
        assert_eq!(complaints, ["`openssl` is banned: one TLS stack"]);
    }

    #[test]
    fn everything_comes_from_one_registry() {
        let (first, second) = ("registry+https://a.example", "registry+https://b.example");
        assert!(check_sources([("a", first), ("b", first)].into_iter()).is_empty());
        let other = [("a", first), ("b", second), ("c", "git+https://forge.example/c")];
        assert_eq!(check_sources(other.into_iter()).len(), 2);
    }

    #[test]
    fn an_exception_that_nobody_needs_is_named() {
        assert_eq!(policy().check_exceptions(&[]).len(), 1);
    }

    #[test]
    fn the_budget_of_packages_is_a_limit() {
        assert_eq!(policy().check_budget(3), None);
        assert!(policy().check_budget(4).is_some());
    }

    #[test]
    fn a_decision_needs_a_reason() {
        let mut policy = policy();
        assert!(policy.check_reasons().is_empty());
        policy.bans[0].reason = " ".to_owned();
        assert_eq!(policy.check_reasons().len(), 1);
    }
}
