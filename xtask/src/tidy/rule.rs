//! Every rule of the architecture that is built has a test whose name begins with it.
//!
//! The list below grows with the project: a rule joins it when its matter exists.

use std::collections::BTreeSet;

use super::Complaint;
use super::file::File;
use crate::code::tokens;

/// The rules whose matter exists.
const RULES: [&str; 28] = [
    "E1", "E2", "E3", "E4", "E5", "E6", "E7", "E8", // effects
    "J1", "J2", "J3", "J4", "J5", "J6", "J7", "J8", "J9", "J10", // jobs
    "T1", "T4", "T5", "T6", "T7", "T9", "T10", // trust
    "H4", "H5", "H6", // honesty
];

/// Names the rules that no test speaks of.
pub(super) fn check(files: &[File]) -> Vec<Complaint> {
    let tested: BTreeSet<String> = files
        .iter()
        .filter(|file| file.is_rust())
        .flat_map(|file| functions(&file.code))
        .filter_map(|name| name.split_once('_').map(|(rule, _)| rule.to_uppercase()))
        .collect();
    RULES
        .iter()
        .filter(|rule| !tested.contains(**rule))
        .map(|rule| format!("{rule} has no test: none begins with `{}_`", rule.to_lowercase()))
        .collect()
}

fn functions(code: &str) -> Vec<String> {
    let words: Vec<&str> = tokens(code).collect();
    words
        .windows(2)
        .filter_map(|pair| match pair {
            ["fn", name] => Some((*name).to_owned()),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_counts_as_tested_by_the_beginning_of_a_name() {
        let code = "#[test] fn e1_a_marker() {} async fn t10_admin() {} // fn e2_nothing() {}\n\
                    fn j11_other() {} fn j1x_other() {}";
        let complaints = check(&[File::new("src/a.rs".to_owned(), code.to_owned())]);
        let missing =
            |rule: &str| complaints.iter().any(|one| one.starts_with(&format!("{rule} ")));
        assert_eq!(complaints.len(), RULES.len() - 2);
        assert!(!missing("E1") && !missing("T10"));
        assert!(missing("E2") && missing("J1") && missing("T1"));
    }
}
