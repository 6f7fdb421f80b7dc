//! Dependencies and their features stand in the root manifest alone.
//!
//! A crate that chose features of its own would make `cargo run` and `cargo test --workspace`
//! build the same dependency twice.

use toml::{Table, Value};

use super::Complaint;
use super::file::File;

const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Checks the manifest of every member, and the root's, where everything stands.
pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    files
        .iter()
        .filter(|file| file.name() == "Cargo.toml")
        .flat_map(|file| match file.text.parse::<Table>() {
            Ok(manifest) if file.path == "Cargo.toml" => judge_root(&manifest),
            Ok(manifest) => judge(&file.path, &manifest),
            Err(error) => vec![format!("{}: {}", file.path, error.message())],
        })
        .collect()
}

fn judge(path: &str, manifest: &Table) -> Vec<Complaint> {
    let targets = manifest.get("target").and_then(Value::as_table).into_iter().flatten();
    let tables = targets.filter_map(|(_, table)| table.as_table()).chain([manifest]);
    let mut complaints: Vec<Complaint> = tables
        .flat_map(|table| SECTIONS.iter().filter_map(|section| table.get(*section)?.as_table()))
        .flatten()
        .filter(|(_, value)| !is_inherited(value))
        .map(|(name, _)| {
            format!("{path}: `{name}` must be `{name}.workspace = true`, its features in the root")
        })
        .collect();
    let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    if lints.and_then(Value::as_bool) != Some(true) {
        complaints.push(format!("{path}: `[lints] workspace = true` is missing"));
    }
    complaints
}

fn judge_root(manifest: &Table) -> Vec<Complaint> {
    let dependencies = manifest
        .get("workspace")
        .and_then(|workspace| workspace.get("dependencies"))
        .and_then(Value::as_table);
    let elsewhere = |value: &Value| {
        ["git", "registry", "registry-index"].iter().any(|key| value.get(*key).is_some())
    };
    dependencies
        .into_iter()
        .flatten()
        .filter(|(_, value)| elsewhere(value))
        .map(|(name, _)| format!("Cargo.toml: `{name}` must come from the default registry"))
        .collect()
}

fn is_inherited(value: &Value) -> bool {
    value.as_table().is_some_and(|table| {
        table.get("workspace").and_then(Value::as_bool) == Some(true)
            && table.keys().all(|key| key == "workspace" || key == "optional")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(manifest: &str) -> Vec<Complaint> {
        judge("crates/a/Cargo.toml", &manifest.parse().unwrap())
    }

    #[test]
    fn inherited_dependencies_are_fine() {
        let manifest = "[dependencies]\na.workspace = true\nb = { workspace = true, optional = true }\n\
                        [lints]\nworkspace = true\n";
        assert_eq!(check(manifest), Vec::<Complaint>::new());
    }

    #[test]
    fn the_root_takes_everything_from_the_default_registry() {
        let root = "[workspace.dependencies]\na = \"1\"\nb = { path = \"b\" }\n\
                    c = { git = \"https://forge.example/c\" }\nd = { version = \"1\", registry = \"own\" }\n";
        assert_eq!(judge_root(&root.parse().unwrap()).len(), 2);
    }

    #[test]
    fn own_versions_features_and_missing_lints_are_named() {
        let manifest = "[dev-dependencies]\na = \"1\"\n\
                        [target.'cfg(unix)'.dependencies]\nb = { workspace = true, features = [\"x\"] }\n";
        let complaints = check(manifest);
        assert_eq!(complaints.len(), 3, "{complaints:#?}");
        assert!(complaints.iter().any(|complaint| complaint.contains("`a` must be")));
        assert!(complaints.iter().any(|complaint| complaint.contains("`b` must be")));
        assert!(complaints.iter().any(|complaint| complaint.contains("`[lints]")));
    }
}
